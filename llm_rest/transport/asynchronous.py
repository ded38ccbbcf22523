"""The transport of async callers, on asyncio and trio: `httpx.AsyncHTTPTransport` over anyio.

The mirror image of `blocking`, with the waits of an event loop. Connections belong to the loop they were made in; another
loop gets a set of its own.
"""

# ruff: noqa: ASYNC109 - the parameters named timeout are those of httpcore's interface

from __future__ import annotations

import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import anyio
import httpcore
import httpx
from anyio.lowlevel import current_token

from .addresses import public_address
from .bodies import MAX_BODY
from .connections import (
    IN_PROCESS,
    KEEP_ALIVE,
    InProcess,
    OwnRequest,
    context_for,
    for_client,
    has_leftover,
    httpcore_origin,
    proxy_for,
)
from .exchange import AT_ONCE, Connection, Deadline, Exchanges, Home, RawHeaders, together
from .problems import timed_out

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator

    from . import HttpRequest


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
        self._loop: object = None

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await anyio.sleep(seconds)

    async def _enter(self, deadline: Deadline) -> Home:
        home, loop = self._home, current_token()
        if home is None or self._loop != loop:
            self._loop = loop
            home = self._home = Home(anyio.Semaphore(self._max, fast_acquire=True))
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
            return InProcess(origin)
        if self._http is not None:
            return _OfClient(origin, self._http)
        return _Own(origin, public_only=self._public_only)


class _Reading:
    """An answer being read, whoever sent the request."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self._response: httpx.Response | None = None
        self._pieces: AsyncIterator[bytes] | None = None

    def _begin(self, response: httpx.Response) -> tuple[int, RawHeaders]:
        self._response = response
        self._pieces = aiter(cast("httpx.AsyncByteStream", response.stream))
        return response.status_code, response.headers.raw

    async def read(self) -> bytes | None:
        assert self._pieces is not None
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
        if self._line is not None:
            self._line.deadline = deadline
        return self._begin(await self._transport.handle_async_request(OwnRequest(request, deadline)))

    async def finish(self) -> bool:
        with suppress(Exception):
            await self._end()
            return self._line is None or self._line.clean()
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
        self._http: httpcore.AsyncHTTP11Connection | None = None
        self.deadline: Deadline

    async def handle_async_request(self, request: httpcore.Request) -> httpcore.Response:
        """What a transport asks of its pool."""
        if self._http is None:
            self._http = httpcore.AsyncHTTP11Connection(
                self._origin, await self._connected(), keepalive_expiry=KEEP_ALIVE
            )
            # One exchange at a time needs no lock, and the pause in this one is where a cancelled task leaks its socket.
            if hasattr(self._http, "_state_lock"):
                self._http._state_lock = _NoLock()  # type: ignore[assignment]  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        return await self._http.handle_async_request(request)

    async def _connected(self) -> httpcore.AsyncNetworkStream:
        host, port = self._origin.host.decode("ascii"), self._origin.port
        address = host
        if self._public_only:
            # The address that was looked at is the one connected to: the name may mean another a moment later.
            address = public_address(host, await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        network = cast("httpcore.AsyncNetworkBackend", httpcore.AnyIOBackend())
        stream = await network.connect_tcp(address, port, timeout=self.deadline.connecting())
        if self._origin.scheme == b"https":
            self._tls.set_alpn_protocols(["http/1.1"])
            stream = await stream.start_tls(self._tls, host, self.deadline.connecting())
        return _Stream(stream, self)

    def usable(self) -> bool:
        """Whether it waits, in good order, for another exchange."""
        return self._http is not None and self._http.is_idle() and not self._http.has_expired()

    def clean(self) -> bool:
        """Whether the exchange ended as it should, with nothing behind it."""
        return self._http is not None and self._http.is_idle() and not has_leftover(self._http)

    async def aclose(self) -> None:
        """Close the connection, if there is one."""
        if self._http is not None:
            await self._http.aclose()

    def left(self) -> float | None:
        """Seconds that a wait may take."""
        seconds = self.deadline.left()
        if seconds is not None and seconds <= 0:
            raise httpcore.ReadTimeout(self.deadline.phase)
        return seconds


class _NoLock:
    async def __aenter__(self) -> None:
        pass

    async def __aexit__(self, *failure: object) -> None:
        pass


class _Stream(httpcore.AsyncNetworkStream):
    """A socket of a `_Line`. The pieces of a small request leave together, when the answer is first waited for."""

    def __init__(self, inner: httpcore.AsyncNetworkStream, line: _Line) -> None:
        self._inner = inner
        self._line = line
        self._unsent: list[bytes] = []
        self._asked = False

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._asked = False
        self._unsent.append(buffer)
        if len(buffer) > AT_ONCE:
            await self._flush()

    async def _flush(self) -> None:
        unsent, self._unsent = self._unsent, []
        for piece in together(unsent):
            await self._inner.write(piece, self._line.left())

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if not self._asked:
            self._asked = True
            # A server that refuses early may have answered before it stopped reading.
            with suppress(httpcore.WriteError):
                await self._flush()
            self._line.deadline.sent()
        return await self._inner.read(max_bytes, self._line.left())

    async def aclose(self) -> None:
        await self._inner.aclose()

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
