"""TCP connections, with the same code for threads and tasks, which differ only in their `Waiter`.

Before changing this file, know that closing never waits and cannot be interrupted, so that the socket of a cancelled
call is closed when the call ends.
"""

from __future__ import annotations

import errno
import os
import select
import socket
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from .address import DNS, as_number

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from .address import AddressInfo
    from .deadlines import Deadline

T = TypeVar("T")

READ_AT_ONCE = 65_536

_IN_PROGRESS = frozenset({0, errno.EINPROGRESS, errno.EWOULDBLOCK})
"""The results of `connect_ex` while the connection is being established."""
_STAGGER = 0.25
"""Seconds after which the next address of a name is tried in parallel (happy eyeballs, RFC 8305)."""
_KEEP_ALIVE_SECONDS = 60
"""Seconds without a byte after which the system sends TCP keep-alives, so that routers keep a connection on which a model
reasons for minutes."""


class Signal(ABC):
    """A signal for a waiting thread or task. `set` may be called from any thread."""

    @abstractmethod
    def set(self) -> None:
        """Wake the waiter, or let its next wait end at once."""

    @abstractmethod
    async def wait(self, seconds: float | None) -> bool:
        """Wait until it is set, or until the timeout; whether it is set."""


class Waiter(ABC):
    """The waits of a caller: a thread blocks, a task lets others run. They raise `TimeoutError` after so many seconds."""

    interrupts = False
    """Whether it can interrupt a wait in other code, as an event loop can."""

    @abstractmethod
    def within(self, seconds: float | None) -> AbstractContextManager[object]:
        """A context that ends its block with `TimeoutError` after so many seconds, where it can interrupt."""

    @abstractmethod
    def shielded(self) -> AbstractContextManager[object]:
        """A context that protects its block from cancellation."""

    @abstractmethod
    async def sleep(self, seconds: float) -> None:
        """Sleep; zero seconds let other tasks run."""

    @abstractmethod
    def signal(self) -> Signal:
        """A new signal that this thread or task can wait for."""

    @abstractmethod
    async def readable(self, sock: socket.socket, seconds: float | None) -> None:
        """Return when the socket is readable; a thread may wait in the read itself instead."""

    @abstractmethod
    async def writable(self, sock: socket.socket, seconds: float | None) -> None:
        """Return when the socket is writable; a thread may wait in the write itself instead."""

    @abstractmethod
    async def connected(self, sock: socket.socket, seconds: float | None) -> None:
        """Return when an attempt to connect has ended."""

    async def addresses(self, host: str, port: int, seconds: float | None) -> AddressInfo:
        """The addresses of a host name."""
        over = self.signal()
        with DNS.lookup(host, port, over.set) as lookup:
            if not await over.wait(seconds):
                raise TimeoutError
        return lookup.answer()

    @abstractmethod
    async def in_thread(self, work: Callable[[], T]) -> T:
        """The result of blocking `work`, in a thread where it would block other tasks."""

    @abstractmethod
    def closing(self, sock: socket.socket) -> None:
        """Wake the task that waits for the socket, where possible."""


class Stream(ABC):
    """A connection as a stream of bytes. A wait ends by the deadline."""

    __slots__ = ()

    @abstractmethod
    async def read(self, deadline: Deadline) -> bytes:
        """The next bytes; empty at the end, where the peer closed the stream properly."""

    @abstractmethod
    async def write(self, data: memoryview, deadline: Deadline) -> int:
        """Send some of the data; returns the number of bytes."""

    async def write_all(self, data: memoryview, deadline: Deadline) -> None:
        """Send all of the data."""
        while data:
            data = data[await self.write(data, deadline) :]

    @abstractmethod
    def read_available(self) -> bytes | None:
        """Received but unread bytes, without waiting: empty at the end, `None` where there are none."""

    @abstractmethod
    def quiet(self) -> bool:
        """Whether nothing unread was received: neither bytes nor the end."""

    @abstractmethod
    def close(self) -> None:
        """Close it, in any state."""


class Socket(Stream):
    """A connected TCP socket as a stream."""

    __slots__ = ("_process", "_socket", "_waiter")

    def __init__(self, sock: socket.socket, waiter: Waiter) -> None:
        self._socket = sock
        self._waiter = waiter
        self._process = os.getpid()
        with suppress(OSError, AttributeError):  # not every system has all of these options
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEP_ALIVE_SECONDS)

    async def read(self, deadline: Deadline) -> bytes:
        while True:
            await self._waiter.readable(self._socket, deadline.allowed())
            with suppress(BlockingIOError):
                return self._socket.recv(READ_AT_ONCE)

    async def write(self, data: memoryview, deadline: Deadline) -> int:
        while True:
            await self._waiter.writable(self._socket, deadline.allowed())
            with suppress(BlockingIOError):
                return self._socket.send(data)

    def read_available(self) -> bytes | None:
        with suppress(BlockingIOError):
            return None if self.quiet() else self._socket.recv(READ_AT_ONCE)
        return None

    def quiet(self) -> bool:
        return not is_ready(self._socket)

    def close(self) -> None:
        if self._socket.fileno() >= 0:
            self._waiter.closing(self._socket)
            if self._process == os.getpid():
                with suppress(OSError):
                    # A close alone would not wake another thread that waits for bytes. In a forked process a shutdown would end
                    # the parent's connection.
                    self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()

    def __del__(self) -> None:
        self._socket.close()  # a KeyboardInterrupt may have prevented any other close


def is_ready(sock: socket.socket, *, to_write: bool = False, seconds: float | None = 0.0) -> bool:
    """Whether the socket is readable, or writable, within so many seconds."""
    if sock.fileno() < 0:
        return True
    if not hasattr(select, "poll"):  # Windows
        one, none = [sock], list[socket.socket]()
        return any(select.select(none, one, one, seconds) if to_write else select.select(one, none, none, seconds))
    poll = select.poll()
    poll.register(sock, select.POLLOUT if to_write else select.POLLIN)
    return bool(poll.poll(None if seconds is None else int(seconds * 1000 + 0.999)))


async def connect(host: str, port: int, deadline: Deadline, waiter: Waiter, *, public_only: bool = False) -> Socket:
    """A connection to the first address of a name that answers, its addresses tried at intervals (happy eyeballs)."""
    found = as_number(host, port) or await waiter.addresses(host, port, deadline.allowed())
    if public_only:
        from .address import require_public

        # The validated addresses are used for the connection: a second lookup may return others (DNS rebinding).
        require_public(host, found)
    waiting = list(reversed(found))
    connecting: list[socket.socket] = []
    problem = OSError("the name has no address")
    try:
        while waiting or connecting:
            if waiting:
                family, kind, proto, _, where = waiting.pop()
                try:
                    connecting.append(socket.socket(family, kind, proto))
                except OSError as refusal:  # such as an IPv6 address on a system without IPv6
                    problem = refusal.with_traceback(None)
                    continue
                connecting[-1].setblocking(False)
                if (code := connecting[-1].connect_ex(where)) not in _IN_PROGRESS:
                    problem = OSError(code, os.strerror(code))
                    connecting.pop().close()
                    continue
            seconds = deadline.allowed()
            if not waiting and len(connecting) == 1:
                await waiter.connected(connecting[0], seconds)
            else:  # wait briefly for the newest one, and check all
                with suppress(TimeoutError):
                    await waiter.connected(connecting[-1], _STAGGER if seconds is None else min(_STAGGER, seconds))
            for sock in [one for one in connecting if is_ready(one, to_write=True)]:
                connecting.remove(sock)
                if not (code := sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)):
                    return Socket(sock, waiter)
                problem = OSError(code, os.strerror(code))
                sock.close()
        raise problem
    finally:
        for sock in connecting:
            sock.close()


RawHeaders = Iterable[tuple[bytes, bytes]]
