"""What the transport promises of an answer that is read as it comes."""

from __future__ import annotations

import gc
import time
import zlib
from typing import Any

import anyio
import pytest

from llm_rest.errors import APIConnectionError, APITimeoutError
from llm_rest.transport import HTTPRequest, Timeouts
from llm_rest.transport.asynchronous import AsyncTransport
from llm_rest.transport.deadlines import Deadline
from tests.loopback import END, STREAM, chunks, gated, loopback, send, send_and_stall
from tests.transport.support import SOON, NewTransport, ours, rest
from tests.transport.support import post as asked

pytestmark = pytest.mark.anyio


def post(url: str) -> HTTPRequest:
    return asked(url, stream=True)


# --- as it comes ---------------------------------------------------------------------------------------------------


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
    with loopback(send_and_stall(STREAM + chunks(b"one"))) as server:
        transport = new_transport()
        incoming = await transport.open(post(server.url), SOON)
        assert await incoming.read() == b"one"
        began = time.monotonic()
        await incoming.finish()
        assert time.monotonic() - began < 5, "it does not wait as long as for content"
        assert server.left.wait(5)
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


# --- how long ------------------------------------------------------------------------------------------------------


class Clock:
    """A clock that the test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr("llm_rest.transport.deadlines.time.monotonic", lambda: self.now)

    def wait(self, deadline: Deadline, seconds: float, *, progress: bool = False) -> float | None:
        """Wait so long for bytes that come; how long the wait might have been."""
        deadline.begin_wait()
        left = deadline.left()
        self.now += seconds
        deadline.received()
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
    deadline = Deadline(Timeouts(first_byte=7, read=3, stall=5), stream=True)
    for allowed in (7, 3, 3):
        clock.now += 100  # between two waits, which does not count
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


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_stream_forgotten_in_another_thread_is_closed_in_its_loop(backend: str) -> None:
    async def main() -> None:
        transport = AsyncTransport()
        held = [await transport.open(post(server.url), SOON)]
        await anyio.to_thread.run_sync(held.clear)
        while not server.left.is_set():  # noqa: ASYNC110 - the server is a thread
            await anyio.sleep(0.01)
        await transport.close()

    with loopback(send_and_stall(STREAM)) as server:
        anyio.run(main, backend=backend)


def test_a_stream_that_outlives_its_loop_does_no_harm() -> None:
    async def main() -> None:
        held.append(await AsyncTransport().open(post("inproc:tests.transport.test_in_process"), SOON))

    held: list[Any] = []
    for backend in ("asyncio", "trio"):
        anyio.run(main, backend=backend)
    held.clear()
    gc.collect()


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

    with loopback(send_and_stall(STREAM + chunks(b"one"))) as server:
        anyio.run(main, backend=backend)
        assert server.left.wait(5)
