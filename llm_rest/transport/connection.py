"""One HTTP/1.1 connection to one origin, direct or through a proxy: opened on first use, one exchange at a time.

Written once for threads and tasks. Answers are parsed by h11 (0.16, read 2026-11-20); requests, whose headers were checked
before, are written here. A reused connection that ends before all of a request was written is replaced at once, which is not
a retry: the server cannot have the whole request. Before changing this file, know that secrets are revealed here, inside
expressions and never in a variable, because tracebacks are recorded with the variables of every frame, and that a connection
is reused only when both sides are done and no bytes follow the answer: they would be read as the next answer.
"""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

import h11
from h11 import RemoteProtocolError

from ..errors import ConnectError, LLMError, ProtocolError, ProxyError
from .address import address_of
from .deadlines import map_error
from .sockets import connect

if TYPE_CHECKING:
    import ssl
    from collections.abc import Collection

    from . import Hidden, HTTPRequest
    from .address import Address, Proxy
    from .deadlines import Deadline
    from .sockets import RawHeaders, Stream, Waiter

KEEP_ALIVE = 60.0
"""The maximum idle time of a connection (keep-alive), in seconds; most servers close theirs after that."""

_PROXY_AUTHENTICATION_REQUIRED = 407


class _ClosedBeforeSent(Exception):
    """The error where a reused connection ended before all of a request was written: the server cannot have it."""


def plain(value: str | Hidden) -> str:
    """The value of a header, unwrapped."""
    return value if isinstance(value, str) else value.reveal()


class Connection(ABC):
    """The interface of connections of our own, HTTP clients of the caller and servers in this process: one origin, one
    exchange at a time.
    """

    ends_in_time = True
    """Whether a read ends by the deadline, even if the deadline was changed during the exchange."""

    def __init__(self, origin: str, waiter: Waiter) -> None:
        self.origin = origin
        self._waiter = waiter

    @abstractmethod
    async def open(self, request: HTTPRequest, deadline: Deadline) -> tuple[int, RawHeaders]:
        """Send the request and return the status and the headers of the answer."""

    @abstractmethod
    async def read(self) -> bytes | None:
        """The next bytes of the body; `None` at its end."""

    async def finish(self) -> HTTPConnection | None:
        """End the exchange after the body was read to its end. Returns the connection if it can be reused."""
        await self.close()
        return None

    async def close(self) -> None:
        """Close it, in any state; never raises."""
        self.drop()

    def drop(self) -> None:
        """Close it from any thread, without waiting."""
        return


class HTTPConnection(Connection):
    """An HTTP/1.1 connection to `address`; `tls` is for the encrypted parts: to the proxy, to the address, or both."""

    def __init__(
        self,
        address: Address,
        waiter: Waiter,
        *,
        tls: ssl.SSLContext | None,
        proxy: Proxy | None = None,
        public_only: bool = False,
    ) -> None:
        super().__init__(address.origin, waiter)
        self._address = address
        self._tls = tls
        self._proxy = proxy
        self._public_only = public_only
        self._http = HTTP11()
        self._stream: Stream | None = None
        self._idle_since = 0.0
        self._deadline: Deadline

    def usable(self) -> bool:
        """Whether the connection can be reused: it was not idle for too long, and received neither data nor its end."""
        return self._stream is not None and self._is_recent() and self._stream.quiet()

    def _is_recent(self) -> bool:
        return time.monotonic() - self._idle_since <= KEEP_ALIVE

    async def open(self, request: HTTPRequest, deadline: Deadline) -> tuple[int, RawHeaders]:
        self._deadline = deadline
        if self._stream is not None and self._is_recent():
            with suppress(_ClosedBeforeSent):
                return await self._send(self._stream, request, deadline, used=True)
        self.drop()
        deadline.connect()
        self._stream = await self._connected(deadline)
        deadline.connected()
        return await self._send(self._stream, request, deadline, used=False)

    async def _send(
        self, stream: Stream, request: HTTPRequest, deadline: Deadline, *, used: bool
    ) -> tuple[int, RawHeaders]:
        proxy = None if self._address.secure else self._proxy
        target = f"{self.origin if proxy else ''}{address_of(request.url).target}"
        self._http = HTTP11()
        pieces = self._http.request(
            request.method, target, _headers(request, self._address.authority, proxy), request.body
        )
        cut = False  # whether the server cannot have all of the request
        try:
            await self._write(stream, pieces, deadline, used=used)
        except OSError as problem:
            # A server that rejects early may have answered before it stopped reading.
            cut = used and not isinstance(problem, TimeoutError)
        deadline.sent()
        try:
            status, answered = await _head(stream, self._http, deadline)
        except (OSError, RemoteProtocolError) as problem:
            if not cut or isinstance(problem, TimeoutError):
                raise
            raise _ClosedBeforeSent from None
        if proxy and status == _PROXY_AUTHENTICATION_REQUIRED:
            raise _proxy_error(proxy, status, proxy.named_for(deadline.peer))
        return status, answered

    async def _write(self, stream: Stream, pieces: Iterable[memoryview], deadline: Deadline, *, used: bool) -> None:
        """Send all pieces. Raises `OSError` where the peer closed the connection before the last byte was sent."""
        sent_any = False
        for piece in pieces:
            while piece:
                if used and (received := stream.read_available()) is not None:
                    if not sent_any:
                        raise _ClosedBeforeSent  # the end of the connection, or unsolicited bytes
                    if not received:
                        raise ConnectionResetError
                    self._http.feed(received)
                piece = piece[await stream.write(piece, deadline) :]
                sent_any = True

    async def read(self) -> bytes | None:
        while (piece := self._http.piece()) is None:
            if self._stream is None:
                raise OSError("it was closed")
            self._http.feed(await self._stream.read(self._deadline))
        return piece or None

    async def finish(self) -> HTTPConnection | None:
        self._idle_since = time.monotonic()
        return self if self._stream is not None and self._http.reusable() else None

    def drop(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()

    async def _connected(self, deadline: Deadline) -> Stream:
        address, proxy = self._address, self._proxy
        if proxy is not None:
            stream = await self._to_proxy(proxy, deadline)
        else:
            stream = await connect(address.host, address.port, deadline, self._waiter, public_only=self._public_only)
        return await self._encrypted(stream, address.host, deadline) if address.secure else stream

    async def _to_proxy(self, proxy: Proxy, deadline: Deadline) -> Stream:
        """A connection to the proxy, or a tunnel through it where the origin uses TLS."""
        stream: Stream | None = None
        error: LLMError
        peer, deadline.peer = deadline.peer, proxy.named_for(deadline.peer)
        try:
            stream = await connect(proxy.host, proxy.port, deadline, self._waiter)
            if proxy.secure:
                stream = await self._encrypted(stream, proxy.host, deadline)
            if self._address.secure:
                await self._tunnel(stream, proxy, deadline)
            deadline.peer = peer
            return stream
        except BaseException as problem:
            if stream is not None:
                stream.close()
            if not isinstance(problem, Exception):
                raise
            error = map_error(problem, deadline)
        if type(error) in (ConnectError, ProtocolError):
            error = ProxyError(error.message)
        raise error.with_traceback(None)

    async def _encrypted(self, stream: Stream, host: str, deadline: Deadline) -> Stream:
        from .tls import TLSStream  # not imported for plain connections

        assert self._tls is not None
        encrypted = TLSStream(stream, self._tls, host)
        try:
            await encrypted.handshake(deadline)
            return encrypted
        except BaseException:
            stream.close()
            raise

    async def _tunnel(self, stream: Stream, proxy: Proxy, deadline: Deadline) -> None:
        """Open a tunnel through the proxy (CONNECT)."""
        http = HTTP11()
        host = f"[{self._address.host}]" if ":" in self._address.host else self._address.host
        target = f"{host}:{self._address.port}"
        for piece in http.request("CONNECT", target, [(b"Host", target.encode("ascii")), *_for_proxy(proxy)], b""):
            await stream.write_all(piece, deadline)
        status, _ = await _head(stream, http, deadline)
        if not 200 <= status < 300:
            raise _proxy_error(proxy, status, deadline.peer)


async def _head(stream: Stream, http: HTTP11, deadline: Deadline) -> tuple[int, RawHeaders]:
    while (head := http.head()) is None:
        http.feed(await stream.read(deadline))
    return head


def _headers(request: HTTPRequest, authority: str, proxy: Proxy | None) -> list[tuple[bytes, bytes]]:
    """The headers to send: those of the request and those that HTTP requires."""
    headers = [(b"Host", authority.encode("ascii"))]
    headers += [(name.encode("ascii"), plain(value).encode("latin-1")) for name, value in request.headers.items()]
    if request.body or request.method != "GET":
        headers.append((b"Content-Length", b"%d" % len(request.body)))
    return headers + _for_proxy(proxy)


def _for_proxy(proxy: Proxy | None) -> list[tuple[bytes, bytes]]:
    if proxy is None or proxy.credentials is None:
        return []
    return [(b"Proxy-Authorization", proxy.credentials.reveal().encode("ascii"))]


def _proxy_error(proxy: Proxy, status: int, named: str) -> ProxyError:
    hint = f"look at the user and password in {proxy.variable}" if status == _PROXY_AUTHENTICATION_REQUIRED else None
    return ProxyError(f"{named} refused with status {status}", status=status, retryable=status >= 500, hint=hint)


# --- HTTP/1.1 -------------------------------------------------------------------------------------------------------


LARGEST_HEAD = 102_400
"""The maximum size of the head of an answer, or of its trailers, in bytes."""

_CHUNK_HEAD = re.compile(rb"([0-9a-fA-F]{1,20})(?:;[^\n]*?)?[ \t]*\r\n")
_CHUNK_HEAD_BEGINS = re.compile(rb"[0-9a-fA-F]{0,20}[ \t]*(?:[;\r]|\Z)")
_LARGEST_CHUNK_HEAD = 4096
_CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"

_SENT_WITH_HEAD = 65_536
"""A body up to this size is sent together with its head."""


@lru_cache(maxsize=8)
def _request(method: str) -> h11.Request:
    """A request for the parser, which needs only its method: the framing of the answer depends on that."""
    return h11.Request(method=method, target="/", headers=[("Host", "x")])


def _parser(method: str) -> h11.Connection:
    parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=LARGEST_HEAD)
    parser.send(_request(method))
    return parser


class HTTP11:
    """One exchange as bytes: `request`, then `feed` until there is a `head`, then until there is no more `piece`.

    The head of an answer, and trailers, are parsed by h11; the body is read here, at a quarter of its cost for the many
    small chunks of a stream.
    """

    __slots__ = ("_buffer", "_chunked", "_closed", "_ended", "_head_bytes", "_keep_alive", "_left", "_parser")

    def __init__(self) -> None:
        self._parser: h11.Connection | None = None  # only while a head, or trailers, are parsed
        self._head_bytes = 0  # received before the head was parsed
        self._buffer = b""  # received bytes of the body that were not read yet
        self._left: int | None = (
            0  # bytes to come of the body, or of the chunk and its line end; `None` is all until the end
        )
        self._chunked = self._closed = self._ended = self._keep_alive = False

    def request(
        self, method: str, target: str, headers: Collection[tuple[bytes, bytes]], body: bytes
    ) -> tuple[memoryview, ...]:
        """A request as the pieces to send, as views, whose reprs do not show the secrets in them."""
        lines = b"".join([b"%b: %b\r\n" % header for header in headers])
        head = b"%b %b HTTP/1.1\r\n%b\r\n" % (method.encode("ascii"), target.encode("ascii"), lines)
        ends = len(headers) + 2
        if head.count(b"\r") != ends or head.count(b"\n") != ends or b"\0" in head:
            raise h11.LocalProtocolError("a header contains a line break")
        self._parser = _parser(method)
        return (memoryview(head + body),) if len(body) <= _SENT_WITH_HEAD else (memoryview(head), memoryview(body))

    def head(self) -> tuple[int, RawHeaders] | None:
        """The status and headers of the answer; `None` while more bytes are needed."""
        assert self._parser is not None
        event = self._parser.next_event()
        while isinstance(event, h11.InformationalResponse):
            event = self._parser.next_event()
        if event is h11.NEED_DATA:
            return None
        if not isinstance(event, h11.Response):
            # 101, or an answer to another request.
            raise RemoteProtocolError("the server changed to another protocol")
        self._buffer = self._parser.trailing_data[0]
        self._parser = None
        if self._head_bytes - len(self._buffer) > LARGEST_HEAD:  # h11 limits only an incomplete head
            what = f"the head of the answer is larger than {LARGEST_HEAD:,} bytes"
            raise RemoteProtocolError(what, error_status_hint=431)
        empty, headers = event.status_code in (204, 304), dict(event.headers)
        self._chunked = not empty and b"transfer-encoding" in headers
        length = headers.get(b"content-length")
        self._left = 0 if empty or self._chunked else None if length is None else int(length)
        closes = any(b"close" in value.lower() for name, value in event.headers if name == b"connection")
        self._keep_alive = self._left is not None and not closes and event.http_version >= b"1.1"
        return event.status_code, event.headers.raw_items()

    def feed(self, data: bytes) -> None:
        """Add received bytes; none means that the server closed the connection."""
        if self._parser is not None:
            if not (data or self._chunked):
                raise RemoteProtocolError("the server closed the connection without an answer")
            self._head_bytes += len(data)
            self._parser.receive_data(data)
        elif data:
            self._buffer += data
        else:
            self._closed = True

    def piece(self) -> bytes | None:
        """All received bytes of the body, empty at its end; `None` while more are needed."""
        data = b""
        if self._chunked:
            if not (self._ended or self._parser):
                data = self._chunks()
            if self._parser is not None and not data:
                self._read_trailers(self._parser)
        elif self._left is None:
            data, self._buffer, self._ended = self._buffer, b"", self._closed
        else:
            data, self._buffer = self._buffer[: self._left], self._buffer[self._left :]
            self._left -= len(data)
            self._ended = not self._left
        if self._closed and not (data or self._ended):
            raise RemoteProtocolError("the server closed the connection before the end of the answer")
        return data if data or self._ended else None

    def _chunks(self) -> bytes:
        """The data of the received chunks."""
        received, at, left = self._buffer, 0, self._left or 0
        pieces: list[bytes] = []
        problem = ""
        while True:
            if not left:
                if (head := _CHUNK_HEAD.match(received, at)) is None:
                    begins = len(received) - at < _LARGEST_CHUNK_HEAD and _CHUNK_HEAD_BEGINS.match(received, at)
                    problem = "" if begins else "illegal chunk header"
                    break
                if not (size := int(head[1], 16)):
                    self._read_end(received[head.end() :])
                    received, at = self._buffer, 0
                    break
                at = head.end()
                left = size + 2
            if left > 2:
                piece = received[at : at + left - 2]
                pieces.append(piece)
                at += len(piece)
                left -= len(piece)
                if left > 2:
                    break
            ending = received[at : at + left]
            if not b"\r\n"[2 - left :].startswith(ending):
                problem = "a chunk of the answer is longer than it says"
                break
            at += len(ending)
            left -= len(ending)
            if left:
                break
        self._buffer, self._left = received[at:], left
        data = b"".join(pieces)
        if problem and not data:  # otherwise raised after the data before it
            raise RemoteProtocolError(problem)
        return data

    def _read_end(self, rest: bytes) -> None:
        """Parse what follows the last chunk: an empty line, or trailers and an empty line."""
        self._ended = rest.startswith(b"\r\n")
        self._buffer = rest[2:] if self._ended else b""
        if not self._ended:
            self._parser = _parser("GET")
            self._parser.receive_data(_CHUNKED + b"0\r\n" + rest)
            self._parser.next_event()

    def _read_trailers(self, parser: h11.Connection) -> None:
        if isinstance(parser.next_event(), h11.EndOfMessage):
            self._ended, self._buffer, self._parser = True, parser.trailing_data[0], None

    def reusable(self) -> bool:
        """Whether the connection can be reused for another exchange."""
        return self._ended and self._keep_alive and not self._buffer
