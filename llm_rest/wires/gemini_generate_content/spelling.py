"""Documents as protobuf lets people write them: snake_case names, null for what is not set, one value for a list of one,
numbers for words.

Servers answer in one spelling and accept all of these. Applied only to a document that did not fit as it came. Before changing
this file, know that it follows the declared types: what a caller chose himself (arguments, outputs, schemas, labels) is no
struct there and stays byte for byte as it came. Follows the ProtoJSON format of protobuf.dev (read 2026-11-20).
"""

from __future__ import annotations

import re
from functools import lru_cache
from types import UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Raw, Struct

from ...unknown import MOST_IN_ANSWER, Decoder, check_depth

T = TypeVar("T")

NULL = b"null"
"""A field that is not set, where somebody writes it all the same."""

_encode = msgspec.json.Encoder().encode
_arrays = msgspec.json.Decoder(list[Raw])
_objects = msgspec.json.Decoder(dict[str, Raw])
_whole = re.compile(rb"-?[0-9]{1,15}").fullmatch


class ProtoDecoder(Decoder[T]):
    """Decodes a document of this wire in any spelling. A list of one error, as some hosts send, is the error."""

    __slots__ = ()

    def _decode_open(self, data: bytes | bytearray | str) -> T:
        raw = data if isinstance(data, str) else bytes(data)
        try:
            raw = (raw.encode() if isinstance(raw, str) else raw).removeprefix(b"\xef\xbb\xbf").strip()
            check_depth(raw)
            if raw.startswith(b"[") and "error" in _objects.decode(first := _arrays.decode(raw)[0]):
                raw = first
            raw = _encode(_value(Raw(raw), self._type))
        except (msgspec.MsgspecError, UnicodeError, RecursionError, IndexError):
            pass  # what is wrong with it is said by who reads it
        return super()._decode_open(raw)


@lru_cache(maxsize=512)
def _form(declared: Any) -> Any:
    """What can be spelled otherwise in a declared type: a struct, a list, words by their numbers; else nothing."""
    origin, inner = get_origin(declared), get_args(declared)
    if origin is Union or origin is UnionType:
        arms: list[Any] = [_form(arm) for arm in inner]
        return next((arm for arm in arms if arm is not None), None)
    if origin is Literal:
        return inner
    if origin is list:
        return None if inner == (Any,) else declared
    return declared if isinstance(declared, type) and issubclass(declared, Struct) else None


@lru_cache(maxsize=64)
def _fields(model: type[Struct]) -> dict[str, tuple[str, Any]]:
    """The fields of a struct by either spelling: the name on the wire, and the type."""
    hints = get_type_hints(model)
    found: dict[str, tuple[str, Any]] = {}
    for ours, theirs in zip(model.__struct_fields__, model.__struct_encode_fields__, strict=True):
        found[ours] = found[theirs] = theirs, hints[ours]
    return found


def _value(raw: Raw, declared: Any) -> Any:
    form = _form(declared)
    if form is None:
        return raw
    text = bytes(raw)
    if isinstance(form, tuple):
        words, number = cast("tuple[str, ...]", form), int(text) if _whole(text) else None
        return raw if number is None else words[number] if 0 <= number < len(words) else str(number)
    if get_origin(form) is list:
        found = _arrays.decode(raw) if text[:1] == b"[" else [raw]
        # Longer ones come from servers, which write one spelling, or are refused.
        return raw if len(found) > MOST_IN_ANSWER else [_value(one, get_args(form)[0]) for one in found]
    return _object(_objects.decode(raw), form) if text[:1] == b"{" else raw


def _object(values: dict[str, Raw], model: type[Struct]) -> dict[str, Any]:
    fields = _fields(model)
    rewritten: dict[str, Any] = {}
    for name, raw in values.items():
        theirs, declared = fields.get(name, (name, None))
        if declared is None or (theirs != name and theirs in values):
            rewritten[name] = raw  # unknown; or both spellings are there, of which the wire's own counts
        elif bytes(raw) != NULL:
            rewritten[theirs] = _value(raw, declared)
    return rewritten
