"""A turn of a chat sends what the whole conversation would send anew, and takes the work of what is new."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import httpx
import pytest

from benchmarks import documents
from llm_rest import AsyncClient, Client, Conversation, LLMError, tool
from llm_rest.responses import AnyItem, FunctionCall, FunctionCallOutput, InputImage, Message
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


def edit(talk: Conversation, wire: str) -> None:
    talk.items[1] = Message(role="user", content="[removed]")


def cut(talk: Conversation, wire: str) -> None:
    del talk.items[:4]


def insert(talk: Conversation, wire: str) -> None:
    talk.items.insert(2, Message(role="developer", content="Answer in verse."))


def instruct(talk: Conversation, wire: str) -> None:
    talk.set_system_prompt("Be brief.")


def add_context(talk: Conversation, wire: str) -> None:
    talk.set_context([("user", "It is Monday.")])


def add_calls(talk: Conversation, wire: str) -> None:
    talk.add(
        Message(role="user", content="Look for it"),
        FunctionCall(call_id="c1", name="weather", arguments="{}"),
        FunctionCallOutput(call_id="c1", output="4", is_error=True),
        Message(role="assistant", content="Four."),
    )


def add_image(talk: Conversation, wire: str) -> None:
    image = InputImage(image_url="data:image/png;base64,iVBORw0KGgo=")
    talk.add(Message(role="user", content=[image]), Message(role="assistant", content="A cat."))


def replace_all(talk: Conversation, wire: str) -> None:
    talk.items = Conversation.load(talk.save()).items


CHANGES = (edit, cut, insert, instruct, add_context, add_calls, add_image, replace_all)


@pytest.mark.sample(4)
@pytest.mark.parametrize("wire", WIRES)
async def test_every_turn_sends_what_the_conversation_sends_anew(way: str, wire: str) -> None:
    host, anew = Recorder(wire), Recorder(wire)
    llm, other = client(way, wire, host), client(way, wire, anew)
    chat = llm.chat(tools=[weather], max_output_tokens=500)

    async def check(**options: Any) -> None:
        copy = other.chat(
            conversation=Conversation.load(chat.conversation.save()), tools=[weather], max_output_tokens=500
        )
        await asked(copy, "And then?", **options)
        await asked(chat, "And then?", **options)
        assert host.bodies[-1] == anew.bodies[-1]

    for change in (lambda *_: None, *CHANGES):
        await check()
        change(chat.conversation, wire)
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


@pytest.mark.parametrize("way", ["asyncio"], indirect=True)
@pytest.mark.parametrize(("wire", "options"), TURNS)
async def test_a_turn_of_a_long_conversation_takes_the_steps_of_a_turn(
    wire: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in lines of Python, from `ask` until the request is sent."""
    monkeypatch.setenv("PERPLEXITY_API_KEY", "k")

    async def turn(n: int) -> int:
        host = Recorder(wire)
        llm, count, counts = client("asyncio", wire, host), 0, list[int]()
        said: list[AnyItem] = [Message(role="user", content="Hi"), Message(role="assistant", content="Hello.")]
        tools = None if options is ALTERNATES else [weather]  # which that host does not take
        chat = llm.chat(conversation=Conversation(items=said * n), tools=tools)

        def trace(frame: FrameType, event: str, argument: object) -> Any:
            nonlocal count
            count += 1
            return trace

        host.heard.append(lambda: counts.append(count))
        for _ in range(3):
            count, before = 0, sys.gettrace()
            sys.settrace(trace)
            try:
                await asked(chat, "And then?", max_repairs=0, **options)
            except LLMError:
                assert "output" in options  # the answer is no JSON
            finally:
                sys.settrace(before)
        return counts[-1]

    few = await turn(20)
    assert await turn(200) <= few * 1.05


@pytest.mark.sample(4)
@pytest.mark.parametrize("way", ["asyncio"], indirect=True)
@pytest.mark.parametrize("wire", WIRES)
async def test_a_run_with_many_rounds_takes_the_steps_of_a_round_in_each(wire: str) -> None:
    host = Recorder(wire)
    host.answer = documents.answer(wire, calls=True)
    llm, count, counts = client("asyncio", wire, host), 0, list[int]()

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += 1
        return None if frame.f_code.co_filename.endswith("response.py") else trace  # what reads the answer

    def hear() -> None:
        nonlocal count
        counts.append(count)
        count = 0

    host.heard.append(hear)
    run, before = llm.run("The weather, again and again.", tools=[weather], max_iterations=60), sys.gettrace()
    sys.settrace(trace)
    try:
        with pytest.raises(LLMError):
            await run.result()
    finally:
        sys.settrace(before)
    few, many = counts[8:12], counts[-4:]
    assert len(counts) == 60
    assert min(many) <= min(few) * 1.1
