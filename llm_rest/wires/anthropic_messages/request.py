"""Conversion of the request, both ways: its options and its whole body, its route and beta headers.

Before changing this file, know the order: the vendor caches, and binds thinking to, tools, system, messages; and
thinking is decided after the messages, because it depends on them. A decoded body is compared with its re-encoding, so
that losses of the re-encoding alone are not reported while the request is unchanged. Follows the Messages reference of
Anthropic, API version 2026-10-21, and its guides to prompt caching, structured outputs and betas (read 2026-11-20).
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from msgspec import UNSET
from msgspec.structs import replace

from ... import responses as ours
from ...losses import Loss, Losses, no_such, not_in, not_taken
from ...responses.carriers import BLOCK, ENTRIES, NEAR, SPELLING, digest, noted, own, sender, unsaid
from ...responses.request import items_of
from ...unknown import Opt, Unknown, as_list, as_object, given, or_none, or_unset
from ...vendors.dialects import MessagesDialect, MessagesModel, messages_model
from .. import Route, with_model
from ..call_ids import paired
from ..kept import diff, fits, note, own_leftovers, patch, report_misfits, stored, unknown, with_options
from ..leftovers import as_plain
from ..options import INCLUDED, JSON_ONLY, report_format, report_include, report_missing, schema_format
from ..prefix import EncodedPrefix, encoded_turns
from ..schema import ANTHROPIC as SCHEMA_HOST
from ..schema import fitted
from . import types
from .content import (
    ANTHROPIC,
    RULES,
    TTL_BACK,
    Context,
    as_leftovers,
    decode_part,
    encode,
    encode_mark,
    inexact_ttl,
    set_fields,
)
from .messages import MessageWriter, begins_alone, decode_messages, finish_thinking
from .reasoning import (
    ORIGINAL_THINKING,
    OriginalThinking,
    ThinkingOptions,
    binds,
    decode_effort,
    encode_effort,
)
from .tools import check_tools, decode_choice, decode_tools, encode_tools, servers_without_toolset, set_versions
from .types import WIRE, Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..prefix import Turns
__all__ = ["decode_request", "encode_request", "route"]

# --- the whole request -----------------------------------------------------------------------------------------------

MAX_TOKENS = 32_000
"""The longest answer if the request sets none and the model supports it; the vendor requires a number."""

FIRST_USER_TEXT = "..."
"""The user text before a conversation that begins with the assistant."""

DECIDED = (
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "reasoning",
    "text",
    "max_output_tokens",
    "context_management",
)
"""Options that this wire may have to replace."""
EMPTY_FIELDS = ("system", "stop_sequences", "mcp_servers")
"""Fields without effect where they are empty."""
SUMMARIZE: Json = {"type": "summarize"}
"""The `compaction` of a request that only compacts the conversation."""

# Keys of a request's leftovers, beside those of `kept`.
THINKING_NOTE = "asked"
"""The original thinking and effort fields, which have one joint meaning."""
WITHOUT_TOOLSET = "alone"
"""The MCP servers without a toolset."""
BEGINS_WITH = "begins"
"""The role of the first message."""
OLDER_FORMAT = "format"
"""Whether the output format was in its older field."""
EMPTY = "empty"
"""The empty messages."""
UNBOUND = "binding"
"""Whether thinking blocks came without the option for a changed prefix."""
UNCHANGED = "lost"
"""The losses of re-encoding the body, and a digest of the options it was encoded from."""


def encode_request(
    request: ours.Request, *, dialect: MessagesDialect = ANTHROPIC, prefix: EncodedPrefix | None = None
) -> tuple[types.Request, list[Loss]]:
    """The body of `POST /v1/messages` for a request, and the losses."""
    lost = Losses()
    context = Context(lost, dialect, messages_model(request.model or ""), replay=True)
    left = own_leftovers(request, WIRE, "", lost, request)
    notes = as_object(left.get(SPELLING))
    body = _encode_options(request, notes, context, prefix)
    if left:
        body = _patch_options(request, body, left, lost)
    if body.tools:
        set_versions(body.tools, context.model)
        check_tools(body.tools, context)
    context.first_marks -= given(body.cache_control)
    _encode_input(request, body, context, left, encoded_turns(prefix, request, dialect, WIRE))
    encode_sampling(request, body, context)
    context.thin_marks()
    return _addressed(request, body, dialect, lost, prefix), lost


def decode_request(
    body: types.Request, *, dialect: MessagesDialect = ANTHROPIC, model: str | None = None, keep: bool = True
) -> tuple[ours.Request, list[Loss]]:
    """The request for a body; `keep` preserves data of this wire alone, and `model` is the model in the URL, if any."""
    name = body.model if given(body.model) else model
    facts = messages_model(name or "")
    request = ours.Request(model=name, stream=or_none(body.stream))
    known: list[bool] = []
    if given(body.tools) or body.mcp_servers:
        request.tools, known = decode_tools(body)
    if given(body.tool_choice) and body.tools:
        decode_choice(body.tool_choice, request)
    items: list[ours.AnyItem] = []
    if isinstance(body.system, str):
        request.instructions = body.system
    elif body.system:
        items.append(ours.Message(role="developer", content=[decode_part(block) for block in body.system]))
    items += decode_messages(body.messages, dialect.issuer, request.tools or (), keep=keep)
    if body.compaction == SUMMARIZE:
        items.append(ours.CompactionTrigger())
    request.input = items
    request.max_output_tokens = body.max_tokens or None
    request.reasoning = decode_effort(_thinking_options(body), body.max_tokens, facts)
    _decode_options(body, request)
    if keep:
        request.leftovers = as_leftovers(with_options(_leftovers(body, request, known, facts), request))
    return request, []


def _leftovers(body: types.Request, request: ours.Request, known: list[bool], model: MessagesModel) -> Json:
    """The fields of `body` beyond the encoding of `request`; `known` are the tools that Responses has too."""
    notes, near, lost = cast("Json", {}), cast("Json", {}), Losses()
    if without := servers_without_toolset(body):
        notes[WITHOUT_TOOLSET] = {"servers": without}
    if body.messages and body.messages[0].role == "assistant":
        notes[BEGINS_WITH] = "assistant"
    if given(body.output_format) and not (body.output_config and given(body.output_config.format)):
        notes[OLDER_FORMAT] = "output_format"
    bound = given(body.thinking) and given(body.thinking.block_binding)
    if not bound and any(map(_is_thinking, request.input or ())):
        notes[UNBOUND] = True
    made = _encode_options(request, notes, Context(lost, ANTHROPIC, model, replay=True))
    # Whether a schema can be enforced is decided, and its losses are reported, when it is sent.
    paths = [loss.path for loss in lost if not loss.path.endswith(".strict")]
    if paths:
        notes[UNCHANGED] = {"digest": _digest_of(request), "paths": paths}
    made.model = body.model if given(body.model) else UNSET
    if body.tools and known:
        written = iter(made.tools or ())
        made.tools = cast("Any", [next(written) if one else None for one in known])
        for tool, same in zip(body.tools, cast("Any", made.tools), strict=True):
            if same is not None and given(tool.name) and tool.type in (UNSET, None, "custom"):
                same.name, same.strict = tool.name, tool.strict or UNSET
    # Fields from items and sampling options are written with the rest of the body, and compared elsewhere.
    made.messages, made.system = body.messages, body.system or made.system
    made.compaction = body.compaction if body.compaction == SUMMARIZE else made.compaction
    for name in SAMPLING:
        setattr(made, name, or_unset(or_none(getattr(body, name))))
    options, encoded = _thinking_options(body), _thinking_options(made)
    if request.reasoning:
        near |= _inexact_thinking(options, encoded, request.reasoning)
    if options != ThinkingOptions():
        original = OriginalThinking(
            thinking=options.thinking, effort=options.effort, model=body.model, max_tokens=body.max_tokens
        )
        notes[THINKING_NOTE] = note(original, request.reasoning.effort if request.reasoning is not None else None)
        _set_thinking(made, options)
    empty = {name: value for name in EMPTY_FIELDS if not (value := getattr(body, name))}
    versions = (model.code_execution, model.web_search)
    left = diff(body, made, replace(RULES, defaults={**RULES.defaults, **empty, "type": versions}))
    notes |= left.get(SPELLING, {})
    near |= inexact_ttl(body.cache_control, {}).get(SPELLING, {}).get(NEAR, {})
    if near:
        notes[NEAR] = near
    for i, message in enumerate(body.messages):
        if not message.content and unknown(message, "clear_at", "output_config"):  # which other wires report
            left.setdefault("messages", {"": []})[""].append([i, as_plain(message)])
            notes["messages"] = ENTRIES
        elif not message.content:
            notes.setdefault(EMPTY, {"": []})[""].append([i, as_plain(message)])
    return {**left, SPELLING: notes} if notes else left


def _inexact_thinking(options: ThinkingOptions, encoded: ThinkingOptions, reasoning: ours.ReasoningOptions) -> Json:
    """The fields of thinking that Responses has only approximately."""
    thinking = options.thinking
    if not given(thinking):
        return {}
    known = ("type",) if thinking.type in ("enabled", "disabled", "adaptive") else ()
    expected: Json = as_plain(encoded.thinking) if given(encoded.thinking) else {}
    near = unsaid(as_plain(thinking), expected, "thinking", *known) if options != encoded else {}
    if given(thinking.budget_tokens) and thinking.type == "enabled":
        beside = f", beside the effort {options.effort!r}" if given(options.effort) else ""
        read = beside or f", read as the effort {reasoning.effort!r}"
        near["thinking.budget_tokens"] = f"a budget of {thinking.budget_tokens} tokens{read}"
    return near


def _patch_options(request: ours.Request, body: types.Request, left: Json, lost: Losses) -> types.Request:
    """The body with its document's leftovers restored; its losses are not reported while it is unchanged."""
    notes = as_object(left.get(SPELLING))
    unchanged = as_object(notes.get(UNCHANGED))
    if lost and unchanged.get("digest") == _digest_of(request):
        lost[:] = [loss for loss in lost if loss.path not in as_list(unchanged.get("paths"))]
    misfits: list[str] = []
    body = patch(body, {name: value for name, value in left.items() if name != "messages"}, misfits)
    report_misfits(request, left, misfits, lost)
    return body


def asks_thinking(request: ours.Request) -> bool:
    """Whether the request asks for thinking. An effort alone does not: at Anthropic it also sets the length of an answer."""
    if request.reasoning is None or request.reasoning.effort in (None, "none"):
        return request.reasoning is not None and given(request.reasoning.summary)
    original = stored(as_object(own(request.leftovers, WIRE).get(SPELLING)).get(THINKING_NOTE), ORIGINAL_THINKING)
    return not isinstance(original, OriginalThinking) or given(original.thinking)


def _digest_of(request: ours.Request) -> str:
    return digest(encode([getattr(request, name) or None for name in DECIDED]).decode())


# --- options ---------------------------------------------------------------------------------------------------------

TIERS = {"auto": "auto", "default": "standard_only", "priority": "auto"}
"""Service tiers of requests, ours on the left. Decoding prefers the first: `auto` may use the priority tier."""
TIERS_BACK = {"auto": "auto", "standard_only": "default"}
SPEEDS = {"fast": "fast", "ultrafast": "fast"}
"""Tiers of ours that are a speed at Anthropic."""

COMPACT = "compact_20260112"
LEAST_COMPACTED = 50_000

SAMPLING = ("temperature", "top_p", "top_k")

REFUSED = ("previous_response_id", "conversation", "prompt", "background", "moderation")
"""Options without which the answer would be about something else."""

DROPPED = (
    *("presence_penalty", "frequency_penalty", "top_logprobs", "metadata", "prompt_cache_key", "store"),
    *("prompt_cache_retention", "image", "access_programs", "background_options", "reasoning.generate_summary"),
    *("reasoning.context", "reasoning.mode", "text.verbosity", "text.format.description", "truncation"),
    "stream_options.include_obfuscation",
)
"""Options without which the answer is the same in kind."""


def _encode_rest(request: ours.Request, body: types.Request, lost: Losses) -> None:
    """Set every option that is independent of the others."""
    if request.stop is not None:
        stops = [request.stop] if isinstance(request.stop, str) else request.stop
        body.stop_sequences = [stop for stop in stops if stop and not stop.isspace()]
        if len(body.stop_sequences) < len(stops):
            lost.dropped("stop", not_taken("blank stop sequences", "Anthropic"))
    user = request.safety_identifier if request.safety_identifier is not None else request.user
    if given(user):
        body.metadata = types.Metadata(user_id=user)
        if request.user is not None and request.user != user:
            lost.dropped("user", "Anthropic has one identifier of a user, and `safety_identifier` is it")
    if request.prompt_cache_options is not None:
        _encode_cache(request.prompt_cache_options, body, lost)
    tier = request.service_tier
    if given(tier):
        if tier in SPEEDS:
            body.speed = SPEEDS[tier]
        elif tier in TIERS:
            body.service_tier = TIERS[tier]
        else:
            lost.dropped("service_tier", f"Anthropic has no tier {tier!r}")
        if tier in ("priority", "ultrafast"):
            lost.changed("service_tier", f"Anthropic has no tier {tier!r}; the nearest is requested")
    if request.context_management is not None:
        body.context_management = _encode_context(request.context_management, lost)
    report_include(request, INCLUDED, WIRE, lost)
    report_missing(request, WIRE, lost, refused=REFUSED, dropped=DROPPED)
    if request.seed is not None:
        lost.dropped("seed", no_such("option", "Anthropic"))


def _decode_options(body: types.Request, request: ours.Request) -> None:
    """Set the Responses options for the options of `body`."""
    for option in SAMPLING:
        setattr(request, option, or_none(getattr(body, option)))
    request.stop = or_none(body.stop_sequences)
    if given(body.metadata):
        request.safety_identifier = or_none(body.metadata.user_id)
    request.prompt_cache_options = _decode_cache(body)
    request.service_tier = TIERS_BACK.get(body.service_tier or "")
    if body.speed == "fast" and request.service_tier is None:
        request.service_tier = "fast"
    edits = (body.context_management.edits if given(body.context_management) else None) or []
    if edits and all(edit.type == COMPACT for edit in edits):
        thresholds = [edit.trigger.value if given(edit.trigger) else None for edit in edits]
        request.context_management = [ours.ContextManagement(compact_threshold=or_none(each)) for each in thresholds]
    newer = body.output_config.format if given(body.output_config) else UNSET
    format = newer if given(newer) else body.output_format
    if given(format) and format.type == "json_schema" and given(format.schema):
        request.text = ours.TextOptions(format=schema_format(format.schema))


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


def _encode_text(text: ours.TextOptions, lost: Losses) -> types.OutputFormat | None:
    """The format of the answer."""
    report_format(text, WIRE, lost)
    match text.format:
        case ours.JsonSchemaFormat(schema=schema):
            if not given(schema):
                lost.refused("text.format", "a format without a schema")
                return None
            fitting = fitted(schema, SCHEMA_HOST, lost, "text.format.schema")
            return types.OutputFormat(type="json_schema", schema=fitting)
        case ours.JsonObjectFormat():
            lost.emulated("text.format", "a JSON object, requested in the instructions")
        case _:
            pass
    return None


def _encode_cache(options: ours.CacheOptions, body: types.Request, lost: Losses) -> None:
    if options.mode == "implicit":
        body.cache_control = encode_mark(options.ttl, "prompt_cache_options.ttl", lost)
    elif given(options.ttl):
        lost.dropped("prompt_cache_options.ttl", "each breakpoint has its own at Anthropic")
    if given(options.mode) and options.mode not in ("implicit", "explicit"):
        lost.dropped("prompt_cache_options.mode", not_in(repr(options.mode), "Anthropic"))
    if options.prewarm:
        body.max_tokens = 0
    if given(options.comparison_response_id):
        body.diagnostics = {"previous_message_id": options.comparison_response_id}


def _decode_cache(body: types.Request) -> ours.CacheOptions | None:
    options = ours.CacheOptions()
    if given(body.cache_control):
        options.mode, options.ttl = "implicit", TTL_BACK.get(body.cache_control.ttl or "")
    if body.max_tokens == 0:
        options.prewarm = True
    if isinstance(previous := as_object(body.diagnostics).get("previous_message_id"), str):
        options.comparison_response_id = previous
    return None if options == ours.CacheOptions() else options


def _encode_context(edits: Sequence[ours.ContextManagement], lost: Losses) -> Opt[types.ContextManagement]:
    found: list[types.ContextEdit] = []
    for i, entry in enumerate(edits):
        if entry.type != "compaction":
            lost.dropped(f"context_management[{i}]", not_in(repr(entry.type), "Anthropic"))
            continue
        edit, least = types.ContextEdit(type=COMPACT), entry.compact_threshold
        if given(least):
            if least < LEAST_COMPACTED:
                lost.changed(f"context_management[{i}].compact_threshold", f"at least {LEAST_COMPACTED} at Anthropic")
            edit.trigger = types.Threshold(type="input_tokens", value=max(least, LEAST_COMPACTED))
        found.append(edit)
    return types.ContextManagement(edits=found) if found else UNSET


# --- the parts of a body --------------------------------------------------------------------------------------------


def _encode_options(
    request: ours.Request, notes: Json, context: Context, prefix: EncodedPrefix | None = None
) -> types.Request:
    """The body without its messages."""
    limit = request.max_output_tokens
    max_tokens = min(MAX_TOKENS, context.model.max_tokens) if limit is None else limit
    body = types.Request(
        model=or_unset(request.model), max_tokens=max_tokens, messages=[], stream=or_unset(request.stream)
    )
    encode_tools(request, body, _without_toolset(notes), context)
    drops = binds(request) and UNBOUND not in notes and types.BINDING in betas(request, prefix)
    kept = notes.get(THINKING_NOTE)
    original: OriginalThinking | None = stored(kept, ORIGINAL_THINKING) or None
    if drops or request.reasoning is not None or original is not None:
        options = request.reasoning or ours.ReasoningOptions()
        same = original is not None and fits(kept, options.effort)
        renamed = original.model != or_unset(request.model) if original is not None and same else None
        _set_thinking(
            body, encode_effort(options, max_tokens, context, drops=drops, original=original, renamed=renamed)
        )
    format = _encode_text(request.text, context.lost) if request.text is not None else None
    if format is not None and notes.get(OLDER_FORMAT):
        body.output_format = format
    elif format is not None:
        body.output_config = body.output_config or types.OutputConfig()
        body.output_config.format = format
    _encode_rest(request, body, context.lost)
    return body


def _without_toolset(notes: Json) -> list[Any]:
    return as_list(as_object(notes[WITHOUT_TOOLSET]).get("servers")) if WITHOUT_TOOLSET in notes else []


def _thinking_options(body: types.Request) -> ThinkingOptions:
    return ThinkingOptions(thinking=body.thinking, effort=body.output_config.effort if body.output_config else UNSET)


def _set_thinking(body: types.Request, options: ThinkingOptions) -> None:
    body.thinking = options.thinking
    if body.output_config or options.effort is not UNSET:
        body.output_config = body.output_config or types.OutputConfig()
        body.output_config.effort = options.effort


def _encode_input(request: ours.Request, body: types.Request, context: Context, left: Json, turns: Turns) -> None:
    """Set the messages and the system, and the other body fields that items of a request become."""
    lost, notes = context.lost, as_object(left.get(SPELLING))
    items = paired(items_of(request), lost, turns.count)
    offered = {tool.name for tool in body.tools or ()}
    writer = MessageWriter(items, context, offered, turns.state)
    body.messages = turns.encode(items, writer, lost)
    if left and ("messages" in left or EMPTY in notes):
        empty = as_list(as_object(left.get("messages")).get("")) + as_list(as_object(notes.get(EMPTY)).get(""))
        only = types.Request(max_tokens=0, messages=writer.messages)
        body.messages = patch(only, {"messages": {"": empty}, SPELLING: {"messages": ENTRIES}}).messages
    earlier = writer.state
    if not body.messages:
        lost.refused("input", "nothing to answer")
    elif notes.get(BEGINS_WITH) != "assistant" and (
        earlier.begins_alone if earlier is not None else begins_alone(body.messages[0])
    ):
        body.messages = [types.InputMessage(role="user", content=FIRST_USER_TEXT), *body.messages]
        lost.emulated("input[0]", "Anthropic lets the user speak first; a message of three dots was put before it")
    system, instructions = writer.system, request.instructions
    if instructions and instructions.isspace():
        lost.dropped("instructions", not_taken("blank text", "Anthropic"))
    elif instructions:
        system = [types.Text(instructions), *system]
    if request.text is not None and isinstance(request.text.format, ours.JsonObjectFormat):
        system = [*system, types.Text(text=JSON_ONLY)]
    if system:
        body.system = system if writer.system else "\n\n".join([text.text for text in system])
    if writer.compacts:
        body.compaction = SUMMARIZE
    behind = body.messages if earlier is None else writer.messages
    finish_thinking(body, behind, earlier.begins_with_thinking if earlier is not None else None, context)


def _addressed(
    request: ours.Request, body: types.Request, dialect: MessagesDialect, lost: Losses, prefix: EncodedPrefix | None
) -> types.Request:
    """The body for its host, with the caller's additions last."""
    if request.extra is not None and request.extra.get(WIRE):
        more = {name: value for name, value in request.extra[WIRE].items() if name != "betas"}
        body = set_fields(body, {"max_tokens": 0, "messages": []}, more, types.REQUEST, f"extra.{WIRE}", lost)
    if "{model}" in dialect.path:
        body.model = UNSET
    if dialect.body_version is not None:
        body.anthropic_version = dialect.body_version
    if dialect.betas_in_body:
        body.anthropic_beta = betas(request, prefix) or UNSET
    if not dialect.stream_in_body:
        body.stream = UNSET
    return body


# --- route and beta headers ------------------------------------------------------------------------------------------

_FREE = frozenset({"input_schema", "input_examples", "schema", "metadata"})
"""Fields that hold the caller's own JSON."""


def route(
    request: ours.Request,
    *,
    dialect: MessagesDialect = ANTHROPIC,
    stream: bool = False,
    prefix: EncodedPrefix | None = None,
) -> Route:
    """The route of a request, with the headers it needs."""
    path = dialect.stream_path if stream and dialect.stream_path is not None else dialect.path
    headers: dict[str, str] = {}
    if dialect.body_version is None:
        sampled = (
            any(given(getattr(request, name)) for name in SAMPLING)
            and messages_model(request.model or "").sampling != "no"
        )
        sampled = sampled or not set(SAMPLING).isdisjoint(_additions(request))
        headers["anthropic-version"] = types.OLDER if sampled else types.NEWEST
    found = betas(request, prefix)
    if found and not dialect.betas_in_body:
        headers["anthropic-beta"] = ",".join(found)
    return Route(with_model(path, request), headers=headers)


def _additions(request: ours.Request) -> Json:
    """The caller's additions to the body."""
    return request.extra.get(WIRE, {}) if request.extra else {}


def betas(request: ours.Request, prefix: EncodedPrefix | None = None) -> list[str]:
    """The betas that a request needs at Anthropic, and those the caller names; sorted."""
    items = request.input if isinstance(request.input, list) else []
    turns = prefix.turns_of(items) if prefix is not None else None
    if turns is None:
        found, start = set[str](), 0
    else:
        for item in turns.not_seen():
            _add_item_betas(item, request, turns.seen)
        found, start = {*turns.seen}, turns.count
    kept, more = own(request.leftovers, WIRE), _additions(request)
    if request.context_management:
        found.add(types.BETA_VALUES[COMPACT])
    if request.service_tier in SPEEDS:
        found.add(types.BETA_VALUES["fast"])
    for tool in request.tools or ():
        if isinstance(tool, ours.McpTool):
            alone = _without_toolset(own(kept, SPELLING))
            found.add(types.FIRST_MCP if tool.server_label in alone else types.MCP_BETA)
        elif isinstance(tool, Unknown):
            _add_betas(dict(tool), found)
    for item in islice(items, start, None):
        _add_item_betas(item, request, found)
    if UNBOUND in own(kept, SPELLING) or not binds(request):
        found.discard(types.BINDING)
    _add_betas({name: value for name, value in kept.items() if name != "mcp_servers"}, found)
    _add_betas(more, found)
    named: Any = more.get("betas", ())
    return sorted(found | {name for name in named if isinstance(name, str)})


def _is_thinking(item: ours.AnyItem | str) -> bool:
    """Whether an item holds thinking of this wire."""
    return isinstance(item, ours.Reasoning) and (sender(item.encrypted_content or "") or ("",))[0] == WIRE


def _add_item_betas(item: ours.AnyItem, request: ours.Request, found: set[str]) -> None:
    match item:
        case ours.Message():
            _add_betas(own(item.leftovers, WIRE), found)
            for part in item.content if isinstance(item.content, list) else ():
                if not isinstance(part, Unknown) and part.leftovers:
                    _add_betas(own(part.leftovers, WIRE), found)
        case ours.Reasoning():
            if _is_thinking(item):
                found.add(types.BINDING)
        case ours.Compaction():
            found.add(types.BETA_VALUES[COMPACT])
        case ours.CompactionTrigger():
            found.add(types.BETA_FIELDS["compaction"])
        case ours.AdditionalTools():
            found.add(types.BETA_VALUES["tool_addition"])
            offered = {tool.name for tool in request.tools or () if isinstance(tool, ours.FunctionTool)}
            if any(not isinstance(tool, ours.FunctionTool) or tool.name not in offered for tool in item.tools):
                found.add(types.BETA_VALUES["tool_definition"])
        case _:
            pass


def _add_betas(value: Any, found: set[str]) -> None:
    """Add the betas that plain values of this wire need."""
    if isinstance(value, list | tuple):
        for one in cast("list[Any]", value):
            _add_betas(one, found)
    for name, one in cast("Json", value).items() if isinstance(value, dict) else ():
        if name in (SPELLING, BLOCK):
            one = [noted(one)] if name == BLOCK else {each: noted(kept) for each, kept in as_object(one).items()}
        if name in types.BETA_FIELDS and one:
            found.add(types.BETA_FIELDS[name])
        if name in ("type", "display", "speed") and isinstance(one, str) and one in types.BETA_VALUES:
            found.add(types.BETA_VALUES[one])
        if name not in _FREE:
            _add_betas(one, found)
