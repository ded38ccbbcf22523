"""Why an answer ended, both ways: a finish reason here, a status with details in Responses.

Before changing this file, know that an unknown finish reason is never taken for success. Follows the Chat Completions
reference and those of the hosts (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import UnsetType

from ...unknown import Opt, given
from .left import absent, as_object, sent
from .ordinary import CHOICE
from .types import WIRE, Json

if TYPE_CHECKING:
    from ...losses import Losses
    from ...responses.items import AnyItem
    from ...responses.response import Response


class Ending(NamedTuple):
    """How an answer ended, as Responses says it; `reason` says why it is incomplete or what failed."""

    status: str
    reason: str | None = None


ENDINGS = {
    "stop": Ending("completed"),
    "tool_calls": Ending("completed"),
    "function_call": Ending("completed"),
    "eos": Ending("completed"),
    "length": Ending("incomplete", "max_output_tokens"),
    "model_length": Ending("incomplete", "max_output_tokens"),
    "content_filter": Ending("incomplete", "content_filter"),
    "sensitive": Ending("incomplete", "content_filter"),
    "error": Ending("failed", "server_error"),
    "insufficient_system_resource": Ending("failed", "server_error"),
    "network_error": Ending("failed", "server_error"),
}
"""What the finish reasons mean. Where several mean the same, the way back takes OpenAI's own (`finish_of`)."""

REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}


def status_of(finish_reason: Opt[str], output: list[AnyItem]) -> Ending:
    """How an answer with this finish reason ended. An unknown reason is kept, and nothing of the answer may be relied on."""
    if not finish_reason:
        return Ending("completed") if output else Ending("failed", "server_error")
    return ENDINGS.get(finish_reason) or Ending("incomplete", finish_reason)


def keep_finish(finish_reason: Opt[str], ending: Ending, left: Json, lost: Losses) -> None:
    """Keep a finish reason that the way back would not give by itself."""
    left.setdefault(CHOICE, {})["finish_reason"] = sent(finish_reason)
    if finish_reason and finish_reason not in ENDINGS:
        lost.changed(f"{CHOICE}.finish_reason", f"the unknown reason {finish_reason!r}, taken for {ending.status}")
    elif not finish_reason and ending.status == "failed":
        lost.changed(f"{CHOICE}.finish_reason", "no reason and no output, taken for a failure")


def finish_of(status: str, reason: str | None, calls: bool) -> str:
    """The finish reason that OpenAI would give."""
    if status == "incomplete":
        return REASONS.get(reason or "", "length")
    if status == "failed":
        return "error"
    return "tool_calls" if calls else "stop"


def encode_finish(response: Response, left: Json, calls: bool, lost: Losses) -> Opt[str]:
    """The finish reason of a response: the one it came with, unless its status has changed since."""
    details = response.incomplete_details
    reason = details.reason if given(details) and given(details.reason) else None
    kept = as_object(left.get(CHOICE))
    if "finish_reason" in kept:
        came = absent(kept["finish_reason"])
        if isinstance(came, str | None | UnsetType) and status_of(came, response.output).status == response.status:
            return came
    if response.status == "incomplete" and reason not in REASONS:
        lost.changed("incomplete_details.reason", f"{reason!r}, told as length")
    return finish_of(response.status, reason, calls)


def encode_ending(response: Response, lost: Losses) -> None:
    """Report what of a response's status this wire cannot tell."""
    if response.status == "failed" and WIRE not in (response.leftovers or {}):
        lost.refused("status", "a failed answer, which this wire tells as an error")
        lost.dropped("error", "why it failed, which `encode_error` tells")
    elif response.status not in ("completed", "incomplete", "failed"):
        lost.refused("status", f"an answer that is {response.status}, which this wire cannot tell")
