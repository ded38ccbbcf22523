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
        self.kept = None if decoding.get("keep", True) else KeptFrames()
        """The frames from which the leftovers are read; `None` where the answer itself keeps them."""

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
        frames = self._frames.feed(chunk)
        events = self._events(frames)
        if self.kept is not None:
            self.kept.add(frames, events)
        return events

    def frame(self, data: bytes) -> list[AnyEvent]:
        """The events of the data of one frame."""
        return self._events([Frame("", data)])

    def close(self) -> list[AnyEvent]:
        """The remaining events, which are known only at the end of the stream."""
        frames = self._frames.close()
        if self.kept is not None:
            self.kept.add(frames, [])
        return self._events(frames) + self._end()

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


class KeptFrames:
    """The frames of a stream from which its leftovers are read: all of a short one; of a long one the last of each shape.

    The shape of a frame is the names of its fields. Frames that are larger than the limit lose their longest values.
    """

    __slots__ = ("_beside", "_long", "_received", "_size")

    MOST = 64 * 1024
    """The most bytes that are kept."""

    def __init__(self) -> None:
        self._received: list[list[Frame]] = []
        self._size = 0
        self._long = False
        self._beside = -1  # how long the last frame is without its text

    def add(self, frames: list[Frame], events: list[AnyEvent]) -> None:
        """Keep frames; `events` are what they were decoded to."""
        if self._long and len(frames) == len(events):
            for frame, event in zip(frames, events, strict=True):
                text = getattr(event, "delta", None)
                beside = len(frame.data) - len(text) if isinstance(text, str) else -1
                if beside == self._beside != -1:  # the frame before with another text
                    self._received[-1] = [frame]
                else:
                    self._received.append([frame])
                    self._size += len(frame.data)
                    self._beside = beside
        elif frames:
            self._received.append(frames)
            self._size += sum([len(frame.data) for frame in frames])
            self._beside = -1
        if self._size > self.MOST:
            self._reduce()

    def data(self) -> tuple[bytes, ...]:
        """The data of the frames, in their order."""
        return tuple(data for frames in self._received for _, data in frames)

    def _reduce(self) -> None:
        """Keep the last frame of each shape, at most half of the limit, the later ones first."""
        last: dict[tuple[bytes, ...], Frame] = {}
        _find_shapes([frame for frames in self._received for frame in frames], last)
        kept: list[Frame] = []
        left = self.MOST // 2
        for frame in reversed(last.values()):
            if len(frame.data) > _LONG:
                frame = Frame(frame.event, _shortened(frame.data))
            if len(frame.data) <= left:
                kept.append(frame)
                left -= len(frame.data)
        kept.reverse()
        self._received, self._size, self._long, self._beside = [kept], self.MOST // 2 - left, True, -1


def _find_shapes(frames: list[Frame], last: dict[tuple[bytes, ...], Frame]) -> None:
    """Set the last frame of each shape. Nearly all frames in a row have one shape, so they are compared together."""
    shape = tuple(re.findall(_NAME, frames[-1].data))
    if len(frames) > 1:
        whole = b"".join([data for _, data in frames])
        others = whole.count(b'":') - len(shape) * len(frames)  # names in other frames, or colons in texts
        if (others and others != whole.count(b'\\":')) or not all(
            whole.count(b'"%s":' % name) == shape.count(name) * len(frames) for name in {*shape} - _USUAL
        ):
            _find_shapes(frames[: len(frames) // 2], last)
            _find_shapes(frames[len(frames) // 2 :], last)
            return
    last.pop(shape, None)
    last[shape] = frames[-1]


_USUAL = frozenset(b"type id model object created choices index delta role content text message parts done".split())
"""Names that need no comparison, because the events of a wire that have them all have them. Short names are found slowly."""
_NAME = rb'"([^"\\]*+)"\s*+:'
"""A name of a field in a JSON text."""
_LONG = 4_096


def _shortened(data: bytes) -> bytes:
    """A document without its long texts and lists, which are content."""

    def short(value: Any) -> Any:
        if isinstance(value, dict):
            made: dict[str, Any] = {}
            for name, inner in value.items():  # pyright: ignore[reportUnknownVariableType]
                if not (isinstance(inner, str | list) and len(inner) > 256):  # pyright: ignore[reportUnknownArgumentType]
                    made[str(name)] = short(inner)  # pyright: ignore[reportUnknownArgumentType]
            return made
        return [short(inner) for inner in value] if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType]

    try:
        return _encode(short(msgspec.json.decode(data)))
    except (msgspec.MsgspecError, RecursionError):
        return b""


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
