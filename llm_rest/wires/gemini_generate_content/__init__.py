"""The Gemini API: `:generateContent` and `:streamGenerateContent` of a model, v1beta, and the same on Vertex."""

from __future__ import annotations

from typing import Literal

from .errors import decode_error, encode_error
from .request import decode_request, encode_request, route
from .response import decode_response, encode_response
from .stream import decode_stream, encode_stream
from .types import EVENT, REQUEST, RESPONSE

FRAMING: Literal["sse"] = "sse"
END: bytes | None = None
NAMED_EVENTS = False

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
