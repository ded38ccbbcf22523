"""Comparison of a document with its re-encoding, and restoring of the differences (`diff` and `patch`).

`diff` compares a document with our encoding of its conversion to Responses, and `patch` restores the difference in the next
encoding, where the same place is unchanged. A field that our encoding omits is under its own name, which other wires report.
A field with another notation is under `spelling` as its original JSON text and a digest of ours, and is restored only if our
encoding is the same; where that depends on the model, the digest is of the option of Responses itself. A note that does not
fit although no option was edited is reported. Before changing this file, know that leftovers may be forged: a decoder checks
restored values.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from operator import attrgetter, itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_type_hints

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import fields as struct_fields
from msgspec.structs import replace

from ..errors import DecodeError
from ..responses import (
    CustomToolCall,
    CustomToolCallOutput,
    FunctionCall,
    FunctionCallOutput,
    InputText,
    Message,
    OutputText,
    Request,
)
from ..responses.carriers import (
    BEGINS,
    EMPTIED,
    ENTRIES,
    GROUP,
    MAX_SIZE,
    NEAR,
    PLACE,
    SPELLING,
    WITHIN,
    digest,
    inexact,
    own,
    report_foreign,
    unsaid,
)
from ..unknown import Decoder, Model, Unknown, as_list, as_object, extras, plain_json, with_extras
from .leftovers import report_unknown, struct_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from ..losses import Losses
    from ..responses.items import AnyItem

Json = dict[str, Any]
S = TypeVar("S", bound=Model)

MOST_UNKNOWN = 256
"""The most fields that no struct declares, as in the decoders."""

_encode = msgspec.json.Encoder().encode
_MISFITS = (DecodeError, msgspec.MsgspecError, TypeError, ValueError, RecursionError)


class Rules(Struct, frozen=True):
    """Rules of a wire for the comparison of its fields, by the names they have in its documents."""

    apart: frozenset[str] = frozenset()
    """Fields that are compared elsewhere."""
    groups: frozenset[str] = frozenset()
    """Objects that only group fields: their leftovers omit the fields that our encoding has there."""
    together: tuple[tuple[str, ...], ...] = ()
    """Fields with one joint meaning: they are stored and restored together."""
    defaults: Mapping[str, Any] = MappingProxyType({})
    """Values that mean the same as leaving the field out, so that no other wire loses anything by them: one, several in
    a tuple, or `...` for any value of a field that other fields of ours express as well."""
    words: frozenset[str] = frozenset()
    """Fields in which another value than ours is more than notation, and reported by other wires."""
    near: frozenset[str] = frozenset()
    """Objects and lists whose differences other wires report."""


NO_RULES = Rules()
UNEDITED = "unedited"
"""Key of the note on the options of a request: whether any was edited since its document was read."""


# --- comparing ------------------------------------------------------------------------------------------------------


def diff(original: Model, encoded: Model, rules: Rules = NO_RULES) -> Json:
    """The fields of `original` that `encoded`, our re-encoding of it, lacks; empty where they are the same.

    In a list of `encoded` the entry `None` represents an entry of `original` that has no equivalent.
    """
    if _same(original, encoded) or struct_of(original) is not struct_of(encoded):
        return {}
    left, notes = _unknown(original, encoded)
    fields = _fields(struct_of(encoded))
    compared = set(rules.apart)
    for names in rules.together:
        ours = [getattr(encoded, fields[name], UNSET) for name in names if name in fields]
        if len(ours) == len(names) and not all(map(_is_absent, ours)):
            originals = [getattr(original, fields[name]) for name in names]
            compared.update(names)
            if not all(map(_same, originals, ours)):
                notes[" ".join(names)] = [[_text(one) for one in originals], _mark([_text(one) for one in ours])]
                for name, one, other in zip(names, originals, ours, strict=True):
                    if _is_unusual_word(name, one, other, rules):
                        notes[NEAR] = {**notes.get(NEAR, {}), name: inexact(one)}
    values = _values(struct_of(encoded))
    for name, one, other in zip(fields, values(original), values(encoded), strict=False):
        if one is not other and name not in compared and not _same(one, other):
            _compare(name, one, other, rules, left, notes)
    return {**left, SPELLING: notes} if notes else left


def unknown(original: Model, *declared: str) -> Json:
    """The fields of a document, and of the objects in it, that no struct and not `declared` has, as in `diff`."""
    kind = struct_of(original)
    left, notes = _unknown(original) if kind is not type(original) else ({}, {})
    for name, value in zip(_fields(kind), _values(kind)(original), strict=False):
        if isinstance(value, Model) and (inner := unknown(value, *declared)):
            left[name], notes[name] = inner, WITHIN
        elif name in declared and value is not UNSET:
            left[name] = _plain(value)
    return {**left, SPELLING: notes} if notes else left


def _unknown(original: Model, encoded: Model | None = None) -> tuple[Json, Json]:
    ours = extras(encoded) if encoded is not None else {}
    left = {name: value for name, value in extras(original).items() if name not in ours or not _same(value, ours[name])}
    # A field with the name of our notes is among them.
    return left, {SPELLING: [_text(left.pop(SPELLING)), ""]} if SPELLING in left else {}


def _compare(name: str, one: Any, other: Any, rules: Rules, left: Json, notes: Json) -> None:
    """Store the difference of one field: `one` in the document, `other` in our encoding."""
    if isinstance(one, Model) and name in rules.groups and _is_absent(other):
        left[name], notes[name] = diff(one, struct_of(one)(), rules), GROUP
    elif one is UNSET and isinstance(other, Model) and name in rules.groups:
        # The group is ours alone: what we write in it is noted by field, and nothing remains of it without that.
        left[name], notes[name] = diff(struct_of(other)(), other, rules), EMPTIED
    elif one is not UNSET and _is_absent(other) and not _is_default(one, rules.defaults.get(name, UNSET)):
        left[name] = _plain(one)
    elif isinstance(one, Model) and isinstance(other, Model) and struct_of(one) is struct_of(other):
        if inner := diff(one, other, rules):
            left[name], notes[name] = inner, GROUP if name in rules.groups else WITHIN
    elif isinstance(one, list) and isinstance(other, list) and _are_alike(cast("Any", one), cast("Any", other)):
        left[name], notes[name] = _diff_entries(cast("Any", one), cast("Any", other), rules), ENTRIES
    elif isinstance(one, dict) and isinstance(other, dict) and _is_part(other, cast("Json", one)):
        not_null = _without_nulls(other)
        left[name] = {key: value for key, value in cast("Json", one).items() if key not in not_null}
        notes[name] = WITHIN
    else:
        notes[name] = note(one, _without_missing(other))
        if _is_unusual_word(name, one, other, rules):
            notes[name].append(one)  # which other wires report
        if name in rules.near:
            notes[NEAR] = {**notes.get(NEAR, {}), **unsaid(_plain(one), _plain(_without_missing(other)), name)}


def _is_unusual_word(name: str, one: Any, other: Any, rules: Rules) -> bool:
    """Whether a value differs from ours in more than notation."""
    odd = name in rules.words and isinstance(one, str) and one.lower() != other
    return odd and not _is_default(one, rules.defaults.get(name, UNSET))


def _is_default(value: Any, default: Any) -> bool:
    if isinstance(default, tuple):
        return any(_same(value, each) for each in cast("Any", default))
    return default is ... or _same(value, default)


def _diff_entries(original: list[Any], encoded: list[Any], rules: Rules) -> Json:
    """The leftovers of the entries of a list, by their keys; under "" the entries that have no equivalent."""
    pairs = [(its, ours) for its, ours in zip(original, encoded, strict=True) if ours is not None]
    keys = _keys([ours for _, ours in pairs])
    places = (i for i, ours in enumerate(encoded) if ours is not None)
    left: Json = {}
    for i, key, (its, ours) in zip(places, keys, pairs, strict=True):
        if inner := diff(its, ours, rules):
            left[key] = inner
            if key.startswith(_mark(ours)):  # which has no meaning
                inner[SPELLING] = {**inner.get(SPELLING, {}), PLACE: i}
    unsaid = [[i, _plain(its)] for i, (its, ours) in enumerate(zip(original, encoded, strict=True)) if ours is None]
    return {**left, "": unsaid} if unsaid else left


def _are_alike(original: list[Any], encoded: list[Any]) -> bool:
    """Whether the entries of two lists are objects that can be compared one by one."""
    if len(original) != len(encoded) or not encoded:
        return False
    pairs = zip(original, encoded, strict=True)
    return all(isinstance(its, Model) and (ours is None or struct_of(its) is struct_of(ours)) for its, ours in pairs)


def _without_missing(encoded: Any) -> Any:
    """A list of objects as it will be encoded: without the `None` entries."""
    if isinstance(encoded, list) and any(isinstance(each, Model) for each in cast("Any", encoded)):
        return [each for each in cast("Any", encoded) if each is not None]
    return cast("Any", encoded)


def _without_nulls(fields: Any) -> Json:
    return {name: value for name, value in fields.items() if value is not None}


def _is_part(encoded: Any, original: Json) -> bool:
    """Whether an object of plain JSON has all of ours, and more."""
    same = (name in original and (value is None or _same(original[name], value)) for name, value in encoded.items())
    return len(_without_nulls(encoded)) < len(original) and all(same)


# --- restoring ------------------------------------------------------------------------------------------------------


def patch(encoded: S, left: Any, misfits: list[str] | None = None, path: str = "") -> S:
    """`encoded` with the leftovers of its document restored, where the same place has not changed since.

    The places of notes that do not fit any more, below `path`, are added to `misfits`.
    """
    if not left or not isinstance(left, dict):
        return encoded
    kind, changes, undeclared = struct_of(encoded), cast("Json", {}), cast("Json", {})
    fields, notes = _fields(kind), as_object(cast("Json", left).get(SPELLING))
    for name, value in cast("Json", left).items():
        if name in fields:
            with suppress(*_MISFITS):
                field = fields[name]
                place = f"{path}.{name}" if path else name
                decoder = _decoder(kind, field)
                changes[field] = _patched(getattr(encoded, field), value, notes.get(name), decoder, misfits, place)
        elif name != SPELLING:
            undeclared[name] = value
    for name, kept in notes.items():
        if name in fields:
            field = fields[name]
            written = changes.get(field, getattr(encoded, field))
            changes[field] = _recalled(kind, field, kept, written)
            if misfits is not None and _is_note(kept) and not fits(kept, written) and kept[0] != _text(written):
                misfits.append(f"{path}.{name}" if path else name)
        elif name == SPELLING and _is_note(kept):
            with suppress(*_MISFITS):
                undeclared[name] = plain_json(str.encode(kept[0]))
        elif " " in name and _is_note(kept) and all(each in fields for each in name.split()):
            ours = {fields[each]: getattr(encoded, fields[each]) for each in name.split()}
            if len(as_list(kept[0])) == len(ours) and kept[1] == _mark([_text(one) for one in ours.values()]):
                for (field, value), text in zip(ours.items(), kept[0], strict=True):
                    changes[field] = _recalled(kind, field, [text, _mark(value)], value)
            elif misfits is not None and kept[0] != [_text(one) for one in ours.values()]:
                misfits += [f"{path}.{each}" if path else each for each in name.split()]
    return _with_unknown(replace(encoded, **changes) if changes else encoded, undeclared)


def note(original: Any, encoded: Any) -> list[Any]:
    """A note of a replaced value: its JSON text, null where there was none, and a digest of ours.

    Where our encoding of an option depends on the model, or on other options, `encoded` is the option of Responses itself.
    """
    return [_text(original), _mark(encoded)]


def recall(kept: Any, encoded: Any, decoder: Decoder[Any]) -> Any:
    """The value stored by `note` instead of `encoded`; `encoded` itself where that has changed, or the value is invalid."""
    return stored(kept, decoder, encoded) if fits(kept, encoded) else encoded


def fits(kept: Any, encoded: Any) -> bool:
    """Whether `kept` is a note of a value that was replaced by `encoded`."""
    return _is_note(kept) and kept[1] == _mark(encoded)


def stored(kept: Any, decoder: Decoder[Any], default: Any = None) -> Any:
    """The value stored by `note`; `default` for another, or an invalid one."""
    if not _is_note(kept):
        return default
    if kept[0] is None:
        return UNSET
    with suppress(*_MISFITS):
        return _fitting(decoder, kept[0])
    return default


_options = attrgetter(
    *(
        name
        for name in Request.__struct_fields__
        if name
        not in (
            *("model", "input", "stream", "stream_options", "leftovers", "extra", "store", "background"),
            *("background_options", "previous_response_id", "conversation", "instructions"),
        )
    )
)


def with_options(left: Json, request: Request) -> Json:
    """The leftovers of a request, with a digest of its options if anything in them is noted."""
    return {**left, SPELLING: {**left[SPELLING], UNEDITED: _mark(_options(request))}} if SPELLING in left else left


def report_misfits(request: Request, left: Json, misfits: Collection[str], lost: Losses) -> None:
    """Report the notes that do not fit although no option was edited since: the model or the host is another one."""
    if misfits and as_object(left.get(SPELLING)).get(UNEDITED) == _mark(_options(request)):
        for place in misfits:
            lost.changed(place, "written otherwise than in the document, for this model or host")


def _recalled(kind: type[Model], field: str, kept: Any, encoded: Any) -> Any:
    found = recall(kept, encoded, _decoder(kind, field))
    return encoded if found is UNSET and field in _required(kind) else found


def _patched(
    encoded: Any, left: Any, how: Any, decoder: Decoder[Any], misfits: list[str] | None = None, path: str = ""
) -> Any:
    """The value of a field with its leftovers. The leftovers inside an object are dropped with the object."""
    if isinstance(encoded, Model):
        found = patch(encoded, left, misfits, path) if how in (WITHIN, GROUP, EMPTIED) else encoded
        return UNSET if how == EMPTIED and found == struct_of(encoded)() else found
    if isinstance(encoded, dict):
        fields = cast("Json", encoded)
        others = {name: value for name, value in as_object(left).items() if fields.get(name) is None}
        return _fitting(decoder, _encode({**fields, **others})) if how == WITHIN and others else fields
    if isinstance(encoded, list):
        entries: list[Any] = cast("Any", encoded)
        return _patch_entries(entries, as_object(left), decoder, misfits, path) if how == ENTRIES else entries
    if how == GROUP and _is_absent(encoded):
        return patch(empty, left) if isinstance(empty := decoder.decode(b"{}"), Model) else encoded
    return (
        _fitting(decoder, _encode(left)) if _is_absent(encoded) and how not in (WITHIN, EMPTIED, ENTRIES) else encoded
    )


def _patch_entries(
    encoded: list[Any], left: Json, decoder: Decoder[Any], misfits: list[str] | None = None, path: str = ""
) -> list[Any]:
    """The entries of a list with their leftovers, and between them the entries that have no equivalent."""
    keys = _keys(encoded)
    found = [
        patch(each, left.get(key), misfits, f"{path}[{i}]") if isinstance(each, Model) else each
        for i, (each, key) in enumerate(zip(encoded, keys, strict=True))
    ]
    places = {pair[0]: pair[1] for pair in as_list(left.get("")) if len(as_list(pair)) == 2 and type(pair[0]) is int}
    if not places:
        return found
    values: list[Any] = _fitting(decoder, _encode(list(places.values())))
    entries, merged = iter(found), list[Any]()
    for i, value in sorted(zip(places, values, strict=True), key=itemgetter(0)):
        while len(merged) < i and (each := next(entries, None)) is not None:
            merged.append(each)
        merged.append(value)
    return [*merged, *entries]


def _with_unknown(encoded: S, fields: Json) -> S:
    """`encoded` with fields that its struct does not declare; without them where they would be invalid."""
    if not fields or len(fields) > MOST_UNKNOWN or struct_of(encoded).__struct_config__.tag_field in fields:
        return encoded
    with suppress(*_MISFITS):
        return with_extras(encoded, {**extras(encoded), **plain_json(_encode(fields))})
    return encoded


def _fitting(decoder: Decoder[Any], text: Any) -> Any:
    """A stored JSON text as the value of a field. Raises if it is invalid there."""
    if not isinstance(text, str | bytes) or len(text) > MAX_SIZE:
        raise DecodeError("not a kept value, or one that is too large")
    return decoder.decode(text)


# --- values ---------------------------------------------------------------------------------------------------------


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: 1, 1.0 and true are not."""
    if one is other:
        return True
    if type(one) is str or type(other) is str or one is UNSET or other is UNSET:
        return bool(one == other)
    return bool(one == other) and _encode(one) == _encode(other)


def _is_absent(value: Any) -> bool:
    return value is UNSET or value is None


def _is_note(kept: Any) -> bool:
    return len(as_list(kept)) in (2, 3)


def _text(value: Any) -> str | None:
    return None if value is UNSET else _encode(value).decode("utf-8", "replace")


def _mark(value: Any) -> str:
    return "" if value is UNSET else digest(_encode(value).decode("utf-8", "replace"))


def _plain(value: Any) -> Any:
    if isinstance(value, str | int):
        return value
    try:
        return plain_json(_encode(value))
    except _MISFITS:  # raw JSON, which may be none
        return None


def _keys(entries: list[Any]) -> list[str]:
    """The keys of list entries: name or id, that of the object in it, or a digest; duplicates are numbered."""
    found: dict[str, int] = {}  # each with the number to try next
    for entry in entries:
        inner = [entry, *(getattr(entry, name) for name in getattr(entry, "__struct_fields__", ()))]
        names = (getattr(one, name, None) for one in inner if isinstance(one, Model) for name in ("name", "id"))
        key = next((name for name in names if name and isinstance(name, str)), None) or _mark(entry)
        numbered = key
        while numbered in found:
            found[key] += 1
            numbered = f"{key} {found[key]}"
        found[numbered] = 1
    return list(found)


@cache
def _fields(kind: type[Model]) -> dict[str, str]:
    """The attributes of a struct by the names of their fields in the document."""
    return dict(zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True))


@cache
def _values(kind: type[Model]) -> Callable[[Model], tuple[Any, ...]]:
    """Reads all attributes of a struct at once; the first one is there twice, so that the result is a tuple."""
    names = kind.__struct_fields__
    return attrgetter(*names, *names[:1]) if names else lambda _: ()


@cache
def _decoder(kind: type[Model], field: str) -> Decoder[Any]:
    return Decoder(get_type_hints(kind, include_extras=True)[field])


@cache
def _required(kind: type[Model]) -> frozenset[str]:
    return frozenset(field.name for field in struct_fields(kind) if field.required)


# --- leftovers of items ---------------------------------------------------------------------------------------------


_DECLARED = frozenset(
    {*(Message, FunctionCall, FunctionCallOutput, CustomToolCall, CustomToolCallOutput), *(InputText, OutputText)}
)
"""Most items and parts; where one has a field that is not declared, its type is another."""


def own_leftovers(struct: Any, wire: str, path: str, lost: Losses, request: Request | None = None) -> Json:
    """The leftovers of `wire` on an item, a part or a document; those of others, and undeclared fields, are reported.

    `path` is empty for the document itself, and `request` that document where it is one. Those of the message that
    begins with an item are not among them.
    """
    if struct.leftovers is None:
        if type(struct) not in _DECLARED:
            report_unknown(struct, path, lost)
        return {}
    report_unknown(struct, path, lost)
    report_foreign(struct.leftovers, wire, path, lost, request)
    return item_leftovers(struct, wire) if path else own(struct.leftovers, wire)


def item_leftovers(item: Any, wire: str) -> Json:
    """The leftovers of `wire` on an item, without those of the message that begins with it."""
    left = own(item.leftovers, wire)
    return {name: value for name, value in left.items() if name != BEGINS} if BEGINS in left else left


def kept_message(item: AnyItem, wire: str) -> Json | None:
    """The leftovers of a wire's message that begins with an item; `None` where the item need not begin one."""
    left = None if isinstance(item, Unknown) or not item.leftovers else own(item.leftovers, wire).get(BEGINS)
    return cast("Json", left) if isinstance(left, dict) else None


def keep_message(item: AnyItem, wire: str, left: Json) -> None:
    """Mark an item as the beginning of a message, and store the leftovers of that message on it."""
    if not isinstance(item, Unknown):
        item.leftovers = {wire: {**own(item.leftovers, wire), BEGINS: left}}
