"""Conversion of thinking, both ways: its text, its issuer, and the reasoning effort.

Thoughts are plain text without a signature: an envelope in `encrypted_content` names their issuer, so that no model
gets another's as its own. Follows Ollama's page on thinking (read 2026-11-20).
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


# --- the text of thinking -------------------------------------------------------------------------------------------


class Thought(Struct, tag="thought"):
    """A payload without data: only the issuer that sealed it counts."""


@lru_cache(maxsize=64)
def issuer_seal(issuer: str) -> str:
    """The `encrypted_content` for thoughts of `issuer`."""
    return seal(WIRE, issuer, Thought())


def decode_thinking(text: str, issuer: str) -> ours.Reasoning:
    """A reasoning item with the text of a model of `issuer`."""
    return ours.Reasoning(summary=[], content=[ours.ReasoningText(text=text)], encrypted_content=issuer_seal(issuer))


def encode_thinking(item: ours.Reasoning) -> str:
    """The readable text of a reasoning item: the raw text, else its summary."""
    return "\n\n".join(part.text for part in item.content or item.summary or ())


# --- reasoning effort -----------------------------------------------------------------------------------------------


def encode_effort(options: ours.ReasoningOptions, dialect: OllamaDialect, lost: Losses) -> Any:
    """The value of `think` for reasoning options."""
    effort = options.effort
    if given(options.summary) and (given(effort) or options.summary != "auto"):
        lost.changed("reasoning.summary", "a summary; the full reasoning is sent")
    if not given(effort):
        # `think: true` also means that the thinking is returned.
        return True if given(options.summary) else UNSET
    if effort in dialect.efforts:
        lost.changed("reasoning.effort", f"{effort!r}, sent as {dialect.efforts[effort]!r}")
        effort = dialect.efforts[effort]
    if effort not in EFFORTS:
        lost.dropped("reasoning.effort", f"{effort!r}, which this server rejects")
    return EFFORTS.get(effort, UNSET)


def decode_effort(think: Any) -> ours.ReasoningOptions | None:
    """The reasoning options for a value of `think`; `None` for an unknown one."""
    if think is True:
        return ours.ReasoningOptions(summary="auto")
    return ours.ReasoningOptions(effort=EFFORTS_BACK[think]) if think in EFFORTS_BACK else None
