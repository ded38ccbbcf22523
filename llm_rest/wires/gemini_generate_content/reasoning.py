"""What this wire hides in a conversation: envelopes for what must return, leftovers for what describes one document.

A thought signature belongs to one part and must come back on that very part. The envelope says which: a call by its id, a text
or an image by a digest of what is seen of it, so that an edit is noticed. Before changing this file, know that envelopes may
be forged: their payloads are the tagged structs below, and whole parts come out only where they say nothing a client could
have said himself. Follows Google's guide to thought signatures (read 2026-11-20).
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec
from msgspec import UNSET, Raw, Struct

from ...errors import DecodeError
from ...losses import not_taken
from ...responses.carriers import digest, seal, sender, unseal
from ...responses.items import Reasoning
from ...responses.leftovers import SPELLING, report_foreign
from ...unknown import Model, Opt, base, given, or_none
from . import types
from .types import WIRE, Json, Maybe, ProtoDecoder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ...losses import Losses
    from ...responses.parts import Leftovers
    from ...responses.request import Request

S = TypeVar("S", bound=Model)
T = TypeVar("T")

DUMMY = "skip_thought_signature_validator"
"""Stands for the signature of a call that this vendor's models did not make; the vendor takes it for any."""

ABSENT = "absent"
"""Spelling of a field that was left out; one that was an empty text is spelled so."""
CONTENT = "content"
"""What a content said around its parts, on the item that it begins with."""

GROUNDED = "grounded"
"""Spelling of sources and searches that grounding told of: they describe an answer, and the vendor takes none back."""

encode = msgspec.json.Encoder().encode


# --- payloads -------------------------------------------------------------------------------------------------------


class Payload(Struct, tag_field="kind", omit_defaults=True, kw_only=True):
    """What an envelope of this wire may hold."""


class Mark(Struct, array_like=True):
    """A signature on the visible part number `at`; where `hidden`, on an empty text that stood before it."""

    at: int
    signature: str
    hidden: bool = False


class Thought(Payload, tag="thought"):
    """This vendor's own thought: the digest of its text, signatures on it, and the signature of the `call` that follows."""

    digest: str = ""
    marks: list[Mark] = []
    call: str = ""
    signature: str = ""
    tool: str = ""
    """The name in a call without an id, which stays when the arguments are put right."""


class Shown(Payload, tag="shown"):
    """Signatures on a message or an image: the one that follows the envelope where `before`, else the one it follows."""

    digest: str
    marks: list[Mark]
    before: bool = False


class Whole(Payload, tag="parts"):
    """Parts that Responses cannot show, or not all of; `digest` names the items before the envelope that show some."""

    digest: str
    parts: Raw


AnyPayload = Thought | Shown | Whole

EMPTY = digest("")

_plain = msgspec.json.Decoder()
_sorted = msgspec.json.Encoder(order="sorted")


def call_ref(call_id: str | None, name: str, arguments: str) -> str:
    """How an envelope names a call: by its id on the wire, else by what it asks for, however its JSON is spelled."""
    if call_id is not None:
        return call_id
    with suppress(msgspec.MsgspecError):  # what is no JSON counts as it is spelled
        arguments = _sorted.encode(_plain.decode(arguments)).decode()
    return f"#{digest(f'{name} {arguments}')}"


_parts: ProtoDecoder[list[types.Part]] = ProtoDecoder(list[types.Part])


def opened(item: Reasoning, issuer: str) -> AnyPayload | None:
    """What `issuer` sealed in a reasoning item on this wire."""
    text = item.encrypted_content
    return unseal(text, WIRE, issuer, AnyPayload) if given(text) else None


def unopened(item: Reasoning, issuer: str, path: str, lost: Losses) -> None:
    """Report a reasoning item that holds nothing this issuer could use."""
    text = item.encrypted_content
    if not given(text):
        if item.summary or item.content:
            lost.dropped(path, not_taken("reasoning of another vendor", "Gemini"))
    elif sender(text) == (WIRE, issuer):
        lost.dropped(path, "opaque state that was damaged on the way")
    else:
        lost.withheld(path, "opaque state of another vendor")


def carrier(payload: Payload, issuer: str, id: Opt[str]) -> Reasoning:
    """A reasoning item that shows nothing and carries `payload`."""
    return Reasoning(id=or_none(id), summary=[], encrypted_content=seal(WIRE, issuer, payload))


def returning_parts(raw: Raw) -> list[types.Part] | None:
    """The parts in an envelope, or `None` where something else was put there."""
    try:
        parts = _parts.decode(bytes(raw))
    except DecodeError:
        return None
    # Texts, calls and outputs are items of their own; an envelope with one was not made here.
    spoken = any(part.text or given(part.function_call) or given(part.function_response) for part in parts)
    return None if spoken else parts


# --- leftovers ------------------------------------------------------------------------------------------------------

_objects = msgspec.json.Decoder(dict[str, Raw])
_decoders: dict[type, ProtoDecoder[Any]] = {}


def decoder_of(kind: type[S]) -> ProtoDecoder[S]:
    """The decoder of one struct of this wire."""
    found = _decoders.get(kind)
    if found is None:
        found = _decoders[kind] = ProtoDecoder(kind)
    return cast("ProtoDecoder[S]", found)


def restored(kind: type[S], value: Any) -> S | None:
    """The struct that plain leftovers were made from; `None` where they are something else."""
    try:
        return decoder_of(kind).decode(encode(value))
    except (DecodeError, TypeError, ValueError):
        return None


def merged(struct: S, fields: Mapping[str, Any], path: str, lost: Losses) -> S:
    """`struct` with plain `fields` set or added, objects within objects; unchanged, and reported, where they do not fit."""
    if not fields:
        return struct
    try:
        whole = _merge(_objects.decode(encode(struct)), fields)
        return decoder_of(type(base(struct))).decode(encode(whole))
    except (DecodeError, msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        lost.dropped(path, f"fields that do not fit: {', '.join(fields)}")
        return struct


def _merge(whole: dict[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in fields.items():
        there = whole.get(name)
        if isinstance(value, dict) and isinstance(there, Raw) and bytes(there)[:1] == b"{":
            value = _merge(_objects.decode(there), cast("Json", value))
        whole[name] = value
    return whole


def plain(value: Any) -> Any:
    """A struct as plain values, as leftovers hold it."""
    try:
        return msgspec.json.decode(encode(value))
    except (msgspec.MsgspecError, UnicodeError):
        return None  # a number beyond what plain values can hold, or no text


def text_of(raw: Raw) -> str:
    """The JSON text of a value, as it came; msgspec does not look whether it is UTF-8."""
    return bytes(raw).decode("utf-8", "replace")


def rest(struct: Model, without: Iterable[str] = ()) -> Json:
    """The fields of `struct` by their names on the wire, as plain values, except those named `without`."""
    fields = zip(struct.__struct_encode_fields__, struct.__struct_fields__, strict=True)
    return {
        theirs: plain(value)
        for theirs, ours in fields
        if (value := getattr(struct, ours)) is not UNSET and theirs not in without
    }


def unsaid(struct: Model, names: Iterable[str]) -> Json:
    """How a document spelled those of the fields named that it left out, or left empty."""
    return {name: ABSENT if value is UNSET else "" for name in names if not (value := getattr(struct, name))}


def unsay(struct: Model, names: Iterable[str], spelled: Json) -> None:
    """Leave out, or leave empty, the fields named that a document spelled so."""
    for name in names:
        if spelled.get(name) == ABSENT:
            setattr(struct, name, UNSET)
        elif spelled.get(name) == "":
            setattr(struct, name, "")


def stated(value: Opt[T]) -> Maybe[T]:
    """A value of ours on this wire, where a null is left out."""
    return UNSET if value is None else value


def left(fields: Json, spelled: Json | None = None) -> Leftovers | None:
    """Leftovers of this wire: what the document said, and how it was written."""
    if spelled:
        fields = {**fields, SPELLING: spelled}
    return {WIRE: fields} if fields else None


def own_fields(leftovers: Leftovers | None, path: str, lost: Losses, request: Request | None = None) -> Json:
    """What this wire left, with what others left reported."""
    if leftovers is None:
        return {}
    report_foreign(leftovers, WIRE, path, lost, request)
    return inner(leftovers, WIRE)


def inner(fields: Json, name: str) -> Json:
    """The object under a name; empty where something else is, or nothing."""
    found = fields.get(name)
    return cast("Json", found) if isinstance(found, dict) else {}


def spelling(own: Json) -> Json:
    """How the document was written, among what this wire left."""
    return inner(own, SPELLING)


def document_fields(own: Json) -> Json:
    """What the document said, among what this wire left; of an item, without the content that began with it."""
    return {name: value for name, value in own.items() if name not in (SPELLING, CONTENT)}
