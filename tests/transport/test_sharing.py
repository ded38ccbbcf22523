"""One transport, used by many: threads, tasks, event loops, processes."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable

import anyio
import anyio.lowlevel
import pytest

from llm_rest.errors import (
    TimeoutError_,
)
from llm_rest.transport import Timeouts, drive
from llm_rest.transport.asynchronous import AsyncTransport
from llm_rest.transport.blocking import SyncTransport
from tests.loopback import (
    http,
    loopback,
    send,
    send_and_stall,
)
from tests.transport.support import post

pytestmark = pytest.mark.anyio


def test_threads_share_one_sync_transport() -> None:
    """BUGS 72."""
    failures: list[BaseException] = []
    with loopback(send(http(b"1"))) as server:
        transport = SyncTransport(max_connections=4)

        def calls() -> None:
            try:
                for _ in range(10):
                    assert drive(transport.send(post(server.url), Timeouts())).body == b"1"
            except BaseException as problem:
                failures.append(problem)

        threads = [threading.Thread(target=calls) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        drive(transport.close())
    assert failures == []
    assert server.connections <= 4


def test_waiting_for_a_free_connection_has_a_deadline_sync() -> None:
    with loopback(send_and_stall(b"")) as server:
        transport = SyncTransport(max_connections=1)
        started = threading.Event()

        def busy() -> None:
            started.set()
            with pytest.raises(TimeoutError_):
                drive(transport.send(post(server.url), Timeouts(total=0.5)))

        thread = threading.Thread(target=busy)
        thread.start()
        started.wait()
        while server.connections == 0:
            pass
        with pytest.raises(TimeoutError_) as caught:
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
            with pytest.raises(TimeoutError_) as caught:
                await transport.send(post(server.url), Timeouts(total=0.1))
            assert caught.value.phase == "pool"
            tasks.cancel_scope.cancel()
        await transport.close()

    with loopback(send_and_stall(b"")) as server:
        anyio.run(main, backend=backend)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_cancelled_exchanges_leave_the_transport_usable(backend: str) -> None:
    slow = send_and_stall(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx")

    async def main() -> None:
        transport = AsyncTransport(max_connections=3)
        for _ in range(20):
            async with anyio.create_task_group() as tasks:
                for _ in range(5):
                    tasks.start_soon(transport.send, post(stalling.url), Timeouts(total=30))
                await anyio.sleep(0.005)
                tasks.cancel_scope.cancel()
        for _ in range(5):
            assert (await transport.send(post(good.url), Timeouts(total=5))).body == b"good"
        await transport.close()

    with loopback(slow) as stalling, loopback(send(http(b"good"))) as good:
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
    with pytest.raises(RuntimeError, match="event loop"):
        drive(anyio.lowlevel.checkpoint())


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
