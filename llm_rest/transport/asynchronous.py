"""The transport of async callers, on asyncio and trio by anyio.

Connections belong to the loop they were made in; another loop gets a set of its own, also at the same time.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager, suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
from anyio import to_thread
from anyio.lowlevel import checkpoint, current_token

from .address import NAMES
from .cancellation import TaskCall, soon
from .deadlines import timed_out
from .exchange import Exchanges
from .sockets import Home, Place, is_ready

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from .address import AddressInfo
    from .deadlines import Deadline

T = TypeVar("T")


class Waiting:
    """How a task waits: others run meanwhile."""

    interrupts = True

    def __init__(self) -> None:
        self._readers: dict[socket.socket, _Reader] = {}

    def within(self, seconds: float | None) -> AbstractContextManager[object]:
        """Ends what happens inside after so many seconds."""
        return anyio.fail_after(seconds)

    def shielded(self) -> AbstractContextManager[object]:
        """Lets what happens inside come to its end although the task is cancelled."""
        return anyio.CancelScope(shield=True)

    async def readable(self, opened: socket.socket, seconds: float | None) -> None:
        """Return when a read gives something; others run in any case."""
        if is_ready(opened):
            await checkpoint()
        elif (loop := _loop()) is None:
            with anyio.fail_after(seconds):
                await anyio.wait_readable(opened)
        else:
            # What anyio does costs twice as much, for every piece of every stream.
            reader = self._readers[opened] = _Reader(loop, opened.fileno())
            timer = None if seconds is None else loop.call_later(seconds, reader.wake, False)
            try:
                if not await reader.woken:
                    raise TimeoutError
            finally:
                if timer is not None:
                    timer.cancel()
                if self._readers.pop(opened, None) is reader:
                    loop.remove_reader(reader.number)

    async def writable(self, opened: socket.socket, seconds: float | None) -> None:
        """The same for a write."""
        if is_ready(opened, to_write=True):
            await checkpoint()
        else:
            await self.connected(opened, seconds)

    async def connected(self, opened: socket.socket, seconds: float | None) -> None:
        """Return when an attempt to connect ended."""
        with anyio.fail_after(seconds):
            await anyio.wait_writable(opened)

    async def addresses(self, host: str, port: int, seconds: float | None) -> AddressInfo:
        """What a name stands for."""
        over = anyio.Event()
        with NAMES.asking(host, port, partial(soon, current_token(), over.set)) as look_up, anyio.fail_after(seconds):
            await over.wait()
        return look_up.answer()

    async def aside(self, work: Callable[[], T]) -> T:
        """What `work` gives, in a thread."""
        return await to_thread.run_sync(work)

    async def others(self) -> None:
        """Let other tasks run."""
        await checkpoint()

    def closing(self, opened: socket.socket) -> None:
        """Wake the task that waits for it, in the loop where that is."""
        reader = self._readers.get(opened)
        if reader is not None:
            if reader.loop is _loop():
                del self._readers[opened]
                reader.loop.remove_reader(reader.number)  # as long as the number is this socket's
            with suppress(RuntimeError):  # a loop that has ended
                reader.loop.call_soon_threadsafe(reader.wake)
        with suppress(Exception):
            anyio.notify_closing(opened)


class _Reader:
    """A task of an asyncio loop that waits for a socket, which is known there by its number."""

    __slots__ = ("loop", "number", "woken")

    def __init__(self, loop: asyncio.AbstractEventLoop, number: int) -> None:
        self.loop = loop
        self.number = number
        self.woken: asyncio.Future[bool] = loop.create_future()
        loop.add_reader(number, self.wake)

    def wake(self, ready: bool = True) -> None:
        """Say that there is something to read, or that there was nothing in time."""
        if not self.woken.done():
            self.woken.set_result(ready)


def _loop() -> asyncio.AbstractEventLoop | None:
    """The loop that runs here, if it is one of asyncio that waits for sockets."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return None
    return None if isinstance(loop, _PROACTOR) else loop


_PROACTOR: tuple[type, ...] = tuple(filter(None, [getattr(asyncio, "ProactorEventLoop", None)]))
"""The loop of Windows that waits for none."""


class _TaskPlace(Place):
    """A place among tasks."""

    __slots__ = ()

    def release(self) -> None:
        self.home.slots.release()


class AsyncTransport(Exchanges):
    """Sends requests for tasks."""

    def __init__(self, **options: Any) -> None:
        load_ahead()
        super().__init__(Waiting(), **options)
        self._loops: dict[Any, Home] = {}

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await anyio.sleep(seconds)

    def call(self) -> TaskCall:
        """A call that may be ended from outside."""
        return TaskCall()

    def _homes(self) -> Iterable[Home]:
        return [*self._loops.values()]

    async def _enter(self, deadline: Deadline) -> Place:
        token = current_token()
        loop: Any = getattr(token, "native_token", token)  # what it is since anyio 4.11
        home = self._loops.get(loop)
        if home is None:
            for other in [*self._loops]:
                if _is_over(other):
                    self._loops.pop(other).drop()
            home = self._loops[loop] = Home(anyio.Semaphore(self._max, fast_acquire=True), loop)
        slots: anyio.Semaphore = home.slots
        try:
            slots.acquire_nowait()
        except anyio.WouldBlock:
            with anyio.move_on_after(deadline.left()):
                await slots.acquire()
                return _TaskPlace(home)
            raise timed_out(deadline, "pool") from None
        return _TaskPlace(home)

    def forgotten(self, place: Place) -> None:
        """End an exchange that nobody reads any more, as soon as its loop comes to it."""
        if place.connection is not None:
            place.connection.drop()
        with suppress(Exception):  # a loop that is gone never does
            _soon(place.home.loop, partial(self.leave, place, again=False))


def load_ahead() -> None:
    """Load what Python and `anyio` would load in the first call, for which everything else in the loop would stand still."""
    import_module("encodings.idna")
    for loop in ("asyncio", "trio"):
        if loop in sys.modules:
            with suppress(ImportError):
                import_module(f"anyio._backends._{loop}")


def _is_over(loop: Any) -> bool:
    """Whether an event loop has ended."""
    if hasattr(loop, "is_closed"):
        ended: bool = loop.is_closed()
        return ended
    try:
        loop.run_sync_soon(int)
    except RuntimeError:
        return True
    return False


def _soon(loop: Any, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run `work` as a task of `loop`, whichever thread this is."""
    if hasattr(loop, "run_sync_soon"):
        from trio.lowlevel import spawn_system_task

        loop.run_sync_soon(spawn_system_task, work)
    else:
        loop.call_soon_threadsafe(lambda: loop.create_task(work()))
