"""What hosts really send, and what is made of it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from llm_rest import wires
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
CUSTOM = {"type": "custom_tool_call", "call_id": "c", "name": "x", "input": "free text"}
FULL = {**CALL, "id": "fc_1", "status": "completed", "new": 1}


@pytest.mark.parametrize(
    ("item", "understood"),
    [
        ({"call_id": "c", "name": "f", "arguments": "{}"}, CALL),
        ({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}, {"id": "c", **CALL}),
        ({**CALL, "arguments": {}}, CALL),
        ({**CALL, "arguments": None}, CALL),
        ({"type": "function_call", "call_id": "c", "name": "f"}, CALL),
        ({"type": "function_call", "call_id": "c", "function": {"name": "f", "arguments": "{}"}}, CALL),
        ({"type": "function_call", "id": "c", "name": "f", "arguments": "{}"}, {"id": "c", **CALL}),
        ({**FULL, "arguments": {}}, FULL),
        ({"call_id": "c", "name": "x", "input": "free text"}, CUSTOM),
    ],
)
def test_half_a_call_is_read_as_a_whole_one(item: Any, understood: Any) -> None:
    """responses.request_back.15"""
    assert item_of(item) == understood


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


WEATHER = {"name": "weather", "arguments": '{"city":"Oslo"}'}
NESTED = {"id": "c1", "type": "function", "function": WEATHER}
NO_ID, NO_TYPE = "it had no id", "it had no type, read as a function"
FLAT, OBJECT = "name and arguments stood beside the id", "its arguments were an object instead of text"


def nested(**function: Any) -> dict[str, Any]:
    return {**NESTED, "function": {"name": "now", **function}}


@pytest.mark.parametrize(
    ("call", "name", "arguments", "faults"),
    [
        (NESTED, *WEATHER.values(), []),
        *[({**NESTED, "id": empty}, *WEATHER.values(), [NO_ID]) for empty in ("", "null", None)],
        ({"function": WEATHER, "id": "c1"}, *WEATHER.values(), [NO_TYPE]),
        ({"id": "c1", "type": "function", **WEATHER}, *WEATHER.values(), [FLAT]),
        ({"name": "weather", "arguments": {"city": "Oslo"}}, *WEATHER.values(), [NO_ID, NO_TYPE, FLAT, OBJECT]),
        ({**NESTED, "function": {"arguments": "{}"}}, "", "{}", ["it had no name"]),
        *[(nested(arguments=empty), "now", "{}", ["its arguments were empty, read as {}"]) for empty in ("", "null")],
        (nested(arguments=None), "now", "{}", ["it had no arguments, read as {}"]),
        (nested(arguments='{"city":'), "now", '{"city":', []),
        ({"id": "c1", "type": "custom", "custom": {"name": "run", "input": "print(1)"}}, "run", "print(1)", []),
    ],
)
def test_a_malformed_call_of_chat_is_repaired_and_reported(
    call: Any, name: str, arguments: str, faults: list[str]
) -> None:
    chat = wires.load("openai_chat")
    last = {"function": WEATHER}
    choices = [
        {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": [call, last]}}
    ]
    document = {"id": "x", "object": "chat.completion", "model": "m", "choices": choices}
    found: Any
    (found, again), (first, _) = (chat.decode_response(chat.RESPONSE.decode(json.dumps(document))) for _ in range(2))
    assert (found.output, found.output[0].call_id == "c1") == (first.output, NO_ID not in faults)
    assert found.output[0].call_id != found.output[1].call_id
    text = getattr(found.output[0], "input", None) or found.output[0].arguments
    assert (found.output[0].name, text) == (name, arguments)
    assert [loss.what for loss in again if loss.path.endswith("[0]")] == faults


def test_a_call_that_fits_comes_out_untouched_of_a_document_that_does_not() -> None:
    item = {**CALL, "arguments": ""}
    request = REQUEST.decode(json.dumps({"input": [{"role": "user", "content": "Hi"}, item]}))
    assert msgspec.json.decode(msgspec.json.encode(request))["input"][1] == item


BROKEN = ["{}", '{"id":"r"}', '{"id":"r","status":"completed","output":null}', "[]", "null"]
OUTPUTS = ["[1]", "[null]", '["x"]', '[{"type":"message"}]']


@pytest.mark.parametrize("body", [*BROKEN, *[f'{{"id":"r","status":"completed","output":{one}}}' for one in OUTPUTS]])
def test_an_answer_without_status_or_with_output_that_is_not_items_is_refused(body: str) -> None:
    with pytest.raises(DecodeError):
        RESPONSE.decode(body)


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
