"""Documents as protobuf lets people write them: snake_case names, one value for a list of one, numbers for words.

Servers answer in one spelling and accept all of these. Applied only to a document that did not fit as it came. Before changing
this file, know that it follows the declared types: what a caller chose himself (arguments, outputs, schemas, labels) is
a plain value there and is left alone. Follows the ProtoJSON format of protobuf.dev (read 2026-11-20).
"""

from __future__ import annotations

from functools import lru_cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Union, cast, get_args, get_origin, get_type_hints

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable

Plain = dict[str, Any]


def spelled(model: type[Struct]) -> Callable[[Any], Any]:
    """A function that rewrites a plain document as `model` spells it. A list of one error, as some hosts send, is the error."""

    def rewrite(document: Any) -> Any:
        if isinstance(document, list) and document:
            first: Any = cast("Any", document)[0]
            if isinstance(first, dict) and "error" in first:
                return _value(cast("Plain", first), model)
        return _value(document, model)

    return rewrite


class _Form(NamedTuple):
    """What a declared type takes: a struct, a list, words by number, or a whole number; else nothing to rewrite."""

    model: type[Struct] | None = None
    items: Any = None
    words: tuple[str, ...] = ()
    counts: bool = False


@lru_cache(maxsize=512)
def _form(declared: Any) -> _Form:
    origin = get_origin(declared)
    if origin is Union or origin is UnionType:
        arms = [_form(arm) for arm in get_args(declared)]
        return next((arm for arm in arms if arm != _Form()), _Form())
    if origin is Literal:
        return _Form(words=get_args(declared))
    if origin is list:
        return _Form(items=get_args(declared)[0])
    if declared is int:
        return _Form(counts=True)
    return _Form(model=declared) if isinstance(declared, type) and issubclass(declared, Struct) else _Form()


@lru_cache(maxsize=64)
def _fields(model: type[Struct]) -> dict[str, tuple[str, Any]]:
    """The fields of a struct by either spelling: the name on the wire, and the type."""
    hints = get_type_hints(model)
    found: dict[str, tuple[str, Any]] = {}
    for ours, theirs in zip(model.__struct_fields__, model.__struct_encode_fields__, strict=True):
        found[ours] = found[theirs] = theirs, hints[ours]
    return found


def _value(value: Any, declared: Any) -> Any:
    form = _form(declared)
    if form.model is not None and isinstance(value, dict):
        return _object(cast("Plain", value), form.model)
    if form.items is not None and value is not None:
        values: list[Any] = cast("Any", value) if isinstance(value, list) else [value]
        return [_value(one, form.items) for one in values]
    if form.counts and isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    if form.words and type(value) is int:
        return form.words[value] if 0 <= value < len(form.words) else str(value)
    return value


def _object(value: Plain, model: type[Struct]) -> Plain:
    fields = _fields(model)
    rewritten: Plain = {}
    for name, inner in value.items():
        theirs, declared = fields.get(name, (name, None))
        if theirs != name and theirs in value:
            theirs, declared = name, None  # both spellings are there; the wire's own counts
        rewritten[theirs] = inner if declared is None else _value(inner, declared)
    return rewritten
