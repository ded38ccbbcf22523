"""Responses as answers of this wire, and errors both ways."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llm_rest.errors import (
    AuthenticationError,
    BadRequestError,
    ErrorFacts,
    InternalServerError,
    NotFoundError,
    OverloadedError,
    QuotaError,
    RateLimitError,
    api_error,
)
from llm_rest.wires import gemini_generate_content as wire
from tests.support.facts import plain

# --- errors ---------------------------------------------------------------------------------------------------------

TYPE = "type.googleapis.com/google.rpc."


def error(status: int, word: str, *details: Any, message: str = "Oops.") -> bytes:
    found: Any = {"code": status, "message": message, "status": word}
    return json.dumps({"error": found | ({"details": details} if details else {})}).encode()


INVALID_KEY = {"@type": f"{TYPE}ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}
LATER = {"@type": f"{TYPE}RetryInfo", "retryDelay": "34.4s"}
DAILY = {"@type": f"{TYPE}QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}]}
MINUTELY = {"@type": f"{TYPE}QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerMinutePerProject"}]}


@pytest.mark.parametrize(
    ("status", "body", "kind", "retry"),
    [
        (400, error(400, "INVALID_ARGUMENT"), BadRequestError, False),
        (400, error(400, "INVALID_ARGUMENT", INVALID_KEY), AuthenticationError, False),
        (401, error(401, "UNAUTHENTICATED"), AuthenticationError, False),
        (404, error(404, "NOT_FOUND"), NotFoundError, False),
        (429, error(429, "RESOURCE_EXHAUSTED", MINUTELY, LATER), RateLimitError, True),
        (500, error(500, "INTERNAL"), InternalServerError, True),
        (503, error(503, "UNAVAILABLE"), OverloadedError, True),
        (503, b"[" + error(503, "UNAVAILABLE") + b"]", OverloadedError, True),
        (502, b"<html><title>502</title></html>", InternalServerError, True),
    ],
)
def test_errors_are_typed(status: int, body: bytes, kind: type[Exception], retry: bool) -> None:
    """gemini.error.1"""
    found = api_error(wire.decode_error(status, {}, body))
    assert (type(found), found.retryable) == (kind, retry)


def test_the_delay_stands_in_the_details() -> None:
    """gemini.error.2"""
    facts = wire.decode_error(429, {"retry-after": "3"}, error(429, "RESOURCE_EXHAUSTED", LATER))
    assert (facts.retry_after, facts.type, facts.message) == (34.4, "RESOURCE_EXHAUSTED", "Oops.")


def test_a_day_is_not_waited_for() -> None:
    """gemini.error.3"""
    found = api_error(wire.decode_error(429, {}, error(429, "RESOURCE_EXHAUSTED", DAILY, LATER)))
    assert isinstance(found, RateLimitError | QuotaError)
    assert not found.retryable


@pytest.mark.parametrize("details", [[], [LATER], [INVALID_KEY, DAILY]])
def test_an_error_comes_back_as_it_was(details: Any) -> None:
    """gemini.error.4"""
    body = error(429, "RESOURCE_EXHAUSTED", *details)
    status, document = wire.encode_error(wire.decode_error(429, {}, body))
    assert (status, plain(document)) == (429, json.loads(body))


def test_an_error_of_anybody_is_told_in_this_vendors_words() -> None:
    """gemini.error.5"""
    facts = ErrorFacts(status=529, message="Busy.", type="overloaded_error", code="OVERLOADED", retry_after=2.5)
    status, document = wire.encode_error(facts)
    assert (status, plain(document)["error"]) == (
        529,
        {
            "code": 529,
            "message": "Busy.",
            "status": "INTERNAL",
            "details": [
                {"@type": f"{TYPE}ErrorInfo", "reason": "OVERLOADED"},
                {"@type": f"{TYPE}RetryInfo", "retryDelay": "2.5s"},
            ],
        },
    )
