"""What went wrong, on this wire: error bodies, and answers that failed.

Before changing this file, know that callers branch on `type`, never on the message. Follows Anthropic's page on errors (read
2026-11-20).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from msgspec import UNSET

from ... import responses as ours
from ...errors import (
    APIStatusError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    ContentFilterError,
    ErrorFacts,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    QuotaError,
    RateLimitError,
    RequestTooLargeError,
    ServerTimeoutError,
    UnprocessableEntityError,
    error_class,
)
from ...responses.carriers import digest
from ...responses.echo import echo
from ...unknown import given
from .._errors import error_facts
from . import types
from .leftovers import WIRE, left, own, rest

STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The vendor's error types and the status each comes with."""

TYPES: tuple[tuple[type[APIStatusError], str], ...] = (
    (PermissionDeniedError, "permission_error"),
    (AuthenticationError, "authentication_error"),
    (QuotaError, "billing_error"),
    (RateLimitError, "rate_limit_error"),
    (OverloadedError, "overloaded_error"),
    (NotFoundError, "not_found_error"),
    (RequestTooLargeError, "request_too_large"),
    (ConflictError, "conflict_error"),
    (ServerTimeoutError, "timeout_error"),
    (BadRequestError, "invalid_request_error"),
    (UnprocessableEntityError, "invalid_request_error"),
    (ContentFilterError, "invalid_request_error"),
)
"""The type for a kind of error of another vendor, the narrower kinds first; anything else is an `api_error`."""

CODES = {
    "api_error": "server_error",
    "timeout_error": "server_error",
    "overloaded_error": "server_overloaded",
    "rate_limit_error": "rate_limit_exceeded",
}
"""Codes of failed responses, theirs on the left; other types stay as they are."""


def decode_error(status: int, headers: Mapping[str, str], body: bytes) -> ErrorFacts:
    """What an error answer says."""
    facts = error_facts(WIRE, status, headers, body)
    said = facts.leftovers.get(WIRE, {})
    details = said.get("error", {}).get("details") if isinstance(said.get("error"), dict) else None
    facts.code = _error_code(details) or facts.code
    if facts.request_id is None and isinstance(said.get("request_id"), str):
        facts.request_id = said["request_id"]
    return facts


def _error_code(details: Any) -> str | None:
    """What exactly went wrong, where the vendor says more than the type of an error."""
    code = cast("dict[str, Any]", details).get("error_code") if isinstance(details, dict) else None
    return code if isinstance(code, str) else None


def encode_error(facts: ErrorFacts) -> tuple[int, types.Error]:
    """The status and body with which this wire says it."""
    type = facts.type
    if type not in STATUS:
        kind = error_class(facts)
        type = next((name for cls, name in TYPES if issubclass(kind, cls)), "api_error")
    inner: dict[str, Any] = facts.leftovers.get(WIRE, {}).get("error", {})
    details = inner.get("details", {"error_code": facts.code} if facts.code else UNSET)
    error = types.ErrorDetail(type=type, message=facts.message, details=details)
    status = facts.status if facts.status >= 400 else STATUS[type]
    return status, types.Error(error=error, request_id=facts.request_id or UNSET)


def decode_failure(body: types.Error, request: ours.Request | None, now: float) -> ours.Response:
    """The failed response that an error body in the place of an answer is."""
    error = body.error
    code = _error_code(error.details) or CODES.get(error.type, error.type)
    fields = rest(body, ("request_id",))
    more = rest(error, ("details",))
    if more:
        fields["error"] = more
    return ours.Response(
        id=body.request_id if given(body.request_id) else f"error_{digest(error.message)}",
        created_at=now,
        status="failed",
        error=ours.ResponseError(code=code, type=error.type, message=error.message),
        incomplete_details=None,
        output=[],
        leftovers=left(fields),
        **echo(request),
    )


def encode_failure(response: ours.Response) -> types.Error:
    """The error body for a failed response."""
    error = response.error or ours.ResponseError()
    message = error.message if given(error.message) else "the model failed"
    facts = ErrorFacts(
        status=0,
        message=message,
        type=error.type if given(error.type) else None,
        code=str(error.code) if given(error.code) else None,
    )
    kept = own(response.leftovers)
    _, body = encode_error(facts)
    more: dict[str, Any] = kept.get("error", {})
    body.error.details = more.get("details", UNSET)
    body.request_id = kept.get("request_id", UNSET)
    return body
