"""The exception for a vendor's error response: by its code, its type, its HTTP status and the words of its message.

The tables hold what is usual; a vendor that deviates has `ErrorRules`.
"""

from __future__ import annotations

import re
from typing import Any, cast

from .errors import (
    APIStatusError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    ContentFilterError,
    ContextLengthError,
    ErrorFacts,
    ErrorRules,
    InternalServerError,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    QuotaError,
    RateLimitError,
    ReasoningStateError,
    RequestTooLargeError,
    ServerTimeoutError,
    UnprocessableEntityError,
    printable,
)
from .unknown import as_object

BY_STATUS: dict[int, type[APIStatusError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    402: QuotaError,
    403: PermissionDeniedError,
    404: NotFoundError,
    408: ServerTimeoutError,
    409: ConflictError,
    413: RequestTooLargeError,
    422: UnprocessableEntityError,
    425: InternalServerError,
    429: RateLimitError,
    498: OverloadedError,
    504: ServerTimeoutError,
    529: OverloadedError,
}
"""The class for a status where neither the vendor's code nor its type is more specific."""

PASSING = frozenset({500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
"""Transient failures of a server; the others are permanent."""

_WORDS: dict[type[APIStatusError], str] = {
    AuthenticationError: "authentication_error invalid_api_key unauthenticated api_key_invalid",
    PermissionDeniedError: "permission_error permission_denied",
    RateLimitError: "rate_limit_error rate_limit_exceeded resource_exhausted",
    QuotaError: (
        "insufficient_quota billing_error billing_not_active enforced_spend_limit_reached contract_spend_limit_reached"
    ),
    OverloadedError: "overloaded_error overloaded server_overloaded unavailable",
    InternalServerError: (
        "api_error server_error internal_server_error internal vector_store_timeout insufficient_system_resource"
    ),
    ServerTimeoutError: "timeout_error deadline_exceeded",
    NotFoundError: "model_not_found not_found_error not_found",
    ConflictError: "conflict_error aborted",
    RequestTooLargeError: "request_too_large",
    ContextLengthError: "context_length_exceeded exceed_context_size_error",
    ReasoningStateError: "invalid_encrypted_content",
    ContentFilterError: (
        "content_filter content_policy_violation invalid_prompt bio_policy misalignment_policy_violation "
        "image_content_policy_violation"
    ),
    BadRequestError: (
        "invalid_request_error invalid_argument failed_precondition out_of_range string_above_max_length "
        "data_residency_mismatch invalid_image invalid_image_format invalid_base64_image invalid_image_url image_too_large "
        "image_too_small image_parse_error invalid_image_mode image_file_too_large unsupported_image_media_type "
        "empty_image_file failed_to_download_image image_file_not_found"
    ),
}

BY_WORD: dict[str, type[APIStatusError]] = {word: kind for kind, words in _WORDS.items() for word in words.split()}
"""The class for a vendor's error code or type; codes before types."""

# What only the text tells, because the vendor has no code for it or another host's code got lost on the way.
_TOO_LONG = (
    r"(?i)(exceed|longer|larger|maximum|too large|over|limit|reduce).{0,80}context[ _](length|window|size|limit)"
    r"|context[ _](length|window|size|limit).{0,80}(exceed|longer|overflow|maximum|reduce|smaller)"
    r"|(prompt|input) is too long|maximum prompt length|too many (input )?tokens|reduce the length of the messages"
    r"|maximum number of tokens allowed|\d tokens > \d+ maximum"
)
_BAD_STATE = (
    r"(?i)invalid `?(signature|data)`? in `?(redacted_)?thinking`?|thinking.{0,40}blocks?.{0,60}cannot be modified"
    r"|block is bound to a different conversation|thought[_ ]?signature|invalid.{0,20}encrypted[_ ]content"
    r"|encrypted[_ ]content.{0,80}(invalid|could not)|reasoning_content.{0,60}must be passed back"
    r"|of type .reasoning. was provided without its required following item|without its required .reasoning. item"
    r"|must start with a thinking block|expected `thinking` or"
)
_BAD_KEY = r"(?i)(incorrect|invalid|bad) api key|api key (not valid|is invalid)"
_NO_CREDIT = (
    r"(?i)credit balance is too low|insufficient[ _](balance|credits?|quota|funds)|(out of|any|all available) credits"
)
_FILTERED = r"(?i)responsible ?ai|content (management policy|policy|filter)|flagged"


_NO_RULES = ErrorRules()


def error_class(facts: ErrorFacts, rules: ErrorRules = _NO_RULES) -> type[APIStatusError]:
    """The class of error that a vendor's facts describe: by code, then by type, then by status, refined by the text."""
    status = _status(facts)
    words = (rules.means.get(word, word).lower() for word in (facts.code, facts.type) if word is not None)
    found = next((BY_WORD[word] for word in words if word in BY_WORD), None)
    by_status = BY_STATUS.get(status)
    if by_status is None and status >= 400:
        by_status = InternalServerError if status >= 500 else BadRequestError
    # `invalid_request_error` and `server_error` are written on anything; the status, where there is one, knows better.
    if found in (None, BadRequestError) or (found is InternalServerError and by_status is not None):
        found = by_status or found or APIStatusError
    text = facts.message
    rejected = found in (BadRequestError, UnprocessableEntityError)
    if (rejected or found in (RequestTooLargeError, InternalServerError)) and re.search(_TOO_LONG, text):
        return ContextLengthError
    if rejected and re.search(_BAD_STATE, text):
        return ReasoningStateError
    if rejected and re.search(_BAD_KEY, text):
        return AuthenticationError
    if (rejected or found is PermissionDeniedError) and re.search(_FILTERED, text):
        return ContentFilterError
    if (rejected or found in (PermissionDeniedError, RateLimitError, InternalServerError)) and re.search(
        _NO_CREDIT, text
    ):
        return QuotaError
    if found is RateLimitError and rules.quota_words and any(word in str(facts.body) for word in rules.quota_words):
        return QuotaError
    if found is InternalServerError and status == 503 and "overload" in text.lower():
        return OverloadedError
    return found


def _status(facts: ErrorFacts) -> int:
    """The HTTP status, or for an error inside a successful answer the status in its code."""
    code = facts.code or ""
    inside = facts.status < 400 and len(code) == 3 and code.isdecimal() and code[0] in "45"
    return int(code) if inside else facts.status


def api_error(
    facts: ErrorFacts, *, vendor: str | None = None, model: str | None = None, rules: ErrorRules = _NO_RULES
) -> APIStatusError:
    """The exception for a vendor's error response.

    `retryable` follows `x-should-retry`, else the vendor's `rules`, else the class.
    """
    kind = error_class(facts, rules)
    error = kind(
        facts.message if printable(facts.message).strip() else f"the vendor answered with status {facts.status}",
        status=facts.status,
        vendor=vendor,
        model=model,
        vendor_code=facts.code,
        vendor_type=facts.type,
        request_id=facts.request_id,
        retry_after=facts.retry_after,
        retryable=_retryable(facts, kind, rules),
        body=facts.body,
    )
    if isinstance(error, ContextLengthError):
        error.limit, error.requested = _number(_ALLOWED, facts.message), _number(_REQUESTED, facts.message)
    elif isinstance(error, ContentFilterError):
        error.categories = _categories(facts.body)
    return error


def _retryable(facts: ErrorFacts, kind: type[APIStatusError], rules: ErrorRules) -> bool:
    if facts.should_retry is not None:
        return facts.should_retry
    for word in (facts.code, facts.type, facts.status):
        if word in rules.final:
            return False
        if word in rules.retryable:
            return True
    return kind.retryable and (facts.status < 500 or facts.status in PASSING)


_ALLOWED = (
    r"(?i)maximum (?:context|prompt) length(?: is| of|:)? ([\d,]+)|> ([\d,]+)|([\d,]+) maximum context length"
    r"|tokens allowed \(?([\d,]+)|context size \(([\d,]+)|limit is ([\d,]+)"
)
_REQUESTED = (
    r"(?i)(?:requested|resulted in|contains|token count|current length is)(?: about)? \(?([\d,]+)"
    r"|too long: ([\d,]+)|request \(([\d,]+)"
)


def _number(pattern: str, text: str) -> int | None:
    found = re.search(pattern, text)
    digits = next((group for group in found.groups() if group), "").replace(",", "") if found else ""
    return int(digits) if 0 < len(digits) < 12 else None


def _categories(body: Any) -> tuple[str, ...]:
    """The categories in a content filter's error: those it acted on, or the list of a router."""
    error = as_object(as_object(body).get("error"))
    inner = as_object(error.get("innererror"))
    results = as_object(inner.get("content_filter_result") or error.get("content_filter_result"))
    acted = [name for name, result in results.items() if as_object(result).get("filtered") is True]
    reasons: Any = as_object(error.get("metadata")).get("reasons")
    if isinstance(reasons, list):
        acted += (str(reason) for reason in cast("Any", reasons))
    return tuple(printable(name, 100) for name in acted[:20])
