"""What the transport promises of an answer that is read as it comes."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import gzip
import threading
import zlib
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from llm_rest.errors import (
    APIConnectionError,
    APITimeoutError,
    LLMError,
    MalformedResponseError,
    ProtocolError,
    ResponseTooLargeError,
)
from llm_rest.sync import drive
from llm_rest.transport import HTTPAnswer, HTTPRequest, Timeouts
from llm_rest.transport.asynchronous import AsyncTransport
from llm_rest.transport.blocking import SyncTransport
from llm_rest.transport.deadlines import Deadline
from tests.loopback import (
    END,
    STREAM,
    chunks,
    drip,
    gated,
    http,
    loopback,
    send,
    send_and_close,
    send_and_stall,
    watched,
)
from tests.transport.support import SOON, NewTransport, ours, rest
from tests.transport.support import post as asked

pytestmark = pytest.mark.anyio


def post(url: str) -> HTTPRequest:
    return asked(url, stream=True)


# --- as it comes ---------------------------------------------------------------------------------------------------


async def test_the_first_bytes_are_there_before_the_last_are_sent(new_transport: NewTransport) -> None:
    with loopback(gated(STREAM + chunks(b"one"), chunks(b"two") + END)) as server:
        transport = new_transport()
        incoming = await transport.open(post(server.url), SOON)
        assert (incoming.status, incoming.headers["content-type"]) == (200, "text/event-stream")
        assert await incoming.read() == b"one"
        server.go.set()
        assert await rest(incoming) == b"two"
        assert await incoming.read() is None
        await transport.close()


async def test_a_stream_read_to_its_end_leaves_its_connection_for_the_next(new_transport: NewTransport) -> None:
    with loopback(send(STREAM + chunks(b"one", b"two") + END)) as server:
        transport = new_transport(max_connections=1)
        for _ in range(3):
            assert await rest(await transport.open(post(server.url), SOON)) == b"onetwo"
        assert (await transport.send(post(server.url), SOON)).body == b"onetwo"
        await transport.close()
    assert server.connections == 1


@ours("a client of httpx waits for the end as long as for anything else, and nobody can interrupt a thread", "sync")
async def test_a_stream_that_is_finished_leaves_its_connection_where_the_end_comes_soon(
    new_transport: NewTransport,
) -> None:
    with loopback(send(STREAM + chunks(b"one", b"[DONE]") + END)) as server:
        transport = new_transport()
        for _ in range(2):
            incoming = await transport.open(post(server.url), SOON)
            await incoming.read()
            await incoming.finish()
        await transport.close()
    assert server.connections == 1


async def test_a_stream_whose_end_does_not_come_is_closed_when_it_is_finished(new_transport: NewTransport) -> None:
    with loopback(watched(STREAM + chunks(b"one"))) as server:
        transport = new_transport()
        incoming = await transport.open(post(server.url), SOON)
        assert await incoming.read() == b"one"
        await incoming.finish()
        assert server.left.wait(5)
        await transport.close()


async def test_leaving_a_stream_closes_its_connection_and_frees_its_place(new_transport: NewTransport) -> None:
    with loopback(watched(STREAM + chunks(b"one"), every=chunks(b"more")), send(http(b"good"))) as server:
        transport = new_transport(max_connections=1)
        incoming = await transport.open(post(server.url), SOON)
        assert (await incoming.read()).startswith(b"one")
        await incoming.close()
        await incoming.close()
        assert server.left.wait(5)
        assert await incoming.read() is None
        assert (await transport.send(post(server.url), SOON)).body == b"good"
        await transport.close()
    assert server.connections == 2


@pytest.mark.parametrize("status", [302, 404, 500])
async def test_an_answer_that_is_no_good_one_comes_whole(new_transport: NewTransport, status: int) -> None:
    with loopback(send(http(b"no", f"HTTP/1.1 {status} No"))) as server:
        transport = new_transport(max_connections=1)
        for _ in range(2):
            answer = await transport.open(post(server.url), SOON)
            assert isinstance(answer, HTTPAnswer)
            assert (answer.status, answer.body) == (status, b"no")
        await transport.close()
    assert server.connections == 1


async def test_a_stream_may_be_ended_by_the_close_of_http_1_0(new_transport: NewTransport) -> None:
    with loopback(send_and_close(b"HTTP/1.0 200 OK\r\n\r\nbody")) as server:
        transport = new_transport()
        assert await rest(await transport.open(post(server.url), SOON)) == b"body"
        await transport.close()


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (STREAM + chunks(b"one"), ProtocolError),
        (STREAM + chunks(b"one") + b"5\r\ntw", ProtocolError),
        (STREAM + chunks(b"one") + b"ZZ\r\n", ProtocolError),
        (STREAM + b"3\r\nonetwo", ProtocolError),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\none", ProtocolError),
    ],
    ids=["no-last-chunk", "half-a-chunk", "no-length", "too-long-a-chunk", "short"],
)
async def test_what_came_before_a_broken_end_is_read_first(
    new_transport: NewTransport, data: bytes, kind: type[LLMError]
) -> None:
    with loopback(send_and_close(data)) as server:
        transport = new_transport()
        incoming = await transport.open(post(server.url), SOON)
        assert (await incoming.read() or b"")[:3] == b"one"
        with pytest.raises(kind) as caught:
            await rest(incoming)
        assert caught.value.__context__ is None
        assert await incoming.read() is None
        await transport.close()


# --- codings and sizes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("coding", "wbits"), [("gzip", 31), ("deflate", 15)])
async def test_a_coding_is_undone_piece_by_piece(new_transport: NewTransport, coding: str, wbits: int) -> None:
    pack = zlib.compressobj(wbits=wbits)
    one, two = [pack.compress(text) + pack.flush(zlib.Z_SYNC_FLUSH) for text in (b"one", b"two")]
    head = STREAM.replace(b"\r\n\r\n", f"\r\ncontent-encoding: {coding}\r\n\r\n".encode())
    with loopback(gated(head + chunks(one[:5], one[5:]), chunks(two, pack.flush()) + END)) as server:
        transport = new_transport()
        incoming = await transport.open(post(server.url), SOON)
        came = b""
        while came != b"one":
            came += await incoming.read()
        server.go.set()
        assert await rest(incoming) == b"two"
        await transport.close()


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (gzip.compress(b"hello" * 99)[:-9], MalformedResponseError),
        (b"plain", MalformedResponseError),
        (gzip.compress(b"\0" * 140_000_000, 1), ResponseTooLargeError),
    ],
    ids=["cut", "untrue", "bomb"],
)
async def test_a_coding_that_is_not_right_ends_the_stream(
    new_transport: NewTransport, body: bytes, kind: type[LLMError]
) -> None:
    head = STREAM.replace(b"\r\n\r\n", b"\r\ncontent-encoding: gzip\r\n\r\n")
    with loopback(send(head + chunks(body) + END)) as server:
        transport = new_transport()
        incoming = await transport.open(post(server.url), SOON)
        with pytest.raises(kind):
            await rest(incoming)
        await transport.close()


# --- how long ------------------------------------------------------------------------------------------------------


PING = chunks(b": ping\n\n")


@pytest.mark.parametrize(
    ("act", "timeouts", "phase"),
    [
        (send_and_stall(b""), Timeouts(first_byte=0.12), "first_byte"),
        (send_and_stall(STREAM), Timeouts(first_byte=0.12), "first_byte"),
        (send_and_stall(STREAM + chunks(b"one")), Timeouts(first_byte=0.5, read=0.12), "read"),
        (watched(STREAM + chunks(b"one"), every=PING), Timeouts(read=9, stall=0.2), "stall"),
        (watched(STREAM + chunks(b"one"), every=PING), Timeouts(total=0.2), "total"),
        (drip(b"x" * 99, first=STREAM + chunks(b"one") + b"63\r\n"), Timeouts(read=9, total=0.2), "total"),
        (send_and_stall(b""), Timeouts(first_byte="none", read="none", stall="none", total=0.2), "total"),
    ],
    ids=["no-head", "no-body", "silent", "pings", "pings-total", "drip-total", "total-alone"],
)
async def test_a_wait_has_its_limit(new_transport: NewTransport, act: Any, timeouts: Timeouts, phase: str) -> None:
    """BUGS 62 and 67. Keep-alives end a silence, and not the wait for something of the answer."""
    with loopback(act) as server:
        transport = new_transport()
        with pytest.raises(APITimeoutError) as caught:
            await rest(await transport.open(post(server.url), timeouts))
        assert caught.value.phase == phase
        await transport.close()


class Clock:
    """A clock that the test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr("llm_rest.transport.deadlines.time.monotonic", lambda: self.now)

    def wait(self, deadline: Deadline, seconds: float, *, progress: bool = False) -> float | None:
        """Wait so long for bytes that come; how long the wait might have been."""
        deadline.wait()
        left = deadline.left()
        self.now += seconds
        deadline.came()
        if progress:
            deadline.progressed()
        return left


def test_keep_alives_end_a_silence_and_only_more_of_the_answer_ends_idleness(monkeypatch: pytest.MonkeyPatch) -> None:
    """BUGS 62 and 67."""
    clock = Clock(monkeypatch)
    deadline = Deadline(Timeouts(first_byte=7, read=3, stall=5), stream=True)
    assert [clock.wait(deadline, 2) for _ in range(3)] == [7, 3, 1]
    with pytest.raises(APITimeoutError) as caught:
        clock.wait(deadline, 9)
    assert caught.value.phase == "stall"
    deadline = Deadline(Timeouts(first_byte=7, read=3, stall=5), stream=True)
    assert [clock.wait(deadline, 2, progress=True) for _ in range(9)] == [7, *[3] * 8]


def test_the_time_between_two_waits_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    deadline = Deadline(Timeouts(first_byte=7, read=3, stall=5), stream=True)
    for allowed in (7, 3, 3):
        clock.now += 100
        assert clock.wait(deadline, 1) == allowed


def test_a_total_counts_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    deadline = Deadline(Timeouts(total=10), stream=True)
    clock.wait(deadline, 1)
    clock.now += 8
    assert clock.wait(deadline, 0) == 1
    assert Deadline(Timeouts()).left() == 600
    assert Deadline(Timeouts(), stream=True).left() is None


# --- left behind ---------------------------------------------------------------------------------------------------


async def test_a_stream_that_is_forgotten_is_closed(new_transport: NewTransport) -> None:
    with loopback(watched(STREAM + chunks(b"one")), send(http(b"good"))) as server:
        transport = new_transport(max_connections=1)
        incoming = await transport.open(post(server.url), SOON)
        assert await incoming.read() == b"one"
        del incoming
        gc.collect()
        assert (await transport.send(post(server.url), SOON)).body == b"good"
        assert server.left.wait(5)
        await transport.close()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_stream_forgotten_in_another_thread_is_closed_in_its_loop(backend: str) -> None:
    async def main() -> None:
        transport = AsyncTransport()
        held = [await transport.open(post(server.url), SOON)]
        await anyio.to_thread.run_sync(held.clear)
        while not server.left.is_set():  # noqa: ASYNC110 - the server is a thread
            await anyio.sleep(0.01)
        await transport.close()

    with loopback(watched(STREAM)) as server:
        anyio.run(main, backend=backend)


def test_a_stream_that_outlives_its_loop_does_no_harm() -> None:
    async def main() -> None:
        held.append(await AsyncTransport().open(post("inproc:tests.transport.test_in_process"), SOON))

    held: list[Any] = []
    for backend in ("asyncio", "trio"):
        anyio.run(main, backend=backend)
    held.clear()
    gc.collect()


@pytest.mark.parametrize(("backend", "how"), [("asyncio", "scope"), ("asyncio", "native"), ("trio", "scope")])
def test_a_cancelled_read_closes_the_connection_and_frees_its_place(backend: str, how: str) -> None:
    async def read_on(transport: Any, begun: anyio.Event) -> None:
        incoming = await transport.open(post(server.url), SOON)
        while True:
            await incoming.read()
            begun.set()

    async def main() -> None:
        begun = anyio.Event()
        transport = AsyncTransport(max_connections=1)
        if how == "native":
            task = asyncio.get_running_loop().create_task(read_on(transport, begun))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read_on, transport, begun)
                await begun.wait()
                tasks.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(server.left.wait, 5)
        assert (await transport.send(post(server.url), SOON)).body == b"good"
        await transport.close()

    with loopback(watched(STREAM + chunks(b"one")), send(http(b"good"))) as server:
        anyio.run(main, backend=backend)


def test_a_sync_stream_is_closed_by_another_thread() -> None:
    with loopback(watched(STREAM + chunks(b"one"))) as server:
        transport = SyncTransport()
        incoming: Any = drive(transport.open(post(server.url), SOON))
        assert drive(incoming.read()) == b"one"
        timer = threading.Timer(0.1, lambda: drive(incoming.close()))
        timer.start()
        with contextlib.suppress(APIConnectionError):
            assert drive(incoming.read()) is None
        timer.join()
        assert server.left.wait(5)
        drive(transport.close())


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_async_stream_is_closed_by_another_task(backend: str) -> None:
    async def main() -> None:
        transport = AsyncTransport()
        incoming: Any = await transport.open(post(server.url), SOON)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(incoming.close)
            with pytest.raises(APIConnectionError):
                await rest(incoming)
        await transport.close()

    with loopback(watched(STREAM + chunks(b"one"))) as server:
        anyio.run(main, backend=backend)
        assert server.left.wait(5)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_many_streams_left_at_once_leave_nothing_open(backend: str) -> None:
    async def leave(transport: Any) -> None:
        incoming = await transport.open(post(endless.url), SOON)
        await incoming.read()
        await incoming.close()

    async def main() -> None:
        transport = AsyncTransport(max_connections=8)
        async with anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(leave, transport)
        assert (await transport.send(post(good.url), SOON)).body == b"good"
        [home] = transport._pools()
        assert [len(idle) for idle in home.idle.values()] == [1]
        await transport.close()

    with loopback(watched(STREAM + chunks(b"one"), every=PING)) as endless, loopback(send(http(b"good"))) as good:
        anyio.run(main, backend=backend)
