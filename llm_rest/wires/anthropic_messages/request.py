"""The request, both ways: its options and its whole body, its route and betas, counting of tokens, model lists.

Before changing this file, know the order: tools, system, messages is what the vendor caches and binds thinking to, and
thinking is settled after the messages, because it depends on them. Follows the Messages reference of Anthropic, API version
2026-10-21 (read 2026-11-20).
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Literal, cast
from urllib.parse import quote

from msgspec import UNSET

from ... import responses as ours
from ...errors import DecodeError
from ...losses import Loss, Losses, no_such, not_in, not_taken
from ...responses import Request
from ...responses.leftovers import NEAR, SPELLING
from ...responses.request import items_of
from ...unknown import MOST_UNKNOWN, Decoder, Model, Opt, Unknown, extras, given, or_none, or_unset, with_extras
from ...vendors.dialects import MessagesDialect, messages_model
from .. import Route
from .._left import report_unknown, says
from .._pairing import paired
from . import types
from .content import (
    DEFAULT,
    WIRE,
    Context,
    encode,
    left,
    mark_of,
    merged,
    own,
    own_fields,
    part_of,
    plain,
    rest,
    ttl_of,
)
from .messages import Turns, decode_messages
from .reasoning import decode_thinking, encode_sampling, encode_thinking, near, samples, settle_thinking, spelling_of
from .tools import Offer, decode_choice, decode_tools, encode_choice, encode_tools, fitted, servers_alone

JSON_INSTRUCTION = "Answer with one JSON object and nothing else."

TIERS = {"auto": "auto", "default": "standard_only", "priority": "auto"}
"""Service tiers of requests, ours on the left. The way back prefers the first: `auto` may use the priority tier."""
TIERS_BACK = {"auto": "auto", "standard_only": "default"}
SPEEDS = {"fast": "fast", "ultrafast": "fast"}
"""Tiers of ours that are a speed on this wire."""

COMPACT = "compact_20260112"
LEAST_COMPACTED = 50_000

STATELESS = "Anthropic keeps nothing between calls; send the conversation itself"
REFUSED = {
    "previous_response_id": STATELESS,
    "conversation": STATELESS,
    "prompt": "Anthropic has no stored prompts",
    "background": "Anthropic has no background mode",
    "moderation": "Anthropic does not moderate",
}
DROPPED = (
    "presence_penalty frequency_penalty top_logprobs metadata prompt_cache_key prompt_cache_retention store image "
    "access_programs background_options"
).split()
"""Options without a counterpart; one that is false, zero or empty asks for nothing."""
INCLUDED = frozenset({"reasoning.encrypted_content", "web_search_call.action.sources", "code_interpreter_call.outputs"})
"""What can be asked to be included and always is."""

_format: Decoder[types.OutputFormat] = Decoder(types.OutputFormat)


def encode_options(request: ours.Request, body: types.Request, kept: dict[str, Any], lost: Losses) -> None:
    """Set every option that depends on nothing else."""
    if given(request.stop):
        stops = [request.stop] if isinstance(request.stop, str) else request.stop
        body.stop_sequences = [stop for stop in stops if stop and not stop.isspace()]
        if len(body.stop_sequences) < len(stops):
            lost.dropped("stop", not_taken("blank stop sequences", "Anthropic"))
    user = request.safety_identifier if given(request.safety_identifier) else request.user
    if given(user):
        body.metadata = types.Metadata(user_id=user)
        if given(request.user) and request.user != user:
            lost.dropped("user", "Anthropic has one identifier of a user, and `safety_identifier` is it")
    if given(request.prompt_cache_options):
        _encode_cache(request.prompt_cache_options, body, kept, lost)
    tier = request.service_tier
    if given(tier):
        if tier in SPEEDS:
            body.speed = SPEEDS[tier]
        elif tier in TIERS:
            body.service_tier = TIERS[tier]
        else:
            lost.dropped("service_tier", f"Anthropic has no tier {tier!r}")
        if tier in ("priority", "ultrafast"):
            lost.changed("service_tier", f"Anthropic has no tier {tier!r}; the nearest is asked for")
    if given(request.context_management):
        body.context_management = _encode_context(request.context_management, lost)
    if given(request.truncation) and request.truncation != "disabled":
        lost.dropped("truncation", "Anthropic cuts nothing off by itself")
    if request.stream_options and request.stream_options.include_obfuscation:
        lost.dropped("stream_options.include_obfuscation", no_such("option", "Anthropic"))
    for i, wanted in enumerate(request.include or ()):
        if wanted not in INCLUDED:
            lost.dropped(f"include[{i}]", not_in(repr(wanted), "Anthropic"))
    for name, why in REFUSED.items():
        if says(getattr(request, name)):
            lost.refused(name, why)
    for name in DROPPED:
        if says(getattr(request, name)):
            lost.dropped(name, no_such("option", "Anthropic"))
    if given(request.seed):
        lost.dropped("seed", no_such("option", "Anthropic"))


def decode_options(body: types.Request, request: ours.Request, kept: dict[str, Any], spelled: dict[str, Any]) -> None:
    """Set what the options of `body` are in Responses; what has no word there goes to `kept`."""
    request.stop = body.stop_sequences if given(body.stop_sequences) else None
    if given(body.metadata):
        if given(body.metadata.user_id) and not extras(body.metadata):
            request.safety_identifier = body.metadata.user_id
        else:
            kept["metadata"] = plain(body.metadata)
    request.prompt_cache_options = or_none(_decode_cache(body, kept, spelled))
    if given(body.service_tier):
        if body.service_tier in TIERS_BACK:
            request.service_tier = TIERS_BACK[body.service_tier]
        else:
            kept["service_tier"] = body.service_tier
    if body.speed == "fast" and request.service_tier is None:
        request.service_tier = "fast"
    elif given(body.speed):
        kept["speed"] = body.speed
    if given(body.context_management):
        edits = body.context_management.edits or []
        thresholds = [edit.trigger.value if given(edit.trigger) else UNSET for edit in edits]
        found = [ours.ContextManagement(compact_threshold=or_none(value)) for value in thresholds]
        if found and _encode_context(found, Losses()) == body.context_management:
            request.context_management = found
        else:
            kept["context_management"] = plain(body.context_management)


# --- structured output ----------------------------------------------------------------------------------------------


def encode_text(text: ours.TextOptions, body: types.Request, spelled: dict[str, Any], context: Context) -> None:
    """Set `output_config.format`; without a schema, a JSON object is asked for in words."""
    lost = context.lost
    if given(text.verbosity):
        lost.dropped("text.verbosity", no_such("option", "Anthropic"))
    match text.format:
        case ours.JsonSchemaFormat() as asked:
            format = _encode_format(asked, spelled.get("format"), lost)
            if format is not None:
                body.output_config = body.output_config or types.OutputConfig()
                body.output_config.format = format
        case ours.JsonObjectFormat():
            lost.emulated("text.format", "a JSON object is asked for in words")
            if isinstance(body.system, list):
                body.system.append(types.Text(text=JSON_INSTRUCTION))
            else:
                body.system = f"{body.system}\n\n{JSON_INSTRUCTION}" if body.system else JSON_INSTRUCTION
        case Unknown() as asked:
            lost.refused("text.format", not_in(f"the format {asked.kind!r}", "Anthropic"))
        case _:
            pass


def _encode_format(asked: ours.JsonSchemaFormat, spelled: Any, lost: Losses) -> types.OutputFormat | None:
    try:
        format = None if spelled is None else _format.decode(encode(spelled))
        if format is not None and _decode_format(format) == asked:
            return format
    except DecodeError:
        pass
    if not given(asked.schema):
        lost.refused("text.format", "a format without a schema")
        return None
    if given(asked.description):
        lost.dropped("text.format.description", "Anthropic has no description of a schema")
    if asked.strict is False:
        lost.changed("text.format.strict", "Anthropic always enforces a schema")
    return types.OutputFormat(type="json_schema", schema=fitted(asked.schema, lost, "text.format.schema"))


def _decode_format(format: types.OutputFormat) -> ours.JsonSchemaFormat | None:
    """The format in Responses, which wants a name; `None` where it has no such format."""
    if format.type != "json_schema" or not given(format.schema) or extras(format):
        return None
    title = format.schema.get("title")
    named = isinstance(title, str) and title.isidentifier() and title.isascii() and len(title) <= 64
    return ours.JsonSchemaFormat(name=title if named else "answer", schema=format.schema)


def decode_text(body: types.Request, request: ours.Request, spelled: dict[str, Any], more: dict[str, Any]) -> None:
    """Set the format of the answer, from where it is now or from where it was in older requests."""
    asked = body.output_config.format if given(body.output_config) else UNSET
    if asked is None:
        more["format"] = None
    asked = asked if given(asked) else body.output_format
    if not given(asked):
        return
    format = _decode_format(asked)
    if format is None:
        more["format"] = plain(asked)
        return
    request.text = ours.TextOptions(format=format)
    if _encode_format(format, None, Losses()) != asked:
        spelled["format"] = plain(asked)


# --- caching and context management ---------------------------------------------------------------------------------


def _encode_cache(options: ours.CacheOptions, body: types.Request, kept: dict[str, Any], lost: Losses) -> None:
    if options.mode == "implicit":
        body.cache_control = mark_of(options.ttl, kept, "prompt_cache_options.ttl", lost)
    elif given(options.ttl):
        lost.dropped("prompt_cache_options.ttl", "each breakpoint says its own at Anthropic")
    if given(options.mode) and options.mode not in ("implicit", "explicit"):
        lost.dropped("prompt_cache_options.mode", not_in(repr(options.mode), "Anthropic"))
    if options.prewarm:
        body.max_tokens = 0
    if given(options.comparison_response_id):
        body.diagnostics = types.Diagnostics(previous_message_id=options.comparison_response_id)


def _decode_cache(body: types.Request, kept: dict[str, Any], spelled: dict[str, Any]) -> Opt[ours.CacheOptions]:
    options, mark, asked = ours.CacheOptions(), body.cache_control, body.diagnostics
    if given(mark):
        options.mode = "implicit"
        options.ttl = ttl_of(mark, kept, spelled)
    if body.max_tokens == 0:
        options.prewarm = True
    if given(asked):
        if given(asked.previous_message_id) and not extras(asked):
            options.comparison_response_id = asked.previous_message_id
        else:
            kept["diagnostics"] = plain(asked)
    return UNSET if options == ours.CacheOptions() else options


def _encode_context(edits: Sequence[ours.ContextManagement], lost: Losses) -> Opt[types.ContextManagement]:
    found: list[types.ContextEdit] = []
    for i, asked in enumerate(edits):
        if asked.type != "compaction":
            lost.dropped(f"context_management[{i}]", not_in(repr(asked.type), "Anthropic"))
            continue
        edit, least = types.ContextEdit(type=COMPACT), asked.compact_threshold
        if given(least):
            if least < LEAST_COMPACTED:
                lost.changed(f"context_management[{i}].compact_threshold", f"at least {LEAST_COMPACTED} at Anthropic")
            edit.trigger = types.Threshold(type="input_tokens", value=max(least, LEAST_COMPACTED))
        found.append(edit)
    return types.ContextManagement(edits=found) if found else UNSET


NEWEST = "2026-10-21"
OLDER = "2023-06-01"
"""The version that still takes sampling options."""

MCP = "mcp-client-2025-11-20"
FIRST_MCP = "mcp-client-2025-04-04"
"""For servers that choose their tools themselves, without a toolset."""
EDITS = "context-management-2025-06-27"
COMPACT_EDIT = "compact-2026-01-12"
COMPACT_BETA = "compact-2026-09-04"
FAST = "fast-mode-2026-02-01"
TOOL_CHANGES = "mid-conversation-tool-changes-2026-07-01"
INLINE_TOOLS = "inline-tools-2026-09-15"

FIELDS = {
    "compaction": COMPACT_BETA,
    "fallbacks": "server-side-fallback-2026-07-01",
    "fallback_credit_token": "fallback-credit-2026-07-01",
    "mcp_servers": MCP,
    "thread": "message-threads-2026-08-12",
    "task_budget": "task-budgets-2026-03-13",
    "block_binding": "thinking-binding-controls-2026-08-01",
    "clear_at": "mid-conversation-system-clear-at-2026-08-21",
    "skills": "skills-2025-10-02",
}
"""Fields of this wire that need a beta, wherever they stand."""

VALUES = {
    "advisor_20260301": "advisor-tool-2026-03-01",
    "clear_tool_uses_20250919": EDITS,
    "clear_thinking_20251015": EDITS,
    "compact_20260112": COMPACT_EDIT,
    "mcp_toolset": MCP,
    "tool_addition": TOOL_CHANGES,
    "tool_removal": TOOL_CHANGES,
    "tool_definition": INLINE_TOOLS,
    "updates": "thinking-display-updates-2026-08-18",
    "fast": FAST,
}
"""Values of `type`, `display` and `speed` that need one."""

_FREE = frozenset({"input_schema", "input_examples", "schema", "metadata"})
"""Fields that hold the caller's own JSON."""


def route(request: ours.Request, *, dialect: MessagesDialect = DEFAULT, stream: bool = False) -> Route:
    """Where the request goes, and the headers it asks for itself."""
    path = dialect.stream_path if stream and dialect.stream_path is not None else dialect.path
    headers: dict[str, str] = {}
    if dialect.body_version is None:
        sampled = samples(request) and messages_model(request.model or "").sampling != "no"
        sampled = sampled or not {"temperature", "top_p", "top_k"}.isdisjoint(_additions(request))
        headers["anthropic-version"] = OLDER if sampled else NEWEST
    found = betas(request)
    if found and not dialect.betas_in_body:
        headers["anthropic-beta"] = ",".join(found)
    return Route(path.replace("{model}", quote(request.model or "", safe="")), headers=headers)


def _additions(request: ours.Request) -> dict[str, Any]:
    """What the caller adds to the body."""
    return request.extra.get(WIRE, {}) if request.extra else {}


def betas(request: ours.Request) -> list[str]:
    """The betas that a request needs on this wire, and those the caller names; sorted."""
    found: set[str] = set()
    kept, more = own(request.leftovers), _additions(request)
    if request.context_management:
        found.add(COMPACT_EDIT)
    if request.service_tier in SPEEDS:
        found.add(FAST)
    for tool in request.tools or ():
        if isinstance(tool, ours.McpTool):
            found.add(FIRST_MCP if tool.server_label in servers_alone(kept) else MCP)
        elif isinstance(tool, Unknown):
            _search(dict(tool), found)
    for item in request.input if isinstance(request.input, list) else ():
        _search_item(item, request, found)
    _search({name: value for name, value in kept.items() if name not in (SPELLING, "mcp_servers")}, found)
    _search(more, found)
    named: Any = more.get("betas", ())
    return sorted(found | {name for name in named if isinstance(name, str)})


def _search_item(item: ours.AnyItem, request: ours.Request, found: set[str]) -> None:
    match item:
        case ours.Message():
            _search(own(item.leftovers), found)
            for part in item.content if isinstance(item.content, list) else ():
                if not isinstance(part, Unknown) and part.leftovers:
                    _search(own(part.leftovers), found)
        case ours.Compaction():
            found.add(COMPACT_EDIT)
        case ours.CompactionTrigger():
            found.add(COMPACT_BETA)
        case ours.AdditionalTools():
            found.add(TOOL_CHANGES)
            offered = {tool.name for tool in request.tools or () if isinstance(tool, ours.FunctionTool)}
            if any(not isinstance(tool, ours.FunctionTool) or tool.name not in offered for tool in item.tools):
                found.add(INLINE_TOOLS)
        case _:
            pass


def _search(value: Any, found: set[str]) -> None:
    """Add what plain values of this wire need."""
    if isinstance(value, list | tuple):
        for one in cast("list[Any]", value):
            _search(one, found)
    for name, one in cast("dict[str, Any]", value).items() if isinstance(value, dict) else ():
        if name in FIELDS and one:
            found.add(FIELDS[name])
        if name in ("type", "display", "speed") and isinstance(one, str) and one in VALUES:
            found.add(VALUES[one])
        if name not in _FREE:
            _search(one, found)


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


# --- counting -------------------------------------------------------------------------------------------------------


class CountRequest(Model):
    """`POST /v1/messages/count_tokens`: a request without what only matters for generating."""

    model: Opt[str] = UNSET
    messages: list[types.InputMessage]
    system: Opt[str | list[types.Text]] = UNSET
    tools: Opt[list[types.Tool]] = UNSET
    tool_choice: Opt[types.ToolChoice] = UNSET
    thinking: Opt[types.ThinkingConfig] = UNSET
    output_config: Opt[types.OutputConfig] = UNSET
    cache_control: Opt[types.CacheControl] = UNSET
    speed: Opt[str] = UNSET
    mcp_servers: Opt[list[types.McpServer]] = UNSET
    context_management: Opt[types.ContextManagement] = UNSET


class ContextCount(Model):
    original_input_tokens: int


class Count(Model):
    """An estimate; `context_management` says what it was before editing."""

    input_tokens: int
    context_management: Opt[ContextCount] = UNSET


COUNT_REQUEST: Decoder[CountRequest] = Decoder(CountRequest, most_unknown=MOST_UNKNOWN)
COUNT: Decoder[Count] = Decoder(Count)


def encode_count(request: Request, *, dialect: MessagesDialect = DEFAULT) -> tuple[CountRequest, list[Loss]]:
    """The body that asks how many tokens a request has."""
    body, lost = encode_request(request, dialect=dialect)
    return CountRequest(**{name: getattr(body, name) for name in CountRequest.__struct_fields__}), lost


def decode_count(body: CountRequest, *, dialect: MessagesDialect = DEFAULT) -> tuple[Request, list[Loss]]:
    """The request whose tokens are to be counted."""
    fields = {name: getattr(body, name) for name in CountRequest.__struct_fields__}
    request, lost = decode_request(types.Request(max_tokens=1, **fields), dialect=dialect)
    request.max_output_tokens = None
    return request, lost


def count_route(request: Request, *, dialect: MessagesDialect = DEFAULT) -> Route:
    """Where counting is asked for."""
    there = route(request, dialect=dialect)
    return Route(f"{there.path}/count_tokens", headers=there.headers)


# --- models ---------------------------------------------------------------------------------------------------------


class ModelInfo(Model):
    """One model. `capabilities` is a tree whose leaves are `{"supported": ...}`."""

    id: str
    type: Literal["model"] | str = "model"
    display_name: Opt[str] = UNSET
    created_at: Opt[str] = UNSET
    max_input_tokens: Opt[int] = UNSET
    max_tokens: Opt[int] = UNSET
    lifecycle: Opt[Literal["active", "deprecated", "retired"] | str] = UNSET
    deprecated_at: Opt[str] = UNSET
    retires_at: Opt[str] = UNSET
    line: Opt[str] = UNSET
    capabilities: Opt[types.Plain] = UNSET


class ModelList(Model):
    """One page of `GET /v1/models`; the next one starts with `after_id=last_id`."""

    data: list[ModelInfo]
    first_id: Opt[str] = UNSET
    last_id: Opt[str] = UNSET
    has_more: bool = False


MODELS: Decoder[ModelList] = Decoder(ModelList)
MODEL: Decoder[ModelInfo] = Decoder(ModelInfo)
