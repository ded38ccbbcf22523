"""Framing of streams: Server-Sent Events (SSE) and newline-delimited JSON, from bytes to frames and back; JSON entry limits.

Follows "Server-sent events" of the WHATWG HTML standard and the NDJSON convention (read 2026-11-20), with two additions for
vendors: a last event without its blank line counts, and bare JSON between events is a frame of its own. Before changing this
file, know that it never decodes text: a split character, U+2028 and a 30 MB line are only bytes, and every byte is read a
constant number of times, however the network splits the stream.
"""

from __future__ import annotations

from typing import NamedTuple

from ..errors import ResponseTooLargeError

LIMIT = 64 * 1024 * 1024
"""The maximum size of one event or line, in bytes."""


class Frame(NamedTuple):
    """A frame of a stream: the event's name ("" without one) and its data."""

    event: str
    data: bytes


class SSE:
    """Server-Sent Events: `feed` returns the frames that the bytes complete, `close` a last one without its end.

    Raises `ResponseTooLargeError` when one event exceeds `limit` bytes.
    """

    __slots__ = ("_limit", "_pieces", "_size", "_skip_lf", "_started")

    def __init__(self, *, limit: int = LIMIT) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []  # the incomplete event, line ends already LF
        self._size = 0
        self._skip_lf = False  # the last chunk ended in CR, so a leading LF belongs to that line end
        self._started = False

    def feed(self, chunk: bytes) -> list[Frame]:
        """The frames completed by `chunk`."""
        if self._skip_lf or b"\r" in chunk:
            chunk = self._only_lf(chunk)
        if not chunk:
            return []
        pieces = self._pieces
        if b"\n\n" not in chunk and not (pieces and chunk[0] == 10 and pieces[-1].endswith(b"\n")):
            pieces.append(chunk)
            self._grow(len(chunk))
            return []
        if pieces:
            self._grow(chunk.find(b"\n\n"))
            pieces.append(chunk)
            chunk = b"".join(pieces)
            pieces.clear()
        *blocks, rest = chunk.split(b"\n\n")
        self._size = len(rest)
        if rest:
            pieces.append(rest)
        if not self._started:
            self._started = True
            blocks[0] = blocks[0].removeprefix(_BOM)
        return [frame for block in blocks if (frame := _frame(block)) is not None]

    def close(self) -> list[Frame]:
        """The last frame, where the stream ended without a blank line."""
        block = b"".join(self._pieces).rstrip(b"\n")
        self._pieces.clear()
        self._size = 0
        frame = _frame(block if self._started else block.removeprefix(_BOM))
        return [] if frame is None else [frame]

    @staticmethod
    def encode(data: bytes, event: str = "") -> bytes:
        """One event as bytes: `data`, which is JSON or an end mark, in one line."""
        head = b"event: " + event.encode("utf-8", "replace").translate(_SPACES) + b"\n" if event else b""
        return head + b"data: " + one_line(data) + b"\n\n"

    def _only_lf(self, chunk: bytes) -> bytes:
        """`chunk` with every line end as LF, also where a CRLF was split."""
        if self._skip_lf and chunk:
            self._skip_lf = False
            chunk = chunk.removeprefix(b"\n")
        if chunk.endswith(b"\r"):
            self._skip_lf = True
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > self._limit:
            self._pieces.clear()  # the error's traceback keeps this object
            raise ResponseTooLargeError(f"one event of the stream has more than {self._limit} bytes")


_BOM = b"\xef\xbb\xbf"


def _frame(block: bytes) -> Frame | None:
    """The event in the lines of `block`; `None` where no line is data."""
    # Nearly every event has one of these two forms, and no line end inside its data.
    if block.startswith(b"data: "):
        if b"\n" not in block:
            return Frame("", block[6:])
    elif block.startswith(b"event: "):
        name, found, data = block.partition(b"\ndata: ")
        if found and b"\n" not in data and b"\n" not in name:
            return Frame(name[7:].decode("utf-8", "replace"), data)
    return _frame_of_lines(block.split(b"\n"))


def _frame_of_lines(lines: list[bytes]) -> Frame | None:
    event, data, bare = "", list[bytes](), False
    for line in lines:
        if bare or line[:1] in (b"{", b"["):
            bare = True
            data.append(line)
        else:
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data":
                data.append(value)
            elif field == b"event":
                event = value.decode("utf-8", "replace")
    return Frame(event, b"\n".join(data)) if data else None


class NDJSON:
    """Newline-delimited JSON: one frame a line, blank lines skipped.

    Raises `ResponseTooLargeError` beyond `limit` bytes a line.
    """

    __slots__ = ("_limit", "_line", "_size")

    def __init__(self, *, limit: int = LIMIT) -> None:
        self._limit = limit
        self._line: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[Frame]:
        """The frames completed by `chunk`."""
        lines = chunk.split(b"\n")
        if len(lines) > 1 and self._line:
            lines[0] = b"".join(self._line) + lines[0]
            self._line.clear()
            self._size = 0
        last = lines.pop()
        if last:
            self._line.append(last)
            self._size += len(last)
            if self._size > self._limit:
                self._line.clear()
                raise ResponseTooLargeError(f"one line of the stream has more than {self._limit} bytes")
        return [Frame("", data) for line in lines if (data := line.strip())]

    def close(self) -> list[Frame]:
        """The last line, if it has no line end."""
        data = b"".join(self._line).strip()
        self._line.clear()
        self._size = 0
        return [Frame("", data)] if data else []

    @staticmethod
    def encode(data: bytes, event: str = "") -> bytes:
        """One line as bytes; NDJSON has no event names."""
        return one_line(data) + b"\n"


_SPACES = bytes.maketrans(b"\r\n", b"  ")
_SEPARATORS = tuple((char.encode(), f"\\u{ord(char):04x}".encode()) for char in "\u0085\u2028\u2029")
"""Characters at which line readers of several languages split, but which JSON strings may contain; with their escapes."""


def one_line(text: bytes) -> bytes:
    """The JSON in `text` without characters that a client may treat as the end of a line.

    Line breaks are between tokens only, where a space is equivalent: models write them in the arguments of calls, which
    some wires keep unchanged. Unicode separators are inside strings only, where their escape is equivalent.
    """
    if b"\n" in text or b"\r" in text:
        text = text.translate(_SPACES)
    if not text.isascii():
        for separator, escape in _SEPARATORS:
            text = text.replace(separator, escape)
    return text


# --- the number of entries of a JSON text -----------------------------------------------------------------------------

ENTRIES = 250_000
"""The maximum number of entries of one answer, or of one event of a stream, that is decoded: see `EntryCounter`."""


class EntryCounter:
    """Counts the entries of a JSON text without decoding it: `{`, `[` and `,` outside strings.

    The time and the memory that decoding takes grow with the entries, not with the bytes: a text of 3 MB may be one
    string or a million objects. `feed` takes pieces of the text, split anywhere, and returns the number of entries so
    far. It is exact up to the first invalid character, where a decoder stops.
    """

    __slots__ = ("_escaped", "_in_string", "entries")

    def __init__(self) -> None:
        self.entries = 0
        self._in_string = False
        self._escaped = False  # the last piece ended in the backslash of an escape

    def feed(self, piece: bytes) -> int:
        """The number of entries so far, including those of `piece`."""
        if self._escaped and piece:
            self._escaped = False
            piece = piece[1:]
        if b"\\" in piece:
            piece = self._without_escapes(piece)
        if self._in_string and b'"' not in piece:
            return self.entries  # in the middle of a long string
        marks = piece.translate(None, _NO_MARKS)
        # Where two quotes are adjacent, there is no entry between them, inside or outside of a string.
        outside = marks.replace(b'""', b"").split(b'"')[self._in_string :: 2]
        self.entries += sum(map(len, outside))
        self._in_string ^= marks.count(b'"') % 2 == 1
        return self.entries

    def _without_escapes(self, piece: bytes) -> bytes:
        piece = piece.replace(b"\\\\", b"")
        if piece.endswith(b"\\"):
            self._escaped = True
        return piece.replace(b'\\"', b"")


_NO_MARKS = bytes(byte for byte in range(256) if byte not in b'{[,"')
_WINDOW = 64 * 1024


def exceeds_entries(text: bytes, limit: int) -> bool:
    """Whether a whole JSON text has more than `limit` entries."""
    if text.count(b"{") + text.count(b"[") + text.count(b",") <= limit:
        return False  # even if all of them are outside strings
    counter = EntryCounter()
    return any(counter.feed(text[start : start + _WINDOW]) > limit for start in range(0, len(text), _WINDOW))


def check_entries(text: bytes, limit: int = ENTRIES) -> None:
    """Return if an answer, or an event of a stream, is small enough to decode, else raise `ResponseTooLargeError`."""
    if exceeds_entries(text, limit):
        raise ResponseTooLargeError(f"the answer has more than {limit:,} JSON objects, lists and entries of them")
