"""One request and its answer over one connection, under deadlines, and the answer's body: shared by sync and async calls.

A connection returns to the pool only when its answer was read to the end, and is closed after anything else, cancellation
included. (The pool of `httpx` loses slots when requests are cancelled and gives bytes that follow an answer to the next
request, so it is not used.) Bodies are read raw and decoded here, with a limit on their size: an HTTP client's own decoding
inflates without a limit and takes a truncated gzip for a whole one. Before changing this file, know that errors are raised
outside the frames that know the headers.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import suppress
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
from .clients import InProcess, Intercepted, OfClient, intercepting
from .connection import Line
from .deadlines import Deadline, map_error
from .sockets import Connection, Home, Place

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from . import HTTPRequest, Timeouts
    from .sockets import RawHeaders, Waiter

MAX_BODY = 64 * 1024 * 1024
"""The largest answer that is read, decoded."""
MAX_STREAM = 128 * 1024 * 1024
"""The same of an answer that comes as a stream, where every word of it has a frame around it."""
MAX_ERROR_BODY = 64 * 1024
"""How much of an error's body is read; the rest is not waited for."""

ACCEPTED = "gzip"
"""The content coding we ask for."""

_ZLIB = ("gzip", "x-gzip", "deflate")
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
_MEMBER = b"\x1f"
"""How each member of a gzip begins: there may be several, as from servers that compress what they have at the moment."""
_STEP = 1024 * 1024
"""How much is inflated at once."""


_PORTION = 16 * 1024
"""How many bytes of a stream with a content coding are inflated before what they hold is read: to 16 MiB at most."""


class Body:
    """Undoes the coding of a body: `feed` gives what a piece of it holds, `close` says whether it was whole.

    With `cut`, a body above the limit is cut there and `full` says so; without, it raises `ResponseTooLargeError`.
    """

    __slots__ = ("_behind", "_coding", "_cut", "_empty", "_inflate", "_left", "_limit", "full")

    def __init__(self, headers: Mapping[str, str], limit: int, *, cut: bool = False) -> None:
        self._coding = headers.get("content-encoding", "identity").strip().lower()
        self._inflate = None
        self._limit = self._left = limit
        self._cut = cut
        self._empty = True
        self._behind = False  # something follows the end of the coding
        self.full = False
        if self._coding in _ZLIB:
            self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB)
        elif self._coding not in ("identity", ""):
            raise ProtocolError(
                f"the answer has a content coding nobody asked for: {self._coding[:100]}", retryable=False
            )

    @property
    def portion(self) -> int | None:
        """How many bytes of a piece to feed at once, so that little is held before it is read; `None` is all of them."""
        return None if self._inflate is None else _PORTION

    def feed(self, piece: bytes) -> bytes:
        """The next bytes, given them as they came."""
        if self._inflate is not None:
            piece = self._inflated(piece)
        self._left -= len(piece)
        if self._left < 0:
            if not self._cut:
                raise self._too_large()
            piece = piece[: self._left]
            self.full = True
        return piece

    def _inflated(self, piece: bytes) -> bytes:
        assert self._inflate is not None
        self._empty = False
        pieces: list[bytes] = []
        room = self._left
        try:
            # In steps, because what one call gives is in memory twice while it is put together; and no further than one step
            # past the limit, which then is known to be passed.
            while room >= 0 and (len(pieces) == 0 or len(pieces[-1]) == _STEP or piece):
                if self._inflate.eof and piece:
                    if self._coding == "deflate" or not piece.startswith(_MEMBER):
                        # It counts, because it may have no end, and is not kept.
                        self._behind = True
                        room -= len(piece)
                        self._left -= len(piece)
                        break
                    self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB)
                pieces.append(self._inflate.decompress(piece, _STEP))
                piece = self._inflate.unused_data or self._inflate.unconsumed_tail
                room -= len(pieces[-1])
        except zlib.error as problem:
            raise MalformedResponseError(f"the answer says it is {self._coding} and is not: {problem}") from None
        if room < 0 and not self._cut:
            raise self._too_large()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _too_large(self) -> ResponseTooLargeError:
        return ResponseTooLargeError(f"the answer is larger than {self._limit} bytes")

    def close(self) -> None:
        """Return if the coding came to its end. Raises `MalformedResponseError` otherwise."""
        if self._inflate is not None and not self._empty:
            if not self._inflate.eof:
                raise MalformedResponseError(f"the {self._coding} of the answer ends early")
            if self._behind:
                raise MalformedResponseError(f"bytes follow the {self._coding} of the answer")


ERROR_BODY_SECONDS = 10.0
"""How long the body of an error is waited for."""
LINGER = 0.2
"""How long the end of a stream's body is waited for once its last event came: it saves a connection, and may never come."""


class Exchanges(ABC):
    """Sends requests over up to `max_connections` connections of its own, or through the HTTP client given.

    With `public_only` hosts that resolve to private addresses are refused, and no proxy is used. The two transports say
    where connections live and how to wait for one that may be used.
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
        self._waiter = waiter
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

    async def open(self, request: HTTPRequest, timeouts: Timeouts) -> Incoming | HTTPAnswer:
        """The beginning of an answer whose body is read as it comes; one with another status than 200 to 299 comes whole."""
        deadline = Deadline(timeouts, peer_of(request), stream=True)
        return await self._begin(request, deadline, max(self._max_body, MAX_STREAM))

    async def _begin(self, request: HTTPRequest, deadline: Deadline, limit: int) -> Incoming | HTTPAnswer:
        """The head of an answer whose body is still to be read, or an error with as much of its body as came."""
        if self.closed:
            raise ClientClosedError("the client is closed")
        place = await self._enter(deadline)
        answer: HTTPAnswer | None = None
        error: LLMError | None = None
        try:
            connection = place.connection = await self._take(place.home, request.url)
            status, headers = await self._head(connection, request, deadline)
            if status < 300:
                return Incoming(status, headers, Body(headers, limit), self, place, deadline)
            answer = HTTPAnswer(status, headers, await _body_of_error(connection, headers, deadline))
        except Exception as problem:
            error = map_error(problem, deadline)
            if isinstance(error, APITimeoutError):
                error.retryable = True  # whatever limit it was: no answer began, and another call may get one
        except BaseException:
            await self.leave(place, again=False)
            raise
        await self.leave(place, again=answer is not None)
        if answer is not None:
            return answer
        assert error is not None
        headers = {}  # a server may have repeated the key in them, and a traceback shows variables
        raise error.with_traceback(None)

    async def _head(
        self, connection: Connection, request: HTTPRequest, deadline: Deadline
    ) -> tuple[int, dict[str, str]]:
        status, raw = await connection.open(request, deadline)
        deadline.answered()
        return status, _named(raw)

    async def _take(self, home: Home, url: str) -> Connection:
        found = self._idle(home, origin_of(url)) or await self._connection(url)
        return Intercepted(found, self._waiter) if isinstance(found, Line) and intercepting(self._waiter) else found

    def _idle(self, home: Home, origin: str) -> Connection | None:
        """A connection that waits and is still good for another exchange."""
        while (connection := home.take(origin)) is not None:
            if connection.usable():
                return connection
            connection.drop()
        home.tidy()
        return None

    async def _connection(self, url: str) -> Connection:
        """A new connection; it connects when its first exchange begins."""
        if url.startswith(IN_PROCESS):
            return InProcess(origin_of(url), self._waiter)
        if self._http is not None:
            return OfClient(origin_of(url), self._waiter, self._http)
        address = address_of(url)
        proxy = None if self._public_only else proxy_for(address)
        tls = self._tls
        if tls is None and (address.secure or (proxy is not None and proxy.secure)):
            from .tls import usual_context

            tls = usual_context() if self._has_usual else await self._waiter.aside(usual_context)
            self._has_usual = True
        return Line(address, self._waiter, tls=tls, proxy=proxy, public_only=self._public_only)

    async def leave(self, place: Place, *, again: bool) -> None:
        """End an exchange. The connection waits for another one if it may be used `again`, and is closed otherwise."""
        home, connection = place.home, place.connection
        try:
            if connection is not None and again and (idle := await connection.finish()) is not None:
                connection = None  # from here on it may be another thread's
                home.idle.setdefault(idle.origin, []).append(idle)
                home.shed(idle.origin)
                if self.closed:  # meanwhile
                    home.drop()
        finally:
            try:
                if connection is not None:
                    await connection.close()
            finally:
                place.release()

    def within(self, seconds: float | None) -> AbstractContextManager[object]:
        """Ends what happens inside with `TimeoutError` after so many seconds; a thread is not interrupted."""
        return self._waiter.within(seconds)

    def tidy(self) -> None:
        """Close the idle connections that are of no use any more."""
        for home in self._homes():
            home.tidy()

    async def close(self) -> None:
        """Close every connection that waits. Later calls raise `ClientClosedError`."""
        self.closed = True
        for home in self._homes():
            home.drop()

    # What the two kinds do differently.

    @abstractmethod
    def _homes(self) -> Iterable[Home]:
        """Where connections are kept."""

    @abstractmethod
    async def _enter(self, deadline: Deadline) -> Place:
        """Wait until one more exchange may run here; whoever ends it releases the place."""

    @abstractmethod
    def forgotten(self, place: Place) -> None:
        """End an exchange from outside any coroutine: whoever had its answer forgot it."""


class Incoming:
    """A good answer whose head is there and whose body comes. End it: read it to `None`, or `finish` or `close` it.

    One that is forgotten is closed when it is collected.
    """

    __slots__ = ("_body", "_deadline", "_exchanges", "_packed", "_place", "headers", "status")

    def __init__(
        self,
        status: int,
        headers: dict[str, str],
        body: Body,
        exchanges: Exchanges,
        place: Place,
        deadline: Deadline,
    ) -> None:
        self.status = status
        self.headers = headers
        self._body = body
        self._packed = b""  # came with the last piece and is not inflated yet
        self._exchanges = exchanges
        self._place: Place | None = place
        self._deadline = deadline

    async def read(self) -> bytes | None:
        """The next bytes of the body, their content coding undone; `None` at its end. Ends the exchange when it raises."""
        connection, deadline = self._connection, self._deadline
        if connection is None:
            return None
        try:
            piece: bytes | None = self._packed
            if not piece:
                deadline.wait()
                piece = await connection.read()
                if piece is not None:
                    deadline.came()
            if piece is not None:
                portion = self._body.portion
                self._packed = piece[portion:] if portion else b""
                return self._body.feed(piece[:portion])
            self._body.close()
            await self._leave(again=True)
            return None
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

    def progressed(self) -> None:
        """Say that what was read held something of the answer, and not only a keep-alive."""
        self._deadline.progressed()

    def linger(self, seconds: float | None) -> None:
        """Say that all that matters was read: what may follow is waited for no longer than this; `None` takes it back."""
        self._deadline.linger(seconds)

    @property
    def peer(self) -> str:
        """Who answers, as errors name it."""
        return self._deadline.peer

    async def finish(self) -> None:
        """End the exchange after all that matters was read: what little may follow is awaited for the connection's sake."""
        if self._connection is not None and self._connection.prompt:
            self._deadline.hurry(LINGER)
            with suppress(LLMError):
                while await self.read() is not None:
                    pass
        await self.close()

    async def close(self) -> None:
        """End the exchange, and its connection with it unless the body was read to its end."""
        await self._leave(again=False)

    @property
    def _connection(self) -> Connection | None:
        return None if self._place is None else self._place.connection

    async def _leave(self, *, again: bool) -> None:
        place, self._place = self._place, None
        if place is not None:
            await self._exchanges.leave(place, again=again)

    def __del__(self) -> None:
        place = getattr(self, "_place", None)  # it may have been interrupted before it had one
        if place is not None:
            self._exchanges.forgotten(place)


async def _body_of_error(connection: Connection, headers: dict[str, str], deadline: Deadline) -> bytes:
    """As much of the body as came: whatever is wrong with it, the status says more and must not be lost."""
    pieces: list[bytes] = []
    with suppress(Exception):
        deadline.hurry(ERROR_BODY_SECONDS)
        body = Body(headers, MAX_ERROR_BODY, cut=True)
        while not body.full and (piece := await connection.read()) is not None:
            deadline.came()
            pieces.append(body.feed(piece))
    return b"".join(pieces)


def _named(raw: RawHeaders) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    if "retry-after" in headers and "date" not in headers:
        from email.utils import formatdate  # not needed before something fails

        # What comes without a date is dated when it is received (RFC 9110, 6.6.1). A wait until a date counts from it.
        headers["date"] = formatdate(usegmt=True)
    return headers
