"""A turn of a chat sends what the whole conversation would send anew, and takes the work of what is new."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import httpx
import pytest

from benchmarks import documents
from llm_rest import AsyncClient, Client, Conversation, HistoryLimits, LLMError, tool
from llm_rest.responses import (
    AnyItem,
    CacheBreakpoint,
    FunctionCall,
    FunctionCallOutput,
    InputImage,
    InputText,
    Message,
)
from tests.conversation.support import asked
from tests.support import WIRES

pytestmark = pytest.mark.anyio

MODELS = {
    "openai_responses": ("openai/gpt-4o", "openai/gpt-5.2"),
    "openai_chat": ("groq/llama-3.3-70b-versatile", "groq/openai/gpt-oss-20b"),
    "anthropic_messages": ("anthropic/claude-haiku-4-5", "anthropic/claude-opus-4-8"),
    "ollama_chat": ("ollama/llama3.2", "ollama/qwen3"),
    "gemini_generate_content": ("google/gemini-2.5-flash", "google/gemini-3-pro-preview"),
}
"""Of each wire the model of a conversation, and another one."""


@contextmanager
def lines_until_sent(host: Recorder, skip: str = "?") -> Iterator[list[int]]:
    """The lines of Python that run until each request is sent, without those in calls of the file `skip`."""
    counts, count = list[int](), 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += 1
        return None if frame.f_code.co_filename.endswith(skip) else trace

    def hear() -> None:
        nonlocal count
        counts.append(count)
        count = 0

    host.heard, before = [hear], sys.gettrace()
    sys.settrace(trace)
    try:
        yield counts
    finally:
        sys.settrace(before)


class Recorder:
    """A host of a wire that remembers the bytes of the requests and gives one answer."""

    def __init__(self, wire: str) -> None:
        self.answer = documents.answer(wire)
        self.bodies: list[bytes] = []
        self.heard: list[Callable[[], Any]] = []
        self.fails = False

    def __call__(self, request: httpx.Request) -> httpx.Response:
        for hear in self.heard:
            hear()
        self.bodies.append(request.url.path.encode() + repr(sorted(request.headers.items())).encode() + request.content)
        if self.fails:
            return httpx.Response(400, json={"error": {"message": "no"}})
        return httpx.Response(200, content=self.answer, headers={"content-type": "application/json"})


def client(way: str, wire: str, host: Recorder) -> Any:
    transport, kind = httpx.MockTransport(host), Client if way == "sync" else AsyncClient
    http: Any = httpx.Client(transport=transport) if way == "sync" else httpx.AsyncClient(transport=transport)
    return kind(MODELS[wire][0], api_key="k", retry=1, http=http, on_loss="ignore", invalid_options="drop")  # type: ignore[operator]


@tool
def weather(city: str, days: list[int]) -> str:
    """The weather in a city."""
    return f"4 degrees in {city}"


CHANGES: list[Callable[[Conversation], Any]] = [
    lambda talk: None,
    lambda talk: talk.items.__setitem__(1, Message(role="user", content="[removed]")),
    lambda talk: talk.items.__delitem__(slice(4)),
    lambda talk: talk.items.insert(2, Message(role="developer", content="Answer in verse.")),
    lambda talk: talk.set_system_prompt("Be brief."),
    lambda talk: talk.set_context([("user", "It is Monday.")]),
    lambda talk: talk.add(Message(role="user", content="Look for it"), *failed(1), said()[1]),
    lambda talk: talk.add(Message(role="user", content=[InputImage(image_url=IMAGE)]), said()[1]),
    lambda talk: setattr(talk, "items", Conversation.load(talk.save()).items),
]
"""What a program may do with a conversation between two turns."""
IMAGE = "data:image/png;base64,iVBORw0KGgo="


@pytest.mark.sample(3)
@pytest.mark.parametrize("wire", WIRES)
async def test_every_turn_sends_what_the_conversation_sends_anew(way: str, wire: str) -> None:
    host, anew = Recorder(wire), Recorder(wire)
    llm, other = client(way, wire, host), client(way, wire, anew)
    chat = llm.chat(tools=[weather], max_output_tokens=500)

    async def check(**options: Any) -> None:
        talk = Conversation.load(chat.conversation.save())
        copy = other.chat(conversation=talk, tools=[weather], max_output_tokens=500)
        await asked(copy, "And then?", **options)
        await asked(chat, "And then?", **options)
        assert host.bodies[-1] == anew.bodies[-1]

    for change in CHANGES:
        await check()
        change(chat.conversation)
        await check()
        await check(model=MODELS[wire][1])
        await check(temperature=0.5)
        host.fails = True
        with pytest.raises(LLMError):
            await asked(chat, "Will this fail?")
        host.fails = False


ALTERNATES = {"model": "perplexity/sonar"}
TYPED = {"output": dict[str, int]}
TURNS: list[tuple[str, dict[str, Any]]] = [*((wire, {}) for wire in WIRES), ("openai_chat", ALTERNATES)]
TURNS += [(wire, TYPED) for wire in WIRES]
LIMITS = HistoryLimits(max_items=30), HistoryLimits(max_tokens=90_000), HistoryLimits(max_items=30, rounds=True)
TURNS += [("openai_chat", {"limits": limits}) for limits in LIMITS]


def said(mark: bool = False) -> list[AnyItem]:
    question = InputText(text="Hi", prompt_cache_breakpoint=CacheBreakpoint() if mark else None)
    return [Message(role="user", content=[question]), Message(role="assistant", content="Hello.")]


def failed(i: int) -> list[AnyItem]:
    call = FunctionCall(call_id=f"c{i}", name="weather", arguments="{}")
    return [call, FunctionCallOutput(call_id=f"c{i}", output="4", is_error=True)]


SAID: dict[str, Callable[[int], list[AnyItem]]] = {
    "texts": lambda i: said(),
    "cache marks": lambda i: said(mark=True),
    "cache marks of the first turns": lambda i: said(mark=i < 5),
    "failed calls": lambda i: [said()[0], *failed(i), said()[1]],
}
CASES = [(wire, options, "texts") for wire, options in TURNS]
CASES += [(wire, {}, kind) for wire in WIRES for kind in SAID if kind != "texts"]


@pytest.mark.parametrize("way", ["sync"], indirect=True)
@pytest.mark.parametrize(("wire", "options", "kind"), CASES)
async def test_a_turn_of_a_long_conversation_takes_the_steps_of_a_turn(
    wire: str, options: dict[str, Any], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in lines of Python, from `ask` until the request is sent."""
    monkeypatch.setenv("PERPLEXITY_API_KEY", "k")

    async def turn(n: int) -> int:
        host, found = Recorder(wire), list[int]()
        items = [item for i in range(n) for item in SAID[kind](i)]
        tools = None if options is ALTERNATES else [weather]  # which that host does not take
        chat = client("sync", wire, host).chat(conversation=Conversation(items=items), tools=tools)
        for _ in range(3):
            with lines_until_sent(host) as counts, suppress(*[LLMError] if "output" in options else []):
                await asked(chat, "And then?", max_repairs=0, **options)
            found.append(counts[0])
        return found[-1]

    assert await turn(200) <= await turn(20) * 1.05


@pytest.mark.sample(4)
@pytest.mark.parametrize("way", ["asyncio"], indirect=True)
@pytest.mark.parametrize("wire", WIRES)
async def test_a_run_with_many_rounds_takes_the_steps_of_a_round_in_each(wire: str) -> None:
    host = Recorder(wire)
    host.answer = documents.answer(wire, calls=True)
    run = client("asyncio", wire, host).run("The weather, again and again.", tools=[weather], max_iterations=30)
    with pytest.raises(LLMError), lines_until_sent(host, skip="response.py") as counts:  # what reads the answer
        await run.result()
    assert len(counts) == 30
    assert min(counts[-4:]) <= min(counts[8:12]) * 1.1
