"""What describes one document of this wire and has no word in Responses: it waits in leftovers and is put back here.

Under `spelling` stands how a document was written, which other wires need not be told: `ABSENT` is a field that was not
there. Before changing this file, know that leftovers may be forged: what is looked into is checked, and what does not fit is
reported.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypeVar, cast, get_args

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from ... import responses as ours
from ...errors import DecodeError
from ...losses import Losses
from ...responses.leftovers import SPELLING, report_foreign
from ...unknown import Decoder, Model, Opt, Unknown, base, convert, extras
from ...vendors.dialects import MessagesDialect
from .._left import ABSENT, as_plain, sent

T = TypeVar("T", bound=Struct)

WIRE = "anthropic_messages"
DEFAULT = MessagesDialect()
"""The wire's own vendor."""

encode = msgspec.json.Encoder().encode
plain = as_plain

NOTHING = Raw(b"{}")
"""The input of a tool that was not given any."""
EMPTY = (UNSET, None, "", 0, NOTHING)
"""What says nothing, however it is written."""

_objects = msgspec.json.Decoder(dict[str, Raw])
_decoders: dict[type, Decoder[Any]] = {}


def merged(struct: T, fields: dict[str, Any], path: str, lost: Losses) -> T:
    """`struct` with plain `fields` set, added or taken away; unchanged, and reported, where they do not fit it."""
    if not fields:
        return struct
    kind = type(base(struct)) if isinstance(struct, Model) else type(struct)
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = Decoder(kind)
    try:
        whole = _objects.decode(encode(struct))
        for name, value in fields.items():
            inner = getattr(struct, name, None)
            if value == ABSENT:
                whole.pop(name, None)
            elif isinstance(inner, Model) and isinstance(value, dict):
                whole[name] = Raw(encode({**plain(inner), **value}))
            else:
                whole[name] = Raw(encode(value))
        return cast("T", decoder.decode(encode(whole)))
    except (DecodeError, TypeError, ValueError):
        lost.dropped(path, f"fields that do not fit: {', '.join(fields)}")
        return struct


def returned(struct: T, kept: dict[str, Any], path: str, lost: Losses) -> T:
    """`struct` with the fields that its document had; where it says nothing itself, that is written as it was there."""
    spelled: dict[str, Any] = kept.get(SPELLING, {})
    empty = {name: value for name, value in spelled.items() if getattr(struct, name, True) in EMPTY}
    fields = {name: value for name, value in kept.items() if name not in (SPELLING, "message")}
    return merged(struct, fields | empty, path, lost)


def beyond(was: Model, same: Model, spelled: frozenset[str] = frozenset()) -> dict[str, Any]:
    """What `was` says that `same`, encoded from what it means, does not: of `spelled` fields, and absent ones, as spelling."""
    found, differs = extras(was), dict[str, Any]()
    for name in same.__struct_fields__:
        value = getattr(was, name)
        if value != getattr(same, name):
            (differs if value is UNSET or name in spelled else found)[name] = sent(value)
    return found | ({SPELLING: differs} if differs else {})


def kinds(form: Any) -> frozenset[type]:
    """The structs of an open union: a value of another type is `Unknown`, or has fields its struct does not declare."""
    return frozenset(get_args(get_args(form)[0]))


def kind_of(struct: Model | Unknown) -> str:
    """The `type` of an item, a part or a tool."""
    return struct.kind if isinstance(struct, Unknown) else str(struct.__struct_config__.tag)


def left(fields: dict[str, Any]) -> ours.Leftovers | None:
    """`fields` as leftovers of this wire."""
    return {WIRE: fields} if fields else None


_Placed = tuple[Annotated[int, Meta(ge=0, lt=2**31)], dict[str, Any]]
"""Something that is put back at a place in a list."""


class _Notes(Struct):
    """How a document was written."""

    empty: dict[str, Any] | UnsetType = UNSET
    reasoning: dict[str, Any] | UnsetType = UNSET
    messages: list[_Placed] | UnsetType = UNSET
    tool_choice: dict[str, bool | None] | UnsetType = UNSET
    cache_control: dict[str, Any] | UnsetType = UNSET
    mcp_servers: dict[str, dict[str, Any]] | UnsetType = UNSET
    allowed_callers: Opt[list[str]] = UNSET
    stop_reason: Opt[str | dict[Literal["absent"], Any]] = UNSET


class _ToolNotes(Struct):
    spelling: _Notes | UnsetType = UNSET


class _Own(Struct):
    """Leftovers that are looked into, not only put back."""

    spelling: _Notes | UnsetType = UNSET
    block: dict[str, Any] | UnsetType = UNSET
    message: dict[str, Any] | UnsetType = UNSET
    messages: list[_Placed] | UnsetType = UNSET
    tools: dict[str, _ToolNotes] | UnsetType = UNSET
    other_tools: list[_Placed] | UnsetType = UNSET
    mcp_servers: dict[str, dict[str, Any]] | UnsetType = UNSET
    output_config: dict[str, Any] | UnsetType = UNSET
    stop_details: dict[str, Any] | UnsetType | None = UNSET
    error: dict[str, Any] | UnsetType = UNSET


def own(leftovers: ours.Leftovers | None) -> dict[str, Any]:
    """What this wire left; nothing where somebody else wrote what it could not have."""
    fields = leftovers.get(WIRE) if leftovers else None
    if not fields:
        return {}
    try:
        convert(fields, _Own)
    except msgspec.ValidationError:
        return {}
    return fields


def own_fields(
    leftovers: ours.Leftovers | None, path: str, lost: Losses, request: ours.Request | None = None
) -> dict[str, Any]:
    """What this wire left, with what others left, and what does not fit, reported."""
    if leftovers is None:
        return {}
    report_foreign(leftovers, WIRE, path, lost, request)
    fields = own(leftovers)
    if not fields and leftovers.get(WIRE):
        lost.dropped(f"{path}{'.' if path else ''}leftovers.{WIRE}", "fields that do not fit")
    return fields


def rest(struct: Struct, names: Iterable[str] = ()) -> dict[str, Any]:
    """The fields of `struct` named, where they are present, and those it does not declare; as plain values."""
    found = extras(struct) if hasattr(struct, "__extras__") else {}
    for name in names:
        if (value := getattr(struct, name)) is not UNSET:
            found[name] = plain(value) if isinstance(value, Struct | list) else value
    return found
