"""A request of Responses on this wire, and back.

Contents are in `turns`, tools in `tools`, options in `options`; here they become one body. Before changing this file, know that
the model and whether to stream stand in the URL, that what this wire alone knows is kept in leftovers by its names on the wire,
and that `extra` is merged in last, objects within objects. Options that the document spelled otherwise than we would are noted
in groups, and spelled so again as long as the fields of ours say the same to the same model. Follows the reference of
`generateContent` (read 2026-11-20).
"""

# DOC The options of a request: numbers, thinking, the form of the answer, each with its way there and back side by side.
# DOC
# DOC Before changing this file, know that an option a model does not take fails the whole request, so it stays behind and is reported;
# DOC and that an option which the document spelled otherwise than we would is kept as it was, in `request.py`. Follows the reference
# DOC of `GenerationConfig` and the guide to thinking (read 2026-11-20).

# DOC The neighbours of `:generateContent`: counting tokens, and the list of models.
# DOC
# DOC Before changing this file, know that the two hosts want different bodies: the Developer API counts a whole request only where
# DOC it stands inside `generateContentRequest`, and Vertex knows no such field. Follows the references of `countTokens` and
# DOC `models.list` of both (read 2026-11-20).

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import quote

from msgspec import UNSET

from ...losses import Losses, no_such, not_in
from ...responses.carriers import digest
from ...responses.closed import strict_if_possible
from ...responses.items import AdditionalTools, AnyItem, Message
from ...responses.leftovers import NEAR, SPELLING, unsaid
from ...responses.request import (
    JsonObjectFormat,
    JsonSchemaFormat,
    ReasoningOptions,
    Request,
    TextFormat,
    TextOptions,
    items_of,
)
from ...responses.tools import ImageGenerationTool, McpTool
from ...unknown import MOST_UNKNOWN, Decoder, Unknown, given, or_none, or_unset
from ...vendors.dialects import GeminiDialect, gemini_model
from .. import Route
from .._left import report_unknown, says
from .._pairing import paired
from . import types
from .content import Context, decode_parts
from .messages import Turns, decode_contents
from .reasoning import document_fields, encode, inner, merged, own_fields, plain, rest, spelling, stated
from .tools import Offer, decode_choice, decode_tools, encode_choice, encode_tools, fitted, from_openapi, is_strict
from .types import WIRE, ProtoDecoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...losses import Loss
    from ...responses.request import Request
    from ...unknown import Opt
    from .content import Context

DEFAULT = GeminiDialect()

_KEPT = ("safety_settings", "cached_content", "continuation_token", "model_armor_config", "model")
_TAKEN = (
    "temperature topP topK presencePenalty frequencyPenalty maxOutputTokens stopSequences seed responseLogprobs logprobs "
    "responseMimeType responseSchema responseJsonSchema thinkingConfig"
).split()
"""Fields of `generationConfig` that are options of a request; the others are kept."""
_DRAWS = ["TEXT", "IMAGE"]
_SYSTEM_ROLES = ("system", "user", "model", "")
"""Roles of instructions, which say nothing."""
_OPTIONS = ("tools", "tool_config", "generation_config")
_SECRETS = ("url", "headers")
"""Fields of an MCP server that stand on its tool and in no leftovers."""


class Group(NamedTuple):
    """Fields of ours, and the fields that say the same on this wire: of the body, and of its `generationConfig`."""

    ours: tuple[str, ...]
    body: tuple[str, ...] = ()
    config: tuple[str, ...] = ()

    def said(self, request: Request, dialect: GeminiDialect) -> str:
        """A digest of what a request says, and to whom."""
        values = {name: value for name in self.ours if (value := getattr(request, name)) is not None}
        return digest(encode([values, gemini_model(request.model or ""), dialect.lacks]).decode())

    def of(self, document: types.Json) -> types.Json:
        """What a document says."""
        config = inner(document, "generationConfig")
        found = {name: document[name] for name in self.body if name in document}
        told = {name: config[name] for name in self.config if name in config}
        return found | ({"generationConfig": told} if told else {})


GROUPS = {
    "top_k": Group(("top_k",), config=("topK",)),
    "include": Group(("include", "top_logprobs"), config=("responseLogprobs", "logprobs")),
    "reasoning": Group(("reasoning",), config=("thinkingConfig",)),
    "text": Group(("text",), config=("responseMimeType", "responseSchema", "responseJsonSchema")),
    "tools": Group(("tools", "tool_choice"), body=("tools", "toolConfig")),
    "modalities": Group(("tools",), config=("responseModalities",)),
}


# --- Responses to this wire -----------------------------------------------------------------------------------------


def encode_request(request: Request, *, dialect: GeminiDialect = DEFAULT) -> tuple[types.Request, list[Loss]]:
    """The body of `:generateContent` for a request, and what could not be carried."""
    lost = Losses()
    context = Context(lost, dialect, gemini_model(request.model or ""), replay=True)
    kept = own_fields(request.leftovers, "", lost, request)
    report_unknown(request, "", lost)
    items = paired(items_of(request), lost)
    turns = Turns(context)
    turns.write(items)
    if not turns.contents:
        lost.refused("input", "nothing to answer")
    body = types.Request(contents=[])
    if request.instructions:
        turns.system.insert(0, types.Part(text=request.instructions))
    if turns.system:
        body.system_instruction = types.Content(parts=turns.system)
    told = _as_told(request, kept, dialect)
    _encode_options(request, items, body, told, kept, context)
    if kept:
        body = _put_back(body, request, kept, told, dialect, lost)
    body.contents = turns.contents
    extra = request.extra.get(WIRE) if request.extra else None
    if extra:
        body = merged(body, extra, f"extra.{WIRE}", lost)
    if given(body.cached_content):
        said = {"instructions": body.system_instruction, "tools": body.tools, "tool_choice": body.tool_config}
        for name, value in said.items():
            if given(value):
                lost.refused(name, "already part of the cached content, and refused beside it")
    return body, lost


def _as_told(request: Request, kept: types.Json, dialect: GeminiDialect) -> dict[str, types.Json]:
    """Groups of options as the document spelled them, where that still says what the request says."""
    notes = inner(spelling(kept), "options")
    told: dict[str, types.Json] = {}
    for name, group in GROUPS.items() if notes else ():
        note = inner(notes, name)
        if note and note.get("said") == group.said(request, dialect):
            told[name] = inner(note, "as")
    return told


def _encode_options(
    request: Request,
    items: Sequence[AnyItem],
    body: types.Request,
    told: dict[str, types.Json],
    kept: types.Json,
    context: Context,
) -> None:
    lost, config = context.lost, types.GenerationConfig()
    tools = list(request.tools or ())
    for i, item in enumerate(items):
        if isinstance(item, AdditionalTools):
            report_unknown(item, f"input[{i}]", lost)
            lost.emulated(f"input[{i}]", "tools added later, offered from the beginning")
            tools += item.tools
            told.pop("tools", None)
    as_told = told.get("tools", {})
    offer = Offer(kept, context)
    if "tools" not in as_told:
        encode_tools(tools, offer)
        body.tools = offer.tools or UNSET
    if "tools" not in told:
        body.tool_config = encode_choice(or_unset(request.tool_choice), offer, context)
    if request.parallel_tool_calls is False:
        lost.dropped("parallel_tool_calls", "Gemini has no such option; the model may make several calls at once")
    encode_numbers(request, config, context)
    if "include" not in told:
        encode_logprobs(request, config, context)
    if "text" not in told:
        encode_format(or_unset(request.text), config, context, tools=bool(offer.tools or as_told.get("tools")))
    if "reasoning" not in told:
        config.thinking_config = encode_thinking(or_unset(request.reasoning), context)
    if offer.draws:
        config.response_modalities = _DRAWS.copy()
    if config != types.GenerationConfig():
        body.generation_config = config
    encode_rest(request, body, context)


def _put_back(
    body: types.Request,
    request: Request,
    kept: types.Json,
    told: dict[str, types.Json],
    dialect: GeminiDialect,
    lost: Losses,
) -> types.Request:
    """The body with what this wire left of its document; the secrets of MCP servers are on their tools alone."""
    fields = {name: value for name, value in document_fields(kept).items() if name not in ("tools", "mcpServers")}
    for name in dialect.lacks:
        if name in fields:
            lost.dropped(name, f"{name}, which this host does not take")
            del fields[name]
    system = spelling(kept).get("systemInstruction")
    if system and given(body.system_instruction):
        fields["systemInstruction"] = system
    for more in (fields, *told.values()):
        body = merged(body, more, f"leftovers.{WIRE}", lost)
    if "tools" in told:
        servers = (server for tool in body.tools or () for server in tool.mcp_servers or ())
        for server, ours in zip(
            servers, (tool for tool in request.tools or () if isinstance(tool, McpTool)), strict=False
        ):
            if transport := server.streamable_http_transport:
                transport.url, transport.headers = stated(ours.server_url), stated(ours.headers)
    return body


# --- this wire to Responses -----------------------------------------------------------------------------------------


def decode_request(
    body: types.Request, *, dialect: GeminiDialect = DEFAULT, model: str | None = None
) -> tuple[Request, list[Loss]]:
    """The request that a body is; `model` is the one its URL names."""
    lost = Losses()
    left: types.Json = {}
    spelled: types.Json = {}
    named = model if model is not None else body.model
    request = Request(model=named.removeprefix("models/") if given(named) else None, store=or_none(body.store))
    _decode_options(body, request, left, lost)
    if any(getattr(body, name) is not UNSET for name in _OPTIONS):
        spelled = _notes(body, request, dialect)
    request.input = [
        *_decode_system(body, request, spelled, lost),
        *decode_contents(body.contents, dialect.issuer, lost),
    ]
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
    if spelled:
        left[SPELLING] = spelled
    if left:
        request.leftovers = {WIRE: left}
    return request, lost


_wire_names = dict(zip(types.Request.__struct_fields__, types.Request.__struct_encode_fields__, strict=True))


def _decode_options(body: types.Request, request: Request, left: types.Json, lost: Losses) -> None:
    config, choice = body.generation_config, body.tool_config
    calling = choice.function_calling_config if given(choice) else UNSET
    if body.tools is not UNSET:
        strict = given(calling) and is_strict(calling)
        request.tools = decode_tools(body.tools or (), strict=strict, left=left)
    if given(calling):
        request.tool_choice = decode_choice(calling)
    more = rest(choice, ("functionCallingConfig", "includeServerSideToolInvocations")) if given(choice) else {}
    if more:
        left["toolConfig"] = more
    if not given(config):
        return
    decode_numbers(config, request)
    decode_logprobs(config, request)
    request.text = or_none(decode_format(config))
    if given(config.thinking_config):
        request.reasoning = or_none(decode_thinking(config.thinking_config, lost))
    more = rest(config, _TAKEN)
    if more.get("responseModalities") in (["TEXT"], _DRAWS) and more.pop("responseModalities") == _DRAWS:
        request.tools = [*(request.tools or ()), ImageGenerationTool()]
    if more or config == types.GenerationConfig():
        left["generationConfig"] = more


def _notes(body: types.Request, request: Request, dialect: GeminiDialect) -> types.Json:
    """How the document spelled the groups that we would spell otherwise."""
    canonical = types.Request(contents=[])
    context = Context(Losses(), dialect, gemini_model(request.model or ""), replay=True)
    _encode_options(request, (), canonical, {}, {}, context)
    if all(getattr(body, name) == getattr(canonical, name) for name in _OPTIONS) and not _is_odd(body):
        return {}
    ours: types.Json = plain(canonical) or {}
    theirs: types.Json = plain(types.Request(contents=[], **{name: getattr(body, name) for name in _OPTIONS})) or {}
    notes: types.Json = {}
    for name, group in GROUPS.items():
        found = group.of(theirs)
        if encode(found) != encode(group.of(ours)):
            for server in (one for tool in found.get("tools") or () for one in tool.get("mcpServers") or ()):
                for secret in _SECRETS:
                    inner(server, "streamableHttpTransport").pop(secret, None)
            notes[name] = {"said": group.said(request, dialect), "as": found}
    if not notes:
        return {}
    more = unsaid(_comparable(theirs), _comparable(ours), "")
    made = {function.get("name"): function for _, function in _functions(ours)}
    for place, function in _functions(theirs):
        more |= unsaid(function, made.get(function.get("name"), {}), place, "name", *_SCHEMAS)
    return {"options": notes, **({NEAR: more} if more else {})}


_SCHEMAS = (
    "parameters",
    "parametersJsonSchema",
    "response",
    "responseJsonSchema",
    "responseSchema",
    "responseMimeType",
)
"""Fields of schemas, of which the wire has two spellings."""


def _functions(options: types.Json) -> list[tuple[str, types.Json]]:
    """The functions of a request as JSON, each with its place."""
    tools: list[types.Json] = options.get("tools") or []
    found: list[tuple[str, types.Json]] = []
    for i, tool in enumerate(tools):
        functions: list[types.Json] = tool.get("functionDeclarations") or []
        found += [(f"tools[{i}].functionDeclarations[{j}]", function) for j, function in enumerate(functions)]
    return found


def _comparable(options: types.Json) -> types.Json:
    """How functions are called and how the model thinks: what is not among the leftovers itself."""
    choice = inner(options, "toolConfig")
    return {
        "toolConfig": {
            "functionCallingConfig": {"mode": "AUTO", **inner(choice, "functionCallingConfig")},
            "includeServerSideToolInvocations": choice.get("includeServerSideToolInvocations", False),
        },
        "generationConfig": {"thinkingConfig": inner(inner(options, "generationConfig"), "thinkingConfig")},
    }


def _is_odd(body: types.Request) -> bool:
    """Whether a number that is whole here is written as one that is not."""
    return given(body.generation_config) and isinstance(body.generation_config.top_k, float)


def _decode_system(body: types.Request, request: Request, spelled: types.Json, lost: Losses) -> list[AnyItem]:
    """What is said to the model first: its first text as instructions, the others as messages of the developer."""
    said = body.system_instruction
    if not given(said):
        return []
    if not said.parts:
        lost.dropped("systemInstruction", "instructions without parts, which say nothing")
        return []
    more = rest(said, ("parts",))
    if more:
        spelled["systemInstruction"] = more
        beyond = unsaid(
            more, {"role": more.get("role") if more.get("role") in _SYSTEM_ROLES else "system"}, "systemInstruction"
        )
        if beyond:
            spelled[NEAR] = {**inner(spelled, NEAR), **beyond}
    parts = list(said.parts)
    if parts[0].text and parts[0] == types.Part(text=parts[0].text):
        request.instructions = or_none(parts.pop(0).text)
    return [Message(role="developer", content=decode_parts([part])) for part in parts]


# --- where it goes --------------------------------------------------------------------------------------------------


def collected(model: str, dialect: GeminiDialect) -> str:
    """The model with its collection. A name that has one (`tunedModels/...`, `publishers/...`) is taken at its word."""
    name = model.removeprefix(f"{dialect.collection}/").removeprefix("models/").strip("/")
    return name if "/" in name else f"{dialect.collection}/{name}"


def place(model: str, dialect: GeminiDialect) -> str:
    """The path of a model."""
    names = collected(model, dialect).split("/")
    segments = (quote(name, safe="@") if name.strip(".") else name.replace(".", "%2E") for name in names)
    return f"{dialect.root}/{'/'.join(segments)}"


def route(request: Request, *, dialect: GeminiDialect = DEFAULT, stream: bool = False) -> Route:
    """Where the request goes: the model and the method stand in the path."""
    model = request.model if given(request.model) else ""
    if stream:
        return Route(f"{place(model, dialect)}:streamGenerateContent", {"alt": "sse"})
    return Route(f"{place(model, dialect)}:generateContent")


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


# --- counting -------------------------------------------------------------------------------------------------------


class CountRequest(types.Document):
    """`POST {model}:countTokens`: a whole request, or the fields of one that have a size."""

    contents: types.Maybe[list[types.Content]] = UNSET
    system_instruction: types.Maybe[types.Content] = UNSET
    tools: types.Maybe[list[types.Tool]] = UNSET
    generation_config: types.Maybe[types.GenerationConfig] = UNSET
    model: types.Maybe[str] = UNSET
    instances: types.Maybe[list[types.Json]] = UNSET
    generate_content_request: types.Maybe[types.Request] = UNSET


class Count(types.Document):
    """How many tokens an input has."""

    total_tokens: int = 0
    total_billable_characters: types.Maybe[int] = UNSET
    cached_content_token_count: types.Maybe[int] = UNSET
    prompt_tokens_details: types.Maybe[list[types.Json]] = UNSET
    cache_tokens_details: types.Maybe[list[types.Json]] = UNSET

    @property
    def input_tokens(self) -> int:
        """The tokens of the input, by the name other wires have for it."""
        return self.total_tokens


COUNT_REQUEST: Decoder[CountRequest] = ProtoDecoder(CountRequest, most_unknown=MOST_UNKNOWN)
COUNT: Decoder[Count] = ProtoDecoder(Count)

_COUNTED = ("contents", "system_instruction", "tools", "generation_config")


def encode_count(request: Request, *, dialect: GeminiDialect = DEFAULT) -> tuple[CountRequest, list[Loss]]:
    """The body that asks how many tokens a request has."""
    body, lost = encode_request(request, dialect=dialect)
    if "generateContentRequest" in dialect.lacks:
        return CountRequest(**{name: getattr(body, name) for name in _COUNTED}), lost
    body.model = collected(request.model or "", dialect)
    return CountRequest(generate_content_request=body), lost


def decode_count(
    body: CountRequest, *, dialect: GeminiDialect = DEFAULT, model: str | None = None
) -> tuple[Request, list[Loss]]:
    """The request whose tokens are to be counted; `model` is the one its URL names."""
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
        lost.dropped("instances", "the form that models before Gemini take")
    request, more = decode_request(whole, dialect=dialect, model=model)
    return request, [*lost, *more]


def count_route(request: Request, *, dialect: GeminiDialect = DEFAULT) -> Route:
    """Where counting is asked for."""
    return Route(f"{place(request.model or '', dialect)}:countTokens")


# --- models ---------------------------------------------------------------------------------------------------------


class ModelInfo(types.Document):
    """One model, named with its collection: `models/...`."""

    name: str
    base_model_id: types.Maybe[str] = UNSET
    version: types.Maybe[str] = UNSET
    display_name: types.Maybe[str] = UNSET
    description: types.Maybe[str] = UNSET
    input_token_limit: types.Maybe[int] = UNSET
    output_token_limit: types.Maybe[int] = UNSET
    supported_generation_methods: types.Maybe[list[str]] = UNSET
    thinking: types.Maybe[bool] = UNSET
    temperature: types.Maybe[float] = UNSET
    max_temperature: types.Maybe[float] = UNSET
    top_p: types.Maybe[float] = UNSET
    top_k: types.Maybe[int] = UNSET


class ModelList(types.Document):
    """One page of the models; the next one starts with `pageToken=nextPageToken`."""

    models: types.Maybe[list[ModelInfo]] = UNSET
    next_page_token: types.Maybe[str] = UNSET


MODELS: Decoder[ModelList] = ProtoDecoder(ModelList)
MODEL: Decoder[ModelInfo] = ProtoDecoder(ModelInfo)


def models_route(*, dialect: GeminiDialect = DEFAULT) -> Route:
    """Where the models are listed, as many at once as the host allows."""
    return Route(f"{dialect.root}/{dialect.collection}", {"pageSize": "1000"}, method="GET")
