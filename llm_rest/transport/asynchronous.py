"""The transport of async callers, on asyncio and trio: `httpx.AsyncHTTPTransport` over anyio.

The mirror image of `blocking`, with the waits of an event loop. Connections belong to the loop they were made in; another
loop gets a set of its own.
"""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import anyio
import httpcore
import httpx
from anyio.lowlevel import checkpoint, current_token

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
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterable

    from . import HttpRequest
    from .deadlines import Deadline


class AsyncTransport(Exchanges):
    """Sends requests over up to `max_connections` connections of its own, or through the `httpx.AsyncClient` given.

    With `public_only` hosts that resolve to private addresses are refused, and no proxy is used.
    """

    def __init__(
        self, *, max_connections: int = 100, http: Any = None, public_only: bool = False, max_body: int = MAX_BODY
    ) -> None:
        super().__init__(max_body)
        self._max = max_connections
        self._http = http
        self._public_only = public_only

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await anyio.sleep(seconds)

    async def _enter(self, deadline: Deadline) -> Home:
        home, loop = self._home, current_token()
        if home is None or home.loop != loop:
            home = self._home = Home(anyio.Semaphore(self._max, fast_acquire=True), loop)
        slots = cast("anyio.Semaphore", home.slots)
        try:
            slots.acquire_nowait()
        except anyio.WouldBlock:
            with anyio.move_on_after(deadline.left()):
                await slots.acquire()
                return home
            raise timed_out("pool") from None
        return home

    def _connect(self, origin: str) -> Connection:
        if origin.startswith(IN_PROCESS):
            return _InProcess(origin)
        if self._http is not None:
            return _OfClient(origin, self._http)
        return _Own(origin, public_only=self._public_only)

    def forgotten(self, home: Home, connection: Connection) -> None:
        """End an exchange that nobody reads any more, as soon as its loop comes to it. A loop that is gone never does."""
        with suppress(Exception):
            _soon(home.loop, partial(self.leave, home, connection, again=False))


def _soon(loop: Any, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run `work` as a task of `loop`, whichever thread this is."""
    loop = getattr(loop, "native_token", loop)
    if hasattr(loop, "run_sync_soon"):
        from trio.lowlevel import spawn_system_task

        loop.run_sync_soon(spawn_system_task, work)
    else:
        loop.call_soon_threadsafe(lambda: loop.create_task(work()))


class _InProcess(InProcess):
    """A server in this process that lets other tasks run between two pieces of its answer."""

    async def read(self) -> bytes | None:
        await checkpoint()
        return await super().read()


class _Reading:
    """An answer being read, whoever sent the request."""

    prompt = True

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self._response: httpx.Response | None = None
        self._pieces: AsyncIterator[bytes] | None = None
        self._deadline: Deadline

    def _begin(self, response: httpx.Response) -> tuple[int, RawHeaders]:
        self._response = response
        return response.status_code, response.headers.raw

    async def read(self) -> bytes | None:
        if self._pieces is None:
            assert self._response is not None
            self._pieces = aiter(cast("httpx.AsyncByteStream", self._response.stream))
        with anyio.fail_after(self._deadline.left()):
            return await anext(self._pieces, None)

    async def _end(self) -> None:
        response, self._response = self._response, None
        if response is not None:
            await response.aclose()
        pieces, self._pieces = self._pieces, None
        # The HTTP client reads by generators inside generators, which only an end or an error ends all of. What is closed
        # gives one or the other at once.
        with suppress(Exception):
            while pieces is not None and await anext(pieces, None) is not None:
                pass

    async def _abandon(self) -> None:
        with anyio.CancelScope(shield=True), suppress(Exception):
            await self._end()


class _Own(_Reading):
    """One connection that is ours alone."""

    def __init__(self, origin: str, *, public_only: bool) -> None:
        super().__init__(origin)
        proxy = None if public_only else proxy_for(origin)
        tls = context_for(origin)
        self._transport = httpx.AsyncHTTPTransport(
            verify=tls, proxy=proxy, trust_env=False, limits=httpx.Limits(max_connections=1)
        )
        self._line: _Line | None = None
        if proxy is None and hasattr(self._transport, "_pool"):
            self._line = _Line(origin, tls, public_only=public_only)
            self._transport._pool = self._line  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]

    def usable(self) -> bool:
        return self._line is None or self._line.usable()

    async def open(self, request: HttpRequest, deadline: Deadline) -> tuple[int, RawHeaders]:
        self._deadline = deadline
        if self._line is not None:
            self._line.deadline = deadline
        return self._begin(await self._transport.handle_async_request(OwnRequest(request, deadline)))

    async def read(self) -> bytes | None:
        # Around the generators of the HTTP client, unless something else answered in its place.
        if self._line is not None and self._line.answers:
            return await self._line.read() or None
        return await super().read()

    async def finish(self) -> bool:
        with suppress(Exception):
            await self._end()
            return self._line is None or self._line.idle
        return False

    async def close(self) -> None:
        await self._abandon()
        with anyio.CancelScope(shield=True), suppress(Exception):
            await self._transport.aclose()


class _OfClient(_Reading):
    """One exchange through a client of the caller's, which keeps its own connections."""

    def __init__(self, origin: str, http: httpx.AsyncClient) -> None:
        super().__init__(origin)
        self._http = http

    def usable(self) -> bool:
        return False

    async def open(self, request: HttpRequest, deadline: Deadline) -> tuple[int, RawHeaders]:
        self._deadline = deadline
        built = for_client(request, deadline, self._http)
        return self._begin(await self._http.send(built, stream=True, follow_redirects=False))

    async def finish(self) -> bool:
        with suppress(Exception):
            await self._end()
        return False

    async def close(self) -> None:
        await self._abandon()


class _Line:
    """What a transport has instead of a pool: one connection, made when it is first used, that obeys the deadline."""

    def __init__(self, origin: str, tls: ssl.SSLContext, *, public_only: bool) -> None:
        self._origin = httpcore_origin(origin)
        self._tls = tls
        self._public_only = public_only
        self._socket: httpcore.AsyncNetworkStream | None = None
        self._http = Http11()
        self.answers = False
        self.idle = False
        self._idle_since = 0.0
        self.deadline: Deadline

    async def handle_async_request(self, request: httpcore.Request) -> httpcore.Response:
        """What a transport asks of its pool."""
        self.idle = False
        if self._socket is None:
            self._socket = await self._connected()
        body = b"".join(cast("Iterable[bytes]", request.stream))
        # A server that refuses early may have answered before it stopped reading.
        with suppress(httpcore.WriteError):
            for piece in self._http.ask(request.method, request.url.target, request.headers, body):
                await self._socket.write(piece, self._left())
        self.deadline.sent()
        while (head := self._http.head()) is None:
            await self._feed(self._socket)
        self.answers = True
        return httpcore.Response(head[0], headers=head[1], content=_Answer(self))

    async def read(self) -> bytes:
        """The next bytes of the body; none at its end."""
        if self._socket is None:
            raise httpcore.ReadError("the connection is closed")
        while (piece := self._http.piece()) is None:
            await self._feed(self._socket)
        return piece

    async def _feed(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._http.feed(await stream.read(READ_AT_ONCE, self._left()))

    async def _connected(self) -> httpcore.AsyncNetworkStream:
        host, port = self._origin.host.decode("ascii"), self._origin.port
        address = host
        if self._public_only:
            # The address that was looked at is the one connected to: the name may mean another a moment later.
            address = public_address(host, await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        network = cast("httpcore.AsyncNetworkBackend", httpcore.AnyIOBackend())
        stream = await network.connect_tcp(address, port, timeout=self.deadline.connecting())
        if self._origin.scheme != b"https":
            return stream
        self._tls.set_alpn_protocols(["http/1.1"])
        return await stream.start_tls(self._tls, host, self.deadline.connecting())

    def _left(self) -> float | None:
        seconds = self.deadline.left()
        if seconds is not None and seconds <= 0:
            raise httpcore.ReadTimeout(self.deadline.phase)
        return seconds

    async def end(self) -> None:
        """End the exchange: wait for another, or close where the answer was not read to its end or something follows it."""
        self.answers = False
        if self._socket is not None and self._http.again():
            self.idle, self._idle_since = True, time.monotonic()
        else:
            await self.aclose()

    def usable(self) -> bool:
        """Whether it waits for another exchange: not for too long, and not closed by the server, which would be readable."""
        if self._socket is None or not self.idle or time.monotonic() - self._idle_since > KEEP_ALIVE:
            return False
        return not self._socket.get_extra_info("is_readable")

    async def aclose(self) -> None:
        """Close the connection, if there is one."""
        stream, self._socket = self._socket, None
        if stream is not None:
            await stream.aclose()


class _Answer:
    """The body of the answer on a line, as a transport reads it."""

    def __init__(self, line: _Line) -> None:
        self._line = line

    def __aiter__(self) -> _Answer:
        return self

    async def __anext__(self) -> bytes:
        piece = await self._line.read()
        if not piece:
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        await self._line.end()
