"""The transport of sync callers: blocking sockets, usable from many threads."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ..driving import drive
from .connections import Connection, Home
from .exchange import Exchanges
from .names import NAMES
from .problems import timed_out
from .sockets import is_ready
from .under_way import ThreadCall, about_to_wait

if TYPE_CHECKING:
    from collections.abc import Callable

    from .deadlines import Deadline
    from .names import AddressInfo

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

    async def _enter(self, deadline: Deadline) -> Home:
        if self._process != os.getpid():
            # After a fork the parent goes on using its connections, and a lock may be held by a thread that is gone.
            parents, self._home = self._home, Home(_Slots(self._max))
            self._process = os.getpid()
            parents.drop()
        home = self._home
        cast("_Slots", home.slots).acquire(deadline)
        return home

    def forgotten(self, home: Home, connection: Connection) -> None:
        """End an exchange that nobody reads any more."""
        with suppress(Exception):
            drive(self.leave(home, connection, again=False))


_LOOK_UP = 0.05
"""Seconds after which a thread that waits for a connection asks whether its call was stopped."""


class _Slots:
    """A semaphore with a deadline. A queue of permits is many times faster than `threading.Semaphore`."""

    def __init__(self, count: int) -> None:
        self._free: SimpleQueue[None] = SimpleQueue()
        for _ in range(count):
            self._free.put(None)

    def acquire(self, deadline: Deadline) -> None:
        while True:
            with suppress(Empty):
                return self._free.get_nowait()
            about_to_wait(int)  # a queue cannot be woken for one of those who wait, so each looks up now and then
            left = deadline.left()
            if left is not None and left <= 0:
                raise timed_out("pool")
            with suppress(Empty):
                return self._free.get(timeout=_LOOK_UP if left is None else min(left, _LOOK_UP))

    def release(self) -> None:
        self._free.put(None)
