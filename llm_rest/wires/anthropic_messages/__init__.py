"""The Anthropic Messages API: `POST /v1/messages`, version 2026-10-21 (the older 2023-06-01 where sampling needs it).

In all modules `types.X` is the vendor's struct and `ours.X` the one of Responses. Follows the Messages reference of Anthropic
(read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from .content import ANTHROPIC, call_id, wire_id
from .request import decode_request, encode_request, route
from .response import (
    count_route,
    decode_count,
    decode_error,
    decode_response,
    encode_count,
    encode_error,
    encode_response,
)
from .types import COUNT, COUNT_REQUEST, EVENT, MODEL, MODELS, REQUEST, RESPONSE

if TYPE_CHECKING:
    from ...responses.request import Request
    from ...vendors.dialects import MessagesDialect
    from .stream import StreamDecoder
    from .stream_encoder import StreamEncoder

FRAMING: Literal["sse"] = "sse"
END: bytes | None = None
NAMED_EVENTS = True

# Streams are loaded on first use: most of what a converter's import would cost are the structs of their events.


def decode_stream(
    *, request: Request | None = None, dialect: MessagesDialect = ANTHROPIC, now: float = 0, keep: bool = True
) -> StreamDecoder:
    """A machine from the vendor's events to Responses events. `request` undoes what sending it renamed, and is echoed."""
    from .stream import StreamDecoder

    return StreamDecoder(request, dialect, now, keep)


def encode_stream(*, request: Request | None = None, dialect: MessagesDialect = ANTHROPIC) -> StreamEncoder:
    """A machine from Responses events to events of this wire. `request` names the model where the response does not."""
    from .stream_encoder import StreamEncoder

    return StreamEncoder(request, dialect)


__all__ = [
    "COUNT",
    "COUNT_REQUEST",
    "END",
    "EVENT",
    "FRAMING",
    "MODEL",
    "MODELS",
    "NAMED_EVENTS",
    "REQUEST",
    "RESPONSE",
    "call_id",
    "count_route",
    "decode_count",
    "decode_error",
    "decode_request",
    "decode_response",
    "decode_stream",
    "encode_count",
    "encode_error",
    "encode_request",
    "encode_response",
    "encode_stream",
    "route",
    "wire_id",
]
