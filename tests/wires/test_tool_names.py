"""Names of tools that a vendor does not take: sent under another name on every wire, and given back in the answer."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest

from llm_rest import wires
from llm_rest.responses import (
    AdditionalTools,
    ChooseAllowed,
    ChooseFunction,
    FunctionCall,
    FunctionCallOutput,
    FunctionTool,
    Message,
    NamespaceTool,
    Request,
    Response,
)
from llm_rest.responses.stream import disassemble
from llm_rest.unknown import given
from llm_rest.vendors.rows import DIALECTS
from tests.support.streams import assembled, read, written

NAMES = ("files.read", "a b", "x" * 65, "ä", "files/read", "files:read")
TAKEN = {
    "openai_responses": r"[a-zA-Z0-9_-]{1,64}",
    "openai_chat": r"[a-zA-Z0-9_-]{1,64}",
    "anthropic_messages": r"[a-zA-Z0-9_-]{1,64}",
    "gemini_generate_content": r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}",
    "ollama_chat": r".+",
}
every_wire = pytest.mark.parametrize("name", wires.NAMES)


def call(name: str, namespace: str | None = None) -> FunctionCall:
    return FunctionCall(id="fc_1", call_id="call_1", name=name, arguments="{}", namespace=namespace)


def asked(name: str, **more: Any) -> Request:
    said: Any = [Message(role="user", content="Hi"), call(name), FunctionCallOutput(call_id="call_1", output="4")]
    return Request(model="m", input=said, tools=[FunctionTool(name=name, strict=False)], **more)


def names_in(value: Any) -> list[str]:
    """Every text under `name` in a document."""
    if isinstance(value, list):
        return [name for each in value for name in names_in(each)]
    if not isinstance(value, dict):
        return []
    own = [value["name"]] if isinstance(value.get("name"), str) else []
    return [*own, *(name for each in value.values() for name in names_in(each))]


def sent(name: str, request: Request) -> Any:
    body, lost = wires.load(name).encode_request(request, dialect=DIALECTS[name]())
    assert [loss for loss in lost if loss.kind == "refused"] == []
    return json.loads(msgspec.json.encode(body))


@pytest.mark.parametrize("tool", NAMES)
@every_wire
def test_a_name_that_a_vendor_does_not_take_goes_out_as_one_it_takes(name: str, tool: str) -> None:
    """chat.request.60 responses.request.45"""
    found = set(names_in(sent(name, asked(tool, tool_choice=ChooseFunction(name=tool)))))
    assert len(found) == 1
    assert re.fullmatch(TAKEN[name], found.pop())


@every_wire
def test_names_stay_apart_and_the_same_every_time(name: str) -> None:
    found = [names_in(sent(name, asked(tool)))[0] for tool in (*NAMES, *NAMES)]
    assert found[: len(NAMES)] == found[len(NAMES) :]
    assert len(set(found)) == len(NAMES)


def answer(name: str, request: Request, space: str | None = None) -> tuple[Response, bytes]:
    """What a vendor answers that calls the tool by the name it was sent under, whole and as a stream."""
    wire = wires.load(name)
    called = names_in(sent(name, request))[0]
    response = Response(id="resp_1", model="m", status="completed", output=[call(called, space)])
    return response, b"".join(written(name, disassemble(response), dialect=DIALECTS[name]())[0]) or bytes(
        wire.NAMED_EVENTS
    )


@pytest.mark.parametrize("tool", ["get", *NAMES])
@every_wire
def test_a_call_comes_back_under_the_name_of_the_request(name: str, tool: str) -> None:
    request = asked(tool)
    response, stream = answer(name, request)
    wire = wires.load(name)
    body = msgspec.json.encode(wire.encode_response(response, dialect=DIALECTS[name]())[0])
    whole, _ = wire.decode_response(wire.RESPONSE.decode(body), request=request, dialect=DIALECTS[name]())
    events = read(name, [stream], request=request)
    told = [event.item for event in events if hasattr(event, "item")]
    for item in [*whole.output, *assembled(events).output, *told]:
        if isinstance(item, FunctionCall):
            assert item.name == tool
    assert any(isinstance(item, FunctionCall) for item in whole.output)
    assert any(isinstance(item, FunctionCall) for item in told)
    if given(whole.tools):
        assert whole.tools == request.tools


def test_a_responses_host_gets_every_name_changed_and_gives_every_name_back() -> None:
    """responses.request.45"""
    inner = NamespaceTool(name="my.space", tools=[FunctionTool(name="a.b")])
    added = AdditionalTools(role="developer", tools=[FunctionTool(name="c.d")])
    chosen = ChooseAllowed(tools=[{"type": "function", "name": "e.f"}], mode="auto")
    request = Request(
        model="m",
        input=[added, call("a.b", "my.space")],
        tools=[inner, FunctionTool(name="e.f")],
        tool_choice=chosen,
    )
    body = sent("openai_responses", request)
    assert [name for name in names_in(body) if "." in name] == []
    assert body["tool_choice"]["tools"][0]["name"] == body["tools"][1]["name"]
    space, name = body["tools"][0]["name"], body["tools"][0]["tools"][0]["name"]
    assert (body["input"][1]["namespace"], body["input"][1]["name"]) == (space, name)
    echo: Any = {"tools": body["tools"], "tool_choice": body["tool_choice"]}
    items = [call(name, space), call(body["input"][0]["tools"][0]["name"])]
    response = msgspec.convert({"id": "resp_1", "status": "completed", "output": [], **echo}, Response)
    response.output = [*items]
    wire = wires.load("openai_responses")
    found, _ = wire.decode_response(response, request=request)
    assert [(item.namespace, item.name) for item in found.output if isinstance(item, FunctionCall)] == [
        ("my.space", "a.b"),
        (None, "c.d"),
    ]
    assert (found.tools, found.tool_choice) == (request.tools, chosen)


def test_names_that_hosts_take_leave_the_request_as_it_is() -> None:
    request = asked("get")
    assert wires.load("openai_responses").encode_request(request, dialect=DIALECTS["openai_responses"]())[0] is request
