"""What hosts really send, and what is made of it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from llm_rest.errors import DecodeError
from llm_rest.responses import REQUEST, RESPONSE
from llm_rest.responses.lenient import lenient_response


def item_of(item: Any) -> Any:
    document = {"id": "resp_1", "status": "completed", "output": [item]}
    before = json.dumps(document)
    lenient_response(document)
    assert json.dumps(document) == before, "the document itself was changed"
    (found,) = msgspec.json.decode(msgspec.json.encode(RESPONSE.decode(before)))["output"]
    found.pop("leftovers", None)
    return found


CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}


@pytest.mark.parametrize(
    "item",
    [
        {"call_id": "c", "name": "f", "arguments": "{}"},
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": {}},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": None},
        {"type": "function_call", "call_id": "c", "name": "f"},
        {"type": "function_call", "call_id": "c", "function": {"name": "f", "arguments": "{}"}},
    ],
)
def test_half_a_call_is_read_as_a_whole_one(item: Any) -> None:
    """responses.request_back.15"""
    found = item_of(item)
    assert {name: found[name] for name in CALL} == CALL


@pytest.mark.parametrize(
    ("item", "kind"),
    [
        ({"role": "assistant", "content": []}, "message"),
        ({"role": "assistant", "content": None}, "message"),
        ({"call_id": "c", "output": "4"}, "function_call_output"),
        ({"function": {"name": "f", "arguments": "{}"}}, "function_call"),
        ({"mood": "good"}, None),
    ],
)
def test_an_item_without_a_type_is_what_its_fields_say(item: Any, kind: str | None) -> None:
    assert item_of(item).get("type") == kind


def test_a_call_without_an_id_gets_the_same_one_every_time() -> None:
    one, again = (item_of({"type": "function_call", "name": "f", "arguments": "{}"}) for _ in range(2))
    assert one == again
    assert one["call_id"].startswith("call_")


def test_a_custom_call_keeps_its_text() -> None:
    assert item_of({"call_id": "c", "name": "x", "input": "free text"}) == {
        "type": "custom_tool_call",
        "call_id": "c",
        "name": "x",
        "input": "free text",
    }


def test_the_rest_of_a_repaired_call_is_kept() -> None:
    item = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": {}, "status": "completed"}
    assert item_of({**item, "new": 1}) == {**item, "arguments": "{}", "new": 1}


def test_a_call_that_fits_comes_out_untouched_of_a_document_that_does_not() -> None:
    item = {"type": "function_call", "call_id": "c", "name": "f", "arguments": ""}
    document = json.dumps({"input": [{"role": "user", "content": "Hi"}, item]})
    request = REQUEST.decode(document)
    assert msgspec.json.decode(msgspec.json.encode(request))["input"][1] == item


@pytest.mark.parametrize("body", ["{}", '{"id":"r"}', '{"id":"r","status":"completed","output":null}', "[]", "null"])
def test_an_answer_without_status_or_output_is_refused(body: str) -> None:
    with pytest.raises(DecodeError):
        RESPONSE.decode(body)


@pytest.mark.parametrize("output", ["[1]", "[null]", '["x"]', '[{"type":"message"}]'])
def test_output_that_is_not_items_is_refused(output: str) -> None:
    with pytest.raises(DecodeError):
        RESPONSE.decode(f'{{"id":"r","status":"completed","output":{output}}}')


@pytest.mark.parametrize(
    "field", ["created_at", "usage", "error", "tools", "text", "temperature", "metadata", "instructions"]
)
def test_an_answer_may_hold_null_nearly_everywhere(field: str) -> None:
    response = RESPONSE.decode(f'{{"id":"r","status":"completed","output":[],"{field}":null}}')
    assert getattr(response, field) is None


@pytest.mark.parametrize("value", [None, 1, []])
def test_an_answer_whose_object_is_no_word_is_an_answer(value: Any) -> None:
    """responses.response.7"""
    document = {"id": "resp_1", "object": value, "status": "completed", "output": [], "usage": None}
    assert RESPONSE.decode(json.dumps(document)).object == "response"
    with pytest.raises(DecodeError):
        RESPONSE.decode(json.dumps({**document, "output": None}))
