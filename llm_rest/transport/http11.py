"""HTTP/1.1 on one connection, without I/O: bytes to send for a request, and an answer from bytes that came.

The parser is h11 (0.16, read 2026-11-20). Before changing this file, know what it refuses to do: a connection is used again
only when both sides are done and nothing follows the answer, because what follows would be taken for the next answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import h11

if TYPE_CHECKING:
    from collections.abc import Iterable

READ_AT_ONCE = 65_536
LARGEST_HEAD = 102_400
"""How large the head of an answer, or a line of chunked framing, may be."""

_TOGETHER = 65_536
"""A body up to this size leaves together with its head."""


class Http11:
    """What one side knows of a connection. Ask, then feed until there is a head, then until there are no more pieces."""

    __slots__ = ("_ended", "_parser", "_problem")

    def __init__(self) -> None:
        self._parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=LARGEST_HEAD)
        self._ended = False
        self._problem: h11.RemoteProtocolError | None = None

    def ask(
        self, method: bytes, target: bytes, headers: Iterable[tuple[bytes, bytes]], body: bytes
    ) -> tuple[bytes, ...]:
        """A request as the pieces to send."""
        parser = self._parser
        head = parser.send(h11.Request(method=method, target=target, headers=list(headers))) or b""
        sent = parser.send(h11.Data(data=body)) or b"" if body else b""
        end = parser.send(h11.EndOfMessage()) or b""
        return (head + sent + end,) if len(sent) <= _TOGETHER else (head, sent)

    def head(self) -> tuple[int, list[tuple[bytes, bytes]]] | None:
        """Status and headers of the answer; `None` while more bytes are needed."""
        while True:
            event = self._parser.next_event()
            if isinstance(event, h11.Response):
                return event.status_code, event.headers.raw_items()
            if event is h11.NEED_DATA:
                return None
            if not isinstance(event, h11.InformationalResponse):
                raise h11.RemoteProtocolError("the server changed to another protocol")

    def piece(self) -> bytes | None:
        """All bytes of the body that are there, empty at its end; `None` while more are needed."""
        if self._problem is not None:
            raise self._problem
        pieces: list[bytes] = []
        while not self._ended:
            try:
                event = self._parser.next_event()
            except h11.RemoteProtocolError as problem:
                if not pieces:
                    raise
                self._problem = problem.with_traceback(None)  # of what comes after these pieces
                break
            if event is h11.NEED_DATA:
                break
            if isinstance(event, h11.Data):
                pieces.append(event.data)
            else:
                self._ended = True
        return b"".join(pieces) if pieces or self._ended else None

    def feed(self, data: bytes) -> None:
        """Take bytes that came; none at all means the server closed the connection."""
        if not data and self._parser.their_state is h11.SEND_RESPONSE:
            raise h11.RemoteProtocolError("the server closed the connection without an answer")
        self._parser.receive_data(data)

    def again(self) -> bool:
        """Whether the exchange ended so that another can follow, which it prepares for."""
        parser = self._parser
        if parser.our_state is not h11.DONE or parser.their_state is not h11.DONE or parser.trailing_data[0]:
            return False
        parser.start_next_cycle()
        self._ended = False
        return True
