"""One request and its answer over one connection, with timeouts: the common part of the sync and async transports.

A connection returns to the pool only when its answer was read to the end, and is closed in all other cases, cancellation
included. (The pool of `httpx` loses slots when requests are cancelled and gives bytes that follow an answer to the next
request, so it is not used.) Bodies are decompressed here, with a limit on their size: an HTTP client's own decoding has no
limit and accepts a truncated gzip. Before changing this file, know that errors are raised outside the frames that have the
headers, and that threads share the pool: a connection belongs to the thread that took it.
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
from .clients import ClientConnection, InProcessConnection, InterceptedConnection, intercepting
from .connection import Connection, HTTPConnection
from .deadlines import Deadline, map_error

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

    from . import Call, HTTPRequest, Timeouts
    from .sockets import RawHeaders, Waiter

MAX_BODY = 64 * 1024 * 1024
"""The maximum size of a decompressed answer, in bytes."""
MAX_STREAM = 128 * 1024 * 1024
"""The maximum size of a decompressed stream, which is larger because of its frames."""
MAX_ERROR_BODY = 64 * 1024
"""The maximum number of bytes read of an error's body."""
ERROR_BODY_SECONDS = 10.0
"""The timeout for the body of an error, in seconds."""
LINGER = 0.2
"""Seconds to wait for the end of a stream's body after its last event, so that the connection can be reused."""

_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
_MEMBER = b"\x1f"
"""The first byte of each gzip member: there may be several, as from servers that compress each piece separately."""
_STEP = 1024 * 1024
"""The maximum number of bytes decompressed at once."""


class Body:
    """Decompresses a body (content coding): `feed` decompresses a piece of it, `close` checks that it was complete.

    Raises `ResponseTooLargeError` for a body above the limit.
    """

    __slots__ = ("_behind", "_coding", "_held", "_inflate", "_left", "_limit", "more")

    def __init__(self, headers: Mapping[str, str], limit: int) -> None:
        self._coding = headers.get("content-encoding", "identity").strip().lower() or "identity"
        self._inflate: Any = None  # set at the first byte
        self._limit = self._left = limit
        self._held = b""  # received and not decompressed yet
        self._behind = False  # whether bytes follow the end of the compressed data
        self.more = False
        if self._coding not in ("identity", "gzip", "x-gzip", "deflate"):
            what = f"the answer has a content coding that was not requested: {self._coding[:100]}"
            raise ProtocolError(what, retryable=False)

    def feed(self, piece: bytes = b"") -> bytes:
        """Decompress a piece, at most 1 MiB at once. Call it again while there is `more`."""
        if self._coding != "identity":
            piece = self._inflated(self._held + piece)
        self._left -= len(piece)
        if self._left < 0:
            raise ResponseTooLargeError(f"the answer is larger than {self._limit} bytes")
        return piece

    def _inflated(self, packed: bytes) -> bytes:
        pieces: list[bytes] = []
        room = _STEP
        try:
            while room and (packed or self.more):
                self.more = False
                if self._inflate is None or (self._inflate.eof and packed):
                    if self._inflate and (self._coding == "deflate" or not packed.startswith(_MEMBER)):
                        # It counts against the limit, because it may be endless.
                        self._behind = True
                        self._left -= len(packed)
                        packed = b""
                        break
                    self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB)
                pieces.append(self._inflate.decompress(packed, room))
                packed = self._inflate.unused_data or self._inflate.unconsumed_tail
                room -= len(pieces[-1])
        except zlib.error as problem:
            raise MalformedResponseError(f"the body is not valid {self._coding}: {problem}") from None
        self._held, self.more = packed, not room
        return b"".join(pieces)

    def close(self) -> None:
        """Return if the compressed data were complete. Raises `MalformedResponseError` otherwise."""
        if self._inflate is not None:
            if not self._inflate.eof:
                raise MalformedResponseError(f"the {self._coding} of the answer ends early")
            if self._behind:
                raise MalformedResponseError(f"bytes follow the {self._coding} of the answer")


INTERCEPTORS: list[Callable[[str, Waiter, Callable[[], Awaitable[Connection]]], Connection]] = []
"""Functions that make the connections of this process instead, given the origin and how to make the real one: for recording
in tests."""


class Pool:
    """The connections of one process and event loop: the idle ones by origin, and how many may be in use."""

    __slots__ = ("idle", "loop", "slots")

    def __init__(self, slots: Any, loop: object = None) -> None:
        self.slots = slots
        """A semaphore of threads or tasks: the connections in use."""
        self.loop = loop
        self.idle: dict[str, list[HTTPConnection]] = {}

    def take(self, origin: str) -> HTTPConnection | None:
        """Remove and return the newest idle connection, which connects again if it has ended."""
        with suppress(LookupError):  # another thread may take the last one at the same time
            return self.idle[origin].pop()
        self.tidy()
        return None

    def put(self, connection: HTTPConnection) -> None:
        """Add an idle connection, and close the oldest ones of its origin that cannot be used; the newest is used first."""
        connections = self.idle.setdefault(connection.origin, [])
        connections.append(connection)
        with suppress(LookupError, ValueError):  # another thread took one meanwhile
            while len(connections) > 1 and not (oldest := connections[0]).usable():
                connections.remove(oldest)
                oldest.drop()

    def tidy(self) -> None:
        """Close the idle connections that can no longer be used: too old, or closed by the peer."""
        for connections in [*self.idle.values()]:
            for connection in [one for one in connections if not one.usable()]:
                with suppress(ValueError):  # another thread uses it now, so it is not quiet
                    connections.remove(connection)
                    connection.drop()

    def drop(self) -> None:
        """Close the idle connections."""
        for connections in [*self.idle.values()]:
            with suppress(IndexError):
                while True:
                    connections.pop().drop()


class Slot:
    """The right to one exchange in a pool, and the connection of that exchange."""

    __slots__ = ("__weakref__", "connection", "pool")

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.connection: Connection | None = None

    def release(self) -> None:
        """Release the slot for another exchange."""
        self.pool.slots.release()


class Transport(ABC):
    """An HTTP transport over up to `max_connections` connections of its own, or through the given HTTP client.

    With `public_only` hosts that resolve to private addresses are rejected, and no proxy is used. The sync transport
    never suspends.
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
                raise ConfigError("tls= is for built-in connections; the client in http= has its own TLS")
            tls = context_of(tls)
        self.waiter = waiter
        self._max = max_connections
        self._http = http
        self._tls: ssl.SSLContext | None = tls
        self._has_default_tls = False  # whether the default TLS configuration exists, which is slow to create
        self._public_only = public_only
        self._max_body = max_body
        self.closed = False

    async def send(self, request: HTTPRequest, timeouts: Timeouts) -> HTTPAnswer:
        """The answer, whatever its status. Raises only errors of this library, and passes cancellation on."""
        answer = await self._begin(request, Deadline(timeouts, peer_of(request)), self._max_body)
        return answer if isinstance(answer, HTTPAnswer) else await answer.whole()

    async def open(
        self, request: HTTPRequest, timeouts: Timeouts, max_body: int | None = None
    ) -> Incoming | HTTPAnswer:
        """An answer with an unread body; an answer with another status than 200 to 299 is read whole."""
        deadline = Deadline(timeouts, peer_of(request), stream=True)
        return await self._begin(request, deadline, max(self._max_body, MAX_STREAM if max_body is None else max_body))

    async def _begin(self, request: HTTPRequest, deadline: Deadline, limit: int) -> Incoming | HTTPAnswer:
        """An answer with an unread body, or an error answer with the received part of its body."""
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
                error.retryable = True  # for any timeout: no answer began, and a retry may get one
        except BaseException:
            await self.release(slot, reuse=False)
            raise
        await self.release(slot, reuse=answer is not None)
        if answer is not None:
            return answer
        assert error is not None
        raw, headers = [], {}  # they may contain the key, and a traceback shows variables
        raise error.with_traceback(None)

    async def _connection(self, pool: Pool, url: str) -> Connection:
        """An idle connection from the pool, or a new one, which connects when its first exchange begins."""
        own = partial(self._own_connection, pool, url)
        return INTERCEPTORS[-1](origin_of(url), self.waiter, own) if INTERCEPTORS else await own()

    async def _own_connection(self, pool: Pool, url: str) -> Connection:
        origin = origin_of(url)
        if url.startswith(IN_PROCESS):
            return InProcessConnection(origin, self.waiter)
        if self._http is not None:
            return ClientConnection(origin, self.waiter, self._http)
        connection = pool.take(origin) or await self._new_connection(url)
        return InterceptedConnection(connection, self.waiter) if intercepting(self.waiter) else connection

    async def _new_connection(self, url: str) -> HTTPConnection:
        address = address_of(url)
        proxy = None if self._public_only else proxy_for(address)
        tls = self._tls
        if tls is None and (address.secure or (proxy is not None and proxy.secure)):
            from .tls import default_context

            tls = default_context() if self._has_default_tls else await self.waiter.in_thread(default_context)
            self._has_default_tls = True
        return HTTPConnection(address, self.waiter, tls=tls, proxy=proxy, public_only=self._public_only)

    async def release(self, slot: Slot, *, reuse: bool) -> None:
        """End an exchange. The connection becomes idle if it may be reused (`reuse`), and is closed otherwise."""
        pool, connection = slot.pool, slot.connection
        try:
            if connection is not None and reuse and (idle := await connection.finish()) is not None:
                connection = None  # now another thread may use it
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
        """Wait for so many seconds."""
        await self.waiter.sleep(seconds)

    def tidy(self) -> None:
        """Close the idle connections that can no longer be used."""
        for pool in self._pools():
            pool.tidy()

    async def close(self) -> None:
        """Close every idle connection. Later calls raise `ClientClosedError`."""
        self.closed = True
        for pool in self._pools():
            pool.drop()

    @abstractmethod
    def call(self) -> Call:
        """A new cancellable call."""

    @abstractmethod
    def _pools(self) -> Iterable[Pool]:
        """The pools of connections."""

    @abstractmethod
    async def _acquire(self, deadline: Deadline) -> Slot:
        """Wait until one more exchange may run here."""

    @abstractmethod
    def abandoned(self, slot: Slot) -> None:
        """End an exchange outside of any coroutine: its answer was garbage-collected."""


class Incoming:
    """An answer with an unread body. It must be ended: read to `None`, or `finish` or `close`.

    An abandoned one is closed when it is garbage collected.
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
        """The next bytes of the body, decompressed; `None` at its end. An exception ends the exchange."""
        connection, deadline = self._connection, self.deadline
        if connection is None:
            return None
        try:
            piece = await _next(connection, self._body, deadline)
            if piece is None:
                self._body.close()
                await self._release(reuse=True)
            return piece
        except Exception as problem:
            error = map_error(problem, deadline)
            await self.close()
        except BaseException:
            await self.close()
            raise
        raise error.with_traceback(None)

    async def whole(self) -> HTTPAnswer:
        """Read the complete answer."""
        pieces: list[bytes] = []
        try:
            while (piece := await self.read()) is not None:
                pieces.append(piece)
        except BaseException:
            pieces.clear()  # the error's traceback keeps this frame
            raise
        return HTTPAnswer(self.status, self.headers, b"".join(pieces))

    async def finish(self) -> None:
        """End the exchange after the content: the end of the body is awaited for a moment, to use the connection again."""
        if self._connection is not None and self._connection.ends_in_time:
            self.deadline.limit_rest(LINGER)
            with suppress(LLMError):
                while await self.read() is not None:
                    pass
        await self.close()

    async def close(self) -> None:
        """End the exchange; its connection is closed unless the body was read to its end."""
        await self._release(reuse=False)

    @property
    def _connection(self) -> Connection | None:
        return None if self._slot is None else self._slot.connection

    async def _release(self, *, reuse: bool) -> None:
        slot, self._slot = self._slot, None
        if slot is not None:
            await self._transport.release(slot, reuse=reuse)

    def __del__(self) -> None:
        slot = getattr(self, "_slot", None)  # interrupted before it had a connection
        if slot is not None:
            self._transport.abandoned(slot)


async def _next(connection: Connection, body: Body, deadline: Deadline) -> bytes | None:
    """The next bytes of a body, decompressed; `None` at its end."""
    if body.more:
        return body.feed()
    deadline.begin_wait()
    piece = await connection.read()
    if piece is None:
        return None
    deadline.received()
    return body.feed(piece)


async def _body_of_error(connection: Connection, headers: dict[str, str], deadline: Deadline) -> bytes:
    """The readable part of an error's body; an exception in it must not hide the status."""
    found = bytearray()
    with suppress(Exception):
        deadline.limit_rest(ERROR_BODY_SECONDS)
        body = Body(headers, MAX_BODY)
        while len(found) < MAX_ERROR_BODY and (piece := await _next(connection, body, deadline)) is not None:
            found += piece
    return bytes(found[:MAX_ERROR_BODY])


def _decoded(raw: RawHeaders) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    if "retry-after" in headers and "date" not in headers:
        from email.utils import formatdate  # not needed before an error

        # An answer without a date gets the time of its arrival (RFC 9110, 6.6.1): a wait until a date counts from it.
        headers["date"] = formatdate(usegmt=True)
    return headers
