"""The wire of Chat Completions, as OpenAI and some forty hosts serve it.

Follows `POST /v1/chat/completions` of the OpenAI reference and the references of the hosts (read 2026-11-20). How a host
departs from it is a `ChatDialect`; `CHAT_HOSTS` in `dialects.py` has those we know.
"""

from __future__ import annotations

from typing import Literal

from .errors import decode_error, encode_error
from .ordinary import RESPONSE
from .request import decode_request, encode_request, route
from .response import decode_response, encode_response
from .stream import decode_stream
from .stream_back import encode_stream
from .types import EVENT, REQUEST

FRAMING: Literal["sse", "ndjson"] = "sse"
END: bytes | None = b"[DONE]"
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
