"""What went wrong, on this wire: error bodies, and the errors that stand in the place of an answer.

Before changing this file, know that one word serves many cases: an invalid key is a bad request whose details say so, and a
rate limit is a daily quota where the quota's name does. Follows `google.rpc` (Status, RetryInfo, QuotaFailure, ErrorInfo) and
Google's page on troubleshooting (read 2026-11-20).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from msgspec import UNSET

from ...errors import ErrorFacts
from ...responses.response import ResponseError
from ...unknown import given
from .._errors import error_facts
from . import types
from .carried import restored
from .types import WIRE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

WORDS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
"""The word of a status."""
STATUSES = {word: status for status, word in WORDS.items()} | {"FAILED_PRECONDITION": 400, "OUT_OF_RANGE": 400}

CODES = {"RESOURCE_EXHAUSTED": "rate_limit_exceeded", "INTERNAL": "server_error", "UNAVAILABLE": "server_overloaded"}
"""Codes of failed responses, theirs on the left; other words stay as they are."""
CODES_BACK = {ours: theirs for theirs, ours in CODES.items()}

RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
_REASON = re.compile(r"[A-Z][A-Z0-9_]{2,62}")
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{0,9})?)s")


def decode_error(status: int, headers: Mapping[str, str], body: bytes) -> ErrorFacts:
    """What an error answer says."""
    facts = error_facts(WIRE, status, headers, body)
    error: Any = facts.leftovers.get(WIRE, {}).get("error")
    if not isinstance(error, dict):
        return facts
    word = cast("types.Json", error).get("status")
    if isinstance(word, str):
        facts.type = word
    for detail in _details(cast("types.Json", error)):
        delay = _DURATION.fullmatch(str(detail.get("retryDelay")))
        if delay and float(delay[1]) > 0:
            facts.retry_after = max(float(delay[1]), facts.retry_after or 0)
        reason = detail.get("reason")
        if isinstance(reason, str) and reason:
            facts.code = reason
        if any("PerDay" in str(one.get("quotaId")) for one in _objects(detail.get("violations"))):
            facts.should_retry = False  # a day's quota is not back within the delay that is told
    return facts


def _details(error: types.Json) -> Iterator[types.Json]:
    return _objects(error.get("details"))


def _objects(value: Any) -> Iterator[types.Json]:
    found: list[Any] = cast("Any", value) if isinstance(value, list) else []
    return (cast("types.Json", one) for one in found if isinstance(one, dict))


def encode_error(facts: ErrorFacts) -> tuple[int, types.Response]:
    """The status and body with which this wire says it."""
    status = facts.status if 400 <= facts.status < 600 else STATUSES.get(facts.type or "", 500)
    word = (
        facts.type
        if facts.type in STATUSES
        else WORDS.get(status) or ("INVALID_ARGUMENT" if status < 500 else "INTERNAL")
    )
    error = types.Status(code=status, message=facts.message, status=word)
    kept: Any = facts.leftovers.get(WIRE, {}).get("error")
    found = restored(types.Status, kept) if isinstance(kept, dict) else None
    if found is not None and given(found.details):
        error.details = found.details
    else:
        error.details = _told(facts) or UNSET
    return status, types.Response(error=error)


def _told(facts: ErrorFacts) -> list[types.Json]:
    """The details that tell what the body's own fields cannot."""
    details: list[types.Json] = []
    if facts.code is not None and _REASON.fullmatch(facts.code):
        details.append({"@type": ERROR_INFO, "reason": facts.code})
    if facts.retry_after is not None:
        details.append({"@type": RETRY_INFO, "retryDelay": f"{facts.retry_after:g}s"})
    return details


def decode_failure(error: types.Status) -> ResponseError:
    """Why a response failed, from an error in the place of an answer."""
    word = error.status if given(error.status) else WORDS.get(error.code or 500, "INTERNAL")
    message = error.message if given(error.message) else "the vendor answered with an error"
    return ResponseError(code=CODES.get(word, word.lower()), type=word, message=message)


def encode_failure(error: ResponseError) -> types.Status:
    """The error for a failed response."""
    code = str(error.code) if given(error.code) else "server_error"
    word = CODES_BACK.get(code) or (error.type if given(error.type) else code.upper())
    word = word if word in STATUSES else "INTERNAL"
    return types.Status(
        code=STATUSES[word], message=error.message if given(error.message) else "the model failed", status=word
    )
