"""Thinking, both ways: what was thought, whose it is, and how much thinking is asked for.

Thoughts are plain text, which nothing signs: an envelope in `encrypted_content` names their issuer, so that no model is given
another's as its own. Follows Ollama's page on thinking (read 2026-11-20).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Struct

from ... import responses as ours
from ...responses.carriers import seal
from ...unknown import given
from .types import WIRE

if TYPE_CHECKING:
    from ...losses import Losses
    from ...vendors.dialects import OllamaDialect

EFFORTS = {"none": False, "low": "low", "medium": "medium", "high": "high", "max": "max"}
"""Reasoning efforts as values of `think`, ours on the left."""
EFFORTS_BACK = {theirs: our for our, theirs in EFFORTS.items()}


# --- what was thought -----------------------------------------------------------------------------------------------


class Thought(Struct, tag="thought"):
    """Says nothing but whose thought it is: the issuer's that sealed it."""


@lru_cache(maxsize=64)
def issuer_seal(issuer: str) -> str:
    """What `encrypted_content` holds of the thoughts of `issuer`."""
    return seal(WIRE, issuer, Thought())


def decode_thinking(text: str, issuer: str) -> ours.Reasoning:
    """A reasoning item with the words of a model of `issuer`."""
    return ours.Reasoning(summary=[], content=[ours.ReasoningText(text=text)], encrypted_content=issuer_seal(issuer))


def encode_thinking(item: ours.Reasoning) -> str:
    """What can be read in a reasoning item: the words themselves, else their summary."""
    return "\n\n".join(part.text for part in item.content or item.summary or ())


# --- how much thinking is asked for ---------------------------------------------------------------------------------


def encode_effort(options: ours.ReasoningOptions, dialect: OllamaDialect, lost: Losses) -> Any:
    """The value of `think` for options of reasoning."""
    effort = options.effort
    if given(options.summary) and (given(effort) or options.summary != "auto"):
        lost.changed("reasoning.summary", "a summary; the full reasoning is sent")
    if not given(effort):
        # To be shown what the model thinks is what `think: true` asks for.
        return True if given(options.summary) else UNSET
    if effort in dialect.efforts:
        lost.changed("reasoning.effort", f"{effort!r}, sent as {dialect.efforts[effort]!r}")
        effort = dialect.efforts[effort]
    if effort not in EFFORTS:
        lost.dropped("reasoning.effort", f"{effort!r}, which this server rejects")
    return EFFORTS.get(effort, UNSET)


def decode_effort(think: Any) -> ours.ReasoningOptions | None:
    """The options of reasoning for a value of `think`; none for an unknown word."""
    if think is True:
        return ours.ReasoningOptions(summary="auto")
    return ours.ReasoningOptions(effort=EFFORTS_BACK[think]) if think in EFFORTS_BACK else None
