"""Reasoning and its opaque state, both ways: state goes only to who issued it.

Before changing this file, know that reasoning without encrypted content can only be named to a server that kept it. Follows the
OpenAI Responses reference (read 2026-11-20).
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from ...losses import Losses
from ...responses import Compaction, Reasoning
from ...responses.carriers import PREFIX, seal, sender, unseal
from ...responses.lenient import WIRE
from ...unknown import Opt, given
from ...vendors.dialects import ResponsesDialect
from .content import ItemT
from .types import id_prefix


class Held(Struct, tag="held"):
    """What an envelope of this wire holds: the `encrypted_content` as its host sent it, absent and null included.

    On a host without encryption it holds nothing, and its being there says whose reasoning the item is.
    """

    encrypted_content: Opt[str] = UNSET


# --- towards a host -------------------------------------------------------------------------------------------------


STATE = (Reasoning, Compaction)


def encode_thinking(
    item: Reasoning | Compaction, i: int, dialect: ResponsesDialect, lost: Losses, kept: bool
) -> Reasoning | Compaction | None:
    """The item with its opaque state as this host wrote it; `None` where the host could do nothing with it."""
    text = item.encrypted_content
    if not given(text):
        known = kept and given(item.id) and (not dialect.checks_ids or item.id.startswith(id_prefix(item)))
        if not known:
            lost.dropped(f"input[{i}]", "reasoning that carries nothing this host could read again")
        return item if known else None
    if not text.startswith(PREFIX):
        if not dialect.seals:
            return item
        lost.withheld(f"input[{i}].encrypted_content", "opaque state of another issuer")
        return None
    held: Held | None = unseal(text, WIRE, dialect.issuer, Held)
    if held is None:
        wire, issuer = sender(text) or ("", "an unknown issuer")
        lost.withheld(f"input[{i}].encrypted_content", f"opaque state of {issuer} ({wire or 'unreadable'})")
        return None
    if not given(held.encrypted_content) and isinstance(item, Reasoning) and not item.content:
        lost.dropped(f"input[{i}]", "reasoning that came back without its text")
        return None
    return replace(item, encrypted_content=held.encrypted_content)


def without_refused_fields(item: ItemT, i: int, dialect: ResponsesDialect, lost: Losses) -> ItemT:
    """A reasoning item without the fields that the host refuses. A status says nothing there, so nothing is lost with it."""
    absent: dict[str, Any] = {name: None for name in dialect.reasoning_lacks if getattr(item, name) is not None}
    if "content" in absent and isinstance(item, Reasoning) and item.content:
        lost.dropped(f"input[{i}].content", "the host does not take the text of its reasoning back")
    return replace(item, **absent) if absent else item


def decode_thinking(item: Any, dialect: ResponsesDialect) -> Any:
    """The item with its opaque state in an envelope that returns to this host alone."""
    text = item.encrypted_content
    if given(text):
        if not dialect.seals or text.startswith(PREFIX):
            return item
    elif not (dialect.takes_reasoning_text and item.content):
        return item
    return replace(item, encrypted_content=seal(WIRE, dialect.issuer, Held(encrypted_content=text)))


def unsealed(item: ItemT, dialect: ResponsesDialect) -> ItemT:
    """The item with state that this host issued as it issued it; state of others stays in its envelope."""
    if not isinstance(item, STATE) or not given(item.encrypted_content):
        return item
    held: Held | None = unseal(item.encrypted_content, WIRE, dialect.issuer, Held)
    return item if held is None else replace(item, encrypted_content=held.encrypted_content)
