"""Streams of a wire as bytes, from and to Responses events: framing, decoding and stream machines combined.

Sans-IO: `feed` bytes or events, `close` at the end. Before changing this file, know that it combines existing parts (`framing`, a
wire's `EVENT` decoder, its stream machines) for any wire; the conversion of a vendor's stream is in `wires/<name>/stream.py`.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import DecodeError, ResponseTooLargeError
from ..transport.framing import LIMIT, NDJSON, SSE, Frame, check_entries
from ..unknown import check_depth

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..losses import Loss
    from ..responses.events import AnyEvent
    from ..responses.request import Request
    from ..wires import Wire

_encode = msgspec.json.Encoder().encode


_SHALLOW = 16_384
"""A document up to this size cannot nest so deep that decoding it exhausts a thread's stack."""


def check_size(document: bytes) -> None:
    """Return if decoding a document takes little time and stack, else raise `ResponseTooLargeError` or `DecodeError`."""
    if len(document) > _SHALLOW:
        check_entries(document)
        check_depth(document)


class StreamReader:
    """Decodes the bytes of a vendor's stream to Responses events, incrementally.

    `feed` raises `DecodeError` for a frame that is not a document of the wire, and `ResponseTooLargeError` for one beyond `limit`
    bytes or of too many entries; earlier events in the same bytes are returned first and the next call raises.
    A stream that ends before its last event has no terminal event. `decoding` are further options of the wire's decoder.
    """

    def __init__(
        self,
        wire: Wire[Any, Any, Any],
        *,
        dialect: Any,
        request: Request | None = None,
        now: float = 0,
        limit: int = LIMIT,
        **decoding: Any,
    ) -> None:
        self._framing: Callable[[], NDJSON | SSE] = partial(NDJSON if wire.FRAMING == "ndjson" else SSE, limit=limit)
        self._frames = self._framing()
        self._decode = wire.EVENT.decode
        self._ends = (b"[DONE]", wire.END)
        self._machine = wire.decode_stream(request=request, dialect=dialect, now=now, **decoding)
        self._halves = SplitSurrogates()
        self._problem: DecodeError | ResponseTooLargeError | None = None
        self._ended = False

    @property
    def losses(self) -> list[Loss]:
        """The conversion losses so far."""
        return self._machine.losses

    @property
    def finished(self) -> bool:
        """Whether the last event has arrived, so that only details may follow until the body ends."""
        return getattr(self._machine, "finished", False)

    def checkpoint(self) -> str | None:
        """The token to resume with if the body ends or breaks off now; `None` where the answer cannot be resumed."""
        checkpoint = getattr(self._machine, "checkpoint", None)
        return checkpoint() if checkpoint is not None else None

    def resume(self) -> None:
        """Read another body that resumes the answer at the checkpoint."""
        machine: Any = self._machine
        machine.resume()
        self._frames, self._halves, self._problem = self._framing(), SplitSurrogates(), None

    def document(self, document: Any) -> list[AnyEvent]:
        """The events of a whole document that was sent instead of a stream."""
        return self._machine.feed(document)

    def feed(self, chunk: bytes) -> list[AnyEvent]:
        """The events that `chunk` completes."""
        return self._events(self._frames.feed(chunk))

    def close(self) -> list[AnyEvent]:
        """The remaining events, which are known only at the end of the stream."""
        return self._events(self._frames.close()) + self._end()

    def _events(self, frames: list[Frame]) -> list[AnyEvent]:
        if self._problem is not None:
            raise self._problem
        events: list[AnyEvent] = []
        decode, feed = self._decode, self._machine.feed
        for _, data in frames:
            if self._ended:
                break
            # Hosts put blanks around the end mark, send it where the wire has none, and send events without data.
            if len(data) < 16 and ((mark := data.strip()) == b"" or mark in self._ends):
                events += self._end(marked=True) if mark and self.checkpoint() is None else ()
                continue
            try:
                check_size(data)
                document = decode(data)
            except (DecodeError, ResponseTooLargeError) as problem:
                document = self._repaired(data) if isinstance(problem, DecodeError) else None
                if document is None:
                    if not events:
                        raise
                    self._problem = problem.with_traceback(None)
                    break
            events += feed(document)
        return events

    def _end(self, *, marked: bool = False) -> list[AnyEvent]:
        """The events held back until the end. On a wire with an end mark, an answer with the mark is complete."""
        if self._ended:
            return []
        self._ended = True
        return (getattr(self._machine, "end", None) or self._machine.close)() if marked else self._machine.close()

    def _repaired(self, data: bytes) -> Any:
        """The document with split characters joined; `None` where these are not the cause of the failure."""
        whole = self._halves.joined(data)
        if whole == data:
            return None
        try:
            check_depth(whole)
            return self._decode(whole)
        except DecodeError:
            return None


class SplitSurrogates:
    """Repairs documents with half a character: some hosts split a text inside an escaped emoji (surrogate pair).

    `joined` puts the first half, which ended a text of one document, before the second one, which begins a text of a later
    one. A half anywhere else is replaced.
    """

    def __init__(self) -> None:
        self._first = b""

    def joined(self, data: bytes) -> bytes:
        """The document as JSON that can be decoded; unchanged without split characters."""
        first, self._first = self._first, b""

        def mend(found: re.Match[bytes]) -> bytes:
            if found["first"] and data[found.end() : found.end() + 1] == b'"':
                self._first = found[0]
                return b""
            if found["second"] and first and data[found.start() - 1 : found.start()] == b'"':
                return first + found[0]
            return b"\\ufffd" if found["first"] or found["second"] else found[0]

        return re.sub(_ESCAPE, mend, data)


_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE = rb"%s%s|(?P<first>%s)|(?P<second>%s)|\\." % (_HIGH, _LOW, _HIGH, _LOW)
"""An escape in a JSON text: a whole surrogate pair, one half of it, or any other escape."""


class StreamWriter:
    """Encodes Responses events to the bytes of a wire's stream, incrementally."""

    def __init__(self, wire: Wire[Any, Any, Any], *, dialect: Any = None, request: Request | None = None) -> None:
        self._frame = NDJSON.encode if wire.FRAMING == "ndjson" else SSE.encode
        self._named = wire.NAMED_EVENTS
        self._end = wire.END
        known = {} if dialect is None else {"dialect": dialect}
        self._machine = wire.encode_stream(request=request, **known)

    @property
    def losses(self) -> list[Loss]:
        """The conversion losses so far."""
        return self._machine.losses

    def feed(self, event: AnyEvent) -> bytes:
        """The bytes for `event`; empty where there are none yet."""
        return self._bytes(self._machine.feed(event))

    def close(self) -> bytes:
        """The bytes that end the stream, its end mark included."""
        rest = self._bytes(self._machine.close())
        return rest if self._end is None else rest + self._frame(self._end)

    def _bytes(self, documents: list[Any]) -> bytes:
        if not self._named:
            return b"".join([self._frame(_encode(document)) for document in documents])
        return b"".join([self._frame(_encode(document), kind_of(document)) for document in documents])


def kind_of(document: Any) -> str:
    """The `type` of a wire's event: its struct's tag, or that of an unknown event."""
    if isinstance(document, dict):
        return str(document.get("type", ""))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    return str(document.__struct_config__.tag or "")
