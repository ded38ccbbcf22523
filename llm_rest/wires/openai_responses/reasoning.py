"""Reasoning, both ways: opaque state, which goes only to the host that issued it, and how much reasoning is asked for.

Before changing this file, know that reasoning without encrypted content can only be named to a server that stored it. Follows
the OpenAI Responses reference (read 2026-11-20).
"""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec import UNSET, Struct
from msgspec.structs import replace

from ...losses import Losses
from ...responses import Compaction, Reasoning, ReasoningOptions
from ...responses.carriers import PREFIX, nested, seal, sender, unseal
from ...unknown import Opt, given
from ...vendors.dialects import OPENAI, ResponsesDialect
from ..leftovers import ID_PREFIXES
from .content import ItemT
from .types import WIRE

StateT = TypeVar("StateT", bound=Reasoning | Compaction)

STATE = (Reasoning, Compaction)


class Held(Struct, tag="held"):
    """What an envelope of this wire holds: the `encrypted_content` as its host sent it, absent and null included.

    On a host without encryption it holds nothing, and its being there says whose reasoning the item is.
    """

    encrypted_content: Opt[str] = UNSET


# --- opaque state ---------------------------------------------------------------------------------------------------


def encode_thinking(item: StateT, path: str, dialect: ResponsesDialect, lost: Losses, *, stored: bool) -> StateT | None:
    """The item with its opaque state as this host wrote it; `None` where the host could do nothing with it."""
    text = item.encrypted_content
    if not given(text):
        known = stored and given(item.id) and has_own_id(item, dialect)
        if not known:
            lost.dropped(path, "reasoning that carries nothing this host could read again")
            return None
    elif text.startswith(PREFIX):
        held: Held | None = unseal(text, WIRE, dialect.issuer, Held)
        if held is None:
            wire, issuer = sender(text) or ("", "an unknown issuer")
            lost.withheld(f"{path}.encrypted_content", f"opaque state of {issuer} ({wire or 'unreadable'})")
            return None
        if not given(held.encrypted_content) and isinstance(item, Reasoning) and not item.content:
            lost.dropped(path, "reasoning that returned without its text")
            return None
        item = replace(item, encrypted_content=held.encrypted_content)
    elif dialect.seals:
        lost.withheld(f"{path}.encrypted_content", "opaque state of another issuer")
        return None
    if isinstance(item, Compaction):
        return item
    # A status means nothing here, so nothing is lost with it.
    refused: dict[str, Any] = {name: None for name in dialect.reasoning_lacks if getattr(item, name)}
    if "content" in refused and item.content:
        lost.dropped(f"{path}.content", "the host does not accept the text of its reasoning")
    return replace(item, **refused) if refused else item


def has_own_id(item: Any, dialect: ResponsesDialect) -> bool:
    """Whether the id of an item may be one of the host: OpenAI's have the prefix of their type, those of others any."""
    prefix = ID_PREFIXES.get(item.type)
    return (
        not dialect.checks_ids
        or prefix is None
        or str(item.id).startswith(f"{prefix}_")
        or (dialect.issuer != OPENAI and not str(item.id).startswith(ANTHROPIC_IDS))
    )


ANTHROPIC_IDS = ("toolu_", "srvtoolu_", "mcptoolu_")
"""The prefixes of ids of calls at Anthropic."""


def decode_thinking(item: StateT, dialect: ResponsesDialect, *, answer: bool) -> StateT:
    """The item with its opaque state in an envelope that returns to this host alone.

    What looks like an envelope of ours is one in a request. In an `answer` it is state of that host, such as another
    gateway's, which is never opened here.
    """
    text = item.encrypted_content
    if given(text):
        if not answer if text.startswith(PREFIX) else not dialect.seals:
            return item
    elif not (dialect.takes_reasoning_text and isinstance(item, Reasoning) and item.content):
        return item
    return replace(item, encrypted_content=seal(WIRE, dialect.issuer, Held(encrypted_content=text)))


def unsealed(item: ItemT, dialect: ResponsesDialect) -> ItemT:
    """The item with state that this host issued as it issued it; state of others stays in its envelope.

    So does state of this host that a client would return as ours.
    """
    if not isinstance(item, STATE) or not given(item.encrypted_content):
        return item
    held: Held | None = unseal(item.encrypted_content, WIRE, dialect.issuer, Held)
    if held is None or nested(item.encrypted_content, held.encrypted_content or ""):
        return item
    return replace(item, encrypted_content=held.encrypted_content)


# --- how much reasoning is asked for --------------------------------------------------------------------------------


def encode_effort(options: ReasoningOptions, dialect: ResponsesDialect, lost: Losses) -> ReasoningOptions:
    """The options with an effort that the host knows; the same object where it knows theirs."""
    if options.effort not in dialect.efforts:
        return options
    nearest = dialect.efforts[str(options.effort)]
    lost.changed("reasoning.effort", f"the host does not know {options.effort}; {nearest} was requested")
    return replace(options, effort=nearest)
