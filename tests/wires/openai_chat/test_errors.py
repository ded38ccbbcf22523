"""Error answers of every host, and errors as a client of this wire is told them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from llm_rest.errors import ErrorFacts
from llm_rest.wires import openai_chat as wire


def facts(body: Any, status: int = 400, **headers: str) -> ErrorFacts:
    raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return wire.decode_error(status, {name.replace("_", "-"): value for name, value in headers.items()}, raw)


NESTED = {"message": "no", "type": "invalid_request_error", "param": "model", "code": "model_not_found"}


def test_the_nested_form_is_openais() -> None:
    """chat.reader.17"""
    found = facts({"error": NESTED}, 404)
    assert (found.message, found.type, found.param, found.code) == (
        "no",
        "invalid_request_error",
        "model",
        "model_not_found",
    )
    assert wire.encode_error(found) == (404, {"error": NESTED})


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"code": "Client specified an invalid argument", "error": "no"}, "Client specified an invalid argument"),
        ({"error": {"code": 429, "message": "no", "metadata": {"provider_name": "x"}}}, "429"),
        ([{"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}}], "400"),
        ({"object": "error", "message": "no", "type": "invalid", "param": None, "code": 3051}, "3051"),
        ({"detail": [{"loc": ["body"], "msg": "no", "type": "missing"}]}, None),
        ({"error": "no"}, None),
        ({"choices": None, "base_resp": {"status_code": 1004, "status_msg": "no"}}, "1004"),
        (b"<html><title>no</title></html>", None),
    ],
)
def test_every_other_form_says_the_same(body: Any, code: str | None) -> None:
    """chat.reader.17, chat.reader.19 and BUGS 48"""
    found = facts(body)
    assert (found.message, found.code) == ("no", code)


def test_what_no_fact_names_is_kept_for_this_wire() -> None:
    """chat.reader.17"""
    body = {"error": {**NESTED, "failed_generation": "{"}, "user_id": "u"}
    assert wire.encode_error(facts(body)) == (400, body)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"error": {"code": 502, "message": "no"}}, 502),
        ({"error": {"message": "no", "status_code": 400}}, 400),
        ({"error": {"message": "no"}, "status_code": 503}, 503),
        ({"error": {"code": "rate_limited", "message": "no"}}, 200),
        ({"error": {"code": 1234, "message": "no"}}, 200),
    ],
)
def test_an_error_inside_an_answer_of_status_200_tells_its_own_status(body: Any, status: int) -> None:
    """chat.reader.17 and BUGS 48"""
    assert facts(body, 200).status == status


def test_a_delay_counts_with_errors_alone() -> None:
    """chat.reader.22 and BUGS 65"""
    assert facts({"error": NESTED}, 429, retry_after="5").retry_after == 5
    assert facts({"error": NESTED}, 200, retry_after="5").retry_after is None


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (404, "not_found_error"),
        (418, "invalid_request_error"),
        (503, "server_error"),
    ],
)
def test_an_error_of_elsewhere_gets_the_type_openai_gives_it(status: int, kind: str) -> None:
    """chat.response_back.15"""
    assert wire.encode_error(ErrorFacts(status=status, message="no")) == (
        status,
        {"error": {"message": "no", "type": kind, "param": None, "code": None}},
    )


def test_a_status_that_is_no_error_becomes_one() -> None:
    """chat.response_back.15"""
    assert wire.encode_error(ErrorFacts(status=200, message="no"))[0] == 502
