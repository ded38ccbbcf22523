"""The transport of sync callers: blocking sockets, usable from many threads."""

from __future__ import annotations

import itertools
import os
import socket
import threading
import weakref
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..sync import drive
from .address import NAMES
from .cancellation import ThreadCall, about_to_wait
from .deadlines import timed_out
from .exchange import Exchanges
from .sockets import Home, Place, is_ready

if TYPE_CHECKING:
    from collections.abc import Callable

    from .address import AddressInfo
    from .deadlines import Deadline

T = TypeVar("T")


class Blocking:
    """How a thread waits: in the read or the write itself."""

    interrupts = False

    def within(self, seconds: float | None) -> AbstractContextManager[None]:
        """Nothing: a thread is not interrupted."""
        return nullcontext()

    def shielded(self) -> AbstractContextManager[None]:
        """Nothing: a thread is not cancelled."""
        return nullcontext()

    async def readable(self, opened: socket.socket, seconds: float | None) -> None:
        """Let the next read wait."""
        about_to_wait(partial(opened.shutdown, socket.SHUT_RDWR))
        opened.settimeout(seconds)

    writable = readable

    async def connected(self, opened: socket.socket, seconds: float | None) -> None:
        """Return when an attempt to connect ended."""
        about_to_wait(partial(opened.shutdown, socket.SHUT_RDWR))
        if not is_ready(opened, to_write=True, seconds=seconds):
            raise TimeoutError

    async def addresses(self, host: str, port: int, seconds: float | None) -> AddressInfo:
        """What a name stands for."""
        over = threading.Event()
        with NAMES.asking(host, port, over.set) as look_up:
            about_to_wait(over.set)
            if not over.wait(seconds):
                raise TimeoutError
            about_to_wait(over.set)
        return look_up.answer()

    async def aside(self, work: Callable[[], T]) -> T:
        """What `work` gives."""
        return work()

    async def others(self) -> None:
        """Nothing: other threads run anyway."""

    def closing(self, opened: socket.socket) -> None:
        """Nothing: whoever waits sees the end."""


class SyncTransport(Exchanges):
    """Sends requests for threads, which share its connections."""

    def __init__(self, **options: Any) -> None:
        super().__init__(Blocking(), **options)
        self._process = os.getpid()
        self._home = Home(_Slots(self._max))

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        over = threading.Event()
        about_to_wait(over.set)
        over.wait(seconds)
        about_to_wait(over.set)

    def call(self) -> ThreadCall:
        """A call that may be ended from outside."""
        return ThreadCall()

    def _homes(self) -> Iterable[Home]:
        return [self._home]

    async def _enter(self, deadline: Deadline) -> Place:
        if self._process != os.getpid():
            # After a fork the parent goes on using its connections, and a lock may be held by a thread that is gone.
            parents, self._home = self._home, Home(_Slots(self._max))
            self._process = os.getpid()
            parents.drop()
        place = _ThreadPlace(self._home)
        place.home.slots.acquire(place, deadline)
        return place

    def forgotten(self, place: Place) -> None:
        """End an exchange that nobody reads any more."""
        with suppress(Exception):
            drive(self.leave(place, again=False))


_LOOK_UP = 0.05
"""Seconds after which a thread that waits for a connection asks whether its call was stopped."""


class _ThreadPlace(Place):
    """A place among threads. It ends with `release` and with the last reference to it, because a `KeyboardInterrupt` may come
    before any statement.
    """

    __slots__ = ("number",)

    def __init__(self, home: Home) -> None:
        super().__init__(home)
        self.number = -1

    def release(self) -> None:
        self.home.slots.release(self)


class _Slots:
    """A semaphore with a deadline, first come, first served. It loses nothing to a `KeyboardInterrupt`.

    Those who came first hold it, as many as there may be; a place that is released or forgotten leaves the row. Every change
    of the row is one operation of the interpreter, which nothing interrupts.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._numbers = itertools.count()
        self._row: dict[int, weakref.ref[_ThreadPlace]] = {}
        self._waiting: dict[int, threading.Lock] = {}  # each is locked until it is worth another look

    def acquire(self, place: _ThreadPlace, deadline: Deadline) -> None:
        number = place.number = next(self._numbers)
        self._row[number] = weakref.ref(place, partial(self._row.pop, number))
        if len(self._row) > self._count:
            try:
                self._wait(number, deadline)
            except BaseException:
                self.release(place)
                raise

    def _wait(self, number: int, deadline: Deadline) -> None:
        gate = self._waiting[number] = threading.Lock()
        try:
            gate.acquire()
            while [*self._row].index(number) >= self._count:
                about_to_wait(int)  # nobody wakes it when its call is stopped, so it looks up now and then
                left = deadline.left()
                if left is not None and left <= 0:
                    raise timed_out(deadline, "pool")
                gate.acquire(timeout=_LOOK_UP if left is None else min(left, _LOOK_UP))
        finally:
            self._waiting.pop(number, None)

    def release(self, place: _ThreadPlace) -> None:
        """Let the next one in; once, however often it is called."""
        self._row.pop(place.number, None)
        if self._waiting:
            for number in [*self._row][: self._count]:
                if (gate := self._waiting.get(number)) is not None:
                    with suppress(RuntimeError):  # another thread was faster
                        gate.release()
