"""The transport of sync callers: blocking sockets under `httpx.HTTPTransport`, usable from many threads."""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, cast

import httpcore
import httpx

from . import drive
from .addresses import public_address
from .bodies import MAX_BODY
from .connections import (
    IN_PROCESS,
    KEEP_ALIVE,
    InProcess,
    OwnRequest,
    context_for,
    for_client,
    httpcore_origin,
    proxy_for,
)
from .exchange import Connection, Exchanges, Home, RawHeaders
from .http11 import READ_AT_ONCE, Http11
from .problems import timed_out

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable, Iterator

    from . import HttpRequest
    from .deadlines import Deadline


class SyncTransport(Exchanges):
    """Sends requests over up to `max_connections` connections of its own, or through the `httpx.Client` given.

    With `public_only` hosts that resolve to private addresses are refused, and no proxy is used.
    """

    def __init__(
        self, *, max_connections: int = 100, http: Any = None, public_only: bool = False, max_body: int = MAX_BODY
    ) -> None:
        super().__init__(max_body)
        self._max = max_connections
        self._http = http
        self._public_only = public_only
        self._process = 0

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)  # noqa: ASYNC251 - nothing else runs while a sync caller waits

    async def _enter(self, deadline: Deadline) -> Home:
        home = self._home
        if home is None or self._process != os.getpid():
            # After a fork the parent goes on using its sockets, and a lock may be held by a thread that is gone.
            self._process = os.getpid()
            home = self._home = Home(_Slots(self._max))
        cast("_Slots", home.slots).acquire(deadline)
        return home

    def _connect(self, origin: str) -> Connection:
        if origin.startswith(IN_PROCESS):
            return InProcess(origin)
        if self._http is not None:
            return _OfClient(origin, self._http)
        return _Own(origin, public_only=self._public_only)

    def forgotten(self, home: Home, connection: Connection) -> None:
        """End an exchange that nobody reads any more."""
        with suppress(Exception):
            drive(self.leave(home, connection, again=False))


class _Slots:
    """A semaphore with a deadline. A queue of permits is many times faster than `threading.Semaphore`."""

    def __init__(self, count: int) -> None:
        self._free: SimpleQueue[None] = SimpleQueue()
        for _ in range(count):
            self._free.put(None)

    def acquire(self, deadline: Deadline) -> None:
        try:
            self._free.get_nowait()
        except Empty:
            try:
                left = deadline.left()
                self._free.get(timeout=None if left is None else max(left, 0))
            except Empty:
                raise timed_out("pool") from None

    def release(self) -> None:
        self._free.put(None)


class _Reading:
    """An answer being read, whoever sent the request."""

    prompt = False

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self._response: httpx.Response | None = None
        self._pieces: Iterator[bytes] = iter(())

    def _begin(self, response: httpx.Response) -> tuple[int, RawHeaders]:
        self._response = response
        self._pieces = iter(cast("httpx.SyncByteStream", response.stream))
        return response.status_code, response.headers.raw

    async def read(self) -> bytes | None:
        return next(self._pieces, None)

    def _end(self) -> None:
        if self._response is not None:
            self._response.close()
            self._response = None
            self._pieces = iter(())


class _Own(_Reading):
    """One connection that is ours alone."""

    def __init__(self, origin: str, *, public_only: bool) -> None:
        super().__init__(origin)
        proxy = None if public_only else proxy_for(origin)
        tls = context_for(origin)
        self._transport = httpx.HTTPTransport(
            verify=tls, proxy=proxy, trust_env=False, limits=httpx.Limits(max_connections=1)
        )
        self._line: _Line | None = None
        if proxy is None and hasattr(self._transport, "_pool"):
            self.prompt = True
            self._line = _Line(origin, tls, public_only=public_only)
            self._transport._pool = self._line  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]

    def usable(self) -> bool:
        return self._line is None or self._line.usable()

    async def open(self, request: HttpRequest, deadline: Deadline) -> tuple[int, RawHeaders]:
        if self._line is not None:
            self._line.deadline = deadline
        return self._begin(self._transport.handle_request(OwnRequest(request, deadline)))

    async def read(self) -> bytes | None:
        # Around the generators of the HTTP client, unless something else answered in its place.
        if self._line is not None and self._line.answers:
            return self._line.read() or None
        return next(self._pieces, None)

    async def finish(self) -> bool:
        with suppress(Exception):
            self._end()
            return self._line is None or self._line.idle
        return False

    async def close(self) -> None:
        with suppress(Exception):
            self._end()
        with suppress(Exception):
            self._transport.close()


class _OfClient(_Reading):
    """One exchange through a client of the caller's, which keeps its own connections."""

    def __init__(self, origin: str, http: httpx.Client) -> None:
        super().__init__(origin)
        self._http = http

    def usable(self) -> bool:
        return False

    async def open(self, request: HttpRequest, deadline: Deadline) -> tuple[int, RawHeaders]:
        built = for_client(request, deadline, self._http)
        return self._begin(self._http.send(built, stream=True, follow_redirects=False))

    async def finish(self) -> bool:
        with suppress(Exception):
            self._end()
        return False

    async def close(self) -> None:
        with suppress(Exception):
            self._end()


class _Line:
    """What a transport has instead of a pool: one connection, made when it is first used, that obeys the deadline."""

    def __init__(self, origin: str, tls: ssl.SSLContext, *, public_only: bool) -> None:
        self._origin = httpcore_origin(origin)
        self._tls = tls
        self._public_only = public_only
        self._socket: httpcore.NetworkStream | None = None
        self._http = Http11()
        self.answers = False
        self.idle = False
        self._idle_since = 0.0
        self.deadline: Deadline

    def handle_request(self, request: httpcore.Request) -> httpcore.Response:
        """What a transport asks of its pool."""
        self.idle = False
        if self._socket is None:
            self._socket = self._connected()
        body = b"".join(cast("Iterable[bytes]", request.stream))
        # A server that refuses early may have answered before it stopped reading.
        with suppress(httpcore.WriteError):
            for piece in self._http.ask(request.method, request.url.target, request.headers, body):
                self._socket.write(piece, self._left())
        self.deadline.sent()
        while (head := self._http.head()) is None:
            self._feed(self._socket)
        self.answers = True
        return httpcore.Response(head[0], headers=head[1], content=_Answer(self))

    def read(self) -> bytes:
        """The next bytes of the body; none at its end."""
        if self._socket is None:
            raise httpcore.ReadError("the connection is closed")
        while (piece := self._http.piece()) is None:
            self._feed(self._socket)
        return piece

    def _feed(self, stream: httpcore.NetworkStream) -> None:
        self._http.feed(stream.read(READ_AT_ONCE, self._left()))

    def _connected(self) -> httpcore.NetworkStream:
        host, port = self._origin.host.decode("ascii"), self._origin.port
        address = host
        if self._public_only:
            # The address that was looked at is the one connected to: the name may mean another a moment later.
            address = public_address(host, socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        network = httpcore.SyncBackend()
        stream = network.connect_tcp(address, port, timeout=self.deadline.connecting())
        if self._origin.scheme != b"https":
            return stream
        self._tls.set_alpn_protocols(["http/1.1"])
        return stream.start_tls(self._tls, host, self.deadline.connecting())

    def _left(self) -> float | None:
        seconds = self.deadline.left()
        if seconds is not None and seconds <= 0:
            raise httpcore.ReadTimeout(self.deadline.phase)
        return seconds

    def end(self) -> None:
        """End the exchange: wait for another, or close where the answer was not read to its end or something follows it."""
        self.answers = False
        if self._socket is not None and self._http.again():
            self.idle, self._idle_since = True, time.monotonic()
        else:
            self.close()

    def usable(self) -> bool:
        """Whether it waits for another exchange: not for too long, and not closed by the server, which would be readable."""
        if self._socket is None or not self.idle or time.monotonic() - self._idle_since > KEEP_ALIVE:
            return False
        return not self._socket.get_extra_info("is_readable")

    def close(self) -> None:
        """Close the connection, if there is one."""
        stream, self._socket = self._socket, None
        if stream is not None:
            with suppress(OSError):
                # Another thread may be waiting for bytes, which a close alone would not tell it.
                stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
            stream.close()


class _Answer:
    """The body of the answer on a line, as a transport reads it."""

    def __init__(self, line: _Line) -> None:
        self._line = line

    def __iter__(self) -> Iterator[bytes]:
        while piece := self._line.read():
            yield piece

    def close(self) -> None:
        self._line.end()
