"""Leftovers of an answer: what a vendor's document or stream says and the reply shows nowhere (`reply.info.leftovers`).

No wire lists such fields. The answer is decoded again, what it shows is encoded again for the same wire, and every field of the
vendor's document that is absent there, or has another value, is left over. Before changing this file, know that it runs only when
the leftovers are read; that opaque state (signatures, encrypted results) counts as not shown; and that a field
too many is harmless here, while one too few is hidden from the caller.
"""

from __future__ import annotations

import json
from difflib import SequenceMatcher
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, TypeGuard

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .. import wires
from ..errors import DecodeError, ResponseTooLargeError
from ..responses.carriers import PREFIX, sender, unseal
from ..responses.stream import Assembler, disassemble
from .answer import decode_body
from .events import StreamReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ..responses.events import AnyEvent
    from ..responses.response import Response
    from .reply import AnswerSource

Json = dict[str, Any]

_ABSENT: Any = object()
_MOST_COMPARED = 2_000
"""Lists of different lengths are compared by their entries up to this length, longer ones by position."""


def leftovers(raw: bytes, source: AnswerSource) -> Json:
    """What an answer says and its reply does not show; the later parts of an answer in several parts are in front."""
    whole = [of_document(body, source.wire, source.dialect) for body in (*source.earlier, raw) if body]
    if len(whole) == 1 and not source.frames:
        return whole[0]
    found: Json = {}
    for one in whole:
        _merge(found, one)
    if source.frames:
        _merge(found, of_stream(source.frames, source.wire, source.dialect))
    return found


def of_document(raw: bytes, wire_name: str, dialect: Any) -> Json:
    """The fields of a whole answer that its reply does not show, in the places of the vendor's document."""
    wire = wires.load(wire_name)
    try:
        response, _ = wire.decode_response(decode_body(raw, wire.RESPONSE), dialect=dialect, keep=False)
    except DecodeError:
        return {}
    shown = _shown(response)
    made, _ = wire.encode_response(shown, dialect=dialect)
    hidden = _Hidden(shown)
    found = _missing(_json(raw), _plain(made), hidden)
    # What the reply has under the same name, such as costs, which the wire's own answers lack.
    found = _missing(found, _plain(shown), hidden)
    return found if _is_object(found) else {}


def of_stream(frames: Sequence[bytes], wire_name: str, dialect: Any) -> Json:
    """The same for a stream, of each field the last value; by event, where the wire names its events."""
    wire = wires.load(wire_name)
    reader, seen = StreamReader(wire, dialect=dialect, keep=False), Assembler()
    steps: list[Callable[[], list[AnyEvent]]] = [*(partial(reader.frame, data) for data in frames), reader.close]
    for step in steps:
        try:
            for event in step():
                seen.feed(event)
        except (DecodeError, ResponseTooLargeError):
            continue
    shown = _shown(seen.response)
    writer = wire.encode_stream(dialect=dialect)
    ours = [document for event in disassemble(shown) for document in writer.feed(event)]
    values = _Values(map(_plain, [*ours, *writer.close()]), named=wire.NAMED_EVENTS)
    last: Json = {}
    for data in frames:
        if _is_object(document := _json(data)):
            _merge(_part_for(last, document, named=wire.NAMED_EVENTS), document)
    hidden = _Hidden(shown)
    if wire.NAMED_EVENTS:
        found: Any = {kind: _unsaid(fields, (kind,), values, hidden) for kind, fields in last.items()}
        return {kind: fields for kind, fields in found.items() if fields is not _ABSENT}
    found = _missing(_unsaid(last, (), values, hidden), _plain(shown), hidden)
    return found if _is_object(found) else {}


def _is_object(value: Any) -> TypeGuard[Json]:
    return isinstance(value, dict)


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _plain(document: Any) -> Any:
    return _json(msgspec.json.encode(document))


def _number(kind: type[int] | type[float]) -> Callable[[str], int | float | str]:
    """Reads a number; as text where it is larger than any number of Python's JSON."""

    def read(text: str) -> int | float | str:
        found = kind(text) if len(text) < 1_000 else inf
        return text if found in (inf, -inf) else found

    return read


_decode = json.JSONDecoder(parse_int=_number(int), parse_float=_number(float)).decode


def _json(data: bytes) -> Any:
    """A JSON text as plain data; `None` where it is none."""
    try:
        return _decode(data.removeprefix(b"\xef\xbb\xbf").decode().strip())
    except (ValueError, RecursionError):
        return None


def _key(value: Any) -> Any:
    """What is equal for equal values: of a filled list or object its type, and true is not 1."""
    if _is_object(value):
        return "{...}" if value else "{}"
    return ("[...]" if value else "[]") if _is_list(value) else (isinstance(value, bool), value)


# --- what a reply shows ---------------------------------------------------------------------------------------------


def _shown(value: Any) -> Any:
    """A response, an item or an event without `leftovers`, which no reader of a reply knows."""
    if _is_list(value):
        made = [_shown(entry) for entry in value]
        return made if any(new is not old for new, old in zip(made, value, strict=True)) else value
    if not isinstance(value, Struct):
        return value
    changes: Json = {}
    for name in value.__struct_fields__:
        old = getattr(value, name)
        new = None if name == "leftovers" else _shown(old)
        if new is not old:
            changes[name] = new
    return replace(value, **changes) if changes else value


class _Hidden:
    """The fields that stand in envelopes of opaque state alone, by their names and values."""

    def __init__(self, shown: Response) -> None:
        self._visible: set[Any] = set()
        self._sealed: set[Any] = set()
        self._add(_plain(shown), "", self._visible)

    def has(self, name: str, value: Any) -> bool:
        """Whether nothing but an envelope has this value of a field, or this text, which may have another name there."""
        key = _key(value)
        if isinstance(value, str) and value:
            return key in self._sealed and key not in self._visible
        return (name, key) in self._sealed and (name, key) not in self._visible

    def _add(self, value: Any, name: str, to: set[Any]) -> None:
        if _is_object(value) and value:
            for field, inner in value.items():
                self._add(inner, _bare(field), to)
        elif _is_list(value) and value:
            for inner in value:
                self._add(inner, name, to)
        elif isinstance(value, str) and value.startswith(PREFIX):
            self._add(_opened(value), "", self._sealed)
        elif value is not None:
            key = _key(value)
            to.update(((name, key), key))
            if to is self._sealed and isinstance(value, str) and value[:1] in ("{", "["):
                self._add(_json(value.encode("utf-8", "surrogatepass")), name, to)


def _opened(envelope: str) -> Any:
    """The payload of an envelope of ours as plain data."""
    place = sender(envelope)
    payload: msgspec.Raw | None = None if place is None else unseal(envelope, *place, msgspec.Raw)
    return None if payload is None else _json(bytes(payload))


# --- whole documents ------------------------------------------------------------------------------------------------


def _missing(theirs: Any, ours: Any, hidden: _Hidden, name: str = "") -> Any:
    """What `ours` lacks of a value of the vendor's document; `_ABSENT` where that is nothing. Null means absent."""
    if theirs is None or theirs is _ABSENT:
        return _ABSENT
    if _is_object(theirs) and _is_object(ours) and theirs:
        left: Json = {}
        by_name = {_bare(field): value for field, value in ours.items()}
        for field, value in theirs.items():
            bare = _bare(field)
            found = _missing(value, by_name.get(bare, _ABSENT), hidden, bare)
            if found is not _ABSENT:
                left[field] = found
        return left or _ABSENT
    if _is_list(theirs) and _is_list(ours) and theirs:
        return _placed([_missing(one, other, hidden, name) for one, other in _pairs(theirs, ours)], theirs)
    return _ABSENT if ours is not _ABSENT and _key(theirs) == _key(ours) and not hidden.has(name, theirs) else theirs


def _bare(name: str) -> str:
    """The name of a field in either notation of a vendor that takes `snake_case` and `camelCase`."""
    return name.replace("_", "").lower()


def _pairs(theirs: list[Any], ours: list[Any]) -> list[tuple[Any, Any]]:
    """Each entry of a list with the one of ours that stands for it."""
    if len(theirs) == len(ours) or max(len(theirs), len(ours)) > _MOST_COMPARED:
        return [(one, ours[i] if i < len(ours) else _ABSENT) for i, one in enumerate(theirs)]
    made = [_ABSENT] * len(theirs)
    one, other = ([json.dumps(entry, sort_keys=True) for entry in each] for each in (theirs, ours))
    for _, start, end, begin, until in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        for i, entry in zip(range(start, end), ours[begin:until], strict=False):
            made[i] = entry
    return list(zip(theirs, made, strict=True))


def _placed(found: list[Any], theirs: list[Any]) -> Any:
    """The leftovers of a list at their positions, with empty values before them."""
    while found and found[-1] is _ABSENT:
        found.pop()
    empty: list[Any] = [{} if _is_object(one) else None for one in theirs[: len(found)]]
    return [before if one is _ABSENT else one for one, before in zip(found, empty, strict=True)] or _ABSENT


# --- streams --------------------------------------------------------------------------------------------------------


def _part_for(whole: Json, event: Json, *, named: bool) -> Json:
    """Where the fields of an event belong: by its type where events have one, else together."""
    kind = event.get("type")
    return whole.setdefault(kind, {}) if named and isinstance(kind, str) else whole


def _merge(into: Json, fields: Json) -> None:
    """Add the fields of an event to those before, of which they replace the values."""
    for name, value in fields.items():
        before = into.get(name)
        if _is_object(value) and _is_object(before):
            _merge(before, value)
        elif _is_list(value) and _is_list(before):
            _merge_entries(before, value)
        elif value is not None:
            into[name] = _copied(value)


def _merge_entries(into: list[Any], entries: list[Any]) -> None:
    for i, entry in enumerate(entries):
        at = i
        if _is_object(entry) and type(place := entry.get("index")) is int and 0 <= place < 1_000:
            at = place
        into += [{} for _ in range(at + 1 - len(into))]
        if _is_object(entry) and isinstance(into[at], dict):
            _merge(into[at], entry)
        elif entry is not None:
            into[at] = _copied(entry)


def _copied(value: Any) -> Any:
    """A copy whose lists have their entries at the positions that they name."""
    if _is_object(value):
        made: Json = {}
        _merge(made, value)
        return made
    if _is_list(value):
        entries: list[Any] = []
        _merge_entries(entries, value)
        return entries
    return value


class _Values:
    """The values of our own events, by the name of their field and of the object that has it."""

    def __init__(self, documents: Iterable[Any], *, named: bool) -> None:
        self._values: dict[tuple[str, ...], set[Any]] = {}
        self._texts: dict[tuple[str, ...], list[str]] = {}
        for document in documents:
            kind = document.get("type") if named and _is_object(document) else None
            for path, value in _leaves(document, (kind,) if isinstance(kind, str) else ()):
                self._values.setdefault(path[-2:], set()).add(_key(value))
                if isinstance(value, str):
                    self._texts.setdefault(path[-2:], []).append(value)

    def say(self, path: tuple[str, ...], value: Any) -> bool:
        """Whether a value, or a text that it is a piece of, is among them."""
        if _key(value) in self._values.get(path[-2:], ()):
            return True
        return isinstance(value, str) and value != "" and value in "".join(self._texts.get(path[-2:], ()))


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if _is_object(value) and value:
        for name, inner in value.items():
            yield from _leaves(inner, (*path, _bare(name)))
    elif _is_list(value) and value:
        for inner in value:
            yield from _leaves(inner, path)
    else:
        yield path, value


def _unsaid(value: Any, path: tuple[str, ...], ours: _Values, hidden: _Hidden) -> Any:
    """What our events lack of a value; `_ABSENT` where that is nothing."""
    if _is_object(value) and value:
        fields = value.items()
        found = {name: _unsaid(each, (*path, _bare(name)), ours, hidden) for name, each in fields}
        return {name: each for name, each in found.items() if each is not _ABSENT} or _ABSENT
    if _is_list(value) and value:
        return _placed([_unsaid(each, path, ours, hidden) for each in value], value)
    return _ABSENT if value is None or (ours.say(path, value) and not hidden.has(path[-1], value)) else value
