"""The Gemini API: `:generateContent` and `:streamGenerateContent` of a model, v1beta, and the same on Vertex.

Follows the Gemini API reference v1beta and the Vertex AI reference v1beta1 (read 2026-11-20). The differences of a host
are a `GeminiDialect`, and the capabilities of a model family a `GeminiModel`, both in `vendors/dialects.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .. import Framing, lazy_streams
from . import types
from .request import *
from .response import *
from .types import *

if TYPE_CHECKING:
    from .stream import *
else:
    __getattr__ = lazy_streams(__name__)

FRAMING: Framing = "sse"
END: bytes | None = None
NAMED_EVENTS = False


def goes_on(body: types.Response) -> bool:
    """Whether an answer is the first part of a long one, which `continued` requests."""
    candidate = body.candidates[0] if body.candidates else types.Candidate()
    return candidate.finish_reason == "CONTINUATION" and bool(candidate.continuation_token)


def continued(body: bytes, token: str) -> bytes:
    """The body of the request that continues a long answer at `token`: the same request with the token."""
    fields = msgspec.json.decode(body)
    return msgspec.json.encode(fields | {"continuationToken": token})
