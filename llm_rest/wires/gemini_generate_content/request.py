"""A request of Responses on this wire, and back.

Contents are in `turns`, tools in `tools`, options in `options`; here they become one body. Before changing this file, know that
the model and whether to stream stand in the URL, that what this wire alone knows is kept in leftovers by its names on the wire,
and that `extra` is merged in last, objects within objects. Options that the document spelled otherwise than we would are noted
in groups, and spelled so again as long as the fields of ours say the same to the same model. Follows the reference of
`generateContent` (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from msgspec import UNSET

from ...losses import Losses
from ...responses.carriers import digest
from ...responses.items import AdditionalTools, AnyItem, Message
from ...responses.leftovers import NEAR, SPELLING, unsaid
from ...responses.request import Request, items_of
from ...responses.tools import ImageGenerationTool, McpTool
from ...unknown import given, or_none, or_unset
from ...vendors.dialects import GeminiDialect, gemini_model
from .. import Route
from .._left import report_unknown
from .._pairing import paired
from . import types
from .carried import document_fields, encode, inner, merged, own_fields, plain, rest, spelling, stated
from .media import Context, decode_parts
from .options import (
    TIERS_BACK,
    decode_format,
    decode_logprobs,
    decode_numbers,
    decode_thinking,
    encode_format,
    encode_logprobs,
    encode_numbers,
    encode_rest,
    encode_thinking,
)
from .tools import Offer, decode_choice, decode_tools, encode_choice, encode_tools, is_strict
from .turns import Turns, decode_contents
from .types import WIRE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...losses import Loss

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
