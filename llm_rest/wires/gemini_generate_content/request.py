"""A request of Responses on this wire, and back.

Contents are in `turns`, tools in `tools`, options in `options`; here they become one body. Before changing this file, know that
the model and whether to stream stand in the URL, that what this wire alone knows is kept in leftovers by its names on the wire,
and that `extra` is merged in last, objects within objects. Follows the reference of `generateContent` (read 2026-11-20).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from msgspec import UNSET

from ...dialects import GeminiDialect, gemini_model
from ...losses import Losses
from ...responses.items import AdditionalTools, AnyItem, Message
from ...responses.leftovers import SPELLING
from ...responses.parts import InputText
from ...responses.request import Request
from ...responses.tools import ImageGenerationTool
from ...unknown import given
from .. import Route
from . import types
from .carried import ABSENT, document_fields, merged, own_fields, plain, report_extras, rest, restored, spelling
from .counts import TIERS, TIERS_BACK
from .media import Context
from .options import (
    decode_choice,
    decode_format,
    decode_logprobs,
    decode_sampling,
    decode_thinking,
    encode_choice,
    encode_format,
    encode_logprobs,
    encode_sampling,
    encode_thinking,
    is_strict,
    spells_choice,
    spells_format,
)
from .tools import Offer, decode_tools, encode_tools
from .turns import Turns, decode_contents
from .types import WIRE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...losses import Loss
    from ...responses.tools import AnyTool

DEFAULT = GeminiDialect()

REFUSED = {
    "previous_response_id": "this wire keeps nothing between calls; send the conversation itself",
    "conversation": "this wire keeps nothing between calls; send the conversation itself",
    "prompt": "this wire has no stored prompts",
    "background": "this wire answers while one waits",
    "moderation": "this wire does not moderate",
}
DROPPED = (
    "max_tool_calls context_management prompt_cache_key prompt_cache_retention prompt_cache_options safety_identifier user "
    "store image access_programs"
).split()
"""Options without a counterpart; a false or empty one asks for nothing."""

_KEPT = (
    "safety_settings",
    "cached_content",
    "store",
    "continuation_token",
    "model_armor_config",
    "model",
)
_TAKEN = (
    "temperature topP topK presencePenalty frequencyPenalty maxOutputTokens stopSequences seed responseLogprobs logprobs "
    "responseMimeType responseSchema responseJsonSchema thinkingConfig"
).split()
"""Fields of `generationConfig` that are options of a request; the others are kept."""
_TEXT_ONLY = ["TEXT"]
_DRAWS = ["TEXT", "IMAGE"]


# --- Responses to this wire -----------------------------------------------------------------------------------------


def encode_request(request: Request, *, dialect: GeminiDialect = DEFAULT) -> tuple[types.Request, list[Loss]]:
    """The body of `:generateContent` for a request, and what could not be carried."""
    lost = Losses()
    context = Context(lost, dialect, gemini_model(request.model or ""), replay=True)
    kept = own_fields(request.leftovers, "", lost)
    spelled = spelling(kept)
    report_extras(request, "", lost)
    items: Sequence[AnyItem] = (
        [Message(role="user", content=request.input)] if isinstance(request.input, str) else request.input or ()
    )
    turns = Turns(context)
    turns.write(items)
    if not turns.contents:
        lost.refused("input", "nothing to answer")
    body = types.Request(contents=turns.contents)
    if request.instructions:
        turns.system.insert(0, types.Part(text=request.instructions))
    if turns.system:
        body.system_instruction = types.Content(parts=turns.system)
    offer = _offer(request, items, kept, context)
    _encode_tools(request, body, offer, kept, spelled, context)
    body.generation_config = _config(request, offer, spelled, context)
    _encode_rest(request, body, dialect, lost)
    fields = {name: value for name, value in document_fields(kept).items() if name not in ("tools", "mcpServers")}
    for name in dialect.lacks:
        if name in fields:
            lost.dropped(f"leftovers.{WIRE}.{name}", f"{name}, which this host does not take")
            del fields[name]
    if "systemInstruction" in spelled and given(body.system_instruction):
        fields["systemInstruction"] = spelled["systemInstruction"]
    body = merged(body, fields, f"leftovers.{WIRE}", lost)
    extra = request.extra.get(WIRE) if request.extra else None
    if extra:
        body = merged(body, extra, f"extra.{WIRE}", lost)
    _check_cache(body, lost)
    return body, lost


def _offer(request: Request, items: Sequence[AnyItem], kept: types.Json, context: Context) -> Offer:
    tools: list[AnyTool] = list(request.tools or ())
    for i, item in enumerate(items):
        if isinstance(item, AdditionalTools):
            context.lost.emulated(f"input[{i}]", "tools added later, offered from the beginning")
            tools += item.tools
    servers: Any = kept.get("mcpServers")
    return encode_tools(tools, cast("types.Json", servers) if isinstance(servers, dict) else {}, context)


def _encode_tools(
    request: Request, body: types.Request, offer: Offer, kept: types.Json, spelled: types.Json, context: Context
) -> None:
    tools = offer.tools
    arranged = kept.get("tools", spelled.get("tools"))
    written = restored(types.Request, {"contents": [], "tools": arranged}) if arranged else None
    said = decode_tools(written.tools or (), strict=offer.strict, left={}) if written is not None else None
    if written is not None and given(written.tools) and said == list(request.tools or ()):
        tools = written.tools  # the document's own arrangement, as long as it says what the request says
    elif "tools" in kept:
        context.lost.dropped(f"leftovers.{WIRE}.tools", "tools of the vendor that were listed beside others than now")
    if tools:
        body.tools = tools
    choice = encode_choice(request, offer, spelled, context)
    config = types.ToolConfig(function_calling_config=choice)
    if offer.hosted and offer.functions and "toolCall" not in context.dialect.lacks:
        config.include_server_side_tool_invocations = True
    if "includeServerSideToolInvocations" in spelled:
        told = spelled["includeServerSideToolInvocations"]
        config.include_server_side_tool_invocations = told if isinstance(told, bool) else UNSET
    if request.parallel_tool_calls is False and offer.functions:
        context.lost.dropped(
            "parallel_tool_calls", "this wire cannot keep a model from calling several functions at once"
        )
    elif request.parallel_tool_calls is False:
        context.lost.dropped("parallel_tool_calls", "a word about calls where there are no functions")
    if config != types.ToolConfig() or spelled.get("toolConfig") == {}:
        body.tool_config = config


def _config(request: Request, offer: Offer, spelled: types.Json, context: Context) -> types.GenerationConfig | Any:
    config = types.GenerationConfig()
    encode_sampling(request, config, spelled, context)
    encode_logprobs(request, config, context)
    encode_format(request, config, offer, spelled, context)
    config.thinking_config = encode_thinking(request, spelled, context)
    if offer.draws:
        config.response_modalities = _DRAWS.copy()
    if "responseModalities" in spelled:
        told = spelled["responseModalities"]
        if told == _TEXT_ONLY and not offer.draws:
            config.response_modalities = _TEXT_ONLY.copy()
    return config if config != types.GenerationConfig() or spelled.get("generationConfig") == {} else UNSET


def _encode_rest(request: Request, body: types.Request, dialect: GeminiDialect, lost: Losses) -> None:
    for name, why in REFUSED.items():
        if getattr(request, name):
            lost.refused(name, why)
    for name in DROPPED:
        if getattr(request, name):
            lost.dropped(name, "this wire has no such option")
    if request.truncation == "auto":
        lost.refused("truncation", "cutting the conversation to fit, which this wire does not offer")
    if given(request.stream_options) and request.stream_options.include_obfuscation:
        lost.dropped("stream_options", "this wire does not obfuscate")
    if given(request.metadata):
        _encode_labels(request.metadata, body, dialect, lost)
    tier = request.service_tier
    if given(tier) and tier in TIERS and "serviceTier" not in dialect.lacks:
        body.service_tier = TIERS[tier]
    elif given(tier) and tier != "auto":
        lost.dropped("service_tier", f"this host takes no {tier!r} here")


def _encode_labels(metadata: dict[str, str], body: types.Request, dialect: GeminiDialect, lost: Losses) -> None:
    if "labels" in dialect.lacks:
        if metadata:
            lost.dropped("metadata", "this host keeps no labels")
        return
    labels: dict[str, str] = {}
    for name, value in metadata.items():
        if name[:1].islower() and _label(name) and _label(value):
            labels[name] = value
        else:
            lost.dropped(f"metadata.{name}", "labels are up to 63 lower-case letters, digits, dashes and underscores")
    if labels or not metadata:
        body.labels = labels


_label = re.compile(r"[a-z0-9_-]{0,63}").fullmatch


def _check_cache(body: types.Request, lost: Losses) -> None:
    """What is cached with a conversation cannot be said again."""
    if given(body.cached_content):
        said = {"instructions": body.system_instruction, "tools": body.tools, "tool_choice": body.tool_config}
        for name, value in said.items():
            if given(value):
                lost.refused(name, "already part of the cached content, and refused beside it")


# --- this wire to Responses -----------------------------------------------------------------------------------------


def decode_request(
    body: types.Request, *, dialect: GeminiDialect = DEFAULT, model: str | None = None
) -> tuple[Request, list[Loss]]:
    """The request that a body is; `model` is the one its URL names."""
    left: types.Json = {}
    spelled: types.Json = {}
    named = model if model is not None else body.model
    # Here nothing is kept unless somebody asks for it; a Responses host keeps everything.
    request = Request(model=named.removeprefix("models/") if given(named) else UNSET, store=False)
    _decode_config(body, request, left, spelled)
    calling = body.tool_config.function_calling_config if given(body.tool_config) else UNSET
    if body.tools is not UNSET:
        strict = given(calling) and is_strict(calling)
        request.tools = [*decode_tools(body.tools or (), strict=strict, left=left), *(request.tools or ())]
    _decode_tool_config(body, request, left, spelled, dialect)
    request.input = [*_decode_system(body, request, spelled), *decode_contents(body.contents, dialect.issuer)]
    if given(body.labels):
        request.metadata = body.labels
    if given(body.service_tier):
        if body.service_tier in TIERS_BACK:
            request.service_tier = TIERS_BACK[body.service_tier]
        else:
            left["serviceTier"] = body.service_tier
    for name in _KEPT:
        value = getattr(body, name)
        if value is not UNSET:
            left[_wire_names[name]] = plain(value)
    if type(body) is not types.Request:
        left |= {name: value for name, value in rest(body).items() if name not in _wire_names.values()}
    if spelled or SPELLING in left:
        left[SPELLING] = {**left.get(SPELLING, {}), **spelled}
    if left:
        request.leftovers = {WIRE: left}
    return request, []


_wire_names = dict(zip(types.Request.__struct_fields__, types.Request.__struct_encode_fields__, strict=True))


def _decode_system(body: types.Request, request: Request, spelled: types.Json) -> list[AnyItem]:
    """What is said to the model first: its first text as instructions, the others as messages of the developer."""
    said = body.system_instruction
    if not given(said):
        return []
    more = rest(said, ("parts",))
    if more:
        spelled["systemInstruction"] = more
    texts = [part.text for part in said.parts or () if given(part.text)]
    if texts:
        request.instructions = texts[0]
    return [Message(role="developer", content=[InputText(text=text)]) for text in texts[1:]]


def _decode_config(body: types.Request, request: Request, left: types.Json, spelled: types.Json) -> None:
    config = body.generation_config
    if not given(config):
        return
    decode_sampling(config, request, spelled)
    decode_logprobs(config, request, left)
    request.text = decode_format(config)
    if spells_format(config):
        names = ("responseMimeType", "responseSchema", "responseJsonSchema")
        said = plain(config)
        spelled["format"] = {name: said[name] for name in names if name in said}
    if given(config.thinking_config):
        request.reasoning = decode_thinking(config.thinking_config)
        spelled["thinkingConfig"] = plain(config.thinking_config)
    more = rest(config, _TAKEN)
    if more.get("responseModalities") == _TEXT_ONLY:
        spelled["responseModalities"] = more.pop("responseModalities")
    elif more.get("responseModalities") == _DRAWS:
        del more["responseModalities"]
        request.tools = [ImageGenerationTool()]
    if "responseLogprobs" in left:
        more["responseLogprobs"] = left.pop("responseLogprobs")
    if more:
        left["generationConfig"] = more
    elif config == types.GenerationConfig():
        spelled["generationConfig"] = {}


def _decode_tool_config(
    body: types.Request, request: Request, left: types.Json, spelled: types.Json, dialect: GeminiDialect
) -> None:
    config = body.tool_config
    told = config.include_server_side_tool_invocations if given(config) else UNSET
    tools = body.tools or ()
    hosted = any(value is not UNSET for tool in tools for value in _hosted(tool))
    functions = any(given(tool.function_declarations) for tool in tools)
    usual = hosted and functions and "toolCall" not in dialect.lacks
    if told is not (True if usual else UNSET):
        spelled["includeServerSideToolInvocations"] = ABSENT if told is UNSET else told
    if not given(config):
        return
    calling = config.function_calling_config
    if given(calling):
        request.tool_choice = decode_choice(calling)
        if not functions or spells_choice(calling):
            spelled["functionCallingConfig"] = plain(calling)
    if config == types.ToolConfig():
        spelled["toolConfig"] = {}
    more = rest(config, ("functionCallingConfig", "includeServerSideToolInvocations"))
    if more:
        left["toolConfig"] = more


def _hosted(tool: types.Tool) -> list[Any]:
    return [getattr(tool, name) for name in types.Tool.__struct_fields__ if name != "function_declarations"]


# --- where it goes --------------------------------------------------------------------------------------------------


def collected(model: str, dialect: GeminiDialect) -> str:
    """The model with its collection. A name that has one (`tunedModels/...`, `publishers/...`) is taken at its word."""
    name = model.removeprefix(f"{dialect.collection}/").removeprefix("models/").strip("/")
    return name if "/" in name else f"{dialect.collection}/{name}"


def place(model: str, dialect: GeminiDialect) -> str:
    """The path of a model."""
    return f"{dialect.root}/{'/'.join(_segment(segment) for segment in collected(model, dialect).split('/'))}"


def _segment(text: str) -> str:
    return quote(text, safe="@") if text.strip(".") else text.replace(".", "%2E")


def route(request: Request, *, dialect: GeminiDialect = DEFAULT, stream: bool = False) -> Route:
    """Where the request goes: the model and the method stand in the path."""
    model = request.model if given(request.model) else ""
    if stream:
        return Route(f"{place(model, dialect)}:streamGenerateContent", {"alt": "sse"})
    return Route(f"{place(model, dialect)}:generateContent")
