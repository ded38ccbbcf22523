"""The Anthropic Messages API: `POST /v1/messages`, version 2026-10-21 (the older 2023-06-01 where sampling needs it).

Where to read first: `types` is the vendor's reference as structs, `ordinary` what nearly every conversation and answer needs.
The rest, both ways:

    a request           request, with turns (messages; back: history), tools (the vendor's: hosted), thinking, options, schema
    an answer           response, with assistant (blocks and items) and usage
    a stream            stream and stream_blocks; stream_back and stream_sender the other way
    pieces of all three content (parts), calls (and results), carriers (what must return), leftovers (what stays here)
    around them         betas (route, versions, headers), errors, endpoints (counting, models)

In all of them `types.X` is the vendor's struct and `ours.X` the one of Responses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from .content import DEFAULT
from .request import decode_request, encode_request, route
from .response import decode_error, decode_response, encode_error, encode_response
from .types import EVENT, REQUEST, RESPONSE

if TYPE_CHECKING:
    from ...responses.request import Request
    from ...vendors.dialects import MessagesDialect
    from .stream import StreamDecoder, StreamEncoder

FRAMING: Literal["sse"] = "sse"
END: bytes | None = None
NAMED_EVENTS = True

# Streams are loaded on first use: most of what a converter's import would cost are the structs of their events.


def decode_stream(
    *, request: Request | None = None, dialect: MessagesDialect = DEFAULT, now: float = 0
) -> StreamDecoder:
    """A machine from the vendor's events to Responses events. `request` undoes what sending it renamed, and is echoed."""
    from .stream import StreamDecoder

    return StreamDecoder(request, dialect, now)


def encode_stream(*, request: Request | None = None, dialect: MessagesDialect = DEFAULT) -> StreamEncoder:
    """A machine from Responses events to events of this wire. `request` names the model where the response does not."""
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
