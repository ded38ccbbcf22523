"""One connection of ours to one origin, straight or through a proxy: made when it is first used, one exchange at a time.

Written once for threads and tasks. A used connection that ends before all of a request was written to it is replaced by a
new one at once, which is no retry: the server cannot have the request. Before changing this file, know that this is where
secrets leave their wrappers: inside expressions and never into a variable, because tracebacks are recorded with the
variables of every frame.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from h11 import RemoteProtocolError

from ..errors import ConnectError, LLMError, ProtocolError, ProxyError
from .http11 import HTTP11
from .problems import as_ours, proxy_refused
from .sockets import Stream, Waiter, connect, write_all
from .urls import address_of

if TYPE_CHECKING:
    import ssl

    from . import Hidden, HTTPRequest
    from .connections import RawHeaders
    from .deadlines import Deadline
    from .proxies import Proxy
    from .urls import Address

KEEP_ALIVE = 60.0
"""How long an idle connection is kept; most servers close theirs after that."""

_REFUSED_BY_PROXY = 407
_AT_ONCE = 262_144
"""How much of a request is written to a used connection before the next look at whether it ended."""


class _EndedBefore(Exception):
    """A used connection ended before all of a request was written to it: the server cannot have the request."""


def raw_headers(
    request: HTTPRequest, authority: str, more: Iterable[tuple[bytes, bytes]] = ()
) -> list[tuple[bytes, bytes]]:
    """The headers as they are sent: those of the request and those that HTTP itself asks for."""
    headers = [(b"Host", authority.encode("ascii"))]
    headers += [(name.encode("ascii"), plain(value).encode("latin-1")) for name, value in request.headers.items()]
    if request.body or request.method != "GET":
        headers.append((b"Content-Length", b"%d" % len(request.body)))
    headers += more
    return headers


def plain(value: str | Hidden) -> str:
    """The value of a header, out of its wrapper."""
    return value if isinstance(value, str) else value.reveal()


class Line:
    """A connection to `address`; `tls` is for those of its two ways that are encrypted, to the proxy and to the address."""

    prompt = True

    def __init__(
        self,
        address: Address,
        waiter: Waiter,
        *,
        tls: ssl.SSLContext | None,
        proxy: Proxy | None = None,
        public_only: bool = False,
    ) -> None:
        self.origin = address.origin
        self._address = address
        self._waiter = waiter
        self._tls = tls
        self._proxy = proxy
        self._public_only = public_only
        self._http = HTTP11()
        self._stream: Stream | None = None
        self._idle_since = 0.0
        self._deadline: Deadline

    def usable(self) -> bool:
        """Whether it waits for another exchange: not for too long, and nothing came unasked, be it the end."""
        return self._stream is not None and time.monotonic() - self._idle_since <= KEEP_ALIVE and self._stream.quiet()

    async def open(self, request: HTTPRequest, deadline: Deadline) -> tuple[int, RawHeaders]:
        """Send the request and wait for the head of the answer: its status and headers."""
        self._deadline = deadline
        if self._stream is not None:
            try:
                return await self._asked(self._stream, request, deadline, used=True)
            except _EndedBefore:
                self.drop()
                self._http = HTTP11()
        deadline.connect()
        self._stream = await self._connected(deadline)
        deadline.connected()
        return await self._asked(self._stream, request, deadline)

    async def _asked(
        self, stream: Stream, request: HTTPRequest, deadline: Deadline, *, used: bool = False
    ) -> tuple[int, RawHeaders]:
        target, authority = address_of(request.url).target, self._address.authority
        proxy = None if self._address.secure else self._proxy
        if proxy:
            target = f"{self.origin}{target}"
        pieces = self._http.ask(
            request.method, target, raw_headers(request, authority, _for_proxy(proxy)), request.body
        )
        cut = False  # whether the server cannot have all of the request
        try:
            await self._write(stream, pieces, deadline, used=used)
        except OSError as problem:
            # A server that refuses early may have answered before it stopped reading.
            cut = used and not isinstance(problem, TimeoutError)
        deadline.sent()
        try:
            status, answered = await self._head(stream, self._http)
        except (OSError, RemoteProtocolError) as problem:
            if not cut or isinstance(problem, TimeoutError):
                raise
            raise _EndedBefore from None
        if proxy and status == _REFUSED_BY_PROXY:
            raise _refused(proxy, status, proxy.named_for(deadline.peer))
        return status, answered

    async def _write(self, stream: Stream, pieces: Iterable[memoryview], deadline: Deadline, *, used: bool) -> None:
        """Send all pieces. Raises `OSError` where the other side ended the connection before the last byte was sent."""
        begun = False
        for piece in pieces:
            while piece:
                if used and (came := stream.take()) is not None:
                    if not begun:
                        raise _EndedBefore  # nobody asked for these bytes, if it is not the end
                    if not came:
                        raise ConnectionResetError
                    self._http.feed(came)
                piece = piece[await stream.write(piece[:_AT_ONCE] if used else piece, deadline) :]
                begun = True

    async def read(self) -> bytes | None:
        """The next bytes of the body; `None` at its end."""
        while (piece := self._http.piece()) is None:
            if self._stream is None:
                raise OSError("it was closed")
            self._http.feed(await self._stream.read(self._deadline))
        return piece or None

    async def _head(self, stream: Stream, http: HTTP11) -> tuple[int, RawHeaders]:
        while (head := http.head()) is None:
            http.feed(await stream.read(self._deadline))
        return head

    async def finish(self) -> Line | None:
        """Itself where it can be used again: the answer was read to its end, and nothing follows it."""
        self._idle_since = time.monotonic()
        return self if self._stream is not None and self._http.again() else None

    async def close(self) -> None:
        """Close it, whatever its state."""
        self.drop()

    def drop(self) -> None:
        """The same, from anywhere."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()

    # --- connecting ---------------------------------------------------------------------------------------------------

    async def _connected(self, deadline: Deadline) -> Stream:
        address, proxy = self._address, self._proxy
        if proxy is None:
            stream: Stream = await connect(
                address.host, address.port, deadline, self._waiter, public_only=self._public_only
            )
        else:
            stream = await self._to_proxy(proxy, deadline)
        if not address.secure:
            return stream
        return await self._sealed(stream, address.host, deadline)

    async def _to_proxy(self, proxy: Proxy, deadline: Deadline) -> Stream:
        """A connection to the proxy, or through it where the other end speaks TLS."""
        stream: Stream | None = None
        error: LLMError
        peer, deadline.peer = deadline.peer, proxy.named_for(deadline.peer)
        try:
            stream = await connect(proxy.host, proxy.port, deadline, self._waiter)
            if proxy.secure:
                stream = await self._sealed(stream, proxy.host, deadline)
            if self._address.secure:
                await self._through(stream, proxy, deadline)
            deadline.peer = peer
            return stream
        except Exception as problem:
            error = as_ours(problem, deadline)
        except BaseException:
            if stream is not None:
                stream.close()
            raise
        if stream is not None:
            stream.close()
        if type(error) in (ConnectError, ProtocolError):
            error = ProxyError(error.message)
        raise error.with_traceback(None)

    async def _sealed(self, stream: Stream, host: str, deadline: Deadline) -> Stream:
        from .tls import Sealed  # not needed by those who speak to their own machine

        assert self._tls is not None
        sealed = Sealed(stream, self._tls, host)
        try:
            await sealed.shake_hands(deadline)
            return sealed
        except BaseException:
            stream.close()
            raise

    async def _through(self, stream: Stream, proxy: Proxy, deadline: Deadline) -> None:
        """Ask the proxy to pass on what follows."""
        http = HTTP11()
        host = f"[{self._address.host}]" if ":" in self._address.host else self._address.host
        target = f"{host}:{self._address.port}"
        for piece in http.ask("CONNECT", target, [(b"Host", target.encode("ascii")), *_for_proxy(proxy)], b""):
            await write_all(stream, piece, deadline)
        status, _ = await self._head(stream, http)
        if not 200 <= status < 300:
            raise _refused(proxy, status, deadline.peer)


def _for_proxy(proxy: Proxy | None) -> list[tuple[bytes, bytes]]:
    if proxy is None or proxy.credentials is None:
        return []
    return [(b"Proxy-Authorization", proxy.credentials.reveal().encode("ascii"))]


def _refused(proxy: Proxy, status: int, named: str) -> ProxyError:
    return proxy_refused(named, proxy.variable, status, unauthorized=status == _REFUSED_BY_PROXY)
