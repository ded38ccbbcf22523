"""Thinking, effort and sampling: what a request asks for, what its model takes, and how the three go together.

Before changing this file, know that one refused option fails the whole request, so what a model does not take stays behind and
is reported; and that a thinking budget has no exact counterpart, so a request of this wire keeps its own spelling in
leftovers, used again as long as it still says what `reasoning` says. Follows Anthropic's guides to extended and adaptive
thinking and to effort (read 2026-11-20).
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from ... import responses as ours
from ...errors import DecodeError
from ...losses import Losses, no_such
from ...responses.leftovers import unsaid
from ...unknown import Decoder, Opt, given, or_unset
from ...vendors.dialects import MessagesModel
from . import types
from .content import Context
from .leftovers import DEFAULT, encode, plain

LEAST_BUDGET = 1024
BUDGETS = {"minimal": 0.0, "low": 0.0, "medium": 0.4, "high": 0.7, "xhigh": 0.9, "max": 0.95}
"""The share of an answer's tokens that older models may think with, by effort; at least `LEAST_BUDGET` tokens."""
BUDGETS_BACK = ((0.25, "low"), (0.6, "medium"))
"""The effort that a share below the number means; a larger one is high."""
NEAREST = {"minimal": ("low",), "xhigh": ("high", "max"), "max": ("xhigh", "high")}
"""What is asked for instead of an effort a model does not have, the nearest first."""

SUMMARIES = {"auto": "summarized", "concise": "summarized", "detailed": "summarized"}
"""How thinking is shown, ours on the left. The way back is `auto`: there is one kind of summary."""

Asked = tuple["Opt[types.ThinkingConfig]", "Opt[str]"]
"""`thinking`, and `output_config.effort`."""

_config: Decoder[types.ThinkingConfig] = Decoder(types.ThinkingConfig)


# --- thinking and effort --------------------------------------------------------------------------------------------


def encode_thinking(
    reasoning: ours.ReasoningOptions, max_tokens: int, spelled: dict[str, Any], context: Context
) -> Asked:
    """What a request asks of reasoning; as this wire spelled it, where that still says the same."""
    said: dict[str, Any] = spelled.get("reasoning", {})
    asked = _spelled(said) if said else None
    if asked is not None and decode_thinking(*asked, max_tokens, context.model) == reasoning:
        return asked
    lost, model = context.lost, context.model
    for name in ("generate_summary", "context", "mode"):
        if given(getattr(reasoning, name)):
            lost.dropped(f"reasoning.{name}", no_such("option", "Anthropic"))
    thinking, effort = _effort(or_unset(reasoning.effort), max_tokens, context)
    if not given(reasoning.summary):
        return thinking, effort
    if thinking is UNSET and "adaptive" in model.thinking and model.thinks == "yes":
        thinking = types.ThinkingConfig(type="adaptive")
    if thinking is UNSET or thinking.type not in ("adaptive", "enabled"):
        lost.dropped("reasoning.summary", "the model does not think for this request")
        return thinking, effort
    thinking.display = SUMMARIES.get(reasoning.summary, "summarized")
    if reasoning.summary != "auto":
        lost.changed("reasoning.summary", "Anthropic has one kind of summary")
    return thinking, effort


def _spelled(said: dict[str, Any]) -> Asked | None:
    thinking = said.get("thinking", UNSET)
    try:
        return (_config.decode(encode(thinking)) if given(thinking) else UNSET), said.get("effort", UNSET)
    except DecodeError:
        return None


def _effort(effort: Opt[str], max_tokens: int, context: Context) -> tuple[types.ThinkingConfig | UnsetType, Opt[str]]:
    lost, model = context.lost, context.model
    if not given(effort):
        return UNSET, UNSET
    if effort == "none":
        off = next((kind for kind in ("disabled", "between_tools") if kind in model.thinking), None)
        if off is not None:
            return types.ThinkingConfig(type=off), UNSET
        lost.changed("reasoning.effort", "this model always thinks; it is asked to think little")
        return UNSET, "low"
    asked: Opt[str] = UNSET
    if model.efforts:
        others = [effort, *NEAREST[effort]] if effort in NEAREST else [effort]
        asked = next((one for one in others if one in model.efforts), model.efforts[-1] if others[1:] else effort)
        if asked != effort:
            lost.changed("reasoning.effort", f"this model has no effort {effort!r}; it is asked for {asked!r}")
    if "adaptive" in model.thinking:
        return types.ThinkingConfig(type="adaptive"), asked
    if "enabled" not in model.thinking:
        lost.dropped("reasoning.effort", "this model does not think")
        return UNSET, asked
    budget = max(LEAST_BUDGET, int(max_tokens * BUDGETS.get(effort, 0.7)))
    if budget >= max_tokens:
        lost.changed("reasoning.effort", f"an answer of {max_tokens} tokens leaves no room to think")
        return types.ThinkingConfig(type="disabled"), asked
    thinking = types.ThinkingConfig(type="enabled", budget_tokens=budget)
    meant = decode_thinking(thinking, asked, max_tokens, model)
    if given(meant) and meant.effort != effort:
        lost.changed(
            "reasoning.effort", f"thinking with {budget} of {max_tokens} tokens, which reads as {meant.effort!r}"
        )
    return thinking, asked


def decode_thinking(
    thinking: Opt[types.ThinkingConfig], effort: Opt[str], max_tokens: int, model: MessagesModel
) -> ours.ReasoningOptions | None:
    """What `thinking` and `effort` ask of reasoning; nothing where neither is there."""
    found: Opt[str] = effort if given(effort) else UNSET
    summary: str | None = None
    if given(thinking):
        if thinking.type in ("disabled", "between_tools"):
            found = "none"
        elif found is UNSET and given(thinking.budget_tokens):
            share = thinking.budget_tokens / max(max_tokens, 1)
            found = next((name for most, name in BUDGETS_BACK if share < most), "high")
        elif found is UNSET:
            found = model.default_effort
        if thinking.display == "summarized":
            summary = "auto"
    return ours.ReasoningOptions(effort=found, summary=summary) if given(found) else None


def near(
    thinking: Opt[types.ThinkingConfig], effort: Opt[str], reasoning: Opt[ours.ReasoningOptions]
) -> dict[str, str]:
    """The fields of thinking that Responses says only nearly."""
    if not given(thinking) or not given(thinking.budget_tokens) or not given(reasoning) or thinking.type != "enabled":
        return {}
    if given(effort):
        return {"thinking.budget_tokens": f"a budget of {thinking.budget_tokens} tokens, beside the effort {effort!r}"}
    budget = f"a budget of {thinking.budget_tokens} tokens, read as the effort {reasoning.effort!r}"
    return {"thinking.budget_tokens": budget}


def spelling_of(
    thinking: Opt[types.ThinkingConfig], effort: Opt[str], max_tokens: int, model: MessagesModel
) -> tuple[Any, dict[str, Any]]:
    """How a request of this wire spelled what it asks, and what of that has no word in Responses.

    Nothing where encoding spells it the same way again.
    """
    reasoning = decode_thinking(thinking, effort, max_tokens, model)
    context = Context(Losses(), DEFAULT, model, replay=True)
    made = encode_thinking(reasoning, max_tokens, {}, context) if given(reasoning) else (UNSET, UNSET)
    if not given(reasoning) or made == (thinking, effort):
        return None, {}
    said = {"thinking": plain(thinking)} if thinking is not UNSET else {}
    known = ("type",) if given(thinking) and thinking.type in ("enabled", "disabled", "adaptive") else ()
    more = unsaid(said.get("thinking"), plain(made[0]) if given(made[0]) else {}, "thinking", *known)
    return said | ({} if effort is UNSET else {"effort": effort}), more


# --- sampling -------------------------------------------------------------------------------------------------------


def samples(request: ours.Request) -> bool:
    """Whether a request sets an option that only the older version of the API takes."""
    return given(request.temperature) or given(request.top_p) or given(request.top_k)


def encode_sampling(request: ours.Request, body: types.Request, context: Context) -> None:
    """Set the sampling options that the model takes."""
    lost, taken = context.lost, context.model.sampling
    thinks = body.thinking.type != "disabled" if given(body.thinking) else context.model.thinks == "yes"
    why = "this model takes no sampling options" if taken == "no" else "not taken while the model thinks"
    for name in ("temperature", "top_p", "top_k"):
        value = getattr(request, name)
        if not given(value):
            continue
        taken_thinking = value == 1 if name == "temperature" else name == "top_p" and value >= 0.95
        if taken == "no" or (thinks and not taken_thinking):
            lost.dropped(name, why)
        elif name == "top_p" and taken == "one" and given(body.temperature):
            lost.dropped("top_p", "this model takes temperature or top_p, not both")
        elif name == "temperature" and value > 1:
            body.temperature = 1
            lost.changed("temperature", "at most 1 at Anthropic")
        else:
            setattr(body, name, value)


# --- how it all goes together ---------------------------------------------------------------------------------------


def settle_thinking(body: types.Request, context: Context) -> None:
    """Switch thinking off for a request whose history or tool choice forbids it; see to it that it may end as it does."""
    thinking = body.thinking
    if given(thinking) and thinking.type == "enabled":
        forced = given(body.tool_choice) and body.tool_choice.type in ("any", "tool")
        if forced or not _begins_with_thinking(body.messages):
            why = "a call is forced" if forced else "the thoughts before the last calls are missing"
            context.lost.changed("reasoning", f"no thinking for this request, because {why}")
            body.thinking = types.ThinkingConfig(type="disabled")
    if body.messages and body.messages[-1].role == "assistant":
        _settle_prefill(body.messages[-1], context)


def _begins_with_thinking(messages: list[types.InputMessage]) -> bool:
    """Whether the model's turn that waits for results began with a thought, as it must while thinking is on."""
    first: types.InputMessage | None = None
    for message in reversed(messages):
        content = message.content if isinstance(message.content, list) else []
        if message.role == "assistant":
            first = message
        elif message.role == "user" and not (content and isinstance(content[0], types.ToolResult)):
            break
    if first is None:
        return True
    blocks = first.content if isinstance(first.content, list) else []
    return bool(blocks) and isinstance(blocks[0], types.Thinking | types.RedactedThinking)


def _settle_prefill(last: types.InputMessage, context: Context) -> None:
    blocks = last.content if isinstance(last.content, list) else []
    # The vendor paused here and goes on, or a call without its result was refused already.
    if any(
        isinstance(block, types.ServerToolUse | types.ServerToolResult | types.McpToolUse | types.ToolUse)
        for block in blocks
    ):
        return
    if not context.model.prefill:
        context.lost.refused("input", "this model does not go on with an answer; the input must end with a user's turn")
        return
    text = last.content if isinstance(last.content, str) else getattr(blocks[-1], "text", "") if blocks else ""
    if text == text.rstrip():
        return
    context.lost.changed("input", "an answer to go on with may not end in white space")
    if isinstance(last.content, str):
        last.content = text.rstrip()
    elif isinstance(blocks[-1], types.Text):
        blocks[-1].text = text.rstrip()
