"""Conversion of the request, both ways.

Options of the same meaning are one table; any other has a function with its counterpart below it. Before changing this
file, know that the server streams, and truncates a conversation that is too long without an error, unless the request
disables that: so `stream` and `truncate` are always sent. `extra` is merged last. Follows Ollama's API reference (read
2026-11-20).
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from ... import responses as ours
from ...losses import Loss, Losses, no_such
from ...responses.request import items_of
from ...responses.tools import strict_if_possible
from ...unknown import Unknown, as_object, extras, given, or_none, or_unset, with_extras
from ...vendors.dialects import OllamaDialect
from .. import Route
from ..call_ids import paired
from ..kept import Rules, diff, own_leftovers, patch, report_misfits, with_options
from ..options import (
    ENCRYPTED,
    LOGPROBS,
    asks_for_logprobs,
    decode_same,
    encode_same,
    report_format,
    report_include,
    report_missing,
    schema_format,
    with_extra,
)
from ..prefix import EncodedPrefix, encoded_turns
from ..tools import Added, added_tools, choose, offered_tools
from . import types
from .messages import MessageWriter, decode_messages
from .reasoning import decode_effort, encode_effort
from .tools import Rewritings, decode_tools, encode_tools, name_of
from .types import LOADING, WIRE, Json

__all__ = ["OLLAMA", "chat_request", "decode_request", "encode_request", "models_route", "route", "show_route"]

OLLAMA = OllamaDialect()

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
"""Options that Responses has too, those of Ollama on the left."""

TRUNCATE = {"auto": True, "disabled": False}
"""Whether a conversation that is too long is truncated, ours on the left."""
TRUNCATE_BACK = {theirs: our for our, theirs in TRUNCATE.items()}

REFUSED = ("previous_response_id", "conversation", "prompt", "background", "context_management")
"""Options without which the answer would be about something else."""

DROPPED = (
    *("max_tool_calls", "metadata", "store", "service_tier", "prompt_cache_key", "prompt_cache_options"),
    *("prompt_cache_retention", "safety_identifier", "user", "moderation", "image", "access_programs"),
    *("background_options", "reasoning.generate_summary", "reasoning.context", "reasoning.mode", "text.verbosity"),
    *("text.format.description", "stream_options.include_obfuscation"),
)
"""Options without which the answer is the same in kind."""

RULES = Rules(groups=frozenset({"options"}), defaults={"logprobs": False, "num_predict": -1}, words=frozenset({"type"}))


# --- the whole body -------------------------------------------------------------------------------------------------


def encode_request(
    request: ours.Request, *, dialect: OllamaDialect = OLLAMA, prefix: EncodedPrefix | None = None
) -> tuple[types.Request, list[Loss]]:
    """The body for a request."""
    lost, rewritings = Losses(), Rewritings()
    left = own_leftovers(request, WIRE, "", lost, request)
    turns = encoded_turns(prefix, request, dialect, WIRE)
    items = paired(items_of(request), lost, turns.count)
    body, note = _encode_options(request, added_tools(items, turns.count), dialect, rewritings, lost)
    writer = MessageWriter(request.instructions or "", items, note, dialect, lost)
    body.messages = turns.encode(items, writer, lost)
    misfits: list[str] = []
    body = patch(body, left, misfits)
    report_misfits(request, left, misfits, lost)
    if request.truncation in TRUNCATE:  # which is always sent, also where the document had none
        body.truncate = TRUNCATE[request.truncation]
    sent = [id(tool.function.parameters) for tool in body.tools or ()]
    lost += [loss for schema, found in rewritings if id(schema) in sent for loss in found]
    body = _with_extra(body, request.extra.get(WIRE) if request.extra else None, lost)
    if not dialect.loads_models and given(body.options):
        _drop_loading(body.options, left, lost)
    return body, lost


def decode_request(
    body: types.Request, *, dialect: OllamaDialect = OLLAMA, model: str | None = None, keep: bool = True
) -> tuple[ours.Request, list[Loss]]:
    """The request for a body; `model` is used if the body has none, and `keep` preserves data of this wire alone."""
    lost = Losses()
    request = ours.Request(model=model if body.model is UNSET else or_none(body.model))
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
        made, _ = _encode_options(request, [], dialect, Rewritings(), Losses())
        made.messages = body.messages or []
        made.model = body.model if body.model is UNSET else made.model
        if left := diff(body, made, RULES):
            request.leftovers = {WIRE: with_options(left, request)}
    return request, lost


def route(
    request: ours.Request, *, dialect: OllamaDialect = OLLAMA, stream: bool = False, prefix: EncodedPrefix | None = None
) -> Route:
    """The route of a request. Streaming is an option of the body, not of the URL."""
    return Route(dialect.path)


# --- options --------------------------------------------------------------------------------------------------------


def _encode_options(
    request: ours.Request, added: Added, dialect: OllamaDialect, rewritings: Rewritings, lost: Losses
) -> tuple[types.Request, str]:
    """The body without its messages, and an instruction to the model."""
    body = types.Request(
        model=or_unset(request.model),
        stream=bool(request.stream),
        truncate=TRUNCATE.get(request.truncation or "", False),
    )
    note = _encode_tools(request, added, body, rewritings, lost)
    if sampling := encode_same(request, OPTIONS):
        body.options = types.Options(**sampling)
        if isinstance(request.stop, str):
            body.options.stop = [request.stop]
    if request.text is not None:
        _encode_text(request.text, body, lost)
    if request.reasoning is not None:
        body.think = encode_effort(request.reasoning, dialect, lost)
    _encode_logprobs(request, body, lost)
    report_missing(request, WIRE, lost, refused=REFUSED, dropped=DROPPED)
    if request.truncation is not None and request.truncation not in TRUNCATE:
        lost.dropped("truncation", f"{request.truncation!r}; a conversation that is too long is rejected")
    return body, note


def _encode_tools(
    request: ours.Request, added: Added, body: types.Request, rewritings: Rewritings, lost: Losses
) -> str:
    """Set the tools; returns an instruction to the model about them."""
    if request.parallel_tool_calls is False:
        lost.dropped("parallel_tool_calls", no_such("option", "Ollama"))
    offered = offered_tools(request, added, lost)
    if not offered:
        body.tools = [] if request.tools == [] else UNSET
        if request.tool_choice is not None and request.tool_choice != "auto":
            lost.dropped("tool_choice", "a choice among no tools")
        return ""
    made = encode_tools(offered, rewritings, lost)
    chosen = choose(request.tool_choice, made, name_of, WIRE, lost)
    if chosen.tools:
        body.tools = chosen.tools
        if request.text is not None and isinstance(request.text.format, ours.JsonSchemaFormat | ours.JsonObjectFormat):
            lost.changed("text.format", "a format beside tools: the server's grammar may keep the model from calling")
    return chosen.note if chosen.tools else ""


def _decode_sampling(options: types.Options, request: ours.Request) -> None:
    decode_same(options, OPTIONS, request)
    limit = options.num_predict
    if given(limit) and (limit <= 0 or isinstance(limit, float)):
        # No limit, or a value that no Responses host supports.
        request.max_output_tokens = None


def _encode_text(text: ours.TextOptions, body: types.Request, lost: Losses) -> None:
    report_format(text, WIRE, lost)
    match text.format:
        case ours.TextFormat():
            body.format = ""
        case ours.JsonObjectFormat():
            body.format = "json"
        case ours.JsonSchemaFormat(schema=schema):
            body.format = schema if given(schema) else "json"
            if not given(schema):
                lost.changed("text.format", "a schema that is missing; any JSON is requested")
        case Unknown():
            pass
        case nothing:
            body.format = or_unset(nothing)


def _decode_format(format: Any) -> ours.TextOptions | None:
    match format:
        case "":
            return ours.TextOptions(format=ours.TextFormat())
        case "json":
            return ours.TextOptions(format=ours.JsonObjectFormat())
        case dict():
            schema = as_object(format)
            return ours.TextOptions(format=schema_format(schema, strict=strict_if_possible(schema)))
        case _:
            return None


def _encode_logprobs(request: ours.Request, body: types.Request, lost: Losses) -> None:
    if asks_for_logprobs(request, lost):
        body.logprobs = True
    body.top_logprobs = or_unset(request.top_logprobs)
    report_include(request, (LOGPROBS, ENCRYPTED), WIRE, lost)


def _drop_loading(options: types.Options, left: Json, lost: Losses) -> None:
    for name in LOADING:
        if given(getattr(options, name)):
            setattr(options, name, UNSET)
            path = f"options.{name}" if name in as_object(left.get("options")) else f"extra.{WIRE}.options.{name}"
            lost.dropped(path, "an option of loading a model, which this host does not support")


def _with_extra(body: types.Request, extra: Json | None, lost: Losses) -> types.Request:
    """The body with the caller's additions; those below `options` are merged with the others there."""
    if extra and isinstance(extra.get("options"), dict):
        options = with_extra(or_none(body.options) or types.Options(), extra["options"], WIRE, lost)
        extra = {**extra, "options": options}
    return with_extra(body, extra, WIRE, lost)


# --- other endpoints ------------------------------------------------------------------------------------------------


def chat_request(generate: types.Generate) -> types.Request:
    """The equivalent request of `/api/chat`, which has no `suffix`, `template` and `context`."""
    request = types.Request(**{name: getattr(generate, name) for name in types.Request.__struct_fields__})
    request.messages = []
    if generate.prompt or generate.images:
        if generate.system and not generate.raw:
            request.messages.append(types.Message(role="system", content=generate.system))
        request.messages.append(types.Message(role="user", content=generate.prompt or "", images=generate.images))
    return with_extras(request, extras(generate))


def models_route(*, dialect: OllamaDialect = OLLAMA) -> Route:
    """The route of the list of models."""
    return Route(_beside(dialect, "tags"), method="GET")


def show_route(*, dialect: OllamaDialect = OLLAMA) -> Route:
    """The route of a model's description; the body is a `ShowRequest`."""
    return Route(_beside(dialect, "show"))


def _beside(dialect: OllamaDialect, name: str) -> str:
    return f"{dialect.path.rpartition('/')[0]}/{name}"
