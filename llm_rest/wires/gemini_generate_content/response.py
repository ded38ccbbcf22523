"""Conversion of the answer, both ways: output, finish reason, token usage and sources; and errors.

Before changing this file, know that a streamed answer must give the same result (`finish_response` serves both), that the
HTTP status is 200 however an answer ends, that calls end with `STOP` like a text does, that a malformed call never counts
as completed, that a count of 0 is left out, that thoughts are not among the tokens of the candidates, and that one status
of an error covers many cases: an invalid key is a bad request with the cause in its details, and a rate limit is a daily
quota if the quota's name has that. Follows the references of `GenerateContentResponse`, `FinishReason`, `BlockReason`,
`UsageMetadata`, `LogprobsResult` and `google.rpc`, and Google's page on troubleshooting (read 2026-11-20).
"""

from __future__ import annotations

import re
from copy import copy
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

from ... import responses as ours
from ...losses import Loss, Losses
from ...responses.carriers import GROUP, SPELLING, WITHIN, digest
from ...unknown import as_list, as_object, given, with_extras
from ...vendors.dialects import GeminiDialect, gemini_model
from ..errors import error_facts, status_of
from ..kept import Rules, diff, keep_message, kept_message, note, own_leftovers, patch, unknown
from ..leftovers import new_answer, report_answer, report_unknown, report_usage, set_status
from ..tools import sent_tools
from . import types
from .content import Context, annotated, grounding_of, pages_of, reported_tools
from .reasoning import AssistantMessage, Reader
from .request import DEFAULT, TIERS, TIERS_BACK
from .tools import wire_name
from .types import WIRE, Json, encode, restored

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...errors import ErrorFacts

__all__ = ["decode_error", "decode_response", "encode_error", "encode_response"]

CANDIDATE = "candidates[0]"
"""Key of the candidate's leftovers, among those of the answer."""

RULES = Rules(
    apart=frozenset({"candidates", "usageMetadata", "responseId"}), defaults={"candidates": [], "modelVersion": ""}
)
CANDIDATE_RULES = Rules(
    defaults={"finishReason": ..., "role": ("user", "")},
    words=frozenset({"role"}),
    near=frozenset("groundingChunks groundingSupports startIndex endIndex text urlContextMetadata".split()),
)


# --- the whole answer -----------------------------------------------------------------------------------------------


def decode_response(
    body: types.Response,
    *,
    request: ours.Request | None = None,
    dialect: GeminiDialect = DEFAULT,
    now: float = 0,
    keep: bool = True,
) -> tuple[ours.Response, list[Loss]]:
    """The response for an answer. `request` reverses renaming and is echoed; `now` is its creation time.

    `keep` preserves data that describes this document and its notation; fields of parts beyond items always stay.
    """
    lost = Losses()
    response_id = id_of(body)
    candidates = body.candidates or ()
    candidate = candidates[0] if candidates else types.Candidate()
    reader = reader_of(response_id, request, dialect, lost)
    content = candidate.content
    for part in () if content is UNSET else content.parts or ():
        reader.add(part)
    reader.close()
    response = begin_response(body, response_id, request, now)
    finish_response(response, body, candidate, reader, dialect, keep=keep)
    if len(candidates) > 1:
        lost.dropped("candidates[1]", "only the first of several candidates becomes output")
    return response, lost


def encode_response(
    response: ours.Response, *, request: ours.Request | None = None, dialect: GeminiDialect = DEFAULT
) -> tuple[types.Response, list[Loss]]:
    """The answer of this wire for a Response; a failed one has its reason in `error`."""
    lost = Losses()
    left = own_leftovers(response, WIRE, "", lost)
    report_answer(response, lost, "service_tier")
    model = response.model or (request.model if request is not None else "") or ""
    made, candidate, found = _encode_answer(response, model, dialect, lost)
    inner = as_object(left.get(CANDIDATE))
    patched = patch(candidate, inner)
    if patched.grounding_metadata is candidate.grounding_metadata:
        lost += found
        if given(candidate.grounding_metadata):
            patched.citation_metadata = UNSET
    made.candidates = [patched]
    body = patch(made, {name: value for name, value in left.items() if name not in (CANDIDATE, "candidates")})
    if "responseId" in as_object(left.get(SPELLING)):
        body.response_id = UNSET
    others = restored(types.Response, {"candidates": left["candidates"]}) if "candidates" in left else None
    if body.candidates and others is not None:
        body.candidates += others.candidates or ()
    if given(body.error) and body.candidates == [BARE]:
        body.candidates = UNSET
    return body, lost


BARE = types.Candidate(content=types.Content(role="model"), index=0)
"""The candidate of an answer without any."""


def id_of(body: types.Response) -> str:
    """The id of an answer, derived from its content if it has none."""
    return body.response_id if body.response_id is not UNSET else f"resp_{digest(encode(body).decode())}"


def reader_of(response_id: str, request: ours.Request | None, dialect: GeminiDialect, lost: Losses) -> Reader:
    """A reader for the parts of one answer."""
    named = sent_tools(request, custom_tools=False, naming=wire_name) if request is not None else None
    return Reader(dialect.issuer, response_id, lost, True, named)


def begin_response(body: types.Response, response_id: str, request: ours.Request | None, now: float) -> ours.Response:
    """The response before any output."""
    return new_answer(response_id, decode_time(body.create_time, now), body.model_version, request)


def finish_response(
    response: ours.Response,
    body: types.Response,
    candidate: types.Candidate,
    reader: Reader,
    dialect: GeminiDialect,
    *,
    keep: bool,
) -> None:
    """Complete a response whose parts are all read: its output, finish reason, and data that describes only it."""
    bare = candidate.citation_metadata is candidate.grounding_metadata is candidate.logprobs_result is UNSET
    bare = bare and candidate.url_context_metadata is UNSET
    response.output = reader.items if bare else _with_sources(candidate, reader, response.id)
    decode_finish_reason(response, body, candidate)
    counted = body.usage_metadata
    if counted is not UNSET:
        response.usage = decode_usage(counted, keep=keep)
        if counted.service_tier is not UNSET:
            response.service_tier = TIERS_BACK.get(counted.service_tier, counted.service_tier)
    content = candidate.content
    if content is not UNSET and type(content) is not types.Content and response.output:
        response.output[0] = copy(response.output[0])  # which a stream has already emitted
        keep_message(response.output[0], WIRE, unknown(replace(content, parts=[])))
    if keep and (left := keep_answer(response, body, candidate, dialect)):
        response.leftovers = {WIRE: left}


def _with_sources(candidate: types.Candidate, reader: Reader, origin: str) -> list[ours.AnyItem]:
    """The output with the data of the candidate: sources, searches, log probabilities."""
    output = annotated(reader.items, reader.outputs, candidate)
    if given(candidate.logprobs_result) and len(reader.outputs) == 1:
        message = next(item for item in output if isinstance(item, ours.Message))
        part = message.content[0]
        if isinstance(part, ours.OutputText):
            part.logprobs = decode_logprobs(candidate.logprobs_result)
    return [*output, *reported_tools(candidate, output, origin)]


def keep_answer(
    response: ours.Response, body: types.Response, candidate: types.Candidate, dialect: GeminiDialect
) -> Json:
    """The fields of an answer that our encoding of the response lacks."""
    made, our, _ = _encode_answer(response, response.model or "", dialect, Losses())
    content = candidate.content
    if given(content):
        candidate = replace(candidate, content=_without_parts(content))
    inner = diff(candidate, replace(our, content=_without_parts(our.content)), CANDIDATE_RULES)
    notes: Json = {}
    left = diff(body, made, RULES)
    if inner and body.candidates:
        left[CANDIDATE], notes[CANDIDATE] = inner, WITHIN
    if not given(body.response_id):
        notes["responseId"] = note(UNSET, UNSET)
    if not body.candidates:
        notes["candidates"] = note(body.candidates, [our])
    elif len(body.candidates) > 1:
        left |= diff(types.Response(candidates=body.candidates[1:]), types.Response())
    if given(body.usage_metadata) and not given(response.usage):
        counted = types.UsageMetadata(service_tier=body.usage_metadata.service_tier)
        left["usageMetadata"], notes["usageMetadata"] = diff(body.usage_metadata, counted), GROUP
    return {**left, SPELLING: {**left.get(SPELLING, {}), **notes}} if notes else left


def _without_parts(content: types.Maybe[types.Content]) -> types.Maybe[types.Content]:
    return replace(content, parts=[] if content.parts else content.parts) if given(content) else content


def _encode_answer(
    response: ours.Response, model: str, dialect: GeminiDialect, lost: Losses
) -> tuple[types.Response, types.Candidate, Losses]:
    """The answer in our encoding, its candidate, and the losses of its sources."""
    message = AssistantMessage(Context(lost, dialect, gemini_model(model), replay=False), blocked=is_blocked(response))
    for i, item in enumerate(response.output):
        message.add(item, f"output[{i}]")
    parts = message.close()
    content = types.Content(role="model", parts=parts or UNSET)
    if response.output and (around := kept_message(response.output[0], WIRE)):
        content = patch(content, around)
        content.parts = parts or UNSET
    body = types.Response(
        usage_metadata=encode_usage(response, lost),
        model_version=response.model or model or UNSET,
        response_id=response.id,
        create_time=encode_time(response.created_at) or UNSET,
    )
    candidate = types.Candidate(content=content, index=0)
    candidate.finish_reason = encode_finish_reason(response, body, lost)
    if message.refusals:
        if len(message.refusals) > 1:
            lost.changed("output", "several refusals, sent as one message")
        candidate.finish_message = "\n".join(message.refusals)
    found = Losses()
    if message.outputs or message.reported:
        places = {id(part): place for place, part in enumerate(parts)}
        outputs = [(places.get(id(wire), 0), part, path) for wire, part, path in message.outputs]
        candidate.grounding_metadata = grounding_of(outputs, message.reported, found)
        candidate.url_context_metadata = pages_of(message.reported)
        _encode_scores(candidate, parts, message.outputs, lost)
    return body, candidate, found


def _encode_scores(
    candidate: types.Candidate,
    parts: Sequence[types.Part],
    outputs: Sequence[tuple[types.Part, ours.OutputText, str]],
    lost: Losses,
) -> None:
    """Set the log probabilities, which belong to an answer of one text."""
    alone = len(outputs) == 1 == sum(bool(part.text) and not part.thought for part in parts)
    for _, part, path in outputs:
        if part.logprobs and alone:
            for k, entry in enumerate(part.logprobs):
                report_unknown(entry, f"{path}.logprobs[{k}]", lost)
                for n, other in enumerate(entry.top_logprobs or ()):
                    report_unknown(other, f"{path}.logprobs[{k}].top_logprobs[{n}]", lost)
            candidate.logprobs_result = encode_logprobs(part.logprobs)
        elif part.logprobs:
            lost.dropped(f"{path}.logprobs", "probabilities belong to an answer of one text at Gemini")


# --- finish reason --------------------------------------------------------------------------------------------------

FILTERED = "content_filter"
SERVER_ERROR = "server_error"

FINISH_REASONS: dict[str, tuple[ours.ResponseStatus, str | None]] = {
    "STOP": ("completed", None),
    "MAX_TOKENS": ("incomplete", "max_output_tokens"),
    "CONTINUATION": ("incomplete", "max_output_tokens"),
    "MALFORMED_FUNCTION_CALL": ("failed", SERVER_ERROR),
    "UNEXPECTED_TOOL_CALL": ("failed", SERVER_ERROR),
    "MALFORMED_RESPONSE": ("failed", SERVER_ERROR),
    "TOO_MANY_TOOL_CALLS": ("failed", SERVER_ERROR),
    "MISSING_THOUGHT_SIGNATURE": ("failed", "invalid_encrypted_content"),
    **dict.fromkeys(
        "SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR LANGUAGE ESCALATION PUP_LIMITED_DISABLED "
        "IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION".split(),
        ("incomplete", FILTERED),
    ),
}
"""Finish reasons, those of Gemini on the left: our status, and the incomplete reason or the error code."""
EMPTY_REASONS = ("OTHER", "IMAGE_OTHER", "NO_IMAGE", "FINISH_REASON_UNSPECIFIED")
"""Reasons that mean a failure without output; after some output they are treated like an unknown reason."""
FINISH_REASONS_BACK = {"max_output_tokens": "MAX_TOKENS", FILTERED: "SAFETY"}
"""Reasons of an incomplete answer, ours on the left, the likelier of several."""


def decode_finish_reason(response: ours.Response, body: types.Response, candidate: types.Candidate) -> None:
    """Set the status, and the reason if it is not completed."""
    finish, message, feedback = candidate.finish_reason, candidate.finish_message, body.prompt_feedback
    if body.error is not UNSET:
        response.status, response.error = "failed", decode_failure(body.error)
        _cut(response)
        return
    if finish == "STOP":
        response.status = "completed"
        return
    status: str = "failed"
    reason: str | None = SERVER_ERROR
    if not body.candidates and given(feedback) and feedback.block_reason:
        status, reason, message = "incomplete", FILTERED, feedback.block_reason_message
    elif not body.candidates:
        message = "the vendor gave no answer"
    elif finish and (response.output or finish not in EMPTY_REASONS):  # an answer without a finish reason was cut off
        status, reason = FINISH_REASONS.get(finish, ("incomplete", finish))
    set_status(response, status, reason, message or f"the model stopped: {finish or 'without a word'}")
    if status == "incomplete":
        _cut(response)
        if reason == FILTERED and given(message):
            id = f"msg_{response.id}_{len(response.output)}"
            refusal = ours.Message(
                id=id, role="assistant", status="incomplete", content=[ours.RefusalPart(refusal=message)]
            )
            response.output = [*response.output, refusal]


def encode_finish_reason(response: ours.Response, body: types.Response, lost: Losses) -> types.Maybe[str]:
    """The finish reason of a response; a failure is an error instead."""
    if response.status == "completed":
        return "STOP"
    if response.status == "failed":
        error = response.error or ours.ResponseError()
        body.error = encode_failure(error)
        if given(error.code) and decode_failure(body.error).code != error.code:
            lost.changed("error.code", f"Gemini has no such word; {body.error.status} is the nearest")
        if given(error.param) or given(error.misalignment):
            lost.dropped("error", "Gemini has a status and a message for a failure")
        return UNSET
    details = response.incomplete_details
    reason = details.reason if response.status == "incomplete" and given(details) else None
    finish = FINISH_REASONS_BACK.get(reason or "", reason)
    if finish and FINISH_REASONS.get(finish, ("incomplete", reason)) == ("incomplete", reason):
        return finish
    lost.changed("status", f"Gemini has no answer that is {response.status}; sent as ended")
    return response.status.upper()


def _cut(response: ours.Response) -> None:
    """Mark the message that was cut off, which is the last output; only a signature may follow it."""
    output = response.output
    last = len(output) - 1
    if last > 0 and isinstance(carrier := output[last], ours.Reasoning) and not carrier.summary:
        last -= 1
    if last >= 0 and isinstance(message := output[last], ours.Message):
        response.output = [*output[:last], replace(message, status="incomplete"), *output[last + 1 :]]


def is_blocked(response: ours.Response) -> bool:
    """Whether the answer was blocked, so that a refusal in it is the vendor's message about that."""
    details = response.incomplete_details
    return response.status == "incomplete" and given(details) and details.reason == FILTERED


# --- creation time --------------------------------------------------------------------------------------------------


def decode_time(stamp: types.Maybe[str], now: float) -> float | None:
    """The creation time of an answer, in seconds; `now` where it has none."""
    if stamp is UNSET:
        return now or None
    try:
        time = datetime.fromisoformat(stamp)
        found = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return now or None
    return int(found) if found.is_integer() else found


def encode_time(created: int | float | None) -> str | None:
    """A time in this wire's format."""
    if not given(created):
        return None
    try:
        found = datetime.fromtimestamp(created, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    text = found.strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{found.microsecond:06d}Z" if found.microsecond else f"{text}Z"


# --- log probabilities ----------------------------------------------------------------------------------------------


def decode_logprobs(result: types.LogprobsResult) -> list[ours.Logprob]:
    """The log probabilities of the tokens of a text."""
    tops = result.top_candidates or []
    found: list[ours.Logprob] = []
    for i, chosen in enumerate(result.chosen_candidates or ()):
        others = (tops[i].candidates or ()) if i < len(tops) else ()
        token, logprob, data = _token_of(chosen)
        top = [ours.TopLogprob(token=t, logprob=p, bytes=b) for t, p, b in map(_token_of, others)]
        found.append(ours.Logprob(token=token, logprob=logprob, bytes=data, top_logprobs=top))
    return found


def _token_of(token: types.ScoredToken) -> tuple[str, float, list[int]]:
    text = token.token if given(token.token) else ""
    return text, token.log_probability or 0, list(text.encode("utf-8", "surrogatepass"))


def encode_logprobs(logprobs: list[ours.Logprob]) -> types.LogprobsResult:
    """The log probabilities in this wire's format."""
    return types.LogprobsResult(
        chosen_candidates=[_score(one) for one in logprobs],
        top_candidates=[
            types.TopCandidates(candidates=[_score(other) for other in one.top_logprobs or ()]) for one in logprobs
        ],
    )


def _score(one: ours.Logprob | ours.TopLogprob) -> types.ScoredToken:
    return types.ScoredToken(token=one.token, log_probability=one.logprob)


# --- token usage ----------------------------------------------------------------------------------------------------


def decode_usage(counted: types.UsageMetadata, *, keep: bool) -> ours.Usage | None:
    """Token counts of Responses: input with tool results, output with thoughts; `None` where there are none."""
    prompt, cached, tools = (
        counted.prompt_token_count,
        counted.cached_content_token_count,
        counted.tool_use_prompt_token_count,
    )
    visible, thought, total = counted.candidates_token_count, counted.thoughts_token_count, counted.total_token_count
    if prompt is cached is tools is visible is thought is total is UNSET:
        return None
    sent, made = (prompt or 0) + (tools or 0), (visible or 0) + (thought or 0)
    read = ours.InputTokensDetails(cached_tokens=cached or 0, cache_write_tokens=0)
    wrote = ours.OutputTokensDetails(reasoning_tokens=thought or 0)
    usage = ours.Usage(
        input_tokens=sent,
        output_tokens=made,
        total_tokens=sent + made if total is UNSET else total,
        input_tokens_details=read,
        output_tokens_details=wrote,
    )
    if not keep:
        if counted.prompt_tokens_details or counted.cache_tokens_details:
            media = {**_media(counted.prompt_tokens_details), **_media(counted.cache_tokens_details, "cached_")}
            usage.input_tokens_details = with_extras(read, media)
        if counted.candidates_tokens_details:
            usage.output_tokens_details = with_extras(wrote, _media(counted.candidates_tokens_details))
    else:
        same = _encode_usage(usage, tools or 0, Losses())
        same.service_tier = counted.service_tier if counted.service_tier in TIERS_BACK else UNSET
        if left := diff(counted, same):
            usage.leftovers = {WIRE: left}
    return usage


def _media(details: types.Maybe[list[Json]], prefix: str = "") -> Json:
    """The tokens of audio, images and video in the details, which may have prices of their own."""
    found: Json = {}
    for one in details or ():
        if (kind := one.get("modality")) in ("AUDIO", "IMAGE", "VIDEO"):
            found[f"{prefix}{kind.lower()}_tokens"] = one.get("tokenCount")
    return found


def encode_usage(response: ours.Response, lost: Losses) -> types.Maybe[types.UsageMetadata]:
    """Token counts of this wire: thoughts outside the candidates, tool results outside the prompt."""
    used, tier, counted = response.usage, response.service_tier, types.UsageMetadata()
    if given(used):
        left = own_leftovers(used, WIRE, "usage", lost)
        tools = left.get("toolUsePromptTokenCount")
        counted = _encode_usage(used, tools if isinstance(tools, int) else 0, lost)
        counted.service_tier = TIERS.get(tier or "", UNSET)
        counted = patch(counted, left)
    elif tier in TIERS:
        counted.service_tier = TIERS[tier]
    if given(tier) and tier not in TIERS and counted.service_tier is UNSET:
        lost.dropped("service_tier", f"Gemini has no tier {tier!r}")
    return counted if given(used) or given(counted.service_tier) else UNSET


def _encode_usage(used: ours.Usage, tools: int, lost: Losses) -> types.UsageMetadata:
    cached, reasoned = used.input_tokens_details, used.output_tokens_details
    thought = int(reasoned.reasoning_tokens or 0) if given(reasoned) else 0
    if thought > used.output_tokens:
        lost.changed("usage.output_tokens_details", "more tokens of reasoning than of output")
        thought = int(used.output_tokens)
    report_usage(used, WIRE, lost, "total_tokens", "cached_tokens", "reasoning_tokens")
    return types.UsageMetadata(
        prompt_token_count=max(used.input_tokens - tools, 0) or UNSET,
        cached_content_token_count=int(cached.cached_tokens or 0) or UNSET if given(cached) else UNSET,
        candidates_token_count=max(used.output_tokens - thought, 0) or UNSET,
        thoughts_token_count=thought or UNSET,
        total_token_count=used.total_tokens,
    )


# --- errors ---------------------------------------------------------------------------------------------------------

TYPES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
"""The error status by HTTP status."""
STATUSES = {word: status for status, word in TYPES.items()} | {"FAILED_PRECONDITION": 400, "OUT_OF_RANGE": 400}

CODES = {"RESOURCE_EXHAUSTED": "rate_limit_exceeded", "INTERNAL": "server_error", "UNAVAILABLE": "server_overloaded"}
"""Codes of failed responses, those of Gemini on the left; other statuses are unchanged."""
CODES_BACK = {our: theirs for theirs, our in CODES.items()}

RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
_REASON = re.compile(r"[A-Z][A-Z0-9_]{2,62}")
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{0,9})?)s")


def decode_error(status: int, headers: Mapping[str, str], body: bytes) -> ErrorFacts:
    """The facts of an error answer."""
    facts = error_facts(WIRE, status, headers, body)
    error = as_object(as_object(facts.leftovers.get(WIRE)).get("error"))
    if isinstance(word := error.get("status"), str):
        facts.type = word
    for detail in map(as_object, as_list(error.get("details"))):
        delay = _DURATION.fullmatch(str(detail.get("retryDelay")))
        if delay and float(delay[1]) > 0:
            facts.retry_after = max(float(delay[1]), facts.retry_after or 0)
        reason = detail.get("reason")
        if isinstance(reason, str) and reason:
            facts.code = reason
        if any("PerDay" in str(one.get("quotaId")) for one in map(as_object, as_list(detail.get("violations")))):
            facts.should_retry = False  # a daily quota is not available again after the delay in the error
    return facts


def encode_error(facts: ErrorFacts) -> tuple[int, types.Response]:
    """The status and the body of an error on this wire."""
    status = status_of(facts, 500, STATUSES)
    word = (
        facts.type
        if facts.type in STATUSES
        else TYPES.get(status) or ("INVALID_ARGUMENT" if status < 500 else "INTERNAL")
    )
    error = types.Status(code=status, message=facts.message, status=word)
    found = restored(types.Status, as_object(facts.leftovers.get(WIRE)).get("error"))
    if found is not None and given(found.details):
        error.details = found.details
        return status, types.Response(error=error)
    details: list[types.Json] = []
    if facts.code is not None and _REASON.fullmatch(facts.code):
        details.append({"@type": ERROR_INFO, "reason": facts.code})
    if facts.retry_after is not None:
        details.append({"@type": RETRY_INFO, "retryDelay": f"{facts.retry_after:g}s"})
    error.details = details or UNSET
    return status, types.Response(error=error)


def decode_failure(error: types.Status) -> ours.ResponseError:
    """The error of a failed response, from an error in place of an answer."""
    word = error.status if given(error.status) else TYPES.get(error.code or 500, "INTERNAL")
    message = error.message if given(error.message) else "the vendor answered with an error"
    return ours.ResponseError(code=CODES.get(word, word.lower()), type=word, message=message)


def encode_failure(error: ours.ResponseError) -> types.Status:
    """The error for a failed response."""
    code = str(error.code) if given(error.code) else "server_error"
    word = CODES_BACK.get(code) or (error.type if given(error.type) else code.upper())
    word = word if word in STATUSES else "INTERNAL"
    return types.Status(
        code=STATUSES[word], message=error.message if given(error.message) else "the model failed", status=word
    )
