"""One HTTP/1.1 connection to one origin, straight or through a proxy: opened on first use, one exchange at a time.

Written once for threads and tasks. Answers are parsed by h11 (0.16, read 2026-11-20); requests are written here, whose headers
were checked before. A used connection that ends before all of a request was written is replaced at once, which is no retry: the
server cannot have the request. Before changing this file, know that secrets leave their wrappers here, inside expressions and
never into a variable, because tracebacks are recorded with the variables of every frame, and that a connection is used again
only when both sides are done and nothing follows the answer: it would be taken for the next answer.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

import h11
from h11 import RemoteProtocolError

from ..errors import ConnectError, LLMError, ProtocolError, ProxyError
from .address import address_of
from .deadlines import map_error
from .sockets import Stream, Waiter, connect, write_all

if TYPE_CHECKING:
    import ssl
    from collections.abc import Collection

    from . import Hidden, HTTPRequest
    from .address import Address, Proxy
    from .deadlines import Deadline
    from .sockets import RawHeaders

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
            error = map_error(problem, deadline)
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
    hint = f"look at the user and password in {proxy.variable}" if status == _REFUSED_BY_PROXY else None
    return ProxyError(f"{named} refused with status {status}", status=status, retryable=status >= 500, hint=hint)


LARGEST_HEAD = 102_400
"""How large the head of an answer, or a line of chunked framing, may be."""

_CODING = b"transfer-encoding"
_CHUNKED = b"hunked"
"""What the head of an answer in chunks holds, in nearly every spelling."""
_LONGEST_SIZE = 8
"""Digits in the length of a plain chunk, at most."""
_LENGTH = re.compile(rb"[0-9a-fA-F]*[ \t]*(?:[;\r]|\Z)")
"""How the line of a chunk's length may begin, plain or not."""

_TOGETHER = 65_536
"""A body up to this size leaves together with its head."""


_END = h11.EndOfMessage()


@lru_cache(maxsize=8)
def _known(method: str) -> h11.Request:
    """What the parser is told of a request: how an answer is framed depends on the method alone."""
    return h11.Request(method=method, target="/", headers=[("Host", "x")])


class HTTP11:
    """What one side knows of a connection. Ask, then feed until there is a head, then until there are no more pieces.

    The chunks of a stream are many and plain: a length, bytes, a line end. Those are read here, at a quarter of the parser's
    cost; the first that is anything else goes to the parser, and with it all that follows.
    """

    __slots__ = ("_ended", "_head_bytes", "_held", "_inside", "_parser", "_plain", "_problem", "_split")

    def __init__(self) -> None:
        self._parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=LARGEST_HEAD)
        self._head_bytes = 0  # received since the request was sent, until the head is parsed
        self._held = b""  # bytes that the parser has not seen
        self._split = False  # the parser saw the head alone
        self._plain = False  # chunks are read here
        self._inside = 0  # bytes of the present chunk that are still to come, its line end with them
        self._ended = False
        self._problem: h11.RemoteProtocolError | None = None

    def ask(
        self, method: str, target: str, headers: Collection[tuple[bytes, bytes]], body: bytes
    ) -> tuple[memoryview, ...]:
        """A request as the pieces to send, as views, whose reprs do not show the secrets in them."""
        lines = b"".join([b"%b: %b\r\n" % header for header in headers])
        head = b"%b %b HTTP/1.1\r\n%b\r\n" % (method.encode("ascii"), target.encode("ascii"), lines)
        ends = len(headers) + 2
        if head.count(b"\r") != ends or head.count(b"\n") != ends or b"\0" in head:
            raise h11.LocalProtocolError("a header holds what would end it")
        self._parser.send(_known(method))
        self._parser.send(_END)
        return (memoryview(head + body),) if len(body) <= _TOGETHER else (memoryview(head), memoryview(body))

    def head(self) -> tuple[int, list[tuple[bytes, bytes]]] | None:
        """Status and headers of the answer; `None` while more bytes are needed."""
        while True:
            event = self._parser.next_event()
            if isinstance(event, h11.Response):
                self._check_head_size()
                headers = event.headers.raw_items()
                if self._split:
                    self._split = False
                    chunked = event.status_code not in (204, 304) and any(name == _CODING for name, _ in event.headers)
                    self._plain = chunked and not self._parser.trailing_data[0]
                    if not self._plain:
                        self._hand_over()
                return event.status_code, headers
            if event is h11.NEED_DATA:
                if not self._held:
                    return None
                self._pass_head()
            elif not isinstance(event, h11.InformationalResponse):
                # 101, or a server that means another request than ours.
                raise h11.RemoteProtocolError("the server changed to another protocol")

    def _check_head_size(self) -> None:
        """Refuse a head that is too large: h11 bounds only one that is still incomplete."""
        received, self._head_bytes = self._head_bytes, 0
        if received > LARGEST_HEAD and received - len(self._parser.trailing_data[0]) - len(self._held) > LARGEST_HEAD:
            what = f"the head of the answer is larger than {LARGEST_HEAD:,} bytes"
            raise h11.RemoteProtocolError(what, error_status_hint=431)

    def piece(self) -> bytes | None:
        """All bytes of the body that are there, empty at its end; `None` while more are needed."""
        pieces = self._chunks() if self._plain else []
        while not (self._plain or self._ended or self._problem):
            try:
                event = self._parser.next_event()
            except h11.RemoteProtocolError as problem:
                self._problem = problem.with_traceback(None)
                break
            if event is h11.NEED_DATA:
                break
            if isinstance(event, h11.Data):
                pieces.append(event.data)
            else:
                self._ended = True
        if pieces:
            return b"".join(pieces)
        if self._problem is not None:
            raise self._problem  # once what came before it was taken
        return b"" if self._ended else None

    def feed(self, data: bytes) -> None:
        """Take bytes that came; none at all means the server closed the connection."""
        waiting_for_head = self._parser.their_state is h11.SEND_RESPONSE
        if waiting_for_head:
            self._head_bytes += len(data)
        if not data:
            if waiting_for_head:
                raise h11.RemoteProtocolError("the server closed the connection without an answer")
            self._hand_over()
            self._parser.receive_data(b"")
        elif self._plain:
            self._held += data
        elif _CHUNKED in data and waiting_for_head:
            self._held += data
            self._pass_head()
        else:
            self._parser.receive_data(data)

    def _pass_head(self) -> None:
        """Give the parser a head and nothing of what follows it, where its end is to be seen."""
        self._split = True
        head, end, self._held = self._held.partition(b"\r\n\r\n")
        self._parser.receive_data(head + end)

    def _hand_over(self) -> None:
        """From here on the parser reads everything itself."""
        held, self._held, self._plain = self._held, b"", False
        if held and not self._inside:
            self._parser.receive_data(held)

    def _chunks(self) -> list[bytes]:
        """The data of the plain chunks that are there."""
        held, at, inside = self._held, 0, self._inside
        pieces: list[bytes] = []
        while True:
            if not inside:
                end = held.find(b"\r\n", at, at + _LONGEST_SIZE + 2)
                if end < 0 and len(held) - at < _LONGEST_SIZE + 2 and (at == len(held) or _LENGTH.match(held, at)):
                    break
                size = held[at:end] if end > at else b""
                try:
                    length = int(size, 16) if size.isalnum() and size[1:2] not in (b"x", b"X") else 0
                except ValueError:
                    length = 0
                if not length:
                    if not _LENGTH.match(held, at):
                        # The parser would wait for the end of such a line, which may never come.
                        self._problem = h11.RemoteProtocolError("illegal chunk header")
                        self._plain = False
                        return pieces
                    self._held = held[at:]
                    self._inside = 0
                    self._hand_over()
                    return pieces
                at = end + 2
                inside = length + 2
            if inside > 2:
                piece = held[at : at + inside - 2]
                if piece:
                    pieces.append(piece)
                at += len(piece)
                inside -= len(piece)
                if inside > 2:
                    break
            ending = held[at : at + inside]
            if not b"\r\n"[2 - inside :].startswith(ending):
                self._problem = h11.RemoteProtocolError("a chunk of the answer is longer than it says")
                self._plain = False
                return pieces
            at += len(ending)
            inside -= len(ending)
            if inside:
                break
        self._held, self._inside = held[at:], inside
        return pieces

    def again(self) -> bool:
        """Whether the exchange ended so that another can follow, which it prepares for."""
        parser = self._parser
        if parser.our_state is not h11.DONE or parser.their_state is not h11.DONE or parser.trailing_data[0]:
            return False
        parser.start_next_cycle()
        self._ended, self._inside = False, 0
        return True
