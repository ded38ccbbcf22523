"""The options of a request: numbers, thinking, the form of the answer, each with its way there and back side by side.

Before changing this file, know that an option a model does not take fails the whole request, so it stays behind and is reported;
and that an option which the document spelled otherwise than we would is kept as it was, in `request.py`. Follows the reference
of `GenerationConfig` and the guide to thinking (read 2026-11-20).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from msgspec import UNSET

from ...losses import no_such, not_in
from ...responses.closed import strict_if_possible
from ...responses.request import JsonObjectFormat, JsonSchemaFormat, ReasoningOptions, Request, TextFormat, TextOptions
from ...unknown import Unknown, given, or_none
from .._left import says
from . import types
from .schema import fitted, from_openapi

if TYPE_CHECKING:
    from ...losses import Losses
    from ...unknown import Opt
    from .media import Context

JSON = "application/json"
LOGPROBS = "message.output_text.logprobs"
INCLUDED = frozenset({"reasoning.encrypted_content", "web_search_call.action.sources", "code_interpreter_call.outputs"})
"""What can be asked to be included and always is."""

TIERS = {"default": "standard", "flex": "flex", "priority": "priority"}
"""Service tiers, ours on the left; without a word the vendor decides, which is our `auto`."""
TIERS_BACK = {theirs: ours for ours, theirs in TIERS.items()}

REFUSED = {
    "previous_response_id": "Gemini keeps nothing between calls; send the conversation itself",
    "conversation": "Gemini keeps nothing between calls; send the conversation itself",
    "prompt": "Gemini has no stored prompts",
    "background": "Gemini has no background mode",
    "moderation": "Gemini does not moderate",
}
DROPPED = (
    "max_tool_calls context_management prompt_cache_key prompt_cache_retention prompt_cache_options safety_identifier user "
    "image access_programs background_options"
).split()
"""Options without a counterpart; a false or empty one asks for nothing."""

# --- numbers --------------------------------------------------------------------------------------------------------

NUMBERS = {
    "temperature": "sampling",
    "top_p": "sampling",
    "top_k": "sampling",
    "presence_penalty": "penalties",
    "frequency_penalty": "penalties",
    "max_output_tokens": "",
    "seed": "",
}
"""Options with the same name on both sides, and the fact of a model that takes them."""


def encode_numbers(request: Request, config: types.GenerationConfig, context: Context) -> None:
    """Set the numbers of a request that the model takes."""
    model = context.model
    takes = {
        "sampling": model.sampling,
        "penalties": model.penalties or (model.penalties_on_vertex and context.dialect.is_vertex),
        "": True,
    }
    for name, fact in NUMBERS.items():
        value = getattr(request, name)
        if not given(value):
            continue
        if takes[fact]:
            setattr(config, name, value)
        elif value or fact == "sampling":
            context.lost.dropped(name, "this model takes no such option")
    if given(request.stop):
        config.stop_sequences = [request.stop] if isinstance(request.stop, str) else list(request.stop)


def decode_numbers(config: types.GenerationConfig, request: Request) -> None:
    """Set on a request the numbers that a document gives."""
    for name in NUMBERS:
        value = getattr(config, name)
        if value is not UNSET:
            setattr(request, name, int(value) if name == "top_k" else value)
    request.stop = or_none(config.stop_sequences)


def encode_logprobs(request: Request, config: types.GenerationConfig, context: Context) -> None:
    """Ask for probabilities, and report what else should be included."""
    include, lost = request.include or (), context.lost
    if LOGPROBS in include or request.top_logprobs:
        config.response_logprobs = True
        if LOGPROBS not in include:
            lost.emulated("top_logprobs", "probabilities, which are also asked for")
        if given(request.top_logprobs):
            config.logprobs = request.top_logprobs
    elif given(request.top_logprobs):
        lost.dropped("top_logprobs", "no alternatives of probabilities nobody asked for")
    for j, name in enumerate(include):
        if name != LOGPROBS and name not in INCLUDED:
            lost.dropped(f"include[{j}]", not_in(repr(name), "Gemini"))


def decode_logprobs(config: types.GenerationConfig, request: Request) -> None:
    """Set on a request which probabilities a document asks for."""
    request.top_logprobs = or_none(config.logprobs)
    if config.response_logprobs:
        request.include = [LOGPROBS]


# --- thinking -------------------------------------------------------------------------------------------------------

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Efforts from little to much."""
BUDGETS = {"minimal": 512, "low": 1024, "medium": 8192, "high": 24_576, "xhigh": 28_672, "max": 32_768}
"""Tokens to think with by effort, for models that are told a number."""
DYNAMIC = "medium"
"""What is said for a model that decides itself how much to think, which is a budget of -1."""


def encode_thinking(asked: Opt[ReasoningOptions], context: Context) -> types.Maybe[types.ThinkingConfig]:
    """`thinkingConfig` for what is asked of reasoning."""
    if not given(asked):
        return UNSET
    lost, model, config = context.lost, context.model, types.ThinkingConfig()
    thinks = bool(model.levels or model.budgets)
    for name in ("generate_summary", "context", "mode"):
        if given(getattr(asked, name)):
            lost.dropped(f"reasoning.{name}", no_such("option", "Gemini"))
    for name in ("effort", "summary"):
        if given(getattr(asked, name)) and not thinks:
            lost.dropped(f"reasoning.{name}", "this model does not think")
    if given(asked.effort) and model.budgets:
        config.thinking_budget = budget(asked.effort, *model.budgets, always=model.always_thinks)
        if _effort(config.thinking_budget) != asked.effort:
            lost.changed("reasoning.effort", f"the nearest this model has is {config.thinking_budget} tokens")
    elif given(asked.effort) and thinks:
        level = nearest(asked.effort, model.levels)
        config.thinking_level = level.upper()
        if level != asked.effort:
            lost.changed("reasoning.effort", f"this model has no effort {asked.effort!r}; it is asked for {level!r}")
    if given(asked.summary) and thinks:
        config.include_thoughts = True
        if asked.summary != "auto":
            lost.changed("reasoning.summary", "Gemini has one kind of summary")
    return UNSET if config == types.ThinkingConfig() else config


def budget(effort: str, least: int, most: int, *, always: bool) -> int:
    """The tokens to think with; a model that `always` thinks has no budget of 0."""
    if effort == "none" and not always:
        return 0
    return min(max(BUDGETS.get(effort, 0 if effort == "none" else BUDGETS[DYNAMIC]), least), most)


def nearest(effort: str, levels: tuple[str, ...]) -> str:
    """The level of a model that is next to an effort: itself, else the next one above, else the highest."""
    if effort in levels or effort not in EFFORTS:
        return effort
    return next((level for level in levels if EFFORTS.index(level) >= EFFORTS.index(effort)), levels[-1])


def decode_thinking(config: types.ThinkingConfig, lost: Losses) -> Opt[ReasoningOptions]:
    """What a thinking configuration asks of reasoning."""
    found = ReasoningOptions()
    if given(config.thinking_level):
        found.effort = config.thinking_level.lower()
    elif given(config.thinking_budget):
        tokens = config.thinking_budget
        found.effort = _effort(tokens)
        if tokens != BUDGETS.get(found.effort, 0):
            path = "generationConfig.thinkingConfig.thinkingBudget"
            lost.changed(path, f"a budget of {tokens} tokens, read as the effort {found.effort!r}")
    if config.include_thoughts:
        found.summary = "auto"
    return UNSET if found == ReasoningOptions() else found


def _effort(tokens: int) -> str:
    if tokens <= 0:
        return DYNAMIC if tokens == -1 else "none"
    return next((effort for effort, most in BUDGETS.items() if tokens <= most), "max")


# --- the form of the answer -----------------------------------------------------------------------------------------


def encode_format(text: Opt[TextOptions], config: types.GenerationConfig, context: Context, *, tools: bool) -> None:
    """Ask for JSON, with a schema where there is one; `tools` says whether there are any beside it."""
    lost = context.lost
    if not given(text):
        return
    if given(text.verbosity):
        lost.dropped("text.verbosity", no_such("option", "Gemini"))
    match text.format:
        case JsonSchemaFormat(schema=dict(schema)) as asked:
            config.response_mime_type = JSON
            config.response_json_schema = fitted(schema, lost, "text.format.schema")
            if given(asked.description):
                lost.dropped("text.format.description", "Gemini has no description of a schema")
            if asked.strict is False:
                lost.changed("text.format.strict", "Gemini always enforces a schema")
        case JsonSchemaFormat():
            config.response_mime_type = JSON
            lost.changed("text.format", "a schema that is not there; any JSON is asked for")
        case JsonObjectFormat():
            config.response_mime_type = JSON
        case Unknown():
            lost.refused("text.format", not_in(f"the format {text.format.kind!r}", "Gemini"))
        case _:
            return
    if tools and not context.model.mixes_tools:
        lost.refused("text.format", "this model takes tools or a form for the answer, not both")


def decode_format(config: types.GenerationConfig) -> Opt[TextOptions]:
    """The form of the answer that a document asks for."""
    schema: Any = config.response_json_schema
    if given(config.response_schema):
        schema = from_openapi(config.response_schema)
    if isinstance(schema, dict):
        named = cast("types.Json", schema).get("title")
        plainly = isinstance(named, str) and named.isidentifier() and named.isascii() and len(named) <= 64
        name = cast("str", named) if plainly else "answer"
        schema = cast("types.Json", schema)
        return TextOptions(format=JsonSchemaFormat(name=name, schema=schema, strict=strict_if_possible(schema)))
    if config.response_mime_type == JSON:
        return TextOptions(format=JsonObjectFormat())
    if config.response_mime_type == "text/plain":
        return TextOptions(format=TextFormat())
    return UNSET


# --- everything else ------------------------------------------------------------------------------------------------


def encode_rest(request: Request, body: types.Request, context: Context) -> None:
    """Set labels, storage and the tier, and report what has no counterpart."""
    lost, lacks, tier = context.lost, context.dialect.lacks, request.service_tier
    for name, why in REFUSED.items():
        if says(getattr(request, name)):
            lost.refused(name, why)
    for name in DROPPED:
        if says(getattr(request, name)):
            lost.dropped(name, no_such("option", "Gemini"))
    if request.truncation == "auto":
        lost.refused("truncation", "Gemini does not shorten a conversation to fit")
    if given(request.stream_options) and request.stream_options.include_obfuscation:
        lost.dropped("stream_options", "Gemini does not obfuscate")
    if given(request.metadata) and "labels" not in lacks:
        labels = {name: value for name, value in request.metadata.items() if _is_label(name, value)}
        for name in request.metadata:
            if name not in labels:
                lost.dropped(f"metadata.{name}", "labels are up to 63 lower-case letters, digits, dashes, underscores")
        if labels or not request.metadata:
            body.labels = labels
    elif request.metadata:
        lost.dropped("metadata", "this host keeps no labels")
    if given(request.store) and "store" in lacks:
        lost.dropped("store", "this host has no such option")
    elif "store" not in lacks and (given(request.store) or context.dialect.asks_to_keep_nothing):
        body.store = bool(request.store)
    if given(tier) and tier in TIERS and "serviceTier" not in lacks:
        body.service_tier = TIERS[tier]
    elif given(tier) and tier != "auto":
        lost.dropped("service_tier", f"this host takes no {tier!r} here")


def _is_label(name: str, value: str) -> bool:
    return bool(re.fullmatch(r"[a-z][a-z0-9_-]{0,62}", name) and re.fullmatch(r"[a-z0-9_-]{0,63}", value))
