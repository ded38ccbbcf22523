"""The request, both ways.

Options of the same meaning are one table; what needs a decision has a function with its counterpart below it. Before changing
this file, know that the server streams unless it is told not to and cuts a conversation that is too long without a word
unless it is told not to: so `stream` and `truncate` are always sent. What only this wire says is a leftover and comes back,
and `extra` is merged last. Follows Ollama's API reference (read 2026-11-20).
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from msgspec import UNSET, UnsetType

from ...dialects import OllamaDialect
from ...losses import Loss, Losses, no_such, not_in
from ...responses.closed import strict_if_possible
from ...responses.items import AdditionalTools, AnyItem
from ...responses.leftovers import NEAR, inexact, own, report_foreign
from ...responses.request import (
    JsonObjectFormat,
    JsonSchemaFormat,
    ReasoningOptions,
    Request,
    TextFormat,
    TextOptions,
    items_of,
)
from ...unknown import Unknown, extras, given, or_none, or_unset, with_extras
from .. import Route
from .._left import absent, as_object, leftovers, notes, nulls, put_back, report_unknown, rest, says, sent
from .._pairing import paired
from . import types
from .messages import decode_messages, encode_messages
from .tools import choose, decode_tools, encode_tools
from .types import LOADING, WIRE, Json

OLLAMA = OllamaDialect()

LOGPROBS = "message.output_text.logprobs"
ENCRYPTED = "reasoning.encrypted_content"
SCHEMA_NAME = "response"

OPTIONS = {
    "num_predict": "max_output_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "seed": "seed",
    "stop": "stop",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
}
"""Options that Responses has too, theirs on the left."""

THINK = {"none": False, "low": "low", "medium": "medium", "high": "high", "max": "max"}
"""Reasoning efforts, ours on the left."""
THINK_BACK = {theirs: ours for ours, theirs in THINK.items()}

TRUNCATE = {"auto": True, "disabled": False}
"""Whether a conversation that is too long is cut, ours on the left."""
TRUNCATE_BACK = {theirs: ours for ours, theirs in TRUNCATE.items()}

REFUSED = {
    "previous_response_id": "Ollama keeps nothing between calls; send the conversation itself",
    "conversation": "a conversation kept by the vendor",
    "prompt": "a prompt kept by the vendor",
    "background": "an answer in the background",
    "context_management": "compaction by the vendor",
}
"""Options without which the answer would be about something else."""

DROPPED = (
    "max_tool_calls metadata store service_tier prompt_cache_key prompt_cache_options prompt_cache_retention "
    "safety_identifier user moderation image access_programs background_options"
).split()
"""Options without which the answer is the same in kind; one that is false or empty asks for nothing."""

_GROUPS = ("options", "tools", "body")
"""Leftovers that hold what stood below a field, and what stood beside all of them."""

_options = attrgetter(*OPTIONS.values())
_NO_OPTIONS = (None,) * len(OPTIONS)
_rare = attrgetter(*REFUSED, *DROPPED)
_NOTHING_RARE = (None,) * (len(REFUSED) + len(DROPPED))


# --- Responses -> Ollama --------------------------------------------------------------------------------------------


def encode_request(request: Request, *, dialect: OllamaDialect = OLLAMA) -> tuple[types.Request, list[Loss]]:
    """The body to send for a request."""
    lost = Losses()
    left = own(request.leftovers, WIRE)
    spelling = notes(left)
    items = paired(items_of(request), lost)
    body = types.Request(model=or_unset(request.model), stream=bool(request.stream))
    note = _encode_tools(request, items, body, left, lost)
    body.messages = encode_messages(request.instructions or "", items, note, dialect, lost)
    if _options(request) != _NO_OPTIONS:
        body.options = _encode_options(request)
    if given(request.text):
        _encode_text(request.text, body, lost)
    if given(request.reasoning):
        body.think = _encode_think(request.reasoning, dialect, lost)
    _encode_logprobs(request, body, lost)
    body.truncate = TRUNCATE.get(request.truncation or "disabled", False)
    _encode_rest(request, lost)
    if left:
        body = _encode_left(request, body, left, spelling)
    body = _with_extra(request, body)
    if not dialect.loads_models and given(body.options):
        _leave_loading(body.options, left, lost)
    return body, lost


def _encode_tools(request: Request, items: Sequence[AnyItem], body: types.Request, left: Json, lost: Losses) -> str:
    """Set the tools; what comes back is a word to the model about them."""
    if request.parallel_tool_calls is False:
        lost.dropped("parallel_tool_calls", no_such("option", "Ollama"))
    offered = list(request.tools or ())
    for i, item in enumerate(items):
        if isinstance(item, AdditionalTools):
            lost.emulated(f"input[{i}]", "tools added later, offered from the beginning")
            offered += item.tools
    if not offered:
        body.tools = [] if request.tools == [] else UNSET
        if given(request.tool_choice) and request.tool_choice != "auto":
            lost.dropped("tool_choice", "a choice among no tools")
        return ""
    tools, note = choose(or_unset(request.tool_choice), encode_tools(offered, as_object(left.get("tools")), lost), lost)
    if tools:
        body.tools = tools
        if given(request.text) and isinstance(request.text.format, JsonSchemaFormat | JsonObjectFormat):
            lost.changed("text.format", "a format beside tools: the server's grammar may keep the model from calling")
    return note if tools else ""


def _encode_options(request: Request) -> types.Options:
    said: tuple[Any, ...] = _options(request)
    options = types.Options(**{name: value for name, value in zip(OPTIONS, said, strict=True) if value is not None})
    if isinstance(request.stop, str):
        options.stop = [request.stop]
    return options


def _encode_text(text: TextOptions, body: types.Request, lost: Losses) -> None:
    match text.format:
        case TextFormat():
            body.format = ""
        case JsonObjectFormat():
            body.format = "json"
        case JsonSchemaFormat(schema=schema):
            body.format = schema if given(schema) else "json"
            if not given(schema):
                lost.changed("text.format", "a schema that is missing; any JSON is asked for")
            if text.format.strict is False:
                lost.changed("text.format.strict", "a schema that may be left, which the server's grammar enforces")
            if given(text.format.description):
                lost.dropped("text.format.description", "what the schema is for")
        case Unknown():
            lost.refused("text.format", f"the format {text.format.kind!r}")
        case nothing:
            body.format = or_unset(nothing)
    if given(text.verbosity):
        lost.dropped("text.verbosity", "how much to say")


def _encode_think(asked: ReasoningOptions, dialect: OllamaDialect, lost: Losses) -> Any:
    for name in ("generate_summary", "context", "mode"):
        if given(getattr(asked, name)):
            lost.dropped(f"reasoning.{name}", no_such("option", "Ollama"))
    effort = asked.effort
    if not given(effort):
        # To be shown what the model thinks is what `think: true` asks for.
        if given(asked.summary) and asked.summary != "auto":
            lost.changed("reasoning.summary", "a summary; the thoughts themselves come")
        return True if given(asked.summary) else UNSET
    if given(asked.summary):
        lost.changed("reasoning.summary", "a summary; the thoughts themselves come")
    if effort in dialect.efforts:
        lost.changed("reasoning.effort", f"{effort!r}, sent as {dialect.efforts[effort]!r}")
        effort = dialect.efforts[effort]
    if effort not in THINK:
        lost.dropped("reasoning.effort", f"{effort!r}, which this server refuses")
    return THINK.get(effort, UNSET)


def _encode_logprobs(request: Request, body: types.Request, lost: Losses) -> None:
    include = request.include or ()
    if request.top_logprobs is not None or include:
        if LOGPROBS in include or request.top_logprobs:
            body.logprobs = True
        if request.top_logprobs and LOGPROBS not in include:
            lost.emulated("top_logprobs", "log probabilities, which are also asked for")
        body.top_logprobs = or_unset(request.top_logprobs)
    for j, name in enumerate(include):
        # The mark of the model's own thoughts comes asked for or not.
        if name not in (LOGPROBS, ENCRYPTED):
            lost.dropped(f"include[{j}]", not_in(repr(name), "Ollama"))


def _encode_rest(request: Request, lost: Losses) -> None:
    if _rare(request) != _NOTHING_RARE:
        for name, what in REFUSED.items():
            if says(getattr(request, name)):
                lost.refused(name, what)
        for name in DROPPED:
            if says(getattr(request, name)):
                lost.dropped(name, no_such("option", "Ollama"))
    if given(request.truncation) and request.truncation not in TRUNCATE:
        lost.dropped("truncation", f"{request.truncation!r}; a conversation that is too long is refused")
    if request.stream_options and request.stream_options.include_obfuscation:
        lost.dropped("stream_options.include_obfuscation", no_such("option", "Ollama"))
    report_unknown(request, "", lost)
    report_foreign(request.leftovers, WIRE, "", lost, request)


def _encode_left(request: Request, body: types.Request, left: Json, spelling: Json) -> types.Request:
    """The body with what its document said beyond Responses, written as it was."""
    if "options" in spelling and body.options is UNSET:
        body.options = types.Options() if spelling["options"] == {} else absent(spelling["options"])
    outer = {name: value for name, value in left.items() if name not in (*types.Options.__struct_fields__, *_GROUPS)}
    inner = {name: value for name, value in left.items() if name in types.Options.__struct_fields__}
    inner |= as_object(left.get("options"))
    if inner or "num_predict" in spelling:
        options = body.options if given(body.options) else types.Options()
        if "num_predict" in spelling and options.num_predict is UNSET:
            options.num_predict = spelling["num_predict"]
        body.options = put_back(options, inner)
    # A word about the spelling holds for as long as nobody has said otherwise since.
    unsaid = {
        "stream": request.stream is True,
        "truncate": request.truncation is None,
        "tools": request.tools is None,
        **{name: not getattr(body, name) for name in ("format", "think", "logprobs", "top_logprobs", "messages")},
    }
    for name in unsaid.keys() & spelling.keys():
        if unsaid[name]:
            setattr(body, name, absent(spelling[name]))
    return put_back(body, {**outer, **as_object(left.get("body"))})


def _leave_loading(options: types.Options, left: Json, lost: Losses) -> None:
    for name in LOADING:
        if given(getattr(options, name)):
            setattr(options, name, UNSET)
            path = f"options.{name}" if name in left else f"extra.{WIRE}.options.{name}"
            lost.dropped(path, "an option of loading a model, which this host does not take")


def _with_extra(request: Request, body: types.Request) -> types.Request:
    """The body with the caller's own additions, which win; those below `options` stand beside the others there."""
    extra = request.extra.get(WIRE) if request.extra else None
    if not extra:
        return body
    unknown: Json = {}
    for name, value in extra.items():
        if name == "options" and isinstance(value, dict):
            body.options = _merged(body.options if given(body.options) else types.Options(), as_object(value))
        elif name in types.Request.__struct_fields__:
            setattr(body, name, value)
        else:
            unknown[name] = value
    return with_extras(body, {**extras(body), **unknown}) if unknown else body


def _merged(options: types.Options, fields: Json) -> types.Options:
    for name in fields.keys() & set(types.Options.__struct_fields__):
        setattr(options, name, fields[name])
    unknown = {name: value for name, value in fields.items() if name not in types.Options.__struct_fields__}
    return with_extras(options, {**extras(options), **unknown}) if unknown else options


def route(request: Request, *, dialect: OllamaDialect = OLLAMA, stream: bool = False) -> Route:
    """Where the request goes. Streaming is asked for in the body, not in the URL."""
    return Route(dialect.path)


# --- Ollama -> Responses --------------------------------------------------------------------------------------------


def decode_request(
    body: types.Request, *, dialect: OllamaDialect = OLLAMA, model: str | None = None
) -> tuple[Request, list[Loss]]:
    """The request that a body asks for; `model` is used where it names none."""
    lost = Losses()
    left = nulls(body, "model")
    spelling: Json = {}
    request = Request(model=model if body.model is UNSET else or_none(body.model))
    said, request.input = decode_messages(body.messages or (), dialect, lost)
    if said is not None:
        request.instructions = said
    if not body.messages:
        spelling["messages"] = sent(body.messages)
    request.stream = True if body.stream is UNSET or body.stream is None else body.stream
    if request.stream is not body.stream:
        spelling["stream"] = sent(body.stream)
    if body.tools is not UNSET:
        request.tools = decode_tools(body.tools, left) if body.tools is not None else None
        spelling |= {} if request.tools is not None else {"tools": None}
    if body.options is not UNSET:
        _decode_options(body.options, request, left, spelling)
    _decode_format(body.format, request, spelling)
    _decode_think(body.think, request, left, spelling)
    _decode_logprobs(body, request, spelling)
    if given(body.truncate):
        request.truncation = TRUNCATE_BACK[body.truncate]
    else:
        spelling["truncate"] = sent(body.truncate)
    for name in ("keep_alive", "shift", "debug_render_only"):
        if (value := getattr(body, name)) is not UNSET:
            left[name] = value
    for name, value in extras(body).items():
        # An option that stands where the server does not look for it is kept apart from those it reads.
        (left.setdefault("body", {}) if name in types.Options.__struct_fields__ else left)[name] = value
    request.leftovers = leftovers(WIRE, left, spelling)
    return request, lost


def _decode_options(options: types.Options | None, request: Request, left: Json, spelling: Json) -> None:
    if options is None:
        spelling["options"] = None
        return
    for theirs, ours in OPTIONS.items():
        value = getattr(options, theirs)
        setattr(request, ours, or_none(value))
        if value is None:
            left[theirs] = None
    limit = options.num_predict
    if given(limit) and (limit <= 0 or isinstance(limit, float)):
        # No limit, or something no Responses host would take.
        request.max_output_tokens = None
        (spelling if limit == -1 else left)["num_predict"] = limit
    declared = {name for name in types.Options.__struct_fields__ if name not in OPTIONS}
    found = rest(options, *OPTIONS)
    left.update((name, value) for name, value in found.items() if name in declared)
    unknown = {name: value for name, value in found.items() if name not in declared}
    if unknown:
        left["options"] = unknown
    if options == types.Options():
        spelling["options"] = {}


def _decode_format(asked: Any, request: Request, spelling: Json) -> None:
    match asked:
        case UnsetType():
            return
        case "":
            request.text = TextOptions(format=TextFormat())
        case "json":
            request.text = TextOptions(format=JsonObjectFormat())
        case dict():
            schema = as_object(asked)
            strict = strict_if_possible(schema)
            request.text = TextOptions(format=JsonSchemaFormat(name=SCHEMA_NAME, schema=schema, strict=strict))
        case _:
            spelling["format"] = asked
            if asked is not None:
                spelling[NEAR] = {"format": inexact(asked)}


def _decode_think(think: Any, request: Request, left: Json, spelling: Json) -> None:
    if think is True:
        request.reasoning = ReasoningOptions(summary="auto")
    elif think in THINK_BACK:
        request.reasoning = ReasoningOptions(effort=THINK_BACK[think])
    elif think is None:
        spelling["think"] = None
    elif think is not UNSET:
        left["think"] = think


def _decode_logprobs(body: types.Request, request: Request, spelling: Json) -> None:
    if body.logprobs:
        request.include = [LOGPROBS]
        request.top_logprobs = or_none(body.top_logprobs)
        return
    if body.logprobs is not UNSET:
        spelling["logprobs"] = body.logprobs
    if body.top_logprobs is not UNSET:
        # Without the switch the number does nothing.
        spelling["top_logprobs"] = body.top_logprobs
