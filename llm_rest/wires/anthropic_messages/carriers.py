"""What must return to its vendor and has no field in Responses: envelopes that hold it, and the items that carry them.

An envelope holds the residue of a block that Responses items cannot show, and a digest of what they do show, so that an edit
is noticed. Before changing this file, know that envelopes may be forged: their payloads are the tagged structs below, and
whole blocks come out only if they are of the listed kinds, or of kinds nobody knows.
"""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec import Raw, Struct
from msgspec.structs import replace

from ... import responses as ours
from ...errors import DecodeError
from ...losses import Losses
from ...responses.carriers import digest, seal, sender, unseal
from ...unknown import Decoder, Open, Opt, Unknown, extras, given, or_none
from . import types
from .leftovers import WIRE, encode, merged

CITATION = f"{WIRE}:citation"
"""An event of ours: a citation as the vendor gave it, when it comes. Its carrier stands behind the whole message."""

_A = TypeVar("_A")

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
            lost.dropped(path, "reasoning without a signature, which Anthropic does not take back")
    elif sender(text) == (WIRE, issuer):
        lost.dropped(path, "opaque state that was damaged on the way")
    else:
        lost.withheld(path, "opaque state of another vendor")


def returning_blocks(raw: Raw) -> list[ReturningBlock] | None:
    """The blocks in an envelope, or `None` where something else was put there."""
    blocks = _inside(_returning, raw)
    forged = any(isinstance(block, Unknown) and block.kind in _SPOKEN for block in blocks or ())
    return None if forged else blocks


def returning_citations(raw: Raw) -> list[list[types.AnyCitation] | None] | None:
    """The citations in an envelope."""
    return _inside(_citations, raw)


def _inside(decoder: Decoder[_A], raw: Raw) -> _A | None:
    try:
        return decoder.decode(bytes(raw))
    except DecodeError:
        return None


# --- thinking -------------------------------------------------------------------------------------------------------


def reasoning_of(block: types.Thinking | types.RedactedThinking, issuer: str, id: Opt[str]) -> ours.Reasoning:
    """A thinking block as a reasoning item: its text as the summary, the rest in an envelope."""
    if isinstance(block, types.RedactedThinking):
        sealed = seal(WIRE, issuer, Redacted(data=block.data, rest=extras(block)))
        return ours.Reasoning(id=or_none(id), summary=[], encrypted_content=sealed)
    text = block.thinking
    sealed = seal(WIRE, issuer, Signed(signature=block.signature, digest=digest(text), rest=extras(block)))
    return ours.Reasoning(
        id=or_none(id), summary=[ours.SummaryText(text=text)] if text else [], encrypted_content=sealed
    )


def thinking_of(item: ours.Reasoning, payload: Signed | Redacted, path: str, lost: Losses) -> types.AnyBlock | None:
    """The block that `reasoning_of` made the item from; nothing where its text was edited, which breaks the signature."""
    if isinstance(payload, Redacted):
        return merged(types.RedactedThinking(data=payload.data), payload.rest, path, lost)
    text = "".join(part.text for part in item.summary or ())
    if digest(text) != payload.digest:
        lost.dropped(path, "thinking whose text was changed, so that its signature no longer holds")
        return None
    return merged(types.Thinking(thinking=text, signature=payload.signature), payload.rest, path, lost)


def carrier(payload: Payload, issuer: str, id: Opt[str]) -> ours.Reasoning:
    """A reasoning item that shows nothing and carries `payload`."""
    return ours.Reasoning(id=or_none(id), summary=[], encrypted_content=seal(WIRE, issuer, payload))


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
    return types.RedactedThinking(data=seal(WIRE, CLIENT, Guest(item=Raw(encode(replace(item, status=None))))))


def guest_thought(item: ours.Reasoning, shown: str) -> types.Thinking:
    """Reasoning of another vendor as thinking that shows its `summary` or its `content`."""
    texts = [part.text for part in getattr(item, shown) or ()]
    text = GAP.join(texts)
    unseen = replace(item, status=None, leftovers=None)
    setattr(unseen, shown, None)
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
