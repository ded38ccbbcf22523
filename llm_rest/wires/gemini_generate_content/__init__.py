"""The Gemini API: `:generateContent` and `:streamGenerateContent` of a model, v1beta, and the same on Vertex.

Follows the Gemini API reference v1beta and the Vertex AI reference v1beta1 (read 2026-11-20). How a host departs from it is a
`GeminiDialect`, and what a family of models takes a `GeminiModel`, both in `vendors/dialects.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from . import types
from .request import (
    DEFAULT,
    count_route,
    decode_count,
    decode_request,
    encode_count,
    encode_request,
    models_route,
    route,
)
from .response import decode_error, decode_response, encode_error, encode_response
from .types import COUNT, COUNT_REQUEST, EVENT, MODEL, MODELS, REQUEST, RESPONSE

if TYPE_CHECKING:
    from ...responses.request import Request
    from ...vendors.dialects import GeminiDialect
    from .stream import StreamDecoder, StreamEncoder

FRAMING: Literal["sse", "ndjson"] = "sse"
END: bytes | None = None
NAMED_EVENTS = False

# Streams are loaded on first use: most of what a converter's import would cost are the structs of their events.


def goes_on(body: types.Response) -> bool:
    """Whether an answer is the first part of a long one, which `continued` asks for."""
    candidate = body.candidates[0] if body.candidates else types.Candidate()
    return candidate.finish_reason == "CONTINUATION" and bool(candidate.continuation_token)


def continued(body: bytes, token: str) -> bytes:
    """The body of the request that continues a long answer where `token` stands: the same request with the token."""
    fields = msgspec.json.decode(body)
    return msgspec.json.encode(fields | {"continuationToken": token})


def decode_stream(
    *, request: Request | None = None, dialect: GeminiDialect = DEFAULT, now: float = 0, keep: bool = True
) -> StreamDecoder:
    """A machine from chunks to events; `request` undoes what sending it renamed, and is echoed."""
    from .stream import StreamDecoder

    return StreamDecoder(request, dialect, now, keep)


def encode_stream(*, request: Request | None = None, dialect: GeminiDialect = DEFAULT) -> StreamEncoder:
    """A machine from events to chunks; `request` names the model where the response does not."""
    from .stream import StreamEncoder

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
    "continued",
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
    "goes_on",
    "models_route",
    "route",
]
