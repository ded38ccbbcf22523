"""How hard the model is to think, both ways.

Before changing this file, know that hosts write it in two fields, and that some turn thinking off in a third one: what a
host's document said is read into one word, and the field is a note of the request. Follows the Chat Completions reference
and those of the hosts (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from ...responses.request import ReasoningOptions, Request
from ...unknown import Opt, given
from . import types
from .left import put_back
from .types import Json

if TYPE_CHECKING:
    from ...dialects import ChatDialect
    from ...losses import Losses


def encode_effort(request: Request, body: types.Request, spelling: Json, dialect: ChatDialect, lost: Losses) -> None:
    """Set how hard to think, in the field that the host reads."""
    asked = request.reasoning
    if not given(asked):
        return
    effort = asked.effort
    if given(effort):
        if effort == "none" and dialect.effort_none:
            put_back(body, dialect.effort_none)
            effort = UNSET
        elif effort in dialect.efforts:
            lost.changed("reasoning.effort", f"{effort!r}, sent as {dialect.efforts[effort]!r}")
            effort = dialect.efforts[effort]
    if spelling.get("effort", dialect.effort_field) == "reasoning":
        if effort is not UNSET or asked.summary is not UNSET:
            body.reasoning = types.Reasoning(effort=effort, summary=asked.summary)
    else:
        body.reasoning_effort = effort
        if given(asked.summary):
            lost.dropped("reasoning.summary", "a summary of the reasoning")
    for name in ("generate_summary", "context", "mode"):
        if given(getattr(asked, name)):
            lost.dropped(f"reasoning.{name}", "an option of reasoning that this wire has no field for")


def decode_effort(body: types.Request, request: Request, left: Json, spelling: Json, dialect: ChatDialect) -> None:
    """Read how hard to think, from any of the fields that say it."""
    effort, field = body.reasoning_effort, "reasoning_effort"
    summary: Opt[str] = UNSET
    asked = body.reasoning
    if given(asked):
        rest = {name: value for name, value in msgspec.to_builtins(asked).items() if name not in ("effort", "summary")}
        if effort is UNSET:
            effort, field = asked.effort, "reasoning"
        elif asked.effort is not UNSET:
            rest["effort"] = asked.effort
        summary = asked.summary
        if rest or (effort is UNSET and summary is UNSET):
            left["reasoning"] = rest
    elif asked is None:
        left["reasoning"] = None
    off = dialect.effort_none
    if off and effort is UNSET and all(getattr(body, name) == value for name, value in off.items()):
        effort, field = "none", dialect.effort_field
        for name in off:
            left.pop(name, None)
    if effort is UNSET and summary is UNSET:
        return
    request.reasoning = ReasoningOptions(effort=effort, summary=summary)
    if field != dialect.effort_field:
        spelling["effort"] = field
