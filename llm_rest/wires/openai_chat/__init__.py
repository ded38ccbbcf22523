"""The wire of Chat Completions, as OpenAI and some forty hosts serve it.

Follows `POST /v1/chat/completions` of the OpenAI reference and the references of the hosts (read 2026-11-20). How a host
departs from it is a `ChatDialect`; `CHAT_HOSTS` in `vendors/dialects.py` has those we know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from .request import OPENAI, decode_request, encode_request, route
from .response import decode_error, decode_response, encode_error, encode_response
from .types import EVENT, REQUEST, RESPONSE

if TYPE_CHECKING:
    from ...responses.request import Request
    from ...vendors.dialects import ChatDialect
    from .stream import StreamDecoder, StreamEncoder

FRAMING: Literal["sse", "ndjson"] = "sse"
END: bytes | None = b"[DONE]"
NAMED_EVENTS = False

# Streams are loaded on first use: most of what a converter's import would cost are the structs of their events.


def decode_stream(
    *, request: Request | None = None, dialect: ChatDialect = OPENAI, now: float = 0, keep: bool = True
) -> StreamDecoder:
    """A machine from chunks to events; `request` undoes what encoding it emulated."""
    from .stream import StreamDecoder

    return StreamDecoder(request, dialect, now, keep)


def encode_stream(*, request: Request | None = None, dialect: ChatDialect = OPENAI) -> StreamEncoder:
    """A machine from events to chunks; `request` tells which form its client expects and whether it asked for counts."""
    from .stream import StreamEncoder

    return StreamEncoder(request, dialect)


__all__ = [
    "END",
    "EVENT",
    "FRAMING",
    "NAMED_EVENTS",
    "REQUEST",
    "RESPONSE",
    "decode_error",
    "decode_request",
    "decode_response",
    "decode_stream",
    "encode_error",
    "encode_request",
    "encode_response",
    "encode_stream",
    "route",
]
