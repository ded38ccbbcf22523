"""`client.cancel()`: every call ends at once with what had come, and the client stays usable. Native cancellation passes."""

from __future__ import annotations

import copy
import json
import pickle
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import msgspec
import pytest

from llm_rest import (
    CallCancelledError,
    ClientCallEnd,
    ClientCallStart,
    RequestCancelled,
    RequestEnd,
    RequestStart,
    RetryPolicy,
)
from llm_rest.responses import OutputTextDelta
from tests.callers import BEGIN, NewClient, answer, completed, delta, together
from tests.loopback import END, STREAM, Act, Loopback, chunks, full, http, loopback, send, send_and_stall

pytestmark = pytest.mark.anyio

GOOD = send(http(json.dumps(answer()).encode()))
SILENT = send_and_stall(b"")
BUSY = send(http(b'{"error": {"message": "later"}}', "503 Busy"))
TWO_WORDS = send_and_stall(STREAM + chunks(BEGIN, delta("one "), delta("two")))


@contextmanager
def cancelled(llm: Any, server: Loopback, *, after: int = 1, read: threading.Event | None = None) -> Iterator[None]:
    """Cancels from another thread, once so many requests were received, or `read` is set. What is inside ends at once."""

    def work() -> None:
        until = time.monotonic() + 5
        while (len(server.heads) < after or (read and not read.is_set())) and time.monotonic() < until:
            time.sleep(0.005)
        time.sleep(0.05)  # the call shall be waiting again
        getattr(llm, "_inner", llm).cancel()

    thread = threading.Thread(target=work)
    thread.start()
    began = time.monotonic()
    yield
    thread.join()
    assert time.monotonic() - began < 5, "it ended by itself"


def told(reply: Any) -> tuple[str, bool, str]:
    return reply.status, reply.interrupted, reply.output_text


# --- calls ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "outcome"),
    [
        pytest.param(SILENT, "cancelled", id="no head"),
        pytest.param(send_and_stall(b"HTTP/1.1 200 OK\r\ncontent-le"), "cancelled", id="half a head"),
        pytest.param(send_and_stall(http(b'{"id"')[:-3]), "cancelled", id="half a body"),
        pytest.param(BUSY, "internal_server", id="between two attempts"),
    ],
)
async def test_a_call_returns_an_interrupted_reply(new_client: NewClient, act: Act, outcome: str) -> None:
    policy = RetryPolicy(base_delay=60, max_delay=60, jitter="none")
    with loopback(act, GOOD) as server:
        async with new_client(base_url=server.url, retry=policy) as llm:
            with cancelled(llm, server):
                reply = await llm.generate("Hi")
            assert told(reply) == ("cancelled", True, "")
            assert (reply.display_text, reply.stop_reason) == ("[Request cancelled]", "cancelled")
            assert b"interrupted" not in msgspec.json.encode(reply)
            assert copy.copy(reply).interrupted
            assert pickle.loads(pickle.dumps(reply)).interrupted
            assert [attempt.outcome for attempt in reply.info.attempts] == [outcome]
            await llm.cancel()  # with no call
            assert told(await llm.generate("Hi")) == ("completed", False, "Hello")
    assert len(server.heads) == 2


async def test_a_wait_for_a_connection_ends(new_client: NewClient) -> None:
    with loopback(TWO_WORDS, GOOD) as server:
        async with new_client(base_url=server.url, max_connections=1) as llm:
            stream = llm.stream("Hi")
            async with stream:
                with cancelled(llm, server):
                    reply = await llm.generate("Hi")
            assert told(reply) == ("cancelled", True, "")
            assert reply.info.attempts == () or reply.info.attempts[0].outcome == "cancelled"
            assert told(stream.response)[1]
            assert (await llm.generate("Hi")).output_text == "Hello"


async def test_connecting_ends(new_client: NewClient) -> None:
    with full() as url:
        async with new_client(base_url=url) as llm:
            with cancelled(llm, Loopback([]), after=0):
                reply = await llm.generate("Hi")
    assert told(reply) == ("cancelled", True, "")


async def test_a_call_without_a_reply_raises(new_client: NewClient) -> None:
    with loopback(SILENT) as server:
        async with new_client(base_url=server.url) as llm:
            for i, call in enumerate((llm.generate_text, llm.count_tokens)):
                with cancelled(llm, server, after=i + 1), pytest.raises(CallCancelledError) as caught:
                    await call("Hi")
                assert (caught.value.retryable, caught.value.kind) == (False, "call_cancelled")
                if i == 0:
                    assert caught.value.partial.display_text == "[Request cancelled]"


async def test_a_poll_returns_an_interrupted_reply(new_client: NewClient) -> None:
    queued = send(http(json.dumps({**answer(), "status": "queued", "output": []}).encode()))
    with loopback(queued) as server:
        async with new_client(base_url=server.url) as llm:
            with cancelled(llm, server):
                reply = await llm.responses.poll("resp_1", interval=60)
    assert told(reply) == ("cancelled", True, "")


async def test_many_calls_end_at_once(new_client: NewClient, way: str) -> None:
    with loopback(SILENT) as server:
        async with new_client(base_url=server.url) as llm:
            with cancelled(llm, server, after=10):
                replies = await together(way, [lambda: llm.with_options(temperature=0).generate("Hi")] * 10)
    assert [told(reply) for reply in replies] == [("cancelled", True, "")] * 10


# --- streams --------------------------------------------------------------------------------------------------------


async def texts(stream: Any) -> list[str]:
    return [event.delta async for event in stream if isinstance(event, OutputTextDelta)]


async def test_a_stream_ends_with_what_had_come(new_client: NewClient) -> None:
    with loopback(TWO_WORDS, GOOD) as server:
        async with new_client(base_url=server.url) as llm:
            stream, read, found = llm.stream("Hi"), threading.Event(), []
            with cancelled(llm, server, read=read):
                async with stream:
                    async for text in stream.text:
                        found.append(text)
                        if found == ["one ", "two"]:
                            read.set()
                    assert await texts(stream) == []
            assert read.is_set()
            assert found == ["one ", "two"]
            assert told(stream.response) == ("cancelled", True, "one two")
            assert stream.response.output[0].status == "incomplete"
            assert [attempt.outcome for attempt in stream.response.info.attempts] == ["cancelled"]
            assert told(await llm.generate("Hi"))[2] == "Hello"


@pytest.mark.parametrize("act", [SILENT, send_and_stall(STREAM), send_and_stall(STREAM + chunks(BEGIN))])
async def test_a_stream_that_brought_nothing_ends(new_client: NewClient, act: Act) -> None:
    with loopback(act) as server:
        async with new_client(base_url=server.url, retry=None) as llm:
            stream = llm.stream("Hi")
            with cancelled(llm, server):
                assert await texts(stream) == []
            assert told(stream.response) == ("cancelled", True, "")


@pytest.mark.parametrize(
    ("after", "expected"),
    [(1, ("cancelled", True, "one ")), (2, ("cancelled", True, "one two")), (3, ("completed", False, "one two"))],
)
async def test_a_stream_is_cancelled_in_its_own_loop_unless_it_is_over(
    new_client: NewClient, after: int, expected: tuple[str, bool, str]
) -> None:
    whole = send(STREAM + chunks(BEGIN + delta("one ") + delta("two") + completed("one two")) + END)
    with loopback(whole, GOOD) as server:
        async with new_client(base_url=server.url) as llm:
            found: list[str] = []
            async with llm.stream("Hi") as stream:
                async for text in stream.text:
                    found.append(text)
                    if len(found) == after:
                        await llm.cancel()
                await llm.cancel()
                assert await texts(stream) == []
            assert found == ["one ", "two"][:after]
            assert told(stream.response) == expected
            assert (await llm.generate("Hi")).output_text == "Hello"


# --- native cancellation ----------------------------------------------------------------------------------------


@contextmanager
def cancelled_natively(way: str) -> Iterator[None]:
    """What is inside is cancelled: by the scope around it, or by Ctrl-C where it blocks its thread."""
    if way != "sync":
        with anyio.move_on_after(0.1) as scope:
            yield
        assert scope.cancelled_caught
        return

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


async def test_native_cancellation_passes_through(new_client: NewClient, way: str) -> None:
    heard: list[Any] = []
    with loopback(SILENT, TWO_WORDS, GOOD) as server:
        async with new_client(base_url=server.url, on_event=heard.append) as llm:
            with cancelled_natively(way):
                await llm.generate("Hi")
            with cancelled_natively(way):
                await texts(llm.stream("Hi"))
            assert (await llm.generate("Hi")).output_text == "Hello"
    kinds = [type(event) for event in heard if not isinstance(event, ClientCallStart)]
    assert kinds == [*[RequestStart, RequestCancelled, ClientCallEnd] * 2, RequestStart, RequestEnd, ClientCallEnd]
    ends = [event.outcome for event in heard if isinstance(event, ClientCallEnd)]
    assert ends == ["cancelled", "cancelled", "completed"]
