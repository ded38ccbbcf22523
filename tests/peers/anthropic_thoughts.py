"""How Anthropic's Messages API signs thoughts, and notices what happened to them.

Follows the guide to extended thinking (read 2026-11-20). A thought is signed over its text, over what the user said last and
over everything before it. The first two hold on every model, the last on models that bind thoughts to their prefix. The id
of a call covers the thoughts before it, so that one left out is noticed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from llm_rest.responses import CustomToolCall, FunctionCall, Reasoning
from llm_rest.simulator.plain import Plain
from llm_rest.simulator.signatures import mac, opened, seal
from llm_rest.simulator.turns import Turn
from llm_rest.unknown import as_object

from .seals import mark, turns_of, wire_item

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llm_rest.responses import AnyItem, Response
    from llm_rest.server.handler import Context

WIRE = "anthropic_messages"
PREFIX_BOUND = re.compile(r"(fable|mythos)-5[.-][12]|(opus|sonnet|haiku)-5[.-]5")
"""Models that take a thought back only where nothing before it changed."""

THOUGHTS = ("thinking", "redacted_thinking")

MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)

_OUR_CALL = re.compile(r"toolu_sim([0-9a-f]{17,20})x([0-9a-f]{4})([0-9a-f]{16})")

DROPPED = {"prefix_mismatch_behavior": "drop_block"}
"""`thinking.block_binding` of a request that wants thoughts dropped which are bound to another prefix."""


def forged(document: Plain, issuer: str) -> Iterator[str]:
    """What is wrong with the thoughts that came back."""
    groups = turns_of(document, WIRE)
    bound = PREFIX_BOUND.search(document.get("model", ""))
    bound = bound and as_object(document.get("thinking")).get("block_binding") != DROPPED
    words = [i for i, group in enumerate(groups) if group.role == "user" and group.lacking("type", "tool_result")]
    for i, group in enumerate(groups):
        thoughts: list[str] = []
        for path, block in group.blocks:
            kind = block.get("type")
            if kind in THOUGHTS:
                sealed = str(block.get("signature") if kind == "thinking" else block.get("data"))
                found = _covered(sealed, block.get("thinking"), issuer)
                if found is None:
                    yield f"{path}: Invalid `{'signature' if kind == 'thinking' else 'data'}` in `{kind}` block"
                    continue
                text, turn, prefix = found
                if turn != mac("turn", text, _turn(groups[:i])):
                    yield f"{path}: {MODIFIED}"
                if bound and prefix != mac("prefix", text, _prefix(document, groups[:i])):
                    yield f"{path}: Invalid `thinking` block. The block is bound to a different conversation."
                thoughts.append(sealed)
            elif kind == "tool_use" and i > max(words, default=-1):
                ours = _OUR_CALL.fullmatch(block["id"])
                if ours and ours[2] == mark(issuer, ours[1]) and ours[3] != mac("call", ours[1], thoughts):
                    yield f"{path}: {MODIFIED}"


def _covered(sealed: str, text: str | None, issuer: str) -> tuple[str, str, str] | None:
    """What a seal covers and its marks for the turn and the prefix; `None` where it is not ours or not of this text.

    A redacted thought holds what it covers.
    """
    fields = opened(issuer, sealed)
    if fields is None or len(fields) < 3:
        return None
    covered = fields[3] if len(fields) == 4 else text
    if covered is None or fields[0] != mac("text", covered):
        return None
    return covered, fields[1], fields[2]


def _turn(groups: list[Turn]) -> Any:
    """What the user said last before a thought, whatever was called since then: before that may stand a summary by now."""
    users = [block for group in groups if group.role == "user" for _, block in group.blocks]
    return _unmarked([block for block in users if block.get("type") != "tool_result"][-1:])


def _prefix(document: Plain, groups: list[Turn]) -> Any:
    """Everything before a thought."""
    system = document.get("system")
    said = [[group.role, [block for _, block in group.blocks]] for group in groups]
    system = [{"type": "text", "text": system}] if isinstance(system, str) else system
    return _unmarked([system or [], document.get("tools") or [], said])


def _unmarked(value: Any) -> Any:
    """`value` without its marks for the cache, which change nothing that was said."""
    if isinstance(value, dict):
        return {k: _unmarked(v) for k, v in cast("Plain", value).items() if k != "cache_control"}
    return [_unmarked(inner) for inner in cast("Any", value)] if isinstance(value, list) else value


# --- issuing --------------------------------------------------------------------------------------------------------


def signed(response: Response, document: Plain, context: Context) -> Response:
    """The response with Anthropic's ids, its thoughts signed, and calls that vouch for the thoughts before them."""
    groups = turns_of(document, WIRE)
    omitted = as_object(document.get("thinking")).get("display") == "omitted"
    issuer, seeds = context.dialect.issuer, response.id.removeprefix("resp_")
    output: list[AnyItem] = []
    thoughts: list[str] = []
    for i, item in enumerate(response.output):
        match item:
            case Reasoning(summary=summary):
                shown = "" if omitted else "\n".join(part.text for part in summary or ())
                block = _block(shown if summary else None, f"{seeds}{i}", groups, document, issuer)
                thoughts.append(str(block.get("signature", block.get("data"))))
                output.append(wire_item(WIRE, _message(block), context))
            case FunctionCall() | CustomToolCall():
                name = f"{seeds}{i}"
                vouched = f"toolu_sim{name}x{mark(issuer, name)}{mac('call', name, thoughts)}"
                output.append(replace(item, call_id=vouched))
            case _:
                output.append(item)
    return replace(response, id=f"msg_{seeds}", output=output)


def _block(text: str | None, hidden: str, groups: list[Turn], document: Plain, issuer: str) -> Plain:
    """A thought as the API sends it: with its signature, or redacted where nothing of it is shown."""
    covered = hidden if text is None else text
    marks = mac("text", covered), mac("turn", covered, _turn(groups)), mac("prefix", covered, _prefix(document, groups))
    if text is None:
        return {"type": "redacted_thinking", "data": seal(issuer, *marks, hidden)}
    return {"type": "thinking", "thinking": text, "signature": seal(issuer, *marks)}


def _message(block: Plain) -> Plain:
    """The smallest message with that block."""
    usage = {"input_tokens": 0, "output_tokens": 0}
    told = {"id": "msg_", "type": "message", "role": "assistant", "model": "", "content": [block], "usage": usage}
    return {**told, "stop_reason": "end_turn", "stop_sequence": None}
