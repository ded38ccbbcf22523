"""Look-ups of names end by the limits of a call, and an abandoned one leaves nothing behind."""

from __future__ import annotations

import contextlib
import errno
import gc
import socket
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import anyio
import pytest

from llm_rest.errors import APITimeoutError, ConnectError
from llm_rest.sync import drive
from llm_rest.transport import Timeouts
from llm_rest.transport.address import DNS, MAX_ABANDONED, as_number
from llm_rest.transport.asynchronous import AsyncTransport
from llm_rest.transport.blocking import SyncTransport
from tests.loopback import http as answer
from tests.loopback import loopback, send
from tests.transport.support import TEN_SECONDS, NewTransport, exchange, forked, open_sockets, post

pytestmark = pytest.mark.anyio
OURS = "clients of httpx look names up themselves"
NAME = "llm_rest name"
SOON = Timeouts(connect=0.2, total=20)


class System:
    """The look-up of names: it answers with the address of `url` once `answers` is set."""

    def __init__(self, url: str) -> None:
        host, port = url.removeprefix("http://").split(":")
        self.found: list[Any] = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, int(port)))]
        self.heard = threading.Event()
        self.answers = threading.Event()
        self.asked: list[str] = []

    def getaddrinfo(self, host: str, *_: Any, **__: Any) -> list[Any]:
        self.asked.append(host)
        self.heard.set()
        assert self.answers.wait(30), "nobody let the system answer"
        return self.found

    def settle(self) -> None:
        """Let it answer, and see that no thread is left."""
        self.answers.set()
        for each in looking_up():
            each.join(10)
        assert not looking_up()


def looking_up() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == NAME]


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> Iterator[System]:
    with loopback(send(answer(b"hello"))) as server:
        system = System(server.url)
        monkeypatch.setattr(socket, "getaddrinfo", system.getaddrinfo)
        yield system
        system.settle()


async def test_a_lookup_ends_by_the_limit_leaves_nothing_open_and_later_ones_do_not_wait_for_it(
    new_transport: NewTransport, system: System
) -> None:
    gc.collect()
    before = open_sockets()
    for limits, phase in ((SOON, "connect"), (Timeouts(connect="none", total=0.2), "total")):
        with pytest.raises(APITimeoutError) as caught:
            await exchange(new_transport, "http://slow.example", limits)
        assert (caught.value.phase, caught.value.retryable) == (phase, True)
    assert len(system.asked) == len(looking_up()) == 2
    system.settle()
    gc.collect()
    assert open_sockets() == before
    assert (await exchange(new_transport, "http://slow.example")).body == b"hello"


async def test_an_address_takes_no_look_up(new_transport: NewTransport, system: System) -> None:
    with loopback(send(answer(b"hello"))) as server:
        assert (await exchange(new_transport, server.url)).body == b"hello"
    assert not system.asked


@pytest.mark.parametrize(("host", "is_one"), [("10.0.0.1", True), ("::1", True), ("10.1", False), ("a.example", False)])
def test_what_an_address_is(host: str, is_one: bool) -> None:
    found = as_number(host, 80)
    assert (found is not None) == is_one
    if found is not None:
        assert found[0][4] == socket.getaddrinfo(host, 80, type=socket.SOCK_STREAM)[0][4]


async def test_an_address_of_a_kind_that_the_system_has_not_is_passed_over(
    new_transport: NewTransport, system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = socket.socket

    class Without(real):  # type: ignore[misc, valid-type]
        def __init__(self, family: int = -1, *more: Any, **options: Any) -> None:
            if family == socket.AF_INET6:
                raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
            super().__init__(family, *more, **options)

    monkeypatch.setattr(socket, "socket", Without)
    system.answers.set()
    system.found.insert(0, (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", 9, 0, 0)))
    assert (await exchange(new_transport, "http://both.example")).body == b"hello"
    system.found[1:] = []
    with pytest.raises(ConnectError, match="not supported"):
        await exchange(new_transport, "http://both.example")


async def test_a_cancelled_task_leaves_its_look_up_at_once(way: str, system: System) -> None:
    if way == "sync":
        pytest.skip("a thread is not cancelled")
    transport = AsyncTransport()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(transport.send, post("http://slow.example"), TEN_SECONDS)
        assert await anyio.to_thread.run_sync(system.heard.wait, 10)
        tasks.cancel_scope.cancel()
    assert not system.answers.is_set()
    system.settle()
    await transport.close()


def test_what_stops_a_call_stops_its_look_up(system: System) -> None:
    """In a thread, where `client.cancel()` is called by another."""
    transport = SyncTransport()
    call = transport.call()
    ended = threading.Event()

    def ask() -> None:
        with call:
            drive(transport.send(post("http://slow.example"), TEN_SECONDS))
        ended.set()

    asking = threading.Thread(target=ask)
    asking.start()
    assert system.heard.wait(10)
    call.stop()
    assert ended.wait(10)
    assert not system.answers.is_set()
    asking.join()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_event_loop_ends_although_a_name_is_still_being_looked_up(backend: str, system: System) -> None:
    async def ask() -> None:
        with pytest.raises(APITimeoutError):
            await exchange(AsyncTransport, "http://slow.example", SOON)

    anyio.run(ask, backend=backend)
    assert not system.answers.is_set()


def test_look_ups_of_one_name_at_the_same_time_are_one(system: System) -> None:
    woken: list[int] = []
    with contextlib.ExitStack() as asking:
        look_ups = [asking.enter_context(DNS.lookup("a.example", 80, partial(woken.append, i))) for i in range(20)]
        system.settle()
    assert woken == [*range(20)]
    assert all(look_up.answer() == system.found for look_up in look_ups)
    assert system.asked == ["a.example"]


def test_threads_that_are_left_behind_do_not_pile_up(system: System) -> None:
    """Any number of names may be looked up at the same time; of those that were abandoned only so many."""
    with contextlib.ExitStack() as asking:
        look_ups = [asking.enter_context(DNS.lookup(f"{i}.example", 80, int)) for i in range(2 * MAX_ABANDONED)]
        system.settle()
    assert all(look_up.answer() == system.found for look_up in look_ups)
    system.answers.clear()
    for i in range(MAX_ABANDONED):
        with DNS.lookup(f"{i}.example", 80, int):
            pass
    with pytest.raises(ConnectError, match=r"cannot connect to http://a\.example: .* lookups") as caught:
        drive(exchange(SyncTransport, "http://a.example"))
    assert caught.value.retryable
    assert len(looking_up()) == MAX_ABANDONED
    system.settle()
    with DNS.lookup("a.example", 80, int) as look_up:
        system.settle()
    assert look_up.answer() == system.found


def test_a_forked_process_waits_for_no_look_up_of_its_parent(system: System) -> None:
    def ask() -> bytes:
        system.answers.set()  # in the child alone
        return drive(exchange(SyncTransport, "http://a.example")).body

    with DNS.lookup("a.example", 80, int):
        assert forked(ask) == b"hello"
    assert not system.answers.is_set()


def test_where_no_thread_can_be_started_a_name_is_looked_up_all_the_same(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        if thread.name == NAME:
            raise RuntimeError("can't start new thread")
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    system.answers.set()
    assert drive(exchange(SyncTransport, "http://a.example")).body == b"hello"
