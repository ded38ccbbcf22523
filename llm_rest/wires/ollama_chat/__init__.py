"""The wire of Ollama's own `POST /api/chat`, as servers at home and Ollama's cloud serve it.

Follows Ollama's API reference (read 2026-11-20). How a host departs from it is an `OllamaDialect`.
"""

from __future__ import annotations

from typing import Literal

from .errors import decode_error, encode_error
from .request import decode_request, encode_request, route
from .response import decode_response, encode_response
from .stream import decode_stream, encode_stream
from .types import EVENT, REQUEST, RESPONSE

FRAMING: Literal["sse", "ndjson"] = "ndjson"
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
