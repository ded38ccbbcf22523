"""The wire of the OpenAI Responses API: the format in the middle itself, except for hosts' habits and opaque state.

Follows `POST /v1/responses` of the OpenAI reference, the Open Responses document 2026-04-24 and the hosts that serve either
(read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ...responses import REQUEST, RESPONSE, Request
from ...vendors.dialects import ResponsesDialect
from .. import Route
from .request import (
    OPENAI,
    cancel_route,
    compact_route,
    count_route,
    decode_request,
    delete_route,
    encode_compact,
    encode_count,
    encode_request,
    input_items_route,
    retrieve_route,
)
from .response import (
    complete_items,
    decode_compacted,
    decode_error,
    decode_input_items,
    decode_response,
    encode_compacted,
    encode_error,
    encode_response,
)
from .types import COMPACTION, COUNT, DELETED, ITEMS, Deleted, ItemPage

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
    "COMPACTION",
    "COUNT",
    "DELETED",
    "END",
    "EVENT",
    "FRAMING",
    "ITEMS",
    "NAMED_EVENTS",
    "REQUEST",
    "RESPONSE",
    "Deleted",
    "ItemPage",
    "cancel_route",
    "compact_route",
    "complete_items",
    "count_route",
    "decode_compacted",
    "decode_error",
    "decode_input_items",
    "decode_request",
    "decode_response",
    "decode_stream",
    "delete_route",
    "encode_compact",
    "encode_compacted",
    "encode_count",
    "encode_error",
    "encode_request",
    "encode_response",
    "encode_stream",
    "input_items_route",
    "retrieve_route",
    "route",
]
