"""One transport, used by many: threads, event loops, processes."""

from __future__ import annotations

import asyncio
import contextlib
import json

import anyio
import pytest

from llm_rest.sync import drive
from llm_rest.transport import Timeouts
from llm_rest.transport.asynchronous import AsyncTransport
from tests.callers import BEGIN, NewClient, answer, completed, delta
from tests.loopback import END, STREAM, chunks, gated, http, loopback, send, send_and_close
from tests.transport.support import NewTransport, forked, open_sockets, post, rest

pytestmark = pytest.mark.anyio

OURS = "a client of the caller's keeps its own connections"


def test_one_transport_serves_two_event_loops_one_after_the_other() -> None:
    async def main() -> bytes:
        return (await transport.send(post(server.url), Timeouts())).body

    transport = AsyncTransport()
    with loopback(send(http(b"1"))) as server:
        for backend in ("asyncio", "trio", "asyncio"):
            assert anyio.run(main, backend=backend) == b"1"
        anyio.run(transport.close)


def test_a_sync_call_cannot_wait_for_an_event_loop() -> None:
    with pytest.raises(RuntimeError, match="tried to wait for an event loop"):
        drive(asyncio.sleep(0))


async def test_connections_that_ended_are_closed_when_another_is_made(new_transport: NewTransport) -> None:
    """A program that calls many hosts, one after the other, keeps no dead connections."""
    with contextlib.ExitStack() as at_the_end:
        servers = [at_the_end.enter_context(loopback(send_and_close(http(b"1")))) for _ in range(5)]
        transport = new_transport()
        before = len(open_sockets())
        for server in servers:
            assert (await transport.send(post(server.url), Timeouts())).body == b"1"
            await anyio.sleep(0.05)
        with anyio.fail_after(5):
            while len(open_sockets()) > before + 1:  # noqa: ASYNC110 - the servers are threads
                await anyio.sleep(0.05)
        await transport.close()


async def test_connections_of_a_busy_hour_are_closed_in_a_quiet_one(new_transport: NewTransport) -> None:
    """One connection is enough from then on; the others, which the server ends, are not kept because it serves."""
    ends = gated(http(b"1"), then=send_and_close())
    with loopback(ends, ends, send(http(b"1"))) as server:
        transport, before = new_transport(), len(open_sockets())
        for each in [await transport.open(post(server.url), Timeouts()) for _ in range(3)]:
            server.go.set()
            await anyio.sleep(0.05)
            assert await rest(each) == b"1"
        with anyio.fail_after(5):
            while len(open_sockets()) > before + 2:  # noqa: ASYNC110 - both ends of the third
                await anyio.sleep(0.05)
        await transport.close()


# --- processes -----------------------------------------------------------------------------------------------------------


async def test_a_forked_process_leaves_the_connections_of_its_parent_alone(new_client: NewClient, way: str) -> None:
    """BUGS 72. A connection that waits, and a stream: whatever the child does with what it inherited."""
    if way == "trio":
        pytest.skip("a forked process cannot start a second loop of trio")
    good = send(http(json.dumps(answer("Hello")).encode()))
    gate = gated(STREAM + chunks(BEGIN, delta("Hel")), chunks(delta("lo"), completed()) + END)
    with loopback(good, good, gate, good) as server:
        async with new_client(base_url=f"{server.url}/v1") as llm:

            async def ask() -> str:
                return str((await llm.generate("Hi")).output_text)

            def in_the_child() -> bytes:
                return (drive(ask()) if way == "sync" else asyncio.run(ask())).encode()

            assert await ask() == "Hello"
            assert forked(in_the_child) == b"Hello"
            async with llm.stream("Hi") as stream:
                pieces = aiter(stream.text)
                assert await anext(pieces) == "Hel"
                assert forked(in_the_child) == b"Hello"
                server.go.set()
                assert await anext(pieces) == "lo"
            assert await ask() == "Hello"
    assert server.connections == 3
