"""Documents of the Responses format from outside: without `leftovers` and `extra`, which only our own saved data has.

Both are written into requests to vendors, on any wire, so a host or a client that could set them would put words into the
conversation that a reader of its text never sees. Before changing this file, know that it works on the bytes of a
document, before its decoder, so that a value of any type is ignored; that the rest is preserved as it came; and that
documents without these names must cost nothing. What was left out is noted where it was (`STRIPPED`), and the wire's
converters report it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Raw

from ..errors import DecodeError
from ..unknown import Decoder, as_list, as_object, check_depth
from .lenient import STRIPPED, WIRE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from ..losses import Losses
    from .parts import Leftovers

T = TypeVar("T")

OURS = ("leftovers", "extra")
"""Fields of this library's structs that are not part of the format; only requests have `extra`."""

HOLDERS = ("input", "output", "data", "item", "part", "annotation")
"""The fields of a document or an event that hold an item, a part or an annotation, or a list of items: each has its note."""

INNER = ("usage", "instructions", "content", "output", "summary", "annotations")
"""The fields whose objects may have leftovers too, which the document or the item around them notes."""

_DEEPEST = 4
"""The levels of `INNER` below a document: an item of the instructions, a part, an annotation; and one more."""


@cache
def _pattern(name: str) -> re.Pattern[bytes]:
    """The pattern of a field's name in JSON, where any letter may be an escape."""
    letters = (rf"(?:{letter}|\\u00(?i:{ord(letter):02x}))" for letter in name)
    return re.compile(('"' + "".join(letters) + r'"\s*:').encode())


_ESCAPE, _LEFTOVERS = b"\\u00", b"leftovers"

_objects = msgspec.json.Decoder(dict[str, Raw])
_arrays = msgspec.json.Decoder(list[Raw])
_encode = msgspec.json.Encoder().encode


class ReceivedDecoder(Decoder[T]):
    """The decoder of a document or an event that a host or a client sent: without the fields `names`, which are noted.

    `notes` is whether the document itself has leftovers, and so a place for a note. `without` are structs that have no
    place for such fields, as most events of a stream.
    """

    __slots__ = ("_also", "_names", "_notes", "_without", "inner")

    def __init__(
        self,
        decoder: Decoder[T],
        names: Sequence[str] = OURS[:1],
        *,
        notes: bool = True,
        without: Collection[type] = (),
    ) -> None:
        self._type = decoder._type
        self.inner = decoder
        """The decoder of such documents of our own."""
        self._notes = notes
        self._without = without
        self._names = names
        self._also = names[1].encode() if len(names) > 1 else b""

    def decode(self, data: bytes | bytearray | str) -> T:
        """The document in `data`. Raises `DecodeError` with the path, the expected and the actual value."""
        if self._without:
            try:  # `suppress` takes as long as the decoding
                if type(found := self.inner.decode(data)) in self._without:
                    return found
            except DecodeError:
                pass
        raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
        # Nearly every document has neither, and these searches are fast.
        if (_ESCAPE in raw or _LEFTOVERS in raw or (self._also and self._also in raw)) and any(
            _pattern(n).search(raw) for n in self._names
        ):
            return self.inner.decode(bytes(_without(bytes(raw), self._names, notes=self._notes)))
        return self.inner.decode(data)


def _without(raw: bytes, names: Sequence[str], *, notes: bool) -> bytes | Raw:
    """The document without these fields; as it is where it is no JSON object, which its decoder reports."""
    try:
        raw = raw.removeprefix(b"\xef\xbb\xbf")
        if not raw.isascii():
            raw.decode()
        check_depth(raw)
        return _document(Raw(raw), names, notes=notes)
    except (msgspec.MsgspecError, UnicodeError, DecodeError):
        return raw


def _document(raw: Raw, names: Sequence[str], *, notes: bool = True, event: bool = True) -> Raw:
    """A document, or an event, whose answer, items and parts have notes of their own."""
    stripped: list[str] = []
    fields = _stripped(raw, names, "", 0, stripped)
    changed = bool(stripped)
    for name in HOLDERS:
        if name in fields:
            changed |= _change(fields, name, lambda one, _: _item(one))
    if event and "response" in fields:
        changed |= _change(fields, "response", lambda one, _: _document(one, OURS[:1], event=False))
    return _noted(fields, stripped if notes else []) if changed else raw


def _item(raw: Raw) -> Raw:
    stripped: list[str] = []
    fields = _stripped(raw, OURS[:1], "", 1, stripped)
    return _noted(fields, stripped) if stripped else raw


def _stripped(raw: Raw, names: Sequence[str], path: str, level: int, found: list[str]) -> dict[str, Raw]:
    """The fields of an object but those named, and without leftovers in the objects in it; `found` gets their paths."""
    fields = _objects.decode(raw)
    for name in names:
        if name in fields:
            del fields[name]
            found.append(f"{path}{name}")

    def inner(one: Raw, place: str) -> Raw:
        before = len(found)
        below = _stripped(one, OURS[:1], f"{path}{place}.", level + 1, found)
        return Raw(_encode(below)) if len(found) > before else one

    for name in INNER if level < _DEEPEST else ():
        if name in fields and not (level == 0 and name in HOLDERS):
            _change(fields, name, inner)
    return fields


def _change(fields: dict[str, Raw], name: str, change: Callable[[Raw, str], Raw]) -> bool:
    """Change an object in a field, or each object of a list there; whether any is another one then.

    What has not changed is a part of the document itself, since a copy at each level would be many times its size.
    """
    old = fields[name]
    first = _first(old)
    if first == b"{":
        fields[name] = change(old, name)
        return fields[name] is not old
    if first != b"[":
        return False
    entries = _arrays.decode(old)
    new = [change(one, f"{name}[{i}]") if _first(one) == b"{" else one for i, one in enumerate(entries)]
    if all(one is other for one, other in zip(new, entries, strict=True)):
        return False
    fields[name] = Raw(_encode(new))
    return True


def _first(raw: Raw) -> bytes:
    return memoryview(raw)[:1].tobytes()


def _noted(fields: dict[str, Raw], stripped: list[str]) -> Raw:
    return Raw(_encode({**fields, "leftovers": {WIRE: {STRIPPED: stripped}}} if stripped else fields))


def report_received(leftovers: Leftovers, path: str, lost: Losses) -> None:
    """Report what a `ReceivedDecoder` left out of the object at `path`, which may be the document itself."""
    for place in as_list(as_object(leftovers.get(WIRE)).get(STRIPPED)):
        what = "only saved data of this library has it, and not what a host or a client sends"
        lost.dropped(f"{path}.{place}" if path else str(place), what)
