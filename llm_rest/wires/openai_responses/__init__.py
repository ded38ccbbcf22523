"""The wire of the OpenAI Responses API: the format in the middle itself, except for hosts' habits and opaque state.

Follows `POST /v1/responses` of the OpenAI reference, the Open Responses document 2026-04-24 and the hosts that serve either
(read 2026-11-20). Other endpoints are in `endpoints.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ...responses import REQUEST, RESPONSE, Request
from ...vendors.dialects import ResponsesDialect
from .. import Route
from .errors import decode_error, encode_error
from .request import OPENAI, decode_request, encode_request
from .response import decode_response, encode_response

if TYPE_CHECKING:
    from ...responses.events import EVENT
    from .stream import StreamDecoder, StreamEncoder

FRAMING: Literal["sse", "ndjson"] = "sse"
END: bytes | None = b"[DONE]"
"""Sent by us, as Open Responses asks; from others it may or may not come."""
NAMED_EVENTS = True


def route(request: Request, *, dialect: ResponsesDialect = OPENAI, stream: bool = False) -> Route:
    """Where the request goes."""
    return Route(dialect.path)


# Streams are loaded on first use: most of what a converter's import would cost are the structs of their events.


def decode_stream(
    *, request: Request | None = None, dialect: ResponsesDialect = OPENAI, now: float = 0
) -> StreamDecoder:
    """A machine from a host's events to events in legal order."""
    from .stream import StreamDecoder

    return StreamDecoder(request, dialect)


def encode_stream(*, request: Request | None = None, dialect: ResponsesDialect = OPENAI) -> StreamEncoder:
    """A machine from events to what a server of this wire sends: without the fields of ours."""
    from .stream import StreamEncoder

    return StreamEncoder(request, dialect)


def __getattr__(name: str) -> Any:
    if name == "EVENT":
        from ...responses.events import EVENT

        return EVENT
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


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
