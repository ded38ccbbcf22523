"""The simulator streams: through our clients in process and over HTTP, in legal order, with the answer that is not streamed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from llm_rest import AsyncClient, Client, InternalServerError, LLMError, RateLimitError, StreamInterruptedError, wires
from llm_rest.client.reply import Reply
from llm_rest.errors import APITimeoutError
from llm_rest.responses import FunctionCallOutput, Message, Request
from llm_rest.responses import events as ev
from llm_rest.server.app import serve_in_thread
from llm_rest.server.handler import Pause
from llm_rest.server.streaming import PIECES, stream_events
from llm_rest.simulator import model
from llm_rest.transport.blocking import ThreadWaiter
from tests.support.legal import faults
from tests.support.streams import assembled

SCRIPTS = (
    "hi",
    "pieces 5\nreason Let me think about it.\nsay Hello, world.\nsay And more.\ncite https://example.com/ A page",
    "reason\nsay Hello.",
    'pieces 1\nreason Two.\ncall get_weather {"city": "Oslo"}\ncall get_weather {}',
    "input shell ls -l",
    "refuse No, not that.",
    "say Half of\nlength",
    "pieces 7\nsay \U0001f600\u2028\x85e\u0301",
)
TOOLS: list[Any] = [{"type": "function", "name": "get_weather"}, {"type": "custom", "name": "shell"}]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serve_in_thread() as url:
        yield url


# --- in a script ----------------------------------------------------------------------------------------------------


def played(script: str, *said: Any) -> list[Any]:
    played = model.playback(Request(input=[Message(role="user", content=script), *said]))
    return list(stream_events(played.response, played.pace, unfinished=played.end is not None))


def test_texts_are_streamed_in_pieces_of_the_given_size_with_a_pause_before_each() -> None:
    events = played("pieces 4\ndelay 0.5\nreason abcdef\nsay ghijklmno\nrefuse pq")
    pieces = [event.delta for event in events if isinstance(event, PIECES)]
    assert pieces == ["abcd", "ef", "ghij", "klmn", "o", "pq"]
    before = [events[i - 1] for i, event in enumerate(events) if isinstance(event, PIECES)]
    assert before == [Pause(0.5)] * 6
    assert sum(isinstance(event, Pause) for event in events) == 6


def test_status_and_usage_of_the_end_are_not_in_the_first_events() -> None:
    for event in played("say a\nlength")[:2]:
        assert isinstance(event, ev.ResponseCreated | ev.ResponseInProgress)
        found = event.response
        assert (found.status, found.usage, found.incomplete_details, found.completed_at) == ("in_progress", *[None] * 3)


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_events_are_in_legal_order_and_assemble_to_the_answer(script: str) -> None:
    events = played(script)
    assert faults(events) == []
    assert assembled(events) == model.answer(Request(input=[Message(role="user", content=script)]))


# --- through the clients --------------------------------------------------------------------------------------------


def content(reply: Reply) -> tuple[Any, ...]:
    """The content of an answer, without its times and how the wire writes absent fields."""
    return reply.id, reply.model, reply.status, reply.incomplete_details, reply.output, reply.usage


@pytest.mark.parametrize("where", ["in process", "over http"])
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("wire", wires.NAMES)
def test_a_streamed_answer_is_the_whole_answer(wire: str, backend: str, where: str, url: str) -> None:
    """BUGS 79"""

    async def talk() -> None:
        base_url = url if where == "over http" else None
        async with AsyncClient("simulator/x", wire=wire, base_url=base_url, on_loss="ignore") as llm:
            for script in SCRIPTS:
                async with llm.stream(script, tools=TOOLS) as stream:
                    events = [event async for event in stream]
                assert faults(events) == []
                assert content(stream.response) == content(await llm.generate(script, tools=TOOLS))

    anyio.run(talk, backend=backend)


@pytest.mark.parametrize("wire", wires.NAMES)
def test_a_tool_conversation_is_streamed(wire: str, url: str) -> None:
    """BUGS 1: what is signed comes back from a stream as it was."""
    script = 'reason It is about weather.\ncall get_weather {"city": "Oslo"}\nreason\nsay Four degrees.'
    said: list[Any] = [Message(role="user", content=script)]
    with Client("simulator/x", wire=wire, base_url=url, on_loss="raise") as llm:
        for expected in ("", "Four degrees."):
            with llm.stream(said, tools=TOOLS[:1]) as stream:
                assert "".join(stream.text) == expected
            outputs = [FunctionCallOutput(call_id=c.call_id, output="4") for c in stream.response.function_calls]
            said += [*stream.response.output, *outputs]
        said.append(Message(role="user", content="say Welcome."))
        assert llm.generate_text(said, tools=TOOLS[:1]) == "Welcome."


def failing(llm: Client, script: str) -> tuple[list[Any], LLMError]:
    """What came of a stream, and the error that ended it."""
    events: list[Any] = []
    with pytest.raises(LLMError) as caught, llm.stream(script) as stream:
        events.extend(stream)
    return events, caught.value


@pytest.mark.parametrize("where", ["in process", "over http"])
@pytest.mark.parametrize("wire", wires.NAMES)
def test_a_stream_fails_at_the_command_of_the_script(wire: str, where: str, url: str) -> None:
    with Client("simulator/x", wire=wire, base_url=url if where == "over http" else None, retry=1) as llm:
        events, error = failing(llm, "say Hello.\nfail 500 Broken.")
        assert isinstance(error, InternalServerError)
        assert "Broken." in str(error)
        assert any(isinstance(event, ev.OutputTextDelta) for event in events)
        assert error.partial is not None
        assert error.partial.output_text == "Hello."
        events, error = failing(llm, "fail 429 Slow down.")
        assert isinstance(error, RateLimitError)
        assert (events, error.status) == ([], 429)
        events, error = failing(llm, "say Hello.\nfail 429 Slow down.")
        # An error in a stream of Ollama is a text and nothing else.
        assert isinstance(error, InternalServerError if wire == "ollama_chat" else RateLimitError)
        assert events != []


@pytest.mark.parametrize("where", ["in process", "over http"])
@pytest.mark.parametrize("wire", wires.NAMES)
def test_a_stream_breaks_at_the_command_of_the_script(wire: str, where: str, url: str) -> None:
    """BUGS 28"""
    with Client("simulator/x", wire=wire, base_url=url if where == "over http" else None, retry=1) as llm:
        _, error = failing(llm, 'say Well, this.\ncall f {"city": "Oslo"}\nbreak')
    assert isinstance(error, StreamInterruptedError)
    assert error.partial is not None
    assert error.partial.output_text == "Well, this."
    # Where a wire sends a call in one piece, it was not sent yet.
    assert all(call.status == "incomplete" for call in error.partial.function_calls)
    assert not any(call.arguments.endswith("}") for call in error.partial.function_calls)


@pytest.mark.parametrize("wire", wires.NAMES)
def test_a_pause_in_this_process_is_slept_through_once_all_before_it_was_read(
    wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BUGS 26"""
    slept: list[tuple[float, list[str]]] = []
    seen: list[str] = []

    async def sleep(self: ThreadWaiter, seconds: float) -> None:
        if seconds:
            slept.append((seconds, [*seen]))

    monkeypatch.setattr(ThreadWaiter, "sleep", sleep)
    with Client("simulator/x", wire=wire) as llm, llm.stream("delay 7\npieces 2\nsay abcd") as stream:
        seen.extend(stream.text)
    assert slept == [(7, []), (7, ["ab"])]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_pauses_in_this_process_do_not_block_the_event_loop_and_can_be_cancelled(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def blocks(self: ThreadWaiter, seconds: float) -> None:
        raise AssertionError("the event loop stands still")

    monkeypatch.setattr(ThreadWaiter, "sleep", blocks)

    async def talk() -> None:
        answers: list[str] = []

        async def one(seconds: float, **options: Any) -> None:
            async with llm.stream(f"delay {seconds}\nsay Yes", **options) as stream:
                answers.append("".join([piece async for piece in stream.text]))

        async with AsyncClient("simulator/x", retry=1) as llm:
            async with anyio.create_task_group() as tasks:
                for _ in range(10):
                    tasks.start_soon(one, 0.5)
            assert answers == ["Yes"] * 10
            with anyio.move_on_after(0.05) as left:
                await one(30)
            assert left.cancelled_caught
            with pytest.raises(APITimeoutError):
                await one(30, timeout=0.05)

    began = time.monotonic()
    anyio.run(talk, backend=backend)
    assert time.monotonic() - began < 4.9, "ten pauses of half a second, one after the other, are five"
