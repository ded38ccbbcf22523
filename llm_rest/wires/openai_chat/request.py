"""The request, both ways.

Options of the same meaning are one table; what needs a decision has a function with its counterpart below it. Before changing
this file, know that a field of the document that Responses has no word for is a leftover and comes back on this wire, that
what the host does not take (`dialect.lacks`) stays behind whoever said it, and that `extra` is merged last. Follows the
request parameters of the Chat Completions reference (read 2026-11-20).
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
from msgspec import UNSET

from ...dialects import CHAT_HOSTS, ChatDialect
from ...errors import DecodeError
from ...losses import Loss, Losses
from ...responses.items import AdditionalTools, AnyItem, Message
from ...responses.leftovers import SPELLING, own, report_foreign
from ...responses.request import CacheOptions, ReasoningOptions, Request, TextOptions
from ...responses.request import StreamOptions as ResponsesStreamOptions
from ...unknown import Opt, extras, given, with_extras
from .. import Route
from . import types
from .choice import decode_choice, encode_choice
from .formats import decode_format, encode_format
from .left import ABSENT, Rest, absent, as_object, is_object, notes, put_back, sent, unspelled
from .messages import decode_messages, encode_messages
from .search import decode_search, encode_search
from .tools import decode_functions, decode_tools, encode_tools
from .types import WIRE, Json

if TYPE_CHECKING:
    from collections.abc import Sequence

OPENAI = CHAT_HOSTS["openai"]

LOGPROBS = "message.output_text.logprobs"
ENCRYPTED = "reasoning.encrypted_content"

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
    "previous_response_id": "an earlier response, which this wire cannot name",
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

_refused = attrgetter(*REFUSED)
_NOTHING_REFUSED = (UNSET,) * len(REFUSED)


# --- Responses -> Chat ----------------------------------------------------------------------------------------------


def encode_request(request: Request, *, dialect: ChatDialect = OPENAI) -> tuple[types.Request, list[Loss]]:
    """The body to send for a request."""
    lost = Losses()
    left = own(request.leftovers, WIRE)
    spelling = notes(left)
    body = types.Request(**{name: getattr(request, name) for name in SAME})
    items = _items(request)
    body.n = spelling.get("n", UNSET)
    _encode_limits(request, body, spelling, dialect)
    _encode_tools(request, items, body, left, dialect, lost)
    note = _encode_text(request, body, dialect, lost)
    _encode_reasoning(request, body, spelling, dialect, lost)
    _encode_logprobs(request, body, dialect, lost)
    _encode_stream(request, body, spelling, dialect, lost)
    _encode_rest(request, body, left, dialect, lost)
    body.messages = [*_instructions(request, note, spelling, dialect), *encode_messages(items, dialect, lost)]
    if left:
        body = put_back(body, {name: value for name, value in unspelled(left).items() if name != "tools"})
    _leave_behind(request, body, dialect, lost)
    return _with_extra(request, body, lost), lost


def _items(request: Request) -> Sequence[AnyItem]:
    if isinstance(request.input, str):
        return (Message(role="user", content=request.input),)
    return request.input or ()


def _instructions(request: Request, note: str, spelling: Json, dialect: ChatDialect) -> list[types.AnyMessage]:
    kind = types.DeveloperMessage if dialect.system_role == "developer" else types.SystemMessage
    texts = [request.instructions] if given(request.instructions) else []
    return [kind(content=text) for text in (*texts, *([note] if note else []))]


def _encode_limits(request: Request, body: types.Request, spelling: Json, dialect: ChatDialect) -> None:
    limit = "max_tokens" if dialect.max_tokens_field == "max_completion_tokens" else "max_completion_tokens"
    setattr(body, limit if "max_output_tokens" in spelling else dialect.max_tokens_field, request.max_output_tokens)
    seed = "seed" if dialect.seed_field == "random_seed" else "random_seed"
    setattr(body, seed if "seed" in spelling else dialect.seed_field, request.seed)


def _encode_tools(
    request: Request, items: Sequence[AnyItem], body: types.Request, left: Json, dialect: ChatDialect, lost: Losses
) -> None:
    spelling = notes(left)
    offered = list(request.tools or ())
    for i, item in enumerate(items):
        if isinstance(item, AdditionalTools):
            lost.emulated(f"input[{i}]", "tools added later, offered from the beginning")
            offered += item.tools
    if not offered:
        body.tools = absent(spelling.get("tools", ABSENT))
        _encode_no_tools(request, lost)
        return
    tools = encode_tools(offered, as_object(left.get("tools")), dialect, lost)
    body.web_search_options = encode_search(offered, request.model, "web_search" in spelling, dialect, lost)
    if not tools:
        _encode_no_tools(request, lost)
        return
    chosen, tools = encode_choice(request.tool_choice, tools, dialect, lost)
    came = _choice(spelling.get("tool_choice"))
    if came is not None and decode_choice(came) == request.tool_choice:
        chosen = came
    if not tools:
        return
    body.tools = tools
    body.tool_choice = chosen
    body.parallel_tool_calls = request.parallel_tool_calls
    if "functions" in spelling:
        _encode_functions(body)


def _encode_no_tools(request: Request, lost: Losses) -> None:
    if given(request.tool_choice) and request.tool_choice != "auto":
        lost.dropped("tool_choice", "a choice among no tools")
    if given(request.parallel_tool_calls):
        lost.dropped("parallel_tool_calls", "a word about calls where there are no tools")


def _choice(plain: Any) -> str | types.ToolChoice | None:
    """The tool choice that a document had, from a leftover that may have come from anywhere."""
    try:
        return msgspec.convert(plain, str | types.ToolChoice | None)
    except msgspec.ValidationError:
        return None


def _encode_functions(body: types.Request) -> None:
    """Write tools and their choice in the legacy form."""
    body.functions = [tool.function for tool in body.tools or () if given(tool.function)]
    choice = body.tool_choice
    body.function_call = choice.function if isinstance(choice, types.ToolChoice) else choice
    body.tools = body.tool_choice = UNSET


def _encode_text(request: Request, body: types.Request, dialect: ChatDialect, lost: Losses) -> str:
    """Set the format and the verbosity; what comes back is a word to the model where the host takes no format."""
    if not given(request.text):
        return ""
    body.verbosity = request.text.verbosity
    body.response_format, note = encode_format(request.text.format, dialect, lost)
    return note


def _encode_reasoning(
    request: Request, body: types.Request, spelling: Json, dialect: ChatDialect, lost: Losses
) -> None:
    asked = request.reasoning
    if not given(asked):
        return
    effort = asked.effort
    if given(effort):
        if effort == "none" and dialect.effort_none:
            put_back(body, dialect.effort_none)
            effort = UNSET
        elif effort in dialect.efforts:
            lost.changed("reasoning.effort", f"{effort!r}, sent as {dialect.efforts[effort]!r}")
            effort = dialect.efforts[effort]
    if spelling.get("effort", dialect.effort_field) == "reasoning":
        if effort is not UNSET or asked.summary is not UNSET:
            body.reasoning = types.Reasoning(effort=effort, summary=asked.summary)
    else:
        body.reasoning_effort = effort
        if given(asked.summary):
            lost.dropped("reasoning.summary", "a summary of the reasoning")
    for name in ("generate_summary", "context", "mode"):
        if given(getattr(asked, name)):
            lost.dropped(f"reasoning.{name}", "an option of reasoning that this wire has no field for")


def _encode_logprobs(request: Request, body: types.Request, dialect: ChatDialect, lost: Losses) -> None:
    include = request.include or ()
    asked, count = LOGPROBS in include, request.top_logprobs
    if count and not asked:
        lost.emulated("top_logprobs", "log probabilities, which are also asked for")
    if dialect.counts_logprobs:
        body.logprobs = (count or 1) if asked or count else UNSET
    else:
        body.logprobs = True if asked or count else UNSET
        body.top_logprobs = count
    for j, name in enumerate(include):
        # Opaque reasoning comes in envelopes here, asked for or not.
        if name not in (LOGPROBS, ENCRYPTED):
            lost.dropped(f"include[{j}]", f"{name!r}, which this wire cannot include")


def _encode_stream(request: Request, body: types.Request, spelling: Json, dialect: ChatDialect, lost: Losses) -> None:
    if "stream_options" in spelling:
        came = absent(spelling["stream_options"])
        body.stream_options = put_back(types.StreamOptions(), came) if is_object(came) else came
        return
    if request.stream and "stream_options" not in dialect.lacks:
        body.stream_options = types.StreamOptions(include_usage=True)
    if given(request.stream_options):
        obfuscation = request.stream_options.include_obfuscation
        if given(body.stream_options) and "include_obfuscation" not in dialect.lacks:
            body.stream_options.include_obfuscation = obfuscation
        elif obfuscation:
            lost.dropped("stream_options.include_obfuscation", "padding of the stream")


def _encode_rest(request: Request, body: types.Request, left: Json, dialect: ChatDialect, lost: Losses) -> None:
    if _refused(request) != _NOTHING_REFUSED:
        for name, what in REFUSED.items():
            if getattr(request, name):
                lost.refused(name, what)
    for name, what in DROPPED.items():
        if getattr(request, name):
            lost.dropped(name, what)
    if request.truncation == "auto":
        lost.refused("truncation", "cutting the conversation to fit, which this wire does not offer")
    if given(request.metadata):
        if dialect.metadata_needs_store and not left.get("store") and "metadata" not in left:
            lost.dropped("metadata", "metadata of an answer that is not stored")
        else:
            body.metadata = request.metadata
    if given(request.prompt_cache_options):
        options = request.prompt_cache_options
        body.prompt_cache_options = types.CacheOptions(mode=options.mode, ttl=options.ttl)
        for name in ("prewarm", "comparison_response_id"):
            if given(getattr(options, name)):
                lost.dropped(f"prompt_cache_options.{name}", "an option of caching that this wire has no field for")
    for name in extras(request):
        lost.dropped(name, "a field only a Responses host would know")
    report_foreign(request.leftovers, WIRE, "", lost)


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
            path = f"leftovers.{WIRE}.{name}" if name in left else NAMED.get(name, name)
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
    request = Request(store=False, **{name: getattr(body, name) for name in SAME})
    if not given(request.model) and model is not None:
        request.model = model
    _decode_limits(body, request, left, spelling, dialect)
    _decode_tools(body, request, left, spelling, lost)
    _decode_text(body, request, left)
    _decode_reasoning(body, request, left, spelling, dialect)
    _decode_logprobs(body, request, left, dialect)
    _decode_stream(body, request, spelling, dialect)
    request.metadata = body.metadata
    if given(body.prompt_cache_options):
        request.prompt_cache_options = CacheOptions(
            mode=body.prompt_cache_options.mode, ttl=body.prompt_cache_options.ttl
        )
    _decode_messages(body, request, dialect, lost)
    if given(request.service_tier) and request.service_tier not in TIERS:
        left["service_tier"], request.service_tier = request.service_tier, UNSET
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
        and first.leftovers is UNSET
    ):
        request.instructions = first.content
        items = items[1:]
    request.input = items


def _decode_limits(body: types.Request, request: Request, left: Json, spelling: Json, dialect: ChatDialect) -> None:
    for ours, fields in (
        ("max_output_tokens", ("max_completion_tokens", "max_tokens")),
        ("seed", ("seed", "random_seed")),
    ):
        usual = dialect.max_tokens_field if ours == "max_output_tokens" else dialect.seed_field
        for name in sorted(fields, key=lambda field: field != usual):
            value = getattr(body, name)
            if value is UNSET:
                continue
            if getattr(request, ours) is not UNSET:
                left[name] = value
                continue
            setattr(request, ours, value)
            if name != usual:
                spelling[ours] = name


def _decode_tools(body: types.Request, request: Request, left: Json, spelling: Json, lost: Losses) -> None:
    kept: Json = {}
    if body.tools is not UNSET:
        if body.tools:
            request.tools = decode_tools(body.tools, kept)
        else:
            spelling["tools"] = body.tools
    if given(body.functions):
        lost.emulated("functions", "legacy functions, read as tools")
        spelling["functions"] = True
        request.tools = [*(request.tools or ()), *decode_functions(body.functions, kept)]
    if given(body.web_search_options):
        spelling["web_search"] = True
        request.tools = [*(request.tools or ()), decode_search(body.web_search_options)]
    if kept:
        left["tools"] = kept
    choice: Opt[str | types.ToolChoice] = body.tool_choice
    if given(body.function_call):
        named = body.function_call
        choice = named if isinstance(named, str) else types.ToolChoice(type="function", function=named)
    if request.tools and choice:
        request.tool_choice = decode_choice(choice)
        if _unusual(choice):
            spelling["tool_choice"] = msgspec.to_builtins(choice)
    elif choice is not UNSET:
        left["tool_choice"] = msgspec.to_builtins(choice)
    if request.tools:
        request.parallel_tool_calls = body.parallel_tool_calls
    elif body.parallel_tool_calls is not UNSET:
        left["parallel_tool_calls"] = body.parallel_tool_calls


def _unusual(choice: str | types.ToolChoice) -> bool:
    if isinstance(choice, str):
        return decode_choice(choice) != choice
    return choice.type not in ("function", "custom")


def _decode_text(body: types.Request, request: Request, left: Json) -> None:
    text = TextOptions(verbosity=body.verbosity)
    asked = body.response_format
    if asked is not UNSET:
        text.format = decode_format(asked, left) if asked is not None else None
    if text.format is not UNSET or text.verbosity is not UNSET:
        request.text = text


def _decode_reasoning(body: types.Request, request: Request, left: Json, spelling: Json, dialect: ChatDialect) -> None:
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
        if rest or (effort is UNSET and summary is UNSET):
            left["reasoning"] = rest
    elif asked is None:
        left["reasoning"] = None
    off = dialect.effort_none
    if off and effort is UNSET and all(getattr(body, name) == value for name, value in off.items()):
        effort, field = "none", dialect.effort_field
        for name in off:
            left.pop(name, None)
    if effort is UNSET and summary is UNSET:
        return
    request.reasoning = ReasoningOptions(effort=effort, summary=summary)
    if field != dialect.effort_field:
        spelling["effort"] = field


def _decode_logprobs(body: types.Request, request: Request, left: Json, dialect: ChatDialect) -> None:
    asked, count = body.logprobs, body.top_logprobs
    if dialect.counts_logprobs and isinstance(asked, int) and not isinstance(asked, bool):
        request.include, request.top_logprobs = [LOGPROBS], asked
        return
    if asked is True:
        request.include = [LOGPROBS]
    elif asked is not UNSET:
        left["logprobs"] = asked
    if asked is True:
        request.top_logprobs = count
    elif count is not UNSET:
        left["top_logprobs"] = count


def _decode_stream(body: types.Request, request: Request, spelling: Json, dialect: ChatDialect) -> None:
    asked = body.stream_options
    usual = types.StreamOptions(include_usage=True) if body.stream and "stream_options" not in dialect.lacks else UNSET
    if given(asked) and asked.include_obfuscation is not UNSET:
        request.stream_options = ResponsesStreamOptions(include_obfuscation=asked.include_obfuscation)
    if asked != usual:
        spelling["stream_options"] = sent(asked) if asked is UNSET else msgspec.to_builtins(asked)
