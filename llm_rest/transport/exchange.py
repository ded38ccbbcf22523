"""One exchange over one connection, under deadlines: the code that sync and async callers share.

A connection is used by one exchange at a time, goes back to the idle ones only when its answer was read to the end, and is
closed after anything else, cancellation included. (The pool of the HTTP client loses slots when requests are cancelled and
hands bytes that follow an answer to the next request, so it is not used.) Before changing this file, know that errors are
raised outside the frames of the HTTP client, whose local variables hold the headers.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from ..errors import ClientClosedError
from . import HttpAnswer
from .bodies import MAX_ERROR_BODY, Body
from .connections import origin_of
from .problems import as_ours, timed_out

if TYPE_CHECKING:
    from . import HttpRequest, Timeouts

ERROR_BODY_SECONDS = 10.0
"""How long the body of an error is waited for."""

_FOREVER = float("inf")

RawHeaders = Iterable[tuple[bytes, bytes]]


class Deadline:
    """How long the step at hand may still take, and which limit it is that ends it."""

    __slots__ = ("_connect", "_end", "_first_byte", "_step_end")

    def __init__(self, timeouts: Timeouts) -> None:
        self._connect = timeouts.connect
        self._first_byte = timeouts.first_byte
        self._step_end = _FOREVER
        self._end = _FOREVER if timeouts.total is None else time.monotonic() + timeouts.total

    def connecting(self) -> float | None:
        """Seconds that a step of connecting may take."""
        return _nearer(self.left(), self._connect)

    def sent(self) -> None:
        """The request is out: the wait for the head of the answer begins."""
        if self._first_byte is not None:
            self._step_end = time.monotonic() + self._first_byte

    def answered(self) -> None:
        """The head of the answer is there."""
        self._step_end = _FOREVER

    def hurry(self, seconds: float) -> None:
        """What remains is worth no more than `seconds`."""
        self._end = min(self._end, time.monotonic() + seconds)

    def left(self) -> float | None:
        """Seconds until the nearer limit, not above zero when it has passed; `None` without a limit."""
        until = min(self._end, self._step_end)
        return None if until == _FOREVER else until - time.monotonic()

    @property
    def phase(self) -> str:
        """The nearer limit: `total` or `first_byte`."""
        return "total" if self._end <= self._step_end else "first_byte"

    def check(self) -> None:
        """Raise where the limit has passed."""
        left = self.left()
        if left is not None and left <= 0:
            raise timed_out(self.phase)

    def for_client(self) -> dict[str, float | None]:
        """The limits as the HTTP client takes them: for each single wait."""
        left = self.left()
        wait = _nearer(left, self._first_byte)
        return {"connect": _nearer(left, self._connect), "read": wait, "write": wait, "pool": wait}


def _nearer(left: float | None, limit: float | None) -> float | None:
    if left is None:
        return limit
    # Zero would mean "do not wait" to a socket, which is another kind of failure.
    return max(left if limit is None or left < limit else limit, 0.001)


class Connection(Protocol):
    """A way to one origin that holds one exchange at a time."""

    origin: str

    def usable(self) -> bool:
        """Whether an idle connection is still good for another exchange."""
        ...

    async def open(self, request: HttpRequest, deadline: Deadline) -> tuple[int, RawHeaders]:
        """Send the request and wait for the head of the answer: its status and headers."""
        ...

    async def read(self) -> bytes | None:
        """The next bytes of the body; `None` at its end."""
        ...

    async def finish(self) -> bool:
        """End the exchange; whether the connection can be used again."""
        ...

    async def close(self) -> None:
        """Close it, whatever its state; never raises."""
        ...


class Slots(Protocol):
    """A semaphore of threads or of tasks."""

    def release(self) -> None: ...


class Home:
    """Where the connections of one process and event loop live: the idle ones by origin, and how many may be in use."""

    __slots__ = ("idle", "slots")

    def __init__(self, slots: Slots) -> None:
        self.slots = slots
        self.idle: dict[str, list[Connection]] = {}


class Exchanges:
    """Sends requests over connections, which it keeps. The two transports say how to wait and how to connect."""

    def __init__(self, max_body: int) -> None:
        self._home: Home | None = None
        self._closed = False
        self._max_body = max_body

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> HttpAnswer:
        """The answer, whatever its status. Raises our errors only, and lets cancellation pass."""
        deadline = Deadline(timeouts)
        connection: Connection | None = None
        if self._closed:
            raise ClientClosedError("the client is closed")
        home = await self._enter(deadline)
        try:
            connection = await self._take(home, request.url)
            answer = await _exchange(connection, request, deadline, self._max_body)
            if await connection.finish() and not self._closed:
                home.idle.setdefault(connection.origin, []).append(connection)
            else:
                await connection.close()
            return answer
        except Exception as problem:
            error = as_ours(problem, deadline.phase)
            await _drop(connection)
        except BaseException:
            await _drop(connection)
            raise
        finally:
            home.slots.release()
        raise error.with_traceback(None)

    async def _take(self, home: Home, url: str) -> Connection:
        origin = origin_of(url)
        idle = home.idle.get(origin)
        while idle:
            connection = idle.pop()
            if connection.usable():
                return connection
            await connection.close()
        return self._connect(origin)

    async def close(self) -> None:
        """Close every connection. Later calls raise `ClientClosedError`."""
        self._closed = True
        home, self._home = self._home, None
        for connections in home.idle.values() if home else ():
            while connections:
                await connections.pop().close()

    # What the two kinds do differently.

    async def _enter(self, deadline: Deadline) -> Home:
        """Wait until one more exchange may run here; the caller releases the slot."""
        raise NotImplementedError

    def _connect(self, origin: str) -> Connection:
        """A new connection; it connects when its first exchange begins."""
        raise NotImplementedError


async def _drop(connection: Connection | None) -> None:
    if connection is not None:
        await connection.close()


async def _exchange(connection: Connection, request: HttpRequest, deadline: Deadline, max_body: int) -> HttpAnswer:
    status, raw = await connection.open(request, deadline)
    deadline.answered()
    headers = _named(raw)
    if status >= 400:
        return HttpAnswer(status, headers, await _body_of_error(connection, headers, deadline))
    body = Body(headers, max_body, cut=False)
    while (piece := await connection.read()) is not None:
        deadline.check()
        body.feed(piece)
    return HttpAnswer(status, headers, body.close())


async def _body_of_error(connection: Connection, headers: dict[str, str], deadline: Deadline) -> bytes:
    """As much of the body as came: whatever is wrong with it, the status says more and must not be lost."""
    body: Body | None = None
    with suppress(Exception):
        deadline.hurry(ERROR_BODY_SECONDS)
        body = Body(headers, MAX_ERROR_BODY, cut=True)
        while not body.full and (piece := await connection.read()) is not None:
            deadline.check()
            body.feed(piece)
    return body.close() if body else b""


def _named(raw: RawHeaders) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers
