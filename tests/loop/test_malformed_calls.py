"""Calls that small models write in another shape are repaired, told, and paid for once: on both wires that small models have."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from llm_rest import Client

RAN: list[str] = []


def bash(command: str) -> str:
    """Run a command."""
    RAN.append(command)
    return "ran"


ARGUMENTS = {"command": "ls"}
SHAPES: dict[str, tuple[Any, str]] = {
    "flat": ([{"name": "bash", "arguments": ARGUMENTS}], "name and arguments stood beside the id"),
    "numbered": ([{"id": 5, "function": {"name": "bash", "arguments": ARGUMENTS}}], "its id was a number"),
    "object": (
        {"id": "a", "function": {"name": "bash", "arguments": ARGUMENTS}},
        "it was an object in place of the list of calls",
    ),
}
NAMELESS = [{"id": "a", "function": {"arguments": ARGUMENTS}}]


class Host:
    """A host of a wire that calls a tool in some shape, and then says what it was told; it records what it was sent."""

    def __init__(self, wire: str, calls: Any) -> None:
        self.bodies: list[Any] = []
        self._wire, self._calls = wire, calls

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.bodies.append(body := json.loads(request.content))
        last = body["messages"][-1]
        message = (
            {"content": f"Told: {last['content']}"}
            if last["role"] == "tool"
            else {"content": "", "tool_calls": self._calls}
        )
        if self._wire == "ollama_chat":
            line = {"model": "m", "message": {"role": "assistant", **message}, "done": True, "done_reason": "stop"}
            return httpx.Response(200, json=line)
        reason = "stop" if last["role"] == "tool" else "tool_calls"
        if not body.get("stream"):
            choice: Any = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", **message}}
            return httpx.Response(200, json={"id": "c", "created": 1, "model": "m", "choices": [choice]})
        choice = {"index": 0, "finish_reason": reason, "delta": message}
        text = f"data: {json.dumps({'id': 'c', 'created': 1, 'model': 'm', 'choices': [choice]})}\n\ndata: [DONE]\n\n"
        return httpx.Response(200, text=text, headers={"content-type": "text/event-stream"})


def run_of(wire: str, calls: Any, *, streams: bool) -> tuple[Any, Host]:
    RAN.clear()
    host = Host(wire, calls)
    vendor = {"ollama_chat": "ollama/m", "openai_chat": "compatible/m"}[wire]
    http = httpx.Client(transport=httpx.MockTransport(host))
    with Client(vendor, base_url="http://localhost:9", api_key="k", http=http, on_loss="ignore") as llm:
        run = llm.run("list", [bash])
        if streams:
            with run.stream() as events:
                for _ in events:
                    pass
        run.result()
    return run, host


both = pytest.mark.parametrize("wire", ["ollama_chat", "openai_chat"])
whole_and_streamed = pytest.mark.parametrize("streams", [False, True])


@both
@whole_and_streamed
@pytest.mark.parametrize("shape", SHAPES)
def test_a_call_in_another_shape_is_repaired_told_and_run(wire: str, streams: bool, shape: str) -> None:
    calls, fault = SHAPES[shape]
    run, host = run_of(wire, calls, streams=streams)
    assert RAN == ["ls"]
    assert len(host.bodies) == 2
    if not (streams and wire == "openai_chat" and shape == "flat"):  # a piece of a call has no shape
        assert fault in run.calls[0].repairs
    assert host.bodies[1]["messages"][-1]["tool_call_id"] == host.bodies[1]["messages"][-2]["tool_calls"][0]["id"]


@both
@whole_and_streamed
def test_a_call_without_a_name_is_told_to_the_model_with_no_second_request_for_the_same(
    wire: str, streams: bool
) -> None:
    run, host = run_of(wire, NAMELESS, streams=streams)
    assert not RAN
    assert len(host.bodies) == 2
    assert "it had no name" in run.calls[0].repairs
    assert "there is no tool called ''" in host.bodies[1]["messages"][-1]["content"]
