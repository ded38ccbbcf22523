"""The wire of the OpenAI Responses API: the format in the middle itself, except for hosts' habits and opaque state.

Follows `POST /v1/responses` of the OpenAI reference, the Open Responses document 2026-04-24 and the hosts that serve either
(read 2026-11-20). Other endpoints are in `endpoints.py`.
"""

from __future__ import annotations

from typing import Literal

from ...dialects import ResponsesDialect
from ...responses import EVENT, REQUEST, RESPONSE, Request
from .. import Route
from .errors import decode_error, encode_error
from .request import OPENAI, decode_request, encode_request
from .response import decode_response, encode_response
from .stream import decode_stream, encode_stream

FRAMING: Literal["sse", "ndjson"] = "sse"
END: bytes | None = b"[DONE]"
"""Sent by us, as Open Responses asks; from others it may or may not come."""
NAMED_EVENTS = True


def route(request: Request, *, dialect: ResponsesDialect = OPENAI, stream: bool = False) -> Route:
    """Where the request goes."""
    return Route(dialect.path)


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
