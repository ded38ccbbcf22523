"""Thinking, both ways: the options that ask for it, its blocks, and the envelopes in which opaque state travels.

Before changing this file, know that envelopes may be forged: their payloads are typed, and whole blocks come out only if they
are of the listed kinds; and that what a model takes depends on the model. Follows the extended thinking and effort guides of
Anthropic (read 2026-11-20).
"""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from ... import responses as ours
from ...errors import DecodeError
from ...losses import Losses, no_such
from ...responses.carriers import digest, seal, sender, unseal
from ...responses.leftovers import unsaid
from ...unknown import Decoder, Open, Opt, Unknown, extras, given, or_none, or_unset
from ...vendors.dialects import MessagesModel
from . import types
from .content import DEFAULT, WIRE, Context, encode, merged, plain

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
