"""Error answers of Responses hosts, and ours."""

from __future__ import annotations

import msgspec
import pytest

from llm_rest.errors import ErrorFacts
from llm_rest.wires import openai_responses as wire


def test_an_error_of_the_api_is_read_and_written_back() -> None:
    """responses.response.11, responses.response_back.12"""
    body = (
        b'{"error":{"message":"No such model","type":"invalid_request_error","param":"model","code":"model_not_found"}}'
    )
    facts = wire.decode_error(404, {"x-request-id": "req_1", "retry-after-ms": "500", "x-should-retry": "false"}, body)
    assert (facts.status, facts.message, facts.type) == (404, "No such model", "invalid_request_error")
    assert (facts.code, facts.param, facts.request_id) == ("model_not_found", "model", "req_1")
    assert (facts.retry_after, facts.should_retry) == (0.5, False)
    status, written = wire.encode_error(facts)
    assert (status, msgspec.json.encode(written)) == (404, body)


def test_fields_of_a_host_return_in_its_error() -> None:
    body = b'{"error":{"message":"m","type":"t","param":null,"code":"c","misalignment":[1]},"error_type":"overloaded"}'
    facts = wire.decode_error(400, {}, body)
    assert msgspec.json.encode(wire.encode_error(facts)[1]) == body


@pytest.mark.parametrize(
    ("status", "sent", "kind"),
    [
        (401, 401, "authentication_error"),
        (404, 404, "not_found_error"),
        (422, 422, "invalid_request_error"),
        (429, 429, "rate_limit_error"),
        (503, 503, "server_error"),
        (200, 500, "server_error"),
    ],
)
def test_an_error_without_a_type_gets_the_one_of_its_status(status: int, sent: int, kind: str) -> None:
    """responses.response_back.12"""
    found, body = wire.encode_error(ErrorFacts(status=status, message="m"))
    assert (found, body.error.type) == (sent, kind)


def test_an_error_of_another_wire_keeps_its_type() -> None:
    facts = ErrorFacts(status=529, message="m", type="overloaded_error", leftovers={"anthropic_messages": {"x": 1}})
    status, body = wire.encode_error(facts)
    assert (status, msgspec.json.decode(msgspec.json.encode(body))) == (
        529,
        {"error": {"message": "m", "type": "overloaded_error", "param": None, "code": None}},
    )


def test_an_error_that_says_octet_stream_is_read_all_the_same() -> None:
    facts = wire.decode_error(
        400, {"content-type": "application/octet-stream"}, b'{"error":{"message":"No tool output"}}'
    )
    assert facts.message == "No tool output"
