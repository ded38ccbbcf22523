"""The answer, both ways: one choice with one message here, items in order in Responses.

What describes this document only (fingerprints, timing, nulls) is a leftover of the response, under the names of the places
it stood in: `choices[0]`, `choices[0].message`, `choices[1:]`. Before changing this file, know that an answer which came from
this wire is written as it came, while any other is written as OpenAI writes its own. `item_id` serves streamed answers as
well. Follows the chat completion object of the OpenAI reference (read 2026-11-20).

Token counts, both ways.

Responses counts reasoning as output and cached tokens as input. Before changing this file, know that hosts disagree about
what `completion_tokens` includes (a fact of the dialect), that counts may not add up, and that a count nobody gave stays
unset: zeros are not invented. Follows the usage objects of the OpenAI, DeepSeek, xAI and Moonshot references (read
2026-11-20).

What an error answer of this wire says, and an error as this wire tells it.

Most hosts write `{"error": {"message", "type", "param", "code"}}`; others a text, a list, a flat object, or `base_resp`
inside status 200. Before changing this file, know that `decode_error` is also asked about answers of status 200 which are
no completions. Follows the error sections of the hosts' references (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from ...losses import Loss, Losses, not_in
from ...responses.carriers import digest
from ...responses.echo import echo
from ...responses.items import AnyItem, CustomToolCall, FunctionCall, Message, Reasoning
from ...responses.leftovers import NEAR, SPELLING, inexact, own, report_foreign
from ...responses.response import (
    IncompleteDetails,
    InputTokensDetails,
    OutputTokensDetails,
    Response,
    ResponseError,
    Usage,
)
from ...unknown import Opt, Unknown, extras, given, or_none, or_unset
from .._errors import error_facts
from .._left import (
    Rest,
    absent,
    as_list,
    as_object,
    as_plain,
    copies,
    known,
    notes,
    noting,
    nulls,
    put_back,
    report_answer,
    report_cost,
    report_unknown,
    sent,
)
from .._renamed import names_sent, sent_name, undo
from . import reasoning, types
from .content import (
    Ending,
    decode_annotations,
    decode_citations,
    decode_logprobs,
    decode_moderation,
    encode_finish,
    encode_logprobs,
    encode_moderation,
    finish_of,
    keep_finish,
    last_text,
    status_of,
    texts,
)
from .messages import Heard, Turn
from .request import OPENAI
from .types import CHOICE, MESSAGE, WIRE, Json, OrdinaryUsage, read

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...errors import ErrorFacts
    from ...responses.request import Request
    from ...vendors.dialects import ChatDialect

CALLS = "choices[0].message.tool_calls"
OTHERS = "choices[1:]"
PLACES = frozenset({CHOICE, MESSAGE, CALLS, OTHERS})
"""The leftovers that are named after a place in the document; all others are its own fields."""


# --- Chat -> Responses ----------------------------------------------------------------------------------------------

_NULLABLE = ("usage", "moderation", "service_tier", "model")
_MAPPED = ("id", "object", "created", "model", "usage", "service_tier", "moderation", "choices", "error")
_REST = Rest(types.Completion, *_MAPPED)
_CHOICE_REST = Rest(types.Choice, "index", "finish_reason", "message")

_RESPONSE = Response(id="", status="completed", output=[])
_COMPLETION = types.Completion(object="chat.completion", choices=[])
_NO_CHOICE = types.Choice()
_NO_ANSWER = types.Answer()

_PREFIXES: dict[type, str] = {Message: "msg_", FunctionCall: "fc_", CustomToolCall: "ctc_", Reasoning: "rs_"}


def item_id(item: AnyItem, origin: str, position: int) -> str:
    """The id of an item that the answer `origin` has at `position`, the same every time."""
    return f"{_PREFIXES.get(type(item), 'item_')}{origin}_{position}"


def settle(output: list[AnyItem], origin: str, ending: Ending) -> None:
    """Give the items of an answer their ids and their status; of an answer that was cut, the last one was cut."""
    for position, item in enumerate(output):
        if not isinstance(item, Unknown):
            item.id = item_id(item, origin, position)
            item.status = "completed"
    if output and ending.status != "completed" and not isinstance(last := output[-1], Unknown):
        last.status = "incomplete"


def decode_response(
    body: types.Completion, *, request: Request | None = None, dialect: ChatDialect = OPENAI, now: float = 0
) -> tuple[Response, list[Loss]]:
    """The response for an answer; `request` undoes what encoding it emulated, `now` dates an answer without a date."""
    lost = Losses()
    choice = body.choices[0] if body.choices else _NO_CHOICE
    origin, found = body.id, None if dialect.think_tags or dialect.missing_call_state else read(body)
    complete = found is not None
    if found is None or not origin:
        origin = origin or f"resp_{digest(msgspec.json.encode(body).decode())}"
        found = _read(body, choice, origin, dialect, lost)
    output, left = found
    if request is not None and (meant := names_sent(request, custom_tools=dialect.custom_tools, naming=sent_name)):
        complete = False
        for i, item in enumerate(output):
            if isinstance(item, FunctionCall | CustomToolCall):
                output[i] = undo(item, meant, f"output[{i}]", lost)
    ending = status_of(choice.finish_reason, output)
    if not complete or ending.status != "completed":
        settle(output, origin, ending)
    calls = bool(choice.message and choice.message.tool_calls)
    if choice.finish_reason != finish_of(ending.status, ending.reason, calls):
        keep_finish(choice.finish_reason, ending, left, lost)
    response = replace(
        _RESPONSE,
        id=origin,
        created_at=body.created if type(body.created) is int else int(body.created or now),
        status=ending.status,
        model=body.model or "",
        output=output,
        service_tier=None if body.service_tier is UNSET else body.service_tier,
        leftovers={WIRE: left},
    )
    if request is not None:
        for name, value in echo(request).items():
            setattr(response, name, value)
    if body.usage is not UNSET and body.usage is not None:
        response.usage = decode_usage(body.usage, dialect)
    if given(body.moderation):
        response.moderation = decode_moderation(body.moderation)
    if not body.model or body.usage is None or body.moderation is None or body.service_tier is None:
        left |= nulls(body, *_NULLABLE)
        if body.model == "":
            left["model"] = ""
    if ending.status == "incomplete":
        response.incomplete_details = IncompleteDetails(reason=ending.reason)
    elif ending.status == "failed":
        response.error = ResponseError(
            code=ending.reason, message=f"the answer ended with {choice.finish_reason or 'no reason'!r}"
        )
    return response, lost


def _read(
    body: types.Completion, choice: types.Choice, origin: str, dialect: ChatDialect, lost: Losses
) -> tuple[list[AnyItem], Json]:
    """The items of any answer, and what the document says beyond them."""
    message = choice.message or _NO_ANSWER
    heard = Heard(message, dialect, origin, MESSAGE, lost, answer=True)
    left = _leftovers(body, choice, message, heard)
    if MESSAGE in left or "citations" in left:
        _cite(heard.items, left)
    if choice.logprobs:
        decode_logprobs(choice.logprobs, heard.items, left)
    return heard.items, left


def _leftovers(body: types.Completion, choice: types.Choice, message: types.Answer, heard: Heard) -> Json:
    left, rest = _REST.of(body), _CHOICE_REST.of(choice)
    if choice.index != 0:
        rest["index"] = sent(choice.index)
    if message.role != "assistant":
        noting(heard.left)["role"] = sent(message.role)
        if message.role:
            noting(heard.left)[NEAR] = {"role": inexact(message.role)}
    if rest:
        left[CHOICE] = rest
    if heard.left:
        left[MESSAGE] = heard.left
    if heard.calls and (calls := {call_id: kept for call_id, kept in heard.calls.items() if kept}):
        left[CALLS] = calls
    if len(body.choices) != 1:
        left[OTHERS] = as_plain(body.choices[1:])
    is_whole = body.id and body.object == "chat.completion" and type(body.created) is int and choice.message
    if is_whole and body.error is UNSET:
        return left
    # What is unusual about a document although it says nothing.
    odd = {
        "id": not body.id,
        "object": body.object != "chat.completion",
        "created": not isinstance(body.created, int),
        "error": body.error is not UNSET,
        "choices": not body.choices,
    }
    spelling = {name: sent(getattr(body, name)) for name, is_odd in odd.items() if is_odd}
    if body.choices and not choice.message:
        spelling["message"] = sent(choice.message)
    if spelling:
        left[SPELLING] = spelling
    return left


def _cite(output: list[AnyItem], left: Json) -> None:
    """Hang the sources on the text; a bare list of sources stays a leftover as well."""
    message: Json = left.get(MESSAGE, {})
    part = last_text(output)
    if part is None:
        return
    annotations = message.get("annotations")
    if annotations:
        part.annotations = decode_annotations(annotations)
        del message["annotations"]
    if left.get("citations"):
        cited = decode_citations(left["citations"], left.get("search_results"))
        part.annotations = [*(part.annotations or ()), *cited]


# --- Responses -> Chat ----------------------------------------------------------------------------------------------


def encode_response(
    response: Response, *, request: Request | None = None, dialect: ChatDialect = OPENAI
) -> tuple[types.Completion, list[Loss]]:
    """The answer as a host of this wire gives it; `request` tells which form its client expects."""
    lost = Losses()
    report_answer(response, lost, "moderation", "service_tier")
    report_foreign(response.leftovers, WIRE, "", lost)
    left = own(response.leftovers, WIRE)
    first = as_object(left.get(CHOICE))
    came = response.leftovers is not None and WIRE in response.leftovers
    legacy = request is not None and "functions" in notes(own(request.leftovers, WIRE))
    turn = _encode_output(response.output, left, legacy, dialect, lost)
    said = turn.finish()
    finish = encode_finish(response, left, bool(turn.calls), lost)
    choice = replace(_NO_CHOICE, index=0, message=said, finish_reason=finish)
    if not came:
        # The nulls that OpenAI writes.
        choice.logprobs = None
        said.refusal = None if said.refusal is UNSET else said.refusal
        said.annotations = [] if said.annotations is UNSET else said.annotations
    if (found := encode_logprobs(texts(response.output))) is not None:
        choice.logprobs = first.get("logprobs", found)
    if "index" in first:
        choice.index = absent(first["index"])
    choice = put_back(choice, {name: value for name, value in first.items() if name not in ("finish_reason", "index")})
    body = replace(
        _COMPLETION,
        id=response.id,
        created=int(response.created_at) if given(response.created_at) else 0,
        model=response.model or UNSET,
        choices=[choice, *as_list(left.get(OTHERS))],
        service_tier=or_unset(response.service_tier),
    )
    if response.usage is not None:
        body.usage = encode_usage(response.usage, dialect, lost)
    if response.moderation is not None:
        body.moderation = encode_moderation(response.moderation)
    spelling = notes(left)
    for name in ("id", "object", "created", "error"):
        if name in spelling:
            setattr(body, name, absent(spelling[name]))
    if "message" in spelling:
        choice.message = absent(spelling["message"])
    if "choices" in spelling:
        body.choices = []
    return put_back(body, {name: value for name, value in left.items() if name not in PLACES}), lost


def _encode_output(
    output: list[AnyItem], left: Json, legacy: bool, dialect: ChatDialect, lost: Losses
) -> Turn[types.Answer]:
    message = as_object(left.get(MESSAGE))
    role = absent(notes(message).get("role", "assistant"))
    turn = Turn(replace(_NO_ANSWER, role=role, content=None), dialect, lost, answer=True)
    turn.left, turn.spelling = message, notes(message)
    calls = as_object(left.get(CALLS))
    attached: dict[str, Json] = {}
    if any(isinstance(item, Reasoning) and reasoning.is_foreign(item, dialect) for item in output):
        turn.spelling = {**turn.spelling, "foreign": True}
    for i, item in enumerate(output):
        path = f"output[{i}]"
        if not isinstance(item, Unknown) and extras(item):
            item = known(item, path, lost)
        match item:
            case Message():
                turn.say(item, i)
            case FunctionCall() | CustomToolCall():
                kept: Json = {SPELLING: {"legacy": True}} if legacy else as_object(calls.get(item.call_id))
                turn.call(item, kept, attached, i)
            case Reasoning():
                report_unknown(item, path, lost)
                state = reasoning.state_of(item, dialect)
                if isinstance(state, reasoning.CallState):
                    attached[state.call_id] = state.extra_content
                elif isinstance(state, reasoning.MessageState):
                    turn.attach(state, i)
                else:
                    _show(turn, item, state, i, dialect, lost)
            case _:
                kind = item.kind if isinstance(item, Unknown) else item.__struct_config__.tag
                lost.dropped(path, not_in(f"an item of type {kind!r}", "Chat Completions"))
        if not isinstance(item, Unknown):
            report_foreign(item.leftovers, WIRE, path, lost)
    return turn


def _show(
    turn: Turn[types.Answer],
    item: Reasoning,
    state: reasoning.Thought | None,
    i: int,
    dialect: ChatDialect,
    lost: Losses,
) -> None:
    """Show what the model thought, where the host's answers show it, or where most hosts' do."""
    text, path = reasoning.text_of(item), f"output[{i}]"
    if (turn.has_text or turn.calls) and text and "parts" not in turn.spelling:
        lost.changed(path, "reasoning between reasoning.texts or calls, shown before them")
    kept = as_list(as_object(turn.spelling.get("reasoning")).get("places"))
    places: list[reasoning.Place] = reasoning.text_places(turn.spelling.get("reasoning"))
    if state is not None:
        # A host may repeat the text of one field in another.
        places = [place for place in places if place != state.place and state.place in kept]
    elif "foreign" in turn.spelling:
        # Some of it is opaque: all of it is shown in the form that comes back whole.
        reasoning.show_foreign(turn.said, item)
        places = places if kept else [reasoning.TEXT_PLACES[0]] if reasoning.streamed_field(dialect) else []
    elif "think" in turn.spelling:
        reasoning.put_tags(turn.said, text, str(turn.spelling["think"]))
    elif not kept and dialect.reasoning_field in ("reasoning_details", "thinking"):
        state = reasoning.Thought(place=dialect.reasoning_field, shown="")
    elif not kept and text:
        places = [dialect.reasoning_field or reasoning.TEXT_PLACES[0]]
        if item.summary or len(reasoning.texts(item)) > 1:
            lost.changed(path, "shown as one text, whether it was thought or summarised")
    if state is not None or text:
        turn.think(item, state, places, i)


CACHED = ("prompt_cache_hit_tokens", "cached_tokens", "num_cached_tokens")
"""Where hosts count cached tokens beside the details."""

_usage = copies(Usage(input_tokens=0, output_tokens=0))
_COUNTED = types.Usage()
_INPUT, _OUTPUT = InputTokensDetails(), OutputTokensDetails()
_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
_USAGE_REST = Rest(types.Usage, *_COUNTS, "prompt_tokens_details", "completion_tokens_details")

_PROMPT_REST = Rest(types.PromptDetails, "cached_tokens", "cache_write_tokens")
_COMPLETION_REST = Rest(types.CompletionDetails, "reasoning_tokens")


# --- Chat -> Responses ----------------------------------------------------------------------------------------------


def decode_usage(counted: types.Usage, dialect: ChatDialect) -> Usage:
    """The counts as Responses means them."""
    prompt, completion, total = counted.prompt_tokens, counted.completion_tokens, counted.total_tokens
    usage = _usage()
    usage.input_tokens, usage.output_tokens, usage.total_tokens = prompt or 0, completion or 0, total or 0
    held, details = counted.prompt_tokens_details, counted.completion_tokens_details
    ordinary = type(counted) is OrdinaryUsage
    if ordinary and held is details is UNSET and dialect.output_tokens == "completion":
        return usage
    left: Json = {}
    spelling: Json = {}
    if not ordinary:
        left = _USAGE_REST.of(counted)
        spelling = {name: sent(value) for name in _COUNTS if not given(value := getattr(counted, name))}
    _decode_prompt(held, left, spelling, usage)
    if given(details):
        usage.output_tokens_details = replace(_OUTPUT, reasoning_tokens=or_none(details.reasoning_tokens))
        if rest := _COMPLETION_REST.of(details) | nulls(details, "reasoning_tokens"):
            left["completion_tokens_details"] = rest
    elif details is None:
        left["completion_tokens_details"] = None
    _count_output(usage, dialect, spelling)
    if not given(total):
        usage.total_tokens = usage.input_tokens + usage.output_tokens
    if spelling:
        left[SPELLING] = spelling
    if left:
        usage.leftovers = {WIRE: left}
    return usage


def _decode_prompt(details: Opt[types.PromptDetails], left: Json, spelling: Json, usage: Usage) -> None:
    cached: Opt[int] = UNSET
    if given(details):
        cached, written = details.cached_tokens, details.cache_write_tokens
        usage.input_tokens_details = replace(_INPUT, cached_tokens=or_none(cached), cache_write_tokens=or_none(written))
    beside = None if given(cached) else next((n for n in CACHED if isinstance(left.get(n), int | float)), None)
    if beside is not None:
        usage.input_tokens_details = replace(usage.input_tokens_details or _INPUT, cached_tokens=int(left[beside]))
        spelling["cached"] = beside
    if details is None or (details is not UNSET and beside is not None):
        left["prompt_tokens_details"] = sent(details)
    elif given(details) and (rest := _PROMPT_REST.of(details) | nulls(details, "cached_tokens", "cache_write_tokens")):
        left["prompt_tokens_details"] = rest


def _reasoning(usage: Usage) -> int:
    details = usage.output_tokens_details
    return details.reasoning_tokens or 0 if given(details) else 0


def _count_output(usage: Usage, dialect: ChatDialect, spelling: Json) -> None:
    completion = usage.output_tokens
    match dialect.output_tokens:
        case "completion_and_reasoning":
            usage.output_tokens += _reasoning(usage)
        case "total_minus_prompt":  # without a total, which is 0 here, nothing is taken
            usage.output_tokens = max(completion, usage.total_tokens - usage.input_tokens)
        case _:
            return
    if usage.output_tokens != completion:
        spelling.setdefault("completion_tokens", completion)


# --- Responses -> Chat ----------------------------------------------------------------------------------------------


def encode_usage(usage: Usage, dialect: ChatDialect, lost: Losses) -> types.Usage:
    """The counts as the host behind `dialect` would give them."""
    report_cost(usage, lost)
    completion = usage.output_tokens
    if dialect.output_tokens == "completion_and_reasoning":
        completion = max(0, completion - _reasoning(usage))
    prompt, total = usage.input_tokens, usage.total_tokens
    counted = replace(_COUNTED, prompt_tokens=prompt, completion_tokens=completion, total_tokens=total)
    left = own(usage.leftovers, WIRE)
    spelling = notes(left)
    details = usage.input_tokens_details
    if given(details) and "cached" not in spelling:
        counted.prompt_tokens_details = types.PromptDetails(
            cached_tokens=or_unset(details.cached_tokens), cache_write_tokens=or_unset(details.cache_write_tokens)
        )
    if given(details) and details.cache_write_tokens_details:
        lost.dropped("usage.input_tokens_details.cache_write_tokens_details", "cache writes by their lifetime")
    if given(usage.output_tokens_details):
        reasoning = usage.output_tokens_details.reasoning_tokens
        counted.completion_tokens_details = types.CompletionDetails(reasoning_tokens=or_unset(reasoning))
    if usage.leftovers is not None:
        report_foreign(usage.leftovers, WIRE, "usage", lost)
        for name in _COUNTS:
            if name in spelling:
                setattr(counted, name, absent(spelling[name]))
        counted = put_back(counted, left)
    return counted


TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    422: "invalid_request_error",
    429: "rate_limit_error",
}
"""The type OpenAI gives an error of that status; any other is a `server_error`."""


def decode_error(status: int, headers: Mapping[str, str], body: bytes) -> ErrorFacts:
    """What an error answer says. A status of its own inside the body wins over an HTTP 200."""
    facts = error_facts(WIRE, status, headers, body)
    left = facts.leftovers.get(WIRE, {})
    result = left.get("base_resp")
    if isinstance(result, dict) and not facts.message:
        # MiniMax: errors come with status 200, and the code is a number of its own.
        found = cast("Json", result)
        facts.message = str(found.get("status_msg") or "")
        facts.code = facts.code or str(found.get("status_code") or "") or None
    if status < 400:
        facts.retry_after = None  # some hosts send the header with every answer
        told = _status(left, facts.code)
        if told is not None:
            facts.status = told
    return facts


def _status(left: Json, code: str | None) -> int | None:
    """The HTTP status that an error inside an answer of status 200 tells."""
    inner: Any = left.get("error")
    told: Any = left.get("status_code", cast("Json", inner).get("status_code") if isinstance(inner, dict) else None)
    for value in (told, int(code) if code is not None and code.isdecimal() and len(code) == 3 else None):
        if isinstance(value, int) and 400 <= value <= 599:
            return value
    return None


def encode_error(facts: ErrorFacts) -> tuple[int, Json]:
    """The status and the body that tell an error to a client of this wire."""
    status = facts.status if 400 <= facts.status <= 599 else 502
    error: Json = {
        "message": facts.message,
        "type": facts.type or TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error"),
        "param": facts.param,
        "code": facts.code,
    }
    left = dict(facts.leftovers.get(WIRE, {}))
    return status, {"error": {**as_object(left.pop("error", None)), **error}, **left}
