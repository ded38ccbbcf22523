"""Conversion of thinking, both ways, and all opaque reasoning state: thinking options, blocks, envelopes, runs of hosted tools.

Before changing this file, know that supported options depend on the model; that envelopes may be forged: their payloads are
typed, and whole blocks are restored only if their types are listed; and that `fingerprint` ties the blocks of a run to the
visible items of the run. Follows the guides of Anthropic to extended thinking, effort, web search, web fetch, code execution,
tool search and the MCP connector (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec
from msgspec import UNSET, Raw, Struct
from msgspec.structs import replace

from ... import responses as ours
from ...errors import DecodeError
from ...responses.carriers import digest, seal, unseal
from ...unknown import Decoder, Model, Opt, Unknown, extras, given, or_none, or_unset
from ...vendors.dialects import MessagesModel, messages_model
from ..kept import patch
from ..leftovers import as_list, as_object, item_id
from . import types
from .content import encode
from .types import WIRE, Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...losses import Losses
    from .content import Context

# --- thinking, effort and sampling -----------------------------------------------------------------------------------

SAMPLING = ("temperature", "top_p", "top_k")
LEAST_BUDGET = 1024
BUDGETS = {"minimal": 0.0, "low": 0.0, "medium": 0.4, "high": 0.7, "xhigh": 0.9, "max": 0.95}
"""The thinking budget of older models as a share of the answer's tokens, by effort; at least `LEAST_BUDGET` tokens."""
BUDGETS_BACK = ((0.25, "low"), (0.6, "medium"))
"""The effort for a share below the number; a larger share is high."""
NEAREST = {"minimal": ("low",), "xhigh": ("high", "max"), "max": ("xhigh", "high")}
"""The replacements for an effort that a model lacks, the nearest first."""

SUMMARIES = {"auto": "summarized", "concise": "summarized", "detailed": "summarized"}
"""Forms of visible thinking, ours on the left. Decoding gives `auto`: there is one kind of summary."""

NOT_THINKING = ("disabled", "between_tools")
"""Types of `thinking` without thinking before an answer."""
DROP_BLOCK: Json = {"prefix_mismatch_behavior": "drop_block"}
"""`thinking.block_binding`: what happens to a thinking block whose prefix has changed."""


class ThinkingOptions(Model, kw_only=True):
    """`thinking`, and `output_config.effort`, which have one joint meaning."""

    thinking: Opt[types.ThinkingConfig] = UNSET
    effort: Opt[str] = UNSET


THINKING_OPTIONS: Decoder[ThinkingOptions] = Decoder(ThinkingOptions)


def binds(request: ours.Request) -> bool:
    """Whether the model rejects thinking blocks with a changed prefix, and drops them in a request with thinking."""
    model = messages_model(request.model or "")
    asks_for_none = request.reasoning is not None and request.reasoning.effort == "none"
    return model.binds_prefix and not (asks_for_none and any(kind in model.thinking for kind in NOT_THINKING))


def encode_effort(
    options: ours.ReasoningOptions, max_tokens: int, context: Context, *, drops: bool = False
) -> ThinkingOptions:
    """The thinking options for `reasoning`; with `drops`, thinking blocks with a changed prefix are to be dropped."""
    lost, model = context.lost, context.model
    asked = _encode_effort(or_unset(options.effort), max_tokens, context)
    if drops:  # by a model that thinks by default
        asked.thinking = asked.thinking or types.ThinkingConfig(type="adaptive")
        asked.thinking.block_binding = DROP_BLOCK
    if not given(options.summary):
        return asked
    if asked.thinking is UNSET and "adaptive" in model.thinking and model.thinks == "yes":
        asked.thinking = types.ThinkingConfig(type="adaptive")
    if not given(asked.thinking) or asked.thinking.type not in ("adaptive", "enabled"):
        lost.dropped("reasoning.summary", "the model does not think for this request")
        return asked
    asked.thinking.display = SUMMARIES.get(options.summary, "summarized")
    if options.summary != "auto":
        lost.changed("reasoning.summary", "Anthropic has one kind of summary")
    return asked


def _encode_effort(effort: Opt[str], max_tokens: int, context: Context) -> ThinkingOptions:
    lost, model = context.lost, context.model
    if not given(effort):
        return ThinkingOptions()
    if effort == "none":
        off = next((kind for kind in NOT_THINKING if kind in model.thinking), None)
        if off is not None:
            return ThinkingOptions(thinking=types.ThinkingConfig(type=off))
        lost.changed("reasoning.effort", "this model always thinks; the lowest effort is requested")
        return ThinkingOptions(effort="low")
    nearest: Opt[str] = UNSET
    if model.efforts:
        others = [effort, *NEAREST[effort]] if effort in NEAREST else [effort]
        nearest = next((one for one in others if one in model.efforts), model.efforts[-1] if others[1:] else effort)
        if nearest != effort:
            lost.changed("reasoning.effort", f"this model has no effort {effort!r}; it is asked for {nearest!r}")
    if "adaptive" in model.thinking:
        return ThinkingOptions(thinking=types.ThinkingConfig(type="adaptive"), effort=nearest)
    if "enabled" not in model.thinking:
        lost.dropped("reasoning.effort", "this model does not think")
        return ThinkingOptions(effort=nearest)
    budget = max(LEAST_BUDGET, int(max_tokens * BUDGETS.get(effort, 0.7)))
    if budget >= max_tokens:
        lost.changed("reasoning.effort", f"an answer of {max_tokens} tokens is too short for thinking")
        return ThinkingOptions(thinking=types.ThinkingConfig(type="disabled"), effort=nearest)
    asked = ThinkingOptions(thinking=types.ThinkingConfig(type="enabled", budget_tokens=budget), effort=nearest)
    expected = decode_effort(asked, max_tokens, model)
    if expected and expected.effort != effort:
        what = f"thinking with {budget} of {max_tokens} tokens, which reads as {expected.effort!r}"
        lost.changed("reasoning.effort", what)
    return asked


def decode_effort(asked: ThinkingOptions, max_tokens: int, model: MessagesModel) -> ours.ReasoningOptions | None:
    """The reasoning options; `None` where thinking and effort are absent."""
    thinking, effort = asked.thinking, or_none(asked.effort)
    summary: str | None = None
    if given(thinking) and thinking != types.ThinkingConfig(type="adaptive", block_binding=DROP_BLOCK):
        if thinking.type in NOT_THINKING:
            effort = "none"
        elif effort is None and given(thinking.budget_tokens):
            share = thinking.budget_tokens / max(max_tokens, 1)
            effort = next((name for most, name in BUDGETS_BACK if share < most), "high")
        elif effort is None:
            effort = model.default_effort
        if thinking.display == "summarized":
            summary = "auto"
    return None if effort is None else ours.ReasoningOptions(effort=effort, summary=summary)


def encode_sampling(request: ours.Request, body: types.Request, context: Context) -> None:
    """Set the sampling options that the model supports."""
    lost, taken = context.lost, context.model.sampling
    thinks = body.thinking.type != "disabled" if given(body.thinking) else context.model.thinks == "yes"
    why = "this model takes no sampling options" if taken == "no" else "not taken while the model thinks"
    for name in SAMPLING:
        if (value := getattr(request, name)) is None:
            continue
        taken_thinking = value == 1 if name == "temperature" else name == "top_p" and value >= 0.95
        if taken == "no" or (thinks and not taken_thinking):
            lost.dropped(name, why)
        elif name == "top_p" and taken == "one" and given(body.temperature):
            lost.dropped("top_p", "this model supports temperature or top_p, not both")
        elif name == "temperature" and value > 1:
            body.temperature = 1
            lost.changed("temperature", "at most 1 at Anthropic")
        else:
            setattr(body, name, value)


def finish_thinking(
    body: types.Request, messages: list[types.InputMessage], earlier: bool | None, context: Context
) -> None:
    """Disable thinking for a request whose history or tool choice forbids it; and make its last message valid.

    `messages` are those after the turns that were encoded before, `earlier` is `begins_with_thinking` of these.
    """
    thinking = body.thinking
    if given(thinking) and thinking.type == "enabled":
        forced = given(body.tool_choice) and body.tool_choice.type in ("any", "tool")
        if forced or begins_with_thinking(messages, earlier) is False:
            why = "a call is forced" if forced else "the thoughts before the last calls are missing"
            context.lost.changed("reasoning", f"no thinking for this request, because {why}")
            body.thinking = types.ThinkingConfig(type="disabled")
    if messages and messages[-1].role == "assistant":
        _finish_prefill(messages[-1], context)


def begins_with_thinking(messages: list[types.InputMessage], earlier: bool | None = None) -> bool | None:
    """Whether the assistant's turn that waits for results began with thinking, as it must while thinking is on.

    `earlier` is the same of the messages before these; `None` where the turn has no assistant message.
    """
    first: types.InputMessage | None = None
    for message in reversed(messages):
        content = message.content if isinstance(message.content, list) else []
        if message.role == "assistant":
            first = message
        elif message.role == "user" and not (content and isinstance(content[0], types.ToolResult)):
            break
    else:
        if earlier is not None:
            return earlier
    if first is None:
        return None
    blocks = first.content if isinstance(first.content, list) else []
    return bool(blocks) and isinstance(blocks[0], types.Thinking | types.RedactedThinking)


def _finish_prefill(last: types.InputMessage, context: Context) -> None:
    blocks = last.content if isinstance(last.content, list) else []
    # The vendor paused here and continues, or a call without its result was rejected already.
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


# --- carriers --------------------------------------------------------------------------------------------------------

_A = TypeVar("_A")


class Payload(Struct, tag_field="kind", omit_defaults=True, kw_only=True):
    """The payload of an envelope of this wire."""


class Signed(Payload, tag="thinking"):
    """A thinking block without its text."""

    signature: str
    digest: str
    rest: Json = {}


class Redacted(Payload, tag="redacted_thinking"):
    """A redacted thinking block."""

    data: str
    rest: Json = {}


class Citations(Payload, tag="citations"):
    """The citations of a message's texts, one list (or null) for each."""

    digest: str
    citations: Raw


class Blocks(Payload, tag="blocks"):
    """Whole blocks; `digest` names the visible items before them that show what they did."""

    digest: str
    blocks: Raw


AnyPayload = Signed | Redacted | Citations | Blocks

FORGED = (types.Text, types.ToolUse, types.ToolResult, types.Thinking, types.RedactedThinking)
"""The blocks that are never sealed, but converted to items."""

BLOCKS: Decoder[list[types.AnyBlock]] = Decoder(list[types.AnyBlock])
CITATIONS: Decoder[list[list[types.AnyCitation] | None]] = Decoder(list[list[types.AnyCitation] | None])


def returning_blocks(raw: Raw) -> list[types.AnyBlock] | None:
    """The blocks in an envelope, or `None` if it has another or a forged payload."""
    blocks = unsealed(BLOCKS, raw)
    return None if any(isinstance(block, FORGED) for block in blocks or ()) else blocks


def unsealed(decoder: Decoder[_A], raw: Raw) -> _A | None:
    """The payload of an envelope, or `None` if it has another or a forged one."""
    try:
        return decoder.decode(bytes(raw))
    except DecodeError:
        return None


def decode_thinking(block: types.Thinking | types.RedactedThinking, issuer: str, id: str | None) -> ours.Reasoning:
    """A thinking block as a reasoning item: its text as the summary, the rest in an envelope."""
    if isinstance(block, types.RedactedThinking):
        sealed = seal(WIRE, issuer, Redacted(data=block.data, rest=extras(block)))
        return ours.Reasoning(id=id, summary=[], encrypted_content=sealed)
    text = block.thinking
    sealed = seal(WIRE, issuer, Signed(signature=block.signature, digest=digest(text), rest=extras(block)))
    return ours.Reasoning(id=id, summary=[ours.SummaryText(text=text)] if text else [], encrypted_content=sealed)


def encode_thinking(item: ours.Reasoning, payload: Signed | Redacted, path: str, lost: Losses) -> types.AnyBlock | None:
    """The block that `decode_thinking` made the item from; `None` if its text was edited, which breaks the signature."""
    if isinstance(payload, Redacted):
        return patch(types.RedactedThinking(data=payload.data), payload.rest)
    text = "".join(part.text for part in item.summary or ())
    if digest(text) != payload.digest:
        lost.dropped(path, "thinking whose text was changed, so that its signature no longer holds")
        return None
    return patch(types.Thinking(thinking=text, signature=payload.signature), payload.rest)


# --- foreign items: items of other vendors sent through a client of this wire ----------------------------------------
#
# A gateway answers such a client on behalf of another vendor, and the client sends the answer back. Data that this wire does
# not have (reasoning, searches, compactions of that vendor) is sent as thinking, which clients store and return unread: with its
# text where it has one, else redacted, and the item in an envelope in place of the signature. These blocks never reach
# this wire's own vendor: in a request they become items again, and their vendor is another.

CLIENT = "client"
"""The issuer of these envelopes: any server that answers the client."""
GAP = "\n\n"

FOREIGN_ITEMS = (
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
"""The items that may be sent this way: opaque items of a vendor, and records of its hosted tools."""

_item: Decoder[ours.AnyItem] = Decoder(ours.AnyItem)


class ForeignItem(Payload, tag="item"):
    """An item without the text that its block shows; `lengths` splits that into the parts named `shown`."""

    item: Raw
    shown: str = ""
    lengths: list[int] = []
    digest: str = ""


def encode_foreign_item(item: ours.AnyItem, path: str, lost: Losses) -> types.AnyBlock | None:
    """The block for an item of another vendor, to be sent through a client; `None` for items that need not return."""
    if not isinstance(item, FOREIGN_ITEMS):
        return None
    lost.withheld(path, "goes to the client as thinking, and back to its vendor when the client returns it")
    if isinstance(item, ours.Reasoning) and (item.summary or item.content):
        return encode_foreign_thinking(item, "summary" if item.summary else "content")
    # The status is the answer's, and set again on decoding.
    return types.RedactedThinking(data=seal(WIRE, CLIENT, ForeignItem(item=Raw(encode(replace(item, status=None))))))


def encode_foreign_thinking(item: ours.Reasoning, shown: str) -> types.Thinking:
    """Reasoning of another vendor as thinking that shows its `summary` or its `content`."""
    texts = [part.text for part in getattr(item, shown) or ()]
    text = GAP.join(texts)
    unseen = replace(item, status=None, leftovers=None)
    setattr(unseen, shown, None)
    foreign = ForeignItem(
        item=Raw(encode(unseen)), shown=shown, lengths=[len(text) for text in texts], digest=digest(text)
    )
    return types.Thinking(thinking=text, signature=seal(WIRE, CLIENT, foreign))


def decode_foreign_item(block: types.Thinking | types.RedactedThinking) -> ours.AnyItem | None:
    """The item that `encode_foreign_item` made the block from; `None` for a block of this wire's own vendor."""
    sealed = block.signature if isinstance(block, types.Thinking) else block.data
    foreign: ForeignItem | None = unseal(sealed, WIRE, CLIENT, ForeignItem)
    if foreign is None:
        return None
    item = unsealed(_item, foreign.item)
    if not isinstance(item, FOREIGN_ITEMS):
        return None
    if isinstance(item, ours.Reasoning) and isinstance(block, types.Thinking):
        text = block.thinking
        if digest(text) != foreign.digest:
            return ours.Reasoning(summary=[ours.SummaryText(text=text)])
        texts: list[str] = []
        for length in foreign.lengths:
            start = sum(map(len, texts)) + len(GAP) * len(texts)
            texts.append(text[start : start + length])
        if foreign.shown == "summary":
            item.summary = [ours.SummaryText(text=text) for text in texts]
        else:
            item.content = [ours.ReasoningText(text=text) for text in texts]
    return item


# --- runs of hosted tools -------------------------------------------------------------------------------------------

VISIBLE = (
    *(ours.WebSearchCall, ours.CodeInterpreterCall, ours.McpCall, ours.McpListTools),
    *(ours.ToolSearchCall, ours.ToolSearchOutput),
)
"""The visible items of a run."""

Use = types.ServerToolUse | types.McpToolUse

_sorted = msgspec.json.Encoder(order="deterministic").encode


def run_items(run: Sequence[tuple[int, types.AnyBlock]], message_id: str | None) -> list[ours.AnyItem]:
    """The visible items of a run, in the order of its uses."""
    results = {block.tool_use_id: block for _, block in run if isinstance(block, types.ServerToolResult)}
    return [
        item
        for i, block in run
        for item in block_items(i, block, results.get(block.id) if isinstance(block, Use) else None, message_id)
    ]


def block_items(
    i: int, block: types.AnyBlock, result: types.ServerToolResult | None, message_id: str | None
) -> list[ours.AnyItem]:
    """The visible items of the block at position `i`; a use without its result is in progress."""
    items = _block_items(block, result)
    for item in items:
        if message_id is not None:
            item.id = item_id(item, message_id, i)
        if not item.status and not isinstance(item, ours.McpListTools):
            item.status = "in_progress"
    return cast("list[ours.AnyItem]", items)


def finish_runs(hosted: Sequence[ours.AnyItem], going_on: bool, container: str | None) -> None:
    """Set the data known only at the end of an answer: where its code ran, and whether a use without result is in progress."""
    for item in hosted:
        if isinstance(item, ours.CodeInterpreterCall):
            item.container_id = container
        if not isinstance(item, Unknown) and item.status == "in_progress" and not going_on:
            item.status = "incomplete"


def _block_items(block: types.AnyBlock, result: types.ServerToolResult | None) -> list[ours.ItemBase]:
    match block:
        case types.ServerToolUse(name="web_search"):
            return [_search(arguments_of(block), result)]
        case types.ServerToolUse(name="web_fetch"):
            fetch = ours.WebSearchCall(action=ours.OpenPage(url=_string(arguments_of(block), "url")))
            if isinstance(result, types.WebFetchToolResult):
                fetch.status = "completed" if "url" in result.content else "failed"
            return [fetch]
        case types.ServerToolUse(name="code_execution" | "bash_code_execution"):
            return [_code(arguments_of(block), result)]
        case types.ServerToolUse(name="tool_search_tool_regex" | "tool_search_tool_bm25"):
            return _tool_search(block, result)
        case types.McpToolUse():
            return [_mcp_call(block, result)]
        case types.McpToolListing(mcp_server_name=label, tools=listed):
            tools = [
                ours.McpToolInfo(name=t.name, input_schema=or_none(t.input_schema), description=or_none(t.description))
                for t in listed
            ]
            return [ours.McpListTools(server_label=label, tools=tools)]
        case _:
            return []


def arguments_of(block: Use) -> Json:
    """The input of a use as plain values; empty if it is not an object."""
    try:
        found = msgspec.json.decode(block.input)
    except msgspec.MsgspecError:
        return {}
    return cast("Json", found) if isinstance(found, dict) else {}


def _string(arguments: Json, name: str) -> str | None:
    found = arguments.get(name)
    return found if isinstance(found, str) else None


def _search(arguments: Json, result: types.ServerToolResult | None) -> ours.WebSearchCall:
    query = _string(arguments, "query")
    action = ours.Search(query=query, queries=None if query is None else [query])
    call = ours.WebSearchCall(action=action)
    if isinstance(result, types.WebSearchToolResult):
        pages = as_list(result.content)
        call.status = "failed"
        if pages or result.content == []:
            urls = [as_object(page).get("url") for page in pages]
            action.sources = [ours.UrlSource(url=url) for url in urls if isinstance(url, str)]
            call.status = "completed"
    return call


def _code(arguments: Json, result: types.ServerToolResult | None) -> ours.CodeInterpreterCall:
    call = ours.CodeInterpreterCall(code=_string(arguments, "code") or _string(arguments, "command"))
    if isinstance(result, types.CodeExecutionToolResult | types.BashCodeExecutionToolResult):
        call.status = "completed" if "return_code" in result.content else "failed"
        if call.status == "completed":
            logs = [_string(result.content, "stdout"), _string(result.content, "stderr")]
            call.outputs = [ours.CodeLogs(logs=text) for text in logs if text]
    return call


def _tool_search(use: types.ServerToolUse, result: types.ServerToolResult | None) -> list[ours.ItemBase]:
    call = ours.ToolSearchCall(arguments=arguments_of(use), execution="server", call_id=use.id)
    if not isinstance(result, types.ToolSearchToolResult):
        return [call]
    if "tool_references" not in result.content:
        call.status = "incomplete"
        return [call]
    call.status = "completed"
    names = [as_object(found).get("tool_name") for found in as_list(result.content["tool_references"])]
    tools = [ours.FunctionTool(name=name) for name in names if isinstance(name, str)]
    return [call, ours.ToolSearchOutput(tools=[*tools], execution="server", call_id=use.id, status="completed")]


def _mcp_call(use: types.McpToolUse, result: types.ServerToolResult | None) -> ours.McpCall:
    arguments = bytes(use.input).decode("utf-8", "replace")
    call = ours.McpCall(
        server_label=use.server_name, name=use.name, arguments="{}" if arguments == "null" else arguments
    )
    if isinstance(result, types.McpToolResult):
        content = result.content or ""
        if isinstance(content, list):
            content = "".join(piece.text for piece in content if isinstance(piece, types.Text))
        if result.is_error:
            call.error = {"type": "mcp_tool_execution_error", "content": content}
            call.status = "failed"
        else:
            call.output = content
            call.status = "completed"
    return call


def fingerprint(items: list[ours.AnyItem]) -> str:
    """A digest of the visible items of a run, without ids and statuses."""
    return digest("\x1e".join(_sorted(_fingerprinted(item)).decode() for item in items))


def _fingerprinted(item: ours.AnyItem) -> list[Any]:
    match item:
        case ours.WebSearchCall(action=ours.Search(query=query, sources=sources)):
            return ["search", query or "", *(one.url for one in sources or () if isinstance(one, ours.UrlSource))]
        case ours.WebSearchCall(action=ours.OpenPage(url=url)):
            return ["open", url or ""]
        case ours.CodeInterpreterCall(code=code, outputs=outputs):
            return ["code", code or "", *(one.logs for one in outputs or () if isinstance(one, ours.CodeLogs))]
        case ours.McpCall(server_label=label, name=name, arguments=arguments):
            return ["mcp", label, name, arguments, item.output or "", item.error or None]
        case ours.McpListTools(server_label=label, tools=listed):
            return ["tools", label, *(tool.name for tool in listed)]
        case ours.ToolSearchCall(arguments=asked):
            return ["tool search", asked]
        case ours.ToolSearchOutput(tools=found):
            return ["found", *(tool.name for tool in found if isinstance(tool, ours.FunctionTool))]
        case Unknown():
            return ["unknown", dict(item)]
        case _:
            return [type(item).__name__]
