"""TCP connections, the same for threads and tasks, and the pool of idle ones.

The caller gives the way to wait; nothing else differs. Before changing this file, know that closing never waits and cannot be
interrupted, so that the socket of a cancelled call is closed when the call ends, and that threads share the pool: a connection
belongs to the one that took it off the list.
"""

from __future__ import annotations

import errno
import os
import select
import socket
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from .address import as_number

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from . import HTTPRequest
    from .address import AddressInfo
    from .deadlines import Deadline

T = TypeVar("T")

READ_AT_ONCE = 65_536

_UNDER_WAY = frozenset({0, errno.EINPROGRESS, errno.EWOULDBLOCK})
"""What a connect that has begun returns."""
_STAGGER = 0.25
"""How long one address of a name is given before the next is tried beside it (RFC 8305)."""
_SILENT_MINUTE = 60
"""After so many seconds without a byte the system asks whether the other side is still there, which keeps routers from
forgetting a connection on which a model thinks for minutes."""


class Waiter(Protocol):
    """How a caller waits: a thread blocks, a task lets others run. Waits end with `TimeoutError` after so many seconds.

    `interrupts` says whether it can end a wait of somebody else's as well, as an event loop can.
    """

    interrupts: bool

    def within(self, seconds: float | None) -> AbstractContextManager[object]:
        """Ends what happens inside with `TimeoutError` after so many seconds, where it can."""
        ...

    def shielded(self) -> AbstractContextManager[object]:
        """Lets what happens inside come to its end although the caller is cancelled."""
        ...

    async def readable(self, opened: socket.socket, seconds: float | None) -> None:
        """Return when a read may give something; a thread may wait in the read itself instead."""
        ...

    async def writable(self, opened: socket.socket, seconds: float | None) -> None:
        """The same for a write."""
        ...

    async def connected(self, opened: socket.socket, seconds: float | None) -> None:
        """Return when an attempt to connect ended."""
        ...

    async def addresses(self, host: str, port: int, seconds: float | None) -> AddressInfo:
        """What a name stands for."""
        ...

    async def aside(self, work: Callable[[], T]) -> T:
        """What `work` gives, which takes longer than others may have to stand still."""
        ...

    async def others(self) -> None:
        """Let others run."""
        ...

    def closing(self, opened: socket.socket) -> None:
        """Wake whoever waits for it, as far as possible."""
        ...


class Stream(Protocol):
    """Bytes to and from another side. A wait ends by the deadline of the moment."""

    async def read(self, deadline: Deadline) -> bytes:
        """The next bytes; none at the end."""
        ...

    async def write(self, data: memoryview, deadline: Deadline) -> int:
        """Send some of it: how many bytes."""
        ...

    def take(self) -> bytes | None:
        """What came and was not read, without a wait: none at the end, `None` where nothing came."""
        ...

    def quiet(self) -> bool:
        """Whether nothing came that was not read: no more bytes, and not the end."""
        ...

    def close(self) -> None: ...


class Socket:
    """A connected socket as a `Stream`."""

    __slots__ = ("_process", "_socket", "_waiter")

    def __init__(self, opened: socket.socket, waiter: Waiter) -> None:
        self._socket = opened
        self._waiter = waiter
        self._process = os.getpid()
        with suppress(OSError, AttributeError):  # not every system knows all of these
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _SILENT_MINUTE)

    async def read(self, deadline: Deadline) -> bytes:
        """The next bytes; none at the end."""
        while True:
            await self._waiter.readable(self._socket, deadline.allowed())
            with suppress(BlockingIOError):
                return self._socket.recv(READ_AT_ONCE)

    async def write(self, data: memoryview, deadline: Deadline) -> int:
        """Send some of it: how many bytes."""
        while True:
            await self._waiter.writable(self._socket, deadline.allowed())
            with suppress(BlockingIOError):
                return self._socket.send(data)

    def take(self) -> bytes | None:
        """What came and was not read, without a wait: none at the end, `None` where nothing came."""
        with suppress(BlockingIOError):
            return None if self.quiet() else self._socket.recv(READ_AT_ONCE)
        return None

    def quiet(self) -> bool:
        """Whether nothing came that was not read: no more bytes, and not the end."""
        return not is_ready(self._socket)

    def close(self) -> None:
        """Close it, whatever its state."""
        if self._socket.fileno() >= 0:
            self._waiter.closing(self._socket)
            if self._process == os.getpid():
                with suppress(OSError):
                    # Another thread may be waiting for bytes, which a close alone would not tell it. In a forked process
                    # it would end the parent's connection.
                    self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()

    def __del__(self) -> None:
        # An interrupt may have come before whoever would have closed it.
        self._socket.close()


async def write_all(stream: Stream, data: memoryview, deadline: Deadline) -> None:
    """Send all of it."""
    while data:
        data = data[await stream.write(data, deadline) :]


def is_ready(opened: socket.socket, *, to_write: bool = False, seconds: float | None = 0.0) -> bool:
    """Whether a read, or a write, would not wait, or ceases to within so many seconds."""
    if opened.fileno() < 0:
        return True
    if not hasattr(select, "poll"):  # Windows
        one, none = [opened], list[socket.socket]()
        return any(select.select(none, one, one, seconds) if to_write else select.select(one, none, none, seconds))
    poll = select.poll()
    poll.register(opened, select.POLLOUT if to_write else select.POLLIN)
    return bool(poll.poll(None if seconds is None else int(seconds * 1000 + 0.999)))


async def connect(host: str, port: int, deadline: Deadline, waiter: Waiter, *, public_only: bool = False) -> Socket:
    """A connection to the first address of a name that answers, its addresses tried one beside the other."""
    found = as_number(host, port) or await waiter.addresses(host, port, deadline.allowed())
    if public_only:
        from .address import checked_public

        # What was looked at is what is connected to: the name may mean another address a moment later.
        checked_public(host, found)
    waiting = list(reversed(found))
    begun: list[socket.socket] = []
    problem = OSError("the name has no address")
    try:
        while waiting or begun:
            if waiting:
                family, kind, proto, _, where = waiting.pop()
                try:
                    begun.append(socket.socket(family, kind, proto))
                except OSError as refusal:  # a system without IPv6 tells of its addresses all the same
                    problem = refusal.with_traceback(None)
                    continue
                begun[-1].setblocking(False)
                if (code := begun[-1].connect_ex(where)) not in _UNDER_WAY:
                    problem = OSError(code, os.strerror(code))
                    begun.pop().close()
                    continue
            await _any_of(begun, deadline, waiter, last=not waiting)
            for opened in [one for one in begun if is_ready(one, to_write=True)]:
                begun.remove(opened)
                if not (code := opened.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)):
                    return Socket(opened, waiter)
                problem = OSError(code, os.strerror(code))
                opened.close()
        raise problem
    finally:
        for opened in begun:
            opened.close()


async def _any_of(begun: list[socket.socket], deadline: Deadline, waiter: Waiter, *, last: bool) -> None:
    """Wait for the newest attempt: until it ends where it is the only one, else for a moment, after which all are looked at."""
    seconds = deadline.allowed()
    if not last or len(begun) > 1:
        seconds = _STAGGER if seconds is None else min(_STAGGER, seconds)
        with suppress(TimeoutError):
            await waiter.connected(begun[-1], seconds)
    else:
        await waiter.connected(begun[-1], seconds)


RawHeaders = Iterable[tuple[bytes, bytes]]


class Connection(Protocol):
    """A way to one origin that holds one exchange at a time.

    `prompt` says whether a read ends by the deadline of the moment, also where that moved after the exchange began.
    """

    origin: str
    prompt: bool

    def usable(self) -> bool:
        """Whether an idle connection is still good for another exchange."""
        ...

    async def open(self, request: HTTPRequest, deadline: Deadline) -> tuple[int, RawHeaders]:
        """Send the request and wait for the head of the answer: its status and headers."""
        ...

    async def read(self) -> bytes | None:
        """The next bytes of the body; `None` at its end."""
        ...

    async def finish(self) -> Connection | None:
        """End the exchange; what can be used for another one, if anything."""
        ...

    async def close(self) -> None:
        """Close it, whatever its state; never raises."""
        ...

    def drop(self) -> None:
        """The same from anywhere, as far as it goes without waiting."""
        ...


class Home:
    """Where the connections of one process and event loop live: the idle ones by origin, and how many may be in use."""

    __slots__ = ("idle", "loop", "slots")

    def __init__(self, slots: Any, loop: object = None) -> None:
        self.slots = slots
        """A semaphore of threads or of tasks."""
        self.loop = loop
        self.idle: dict[str, list[Connection]] = {}

    def take(self, origin: str) -> Connection | None:
        """An idle connection, which is idle no more. Another thread may take the last one at the same time."""
        try:
            return self.idle[origin].pop()
        except LookupError:
            return None

    def tidy(self) -> None:
        """Close the idle connections that are of no use any more: too old, or ended by the other side."""
        for connections in [*self.idle.values()]:
            for connection in [one for one in connections if not one.usable()]:
                with suppress(ValueError):  # another thread uses it now, which is why it is not quiet
                    connections.remove(connection)
                    connection.drop()

    def shed(self, origin: str) -> None:
        """Close those there that have waited longest and are of no use any more: the next exchange takes the latest."""
        with suppress(LookupError, ValueError):  # another thread takes one meanwhile
            while len(self.idle[origin]) > 1 and not (oldest := self.idle[origin][0]).usable():
                self.idle[origin].remove(oldest)
                oldest.drop()

    def drop(self) -> None:
        """Close the idle connections."""
        for origin in [*self.idle]:
            while (connection := self.take(origin)) is not None:
                connection.drop()


class Place(ABC):
    """The right to one exchange in a home, with the connection that the exchange has."""

    __slots__ = ("__weakref__", "connection", "home")

    def __init__(self, home: Home) -> None:
        self.home = home
        self.connection: Connection | None = None

    @abstractmethod
    def release(self) -> None:
        """Let another exchange have it."""
