"""What error answers say, whatever their shape: the part every wire shares."""

from __future__ import annotations

import pytest

from llm_rest.wires.errors import error_facts, header_facts

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
    assert header_facts(headers)["retry_after"] == seconds


@pytest.mark.parametrize(("value", "asked"), [("true", True), ("False", False), ("maybe", None), (None, None)])
def test_the_server_says_whether_to_ask_again(value: str | None, asked: bool | None) -> None:
    headers = {} if value is None else {"X-Should-Retry": value}
    assert header_facts(headers)["should_retry"] is asked


@pytest.mark.parametrize("name", ["x-request-id", "Request-Id", "apim-request-id", "cf-ray"])
def test_the_request_is_named_under_many_headers(name: str) -> None:
    assert header_facts({name: "req_1"})["request_id"] == "req_1"


def test_the_more_telling_request_id_wins() -> None:
    assert header_facts({"cf-ray": "b", "x-request-id": "a"})["request_id"] == "a"


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
def test_every_shape_of_an_error_body_tells_its_message(
    body: bytes, message: str, kind: str | None, code: str | None
) -> None:
    """BUGS 48"""
    facts = error_facts("openai_responses", 400, {}, body)
    assert (facts.message, facts.type, facts.code) == (message, kind, code)


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"a":' * 100_000, b'"\xff\xfe"', b"x" * 100_000, b"\x00\x1b[31m"])
def test_a_hostile_body_becomes_a_short_printable_text(body: bytes) -> None:
    facts = error_facts("openai_responses", 500, {}, body)
    assert isinstance(facts.body, str)
    assert len(facts.body) <= 4096
    assert facts.body.isprintable()


def test_a_key_that_the_server_repeats_is_not_kept() -> None:
    body = b'{"error":{"message":"m","echo":["Bearer abcdefgh12345678"],"api_key":"hunter2"}}'
    kept = error_facts("openai_responses", 401, {}, body).body
    assert kept == {"error": {"message": "m", "echo": ["Bearer [redacted]"], "api_key": "[redacted]"}}


def test_fields_no_fact_names_are_left_over_for_the_wire() -> None:
    body = b'{"error":{"message":"m","metadata":{"raw":"r"}},"user_id":"u"}'
    facts = error_facts("openai_chat", 429, {}, body)
    assert facts.leftovers == {"openai_chat": {"user_id": "u", "error": {"metadata": {"raw": "r"}}}}
