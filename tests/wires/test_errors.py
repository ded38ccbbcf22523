"""Error answers of every wire: read as facts and typed errors, and written for the clients of a wire."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llm_rest import errors, wires
from llm_rest.errors import ErrorFacts
from llm_rest.vendor_errors import api_error
from tests.support.facts import plain

RESPONSES, CHAT, ANTHROPIC = "openai_responses", "openai_chat", "anthropic_messages"
GEMINI, OLLAMA = "gemini_generate_content", "ollama_chat"

NESTED = {"message": "no", "type": "invalid_request_error", "param": "model", "code": "model_not_found"}
GOOGLE = "type.googleapis.com/google.rpc."
INVALID_KEY = {"@type": f"{GOOGLE}ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}
LATER = {"@type": f"{GOOGLE}RetryInfo", "retryDelay": "34.4s"}
DAILY = {"@type": f"{GOOGLE}QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}]}
MINUTELY = {"@type": f"{GOOGLE}QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerMinutePerProject"}]}


def anthropic(type: str, message: str = "no", **more: Any) -> dict[str, Any]:
    return {"type": "error", "error": {"type": type, "message": message, **more}, "request_id": "req_1"}


def gemini(status: int, word: str, *details: Any) -> dict[str, Any]:
    return {"error": {"code": status, "message": "no", "status": word} | ({"details": [*details]} if details else {})}


def decoded(wire: str, status: int, body: Any, headers: dict[str, str] | None = None) -> ErrorFacts:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return wires.load(wire).decode_error(status, headers or {}, raw)


@pytest.mark.parametrize(
    ("wire", "status", "body", "headers", "facts"),
    [
        (
            RESPONSES,
            404,
            {"error": NESTED},
            {"x-request-id": "r", "x-should-retry": "false"},
            {**NESTED, "request_id": "r", "should_retry": False},
        ),
        (RESPONSES, 400, {"error": {"message": "no"}}, {"content-type": "application/octet-stream"}, {}),
        (CHAT, 404, {"error": NESTED}, {}, NESTED),
        (CHAT, 400, {"code": "bad argument", "error": "no"}, {}, {"code": "bad argument"}),
        (CHAT, 400, {"choices": None, "base_resp": {"status_code": 1004, "status_msg": "no"}}, {}, {"code": "1004"}),
        (CHAT, 200, {"error": {"code": 502, "message": "no"}}, {}, {"status": 502}),
        (CHAT, 200, {"error": {"message": "no", "status_code": 400}}, {}, {"status": 400}),
        (CHAT, 200, {"error": {"message": "no"}, "status_code": 503}, {}, {"status": 503}),
        (CHAT, 200, {"error": {"code": "rate_limited", "message": "no"}}, {}, {"status": 200}),
        (CHAT, 200, {"error": {"code": 1234, "message": "no"}}, {}, {"status": 200}),
        (CHAT, 429, {"error": NESTED}, {"retry-after": "5"}, {"retry_after": 5}),
        (CHAT, 200, {"error": NESTED}, {"retry-after": "5"}, {"retry_after": None}),
        (ANTHROPIC, 404, anthropic("not_found_error"), {}, {"type": "not_found_error", "request_id": "req_1"}),
        (ANTHROPIC, 529, anthropic("overloaded_error"), {"request-id": "req_2"}, {"request_id": "req_2"}),
        (ANTHROPIC, 429, anthropic("t", details={"error_code": "limit"}), {}, {"code": "limit"}),
        (ANTHROPIC, 413, b"<html><title>no</title>", {}, {"status": 413}),
        (ANTHROPIC, 413, {"error": []}, {}, {"status": 413, "message": ""}),
        (ANTHROPIC, 413, {"error": {"message": "no", "details": 1}}, {}, {"status": 413}),
        (
            GEMINI,
            429,
            gemini(429, "RESOURCE_EXHAUSTED", LATER),
            {"retry-after": "3"},
            {"retry_after": 34.4, "type": "RESOURCE_EXHAUSTED"},
        ),
        (
            OLLAMA,
            200,
            {"error": "model 'x' not found"},
            {"retry-after": "3"},
            {"message": "model 'x' not found", "code": "model_not_found", "retry_after": 3, "status": 200},
        ),
        (OLLAMA, 200, {"error": "no", "StatusCode": 502}, {}, {"code": None, "status": 502}),
        (
            OLLAMA,
            400,
            {"error": "m does not support thinking"},
            {},
            {"message": "m does not support thinking", "code": "invalid_argument"},
        ),
        (OLLAMA, 404, b"404 page not found", {}, {"message": "404 page not found", "code": None}),
        (OLLAMA, 403, b"", {}, {"message": "", "code": None}),
        (OLLAMA, 502, b"<html><title>no</title></html>", {}, {"code": None}),
        (OLLAMA, 500, {"error": {"message": "no", "type": "t", "code": 5}}, {}, {"code": "5"}),
    ],
)
def test_an_error_answer_becomes_its_facts(
    wire: str, status: int, body: Any, headers: dict[str, str], facts: dict[str, Any]
) -> None:
    """chat.reader.17, chat.reader.19, chat.reader.22, gemini.error.2, ollama.response.16, ollama.hard.8,
    responses.response.11. BUGS 48 and 65"""
    found = decoded(wire, status, body, headers)
    facts = {"message": "no", **facts}
    assert {name: getattr(found, name) for name in facts} == facts


@pytest.mark.parametrize(
    ("wire", "status", "body", "kind", "retryable"),
    [
        (ANTHROPIC, 404, anthropic("not_found_error"), errors.NotFoundError, False),
        (ANTHROPIC, 529, anthropic("overloaded_error"), errors.OverloadedError, True),
        (
            ANTHROPIC,
            429,
            anthropic("rate_limit_error", details={"error_code": "enforced_spend_limit_reached"}),
            errors.QuotaError,
            False,
        ),
        (
            ANTHROPIC,
            429,
            anthropic("rate_limit_error", details={"error_code": "ramp_limit_exceeded"}),
            errors.RateLimitError,
            True,
        ),
        (
            ANTHROPIC,
            400,
            anthropic("invalid_request_error", "Invalid `signature` in `thinking` block"),
            errors.ReasoningStateError,
            False,
        ),
        (GEMINI, 400, gemini(400, "INVALID_ARGUMENT"), errors.BadRequestError, False),
        (GEMINI, 400, gemini(400, "INVALID_ARGUMENT", INVALID_KEY), errors.AuthenticationError, False),
        (GEMINI, 401, gemini(401, "UNAUTHENTICATED"), errors.AuthenticationError, False),
        (GEMINI, 404, gemini(404, "NOT_FOUND"), errors.NotFoundError, False),
        (GEMINI, 429, gemini(429, "RESOURCE_EXHAUSTED", MINUTELY, LATER), errors.RateLimitError, True),
        (GEMINI, 429, gemini(429, "RESOURCE_EXHAUSTED", DAILY, LATER), errors.RateLimitError, False),
        (GEMINI, 500, gemini(500, "INTERNAL"), errors.InternalServerError, True),
        (GEMINI, 503, [gemini(503, "UNAVAILABLE")], errors.OverloadedError, True),
        (GEMINI, 502, b"<html><title>502</title></html>", errors.InternalServerError, True),
        (OLLAMA, 200, {"error": "input length exceeds the context length"}, errors.ContextLengthError, False),
        (OLLAMA, 200, {"error": "unauthorized"}, errors.AuthenticationError, False),
        (OLLAMA, 200, {"error": "model 'x' not found"}, errors.NotFoundError, False),
        (OLLAMA, 200, {"error": "model is required"}, errors.BadRequestError, False),
        (OLLAMA, 200, {"error": "something new"}, errors.APIStatusError, False),
    ],
)
def test_an_error_answer_is_a_typed_error(
    wire: str, status: int, body: Any, kind: type[Exception], retryable: bool
) -> None:
    """gemini.error.1, gemini.error.3. BUGS 14"""
    found = api_error(decoded(wire, status, body))
    assert (type(found), found.retryable) == (kind, retryable)


@pytest.mark.parametrize(
    ("wire", "status", "body"),
    [
        (RESPONSES, 404, {"error": NESTED}),
        (RESPONSES, 400, {"error": {**NESTED, "misalignment": [1]}, "error_type": "overloaded"}),
        (CHAT, 404, {"error": NESTED}),
        (CHAT, 400, {"error": {**NESTED, "failed_generation": "{"}, "user_id": "u"}),
        (ANTHROPIC, 429, anthropic("rate_limit_error", details={"error_code": "ramp_limit_exceeded", "more": 1})),
        (GEMINI, 429, gemini(429, "RESOURCE_EXHAUSTED")),
        (GEMINI, 429, gemini(429, "RESOURCE_EXHAUSTED", LATER)),
        (GEMINI, 429, gemini(429, "RESOURCE_EXHAUSTED", INVALID_KEY, DAILY)),
    ],
)
def test_an_error_goes_back_to_a_client_of_its_wire_as_it_came(wire: str, status: int, body: Any) -> None:
    """chat.reader.17, gemini.error.4, responses.response.11, responses.response_back.12"""
    sent, document = wires.load(wire).encode_error(decoded(wire, status, body))
    assert (sent, plain(document)) == (status, body)


@pytest.mark.parametrize(
    "body",
    [
        anthropic("overloaded_error", details=None),
        anthropic("invalid_request_error", details={"error_code": "tool_name_conflict"}),
        {"type": "error", "error": {"type": "api_error", "message": "m"}},
    ],
)
def test_an_anthropic_answer_that_is_an_error_goes_back_as_it_came(body: Any) -> None:
    wire = wires.load(ANTHROPIC)
    back, lost = wire.encode_response(wire.decode_response(wire.RESPONSE.decode(json.dumps(body)))[0])
    assert (plain(back), lost) == (body, [])


def by_openai(type: str) -> dict[str, Any]:
    return {"error": {"message": "m", "type": type, "param": None, "code": None}}


@pytest.mark.parametrize(
    ("wire", "facts", "status", "body"),
    [
        (RESPONSES, {"status": 401}, 401, by_openai("authentication_error")),
        (RESPONSES, {"status": 404}, 404, by_openai("not_found_error")),
        (RESPONSES, {"status": 422}, 422, by_openai("invalid_request_error")),
        (RESPONSES, {"status": 429}, 429, by_openai("rate_limit_error")),
        (RESPONSES, {"status": 503}, 503, by_openai("server_error")),
        (RESPONSES, {"status": 200}, 500, by_openai("server_error")),
        (
            RESPONSES,
            {"status": 529, "type": "overloaded_error", "leftovers": {ANTHROPIC: {"x": 1}}},
            529,
            by_openai("overloaded_error"),
        ),
        (CHAT, {"status": 400}, 400, by_openai("invalid_request_error")),
        (CHAT, {"status": 401}, 401, by_openai("authentication_error")),
        (CHAT, {"status": 404}, 404, by_openai("not_found_error")),
        (CHAT, {"status": 418}, 418, by_openai("invalid_request_error")),
        (CHAT, {"status": 503}, 503, by_openai("server_error")),
        (CHAT, {"status": 200}, 502, by_openai("server_error")),
        (ANTHROPIC, {"status": 429, "type": "rate_limit_error"}, 429, "rate_limit_error"),
        (ANTHROPIC, {"status": 400, "code": "context_length_exceeded"}, 400, "invalid_request_error"),
        (ANTHROPIC, {"status": 401, "code": "invalid_api_key"}, 401, "authentication_error"),
        (ANTHROPIC, {"status": 403}, 403, "permission_error"),
        (ANTHROPIC, {"status": 402}, 402, "billing_error"),
        (ANTHROPIC, {"status": 404}, 404, "not_found_error"),
        (ANTHROPIC, {"status": 413}, 413, "request_too_large"),
        (ANTHROPIC, {"status": 409}, 409, "conflict_error"),
        (ANTHROPIC, {"status": 503, "code": "overloaded"}, 503, "overloaded_error"),
        (ANTHROPIC, {"status": 500}, 500, "api_error"),
        (ANTHROPIC, {"status": 200, "type": "overloaded_error"}, 529, "overloaded_error"),
        (
            GEMINI,
            {"status": 529, "type": "overloaded_error", "code": "OVERLOADED", "retry_after": 2.5},
            529,
            {
                "error": {
                    "code": 529,
                    "message": "m",
                    "status": "INTERNAL",
                    "details": [
                        {"@type": f"{GOOGLE}ErrorInfo", "reason": "OVERLOADED"},
                        {"@type": f"{GOOGLE}RetryInfo", "retryDelay": "2.5s"},
                    ],
                }
            },
        ),
        (OLLAMA, {"status": 529, "code": "x"}, 529, {"error": "m"}),
        (OLLAMA, {"status": 200, "code": "model_not_found"}, 404, {"error": "m"}),
        (OLLAMA, {"status": 0}, 502, {"error": "m"}),
    ],
)
def test_an_error_from_elsewhere_is_written_in_the_format_of_the_wire(
    wire: str, facts: dict[str, Any], status: int, body: Any
) -> None:
    """chat.response_back.15, gemini.error.5, ollama.response_back.12, responses.response_back.12"""
    found, document = wires.load(wire).encode_error(ErrorFacts(message="m", **facts))
    if isinstance(body, str):
        details = {"details": {"error_code": facts["code"]}} if "code" in facts else {}
        body = {"type": "error", "error": {"type": body, "message": "m", **details}}
    assert (found, plain(document)) == (status, body)


# --- what every wire shares -----------------------------------------------------------------------------------------

DATE = "Fri, 20 Nov 2026 10:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "3"}, 3),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after-ms": "2500", "retry-after": "9"}, 2.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9),
        ({"retry-after": "Fri, 20 Nov 2026 10:00:30 GMT", "Date": DATE}, 30),
        ({"retry-after": "Friday, 20-Nov-26 10:00:30 GMT", "date": DATE}, 30),
        ({"retry-after": "Fri, 20 Nov 2026 12:00:30 +0200", "date": DATE}, 30),
        ({"retry-after": "Fri, 20 Nov 2026 10:00:30", "date": DATE}, 30),
        ({"retry-after": "999999"}, 999999),
        ({"retry-after": "Fri, 20 Nov 2026 10:00:30 GMT"}, None),
        ({"retry-after": "Fri, 20 Nov 2026 09:00:00 GMT", "date": DATE}, None),
        ({"retry-after": "Fri, 20 Nov 99999 10:00:00 GMT", "date": DATE}, None),
        ({"retry-after": "0"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "NaN"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e3"}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": "9" * 1000}, None),
        ({"retry-after": "99999999999"}, None),
        ({"retry-after": "3, 5"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_a_delay_is_read_in_every_form_and_nonsense_is_no_delay(headers: dict[str, str], seconds: float | None) -> None:
    """BUGS 65"""
    assert decoded(RESPONSES, 429, {}, headers).retry_after == seconds


@pytest.mark.parametrize(("value", "asked"), [("true", True), ("False", False), ("maybe", None), (None, None)])
def test_the_server_says_whether_to_ask_again(value: str | None, asked: bool | None) -> None:
    headers = {} if value is None else {"X-Should-Retry": value}
    assert decoded(RESPONSES, 429, {}, headers).should_retry is asked


@pytest.mark.parametrize("name", ["x-request-id", "Request-Id", "apim-request-id", "cf-ray"])
def test_the_request_id_is_under_one_of_many_headers(name: str) -> None:
    assert decoded(RESPONSES, 429, {}, {name: "req_1"}).request_id == "req_1"
    assert decoded(RESPONSES, 429, {}, {"cf-ray": "b", name: "a"} | {"x-request-id": "c"}).request_id == "c"


@pytest.mark.parametrize(
    ("body", "message", "kind", "code"),
    [
        (b'{"error":{"message":"m","type":"t","code":"c","param":null}}', "m", "t", "c"),
        (b'{"error":"m","code":"c"}', "m", None, "c"),
        (b'{"type":"error","error":{"type":"t","message":"m"}}', "m", "t", None),
        (b'{"object":"error","message":"m","type":"t","code":3000}', "m", "t", "3000"),
        (b'{"detail":"m"}', "m", None, None),
        (b'{"detail":[{"loc":["body"],"msg":"m","type":"t"}]}', "m", None, None),
        (b'{"error":{"message":{"detail":"m"}}}', "m", None, None),
        (b'[{"error":{"code":429,"message":"m"}}]', "m", None, "429"),
        (b'"m"', "m", None, None),
        (b'id:1\nevent:error\n:HTTP_STATUS/400\ndata:{"code":"c","message":"m"}\n\n', "m", None, "c"),
        (b'data: {"error":{"message":"m","type":"t"}}\n\ndata: [DONE]\n\n', "m", "t", None),
        (b"data: none\n\n", "data: none", None, None),
        (b'\xef\xbb\xbf{"error":{"message":"m","type":"t","code":"c"}}', "m", "t", "c"),
        (b'{"error":{"message":"half \\ud83d","type":"t","code":"c"}}', "half \ufffd", "t", "c"),
        (b'{"error":{"message":"whole \\ud83d\\ude00","type":"t","code":"c"}}', "whole \U0001f600", "t", "c"),
        (b"m", "m", None, None),
        (b"<!doctype html><html><head><title>502 Bad Gateway</title></head></html>", "502 Bad Gateway", None, None),
        (b"<p>try <b>later</b></p>", "try later", None, None),
        (b'{"error":{}}', "", None, None),
        (b"", "", None, None),
        (b"[]", "", None, None),
        (b"[1]", "", None, None),
    ],
)
@pytest.mark.parametrize("wire", [RESPONSES, CHAT])
def test_every_shape_of_an_error_body_tells_its_message(
    wire: str, body: bytes, message: str, kind: str | None, code: str | None
) -> None:
    """BUGS 48"""
    facts = decoded(wire, 400, body)
    assert (facts.message, facts.type, facts.code) == (message, kind, code)


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"a":' * 100_000, b'"\xff\xfe"', b"x" * 100_000, b"\x00\x1b[31m"])
def test_a_hostile_body_becomes_a_short_printable_text(body: bytes) -> None:
    facts = decoded(RESPONSES, 500, body)
    assert isinstance(facts.body, str)
    assert len(facts.body) <= 4096
    assert facts.body.isprintable()


def test_a_key_that_the_server_repeats_is_not_kept() -> None:
    body = b'{"error":{"message":"m","echo":["Bearer abcdefgh12345678"],"api_key":"hunter2"}}'
    kept = decoded(RESPONSES, 401, body).body
    assert kept == {"error": {"message": "m", "echo": ["Bearer [redacted]"], "api_key": "[redacted]"}}


def test_fields_no_fact_names_are_left_over_for_the_wire() -> None:
    body = b'{"error":{"message":"m","metadata":{"raw":"r"}},"user_id":"u"}'
    facts = decoded(CHAT, 429, body)
    assert facts.leftovers == {"openai_chat": {"user_id": "u", "error": {"metadata": {"raw": "r"}}}}
