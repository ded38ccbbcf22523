"""Error answers of this wire, read and written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llm_rest.errors import (
    ErrorFacts,
    NotFoundError,
    OverloadedError,
    QuotaError,
    RateLimitError,
    ReasoningStateError,
    api_error,
)
from llm_rest.wires import anthropic_messages as wire
from tests.support.facts import plain


def body(type: str, message: str = "No.", **more: Any) -> bytes:
    return json.dumps(
        {"type": "error", "error": {"type": type, "message": message, **more}, "request_id": "req_1"}
    ).encode()


def test_an_error_body_says_its_type_message_and_request() -> None:
    facts = wire.decode_error(404, {}, body("not_found_error", "model: x"))
    assert (facts.type, facts.message, facts.request_id) == ("not_found_error", "model: x", "req_1")
    assert isinstance(api_error(facts), NotFoundError)


def test_the_header_names_the_request_where_it_is_there() -> None:
    facts = wire.decode_error(529, {"request-id": "req_2", "retry-after": "3"}, body("overloaded_error"))
    assert (facts.request_id, facts.retry_after) == ("req_2", 3)
    assert isinstance(api_error(facts), OverloadedError)


@pytest.mark.parametrize(
    ("code", "kind"), [("enforced_spend_limit_reached", QuotaError), ("ramp_limit_exceeded", RateLimitError)]
)
def test_the_code_of_a_limit_tells_whether_waiting_helps(code: str, kind: type[Exception]) -> None:
    facts = wire.decode_error(429, {}, body("rate_limit_error", details={"error_code": code}))
    assert facts.code == code
    assert type(api_error(facts)) is kind


def test_a_refused_signature_is_an_error_of_its_own() -> None:
    """BUGS 14"""
    facts = wire.decode_error(400, {}, body("invalid_request_error", "Invalid `signature` in `thinking` block"))
    assert isinstance(api_error(facts), ReasoningStateError)


@pytest.mark.parametrize(
    "data", [b"<html><title>413</title>", b"", b"null", b'{"error": []}', b'{"error": {"details": 1}}']
)
def test_anything_else_is_an_error_too(data: bytes) -> None:
    """BUGS 48"""
    assert wire.decode_error(413, {}, data).status == 413


@pytest.mark.parametrize(
    ("facts", "status", "type"),
    [
        (ErrorFacts(status=429, message="m", type="rate_limit_error"), 429, "rate_limit_error"),
        (ErrorFacts(status=400, message="m", code="context_length_exceeded"), 400, "invalid_request_error"),
        (ErrorFacts(status=401, message="m", code="invalid_api_key"), 401, "authentication_error"),
        (ErrorFacts(status=403, message="m"), 403, "permission_error"),
        (ErrorFacts(status=402, message="m"), 402, "billing_error"),
        (ErrorFacts(status=404, message="m"), 404, "not_found_error"),
        (ErrorFacts(status=413, message="m"), 413, "request_too_large"),
        (ErrorFacts(status=409, message="m"), 409, "conflict_error"),
        (ErrorFacts(status=503, message="m", code="overloaded"), 503, "overloaded_error"),
        (ErrorFacts(status=500, message="m"), 500, "api_error"),
        (ErrorFacts(status=200, message="m", type="overloaded_error"), 529, "overloaded_error"),
    ],
)
def test_an_error_of_any_vendor_is_told_in_the_words_of_this_wire(facts: ErrorFacts, status: int, type: str) -> None:
    found, error = wire.encode_error(facts)
    assert (found, error.error.type, error.error.message) == (status, type, "m")


def test_an_error_goes_back_as_it_came() -> None:
    document = body("rate_limit_error", details={"error_code": "ramp_limit_exceeded", "more": 1})
    status, error = wire.encode_error(wire.decode_error(429, {}, document))
    assert (status, plain(error)) == (429, json.loads(document))


@pytest.mark.parametrize(
    "document",
    [
        body("overloaded_error", details=None),
        body("invalid_request_error", details={"error_code": "tool_name_conflict"}),
        b'{"type":"error","error":{"type":"api_error","message":"m"}}',
    ],
)
def test_an_answer_that_failed_goes_back_as_it_came(document: bytes) -> None:
    response, _ = wire.decode_response(wire.RESPONSE.decode(document))
    back, lost = wire.encode_response(response)
    assert (plain(back), lost) == (json.loads(document), [])
