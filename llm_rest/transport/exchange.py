"""One request and its answer over one connection, under deadlines: what the transports for threads and for tasks share.

A connection returns to the pool only when its answer was read to the end, and is closed after anything else, cancellation
included. (The pool of `httpx` loses slots when requests are cancelled and gives bytes that follow an answer to the next
request, so it is not used.) Bodies are read raw and decoded here, with a limit on their size: an HTTP client's own decoding
inflates without a limit and takes a truncated gzip for a whole one. Before changing this file, know that errors are raised
outside the frames that know the headers, and that threads share the pool: a connection belongs to the one that took it.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import (
    APITimeoutError,
    ClientClosedError,
    ConfigError,
    LLMError,
    MalformedResponseError,
    ProtocolError,
    ResponseTooLargeError,
)
from . import HTTPAnswer
from .address import IN_PROCESS, address_of, origin_of, peer_of, proxy_for
from .clients import ClientExchange, InProcess, Intercepted, intercepting
from .connection import Connection, HTTPConnection
from .deadlines import Deadline, map_error

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

    from . import Call, HTTPRequest, Timeouts
    from .sockets import RawHeaders, Waiter

MAX_BODY = 64 * 1024 * 1024
"""The largest answer that is read, decoded."""
MAX_STREAM = 128 * 1024 * 1024
"""The same of an answer that comes as a stream, where every word of it has a frame around it."""
MAX_ERROR_BODY = 64 * 1024
"""How much of an error's body is read; the rest is not waited for."""
ERROR_BODY_SECONDS = 10.0
"""How long the body of an error is waited for."""
LINGER = 0.2
"""How long the end of a stream's body is waited for once its last event came: it saves a connection, and may never come."""

_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
_MEMBER = b"\x1f"
"""How each member of a gzip begins: there may be several, as from servers that compress what they have at the moment."""
_STEP = 1024 * 1024
"""How much is inflated at once."""


class Body:
    """Undoes the content coding of a body: `feed` decodes a piece of it, `close` checks that it was whole.

    With `cut`, a body above the limit is cut there and `full` is set; without, it raises `ResponseTooLargeError`.
    """

    __slots__ = ("_behind", "_coding", "_cut", "_held", "_inflate", "_left", "_limit", "full", "more")

    def __init__(self, headers: Mapping[str, str], limit: int, *, cut: bool = False) -> None:
        self._coding = headers.get("content-encoding", "identity").strip().lower() or "identity"
        self._inflate: Any = None  # from the first byte on
        self._limit = self._left = limit
        self._cut = cut
        self._held = b""  # came and is not inflated yet
        self._behind = False  # something follows the end of the coding
        self.full = self.more = False
        if self._coding not in ("identity", "gzip", "x-gzip", "deflate"):
            what = f"the answer has a content coding nobody asked for: {self._coding[:100]}"
            raise ProtocolError(what, retryable=False)

    def feed(self, piece: bytes = b"") -> bytes:
        """The next bytes, given those that came: 1 MiB at most of a coding. Call it again while there is `more`."""
        if self._coding != "identity":
            piece = self._inflated(self._held + piece)
        self._left -= len(piece)
        if self._left < 0:
            if not self._cut:
                raise ResponseTooLargeError(f"the answer is larger than {self._limit} bytes")
            piece = piece[: self._left]
            self.full = True
        return piece

    def _inflated(self, packed: bytes) -> bytes:
        pieces: list[bytes] = []
        room = _STEP
        try:
            while room and (packed or self.more):
                self.more = False
                if self._inflate is None or (self._inflate.eof and packed):
                    if self._inflate and (self._coding == "deflate" or not packed.startswith(_MEMBER)):
                        # It counts, because it may have no end, and is not kept.
                        self._behind = True
                        self._left -= len(packed)
                        packed = b""
                        break
                    self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB)
                pieces.append(self._inflate.decompress(packed, room))
                packed = self._inflate.unused_data or self._inflate.unconsumed_tail
                room -= len(pieces[-1])
        except zlib.error as problem:
            raise MalformedResponseError(f"the answer says it is {self._coding} and is not: {problem}") from None
        self._held, self.more = packed, not room
        return b"".join(pieces)

    def close(self) -> None:
        """Return if the coding came to its end. Raises `MalformedResponseError` otherwise."""
        if self._inflate is not None:
            if not self._inflate.eof:
                raise MalformedResponseError(f"the {self._coding} of the answer ends early")
            if self._behind:
                raise MalformedResponseError(f"bytes follow the {self._coding} of the answer")


INTERCEPTORS: list[Callable[[str, Waiter, Callable[[], Awaitable[Connection]]], Connection]] = []
"""What makes the connections of this process instead, given the origin and how to make the real one: recording in tests."""


class Pool:
    """The connections of one process and event loop: the idle ones by origin, and how many may be in use."""

    __slots__ = ("idle", "loop", "slots")

    def __init__(self, slots: Any, loop: object = None) -> None:
        self.slots = slots
        """A semaphore of threads or of tasks."""
        self.loop = loop
        self.idle: dict[str, list[HTTPConnection]] = {}

    def take(self, origin: str) -> HTTPConnection | None:
        """An idle connection that can be used again, which is idle no more."""
        # Another thread may take the last one at the same time.
        with suppress(LookupError):
            while True:
                connection = self.idle[origin].pop()
                if connection.usable():
                    return connection
                connection.drop()
        self.tidy()
        return None

    def put(self, connection: HTTPConnection) -> None:
        """Keep a connection, and close those of its origin that were idle longest and cannot be used: the latest is next."""
        connections = self.idle.setdefault(connection.origin, [])
        connections.append(connection)
        with suppress(LookupError, ValueError):  # another thread takes one meanwhile
            while len(connections) > 1 and not (oldest := connections[0]).usable():
                connections.remove(oldest)
                oldest.drop()

    def tidy(self) -> None:
        """Close the idle connections that cannot be used any more: too old, or ended by the other side."""
        for connections in [*self.idle.values()]:
            for connection in [one for one in connections if not one.usable()]:
                with suppress(ValueError):  # another thread uses it now, which is why it is not quiet
                    connections.remove(connection)
                    connection.drop()

    def drop(self) -> None:
        """Close the idle connections."""
        for connections in [*self.idle.values()]:
            with suppress(IndexError):
                while True:
                    connections.pop().drop()


class Slot:
    """The right to one exchange in a pool, with the connection that the exchange has."""

    __slots__ = ("__weakref__", "connection", "pool")

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.connection: Connection | None = None

    def release(self) -> None:
        """Let another exchange have it."""
        self.pool.slots.release()


class Transport(ABC):
    """Sends requests over up to `max_connections` connections of its own, or through the HTTP client given.

    With `public_only` hosts that resolve to private addresses are refused, and no proxy is used. The transport of threads never
    suspends.
    """

    def __init__(
        self,
        waiter: Waiter,
        *,
        max_connections: int = 100,
        http: Any = None,
        tls: Any = None,
        public_only: bool = False,
        max_body: int = MAX_BODY,
    ) -> None:
        if tls is not None:
            from .tls import context_of

            if http is not None:
                raise ConfigError("tls= is for connections of our own; the client given as http= has its own TLS")
            tls = context_of(tls)
        self.waiter = waiter
        self._max = max_connections
        self._http = http
        self._tls: ssl.SSLContext | None = tls
        self._has_usual = False  # whether the usual one was asked for before, which takes its time
        self._public_only = public_only
        self._max_body = max_body
        self.closed = False

    async def send(self, request: HTTPRequest, timeouts: Timeouts) -> HTTPAnswer:
        """The answer, whatever its status. Raises our errors only, and lets cancellation pass."""
        answer = await self._begin(request, Deadline(timeouts, peer_of(request)), self._max_body)
        return answer if isinstance(answer, HTTPAnswer) else await answer.whole()

    async def open(self, request: HTTPRequest, timeouts: Timeouts, most: int = MAX_STREAM) -> Incoming | HTTPAnswer:
        """The beginning of an answer whose body is read as it comes; one with another status than 200 to 299 comes whole."""
        deadline = Deadline(timeouts, peer_of(request), stream=True)
        return await self._begin(request, deadline, max(self._max_body, most))

    async def _begin(self, request: HTTPRequest, deadline: Deadline, limit: int) -> Incoming | HTTPAnswer:
        """The head of an answer whose body is still to be read, or an error with as much of its body as came."""
        if self.closed:
            raise ClientClosedError("the client is closed")
        slot = await self._acquire(deadline)
        answer: HTTPAnswer | None = None
        error: LLMError | None = None
        try:
            connection = slot.connection = await self._connection(slot.pool, request.url)
            status, raw = await connection.open(request, deadline)
            deadline.answered()
            headers = _decoded(raw)
            if status < 300:
                return Incoming(status, headers, Body(headers, limit), self, slot, deadline)
            answer = HTTPAnswer(status, headers, await _body_of_error(connection, headers, deadline))
        except Exception as problem:
            error = map_error(problem, deadline)
            if isinstance(error, APITimeoutError):
                error.retryable = True  # whatever limit it was: no answer began, and another call may get one
        except BaseException:
            await self.release(slot, again=False)
            raise
        await self.release(slot, again=answer is not None)
        if answer is not None:
            return answer
        assert error is not None
        raw, headers = [], {}  # a server may have repeated the key in them, and a traceback shows variables
        raise error.with_traceback(None)

    async def _connection(self, pool: Pool, url: str) -> Connection:
        """An idle connection, or a new one, which connects when its first exchange begins."""
        own = partial(self._own_connection, pool, url)
        return INTERCEPTORS[-1](origin_of(url), self.waiter, own) if INTERCEPTORS else await own()

    async def _own_connection(self, pool: Pool, url: str) -> Connection:
        origin = origin_of(url)
        if url.startswith(IN_PROCESS):
            return InProcess(origin, self.waiter)
        if self._http is not None:
            return ClientExchange(origin, self.waiter, self._http)
        connection = pool.take(origin) or await self._new_connection(url)
        return Intercepted(connection, self.waiter) if intercepting(self.waiter) else connection

    async def _new_connection(self, url: str) -> HTTPConnection:
        address = address_of(url)
        proxy = None if self._public_only else proxy_for(address)
        tls = self._tls
        if tls is None and (address.secure or (proxy is not None and proxy.secure)):
            from .tls import usual_context

            tls = usual_context() if self._has_usual else await self.waiter.in_thread(usual_context)
            self._has_usual = True
        return HTTPConnection(address, self.waiter, tls=tls, proxy=proxy, public_only=self._public_only)

    async def release(self, slot: Slot, *, again: bool) -> None:
        """End an exchange. The connection waits for another one if it may be used `again`, and is closed otherwise."""
        pool, connection = slot.pool, slot.connection
        try:
            if connection is not None and again and (idle := await connection.finish()) is not None:
                connection = None  # from here on it may be another thread's
                pool.put(idle)
                if self.closed:  # meanwhile
                    pool.drop()
        finally:
            try:
                if connection is not None:
                    await connection.close()
            finally:
                slot.release()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self.waiter.sleep(seconds)

    def tidy(self) -> None:
        """Close the idle connections that cannot be used any more."""
        for pool in self._pools():
            pool.tidy()

    async def close(self) -> None:
        """Close every connection that waits. Later calls raise `ClientClosedError`."""
        self.closed = True
        for pool in self._pools():
            pool.drop()

    @abstractmethod
    def call(self) -> Call:
        """A call that may be ended from outside."""

    @abstractmethod
    def _pools(self) -> Iterable[Pool]:
        """Where connections are kept."""

    @abstractmethod
    async def _acquire(self, deadline: Deadline) -> Slot:
        """Wait until one more exchange may run here."""

    @abstractmethod
    def abandoned(self, slot: Slot) -> None:
        """End an exchange from outside any coroutine: its answer was collected as garbage."""


class Incoming:
    """A good answer whose head is there and whose body comes. End it: read it to `None`, or `finish` or `close` it.

    One that is abandoned is closed when it is collected.
    """

    __slots__ = ("_body", "_slot", "_transport", "deadline", "headers", "status")

    def __init__(
        self,
        status: int,
        headers: dict[str, str],
        body: Body,
        transport: Transport,
        slot: Slot,
        deadline: Deadline,
    ) -> None:
        self.status = status
        self.headers = headers
        self._body = body
        self._transport = transport
        self._slot: Slot | None = slot
        self.deadline = deadline

    async def read(self) -> bytes | None:
        """The next bytes of the body, their content coding undone; `None` at its end. Ends the exchange when it raises."""
        connection, deadline = self._connection, self.deadline
        if connection is None:
            return None
        try:
            piece = await _next(connection, self._body, deadline)
            if piece is None:
                self._body.close()
                await self._release(again=True)
            return piece
        except Exception as problem:
            error = map_error(problem, deadline)
            await self.close()
        except BaseException:
            await self.close()
            raise
        raise error.with_traceback(None)

    async def whole(self) -> HTTPAnswer:
        """The answer once all of it came."""
        pieces: list[bytes] = []
        try:
            while (piece := await self.read()) is not None:
                pieces.append(piece)
        except BaseException:
            pieces.clear()  # the error's traceback keeps this frame, perhaps for long
            raise
        return HTTPAnswer(self.status, self.headers, b"".join(pieces))

    async def finish(self) -> None:
        """End the exchange after all that matters was read: what little may follow is awaited for the connection's sake."""
        if self._connection is not None and self._connection.ends_in_time:
            self.deadline.hurry(LINGER)
            with suppress(LLMError):
                while await self.read() is not None:
                    pass
        await self.close()

    async def close(self) -> None:
        """End the exchange, and its connection with it unless the body was read to its end."""
        await self._release(again=False)

    @property
    def _connection(self) -> Connection | None:
        return None if self._slot is None else self._slot.connection

    async def _release(self, *, again: bool) -> None:
        slot, self._slot = self._slot, None
        if slot is not None:
            await self._transport.release(slot, again=again)

    def __del__(self) -> None:
        slot = getattr(self, "_slot", None)  # it may have been interrupted before it had one
        if slot is not None:
            self._transport.abandoned(slot)


async def _next(connection: Connection, body: Body, deadline: Deadline) -> bytes | None:
    """The next bytes of a body, decoded; `None` at its end."""
    if body.more:
        return body.feed()
    deadline.wait()
    piece = await connection.read()
    if piece is None:
        return None
    deadline.came()
    return body.feed(piece)


async def _body_of_error(connection: Connection, headers: dict[str, str], deadline: Deadline) -> bytes:
    """As much of the body as came: whatever is wrong with it, the status says more and must not be lost."""
    pieces: list[bytes] = []
    with suppress(Exception):
        deadline.hurry(ERROR_BODY_SECONDS)
        body = Body(headers, MAX_ERROR_BODY, cut=True)
        while not body.full and (piece := await _next(connection, body, deadline)) is not None:
            pieces.append(piece)
    return b"".join(pieces)


def _decoded(raw: RawHeaders) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    if "retry-after" in headers and "date" not in headers:
        from email.utils import formatdate  # not needed before something fails

        # What comes without a date is dated when it is received (RFC 9110, 6.6.1). A wait until a date counts from it.
        headers["date"] = formatdate(usegmt=True)
    return headers
