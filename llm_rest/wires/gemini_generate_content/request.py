"""Conversion of the request, both ways: options and contents become one body; also token counting and the list of models.

Before changing this file, know that the model and whether to stream are in the URL, that an option which a model does not
support fails the whole request, so it is left out and reported, and that `extra` is merged in last, objects within objects.
Token counting has two bodies: the Developer API counts a whole request only inside `generateContentRequest`, and Vertex has
no such field. Follows the references of `generateContent`, `GenerationConfig`, `countTokens` and `models.list` of both
hosts (read 2026-11-20).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from msgspec import UNSET
from msgspec.structs import replace

from ... import responses as ours
from ...losses import Loss, Losses
from ...responses.carriers import NEAR, SPELLING, digest
from ...responses.request import items_of
from ...responses.tools import strict_if_possible
from ...unknown import Decoder, Unknown, as_object, given, or_none, or_unset
from ...vendors.dialects import GeminiDialect, GeminiModel, gemini_model
from .. import Route, path_segment
from ..call_ids import paired
from ..kept import Rules, diff, fits, note, own_leftovers, patch, report_misfits, stored, with_options
from ..leftovers import report_unknown
from ..options import (
    INCLUDED,
    LOGPROBS,
    asks_for_logprobs,
    report_format,
    report_include,
    report_missing,
    schema_format,
)
from ..prefix import EncodedPrefix, encoded_turns
from ..schema import GEMINI, fitted
from ..tools import Added, added_tools, each_tool, offered_tools
from . import types
from .content import Context, decode_content
from .messages import MessageWriter, decode_messages
from .tools import (
    TOOL_FIELDS,
    Offer,
    decode_choice,
    decode_tools,
    encode_choice,
    keep_tools,
    patch_tools,
    unnamed_tools,
)
from .types import WIRE, Json, encode, from_openapi, merged

if TYPE_CHECKING:
    from ...unknown import Opt

__all__ = [
    "DEFAULT",
    "count_route",
    "decode_count",
    "decode_request",
    "encode_count",
    "encode_request",
    "models_route",
    "route",
]

DEFAULT = GeminiDialect()

JSON = "application/json"
ENUM = "text/x.enum"
TIERS = {"default": "standard", "flex": "flex", "priority": "priority"}
"""Service tiers, ours on the left; without one the vendor decides, which is our `auto`."""
TIERS_BACK = {theirs: our for our, theirs in TIERS.items()}

REFUSED = ("previous_response_id", "conversation", "prompt", "background", "moderation", "truncation")
"""Options without which the answer would be about something else."""

DROPPED = (
    *("max_tool_calls", "context_management", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options"),
    *("safety_identifier", "user", "image", "access_programs", "background_options", "reasoning.generate_summary"),
    *("reasoning.context", "reasoning.mode", "text.verbosity", "text.format.description"),
    "stream_options.include_obfuscation",
)
"""Options without which the answer is the same in kind."""

RULES = Rules(
    apart=frozenset({"contents", "tools"}),
    groups=frozenset({"generationConfig", "toolConfig", "functionCallingConfig", "thinkingConfig"}),
    together=(
        ("mode", "allowedFunctionNames"),
        ("responseMimeType", "responseSchema", "responseJsonSchema"),
    ),
    defaults={
        "role": ("user", "system", "model", ""),
        "mode": "AUTO",
        "includeServerSideToolInvocations": False,
        "responseLogprobs": False,
        "responseModalities": ["TEXT"],
        "responseMimeType": "text/plain",
    },
    words=frozenset({"mode"}),
)

IMAGE_MODALITIES = ["TEXT", "IMAGE"]
"""The modalities of an answer with images."""
HOST_OPTIONS = ("metadata", "store", "service_tier")
"""Options of a document that are restored only if its host supports them."""
THINKING_NOTE = "asked"
"""Key of the note on the original thinking options, which stand while the effort is the same."""
BUDGET = "generationConfig.thinkingConfig.thinkingBudget"
OPTIONS_NOTE = "options"
"""Key of the note on options with another notation, which are restored, so that no loss is reported for them."""

# --- the whole body -------------------------------------------------------------------------------------------------


def encode_request(
    request: ours.Request, *, dialect: GeminiDialect = DEFAULT, prefix: EncodedPrefix | None = None
) -> tuple[types.Request, list[Loss]]:
    """The body of `:generateContent` for a request, and the losses."""
    lost, found = Losses(), Losses()
    context = Context(lost, dialect, gemini_model(request.model or ""), replay=True)
    left = own_leftovers(request, WIRE, "", lost, request)
    turns = encoded_turns(prefix, request, dialect, WIRE)
    items = paired(items_of(request), lost, turns.count)
    writer = MessageWriter(items, context, turns.state)
    contents = turns.encode(items, writer, lost)
    system = writer.system
    if not contents:
        lost.refused("input", "nothing to answer")
    body = _encode_options(request, added_tools(items, turns.count), left, context._replace(lost=found))
    if left and as_object(left.get(SPELLING)).get(OPTIONS_NOTE) == digest(encode(body).decode()):
        found[:] = [loss for loss in found if loss.path in OPTIONS or loss.path.partition(".")[0] in HOST_OPTIONS]
    lost += found
    if request.instructions:
        system.insert(0, types.Part(text=request.instructions))
    if system:
        body.system_instruction = types.Content(parts=system)
    if left:
        misfits: list[str] = []
        body = _patch_options(body, left, misfits)
        report_misfits(request, left, misfits, lost)
        for name in set(dialect.lacks) & left.keys() & _fields.keys():
            lost.dropped(name, f"{name}, which this host does not support")
            setattr(body, _fields[name], UNSET)
    body.contents = contents
    if extra := request.extra.get(WIRE) if request.extra else None:
        if (whole := merged(body, extra)) is None:
            lost.dropped(f"extra.{WIRE}", f"fields that do not fit: {', '.join(extra)}")
        body = whole or body
    if given(body.cached_content):
        beside = {"instructions": body.system_instruction, "tools": body.tools, "tool_choice": body.tool_config}
        for name, value in beside.items():
            if given(value):
                lost.refused(name, "part of the cached content already, and rejected beside it")
    return body, lost


_fields = dict(zip(types.Request.__struct_encode_fields__, types.Request.__struct_fields__, strict=True))


def decode_request(
    body: types.Request, *, dialect: GeminiDialect = DEFAULT, model: str | None = None, keep: bool = True
) -> tuple[ours.Request, list[Loss]]:
    """The request for a body; `model` is the one in its URL, and `keep` preserves data of this wire alone."""
    lost = Losses()
    named = model if model is not None else body.model
    request = ours.Request(model=named.removeprefix("models/") if given(named) else None, store=or_none(body.store))
    _decode_options(body, request)
    request.input = [*_decode_system(body, request, lost), *decode_messages(body.contents, dialect.issuer, lost)]
    if given(body.labels):
        request.metadata = body.labels
    if given(body.service_tier):
        request.service_tier = TIERS_BACK.get(body.service_tier)
    if not keep:
        for path, what in _inexact_thinking(_thinking_of(body)).items():
            lost.changed(path, what)
    elif left := _keep_options(body, request, dialect):
        request.leftovers = {WIRE: with_options(left, request)}
    return request, lost


def route(
    request: ours.Request,
    *,
    dialect: GeminiDialect = DEFAULT,
    stream: bool = False,
    prefix: EncodedPrefix | None = None,
) -> Route:
    """The route of a request: the model and the method are in the path."""
    path = model_path(request.model or "", dialect)
    return Route(f"{path}:streamGenerateContent", {"alt": "sse"}) if stream else Route(f"{path}:generateContent")


COLLECTIONS = ("models", "tunedModels", "publishers", "projects", "endpoints")
"""The beginnings of names that have their collection."""


def collected(model: str, dialect: GeminiDialect) -> str:
    """The model with its collection. A name that has one (`tunedModels/...`, `publishers/...`) is unchanged."""
    name = model.removeprefix(f"{dialect.collection}/").removeprefix("models/").strip("/")
    return name if name.partition("/")[0] in COLLECTIONS else f"{dialect.collection}/{name}"


def model_path(model: str, dialect: GeminiDialect) -> str:
    """The path of a model. Raises `ConfigError` for a name that leads to another path."""
    name = collected(model, dialect)
    if name.partition("/")[0] in COLLECTIONS and not name.startswith(f"{dialect.collection}/"):
        return f"{dialect.root}/{'/'.join(path_segment(part, safe='@') for part in name.split('/'))}"
    return f"{dialect.root}/{dialect.collection}/{path_segment(name.removeprefix(f'{dialect.collection}/'), safe='@')}"


# --- options --------------------------------------------------------------------------------------------------------


def _encode_options(request: ours.Request, added: Added, left: Json, context: Context) -> types.Request:
    """The body without its contents."""
    body, config, lost = types.Request(contents=[]), types.GenerationConfig(), context.lost
    offer = Offer(context)
    for tool, namespace, path in each_tool(offered_tools(request, added, lost), lost):
        offer.add(tool, namespace, path)
    body.tools = offer.finish(left) or UNSET
    body.tool_config = encode_choice(or_unset(request.tool_choice), offer, context)
    if request.parallel_tool_calls is False:
        lost.dropped("parallel_tool_calls", "Gemini has no such option; the model may make several calls at once")
    encode_numbers(request, config, context)
    encode_format(or_unset(request.text), config, context, tools=bool(offer.functions or offer.hosted))
    config.thinking_config = encode_thinking(request, context, as_object(left.get(SPELLING)).get(THINKING_NOTE))
    if offer.makes_images:
        config.response_modalities = IMAGE_MODALITIES.copy()
    if config != types.GenerationConfig():
        body.generation_config = config
    encode_rest(request, body, context)
    return body


def _decode_options(body: types.Request, request: ours.Request) -> None:
    config, choice = body.generation_config, body.tool_config
    calling = choice.function_calling_config if given(choice) else UNSET
    if body.tools is not UNSET:
        mode = calling.mode if given(calling) else UNSET
        request.tools = decode_tools(body.tools, strict=given(mode) and mode.upper() == "VALIDATED")
    if given(calling):
        request.tool_choice = decode_choice(calling)
    if not given(config):
        return
    decode_numbers(config, request)
    request.text = or_none(decode_format(config))
    if given(config.thinking_config):
        request.reasoning = or_none(decode_effort(config.thinking_config))
    if config.response_modalities == IMAGE_MODALITIES:
        request.tools = [*(request.tools or ()), ours.ImageGenerationTool()]


def _keep_options(body: types.Request, request: ours.Request, dialect: GeminiDialect) -> Json:
    """The fields of a document, except its contents, that our encoding of the request lacks."""
    found, thinking = Losses(), _thinking_of(body)
    kept: Json = {}
    if request.reasoning is not None and given(request.reasoning.effort):
        original = OriginalThinking(
            budget=thinking.thinking_budget, level=thinking.thinking_level, model=or_unset(request.model)
        )
        kept[THINKING_NOTE] = note(original, request.reasoning.effort)
        if near := _inexact_thinking(thinking):
            kept[NEAR] = near
    left: Json = {"tools": unnamed_tools(body.tools or ()), SPELLING: kept}
    made = _encode_options(request, [], left, Context(found, dialect, gemini_model(request.model or ""), replay=True))
    mark = digest(encode(made).decode())
    left = keep_tools(body.tools, made.tools or [])
    body = replace(body, contents=[])
    # Options of the request that its model or its host does not support must not be restored.
    made.labels, made.store = body.labels, body.store
    if request.service_tier is not None:
        made.service_tier = body.service_tier
    system = body.system_instruction
    made.system_instruction = types.Content(parts=system.parts) if given(system) and system.parts else system
    if given(body.generation_config):
        made.generation_config = made.generation_config or types.GenerationConfig()
        for name in OPTIONS:
            if getattr(made.generation_config, name) is UNSET:
                value = getattr(body.generation_config, name)
                setattr(made.generation_config, name, int(value) if name == "top_k" and given(value) else value)
        if made.generation_config == types.GenerationConfig():
            made.generation_config = UNSET
    more = diff(body, made, RULES)
    of_tools = as_object(left.pop(SPELLING, None))
    notes = {**kept, **of_tools, **as_object(more.pop(SPELLING, None))}
    if NEAR in kept and NEAR in of_tools:
        notes[NEAR] = {**kept[NEAR], **of_tools[NEAR]}
    left = {**more, **left, SPELLING: notes} if notes else {**more, **left}
    if found and _patch_options(made, left) == body:
        left[SPELLING] = {**notes, OPTIONS_NOTE: mark}
    return left


def _patch_options(body: types.Request, left: Json, misfits: list[str] | None = None) -> types.Request:
    """The body with its document's leftovers restored."""
    body.tools = patch_tools(body.tools, left)
    return patch(body, {name: value for name, value in left.items() if name not in TOOL_FIELDS}, misfits)


def _decode_system(body: types.Request, request: ours.Request, lost: Losses) -> list[ours.AnyItem]:
    """The system prompt: its first text as instructions, the others as messages of the developer."""
    system = body.system_instruction
    if not given(system):
        return []
    if not system.parts:
        lost.dropped("systemInstruction", "instructions without parts")
        return []
    parts = list(system.parts)
    if parts[0].text and parts[0] == types.Part(text=parts[0].text):
        request.instructions = or_none(parts.pop(0).text)
    return [ours.Message(role="developer", content=decode_content([part])) for part in parts]


# --- sampling, length, log probabilities ----------------------------------------------------------------------------

OPTIONS = {
    "temperature": "sampling",
    "top_p": "sampling",
    "top_k": "sampling",
    "presence_penalty": "penalties",
    "frequency_penalty": "penalties",
    "max_output_tokens": "",
    "seed": "",
}
"""Options with the same name on both sides, and the fact of a model that decides whether it supports them."""


def encode_numbers(request: ours.Request, config: types.GenerationConfig, context: Context) -> None:
    """Set the options of a request about sampling, length and log probabilities that the model supports."""
    model = context.model
    takes = {
        "sampling": model.sampling,
        "penalties": model.penalties or (model.penalties_on_vertex and context.dialect.is_vertex),
        "": True,
    }
    for name, fact in OPTIONS.items():
        value = getattr(request, name)
        if not given(value):
            continue
        if takes[fact]:
            setattr(config, name, value)
        elif value or fact == "sampling":
            context.lost.dropped(name, "this model does not support this option")
    if request.stop is not None:
        config.stop_sequences = [request.stop] if isinstance(request.stop, str) else list(request.stop)
    if asks_for_logprobs(request, context.lost):
        config.response_logprobs = True
        config.logprobs = or_unset(request.top_logprobs)
    elif request.top_logprobs is not None:
        context.lost.dropped("top_logprobs", "alternatives are sent only where probabilities are requested")
    report_include(request, (LOGPROBS, *INCLUDED), WIRE, context.lost)


def decode_numbers(config: types.GenerationConfig, request: ours.Request) -> None:
    """Set on a request the options of a document about sampling, length and log probabilities."""
    for name in OPTIONS:
        value = getattr(config, name)
        if value is not UNSET:
            setattr(request, name, int(value) if name == "top_k" else value)
    request.stop = or_none(config.stop_sequences)
    request.top_logprobs = or_none(config.logprobs)
    if config.response_logprobs:
        request.include = [LOGPROBS]


# --- thinking -------------------------------------------------------------------------------------------------------

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Efforts from little to much."""
BUDGETS = {"minimal": 512, "low": 1024, "medium": 8192, "high": 24_576, "xhigh": 28_672, "max": 32_768}
"""Thinking budgets in tokens by effort, for models with a budget."""
DYNAMIC = "medium"
"""The text for a model that decides its thinking itself, which is a budget of -1."""


class OriginalThinking(types.Document, kw_only=True):
    """The thinking of a document, and its model."""

    budget: types.Maybe[int] = UNSET
    level: types.Maybe[str] = UNSET
    model: types.Maybe[str] = UNSET


_original: Decoder[OriginalThinking] = Decoder(OriginalThinking)
THINKING_FIELDS = {"thinking_budget": "thinkingBudget", "thinking_level": "thinkingLevel"}


def _thinking_of(body: types.Request) -> types.ThinkingConfig:
    config = body.generation_config or types.GenerationConfig()
    return config.thinking_config or types.ThinkingConfig()


def _stands(original: OriginalThinking, name: str | None, model: GeminiModel) -> bool:
    """Whether the thinking of a document is valid for the model `name`."""
    if or_unset(name) == original.model or model is gemini_model(""):  # of which nothing is known
        return True
    level = original.level.lower() if given(original.level) else ""
    budget = original.budget if given(original.budget) else -1  # which is the model's own choice
    least, most = model.budgets or (1, BUDGETS["max"])
    return (
        not (level in EFFORTS and level not in model.levels)
        and not (budget == 0 and model.always_thinks)
        and (budget <= 0 or least <= budget <= most)
    )


def encode_thinking(request: ours.Request, context: Context, kept: Any) -> types.Maybe[types.ThinkingConfig]:
    """`thinkingConfig` of a request; `kept` is the note on that of its document, which stands with the effort."""
    reasoning = request.reasoning
    original: OriginalThinking | None = (
        stored(kept, _original) if kept and reasoning and fits(kept, reasoning.effort) else None
    )
    if original is None or reasoning is None:
        return encode_effort(or_unset(reasoning), context)
    if not (context.model.levels or context.model.budgets) and request.model != or_none(original.model):
        context.lost.dropped("generationConfig.thinkingConfig", "this model does not think")
        return UNSET
    stands = _stands(original, request.model, context.model)
    rest = replace(reasoning, effort=None) if stands else reasoning
    found = encode_effort(rest, context if stands else context._replace(lost=Losses())) or types.ThinkingConfig()
    for name, value in (("thinking_budget", original.budget), ("thinking_level", original.level)):
        if stands:
            setattr(found, name, value)
        elif getattr(found, name) != value:
            path = f"generationConfig.thinkingConfig.{THINKING_FIELDS[name]}"
            context.lost.changed(path, "not supported by this model; the nearest is sent")
    return UNSET if found == types.ThinkingConfig() else found


def encode_effort(reasoning: Opt[ours.ReasoningOptions], context: Context) -> types.Maybe[types.ThinkingConfig]:
    """`thinkingConfig` for the reasoning options."""
    if not given(reasoning):
        return UNSET
    lost, model, config = context.lost, context.model, types.ThinkingConfig()
    thinks = bool(model.levels or model.budgets)
    for option in ("effort", "summary"):
        if given(getattr(reasoning, option)) and not thinks:
            lost.dropped(f"reasoning.{option}", "this model does not think")
    if given(reasoning.effort) and model.budgets:
        config.thinking_budget = budget(reasoning.effort, *model.budgets, always=model.always_thinks)
        if _effort(config.thinking_budget) != reasoning.effort:
            lost.changed("reasoning.effort", f"the nearest this model has is {config.thinking_budget} tokens")
    elif given(reasoning.effort) and thinks:
        level = nearest(reasoning.effort, model.levels)
        config.thinking_level = level.upper()
        if level != reasoning.effort:
            lost.changed(
                "reasoning.effort", f"this model has no effort {reasoning.effort!r}; it is asked for {level!r}"
            )
    if given(reasoning.summary) and thinks:
        config.include_thoughts = True
        if reasoning.summary != "auto":
            lost.changed("reasoning.summary", "Gemini has one kind of summary")
    return UNSET if config == types.ThinkingConfig() else config


def budget(effort: str, least: int, most: int, *, always: bool) -> int:
    """The thinking budget; a model that `always` thinks has no budget of 0."""
    if effort == "none" and not always:
        return 0
    return min(max(BUDGETS.get(effort, 0 if effort == "none" else BUDGETS[DYNAMIC]), least), most)


def nearest(effort: str, levels: tuple[str, ...]) -> str:
    """The level of a model for an effort: itself, else the next one above, else the highest."""
    if effort in levels or effort not in EFFORTS:
        return effort
    return next((level for level in levels if EFFORTS.index(level) >= EFFORTS.index(effort)), levels[-1])


def decode_effort(config: types.ThinkingConfig) -> Opt[ours.ReasoningOptions]:
    """The reasoning options for a thinking configuration."""
    found = ours.ReasoningOptions()
    if given(config.thinking_level):
        found.effort = config.thinking_level.lower()
    elif given(config.thinking_budget):
        found.effort = _effort(config.thinking_budget)
    if config.include_thoughts:
        found.summary = "auto"
    return UNSET if found == ours.ReasoningOptions() else found


def _inexact_thinking(config: types.ThinkingConfig) -> dict[str, str]:
    """A budget that is none of the ones by effort, by its path."""
    tokens = config.thinking_budget
    if not given(tokens) or given(config.thinking_level) or tokens == BUDGETS.get(effort := _effort(tokens), 0):
        return {}
    return {BUDGET: f"a budget of {tokens} tokens, read as the effort {effort!r}"}


def _effort(tokens: int) -> str:
    if tokens <= 0:
        return DYNAMIC if tokens == -1 else "none"
    return next((effort for effort, most in BUDGETS.items() if tokens <= most), "max")


# --- output format --------------------------------------------------------------------------------------------------


def encode_format(
    text: Opt[ours.TextOptions], config: types.GenerationConfig, context: Context, *, tools: bool
) -> None:
    """Request JSON, with a schema where there is one; `tools` is whether the request has tools."""
    lost = context.lost
    if not given(text):
        return
    report_format(text, WIRE, lost)
    match text.format:
        case ours.JsonSchemaFormat(schema=dict(schema)):
            config.response_mime_type = JSON
            config.response_json_schema = fitted(schema, GEMINI, lost, "text.format.schema")
        case ours.JsonSchemaFormat():
            config.response_mime_type = JSON
            lost.changed("text.format", "a schema that is missing; any JSON is requested")
        case ours.JsonObjectFormat():
            config.response_mime_type = JSON
        case Unknown():
            pass
        case _:
            return
    if tools and not context.model.mixes_tools:
        lost.refused("text.format", "this model supports tools or an output format, not both")


def decode_format(config: types.GenerationConfig) -> Opt[ours.TextOptions]:
    """The output format in a document."""
    schema: Any = config.response_json_schema
    if config.response_mime_type == ENUM:  # one of some texts, without quotes, which no other format has
        return UNSET
    if given(config.response_schema):
        schema = from_openapi(config.response_schema)
    if isinstance(schema, dict):
        schema = cast("types.Json", schema)
        return ours.TextOptions(format=schema_format(schema, strict=strict_if_possible(schema)))
    if config.response_mime_type == JSON:
        return ours.TextOptions(format=ours.JsonObjectFormat())
    if config.response_mime_type == "text/plain":
        return ours.TextOptions(format=ours.TextFormat())
    return UNSET


# --- everything else ------------------------------------------------------------------------------------------------


def encode_rest(request: ours.Request, body: types.Request, context: Context) -> None:
    """Set labels, storage and the tier, and report options without an equivalent."""
    lost, lacks, tier = context.lost, context.dialect.lacks, request.service_tier
    report_missing(request, WIRE, lost, refused=REFUSED, dropped=DROPPED)
    if request.metadata is not None and "labels" not in lacks:
        labels: dict[str, str] = {}
        for name, value in request.metadata.items():
            if re.fullmatch(r"[a-z][a-z0-9_-]{0,62}", name) and re.fullmatch(r"[a-z0-9_-]{0,63}", value):
                labels[name] = value
            else:
                lost.dropped(f"metadata.{name}", "labels are up to 63 lower-case letters, digits, dashes, underscores")
        if labels or not request.metadata:
            body.labels = labels
    elif request.metadata:
        lost.dropped("metadata", "this host has no labels")
    if request.store is not None and "store" in lacks:
        lost.dropped("store", "this host has no such option")
    elif "store" not in lacks and (request.store is not None or context.dialect.stores_nothing):
        body.store = bool(request.store)
    if given(tier) and tier in TIERS and "serviceTier" not in lacks:
        body.service_tier = TIERS[tier]
    elif given(tier) and tier != "auto":
        lost.dropped("service_tier", f"this host takes no {tier!r} here")


# --- token counting -------------------------------------------------------------------------------------------------

_COUNTED = ("contents", "system_instruction", "tools", "generation_config")


def encode_count(request: ours.Request, *, dialect: GeminiDialect = DEFAULT) -> tuple[types.CountRequest, list[Loss]]:
    """The body of a request to count tokens."""
    body, lost = encode_request(request, dialect=dialect)
    if "generateContentRequest" in dialect.lacks:
        return types.CountRequest(**{name: getattr(body, name) for name in _COUNTED}), lost
    body.model = collected(request.model or "", dialect)
    return types.CountRequest(generate_content_request=body), lost


def decode_count(
    body: types.CountRequest, *, dialect: GeminiDialect = DEFAULT, model: str | None = None
) -> tuple[ours.Request, list[Loss]]:
    """The request whose tokens are to be counted; `model` is the one in its URL."""
    whole = body.generate_content_request
    if not given(whole):
        whole = types.Request(
            contents=body.contents or [],
            system_instruction=body.system_instruction,
            tools=body.tools,
            generation_config=body.generation_config,
        )
    elif model is None and given(whole.model):
        model = whole.model
    lost = Losses()
    report_unknown(body, "", lost)
    if body.instances:
        lost.dropped("instances", "a form of models before Gemini")
    request, more = decode_request(whole, dialect=dialect, model=model)
    return request, [*lost, *more]


def count_route(request: ours.Request, *, dialect: GeminiDialect = DEFAULT) -> Route:
    """The route of token counting."""
    return Route(f"{model_path(request.model or '', dialect)}:countTokens")


# --- models ---------------------------------------------------------------------------------------------------------


def models_route(*, dialect: GeminiDialect = DEFAULT) -> Route:
    """The route of the list of models, with the largest page that the host allows."""
    return Route(f"{dialect.root}/{dialect.collection}", {"pageSize": "1000"}, method="GET")
