"""The request, both ways.

Options of the same meaning are one table; what needs a decision has a function with its counterpart below it. Before changing
this file, know that a field of the document that Responses has no word for is a leftover and comes back on this wire, that
what the host does not take (`dialect.lacks`) stays behind whoever said it, and that `extra` is merged last. Follows the
request parameters of the Chat Completions reference (read 2026-11-20).

Options that the two formats spell differently, each both ways: limits, formats, efforts, log probabilities, streaming.

Before changing this file, know that hosts write one meaning in several fields: what a document said is read into one, and the
field it stood in is noted, so that the same document comes out again. Where a host lacks a form of answer, the nearest it
has is asked for and the model is told the rest in words. Follows the Chat Completions reference and those of the hosts (read
2026-11-20).
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec
from msgspec import UNSET, UnsetType

from ...errors import DecodeError
from ...losses import Loss, Losses, no_such, not_in
from ...responses import request as rr
from ...responses.items import AnyItem, Message
from ...responses.leftovers import SPELLING, own, report_foreign
from ...responses.request import CacheOptions, Request
from ...unknown import Open, Opt, Unknown, extras, given, or_none, or_unset, with_extras
from ...vendors.dialects import CHAT_HOSTS, ChatDialect
from .. import Route
from .._left import Rest, absent, beyond, is_object, notes, nulls, put_back, report_unknown, says, sent
from .._pairing import paired
from . import types
from .content import fit_lifetime, foreign, native
from .messages import decode_messages, encode_messages
from .tools import decode_offer, encode_offer
from .types import WIRE, Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...vendors.dialects import ChatDialect

OPENAI = CHAT_HOSTS["openai"]

SAME = (
    "model",
    "temperature",
    "top_p",
    "frequency_penalty",
    "presence_penalty",
    "stop",
    "stream",
    "service_tier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "user",
    "moderation",
    "top_k",
)
"""Options that both formats spell alike."""

TIERS = ("auto", "default", "flex", "scale", "priority", "fast", "ultrafast")
"""The service tiers that Responses knows; hosts have others of their own."""

REFUSED = {
    "previous_response_id": "Chat Completions keeps nothing between calls; send the conversation itself",
    "conversation": "a conversation kept by the vendor",
    "prompt": "a prompt kept by the vendor",
    "background": "an answer in the background",
    "context_management": "compaction by the vendor",
}
"""Options without which the answer would be about something else."""

DROPPED = {
    "max_tool_calls": "a limit of the vendor's tool calls",
    "store": "that the answer is stored, which here means to be kept for training",
    "image": "options of image generation",
    "access_programs": "access programs",
    "background_options": "how soon an answer in the background is needed",
}
"""Options without which the answer is the same in kind."""

_REST = Rest(
    types.Request,
    *SAME,
    *("messages", "max_completion_tokens", "max_tokens", "seed", "random_seed", "logprobs", "top_logprobs"),
    *("stream_options", "tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"),
    *("response_format", "reasoning_effort", "reasoning", "verbosity", "web_search_options", "prompt_cache_options"),
)
"""Options of this wire and its hosts that Responses has no word for, or, as `metadata`, another meaning."""

_NULLABLE = (*SAME, "response_format", "verbosity", "parallel_tool_calls", "metadata", "reasoning_effort")

_refused = attrgetter(*REFUSED)
_NOTHING_REFUSED = (None,) * len(REFUSED)


# --- Responses -> Chat ----------------------------------------------------------------------------------------------


def encode_request(request: Request, *, dialect: ChatDialect = OPENAI) -> tuple[types.Request, list[Loss]]:
    """The body to send for a request."""
    lost = Losses()
    left = own(request.leftovers, WIRE)
    spelling = notes(left)
    body = types.Request(**{name: or_unset(getattr(request, name)) for name in SAME}, messages=[])
    said = request.input
    items: Sequence[AnyItem] = (
        (Message(role="user", content=said),) if isinstance(said, str) else paired(said or [], lost)
    )
    body.n = spelling.get("n", UNSET)
    encode_limits(request, body, spelling, dialect)
    encode_offer(request, items, body, left, dialect, lost)
    note = encode_text(request, body, dialect, lost)
    encode_effort(request, body, spelling, dialect, lost)
    encode_logprobs(request, body, dialect, lost)
    encode_stream(request, body, spelling, dialect, lost)
    _encode_rest(request, body, left, dialect, lost)
    kind = types.DeveloperMessage if dialect.system_role == "developer" else types.SystemMessage
    told = [request.instructions] if given(request.instructions) else []
    body.messages = [kind(content=text) for text in (*told, *([note] if note else []))]
    body.messages += encode_messages(items, dialect, lost)
    if left:
        body = put_back(body, {name: value for name, value in left.items() if name != "tools"})
    _leave_behind(request, body, dialect, lost)
    return _with_extra(request, body, lost), lost


def _encode_rest(request: Request, body: types.Request, left: Json, dialect: ChatDialect, lost: Losses) -> None:
    if _refused(request) != _NOTHING_REFUSED:
        for name, what in REFUSED.items():
            if says(getattr(request, name)):
                lost.refused(name, what)
    for name, what in DROPPED.items():
        if says(getattr(request, name)):
            lost.dropped(name, what)
    if request.truncation == "auto":
        lost.refused("truncation", "Chat Completions does not shorten a conversation to fit")
    if given(request.metadata):
        if dialect.metadata_needs_store and not left.get("store") and "metadata" not in left:
            lost.dropped("metadata", "metadata of an answer that is not stored")
        else:
            body.metadata = request.metadata
    if given(request.prompt_cache_options):
        options = request.prompt_cache_options
        ttl = fit_lifetime(or_unset(options.ttl), dialect, "prompt_cache_options.ttl", lost)
        body.prompt_cache_options = types.CacheOptions(mode=or_unset(options.mode), ttl=ttl)
        for name in ("prewarm", "comparison_response_id"):
            if given(getattr(options, name)):
                lost.dropped(f"prompt_cache_options.{name}", no_such("option", "Chat Completions"))
    report_unknown(request, "", lost)
    report_foreign(request.leftovers, WIRE, "", lost, request)


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
"""How the caller calls a field of the body, where that is another name."""


def _leave_behind(request: Request, body: types.Request, dialect: ChatDialect, lost: Losses) -> None:
    left = own(request.leftovers, WIRE)
    for name in dialect.lacks:
        value = getattr(body, name, UNSET)
        if value is UNSET:
            continue
        setattr(body, name, UNSET)
        if value is not None:
            path = name if name in left else NAMED.get(name, name)
            lost.dropped(path, f"{name}, which this host does not take")


def _with_extra(request: Request, body: types.Request, lost: Losses) -> types.Request:
    """The body with the caller's own additions, which win."""
    extra = request.extra.get(WIRE) if request.extra else None
    if not extra:
        return body
    unknown = {name: value for name, value in extra.items() if name not in types.Request.__struct_fields__}
    for name, value in extra.items():
        if name not in unknown:
            setattr(body, name, value)
    try:
        return with_extras(body, {**extras(body), **unknown})
    except DecodeError as problem:
        lost.refused(f"extra.{WIRE}", problem.message)
        return body


def route(request: Request, *, dialect: ChatDialect = OPENAI, stream: bool = False) -> Route:
    """Where the request goes. Streaming is asked for in the body, not in the URL."""
    return Route(dialect.path.replace("{model}", quote(request.model or "", safe="")))


# --- Chat -> Responses ----------------------------------------------------------------------------------------------


def decode_request(
    body: types.Request, *, dialect: ChatDialect = OPENAI, model: str | None = None
) -> tuple[Request, list[Loss]]:
    """The request that a body asks for; `model` is used where it names none."""
    lost = Losses()
    left = _REST.of(body)
    spelling: Json = {}
    # Here nothing is kept unless somebody asks for it; a Responses host keeps everything.
    request = Request(store=False, **{name: or_none(getattr(body, name)) for name in SAME})
    left |= nulls(body, *_NULLABLE)
    if not given(request.model) and model is not None:
        request.model = model
    decode_limits(body, request, left, spelling, dialect)
    decode_offer(body, request, left, spelling, dialect, lost)
    decode_text(body, request, left)
    decode_effort(body, request, left, spelling, dialect)
    decode_logprobs(body, request, left, dialect)
    decode_stream(body, request, left, spelling, dialect)
    request.metadata = or_none(body.metadata)
    if given(caching := body.prompt_cache_options):
        request.prompt_cache_options = CacheOptions(mode=or_none(caching.mode), ttl=or_none(caching.ttl))
        if rest := beyond(
            caching, types.CacheOptions(mode=or_unset(or_none(caching.mode)), ttl=or_unset(or_none(caching.ttl)))
        ):
            left["prompt_cache_options"] = rest
    elif caching is None:
        left["prompt_cache_options"] = None
    _decode_messages(body, request, dialect, lost)
    if given(request.service_tier) and request.service_tier not in TIERS:
        left["service_tier"], request.service_tier = request.service_tier, None
    if left.get("n") == 1:
        spelling["n"] = left.pop("n")
    if spelling:
        left[SPELLING] = spelling
    if left:
        request.leftovers = {WIRE: left}
    return request, lost


def _decode_messages(body: types.Request, request: Request, dialect: ChatDialect, lost: Losses) -> None:
    items = decode_messages(body.messages, dialect, lost)
    first = items[0] if items else None
    leads = sum(isinstance(message, types.SystemMessage | types.DeveloperMessage) for message in body.messages)
    if (
        leads == 1
        and isinstance(first, Message)
        and first.role == dialect.system_role
        and isinstance(first.content, str)
        and first.leftovers is None
    ):
        request.instructions = first.content
        items = items[1:]
    request.input = items


Format = Open[rr.TextFormat | rr.JsonSchemaFormat | rr.JsonObjectFormat]

ANY_NAME = "answer"
"""The name of a schema without one, which this wire requires."""

LOGPROBS = "message.output_text.logprobs"
ENCRYPTED = "reasoning.encrypted_content"

# --- limits ---------------------------------------------------------------------------------------------------------

LIMITS = (
    ("max_output_tokens", "max_tokens_field", ("max_completion_tokens", "max_tokens")),
    ("seed", "seed_field", ("seed", "random_seed")),
)
"""Numbers of Responses, the fact that names the host's field for each, and the fields that hosts have."""


def encode_limits(request: rr.Request, body: types.Request, spelling: Json, dialect: ChatDialect) -> None:
    """Set the numbers in the fields that the host reads."""
    for ours, fact, fields in LIMITS:
        usual: str = getattr(dialect, fact)
        other = fields[usual == fields[0]]
        setattr(body, other if ours in spelling else usual, or_unset(getattr(request, ours)))


def decode_limits(body: types.Request, request: rr.Request, left: Json, spelling: Json, dialect: ChatDialect) -> None:
    """Read the numbers, from the host's own field first."""
    for ours, fact, fields in LIMITS:
        usual: str = getattr(dialect, fact)
        for name in (usual, fields[usual == fields[0]]):
            value = getattr(body, name)
            if value is not UNSET and (value is None or getattr(request, ours) is not None):
                left[name] = value
            elif value is not UNSET:
                setattr(request, ours, value)
                if name != usual:
                    spelling[ours] = name


# --- the form of the answer -----------------------------------------------------------------------------------------


def encode_text(request: rr.Request, body: types.Request, dialect: ChatDialect, lost: Losses) -> str:
    """Set the format and the verbosity; what comes back is a word to the model where the host takes no format."""
    if not given(request.text):
        return ""
    body.verbosity = or_unset(request.text.verbosity)
    body.response_format, note = _encode_format(or_unset(request.text.format), dialect, lost)
    return note


def _encode_format(asked: Opt[Format], dialect: ChatDialect, lost: Losses) -> tuple[Opt[types.ResponseFormat], str]:
    takes = dialect.formats
    match asked:
        case None | UnsetType():
            return asked, ""
        case rr.TextFormat() | rr.JsonSchemaFormat() | rr.JsonObjectFormat() if asked.__struct_config__.tag in takes:
            return _nested(asked), ""
        case rr.TextFormat():
            return UNSET, ""
        case rr.JsonSchemaFormat():
            lost.emulated("text.format", "a schema, which the model is told in words")
            made = types.ResponseFormat(type="json_object") if "json_object" in takes else UNSET
            text = msgspec.json.encode(asked.schema or {}).decode()
            return made, f"Answer with one JSON object and nothing else. It has to fit this JSON Schema:\n{text}"
        case rr.JsonObjectFormat():
            lost.emulated("text.format", "any JSON object, asked for in another way")
            if "json_schema" not in takes:
                return UNSET, "Answer with one JSON object and nothing else."
            schema = types.JsonSchema(name=ANY_NAME, schema={"type": "object"})
            return types.ResponseFormat(type="json_schema", json_schema=schema), ""
        case Unknown():
            if is_object(came := native(asked)):
                return put_back(types.ResponseFormat(type=came.get("type", "")), came), ""
            lost.refused("text.format", f"the format {asked.kind!r}")
            return UNSET, ""


def _nested(asked: rr.TextFormat | rr.JsonSchemaFormat | rr.JsonObjectFormat) -> types.ResponseFormat:
    """The format as OpenAI takes it."""
    made = types.ResponseFormat(type=str(asked.__struct_config__.tag))
    if isinstance(asked, rr.JsonSchemaFormat):
        made.json_schema = types.JsonSchema(
            name=asked.name if given(asked.name) else ANY_NAME,
            schema=or_unset(asked.schema),
            description=or_unset(asked.description),
            strict=or_unset(asked.strict),
        )
    return made


def decode_text(body: types.Request, request: rr.Request, left: Json) -> None:
    """Read the format and the verbosity."""
    asked = body.response_format
    form = _decode_format(asked, left) if given(asked) else None
    if form is not None or given(body.verbosity):
        request.text = rr.TextOptions(format=form, verbosity=or_none(body.verbosity))


def _decode_format(asked: types.ResponseFormat, left: Json) -> Format:
    """The format as Responses spells it; what it has no field for goes to `left`."""
    schema = asked.json_schema
    made: rr.TextFormat | rr.JsonSchemaFormat | rr.JsonObjectFormat
    if asked.type == "text":
        made = rr.TextFormat()
    elif asked.type == "json_object":
        made = rr.JsonObjectFormat()
    elif asked.type == "json_schema" and given(schema):
        made = rr.JsonSchemaFormat(
            name=or_none(schema.name),
            schema=or_none(schema.schema),
            description=or_none(schema.description),
            strict=or_none(schema.strict),
        )
    else:
        return foreign(msgspec.to_builtins(asked))
    if kept := beyond(asked, _nested(made)):
        left["response_format"] = kept
    return made


# --- how hard to think ----------------------------------------------------------------------------------------------


def encode_effort(request: rr.Request, body: types.Request, spelling: Json, dialect: ChatDialect, lost: Losses) -> None:
    """Set how hard to think, in the field that the host reads."""
    asked = request.reasoning
    if not given(asked):
        return
    effort = asked.effort
    if effort == "none" and dialect.effort_none:
        put_back(body, dialect.effort_none)
        effort = None
    elif given(effort) and effort in dialect.efforts:
        lost.changed("reasoning.effort", f"{effort!r}, sent as {dialect.efforts[effort]!r}")
        effort = dialect.efforts[effort]
    if spelling.get("effort", dialect.effort_field) == "reasoning":
        if effort is not None or asked.summary is not None:
            body.reasoning = types.Reasoning(effort=or_unset(effort), summary=or_unset(asked.summary))
    else:
        body.reasoning_effort = or_unset(effort)
        if given(asked.summary):
            lost.dropped("reasoning.summary", "a summary of the reasoning")
    for name in ("generate_summary", "context", "mode"):
        if given(getattr(asked, name)):
            lost.dropped(f"reasoning.{name}", no_such("option", "Chat Completions"))


def decode_effort(body: types.Request, request: rr.Request, left: Json, spelling: Json, dialect: ChatDialect) -> None:
    """Read how hard to think, from any of the fields that say it."""
    effort, field = body.reasoning_effort, "reasoning_effort"
    summary: Opt[str] = UNSET
    asked = body.reasoning
    if given(asked):
        rest = {name: value for name, value in msgspec.to_builtins(asked).items() if name not in ("effort", "summary")}
        if effort is UNSET:
            effort, field = asked.effort, "reasoning"
        elif asked.effort is not UNSET:
            rest["effort"] = asked.effort
        summary = asked.summary
        rest |= nulls(asked, "effort", "summary")
        if rest or (effort is UNSET and summary is UNSET):
            left["reasoning"] = rest
    elif asked is None:
        left["reasoning"] = None
    off = dialect.effort_none
    if off and effort is UNSET and all(getattr(body, name) == value for name, value in off.items()):
        effort, field = "none", dialect.effort_field
        for name in off:
            left.pop(name, None)
    if not given(effort) and not given(summary):
        return
    request.reasoning = rr.ReasoningOptions(effort=or_none(effort), summary=or_none(summary))
    if field != dialect.effort_field:
        spelling["effort"] = field


# --- log probabilities ----------------------------------------------------------------------------------------------


def encode_logprobs(request: rr.Request, body: types.Request, dialect: ChatDialect, lost: Losses) -> None:
    """Ask for log probabilities where the request does."""
    include = request.include or ()
    asked, count = LOGPROBS in include, request.top_logprobs
    if count and not asked:
        lost.emulated("top_logprobs", "log probabilities, which are also asked for")
    if asked or count:
        body.logprobs = (count or 1) if dialect.counts_logprobs else True
    if not dialect.counts_logprobs:
        body.top_logprobs = or_unset(count)
    for j, name in enumerate(include):
        # Opaque reasoning comes in envelopes here, asked for or not.
        if name not in (LOGPROBS, ENCRYPTED):
            lost.dropped(f"include[{j}]", not_in(repr(name), "Chat Completions"))


def decode_logprobs(body: types.Request, request: rr.Request, left: Json, dialect: ChatDialect) -> None:
    """Read whether log probabilities are asked for; what makes no sense is a leftover."""
    asked, count = body.logprobs, body.top_logprobs
    if dialect.counts_logprobs and isinstance(asked, int) and not isinstance(asked, bool):
        request.include, request.top_logprobs = [LOGPROBS], asked
    elif asked is True:
        request.include, request.top_logprobs = [LOGPROBS], or_none(count)
        if count is None:
            left["top_logprobs"] = None
    else:
        found = {"logprobs": asked, "top_logprobs": count}
        left.update({name: value for name, value in found.items() if value is not UNSET})


# --- streaming ------------------------------------------------------------------------------------------------------


def encode_stream(request: rr.Request, body: types.Request, spelling: Json, dialect: ChatDialect, lost: Losses) -> None:
    """Ask for counts, which a Responses host always sends, and for padding where that is asked for."""
    if "stream_options" in spelling:
        came = absent(spelling["stream_options"])
        body.stream_options = put_back(types.StreamOptions(), came) if is_object(came) else came
        return
    if request.stream and "stream_options" not in dialect.lacks:
        body.stream_options = types.StreamOptions(include_usage=True)
    if given(request.stream_options):
        obfuscation = request.stream_options.include_obfuscation
        if given(body.stream_options) and "include_obfuscation" not in dialect.lacks:
            body.stream_options.include_obfuscation = or_unset(obfuscation)
        elif obfuscation:
            lost.dropped("stream_options.include_obfuscation", "padding of the stream")


def decode_stream(body: types.Request, request: rr.Request, left: Json, spelling: Json, dialect: ChatDialect) -> None:
    """Read what a stream is to hold; whether counts were asked for is a note."""
    asked = body.stream_options
    usual = types.StreamOptions(include_usage=True) if body.stream and "stream_options" not in dialect.lacks else UNSET
    if given(asked) and asked.include_obfuscation is not UNSET:
        request.stream_options = rr.StreamOptions(include_obfuscation=asked.include_obfuscation)
    if asked != usual:
        spelling["stream_options"] = sent(asked)
    if given(asked) and (unknown := extras(asked)):
        left["stream_options"] = unknown  # which is not only a way to write it
