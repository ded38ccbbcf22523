"""Conversion of the request, both ways.

Options of the same meaning are one table; any other has a function with its counterpart near it. Hosts have several
fields of one meaning: all are decoded to one, and the field of the document is noted (`USED`). If a host lacks an
output format, the nearest one is requested and the rest is added to the instructions. Before changing this file, know
that options which the host does not support (`dialect.lacks`) are left out, whatever their origin, and that `extra` is
merged last. Follows the request parameters of the Chat Completions reference and of the hosts (read 2026-11-20).
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from ... import responses as ours
from ...errors import DecodeError
from ...losses import Loss, Losses
from ...responses.carriers import NEAR, SPELLING, own
from ...responses.request import items_of
from ...unknown import Open, Opt, Unknown, as_list, as_object, convert, given, or_none, or_unset, with_extras
from ...vendors.dialects import CHAT_HOSTS, ChatDialect
from .. import Route, with_model
from ..call_ids import paired
from ..kept import Rules, diff, note, own_leftovers, patch, report_misfits, with_options
from ..leftovers import as_plain, is_object
from ..options import ENCRYPTED, JSON_ONLY, LOGPROBS, asks_for_logprobs, report_include, report_missing, with_extra
from ..prefix import EncodedPrefix, encoded_turns
from ..tools import Added, Naming, added_tools, qualified, sent_name
from . import types
from .content import fit_lifetime, foreign, native, unlimited
from .hosts import host_leftovers, with_host
from .messages import MessageWriter, decode_messages
from .reasoning import decode_effort, encode_effort
from .tools import decode_offer, encode_offer
from .types import FUNCTIONS, USED, WIRE, Json

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["OPENAI", "decode_request", "encode_request", "route"]

Format = Open[ours.TextFormat | ours.JsonSchemaFormat | ours.JsonObjectFormat]

OPENAI = CHAT_HOSTS["openai"]

ANY_NAME = "answer"
"""The name of a schema without one, which this wire requires."""

OPTIONS = (
    "model temperature top_p frequency_penalty presence_penalty stop stream service_tier prompt_cache_key "
    "prompt_cache_retention safety_identifier user moderation top_k"
).split()
"""Options with the same name and values in both formats."""

LIMITS = (
    ("max_output_tokens", "max_tokens_field", ("max_completion_tokens", "max_tokens")),
    ("seed", "seed_field", ("seed", "random_seed")),
)
"""Numbers of Responses, the fact with the host's field for each, and the fields that hosts have."""

TIERS = ("auto", "default", "flex", "scale", "priority", "fast", "ultrafast")
"""The service tiers of Responses; hosts have others of their own."""

REFUSED = ("previous_response_id", "conversation", "prompt", "background", "context_management", "truncation")
"""Options without which the answer would be about something else."""

DROPPED = (
    *("max_tool_calls", "store", "image", "access_programs", "background_options"),
    *("reasoning.generate_summary", "reasoning.context", "reasoning.mode"),
    *("prompt_cache_options.prewarm", "prompt_cache_options.comparison_response_id"),
)
"""Options without which the answer is the same in kind."""

NAMED = {
    "max_completion_tokens": "max_output_tokens",
    "max_tokens": "max_output_tokens",
    "reasoning_effort": "reasoning.effort",
    "verbosity": "text.verbosity",
    "response_format": "text.format",
    "logprobs": "include",
    "random_seed": "seed",
    "web_search_options": "tools",
}
"""The caller's name for a field of the body, if it is another."""

STORED = "answers are kept for evaluations and training at OpenAI, which is another option than `store` of Responses"
RULES = Rules(defaults={"tools": [], "strict": False, "n": 1, "store": False}, words=frozenset({"type"}))
WITHOUT_TOOLS = replace(RULES, defaults={**RULES.defaults, "parallel_tool_calls": ...})
"""Without tools, the option of parallel calls has no effect."""

_same = attrgetter(*OPTIONS)


def wants_function_call(request: ours.Request | None) -> bool:
    """Whether a client offered its tools in the legacy form, and so expects a call in that form."""
    return (
        FUNCTIONS in used_fields(own(request.leftovers, WIRE)) if request is not None and request.leftovers else False
    )


def used_fields(left: Json) -> list[str]:
    """The fields that a document used, where several have one meaning and it is not the host's usual one."""
    return str(as_object(left.get(SPELLING)).get(USED, "")).split()


# --- the whole body -------------------------------------------------------------------------------------------------


def encode_request(
    request: ours.Request, *, dialect: ChatDialect = OPENAI, prefix: EncodedPrefix | None = None
) -> tuple[types.Request, list[Loss]]:
    """The body for a request."""
    lost = Losses()
    left = host_leftovers(own_leftovers(request, WIRE, "", lost, request), dialect.issuer, "", lost)
    used = used_fields(left)
    turns = encoded_turns(prefix, request, dialect, WIRE)
    items = paired(items_of(request), lost, turns.count)
    body, note = _encode_options(request, added_tools(items, turns.count), used, dialect, lost)
    stores = as_list(as_object(left.get(SPELLING)).get("store"))[:1] == ["true"]
    if given(body.metadata) and dialect.metadata_needs_store and not (stores or "metadata" in used):
        body.metadata = UNSET
        lost.dropped("metadata", "metadata of an answer that is not stored")
    kind = types.DeveloperMessage if dialect.system_role == "developer" else types.SystemMessage
    instructions = [request.instructions] if request.instructions is not None else []
    body.messages = [kind(content=text) for text in (*instructions, *([note] if note else []))]
    body.messages += turns.encode(items, MessageWriter(items, dialect, lost), lost)
    misfits: list[str] = []
    body = patch(body, left, misfits)
    report_misfits(request, left, misfits, lost)
    for name in dialect.lacks:
        value = getattr(body, name, UNSET)
        if value is not UNSET:
            setattr(body, name, UNSET)
            if value is not None:
                path = name if name in left else NAMED.get(name, name)
                lost.dropped(path, f"{name}, which this host does not support")
    return with_extra(body, request.extra.get(WIRE) if request.extra else None, WIRE, lost), lost


def decode_request(
    body: types.Request, *, dialect: ChatDialect = OPENAI, model: str | None = None, keep: bool = True
) -> tuple[ours.Request, list[Loss]]:
    """The request for a body; `model` is used if the body has none, and `keep` preserves data of this wire alone."""
    lost = Losses()
    # The default of `store` is false here, and true at a Responses host.
    request = ours.Request(store=False, **{name: or_none(getattr(body, name)) for name in OPTIONS})
    if request.service_tier is not None and request.service_tier not in TIERS:
        request.service_tier = None
    if request.model is None:
        request.model = model
    used = _decode_limits(body, request, dialect)
    refused = decode_offer(body, request, lost)
    used += ["web_search_options"] if body.web_search_options else []
    used += [FUNCTIONS] if body.functions and not body.tools else []
    request.text = _decode_text(body)
    request.reasoning, field = decode_effort(body, dialect)
    used += ["metadata"] if body.metadata else []
    used += [field] if field and field != dialect.effort_field else []
    _decode_logprobs(body, request, dialect)
    if given(body.stream_options) and body.stream_options.include_obfuscation is not UNSET:
        request.stream_options = ours.StreamOptions(include_obfuscation=body.stream_options.include_obfuscation)
    request.metadata = or_none(body.metadata)
    if given(caching := body.prompt_cache_options):
        request.prompt_cache_options = ours.CacheOptions(mode=or_none(caching.mode), ttl=or_none(caching.ttl))
    if keep:
        made, _ = _encode_options(request, [], used, unlimited(dialect), Losses(), qualified)
        made.messages = body.messages
        if body.functions and body.tools:  # which are re-encoded as tools
            body = replace(body, functions=UNSET, function_call=UNSET, tools=made.tools, tool_choice=made.tool_choice)
        made.model = body.model if body.model is UNSET else made.model
        for i in refused:
            as_list(made.tools).insert(i, None)
        left = diff(body, made, RULES if body.tools or body.functions else WITHOUT_TOOLS)
        notes = as_object(left.get(SPELLING))
        if left.pop("store", None):  # which is another option than ours of that name
            notes |= {"store": note(True, UNSET), NEAR: {**notes.get(NEAR, {}), "store": STORED}}
        if used:
            notes[USED] = " ".join(used)
        if notes:
            left[SPELLING] = notes
        if left:
            request.leftovers = {WIRE: with_host(with_options(left, request), dialect.issuer)}
    _decode_messages(body, request, dialect, lost, keep=keep)
    return request, lost


def route(
    request: ours.Request, *, dialect: ChatDialect = OPENAI, stream: bool = False, prefix: EncodedPrefix | None = None
) -> Route:
    """The route of a request. Streaming is an option of the body, not of the URL."""
    return Route(with_model(dialect.path, request))


def _decode_messages(
    body: types.Request, request: ours.Request, dialect: ChatDialect, lost: Losses, *, keep: bool
) -> None:
    items = decode_messages(body.messages, dialect, lost, keep=keep)
    first = items[0] if items else None
    leads = sum(isinstance(message, types.SystemMessage | types.DeveloperMessage) for message in body.messages)
    plain = isinstance(first, ours.Message) and first.role == dialect.system_role and first.leftovers is None
    if leads == 1 and plain and isinstance(first, ours.Message) and isinstance(first.content, str):
        request.instructions, items = first.content, items[1:]
    request.input = items


# --- options --------------------------------------------------------------------------------------------------------


def _encode_options(
    request: ours.Request,
    added: Added,
    used: Sequence[str],
    dialect: ChatDialect,
    lost: Losses,
    naming: Naming = sent_name,
) -> tuple[types.Request, str]:
    """The body without its messages, and an instruction to the model."""
    values: tuple[Any, ...] = _same(request)
    body = types.Request(
        **{name: value for name, value in zip(OPTIONS, values, strict=True) if value is not None}, messages=[]
    )
    for our, fact, fields in LIMITS:
        field = next((name for name in fields if name in used), getattr(dialect, fact))
        setattr(body, field, or_unset(getattr(request, our)))
    notes = [encode_offer(request, added, body, used, dialect, lost, naming)]
    if request.text is not None:
        body.verbosity = or_unset(request.text.verbosity)
        body.response_format, note = _encode_format(or_unset(request.text.format), dialect, lost)
        notes.append(note)
    if request.reasoning is not None:
        encode_effort(request.reasoning, body, used, dialect, lost)
    _encode_logprobs(request, body, dialect, lost)
    body.stream_options = _encode_stream_options(request, dialect, lost)
    body.metadata = or_unset(request.metadata)
    if given(caching := request.prompt_cache_options):
        ttl = fit_lifetime(or_unset(caching.ttl), dialect, "prompt_cache_options.ttl", lost)
        body.prompt_cache_options = types.CacheOptions(mode=or_unset(caching.mode), ttl=ttl)
    report_missing(request, WIRE, lost, refused=REFUSED, dropped=DROPPED)
    return body, "\n\n".join(filter(None, notes))


def _decode_limits(body: types.Request, request: ours.Request, dialect: ChatDialect) -> list[str]:
    """Decode the numbers, from the host's own field first; returns their fields, if not the usual ones."""
    used: list[str] = []
    for our, fact, fields in LIMITS:
        usual = getattr(dialect, fact)
        found = next((name for name in (usual, *fields) if given(getattr(body, name))), usual)
        setattr(request, our, or_none(getattr(body, found)))
        used += [found] if found != usual else []
    return used


def _encode_format(format: Opt[Format], dialect: ChatDialect, lost: Losses) -> tuple[Opt[types.ResponseFormat], str]:
    takes = dialect.formats
    match format:
        case None | UnsetType():
            return format, ""
        case ours.JsonSchemaFormat() if "json_schema" in takes:
            schema = types.JsonSchema(
                name=format.name if given(format.name) else ANY_NAME,
                schema=or_unset(format.schema),
                description=or_unset(format.description),
                strict=or_unset(format.strict),
            )
            return types.ResponseFormat(type="json_schema", json_schema=schema), ""
        case ours.TextFormat() | ours.JsonObjectFormat() if (kind := str(format.__struct_config__.tag)) in takes:
            return types.ResponseFormat(type=kind), ""
        case ours.TextFormat():
            return UNSET, ""
        case ours.JsonSchemaFormat():
            lost.emulated("text.format", "a schema, which is added to the instructions")
            made = types.ResponseFormat(type="json_object") if "json_object" in takes else UNSET
            text = msgspec.json.encode(format.schema or {}).decode()
            return made, f"{JSON_ONLY} It has to fit this JSON Schema:\n{text}"
        case ours.JsonObjectFormat():
            lost.emulated("text.format", "any JSON object, requested in another way")
            if "json_schema" not in takes:
                return UNSET, JSON_ONLY
            schema = types.JsonSchema(name=ANY_NAME, schema={"type": "object"})
            return types.ResponseFormat(type="json_schema", json_schema=schema), ""
        case Unknown():
            if is_object(original := native(format)):
                declared = {name: original[name] for name in ("type", "json_schema") if name in original}
                others = {name: value for name, value in original.items() if name not in declared}
                try:
                    return with_extras(convert(declared, types.ResponseFormat), others), ""
                except (msgspec.ValidationError, DecodeError):
                    pass
            lost.refused("text.format", f"the format {format.kind!r}")
            return UNSET, ""


def _decode_text(body: types.Request) -> ours.TextOptions | None:
    """Decode the output format and the verbosity."""
    format = body.response_format
    form: Format | None = None
    if given(format):
        schema = format.json_schema
        if format.type == "text":
            form = ours.TextFormat()
        elif format.type == "json_object":
            form = ours.JsonObjectFormat()
        elif format.type == "json_schema" and given(schema):
            form = ours.JsonSchemaFormat(
                name=or_none(schema.name),
                schema=or_none(schema.schema),
                description=or_none(schema.description),
                strict=or_none(schema.strict),
            )
        else:
            form = foreign(as_plain(format))
    return ours.TextOptions(format=form, verbosity=or_none(body.verbosity)) if form or given(body.verbosity) else None


def _encode_logprobs(request: ours.Request, body: types.Request, dialect: ChatDialect, lost: Losses) -> None:
    count = request.top_logprobs
    if asks_for_logprobs(request, lost):
        body.logprobs = (count or 1) if dialect.counts_logprobs else True
    if not dialect.counts_logprobs:
        body.top_logprobs = or_unset(count)
    # Opaque reasoning is always in envelopes here.
    report_include(request, (LOGPROBS, ENCRYPTED), WIRE, lost)


def _decode_logprobs(body: types.Request, request: ours.Request, dialect: ChatDialect) -> None:
    logprobs, count = body.logprobs, body.top_logprobs
    if dialect.counts_logprobs and isinstance(logprobs, int) and not isinstance(logprobs, bool):
        request.include, request.top_logprobs = [LOGPROBS], logprobs
    elif logprobs is True:
        request.include, request.top_logprobs = [LOGPROBS], or_none(count)


def _encode_stream_options(request: ours.Request, dialect: ChatDialect, lost: Losses) -> Opt[types.StreamOptions]:
    """Set `stream_options`: token usage, which a Responses host always sends, and padding if it is requested."""
    options: Opt[types.StreamOptions] = UNSET
    if request.stream and "stream_options" not in dialect.lacks:
        options = types.StreamOptions(include_usage=True)
    if request.stream_options is not None:
        obfuscation = request.stream_options.include_obfuscation
        if given(options) and "include_obfuscation" not in dialect.lacks:
            options.include_obfuscation = or_unset(obfuscation)
        elif obfuscation:
            lost.dropped("stream_options.include_obfuscation", "padding of the stream")
    return options


def wants_usage(request: ours.Request | None) -> bool:
    """Whether the client requested streamed token usage, which this wire sends only then."""
    left = own(request.leftovers, WIRE) if request is not None else {}
    if request is None or not request.stream or not left:  # no document that excludes them
        return True
    made = types.Request(stream_options=_encode_stream_options(request, unlimited(OPENAI), Losses()), messages=[])
    notes = {"stream_options": as_object(left.get(SPELLING)).get("stream_options")}
    options = patch(made, {"stream_options": left.get("stream_options"), SPELLING: notes}).stream_options
    return bool(given(options) and options.include_usage)
