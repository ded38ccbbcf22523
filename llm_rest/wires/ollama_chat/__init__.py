"""The wire of Ollama's own `POST /api/chat`, as servers at home and Ollama's cloud serve it.

Follows Ollama's API reference (read 2026-11-20). How a host departs from it is an `OllamaDialect`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from .request import OLLAMA, chat_request, decode_request, encode_request, models_route, route, show_route
from .response import decode_error, decode_response, encode_error, encode_response, generated
from .types import EVENT, GENERATE, MODELS, REQUEST, RESPONSE, SHOW, SHOWN, ShowRequest

if TYPE_CHECKING:
    from ...responses.request import Request
    from ...vendors.dialects import OllamaDialect
    from .stream import StreamDecoder, StreamEncoder

FRAMING: Literal["sse", "ndjson"] = "ndjson"
END: bytes | None = None
NAMED_EVENTS = False

# Streams are loaded on first use: most of what a converter's import would cost are the structs of their events.


def decode_stream(
    *, request: Request | None = None, dialect: OllamaDialect = OLLAMA, now: float = 0, keep: bool = True
) -> StreamDecoder:
    """A machine from the server's lines to Responses events. `request` undoes what encoding emulated, and is echoed."""
    from .stream import StreamDecoder

    return StreamDecoder(request, dialect, now, keep)


def encode_stream(*, request: Request | None = None, dialect: OllamaDialect = OLLAMA) -> StreamEncoder:
    """A machine from Responses events to lines of this wire. `request` names the model where the response does not."""
    from .stream import StreamEncoder

    return StreamEncoder(request, dialect)


__all__ = [
    "END",
    "EVENT",
    "FRAMING",
    "GENERATE",
    "MODELS",
    "NAMED_EVENTS",
    "REQUEST",
    "RESPONSE",
    "SHOW",
    "SHOWN",
    "ShowRequest",
    "chat_request",
    "decode_error",
    "decode_request",
    "decode_response",
    "decode_stream",
    "encode_error",
    "encode_request",
    "encode_response",
    "encode_stream",
    "generated",
    "models_route",
    "route",
    "show_route",
]
