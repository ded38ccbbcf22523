"""A request of Responses on this wire, and back.

Messages are in `turns` and `history`, tools in `tools`, thinking in `thinking`, the other options in `options`; here they
become one body. Before changing this file, know the order: tools, system, messages is what the vendor caches and binds
thinking to, and thinking is settled after the messages, because it depends on them. Follows the Messages reference of
Anthropic, API version 2026-10-21 (read 2026-11-20).
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from msgspec import UNSET

from ... import responses as ours
from ...losses import Loss, Losses, no_such, not_taken
from ...responses.leftovers import NEAR, SPELLING
from ...responses.request import items_of
from ...unknown import extras, given, or_none, or_unset, with_extras
from ...vendors.dialects import MessagesDialect, messages_model
from .._left import report_unknown
from .._pairing import paired
from . import types
from .betas import betas
from .content import Context, part_of
from .history import decode_messages
from .leftovers import DEFAULT, WIRE, left, merged, own_fields, plain, rest
from .options import decode_options, decode_text, encode_options, encode_text
from .thinking import decode_thinking, encode_sampling, encode_thinking, near, samples, settle_thinking, spelling_of
from .tools import Offer, decode_choice, decode_tools, encode_choice, encode_tools
from .turns import Turns

MAX_TOKENS = 32_000
"""The longest answer where a request does not say and the model gives that many; the vendor wants a number."""

KEPT = ("anthropic_version anthropic_beta inference_geo fallbacks fallback_credit_token thread billing_policy").split()
"""Fields of the body that Responses has no word for."""
NOBODY = "..."
"""What the user says before a conversation that the assistant begins."""

ELSEWHERE = frozenset("tools other_tools mcp_servers messages output_config cache_control".split()) | {SPELLING}
"""Leftovers that are put back in their own places; every other is a field of the body."""


# --- Responses to this wire -----------------------------------------------------------------------------------------


def encode_request(request: ours.Request, *, dialect: MessagesDialect = DEFAULT) -> tuple[types.Request, list[Loss]]:
    """The body of `POST /v1/messages` for a request, and what could not be carried."""
    lost = Losses()
    model = messages_model(request.model or "")
    context = Context(lost, dialect, model, replay=True)
    kept = own_fields(request.leftovers, "", lost, request)
    spelled: dict[str, Any] = kept.get(SPELLING, {})
    report_unknown(request, "", lost)
    max_tokens = request.max_output_tokens
    if not given(max_tokens):
        max_tokens = min(MAX_TOKENS, model.max_tokens)
    body = types.Request(
        model=or_unset(request.model), max_tokens=max_tokens, messages=[], stream=or_unset(request.stream)
    )
    offer = encode_tools(request.tools or (), kept, context)
    _encode_tools(request, body, offer, spelled, context)
    _encode_input(request, body, offer, context, kept)
    if given(request.reasoning):
        body.thinking, effort = encode_thinking(request.reasoning, max_tokens, spelled, context)
        if effort is not UNSET:
            body.output_config = types.OutputConfig(effort=effort)
    if given(request.text):
        encode_text(request.text, body, spelled, context)
    settle_thinking(body, context)
    if samples(request):
        encode_sampling(request, body, context)
    encode_options(request, body, kept, lost)
    if context.marks:
        context.thin_marks(automatic=given(body.cache_control))
    if kept:
        body = _restored(body, kept, lost)
    return _addressed(request, body, dialect, lost), lost


def _encode_tools(
    request: ours.Request, body: types.Request, offer: Offer, spelled: dict[str, Any], context: Context
) -> None:
    lost, body.container = context.lost, offer.container
    if offer.servers:
        body.mcp_servers = [*offer.servers.values()]
    if offer.tools or request.tools == []:
        body.tools = offer.tools
    if offer.tools:
        body.tool_choice = encode_choice(request, spelled, context)
    else:
        if given(request.tool_choice) and request.tool_choice != "auto":
            (lost.dropped if request.tool_choice == "none" else lost.refused)("tool_choice", "a choice among no tools")
        if request.parallel_tool_calls is False:
            lost.dropped("parallel_tool_calls", "there are no calls at all")
    if given(request.max_tool_calls):
        searches = [tool for tool in offer.tools if tool.name in ("web_search", "web_fetch")]
        for tool in searches:
            tool.max_uses = request.max_tool_calls
        if searches:
            lost.changed("max_tool_calls", "a limit for each kind of search at Anthropic")
        else:
            lost.dropped("max_tool_calls", no_such("option", "Anthropic"))


def _encode_input(
    request: ours.Request, body: types.Request, offer: Offer, context: Context, kept: dict[str, Any]
) -> None:
    lost, spelled = context.lost, kept.get(SPELLING, {})
    turns = Turns(context, frozenset(tool.name for tool in offer.tools if given(tool.name)))
    turns.write(paired(items_of(request), lost))
    for i, message in sorted([*spelled.get("messages", ()), *kept.get("messages", ())], key=itemgetter(0)):
        turns.messages.insert(i, merged(types.InputMessage("user"), message, "input", lost))
    body.messages = turns.messages
    if not turns.messages:
        lost.refused("input", "nothing to answer")
    elif spelled.get("begins") != "assistant" and _begins_alone(turns.messages[0]):
        body.messages = [types.InputMessage(role="user", content=NOBODY), *turns.messages]
        lost.emulated("input[0]", "Anthropic lets the user speak first; a message of three dots was put before it")
    instructions = request.instructions
    if instructions and instructions.isspace():
        lost.dropped("instructions", not_taken("blank text", "Anthropic"))
        instructions = None
    if instructions:
        body.system = [types.Text(text=instructions), *turns.system] if turns.system else instructions
    elif turns.system:
        body.system = turns.system
    if turns.compacts:
        body.compaction = types.CompactionConfig(type="summarize")


def _begins_alone(message: types.InputMessage) -> bool:
    """Whether it is an assistant's that nobody spoke before; a compaction stands for what was said before."""
    content = message.content
    begun = isinstance(content, list) and content and isinstance(content[0], types.Compaction)
    return message.role == "assistant" and not begun


def _restored(body: types.Request, kept: dict[str, Any], lost: Losses) -> types.Request:
    """The body with the fields it had on this wire."""
    if "output_config" in kept:
        body.output_config = merged(
            body.output_config or types.OutputConfig(), kept["output_config"], "leftovers", lost
        )
    written: dict[str, Any] = kept.get(SPELLING, {}).get("empty", {})
    fields = {name: value for name, value in written.items() if getattr(body, name, None) is UNSET}
    fields |= {name: value for name, value in kept.items() if name not in ELSEWHERE}
    return _overlaid(body, fields, "leftovers", lost)


def _overlaid(body: types.Request, fields: dict[str, Any], path: str, lost: Losses) -> types.Request:
    """`body` with `fields` set, its long messages untouched."""
    if not fields:
        return body
    found = merged(types.Request(max_tokens=0, messages=[]), fields, path, lost)
    for name in fields.keys() & set(body.__struct_fields__):
        setattr(body, name, getattr(found, name))
    return with_extras(body, extras(body) | extras(found))


def _addressed(request: ours.Request, body: types.Request, dialect: MessagesDialect, lost: Losses) -> types.Request:
    """The body as its host takes it, with the caller's own additions last."""
    if given(request.extra) and request.extra.get(WIRE):
        more = {name: value for name, value in request.extra[WIRE].items() if name != "betas"}
        body = _overlaid(body, more, f"extra.{WIRE}", lost)
    if "{model}" in dialect.path:
        body.model = UNSET
    if dialect.body_version is not None:
        body.anthropic_version = dialect.body_version
    if dialect.betas_in_body:
        body.anthropic_beta = betas(request) or UNSET
    if not dialect.stream_in_body:
        body.stream = UNSET
    return body


# --- this wire to Responses -----------------------------------------------------------------------------------------


def decode_request(
    body: types.Request, *, dialect: MessagesDialect = DEFAULT, model: str | None = None
) -> tuple[ours.Request, list[Loss]]:
    """The request that `body` is in Responses. Nothing is lost: what has no word there is in `leftovers`.

    `model` is the model of the URL, for hosts that take it from there.
    """
    name = body.model if given(body.model) else model
    facts = messages_model(name or "")
    unset = [field for field in body.__struct_fields__ if not getattr(body, field)]
    empty = {field: value for field in unset if (value := getattr(body, field)) in (None, "", [])}
    spelled: dict[str, Any] = {"empty": empty} if empty else {}
    kept = rest(body, (field for field in KEPT if field not in empty))
    request = ours.Request(model=name, stream=or_none(body.stream))
    if given(body.tools) or body.mcp_servers:
        request.tools = decode_tools(body, facts, kept, spelled)
    runs_code = any((tool.type or "").startswith("code_execution_20") for tool in body.tools or ())
    if given(body.container) and not (isinstance(body.container, str) and runs_code):
        kept["container"] = plain(body.container)
    if given(body.tool_choice) and body.tools:
        decode_choice(body.tool_choice, request, kept, spelled)
    elif given(body.tool_choice):
        kept["tool_choice"] = plain(body.tool_choice)
    items: list[ours.AnyItem] = []
    if isinstance(body.system, str):
        request.instructions = body.system
    elif body.system:
        items.append(ours.Message(role="developer", content=[part_of(block) for block in body.system]))
    items += decode_messages(body.messages, dialect.issuer, request.tools or ())
    for i, message in enumerate(body.messages):
        if not message.content:
            known = rest(message, ("clear_at", "output_config"))
            (kept if known else spelled).setdefault("messages", []).append([i, plain(message)])
    if body.compaction == types.CompactionConfig(type="summarize"):
        items.append(ours.CompactionTrigger())
    elif given(body.compaction):
        kept["compaction"] = plain(body.compaction)
    if body.messages and body.messages[0].role == "assistant":
        spelled["begins"] = "assistant"
    request.input = items
    request.max_output_tokens = body.max_tokens or None
    for option in ("temperature", "top_p", "top_k"):
        if given(getattr(body, option)):
            setattr(request, option, getattr(body, option))
    config = body.output_config if given(body.output_config) else types.OutputConfig()
    thinking = body.thinking if given(body.thinking) else UNSET
    request.reasoning = decode_thinking(thinking, config.effort, body.max_tokens, facts)
    said, more = spelling_of(thinking, config.effort, body.max_tokens, facts)
    if said is not None:
        spelled["reasoning"] = said
    if more | (nearly := near(thinking, config.effort, request.reasoning)):
        spelled[NEAR] = {**spelled.get(NEAR, {}), **more, **nearly}
    more = rest(config, ("task_budget",) if given(config.effort) else ("task_budget", "effort"))
    decode_text(body, request, spelled, more)
    if more or (given(body.output_config) and config == types.OutputConfig()):
        kept["output_config"] = more
    decode_options(body, request, kept, spelled)
    if spelled:
        kept[SPELLING] = spelled
    request.leftovers = left(kept)
    return request, []
