"""Leftovers of any shape, as a client or a store may hand them back: nothing is raised, and what is said stays."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from llm_rest import wires
from llm_rest.responses import (
    FunctionCall,
    FunctionCallOutput,
    FunctionTool,
    InputText,
    Message,
    OutputText,
    Reasoning,
    ReasoningOptions,
    ReasoningText,
    Request,
    Response,
)
from llm_rest.responses.stream import disassemble
from tests.laws.rows import ROWS
from tests.support import WIRES
from tests.support.streams import STREAMING, read, written

every_wire = pytest.mark.parametrize("name", WIRES)

FORGED: list[Any] = [
    5,
    {"spelling": 5, "tools": 5, "messages": 5, "reasoning": 5, "stream_options": 5, "message": 7, "function": 5},
    {"spelling": {"tool_choice": 5, "stream_options": 5, "max_output_tokens": 5, "seed": [], "effort": 5}},
    {"tools": {"f": 5}, 'a"b': 1},
    {"tools": [], "output_config": 7, "stop_details": [], "service_tier": 7},
    {"tools": {"f": {"spelling": {"allowed_callers": 7}}}},
    {"tools": {"f": {"function": {"parameters": 5, "spelling": {"parameters": ["5", ""]}}}}},
    {"other_tools": {"a": 1}},
    {"other_tools": [[2**63, {"type": "memory_20250818", "name": "memory"}]]},
    {"spelling": {"empty": [7], "reasoning": []}},
    {"spelling": {"messages": [[2**63, {"content": []}]], "tools": "entries", "options": "group"}},
    {"block": 7, "spelling": {"asked": [7, 7], "lost": 7, "alone": [7], "empty": {"": 7}, "format": 7}},
    {"block": ["7", ""], "spelling": {"asked": ["7", ""], "lost": {"paths": 7}, "alone": {"servers": 7}}},
    {"messages": {"": [[0, 7], 7]}, "spelling": {"messages": "entries"}},
    {"model": 7, "max_tokens": "x", "spelling": {"model": [None, ""], "max_tokens": ["7", ""], "messages": [None, ""]}},
    {"options": "x", "num_ctx": "many", "stream": {}, "spelling": {"done reason": [1, 2]}},
    {"id": 5, "message": {"role": 5}, "spelling": "x"},
    {"choices[0]": 5, "choices[0].message": 5, "choices[0].message.tool_calls": 5, "choices[1:]": 5},
    {"choices[0]": {"finish_reason": {}}, "choices[0].message": {"spelling": {"reasoning": 5, "parts": 1}}},
    {"choices[0].message.tool_calls": {"c1": 5}, "choices[1:]": [5], "spelling": {"message": 5, "id": []}},
    {"choices[0].message": {"tool_calls": "x", "reasoning_details": 5}},
    {"spelling": {"choices": 5}},
    {"spelling": {"choices": [], "message": None}},
    {"spelling": {"message": 5, "id": 5, "created": []}},
]
"""Leftovers that no wire can have written."""

every_forgery = pytest.mark.parametrize("left", FORGED, ids=range(len(FORGED)))


def asked(name: str, left: Any) -> Request:
    """A request with these leftovers everywhere."""
    leftovers = None if left is None else {name: left}
    call = FunctionCall(call_id="call_12345", name="f", arguments='{"a":1}', leftovers=leftovers)
    return Request(
        model=ROWS[name].models[0],
        input=[
            Message(role="user", content=[InputText(text="Hi", leftovers=leftovers)], leftovers=leftovers),
            call,
            FunctionCallOutput(call_id=call.call_id, output="4", leftovers=leftovers),
        ],
        tools=[FunctionTool(name="f")],
        tool_choice="auto",
        max_output_tokens=5000,
        reasoning=ReasoningOptions(effort="low"),
        stream=True,
        leftovers=leftovers,
    )


def said(items: Any) -> list[Any]:
    """The texts, calls and outputs among items."""
    found: list[Any] = []
    for item in items:
        if isinstance(item, Message):
            found += [getattr(part, "text", part) for part in item.content]
        elif isinstance(item, FunctionCall):
            found.append((item.name, item.arguments))
        elif isinstance(item, FunctionCallOutput):
            found.append(item.output)
    return found


@every_wire
@every_forgery
def test_forged_leftovers_of_a_request_change_nothing_that_is_said(name: str, left: Any) -> None:
    wire = wires.load(name)
    bodies = [wire.encode_request(asked(name, each)) for each in (None, left)]
    assert {loss.path for loss in bodies[0][1]} <= {loss.path for loss in bodies[1][1]}
    sent = [wire.REQUEST.decode(msgspec.json.encode(body)) for body, _ in bodies]
    honest, forged = (wire.decode_request(body, keep=False, model="m")[0] for body in sent)
    assert said(forged.input) == said(honest.input) != []
    for option in ("max_output_tokens", "tool_choice", "reasoning", "instructions"):
        assert getattr(forged, option) == getattr(honest, option)


def answer(name: str, left: Any) -> Response:
    leftovers = None if left is None else {name: left}
    text = OutputText(text="a", annotations=[], leftovers=leftovers)
    return Response(
        id="resp_1",
        model="m",
        status="completed",
        created_at=1,
        output=[
            Reasoning(summary=[], content=[ReasoningText(text="Hm.")], leftovers=leftovers),
            Message(role="assistant", content=[text], leftovers=leftovers),
            FunctionCall(call_id="c1", name="f", arguments='{"a":1}', leftovers=leftovers),
        ],
        leftovers=leftovers,
    )


@every_wire
@every_forgery
def test_forged_leftovers_of_an_answer_change_nothing_that_is_said(name: str, left: Any) -> None:
    """chat.response_back.11"""
    wire = wires.load(name)
    body, _ = wire.encode_response(answer(name, left))
    response, _ = wire.decode_response(wire.RESPONSE.decode(msgspec.json.encode(body)), keep=False)
    assert said(response.output) == ["a", ("f", '{"a":1}')]


@pytest.mark.parametrize("name", STREAMING)
@every_forgery
def test_forged_leftovers_of_a_streamed_answer_raise_nothing(name: str, left: Any) -> None:
    events = disassemble(answer(name, left))
    assert read(name, written(name, events)[0])


@pytest.mark.parametrize("target", ["openai_chat", "ollama_chat"])
def test_an_unknown_field_of_a_thought_is_reported_by_wires_that_show_thoughts_as_one_text(target: str) -> None:
    gemini, there = wires.load("gemini_generate_content"), wires.load(target)
    parts = b'[{"text":"Hm","thought":true,"brand_new":1},{"text":"Hi"}]'
    body = b'{"candidates":[{"content":{"role":"model","parts":%s},"finishReason":"STOP"}]}' % parts
    response, _ = gemini.decode_response(gemini.RESPONSE.decode(body))
    decoder, encoder = gemini.decode_stream(), there.encode_stream()
    for event in [*decoder.feed(gemini.EVENT.decode(body)), *decoder.close()]:
        encoder.feed(event)
    encoder.close()
    for losses in (there.encode_response(response)[1], encoder.losses):
        assert "output[0].summary[0].brand_new" in {loss.path for loss in losses}
