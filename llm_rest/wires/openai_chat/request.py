"""The request, both ways.

Options of the same meaning are one table; what needs a decision has a function with its counterpart below it. Before changing
this file, know that a field of the document that Responses has no word for is a leftover and comes back on this wire, that
what the host does not take (`dialect.lacks`) stays behind whoever said it, and that `extra` is merged last. Follows the
request parameters of the Chat Completions reference (read 2026-11-20).
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING
from urllib.parse import quote

from msgspec import UNSET

from ...errors import DecodeError
from ...losses import Loss, Losses, no_such
from ...responses.items import AnyItem, Message
from ...responses.leftovers import SPELLING, own, report_foreign
from ...responses.request import CacheOptions, Request
from ...unknown import extras, given, or_none, or_unset, with_extras
from ...vendors.dialects import CHAT_HOSTS, ChatDialect
from .. import Route
from .._left import Rest, beyond, notes, nulls, put_back, report_unknown, says
from .._pairing import paired
from . import options, types
from .content import fit_lifetime
from .messages import decode_messages, encode_messages
from .offer import decode_offer, encode_offer
from .types import WIRE, Json

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    options.encode_limits(request, body, spelling, dialect)
    encode_offer(request, items, body, left, dialect, lost)
    note = options.encode_text(request, body, dialect, lost)
    options.encode_effort(request, body, spelling, dialect, lost)
    options.encode_logprobs(request, body, dialect, lost)
    options.encode_stream(request, body, spelling, dialect, lost)
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
    options.decode_limits(body, request, left, spelling, dialect)
    decode_offer(body, request, left, spelling, dialect, lost)
    options.decode_text(body, request, left)
    options.decode_effort(body, request, left, spelling, dialect)
    options.decode_logprobs(body, request, left, dialect)
    options.decode_stream(body, request, left, spelling, dialect)
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
