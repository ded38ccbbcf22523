"""The HTTP transport of sync callers: blocking sockets, usable from many threads."""

from __future__ import annotations

import itertools
import os
import socket
import threading
import weakref
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from ..sync import drive
from . import Call, Stopped
from .deadlines import timed_out
from .exchange import Pool, Slot, Transport
from .sockets import Signal, Waiter, is_ready

if TYPE_CHECKING:
    from collections.abc import Callable

    from .deadlines import Deadline

T = TypeVar("T")

_thread = threading.local()


def about_to_wait(wake: Callable[[], Any]) -> None:
    """Set the function that ends the next wait. Raises `Stopped` where the call of this thread was stopped before."""
    call: ThreadCall | None = getattr(_thread, "call", None)
    if call is not None:
        call.wake = wake
        if call.stopped:
            raise Stopped


class ThreadCall(Call):
    """A cancellable call of the thread inside its `with`."""

    wake: Callable[[], Any] | None = None
    _around: ThreadCall | None = None

    def __enter__(self) -> Self:
        self._around, _thread.call = getattr(_thread, "call", None), self
        return self

    def __exit__(self, kind: object, problem: BaseException | None, traceback: object) -> bool:
        _thread.call, self._around = self._around, None
        return self._ended_by(problem)

    def stop(self) -> None:
        self.stopped = True
        if self.wake is not None:
            with suppress(OSError):
                self.wake()


class _ThreadSignal(Signal):
    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        self._event.set()

    async def wait(self, seconds: float | None) -> bool:
        about_to_wait(self.set)
        self._event.wait(seconds)
        about_to_wait(self.set)
        return self._event.is_set()


class ThreadWaiter(Waiter):
    """The waits of a thread: it blocks in the read or the write itself, and is neither interrupted nor cancelled."""

    def within(self, seconds: float | None) -> AbstractContextManager[None]:
        return nullcontext()

    def shielded(self) -> AbstractContextManager[None]:
        return nullcontext()

    async def sleep(self, seconds: float) -> None:
        await _ThreadSignal().wait(max(seconds, 0))

    def signal(self) -> Signal:
        return _ThreadSignal()

    async def readable(self, sock: socket.socket, seconds: float | None) -> None:
        about_to_wait(partial(sock.shutdown, socket.SHUT_RDWR))
        sock.settimeout(seconds)

    writable = readable

    async def connected(self, sock: socket.socket, seconds: float | None) -> None:
        about_to_wait(partial(sock.shutdown, socket.SHUT_RDWR))
        if not is_ready(sock, to_write=True, seconds=seconds):
            raise TimeoutError

    async def in_thread(self, work: Callable[[], T]) -> T:
        return work()

    def closing(self, sock: socket.socket) -> None:
        """Does nothing: `shutdown` ends the wait of a thread."""


class SyncTransport(Transport):
    """The HTTP transport of threads, which share its connections."""

    def __init__(self, **options: Any) -> None:
        super().__init__(ThreadWaiter(), **options)
        self._process = os.getpid()
        self._pool = Pool(_Slots(self._max))

    def call(self) -> ThreadCall:
        return ThreadCall()

    def _pools(self) -> Iterable[Pool]:
        return [self._pool]

    async def _acquire(self, deadline: Deadline) -> Slot:
        if self._process != os.getpid():
            # After a fork the parent still uses its connections, and a lock may be held by a thread that does not exist here.
            parents, self._pool = self._pool, Pool(_Slots(self._max))
            self._process = os.getpid()
            parents.drop()
        slot = _ThreadSlot(self._pool)
        slot.pool.slots.acquire(slot, deadline)
        return slot

    def abandoned(self, slot: Slot) -> None:
        with suppress(Exception):
            drive(self.release(slot, reuse=False))


_CHECK_INTERVAL = 0.05
"""The interval in seconds at which a thread that waits for a connection checks whether its call was stopped."""


class _ThreadSlot(Slot):
    """A slot of a thread. It is released by `release` or with its last reference, because a `KeyboardInterrupt` may be
    raised before any statement.
    """

    __slots__ = ("number",)

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool)
        self.number = -1

    def release(self) -> None:
        self.pool.slots.release(self)


class _Slots:
    """A fair semaphore with a deadline (first come, first served). A `KeyboardInterrupt` loses no slot.

    The first slots in the queue hold it, up to its capacity; a released or garbage-collected slot leaves the queue.
    Every change of the queue is one operation of the interpreter, which nothing interrupts.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._numbers = itertools.count()
        self._queue: dict[int, weakref.ref[_ThreadSlot]] = {}
        self._waiting: dict[int, threading.Lock] = {}  # each is locked until its slot is among the first

    def acquire(self, slot: _ThreadSlot, deadline: Deadline) -> None:
        number = slot.number = next(self._numbers)
        self._queue[number] = weakref.ref(slot, partial(self._queue.pop, number))
        if len(self._queue) > self._count:
            try:
                self._wait(number, deadline)
            except BaseException:
                self.release(slot)
                raise

    def _wait(self, number: int, deadline: Deadline) -> None:
        gate = self._waiting[number] = threading.Lock()
        try:
            gate.acquire()
            while [*self._queue].index(number) >= self._count:
                about_to_wait(int)  # `stop` does not wake it, so it checks at intervals
                left = deadline.left()
                if left is not None and left <= 0:
                    raise timed_out(deadline, "pool")
                gate.acquire(timeout=_CHECK_INTERVAL if left is None else min(left, _CHECK_INTERVAL))
        finally:
            self._waiting.pop(number, None)

    def release(self, slot: _ThreadSlot) -> None:
        """Remove the slot and wake the slots that are now among the first. A second call does nothing."""
        self._queue.pop(slot.number, None)
        if self._waiting:
            for number in [*self._queue][: self._count]:
                if (gate := self._waiting.get(number)) is not None:
                    with suppress(RuntimeError):  # another thread released it first
                        gate.release()
