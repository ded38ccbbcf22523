"""The request, both ways.

Options of the same meaning are one table; what needs a decision has a function with its counterpart below it. Before changing
this file, know that the server streams unless it is told not to and cuts a conversation that is too long without a word
unless it is told not to: so `stream` and `truncate` are always sent. `extra` is merged last. Follows Ollama's API reference
(read 2026-11-20).
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from msgspec import UNSET

from ...losses import Loss, Losses, no_such, not_in
from ...responses.closed import strict_if_possible
from ...responses.items import AdditionalTools, AnyItem
from ...responses.request import JsonObjectFormat, JsonSchemaFormat, Request, TextFormat, TextOptions, items_of
from ...unknown import Unknown, extras, given, or_none, or_unset, with_extras
from ...vendors.dialects import OllamaDialect
from .. import Route
from .._left import as_object, says
from .._pairing import paired
from ..kept import Rules, diff, own_leftovers, patch
from . import types
from .messages import decode_messages, encode_messages
from .reasoning import decode_effort, encode_effort
from .tools import Rewritings, choose, decode_tools, encode_tools
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

RULES = Rules(groups=frozenset({"options"}), defaults={"logprobs": False, "num_predict": -1}, words=frozenset({"type"}))

_options = attrgetter(*OPTIONS.values())
_NO_OPTIONS = (None,) * len(OPTIONS)
_rare = attrgetter(*REFUSED, *DROPPED)
_NOTHING_RARE = (None,) * (len(REFUSED) + len(DROPPED))


# --- the whole body -------------------------------------------------------------------------------------------------


def encode_request(request: Request, *, dialect: OllamaDialect = OLLAMA) -> tuple[types.Request, list[Loss]]:
    """The body to send for a request."""
    lost, rewritings = Losses(), Rewritings()
    left = own_leftovers(request, WIRE, "", lost, request)
    items = paired(items_of(request), lost)
    body, note = _encode_options(request, items, dialect, rewritings, lost)
    body.messages = encode_messages(request.instructions or "", items, note, dialect, lost)
    body = patch(body, left)
    if request.truncation in TRUNCATE:  # which is said, whatever the document left unsaid
        body.truncate = TRUNCATE[request.truncation]
    sent = [id(tool.function.parameters) for tool in body.tools or ()]
    lost += [loss for schema, found in rewritings if id(schema) in sent for loss in found]
    body = _with_extra(body, request.extra.get(WIRE) if request.extra else None)
    if not dialect.loads_models and given(body.options):
        _drop_loading(body.options, left, lost)
    return body, lost


def decode_request(
    body: types.Request, *, dialect: OllamaDialect = OLLAMA, model: str | None = None, keep: bool = True
) -> tuple[Request, list[Loss]]:
    """The request that a body asks for; `model` is used where it names none, and `keep` leaves what only this wire says."""
    lost = Losses()
    request = Request(model=model if body.model is UNSET else or_none(body.model))
    request.instructions, request.input = decode_messages(body.messages or (), dialect, lost, keep=keep)
    request.stream = body.stream is not False
    if given(body.truncate):
        request.truncation = TRUNCATE_BACK[body.truncate]
    if given(body.tools):
        request.tools = decode_tools(body.tools)
    if given(body.options):
        _decode_sampling(body.options, request)
    request.text = _decode_format(body.format)
    request.reasoning = decode_effort(body.think)
    if body.logprobs:
        request.include, request.top_logprobs = [LOGPROBS], or_none(body.top_logprobs)
    if keep:
        made, _ = _encode_options(request, (), dialect, Rewritings(), Losses())
        made.messages = body.messages or []
        made.model = body.model if body.model is UNSET else made.model
        if left := diff(body, made, RULES):
            request.leftovers = {WIRE: left}
    return request, lost


def route(request: Request, *, dialect: OllamaDialect = OLLAMA, stream: bool = False) -> Route:
    """Where the request goes. Streaming is asked for in the body, not in the URL."""
    return Route(dialect.path)


# --- options --------------------------------------------------------------------------------------------------------


def _encode_options(
    request: Request, items: Sequence[AnyItem], dialect: OllamaDialect, rewritings: Rewritings, lost: Losses
) -> tuple[types.Request, str]:
    """The body but for its messages, and a word to the model."""
    body = types.Request(
        model=or_unset(request.model),
        stream=bool(request.stream),
        truncate=TRUNCATE.get(request.truncation or "", False),
    )
    note = _encode_tools(request, items, body, rewritings, lost)
    if _options(request) != _NO_OPTIONS:
        body.options = _encode_sampling(request)
    if given(request.text):
        _encode_text(request.text, body, lost)
    if given(request.reasoning):
        for name in ("generate_summary", "context", "mode"):
            if given(getattr(request.reasoning, name)):
                lost.dropped(f"reasoning.{name}", no_such("option", "Ollama"))
        body.think = encode_effort(request.reasoning, dialect, lost)
    _encode_logprobs(request, body, lost)
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
    return body, note


def _encode_tools(
    request: Request, items: Sequence[AnyItem], body: types.Request, rewritings: Rewritings, lost: Losses
) -> str:
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
    tools, note = choose(or_unset(request.tool_choice), encode_tools(offered, rewritings, lost), lost)
    if tools:
        body.tools = tools
        if given(request.text) and isinstance(request.text.format, JsonSchemaFormat | JsonObjectFormat):
            lost.changed("text.format", "a format beside tools: the server's grammar may keep the model from calling")
    return note if tools else ""


def _encode_sampling(request: Request) -> types.Options:
    said: tuple[Any, ...] = _options(request)
    options = types.Options(**{name: value for name, value in zip(OPTIONS, said, strict=True) if value is not None})
    if isinstance(request.stop, str):
        options.stop = [request.stop]
    return options


def _decode_sampling(options: types.Options, request: Request) -> None:
    for theirs, ours in OPTIONS.items():
        setattr(request, ours, or_none(getattr(options, theirs)))
    limit = options.num_predict
    if given(limit) and (limit <= 0 or isinstance(limit, float)):
        # No limit, or something no Responses host would take.
        request.max_output_tokens = None


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


def _decode_format(asked: Any) -> TextOptions | None:
    match asked:
        case "":
            return TextOptions(format=TextFormat())
        case "json":
            return TextOptions(format=JsonObjectFormat())
        case dict():
            schema = as_object(asked)
            strict = strict_if_possible(schema)
            return TextOptions(format=JsonSchemaFormat(name=SCHEMA_NAME, schema=schema, strict=strict))
        case _:
            return None


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


def _drop_loading(options: types.Options, left: Json, lost: Losses) -> None:
    for name in LOADING:
        if given(getattr(options, name)):
            setattr(options, name, UNSET)
            path = f"options.{name}" if name in as_object(left.get("options")) else f"extra.{WIRE}.options.{name}"
            lost.dropped(path, "an option of loading a model, which this host does not take")


def _with_extra(body: Any, extra: Json | None) -> Any:
    """The body with the caller's own additions, which win; those below `options` stand beside the others there."""
    unknown: Json = {}
    for name, value in (extra or {}).items():
        if name == "options" and isinstance(value, dict):
            value = _with_extra(body.options if given(body.options) else types.Options(), as_object(value))
        if name in body.__struct_fields__:
            setattr(body, name, value)
        else:
            unknown[name] = value
    return with_extras(body, {**extras(body), **unknown}) if unknown else body


# --- beside answering -----------------------------------------------------------------------------------------------


def chat_request(asked: types.Generate) -> types.Request:
    """The request of `/api/chat` that asks the same. It has no place for `suffix`, `template` and `context`."""
    request = types.Request(**{name: getattr(asked, name) for name in types.Request.__struct_fields__})
    request.messages = []
    if asked.prompt or asked.images:
        if asked.system and not asked.raw:
            request.messages.append(types.Message(role="system", content=asked.system))
        request.messages.append(types.Message(role="user", content=asked.prompt or "", images=asked.images))
    return with_extras(request, extras(asked))


def models_route(*, dialect: OllamaDialect = OLLAMA) -> Route:
    """Where the models are listed."""
    return Route(_beside(dialect, "tags"), method="GET")


def show_route(*, dialect: OllamaDialect = OLLAMA) -> Route:
    """Where a model is described; the body is a `ShowRequest`."""
    return Route(_beside(dialect, "show"))


def _beside(dialect: OllamaDialect, name: str) -> str:
    return f"{dialect.path.rpartition('/')[0]}/{name}"
