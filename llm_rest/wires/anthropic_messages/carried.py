"""What this wire hides in a conversation: envelopes for what must return, leftovers for what describes one document.

An envelope holds the residue of a block that Responses items cannot show, and a digest of what they do show, so that an edit
is noticed. Before changing this file, know that envelopes may be forged: their payloads are the tagged structs below, and
whole blocks come out only if they are of the listed kinds, or of kinds nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast, get_args

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from ... import responses as ours
from ...dialects import MessagesDialect
from ...errors import DecodeError
from ...losses import Losses
from ...responses.carriers import digest, seal, sender, unseal
from ...responses.leftovers import SPELLING, report_foreign
from ...unknown import Decoder, Model, Open, Opt, Unknown, base, convert, extras, given
from . import types

A = TypeVar("A")
T = TypeVar("T", bound=Struct)

WIRE = "anthropic_messages"
DEFAULT = MessagesDialect()
"""The wire's own vendor."""
CITATION = f"{WIRE}:citation"
"""An event of ours: a citation as the vendor gave it, when it comes. Its carrier stands behind the whole message."""

encode = msgspec.json.Encoder().encode

# --- payloads -------------------------------------------------------------------------------------------------------


class Payload(Struct, tag_field="kind", omit_defaults=True, kw_only=True):
    """What an envelope of this wire may hold."""


class Signed(Payload, tag="thinking"):
    """A thinking block without its text."""

    signature: str
    digest: str
    rest: dict[str, Any] = {}


class Redacted(Payload, tag="redacted_thinking"):
    """A redacted thinking block."""

    data: str
    rest: dict[str, Any] = {}


class Cited(Payload, tag="citations"):
    """The citations of a message's texts, one list (or null) for each."""

    digest: str
    citations: Raw


class Sealed(Payload, tag="blocks"):
    """Whole blocks; `digest` names the visible items before them that show what they did."""

    digest: str
    blocks: Raw


AnyPayload = Signed | Redacted | Cited | Sealed

ReturningBlock = Open[
    types.ServerToolUse
    | types.WebSearchToolResult
    | types.WebFetchToolResult
    | types.CodeExecutionToolResult
    | types.BashCodeExecutionToolResult
    | types.TextEditorCodeExecutionToolResult
    | types.ToolSearchToolResult
    | types.AdvisorToolResult
    | types.McpToolUse
    | types.McpToolResult
    | types.McpToolListing
    | types.ContainerUpload
    | types.Compaction
    | types.Fallback
]
"""The blocks that travel whole: the model's side of tools its vendor runs, and kinds nobody knows."""

_SPOKEN = frozenset({"text", "tool_use", "tool_result", "thinking", "redacted_thinking"})
_returning: Decoder[list[ReturningBlock]] = Decoder(list[ReturningBlock])
_citations: Decoder[list[list[types.AnyCitation] | None]] = Decoder(list[list[types.AnyCitation] | None])


def opened(item: ours.Reasoning, issuer: str) -> AnyPayload | None:
    """What `issuer` sealed in a reasoning item on this wire."""
    text = item.encrypted_content
    return unseal(text, WIRE, issuer, AnyPayload) if given(text) else None


def unopened(item: ours.Reasoning, issuer: str, path: str, lost: Losses) -> None:
    """Report a reasoning item that holds nothing this issuer could use."""
    text = item.encrypted_content
    if not given(text):
        if item.summary or item.content:
            lost.dropped(path, "reasoning without a signature, which this wire does not take back")
    elif sender(text) == (WIRE, issuer):
        lost.dropped(path, "opaque state that was damaged on the way")
    else:
        lost.withheld(path, "opaque state of another vendor")


def returning_blocks(raw: Raw) -> list[ReturningBlock] | None:
    """The blocks in an envelope, or `None` where something else was put there."""
    blocks = _inside(_returning, raw)
    forged = any(isinstance(block, Unknown) and block.type in _SPOKEN for block in blocks or ())
    return None if forged else blocks


def returning_citations(raw: Raw) -> list[list[types.AnyCitation] | None] | None:
    """The citations in an envelope."""
    return _inside(_citations, raw)


def _inside(decoder: Decoder[A], raw: Raw) -> A | None:
    try:
        return decoder.decode(bytes(raw))
    except DecodeError:
        return None


# --- thinking -------------------------------------------------------------------------------------------------------


def reasoning_of(block: types.Thinking | types.RedactedThinking, issuer: str, id: Opt[str]) -> ours.Reasoning:
    """A thinking block as a reasoning item: its text as the summary, the rest in an envelope."""
    if isinstance(block, types.RedactedThinking):
        sealed = seal(WIRE, issuer, Redacted(data=block.data, rest=extras(block)))
        return ours.Reasoning(id=id, summary=[], encrypted_content=sealed)
    text = block.thinking
    sealed = seal(WIRE, issuer, Signed(signature=block.signature, digest=digest(text), rest=extras(block)))
    return ours.Reasoning(id=id, summary=[ours.SummaryText(text=text)] if text else [], encrypted_content=sealed)


def thinking_of(item: ours.Reasoning, payload: Signed | Redacted, path: str, lost: Losses) -> types.AnyBlock | None:
    """The block that `reasoning_of` made the item from; nothing where its text was edited, which breaks the signature."""
    if isinstance(payload, Redacted):
        block = types.RedactedThinking(data=payload.data)
        return merged(block, payload.rest, path, lost) if payload.rest else block
    text = "".join(part.text for part in item.summary or ())
    if digest(text) != payload.digest:
        lost.dropped(path, "thinking whose text was changed, so that its signature no longer holds")
        return None
    signed = types.Thinking(thinking=text, signature=payload.signature)
    return merged(signed, payload.rest, path, lost) if payload.rest else signed


def carrier(payload: Payload, issuer: str, id: Opt[str]) -> ours.Reasoning:
    """A reasoning item that shows nothing and carries `payload`."""
    return ours.Reasoning(id=id, summary=[], encrypted_content=seal(WIRE, issuer, payload))


# --- leftovers ------------------------------------------------------------------------------------------------------

_objects = msgspec.json.Decoder(dict[str, Raw])
_block: Decoder[types.AnyBlock] = Decoder(types.AnyBlock)
_decoders: dict[type, Decoder[Any]] = {}


def decode_block(plain: Any) -> types.AnyBlock:
    """A block from plain values. Raises `ValueError` or `TypeError` where it is none."""
    return _block.decode(encode(plain))


def merged(struct: T, fields: Mapping[str, Any], path: str, lost: Losses) -> T:
    """`struct` with plain `fields` set or added; unchanged, and reported, where they do not fit it."""
    kind = type(base(struct)) if isinstance(struct, Model) else type(struct)
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = Decoder(kind)
    try:
        whole = _objects.decode(encode(struct))
        whole.update({name: Raw(encode(value)) for name, value in fields.items()})
        return cast("T", decoder.decode(encode(whole)))
    except (DecodeError, TypeError, ValueError):
        lost.dropped(path, f"fields that do not fit: {', '.join(fields)}")
        return struct


def plain(value: Any) -> Any:
    """A struct as plain values, as leftovers hold it."""
    return msgspec.json.decode(encode(value))


def kinds(form: Any) -> frozenset[type]:
    """The structs of an open union: a value of another type is `Unknown`, or has fields its struct does not declare."""
    return frozenset(get_args(get_args(form)[0]))


def kind_of(struct: Model | Unknown) -> str:
    """The `type` of an item, a part or a tool."""
    return struct.type if isinstance(struct, Unknown) else str(struct.__struct_config__.tag)


def report_extras(struct: Model, path: str, lost: Losses) -> None:
    """Report the fields of `struct` that it does not declare; `path` is empty for the document itself."""
    for name in extras(struct):
        lost.dropped(f"{path}{'.' if path else ''}{name}", "a field this wire does not know")


def left(fields: dict[str, Any]) -> ours.Leftovers | UnsetType:
    """`fields` as leftovers of this wire."""
    return {WIRE: fields} if fields else UNSET


class _Notes(Struct):
    """How a document was written."""

    nulls: list[str] | UnsetType = UNSET
    reasoning: dict[str, Any] | UnsetType = UNSET
    tool_choice: str | UnsetType = UNSET
    cache_control: dict[str, Any] | UnsetType = UNSET
    mcp_servers: dict[str, dict[str, Any]] | UnsetType = UNSET
    allowed_callers: Opt[list[str]] = UNSET
    stop_reason: Opt[str] = UNSET


class _ToolNotes(Struct):
    spelling: _Notes | UnsetType = UNSET


class _Own(Struct):
    """Leftovers that are looked into, not only put back."""

    spelling: _Notes | UnsetType = UNSET
    message: dict[str, Any] | UnsetType = UNSET
    tools: dict[str, _ToolNotes] | UnsetType = UNSET
    other_tools: list[tuple[int, dict[str, Any]]] | UnsetType = UNSET
    mcp_servers: dict[str, dict[str, Any]] | UnsetType = UNSET
    output_config: dict[str, Any] | UnsetType = UNSET
    stop_details: dict[str, Any] | UnsetType | None = UNSET
    error: dict[str, Any] | UnsetType = UNSET


def own(leftovers: ours.Leftovers | UnsetType) -> dict[str, Any]:
    """What this wire left; nothing where somebody else wrote what it could not have."""
    fields = leftovers.get(WIRE) if leftovers else None
    if not fields:
        return {}
    try:
        if "type" not in fields:  # a whole block is checked when it is decoded
            convert(fields, _Own)
    except msgspec.ValidationError:
        return {}
    return fields


def own_fields(leftovers: ours.Leftovers | UnsetType, path: str, lost: Losses) -> dict[str, Any]:
    """What this wire left, with what others left, and what does not fit, reported."""
    if leftovers is UNSET:
        return {}
    report_foreign(leftovers, WIRE, path, lost)
    fields = own(leftovers)
    if not fields and leftovers.get(WIRE):
        lost.dropped(f"{path}{'.' if path else ''}leftovers.{WIRE}", "fields that do not fit")
    return fields


def document_fields(own: dict[str, Any]) -> dict[str, Any]:
    """The fields of a block among its leftovers: without notes about spelling and about the message around it."""
    return {name: value for name, value in own.items() if name not in (SPELLING, "message")}


def rest(struct: Struct, names: Iterable[str] = ()) -> dict[str, Any]:
    """The fields of `struct` named, where they are present, and those it does not declare; as plain values."""
    values = ((name, getattr(struct, name)) for name in names)
    return {name: plain(value) for name, value in values if value is not UNSET} | extras(struct)


# --- guests: items of other vendors that travel through a client of this wire ---------------------------------------
#
# A gateway answers such a client on behalf of another vendor, and the client sends back what it got. What this wire cannot
# say (reasoning, searches, compactions of that vendor) goes out as thinking, which clients keep and return unread: with its
# text where it has one, else redacted, and the item in an envelope in the place of the signature. These blocks never reach
# this wire's own vendor: on the way in they are items again, and their vendor is another.

CLIENT = "client"
"""The issuer of these envelopes: whoever answers the client."""
GAP = "\n\n"

GUESTS = (
    ours.Reasoning
    | ours.Compaction
    | ours.WebSearchCall
    | ours.FileSearchCall
    | ours.CodeInterpreterCall
    | ours.ImageGenerationCall
    | ours.McpCall
    | ours.McpListTools
    | ours.McpApprovalRequest
    | ours.ToolSearchCall
    | ours.ToolSearchOutput
    | ours.Program
    | ours.ProgramOutput
)
"""The items that may travel so: what a vendor keeps for itself, and records of what it ran."""

_item: Decoder[ours.AnyItem] = Decoder(ours.AnyItem)


class Guest(Payload, tag="item"):
    """An item without the text that its block shows; `lengths` cuts that into the parts named `shown`."""

    item: Raw
    shown: str = ""
    lengths: list[int] = []
    digest: str = ""


def guest_block(item: ours.AnyItem, path: str, lost: Losses) -> types.AnyBlock | None:
    """The block in which an item of another vendor goes through a client; nothing for items that have no need to return."""
    if not isinstance(item, GUESTS):
        return None
    lost.withheld(path, "goes to the client as thinking, and back to its vendor when the client returns it")
    if isinstance(item, ours.Reasoning) and (item.summary or item.content):
        return guest_thought(item, "summary" if item.summary else "content")
    # The status is the answer's, and set again when it is read.
    return types.RedactedThinking(data=seal(WIRE, CLIENT, Guest(item=Raw(encode(replace(item, status=UNSET))))))


def guest_thought(item: ours.Reasoning, shown: str) -> types.Thinking:
    """Reasoning of another vendor as thinking that shows its `summary` or its `content`."""
    texts = [part.text for part in getattr(item, shown) or ()]
    text = GAP.join(texts)
    unseen = replace(item, status=UNSET, leftovers=UNSET)
    setattr(unseen, shown, UNSET)
    guest = Guest(item=Raw(encode(unseen)), shown=shown, lengths=[len(text) for text in texts], digest=digest(text))
    return types.Thinking(thinking=text, signature=seal(WIRE, CLIENT, guest))


def guest_item(block: types.Thinking | types.RedactedThinking) -> ours.AnyItem | None:
    """The item that `guest_block` made the block from; `None` for a block of this wire's own vendor."""
    sealed = block.signature if isinstance(block, types.Thinking) else block.data
    guest: Guest | None = unseal(sealed, WIRE, CLIENT, Guest)
    if guest is None:
        return None
    try:
        item = _item.decode(bytes(guest.item))
    except DecodeError:
        return None
    if not isinstance(item, GUESTS):
        return None
    if isinstance(item, ours.Reasoning) and isinstance(block, types.Thinking):
        text = block.thinking
        if digest(text) != guest.digest:
            return ours.Reasoning(summary=[ours.SummaryText(text=text)])
        texts: list[str] = []
        for length in guest.lengths:
            start = sum(map(len, texts)) + len(GAP) * len(texts)
            texts.append(text[start : start + length])
        if guest.shown == "summary":
            item.summary = [ours.SummaryText(text=text) for text in texts]
        else:
            item.content = [ours.ReasoningText(text=text) for text in texts]
    return item
