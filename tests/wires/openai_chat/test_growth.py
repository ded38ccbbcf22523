"""The cost of a conversion grows with its document and no faster: executed lines at n and at 4n."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import msgspec
import pytest

from llm_rest.responses import Request, Response
from llm_rest.responses.carriers import seal
from llm_rest.responses.items import AnyItem, FunctionCall, FunctionCallOutput, Message, Reasoning
from llm_rest.responses.parts import OutputText, SummaryText
from llm_rest.responses.stream import disassemble
from llm_rest.vendors.dialects import CHAT_HOSTS
from llm_rest.wires import openai_chat as wire
from tests.wires.openai_chat import HI, said

N = 60


def lines_of(work: Callable[[], object]) -> int:
    """How many lines of Python run for some work."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    work()  # what is built once is built now
    gc.disable()
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
        gc.enable()
    return count


def call(i: int, name: str = "") -> dict[str, Any]:
    return {"id": name or f"c{i}", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def tool(i: int, name: str = "") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": name or f"c{i}", "content": "4"}


def asked(*messages: dict[str, Any]) -> Callable[[], object]:
    body = wire.REQUEST.decode(msgspec.json.encode({"model": "m", "messages": [HI, *messages]}))
    return lambda: wire.decode_request(body)


def sent(*items: AnyItem, host: str = "openai") -> Callable[[], object]:
    return lambda: wire.encode_request(Request(model="m", input=list(items)), dialect=CHAT_HOSTS[host])


def made(i: int, name: str = "") -> FunctionCall:
    return FunctionCall(call_id=name or f"c{i}", name="f", arguments="{}")


def gave(i: int, name: str = "") -> FunctionCallOutput:
    return FunctionCallOutput(call_id=name or f"c{i}", output="4")


def spoken(i: int) -> Message:
    return Message(role="assistant", content=[OutputText(text=f"t{i}", annotations=[])])


def thought(i: int) -> Reasoning:
    return Reasoning(summary=[SummaryText(text=f"t{i}")], encrypted_content=seal("a", "b", {"i": i}))


def streamed(response: Response, host: str = "openai") -> Callable[[], object]:
    events = disassemble(response)

    def work() -> None:
        machine = wire.encode_stream(dialect=CHAT_HOSTS[host])
        chunks = [chunk for event in events for chunk in machine.feed(event)]
        back = wire.decode_stream(dialect=CHAT_HOSTS[host])
        for chunk in chunks:
            back.feed(wire.EVENT.decode(msgspec.json.encode(chunk)))
        back.end()

    return work


def answer(*items: AnyItem) -> Response:
    return Response(id="r", model="m", status="completed", output=list(items))


def told(*items: AnyItem, host: str = "openai") -> Callable[[], object]:
    return lambda: wire.encode_response(answer(*items), dialect=CHAT_HOSTS[host])


def read(calls: list[dict[str, Any]]) -> Callable[[], object]:
    body = wire.RESPONSE.decode(msgspec.json.encode(said(tool_calls=calls)))
    return lambda: wire.decode_response(body)


def details(n: int) -> list[dict[str, Any]]:
    return [{"type": "reasoning.text", "text": "t", "format": "llm_rest", "id": str(i // 2)} for i in range(n)]


SHAPES: dict[str, Callable[[int], Callable[[], object]]] = {
    "calls answered in reverse, read": lambda n: asked(
        {"role": "assistant", "tool_calls": [call(i) for i in range(n)]}, *map(tool, reversed(range(n)))
    ),
    "calls of one id, read": lambda n: asked(
        *[one for i in range(n) for one in ({"role": "assistant", "tool_calls": [call(i, "c")]}, tool(i, "c"))]
    ),
    "calls without an output, read": lambda n: asked(
        *[{"role": "assistant", "tool_calls": [call(i)]} for i in range(n)], *[tool(0, "other") for _ in range(n)]
    ),
    "details of reasoning, read": lambda n: asked({"role": "assistant", "reasoning_details": details(n)}),
    "calls answered in reverse": lambda n: sent(*map(made, range(n)), *map(gave, reversed(range(n)))),
    "calls of one id": lambda n: sent(*[made(i, "c") for i in range(n)], *[gave(i, "c") for i in range(n)]),
    "calls without an output": lambda n: sent(
        *[one for i in range(n) for one in (made(i), Message(role="user", content="Hi"))]
    ),
    "outputs that come too late": lambda n: sent(
        *[one for i in range(n) for one in (made(i), Message(role="user", content="Hi"))], *map(gave, range(n))
    ),
    "texts after a call": lambda n: sent(made(0), *map(spoken, range(n)), gave(0)),
    "outputs without a call": lambda n: sent(*map(gave, range(n))),
    "thoughts of another vendor": lambda n: sent(*map(thought, range(n))),
    "messages of one role, where roles take turns": lambda n: sent(*map(spoken, range(n)), host="perplexity"),
    "an answer of many calls": lambda n: told(*map(made, range(n))),
    "an answer of many texts": lambda n: told(*map(spoken, range(n))),
    "an answer of many thoughts": lambda n: told(*map(thought, range(n))),
    "a stream of many calls": lambda n: streamed(answer(*map(made, range(n)))),
    "a stream of many texts": lambda n: streamed(answer(*map(spoken, range(n)))),
    "a stream of many thoughts": lambda n: streamed(answer(*map(thought, range(n)))),
    "a stream of many thoughts that are sent whole": lambda n: streamed(answer(*map(thought, range(n))), "openrouter"),
    "an answer of many calls, read": lambda n: read([call(i) for i in range(n)]),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_document_four_times_as_long_costs_four_times_as_much(shape: str) -> None:
    few, many = (lines_of(SHAPES[shape](n)) for n in (N, 4 * N))
    assert few > N, "nothing ran"
    assert many < 4.4 * few
