"""Tasks that wait for a socket are woken by whatever ends the wait, and leave nothing in their loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Generator
from contextlib import suppress

import anyio
import pytest
from anyio import create_task_group, move_on_after, wait_all_tasks_blocked

from llm_rest.transport.asynchronous import TaskWaiter
from llm_rest.transport.sockets import Socket

pytestmark = pytest.mark.anyio

Pair = tuple[socket.socket, socket.socket]


def pair() -> Pair:
    found = socket.socketpair()
    for one in found:
        one.setblocking(False)
    return found


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def ends() -> Generator[Pair]:
    found = pair()
    yield found
    for one in found:
        one.close()


async def test_a_wait_that_is_cancelled_leaves_nothing(ends: Pair, anyio_backend_name: str) -> None:
    with move_on_after(0.01):
        await TaskWaiter().readable(ends[0], None)
    if anyio_backend_name == "asyncio":
        assert not asyncio.get_running_loop().remove_reader(ends[0])
    ends[1].send(b"x")
    await TaskWaiter().readable(ends[0], 60)


async def test_a_socket_that_is_closed_wakes_who_waits_and_its_number_may_be_used_at_once(ends: Pair) -> None:
    waiting, woken = TaskWaiter(), anyio.Event()

    async def wait() -> None:
        with suppress(anyio.ClosedResourceError, OSError):
            await waiting.readable(ends[0], None)
        woken.set()

    number, others = ends[0].fileno(), list[socket.socket]()
    async with create_task_group() as tasks:
        tasks.start_soon(wait)
        await wait_all_tasks_blocked()
        Socket(ends[0], waiting).close()
        near, far = others = [*pair()]
        assert number == near.fileno()
        tasks.start_soon(waiting.readable, near, 60)
        await woken.wait()
        await wait_all_tasks_blocked()
        far.send(b"x")
    for one in others:
        one.close()
