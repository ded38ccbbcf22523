"""The legacy form of tools (`functions`, `function_call`, the role `function`) stays what it is, whole and streamed."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from llm_rest.responses import FunctionCall, Response
from llm_rest.responses.stream import disassemble
from llm_rest.unknown import Unknown
from llm_rest.wires import openai_chat as wire

FUNCTIONS = [{"name": "f", "parameters": {"type": "object", "properties": {}}}, {"name": "g"}]
HISTORY = [
    {"role": "user", "content": "a"},
    {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
    {"role": "function", "name": "f", "content": "1"},
    {"role": "assistant", "content": "Now g.", "function_call": {"name": "g", "arguments": "{}"}},
    {"role": "function", "name": "g", "content": "2"},
]


def plain(document: Any) -> Any:
    return json.loads(msgspec.json.encode(document))


def asked(**more: Any) -> Any:
    body = {"model": "m", "messages": HISTORY, "functions": FUNCTIONS, **more}
    return wire.decode_request(wire.REQUEST.decode(json.dumps(body)))[0]


def answer(*names: str) -> Response:
    calls = [FunctionCall(call_id=f"c_{name}", name=name, arguments='{"a":1}') for name in names]
    return Response(id="r", status="completed", created_at=1, model="m", output=[*calls])


@pytest.mark.parametrize("choice", [{"name": "f"}, "auto", "none"])
def test_a_request_with_functions_is_sent_as_it_came(choice: Any) -> None:
    body = {"model": "m", "messages": HISTORY, "functions": FUNCTIONS, "function_call": choice}
    request, lost = wire.decode_request(wire.REQUEST.decode(json.dumps(body)))
    made, more = wire.encode_request(request)
    assert plain(made) == body
    assert [*lost, *more] == []


def test_tools_that_no_function_can_be_are_sent_as_tools() -> None:
    request = asked()
    request.tools.append(Unknown({"type": "browser_search"}))
    made = plain(wire.encode_request(request)[0])
    assert [tool["type"] for tool in made["tools"]] == ["function", "function", "browser_search"]
    assert "functions" not in made


def test_who_asked_with_functions_is_answered_with_a_function_call() -> None:
    (choice,) = plain(wire.encode_response(answer("f"), request=asked())[0])["choices"]
    assert choice["finish_reason"] == "function_call"
    assert choice["message"]["function_call"] == {"name": "f", "arguments": '{"a":1}'}
    assert "tool_calls" not in choice["message"]


def test_who_asked_with_functions_gets_a_streamed_function_call() -> None:
    encoder = wire.encode_stream(request=asked())
    chunks = [plain(chunk) for event in disassemble(answer("f")) for chunk in encoder.feed(event)]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert [delta["function_call"] for delta in deltas if "function_call" in delta] == [
        {"name": "f", "arguments": ""},
        {"arguments": '{"a":1}'},
    ]
    assert not any("tool_calls" in delta for delta in deltas)
    assert chunks[-1]["choices"][0]["finish_reason"] == "function_call"


def test_a_second_call_is_told_and_stands_beside_the_first() -> None:
    made, lost = wire.encode_response(answer("f", "g"), request=asked())
    (choice,) = plain(made)["choices"]
    assert choice["message"]["function_call"]["name"] == "f"
    assert [call["function"]["name"] for call in choice["message"]["tool_calls"]] == ["g"]
    assert [(loss.path, loss.kind) for loss in lost] == [("output[1]", "changed")]


def test_a_streamed_legacy_call_is_the_same_as_a_whole_one() -> None:
    call = {"name": "f", "arguments": '{"a":1}'}
    head = {"id": "c", "created": 1, "model": "m"}
    whole = {**head, "choices": [{"index": 0, "finish_reason": "function_call", "message": {"function_call": call}}]}
    decoder = wire.decode_stream()
    events: list[Any] = []
    for delta in ({"function_call": {"name": "f", "arguments": ""}}, {"function_call": {"arguments": '{"a":1}'}}, {}):
        reason = None if delta else "function_call"
        chunk = {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        events += decoder.feed(wire.EVENT.decode(json.dumps(chunk)))
    events += decoder.end()
    response, lost = wire.decode_response(wire.RESPONSE.decode(json.dumps(whole)))
    assert plain(events[-1].response.output) == plain(response.output)
    assert [*lost, *decoder.losses] == []
    assert plain(wire.encode_response(response)[0])["choices"][0]["message"] == {"function_call": call}
