"""Conversion of the answer, both ways, and errors: finish reason, token usage, failures; and token counting.

Blocks and items are in `reasoning`. Before changing this file, know that Anthropic counts input tokens without cache reads and
writes, and Responses with them; that streams end here too; and that callers branch on an error's `type`, never its message.
Follows the Messages reference and the guides to stop reasons, errors and token counting of Anthropic (read 2026-11-20).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from msgspec.structs import replace

from ... import errors
from ... import responses as ours
from ...errors import ErrorFacts
from ...losses import Loss, Losses, no_such
from ...responses.carriers import NEAR, SPELLING, digest, inexact
from ...unknown import Model, Opt, Unknown, as_object, base, extras, given, with_extras
from ...vendor_errors import error_class
from ...vendors.dialects import MessagesDialect, messages_model
from .. import Route
from ..errors import error_facts, status_of
from ..kept import diff, own_leftovers, patch
from ..leftovers import DETAILS, as_plain, new_answer, report_answer, report_usage
from ..tools import Call, sent_tools, wire_name
from . import types
from .content import ANTHROPIC, RULES, Context, as_leftovers, encode, set_fields
from .reasoning import AssistantMessage, BlockReader
from .request import asks_thinking, decode_request, encode_request, route
from .tools import finish_runs
from .types import WIRE, Json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "count_route",
    "decode_count",
    "decode_error",
    "decode_response",
    "encode_count",
    "encode_error",
    "encode_response",
]

# --- the whole answer ------------------------------------------------------------------------------------------------

FINISH_REASONS: dict[str, tuple[str, str | None]] = {
    "end_turn": ("completed", None),
    "stop_sequence": ("completed", None),
    "tool_use": ("completed", None),
    "compaction": ("completed", None),
    "max_tokens": ("incomplete", "max_output_tokens"),
    "model_context_window_exceeded": ("incomplete", "max_output_tokens"),
    "pause_turn": ("incomplete", "pause_turn"),
    "refusal": ("incomplete", "content_filter"),
}
"""Stop reasons, those of Anthropic on the left. An unknown reason means incomplete, for that reason."""
FINISH_REASONS_BACK = {
    "max_output_tokens": "max_tokens",
    "content_filter": "refusal",
    "max_messages": "max_tokens",
    "steered": "end_turn",
}
"""Reasons of an incomplete answer, ours on the left, the likelier of several; any other is a stop reason of Anthropic."""
INEXACT = ("max_messages", "steered")

Error = types.Error


def decode_response(
    body: types.Message | types.Error,
    *,
    request: ours.Request | None = None,
    dialect: MessagesDialect = ANTHROPIC,
    now: float = 0,
    keep: bool = True,
) -> tuple[ours.Response, list[Loss]]:
    """The response for an answer. `request` reverses renaming and is echoed; `now` is its creation time.

    `keep` preserves data that describes this document and its notation; unknown fields of its blocks always stay.
    """
    if isinstance(body, Error):
        return decode_failure(body, request, now, keep=keep), []
    names = sent_tools(request, custom_tools=False, naming=wire_name) if request is not None else None
    reader = BlockReader(dialect.issuer, id_of(body), names, keep=keep)
    lost = Losses()
    for i, block in enumerate(body.content):
        reader.add(i, block)
        if not keep:
            report_unshown(block, i, lost)
    return finish_response(body, reader, len(body.content), request, now), lost


def report_unshown(block: types.AnyBlock, i: int, lost: Losses) -> None:
    """Report a block of an unknown kind, which stays in a carrier."""
    if isinstance(block, Unknown):
        what = f"a block of type {block.kind!r}, for which the output has no item; "
        lost.dropped(f"content[{i}]", what + "it stays in a reasoning item, and goes back with it")


def encode_response(
    response: ours.Response, *, request: ours.Request | None = None, dialect: MessagesDialect = ANTHROPIC
) -> tuple[types.Message | types.Error, list[Loss]]:
    """The answer of Anthropic; an error body for a failed one. `request` has the model where the response does not."""
    lost = Losses()
    if response.status == "failed":
        for name in ("output", "usage", "service_tier"):
            if getattr(response, name):
                lost.dropped(name, "a failed answer, which is sent as an error at Anthropic")
        failure = encode_failure(response, request, lost)
        _report_error(response.error or ours.ResponseError(), failure.error.type, lost)
        return failure, lost
    model = model_of(response, request)
    wants_thinking = None if request is None else asks_thinking(request)
    message = AssistantMessage(
        Context(lost, dialect, messages_model(model), replay=False), wants_thinking=wants_thinking
    )
    content = [block for i, item in enumerate(response.output) for block in message.write(item, i)]
    content += message.close()
    return encode_end(response, model, content, lost), lost


def _report_error(error: ours.ResponseError, sent: str, lost: Losses) -> None:
    """Report the fields of an error that Anthropic's errors lack."""
    for name in ("param", "misalignment"):
        if getattr(error, name) is not None:
            lost.dropped(f"error.{name}", no_such("field", "Anthropic"))
    if error.type is not None and error.type not in (sent, error.code):
        lost.changed("error.type", f"Anthropic has no error of type {error.type!r}; {sent} is sent")


def id_of(message: types.Message) -> str:
    """The id of an answer, derived from its content if its host gave it none."""
    id = message.id
    return id if type(id) is str else str(id) if given(id) else f"msg_{digest(encode(message).decode())}"


def model_of(response: ours.Response, request: ours.Request | None) -> str:
    """The model of the answer, which Anthropic's format requires."""
    return response.model or (request.model if request else "") or ""


def begin_response(message: types.Message, request: ours.Request | None, now: float) -> ours.Response:
    """The response before any output."""
    reader = BlockReader("", id_of(message), keep=False)
    response = finish_response(message, reader, 0, request, now)
    return replace(response, status="in_progress", input_transformations=None)


def finish_response(
    message: types.Message, reader: BlockReader, blocks: int, request: ours.Request | None, now: float
) -> ours.Response:
    """The response for `message`, of whose blocks `reader` has read that many."""
    used, stop, output = message.usage, message.stop_reason, reader.close()
    response = new_answer(reader.id or "", now, message.model, request)
    response.status, response.output = "completed", output
    if used:
        response.usage = decode_usage(used)
        if tier := used.service_tier:
            response.service_tier = TIERS.get(tier, tier)
    if reader.hosted:
        container = message.container.get("id") if message.container else None
        continues = stop in ("pause_turn", "tool_use")
        finish_runs(reader.hosted, continues, container if isinstance(container, str) else None)
    if stop != "end_turn" and stop != "tool_use":
        _end_early(response, message, reader, blocks)
    if message.input_transformations is not UNSET:
        response.input_transformations = [_decode_transformation(one) for one in message.input_transformations or ()]
    if reader.keep:
        keep_response(response, message)
    return response


def keep_response(response: ours.Response, message: types.Message) -> None:
    """Store the fields of the answer that its re-encoding lacks on the response."""
    made = encode_end(response, response.model or "", [], Losses())
    if response.usage and given(message.usage) and given(made.usage):
        response.usage.leftovers = as_leftovers(diff(message.usage, made.usage))
        made.usage = message.usage
    left = diff(message, made, replace(RULES, apart=frozenset({"content"})))
    notes = as_object(left.get(SPELLING))
    if "stop_details" in notes and given(message.stop_details):
        expected = as_object(made.stop_details)
        unusual = {
            name: value for name, value in message.stop_details.items() if given(value) and value != expected.get(name)
        }
        notes[NEAR] = {f"stop_details.{name}": inexact(value) for name, value in unusual.items() if name in expected}
    response.leftovers = as_leftovers(left)


def _end_early(response: ours.Response, message: types.Message, reader: BlockReader, blocks: int) -> None:
    stop, output = message.stop_reason, response.output
    # An answer without a reason is not over yet.
    response.status, reason = FINISH_REASONS.get(stop, ("incomplete", stop)) if given(stop) else ("in_progress", None)
    if reason is not None:
        response.incomplete_details = ours.IncompleteDetails(reason=reason)
    if stop == "refusal":
        # A stream has sent some of them already, and sent events cannot change.
        output[:] = [item if isinstance(item, Unknown) else replace(item, status="incomplete") for item in output]
        explanation = (message.stop_details or {}).get("explanation")
        if isinstance(explanation, str) and explanation:
            part = ours.RefusalPart(refusal=explanation)
            named = reader.id_of("msg", blocks)
            output.append(ours.Message(id=named, role="assistant", status="incomplete", content=[part]))
    elif reason == "max_output_tokens":
        # The last visible item was cut off; a carrier behind it is not that item.
        carriers = {id(one) for one in reader.carriers or ()}
        last = next((item for item in reversed(output) if id(item) not in carriers), None)
        if last is not None and not isinstance(last, Unknown):
            last.status = "incomplete"


TRANSFORMATIONS = {"thinking_dropped": "removed", "thinking_mismatch_allowed": "kept"}
"""What happened to a thinking block of the request, in words of Anthropic on the left."""
TRANSFORMATIONS_BACK = {our: theirs for theirs, our in TRANSFORMATIONS.items()}


def _decode_transformation(change: Json) -> Json:
    action, reason = TRANSFORMATIONS.get(str(change.get("type"))), change.get("reason")
    if action is None or not isinstance(reason, str):
        return change
    word = reason.replace("_binding_mismatch", "_mismatch")
    return {**change, "type": "reasoning", "action": action, "reason": word}


def _encode_transformations(response: ours.Response, lost: Losses) -> Opt[list[Json]]:
    """What happened to blocks of the request, in the vendor's words."""
    if response.input_transformations is None:
        return UNSET
    made: list[Json] = []
    for k, one in enumerate(response.input_transformations):
        change = as_object(one)
        action, reason, place = (change.get(name) for name in ("action", "reason", "path"))
        if str(change.get("type")) in TRANSFORMATIONS or change.get("type") not in (None, "reasoning"):
            made.append({**change})
        elif action in TRANSFORMATIONS_BACK and isinstance(reason, str) and isinstance(place, str):
            others = {name: value for name, value in change.items() if name not in ("type", "action", "path", "reason")}
            word = re.sub("(?<!_binding)_mismatch$", "_binding_mismatch", reason)
            made.append({"type": TRANSFORMATIONS_BACK[action], "path": place, "reason": word, **others})
        else:
            lost.dropped(f"input_transformations[{k}]", "a change of an item that Anthropic names by its place")
    return made


def encode_end(response: ours.Response, model: str, content: list[types.AnyBlock], lost: Losses) -> types.Message:
    """The answer around its content: its stop reason, with the refusals among its items, and its usage."""
    left = own_leftovers(response, WIRE, "", lost)
    report_answer(response, lost, "input_transformations", "service_tier")
    stop: Any = encode_finish_reason(response, lost)
    details: Opt[Json] = UNSET
    if refusals := _refusals(response.output):
        details = {"type": "refusal", "category": None, "explanation": "\n".join(refusals.values())}
        for path in refusals if len(refusals) > 1 else ():
            lost.changed(path, "several refusals, joined to one for Anthropic")
        if stop != "refusal":
            stop = "refusal"
            ended = "status" if response.status == "completed" else "incomplete_details.reason"
            lost.changed(ended, "text after a refusal, which ends an answer at Anthropic")
    body = types.Message(
        id=response.id,
        model=model,
        content=content,
        stop_reason=stop,
        stop_sequence=None,
        stop_details=details,
        usage=encode_usage(response, lost),
        input_transformations=_encode_transformations(response, lost),
    )
    body = patch(body, left)
    if not response.usage and given(body.usage):
        lost.changed("usage", "missing counts, which Anthropic requires; sent as 0")
    return body


def overwrite(struct: Any, news: Model, names: tuple[str, ...] = ()) -> None:
    """Set in `struct` the values of `news` (of `names`, where given); a null changes nothing."""
    for name in names or base(news).__struct_fields__:
        value = getattr(news, name)
        if value is not UNSET and (value is not None or getattr(struct, name) is UNSET):
            setattr(struct, name, value)


def change_message(message: types.Message, event: types.MessageDelta, lost: Losses) -> types.Message:
    """The answer with fields that arrived after its beginning was sent, which replace those of the beginning."""
    overwrite(message, event.delta)
    overwrite(message, event, ("context_management", "input_transformations"))
    if given(event.usage):
        message.usage = message.usage or types.Usage()
        overwrite(message.usage, event.usage)
        if more := extras(event.usage):
            message.usage = with_extras(message.usage, extras(message.usage) | more)
    if more := extras(event) | extras(event.delta):
        least: Json = {"type": "message", "content": []}
        return set_fields(message, least, more, types.RESPONSE, "message_delta", lost)
    return message


def message_delta(started: types.Message, body: types.Message) -> types.MessageDelta:
    """The fields that became known after the answer had begun."""
    ending = types.Ending(**{name: getattr(body, name) for name in types.Ending.__struct_fields__})
    more = extras(body) | ({} if body.diagnostics is UNSET else {"diagnostics": as_plain(body.diagnostics)})
    if body.role != started.role:
        more["role"] = body.role
    counts = body.usage or types.Usage()
    usage, news = types.Usage(output_tokens=counts.output_tokens), base(counts)
    for name in types.Usage.__struct_fields__:
        if name == "input_tokens" or getattr(news, name) != getattr(started.usage, name):
            setattr(usage, name, getattr(news, name))
    return types.MessageDelta(
        delta=with_extras(ending, more),
        usage=with_extras(usage, extras(counts)),
        context_management=body.context_management,
        input_transformations=body.input_transformations,
    )


def _refusals(output: Sequence[ours.AnyItem]) -> dict[str, str]:
    return {
        f"output[{i}].content[{j}]": part.refusal
        for i, item in enumerate(output)
        if isinstance(item, ours.Message) and not isinstance(item.content, str)
        for j, part in enumerate(item.content)
        if isinstance(part, ours.RefusalPart)
    }


def encode_finish_reason(response: ours.Response, lost: Losses) -> str | None:
    """The stop reason of a response."""
    status, details = response.status, response.incomplete_details
    if status == "completed":
        return "tool_use" if any(isinstance(item, Call) for item in response.output) else "end_turn"
    if status != "incomplete":
        if status != "in_progress":
            lost.changed("status", f"Anthropic has no answer that is {status}")
        return None
    reason = (details.reason or None) if details else None
    if reason is None:
        lost.changed("status", "an incomplete answer without a reason; sent as max_tokens")
    elif reason in INEXACT:
        lost.changed("incomplete_details.reason", f"Anthropic has no reason {reason!r}; the nearest is sent")
    return FINISH_REASONS_BACK.get(reason, reason) if reason else "max_tokens"


# --- token usage ----------------------------------------------------------------------------------------------------

TIERS = {"standard": "default", "priority": "priority", "batch": "default"}
"""Service tiers of answers, those of Anthropic on the left; encoding prefers the first."""
TIERS_BACK = {"default": "standard", "priority": "priority"}


def decode_usage(used: types.Usage) -> ours.Usage:
    """Token counts of Responses: input with cache reads and writes."""
    input, output, thought = used.input_tokens or 0, used.output_tokens or 0, used.output_tokens_details
    read, written = used.cache_read_input_tokens, used.cache_creation_input_tokens
    details: ours.InputTokensDetails | None = None
    if read is not UNSET or written is not UNSET:
        input += (read or 0) + (written or 0)
        details = ours.InputTokensDetails(cached_tokens=read or 0, cache_write_tokens=written or 0)
    usage = ours.Usage(
        input_tokens=input, input_tokens_details=details, output_tokens=output, total_tokens=input + output
    )
    if thought and "thinking_tokens" in thought:
        usage.output_tokens_details = ours.OutputTokensDetails(reasoning_tokens=thought["thinking_tokens"])
    return usage


def encode_usage(response: ours.Response, lost: Losses) -> types.Usage:
    """Token counts of Anthropic: input without cache reads and writes."""
    used, body, tier = response.usage, types.Usage(input_tokens=0, output_tokens=0), response.service_tier
    left = own_leftovers(used, WIRE, "usage", lost) if used else {}
    if given(tier) and tier != left.get("service_tier"):
        body.service_tier = TIERS_BACK.get(tier, UNSET)
        if body.service_tier is UNSET:
            lost.dropped("service_tier", f"Anthropic has no tier {tier!r}")
    if not used:
        return body
    report_usage(used, WIRE, lost, *DETAILS)
    input, body.output_tokens = used.input_tokens, used.output_tokens
    cached = used.input_tokens_details
    if given(cached):
        body.cache_read_input_tokens = int(cached.cached_tokens or 0)
        body.cache_creation_input_tokens = int(cached.cache_write_tokens or 0)
        input -= body.cache_read_input_tokens + body.cache_creation_input_tokens
    body.input_tokens = max(input, 0)
    if input < 0:
        lost.changed(
            "usage.input_tokens", "less than what of it came from the cache; it is said to be none beside that"
        )
    if given(used.output_tokens_details) and given(used.output_tokens_details.reasoning_tokens):
        body.output_tokens_details = {"thinking_tokens": int(used.output_tokens_details.reasoning_tokens)}
    return patch(body, left)


# --- errors ----------------------------------------------------------------------------------------------------------

STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The vendor's error types and the status each comes with."""

TYPES: dict[type, str] = {
    errors.PermissionDeniedError: "permission_error",
    errors.AuthenticationError: "authentication_error",
    errors.QuotaError: "billing_error",
    errors.RateLimitError: "rate_limit_error",
    errors.OverloadedError: "overloaded_error",
    errors.NotFoundError: "not_found_error",
    errors.RequestTooLargeError: "request_too_large",
    errors.ConflictError: "conflict_error",
    errors.ServerTimeoutError: "timeout_error",
    errors.BadRequestError: "invalid_request_error",
    errors.UnprocessableEntityError: "invalid_request_error",
    errors.ContentFilterError: "invalid_request_error",
}
"""The type for a kind of error of another vendor; any other is an `api_error`."""

CODES = {
    "api_error": "server_error",
    "timeout_error": "server_error",
    "overloaded_error": "server_overloaded",
    "rate_limit_error": "rate_limit_exceeded",
}
"""Codes of failed responses, those of Anthropic on the left; other types are unchanged."""


def decode_error(status: int, headers: Mapping[str, str], body: bytes) -> ErrorFacts:
    """The facts of an error answer."""
    facts = error_facts(WIRE, status, headers, body)
    document = facts.leftovers.get(WIRE, {})
    facts.code = _error_code(as_object(document.get("error")).get("details")) or facts.code
    if facts.request_id is None and isinstance(document.get("request_id"), str):
        facts.request_id = document["request_id"]
    return facts


def _error_code(details: Any) -> str | None:
    """The specific error code, where the vendor gives more than the type of an error."""
    code = as_object(details).get("error_code")
    return code if isinstance(code, str) else None


def encode_error(facts: ErrorFacts) -> tuple[int, types.Error]:
    """The status and the body of an error on this wire."""
    type = facts.type
    if type not in STATUSES:
        type = next((TYPES[kind] for kind in error_class(facts).__mro__ if kind in TYPES), "api_error")
    inner: dict[str, Any] = facts.leftovers.get(WIRE, {}).get("error", {})
    details = inner.get("details", {"error_code": facts.code} if facts.code else UNSET)
    error = types.ErrorDetail(type=type, message=facts.message, details=details)
    return status_of(facts, STATUSES[type]), types.Error(error=error, request_id=facts.request_id or UNSET)


def decode_failure(body: types.Error, request: ours.Request | None, now: float, *, keep: bool) -> ours.Response:
    """The failed response for an error body in place of an answer."""
    error = body.error
    code = _code_of(error)
    id = body.request_id if given(body.request_id) else f"error_{digest(error.message)}"
    response = new_answer(id, now, "", request)
    response.status = "failed"
    response.error = ours.ResponseError(code=code, type=error.type, message=error.message)
    if keep:
        response.leftovers = as_leftovers(diff(body, encode_failure(response, request, Losses())))
    return response


def _code_of(error: types.ErrorDetail) -> str:
    return _error_code(error.details) or CODES.get(error.type, error.type)


def encode_failure(response: ours.Response, request: ours.Request | None, lost: Losses) -> types.Error:
    """The error body for a failed response."""
    left = own_leftovers(response, WIRE, "", lost)
    report_answer(response, lost, "input_transformations", "service_tier")
    error = response.error or ours.ResponseError()
    code = str(error.code) if given(error.code) else None
    facts = ErrorFacts(status=0, message=error.message or "the model failed", type=error.type, code=code)
    body = types.Error(error=encode_error(facts)[1].error)
    body.error.details = UNSET
    body = patch(body, left)
    if given(error.code) and error.code != _code_of(body.error):
        lost.changed("error.code", f"Anthropic has no kind of error {error.code!r}")
    return body


# --- counting tokens ---------------------------------------------------------------------------------------------


def encode_count(
    request: ours.Request, *, dialect: MessagesDialect = ANTHROPIC
) -> tuple[types.CountRequest, list[Loss]]:
    """The body of a request to count tokens."""
    body, lost = encode_request(request, dialect=dialect)
    return types.CountRequest(**{name: getattr(body, name) for name in types.CountRequest.__struct_fields__}), lost


def decode_count(body: types.CountRequest, *, dialect: MessagesDialect = ANTHROPIC) -> tuple[ours.Request, list[Loss]]:
    """The request whose tokens are to be counted."""
    fields = {name: getattr(body, name) for name in types.CountRequest.__struct_fields__}
    request, lost = decode_request(types.Request(max_tokens=1, **fields), dialect=dialect)
    request.max_output_tokens = None
    return request, lost


def count_route(request: ours.Request, *, dialect: MessagesDialect = ANTHROPIC) -> Route:
    """The route of token counting."""
    there = route(request, dialect=dialect)
    return Route(f"{there.path}/count_tokens", headers=there.headers)
