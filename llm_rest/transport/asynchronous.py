"""The transport of async callers, on asyncio and trio by anyio.

Connections belong to the event loop that opened them; each loop has its own pool, also if several run at once.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager, suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self, TypeVar

import anyio
from anyio import to_thread
from anyio.lowlevel import checkpoint, current_token

from ..sync import from_any_thread
from . import Call
from .deadlines import timed_out
from .exchange import Pool, Slot, Transport
from .sockets import Signal, Waiter, is_ready

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from types import TracebackType

    from .deadlines import Deadline

T = TypeVar("T")


class TaskCall(Call):
    """A cancellable call of the task inside its `with`, on asyncio or trio."""

    _scope: anyio.CancelScope | None = None
    _loop: Any = None

    def __enter__(self) -> Self:
        self._loop = self._loop or current_token()
        self._scope = anyio.CancelScope()
        self._scope.__enter__()
        if self.stopped:
            self._scope.cancel()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        scope, self._scope = self._scope, None
        return bool(scope and scope.__exit__(kind, problem, traceback)) or self._ended_by(problem)

    def stop(self) -> None:
        self.stopped = True
        if self._scope is not None:
            with suppress(RuntimeError):  # its event loop has ended
                from_any_thread(self._loop)(self._cancel)

    def _cancel(self) -> None:
        if self._scope is not None:
            self._scope.cancel()


class _TaskSignal(Signal):
    def __init__(self) -> None:
        self._call, self._event = from_any_thread(current_token()), anyio.Event()

    def set(self) -> None:
        with suppress(RuntimeError):  # its event loop has ended
            self._call(self._event.set)

    async def wait(self, seconds: float | None) -> bool:
        with anyio.move_on_after(seconds):
            await self._event.wait()
        return self._event.is_set()


class TaskWaiter(Waiter):
    """The waits of a task: other tasks run meanwhile."""

    interrupts = True

    def __init__(self) -> None:
        self._readers: dict[socket.socket, _Reader] = {}

    def within(self, seconds: float | None) -> AbstractContextManager[object]:
        return anyio.fail_after(seconds)

    def shielded(self) -> AbstractContextManager[object]:
        return anyio.CancelScope(shield=True)

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)

    async def readable(self, sock: socket.socket, seconds: float | None) -> None:
        if is_ready(sock):
            await checkpoint()
        elif (loop := _loop()) is None:
            with anyio.fail_after(seconds):
                await anyio.wait_readable(sock)
        else:
            # anyio.wait_readable takes twice as long for every piece of a stream.
            reader = self._readers[sock] = _Reader(loop, sock.fileno())
            timer = None if seconds is None else loop.call_later(seconds, reader.wake, False)
            try:
                if not await reader.woken:
                    raise TimeoutError
            finally:
                if timer is not None:
                    timer.cancel()
                if self._readers.pop(sock, None) is reader:
                    loop.remove_reader(reader.number)

    async def writable(self, sock: socket.socket, seconds: float | None) -> None:
        if is_ready(sock, to_write=True):
            await checkpoint()
        else:
            await self.connected(sock, seconds)

    async def connected(self, sock: socket.socket, seconds: float | None) -> None:
        with anyio.fail_after(seconds):
            await anyio.wait_writable(sock)

    def signal(self) -> Signal:
        return _TaskSignal()

    async def in_thread(self, work: Callable[[], T]) -> T:
        return await to_thread.run_sync(work)

    def closing(self, sock: socket.socket) -> None:
        """Wake the task that waits for the socket, in its event loop."""
        reader = self._readers.get(sock)
        if reader is not None:
            if reader.loop is _loop():
                del self._readers[sock]
                reader.loop.remove_reader(reader.number)  # before the file descriptor is reused by another socket
            with suppress(RuntimeError):  # an event loop that has ended
                reader.loop.call_soon_threadsafe(reader.wake)
        with suppress(Exception):
            anyio.notify_closing(sock)


class _Reader:
    """A task of an asyncio loop that waits for a socket, by its file descriptor."""

    __slots__ = ("loop", "number", "woken")

    def __init__(self, loop: asyncio.AbstractEventLoop, number: int) -> None:
        self.loop = loop
        self.number = number
        self.woken: asyncio.Future[bool] = loop.create_future()
        loop.add_reader(number, self.wake)

    def wake(self, ready: bool = True) -> None:
        """End the wait: the socket is readable, or the time is up."""
        if not self.woken.done():
            self.woken.set_result(ready)


def _loop() -> asyncio.AbstractEventLoop | None:
    """The running asyncio loop, if it can wait for sockets."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return None
    return None if isinstance(loop, _PROACTOR) else loop


_PROACTOR: tuple[type, ...] = tuple(filter(None, [getattr(asyncio, "ProactorEventLoop", None)]))
"""The event loop of Windows, which cannot wait for sockets."""


class AsyncTransport(Transport):
    """The HTTP transport of async callers."""

    def __init__(self, **options: Any) -> None:
        _load_ahead()
        super().__init__(TaskWaiter(), **options)
        self._loops: dict[Any, Pool] = {}

    def call(self) -> TaskCall:
        return TaskCall()

    def _pools(self) -> Iterable[Pool]:
        return [*self._loops.values()]

    async def _acquire(self, deadline: Deadline) -> Slot:
        token = current_token()
        loop: Any = getattr(token, "native_token", token)  # the name since anyio 4.11
        pool = self._loops.get(loop)
        if pool is None:
            for other in [*self._loops]:
                if _is_over(other):
                    self._loops.pop(other).drop()
            pool = self._loops[loop] = Pool(anyio.Semaphore(self._max, fast_acquire=True), loop)
        slots: anyio.Semaphore = pool.slots
        try:
            slots.acquire_nowait()
        except anyio.WouldBlock:
            with anyio.move_on_after(deadline.left()):
                await slots.acquire()
                return Slot(pool)
            raise timed_out(deadline, "pool") from None
        return Slot(pool)

    def abandoned(self, slot: Slot) -> None:
        if slot.connection is not None:
            slot.connection.drop()
        with suppress(Exception):  # the event loop may have ended
            _spawn(slot.pool.loop, partial(self.release, slot, reuse=False))


def _load_ahead() -> None:
    """Import modules that Python and `anyio` would import in the first call, which would block the event loop."""
    import_module("encodings.idna")
    for loop in ("asyncio", "trio"):
        if loop in sys.modules:
            with suppress(ImportError):
                import_module(f"anyio._backends._{loop}")


def _is_over(loop: Any) -> bool:
    """Whether an event loop has ended."""
    with suppress(RuntimeError):
        from_any_thread(loop)(int)
        return False
    return True


def _spawn(loop: Any, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run `work` as a task of `loop`, from any thread."""
    if hasattr(loop, "run_sync_soon"):
        from trio.lowlevel import spawn_system_task

        loop.run_sync_soon(spawn_system_task, work)
    else:
        loop.call_soon_threadsafe(lambda: loop.create_task(work()))
