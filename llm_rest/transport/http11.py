"""HTTP/1.1 on one connection, without I/O: bytes to send for a request, and an answer from bytes that came.

Answers are parsed by h11 (0.16, read 2026-11-20); requests are written here, whose headers were checked before. Before changing
this file, know what it refuses to do: a connection is used again only when both sides are done and nothing follows the
answer, because what follows would be taken for the next answer.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import h11

if TYPE_CHECKING:
    from collections.abc import Collection

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
