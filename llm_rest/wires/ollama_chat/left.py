"""What a document of this wire says and Responses cannot: taken out of it, and put back.

Leftovers are plain JSON and may have come from anywhere, so nothing here relies on their shape. `spelling` among them holds
fields that say nothing more than the items do, as they came, because we would write them otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec
from msgspec import UNSET, Struct

from ...responses.leftovers import SPELLING
from ...unknown import Model, extras, with_extras
from .types import WIRE, Json

if TYPE_CHECKING:
    from ...losses import Losses
    from ...responses.parts import Leftovers

M = TypeVar("M", bound=Model)

ABSENT: Json = {"absent": True}
"""How a leftover says that a field was not there, which null would not."""


def sent(value: Any) -> Any:
    """A field's value as a leftover."""
    if value is UNSET:
        return ABSENT
    # Arguments of calls are slices of the document, which only encoding can read.
    return msgspec.json.decode(msgspec.json.encode(value)) if isinstance(value, Struct | list | dict) else value


def absent(value: Any) -> Any:
    """The value of a leftover."""
    return UNSET if value == ABSENT else value


def as_object(value: Any) -> Json:
    """A JSON value where it is an object; empty otherwise."""
    return cast("Json", value) if isinstance(value, dict) else {}


def notes(left: Json) -> Json:
    """How the document was written."""
    return as_object(left.get(SPELLING))


def leftovers(left: Json, spelling: Json) -> Leftovers | msgspec.UnsetType:
    """What is left of a document, as an item or a request keeps it."""
    if spelling:
        left = {**left, SPELLING: spelling}
    return {WIRE: left} if left else UNSET


def rest(model: Model, *taken: str) -> Json:
    """The fields that are set and not `taken`, those that no struct declares among them."""
    unknown = extras(model)
    names = model.__struct_fields__[: len(model.__struct_fields__) - len(unknown)]
    found = {name: getattr(model, name) for name in names if name not in taken}
    return {name: sent(value) for name, value in found.items() if value is not UNSET} | unknown


def put_back(model: M, fields: Json) -> M:
    """`model` with the fields of a leftover; what it already says itself stays."""
    unknown: Json = {}
    for name, value in fields.items():
        if name == SPELLING:
            continue
        if name not in model.__struct_fields__:
            unknown[name] = value
        elif getattr(model, name) is UNSET:
            setattr(model, name, value)
    return with_extras(model, {**extras(model), **unknown}) if unknown else model


def spell(model: M, left: Json) -> M:
    """`model` with everything a leftover holds; what it notes about the spelling wins."""
    for name, value in notes(left).items():
        if name in model.__struct_fields__:
            setattr(model, name, absent(value))
    return put_back(model, left)


def report_unknown(value: Struct, path: str, lost: Losses) -> None:
    """Report the fields of an item or part, or of a whole document, that its struct does not declare."""
    if hasattr(type(value), "__extras__"):
        for name in extras(value):
            lost.dropped(f"{path}.{name}" if path else name, "a field only a Responses host would know")
