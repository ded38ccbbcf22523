"""One transport, used by many: threads, tasks, event loops, processes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pytest

from llm_rest import AsyncClient, Client
from llm_rest.errors import APITimeoutError
from llm_rest.sync import drive
from llm_rest.transport import Timeouts
from llm_rest.transport.asynchronous import AsyncTransport
from llm_rest.transport.blocking import SyncTransport
from tests.callers import BEGIN, answer, completed, delta
from tests.loopback import END, STREAM, Loopback, chunks, gated, http, loopback, send, send_and_close, send_and_stall
from tests.transport.support import open_sockets, post

pytestmark = pytest.mark.anyio

GOOD = json.dumps(answer("Hello")).encode()


def test_threads_share_one_sync_transport() -> None:
    """BUGS 72."""
    with loopback(send(http(b"1"))) as server:
        transport = SyncTransport(max_connections=4)

        def calls() -> None:
            for _ in range(10):
                assert drive(transport.send(post(server.url), Timeouts())).body == b"1"

        in_threads([calls] * 20)
        drive(transport.close())
    assert server.connections <= 4


def in_threads(works: list[Callable[[], object]]) -> None:
    """Do all of it at the same time."""
    with ThreadPoolExecutor(len(works)) as pool:
        for done in [pool.submit(work) for work in works]:
            done.result()


def test_waiting_for_a_free_connection_has_a_deadline_sync() -> None:
    with loopback(send_and_stall(b"")) as server:
        transport = SyncTransport(max_connections=1)
        started = threading.Event()

        def busy() -> None:
            started.set()
            with pytest.raises(APITimeoutError):
                drive(transport.send(post(server.url), Timeouts(total=0.5)))

        thread = threading.Thread(target=busy)
        thread.start()
        started.wait()
        while server.connections == 0:
            pass
        with pytest.raises(APITimeoutError) as caught:
            drive(transport.send(post(server.url), Timeouts(total=0.1)))
        assert caught.value.phase == "pool"
        thread.join()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_waiting_for_a_free_connection_has_a_deadline_async(backend: str) -> None:
    async def main() -> None:
        transport = AsyncTransport(max_connections=1)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(transport.send, post(server.url), Timeouts(total=30))
            while server.connections == 0:  # noqa: ASYNC110 - the server is a thread
                await anyio.sleep(0.01)
            with pytest.raises(APITimeoutError) as caught:
                await transport.send(post(server.url), Timeouts(total=0.1))
            assert caught.value.phase == "pool"
            tasks.cancel_scope.cancel()
        await transport.close()

    with loopback(send_and_stall(b"")) as server:
        anyio.run(main, backend=backend)


def test_one_transport_serves_two_event_loops_one_after_the_other() -> None:
    async def main() -> bytes:
        return (await transport.send(post(server.url), Timeouts())).body

    transport = AsyncTransport()
    with loopback(send(http(b"1"))) as server:
        for backend in ("asyncio", "trio", "asyncio"):
            assert anyio.run(main, backend=backend) == b"1"
        anyio.run(transport.close)


def test_a_sync_call_cannot_wait_for_an_event_loop() -> None:
    class Waits:
        def __await__(self) -> Generator[None]:
            yield

    async def work() -> None:
        await Waits()

    with pytest.raises(RuntimeError, match="tried to wait for an event loop"):
        drive(work())


@pytest.mark.parametrize("way", ["sync", "asyncio", "trio"])
def test_connections_that_ended_are_let_go_when_another_is_made(way: str) -> None:
    """A program that speaks to many hosts, one after the other, keeps no dead connections."""

    async def main(transport: Any) -> None:
        before = len(open_sockets())
        for server in servers:
            assert (await transport.send(post(server.url), Timeouts())).body == b"1"
            await anyio.sleep(0.05)
        for _ in range(100):
            if len(open_sockets()) <= before + 1:
                break
            await anyio.sleep(0.05)
        else:
            raise AssertionError("the connections of the first servers are still open")
        await transport.close()

    with contextlib.ExitStack() as at_the_end:
        servers = [at_the_end.enter_context(loopback(send_and_close(http(b"1")))) for _ in range(5)]
        transport: Any = SyncTransport() if way == "sync" else AsyncTransport()
        anyio.run(main, transport, backend="trio" if way == "trio" else "asyncio")


@pytest.mark.parametrize("way", ["sync", "asyncio", "trio"])
def test_connections_of_a_busy_hour_are_let_go_in_a_quiet_one(way: str) -> None:
    """One connection is enough from then on; the others, which the server ends, are not kept because it serves."""

    async def main(transport: Any) -> None:
        await transport.send(post(server.url), Timeouts())
        (home,) = transport._pools()
        (kept,) = home.idle.values()
        ended = [Ended(), Ended(), Ended()]
        kept[:0] = ended
        await transport.send(post(server.url), Timeouts())
        assert len(kept) == 1
        assert all(connection.dropped for connection in ended)
        await transport.close()

    class Ended:
        dropped = False

        def usable(self) -> bool:
            return False

        def drop(self) -> None:
            self.dropped = True

    with loopback(send(http(b"1"))) as server:
        transport: Any = SyncTransport() if way == "sync" else AsyncTransport()
        anyio.run(main, transport, backend="trio" if way == "trio" else "asyncio")
    assert server.connections == 1


# --- Ctrl-C ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "stuck",
    [
        send_and_stall(b""),
        send_and_stall(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"),
        send(http(b"{}", "HTTP/1.1 503 Busy", "retry-after: 30")),
    ],
    ids=["waiting", "body", "back-off"],
)
def test_an_interrupt_ends_a_sync_call_at_once_and_the_next_one_works(stuck: Any) -> None:
    """Case C09."""
    me = threading.get_ident()
    before = open_sockets()
    with loopback(stuck, send(http(GOOD))) as server:
        with Client("openai/gpt-4o", api_key="sk-0123456789", base_url=f"{server.url}/v1", max_connections=1) as llm:

            def interrupt() -> None:
                while not server.heads:
                    time.sleep(0.01)
                time.sleep(0.05)
                signal.pthread_kill(me, signal.SIGINT)

            thread = threading.Thread(target=interrupt)
            thread.start()
            started = time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                llm.generate("Hi")
            assert time.monotonic() - started < 10
            thread.join()
            assert llm.generate_text("Hi") == "Hello"
    assert open_sockets() == before


# --- processes -----------------------------------------------------------------------------------------------------------


def test_a_forked_process_does_not_use_the_connections_of_its_parent() -> None:
    """BUGS 72."""
    if not hasattr(os, "fork"):
        pytest.skip("this system does not fork")
    with loopback(send(http(b"1"))) as server:
        transport = SyncTransport()
        drive(transport.send(post(server.url), Timeouts()))
        child = subprocess_of(lambda: drive(transport.send(post(server.url), Timeouts(total=5))).body)
        assert child == b"1"
        assert drive(transport.send(post(server.url), Timeouts())).body == b"1"
        drive(transport.close())
    assert server.connections == 2


def subprocess_of(work: Callable[[], bytes]) -> bytes:
    """What `work` gives in a forked process."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the server of the test is a thread
        child = os.fork()
    if child == 0:
        try:
            os.write(writing, work())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        found = pipe.read()
    os.waitpid(child, 0)
    return found


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_stream_of_the_parent_outlives_a_call_of_its_child(kind: str) -> None:
    """Whatever the child does with what it inherited, collection included, the parent's connections are unharmed."""
    if not hasattr(os, "fork"):
        pytest.skip("this system does not fork")
    gate = gated(STREAM + chunks(BEGIN, delta("Hel")), chunks(delta("lo"), completed()) + END)
    with loopback(send(http(GOOD)), gate, send(http(GOOD))) as server:
        options: dict[str, Any] = {"api_key": "sk-0123456789", "base_url": f"{server.url}/v1"}
        if kind == "sync":
            with Client("openai/gpt-4o", **options) as llm:
                assert llm.generate_text("Hi") == "Hello"  # a connection that waits
                with llm.stream("Hi") as story:
                    pieces = iter(story.text)
                    assert next(pieces) == "Hel"
                    assert subprocess_of(lambda: llm.generate_text("Hi").encode()) == b"Hello"
                    server.go.set()
                    assert next(pieces) == "lo"
                assert llm.generate_text("Hi") == "Hello"
        else:
            asyncio.run(parent(server, options))
    assert server.connections == 2


async def parent(server: Loopback, options: dict[str, Any]) -> None:
    async with AsyncClient("openai/gpt-4o", **options) as llm:
        assert await llm.generate_text("Hi") == "Hello"
        async with llm.stream("Hi") as story:
            pieces = aiter(story.text)
            assert await anext(pieces) == "Hel"
            assert subprocess_of(lambda: asyncio.run(llm.generate_text("Hi")).encode()) == b"Hello"
            server.go.set()
            assert await anext(pieces) == "lo"
        assert await llm.generate_text("Hi") == "Hello"
