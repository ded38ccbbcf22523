"""The other options of a request: structured output, caching, tiers, context management, and those this wire lacks.

Each option has its way there and back side by side. Before changing this file, know that a request field without a
counterpart is reported, never silently left out. Follows the Messages reference of Anthropic and its guides to structured
outputs, prompt caching and context editing (read 2026-11-20).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET

from ... import responses as ours
from ...errors import DecodeError
from ...losses import Losses, no_such, not_in, not_taken
from ...unknown import Decoder, Opt, Unknown, extras, given, or_none
from .._left import says
from . import types
from .content import Context, mark_of, ttl_of
from .leftovers import encode, plain
from .schema import fitted

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
