"""Items of other vendors that travel through a client of this wire.

A gateway answers such a client on behalf of another vendor, and the client sends back what it got. What this wire cannot say
(reasoning, searches, compactions of that vendor) goes out as thinking, which clients keep and return unread: with its text
where it has one, else redacted, and the item in an envelope in the place of the signature. Before changing this file, know
that these blocks never reach this wire's own vendor: on the way in they are items again, and their vendor is another.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Raw, Struct
from msgspec.structs import replace

from ... import responses as ours
from ...errors import DecodeError
from ...losses import Losses
from ...responses.carriers import digest, seal, unseal
from ...unknown import Decoder
from . import types
from .carried import WIRE, encode

CLIENT = "client"
"""The issuer of these envelopes: whoever answers the client."""

GUESTS = (
    ours.Reasoning,
    ours.Compaction,
    ours.WebSearchCall,
    ours.FileSearchCall,
    ours.CodeInterpreterCall,
    ours.ImageGenerationCall,
    ours.McpCall,
    ours.McpListTools,
    ours.McpApprovalRequest,
    ours.ToolSearchCall,
    ours.ToolSearchOutput,
    ours.Program,
    ours.ProgramOutput,
)
"""The items that may travel so: what a vendor keeps for itself, and records of what it ran."""

GAP = "\n\n"
_item: Decoder[ours.AnyItem] = Decoder(ours.AnyItem)


class Guest(Struct, tag_field="kind", tag="item", omit_defaults=True, kw_only=True):
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
    left = replace(item, status=UNSET, leftovers=UNSET)
    setattr(left, shown, UNSET)
    guest = Guest(item=Raw(encode(left)), shown=shown, lengths=[len(text) for text in texts], digest=digest(text))
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
        parts: list[Any] = [
            ours.SummaryText(text=t) if guest.shown == "summary" else ours.ReasoningText(text=t)
            for t in _cut(text, guest)
        ]
        setattr(item, "summary" if guest.shown == "summary" else "content", parts)
    return item


def _cut(text: str, guest: Guest) -> list[str]:
    texts: list[str] = []
    start = 0
    for length in guest.lengths:
        texts.append(text[start : start + length])
        start += length + len(GAP)
    return texts
