"""The answer, both ways, and errors: how it ended, what it cost, what went wrong.

Before changing this file, know that this wire counts input without what the cache gave and took, and Responses with it; that
streams end here too; and that callers branch on the `type` of an error, never on its message. Follows the Messages reference
and the guides to stop reasons and errors of Anthropic (read 2026-11-20).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from msgspec import UNSET
from msgspec.structs import replace

from ... import responses as ours
from ...errors import (
    APIStatusError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    ContentFilterError,
    ErrorFacts,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    QuotaError,
    RateLimitError,
    RequestTooLargeError,
    ServerTimeoutError,
    UnprocessableEntityError,
    error_class,
)
from ...losses import Loss, Losses
from ...responses.carriers import digest
from ...responses.echo import echo
from ...responses.leftovers import SPELLING
from ...unknown import Opt, Unknown, given, or_none
from ...vendors.dialects import MessagesDialect, messages_model
from .._errors import error_facts
from .._left import absent, report_answer
from . import types
from .content import DEFAULT, WIRE, Context, beyond, encode, left, own, own_fields, rest, returned
from .messages import TIERS, BlockReader, BlockWriter, decode_usage, encode_usage, plain_answer
from .tools import conclude, renamed

STATUS = {
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

TYPES: tuple[tuple[type[APIStatusError], str], ...] = (
    (PermissionDeniedError, "permission_error"),
    (AuthenticationError, "authentication_error"),
    (QuotaError, "billing_error"),
    (RateLimitError, "rate_limit_error"),
    (OverloadedError, "overloaded_error"),
    (NotFoundError, "not_found_error"),
    (RequestTooLargeError, "request_too_large"),
    (ConflictError, "conflict_error"),
    (ServerTimeoutError, "timeout_error"),
    (BadRequestError, "invalid_request_error"),
    (UnprocessableEntityError, "invalid_request_error"),
    (ContentFilterError, "invalid_request_error"),
)
"""The type for a kind of error of another vendor, the narrower kinds first; anything else is an `api_error`."""

CODES = {
    "api_error": "server_error",
    "timeout_error": "server_error",
    "overloaded_error": "server_overloaded",
    "rate_limit_error": "rate_limit_exceeded",
}
"""Codes of failed responses, theirs on the left; other types stay as they are."""


def decode_error(status: int, headers: Mapping[str, str], body: bytes) -> ErrorFacts:
    """What an error answer says."""
    facts = error_facts(WIRE, status, headers, body)
    said = facts.leftovers.get(WIRE, {})
    details = said.get("error", {}).get("details") if isinstance(said.get("error"), dict) else None
    facts.code = _error_code(details) or facts.code
    if facts.request_id is None and isinstance(said.get("request_id"), str):
        facts.request_id = said["request_id"]
    return facts


def _error_code(details: Any) -> str | None:
    """What exactly went wrong, where the vendor says more than the type of an error."""
    code = cast("dict[str, Any]", details).get("error_code") if isinstance(details, dict) else None
    return code if isinstance(code, str) else None


def encode_error(facts: ErrorFacts) -> tuple[int, types.Error]:
    """The status and body with which this wire says it."""
    type = facts.type
    if type not in STATUS:
        kind = error_class(facts)
        type = next((name for cls, name in TYPES if issubclass(kind, cls)), "api_error")
    inner: dict[str, Any] = facts.leftovers.get(WIRE, {}).get("error", {})
    details = inner.get("details", {"error_code": facts.code} if facts.code else UNSET)
    error = types.ErrorDetail(type=type, message=facts.message, details=details)
    status = facts.status if facts.status >= 400 else STATUS[type]
    return status, types.Error(error=error, request_id=facts.request_id or UNSET)


def decode_failure(body: types.Error, request: ours.Request | None, now: float) -> ours.Response:
    """The failed response that an error body in the place of an answer is."""
    error = body.error
    code = _error_code(error.details) or CODES.get(error.type, error.type)
    fields = rest(body, ("request_id",))
    more = rest(error, ("details",))
    if more:
        fields["error"] = more
    return ours.Response(
        id=body.request_id if given(body.request_id) else f"error_{digest(error.message)}",
        created_at=now,
        status="failed",
        error=ours.ResponseError(code=code, type=error.type, message=error.message),
        incomplete_details=None,
        output=[],
        leftovers=left(fields),
        **echo(request),
    )


def encode_failure(response: ours.Response) -> types.Error:
    """The error body for a failed response."""
    error = response.error or ours.ResponseError()
    message = error.message if given(error.message) else "the model failed"
    facts = ErrorFacts(
        status=0,
        message=message,
        type=error.type if given(error.type) else None,
        code=str(error.code) if given(error.code) else None,
    )
    kept = own(response.leftovers)
    _, body = encode_error(facts)
    more: dict[str, Any] = kept.get("error", {})
    body.error.details = more.get("details", UNSET)
    body.request_id = kept.get("request_id", UNSET)
    return body


STOPS: dict[str, tuple[str, str | None]] = {
    "end_turn": ("completed", None),
    "stop_sequence": ("completed", None),
    "tool_use": ("completed", None),
    "compaction": ("completed", None),
    "max_tokens": ("incomplete", "max_output_tokens"),
    "model_context_window_exceeded": ("incomplete", "max_output_tokens"),
    "pause_turn": ("incomplete", "pause_turn"),
    "refusal": ("incomplete", "content_filter"),
}
"""How an answer ended, theirs on the left. An unknown reason is incomplete, for that reason."""
REASONS = {
    "max_output_tokens": "max_tokens",
    "content_filter": "refusal",
    "max_messages": "max_tokens",
    "steered": "end_turn",
}
"""Reasons of an incomplete answer, ours on the left, the likelier of several; any other is a stop reason of this wire."""
INEXACT = ("max_messages", "steered")

TRANSFORMATIONS = {
    "model_binding_mismatch": "model_mismatch",
    "prefix_binding_mismatch": "prefix_mismatch",
    "organization_binding_mismatch": "organization_mismatch",
    "end_user_binding_mismatch": "end_user_mismatch",
}
"""Why thinking that was sent along did not count, theirs on the left."""
SPELLED = frozenset({"id", "model", "stop_reason", "usage"})
"""Fields that Responses has too, and that only are written otherwise."""
CALLS = (ours.FunctionCall, ours.CustomToolCall)


# --- this wire to Responses -----------------------------------------------------------------------------------------


def decode_response(
    body: types.Message | types.Error,
    *,
    request: ours.Request | None = None,
    dialect: MessagesDialect = DEFAULT,
    now: float = 0,
) -> tuple[ours.Response, list[Loss]]:
    """The Response that an answer is. `request` undoes what sending it renamed, and is echoed; `now` is when it was made."""
    named = renamed(request.tools) if request is not None and request.tools else None
    plain = None if named else plain_answer(body, now)
    if plain is not None:
        return plain if request is None else _echoed(plain, request), []
    if isinstance(body, types.Error):
        return decode_failure(body, request, now), []
    reader = BlockReader(dialect.issuer, id_of(body), named)
    for i, block in enumerate(body.content):
        reader.add(i, block)
    return answered(body, reader, len(body.content), request, now), []


def id_of(message: types.Message) -> str:
    """The id of an answer, made from what it says where its host gave it none."""
    return f"msg_{digest(encode(message).decode())}" if message.id is UNSET or message.id is None else str(message.id)


def answered(
    message: types.Message, reader: BlockReader, blocks: int, request: ours.Request | None, now: float
) -> ours.Response:
    """The Response for `message`, whose so many blocks `reader` has read."""
    used, stop, output = message.usage, message.stop_reason, reader.close()
    response = ours.Response(
        id=reader.id or "", created_at=now, status="completed", model=message.model or "", output=output
    )
    if given(used):
        response.usage = decode_usage(used)
        if given(used.service_tier):
            response.service_tier = TIERS.get(used.service_tier, used.service_tier)
    container = message.container.get("id") if message.container else None
    conclude(reader.hosted, stop in ("pause_turn", "tool_use"), container if isinstance(container, str) else UNSET)
    if stop != "end_turn" and stop != "tool_use":
        _end_early(response, message, reader, blocks)
    _leave(response, message)
    return response if request is None else _echoed(response, request)


def _echoed(response: ours.Response, request: ours.Request) -> ours.Response:
    for name, value in echo(request).items():
        setattr(response, name, value)
    return response


def _end_early(response: ours.Response, message: types.Message, reader: BlockReader, blocks: int) -> None:
    stop, output = message.stop_reason, response.output
    response.status, reason = STOPS.get(stop, ("incomplete", stop)) if given(stop) else ("in_progress", None)
    if reason is not None:
        response.incomplete_details = ours.IncompleteDetails(reason=reason)
    if stop == "refusal":
        # A stream has told some of them already, and what was told stays as it was.
        output[:] = [item if isinstance(item, Unknown) else replace(item, status="incomplete") for item in output]
        explanation = (message.stop_details or {}).get("explanation")
        if isinstance(explanation, str) and explanation:
            said = ours.RefusalPart(refusal=explanation)
            named = reader.id_of("msg", blocks)
            output.append(ours.Message(id=or_none(named), role="assistant", status="incomplete", content=[said]))
    elif reason == "max_output_tokens":
        # The last thing the model did was cut short; a carrier behind it is not that thing.
        carriers = {id(one) for one in reader.carriers}
        last = next((item for item in reversed(output) if id(item) not in carriers), None)
        if last is not None and not isinstance(last, Unknown):
            last.status = "incomplete"


def _leave(response: ours.Response, message: types.Message) -> None:
    """Leave what describes this answer only."""
    stop, model, usage = _stop_reason(response), message.model or "", message.usage or types.Usage()
    same = types.Message(
        id=response.id, model=model, content=message.content, stop_reason=stop, stop_sequence=None, usage=usage
    )
    response.leftovers = left(beyond(message, same, SPELLED))
    if message.input_transformations is not UNSET:
        response.input_transformations = [_transformation(said) for said in message.input_transformations or ()]


def _transformation(said: dict[str, Any]) -> dict[str, Any]:
    action = "removed" if said.get("type") == "thinking_dropped" else "kept"
    reason = TRANSFORMATIONS.get(said.get("reason", ""), said.get("reason", ""))
    return {"type": "reasoning", "action": action, "reason": reason, "path": said.get("path", "")}


# --- Responses to this wire -----------------------------------------------------------------------------------------


def encode_response(
    response: ours.Response, *, request: ours.Request | None = None, dialect: MessagesDialect = DEFAULT
) -> tuple[types.Message | types.Error, list[Loss]]:
    """The answer of this wire for a Response; a failed one is an error body. `request` names the model where it does not."""
    lost = Losses()
    if response.status == "failed":
        own_fields(response.leftovers, "", lost)
        report_answer(response, lost, "input_transformations", "service_tier")
        for name in ("output", "usage", "service_tier"):
            if getattr(response, name):
                lost.dropped(name, "a failed answer is an error at Anthropic and nothing else")
        failed = encode_failure(response)
        meant, code = decode_failure(failed, request, 0).error, response.error.code if response.error else UNSET
        if given(code) and meant and meant.code != code:
            lost.changed("error.code", f"Anthropic has no kind of error {code!r}")
        return failed, lost
    model = model_of(response, request)
    writer = BlockWriter(Context(lost, dialect, messages_model(model), replay=False))
    content = [block for i, item in enumerate(response.output) for block in writer.write(item, f"output[{i}]")]
    content += writer.close()
    return encode_end(response, model, content, writer.refusals, lost), lost


def model_of(response: ours.Response, request: ours.Request | None) -> str:
    """The model that answered, which an answer of this wire has to name."""
    return response.model or (request.model if request else "") or ""


def encode_end(
    response: ours.Response, model: str, content: list[types.AnyBlock], refusals: list[tuple[str, str]], lost: Losses
) -> types.Message:
    """The answer around its content: how it ended, with the `refusals` among its items, and what it cost."""
    kept = own_fields(response.leftovers, "", lost)
    report_answer(response, lost, "input_transformations", "service_tier")
    stop, usage = _encode_stop(response, kept, lost), encode_usage(response, lost)
    if refusals and stop != "refusal":
        stop = "refusal"
        ended = "status" if response.status == "completed" else "incomplete_details.reason"
        lost.changed(ended, "an answer that refuses ends with that at Anthropic")
    spelled: dict[str, Any] = kept.get(SPELLING, {})
    fields = {**kept, SPELLING: {name: value for name, value in spelled.items() if name != "stop_reason"}}
    if refusals:
        said = "\n".join(text for _, text in refusals)
        for path, _ in refusals if len(refusals) > 1 else ():
            lost.changed(path, "an answer refuses once at Anthropic; its refusals become one")
        details: dict[str, Any] = fields.get("stop_details") or {}
        if details.get("explanation") != said:
            fields["stop_details"] = {"type": "refusal", "category": None, "explanation": said}
    body = types.Message(
        id=response.id, model=model, content=content, stop_reason=stop, stop_sequence=None, usage=usage
    )
    if "id" in spelled:
        body.id = UNSET
    if not response.usage and "usage" in spelled:
        body.usage = UNSET
    elif not response.usage:
        lost.changed("usage", "counts that were not given, which Anthropic requires; it says 0")
    return returned(body, fields, "leftovers", lost)


def _encode_stop(response: ours.Response, kept: dict[str, Any], lost: Losses) -> Opt[str]:
    """The stop reason: as it was spelled, where that still means what the response says."""
    spelled: dict[str, Any] = kept.get(SPELLING, {})
    status, details = response.status, response.incomplete_details
    reason = (details.reason or None) if details else None
    if "stop_reason" in spelled:
        said: Opt[str] = absent(spelled["stop_reason"])
        meant = STOPS.get(said, ("incomplete", said)) if isinstance(said, str) else ("in_progress", None)
        if (status, reason) == meant:
            return said
    if reason in INEXACT:
        lost.changed("incomplete_details.reason", f"Anthropic has no reason {reason!r}; the nearest is given")
    elif status == "incomplete" and not reason:
        lost.changed("status", "an incomplete answer has a reason at Anthropic; it is said to be too long")
    elif status not in ("completed", "incomplete", "in_progress"):
        lost.changed("status", f"Anthropic has no answer that is {status}")
    return _stop_reason(response)


def _stop_reason(response: ours.Response) -> str | None:
    """The stop reason that a response has if nothing else is known."""
    if response.status == "completed":
        for item in response.output:
            if isinstance(item, CALLS):
                return "tool_use"
        return "end_turn"
    if response.status != "incomplete":
        return None
    reason = response.incomplete_details.reason if response.incomplete_details else None
    return REASONS.get(reason, reason) if given(reason) else "max_tokens"
