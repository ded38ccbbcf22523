"""Answers of this wire: what the model said, how it ended, what it cost, and where it found what it said.

The parts are read in `reader` and written in `writer`; sources are in `grounding`. Before changing this file, know that a
streamed answer must come out the same: everything after the parts is settled by `settle`, from the fields of the candidate
and the answer alone. Follows the references of `GenerateContentResponse` and `Candidate` (read 2026-11-20).
"""

# DOC How an answer ended, both ways: finish reasons and block reasons, and our status.
# DOC
# DOC Before changing this file, know that the HTTP status is 200 for all of these, that calls end with `STOP` like a text does, and
# DOC that a call the model got wrong never counts as completed. Follows the references of `FinishReason` and `BlockReason` (read
# DOC 2026-11-20).

# DOC What went wrong, on this wire: error bodies, and the errors that stand in the place of an answer.
# DOC
# DOC Before changing this file, know that one word serves many cases: an invalid key is a bad request whose details say so, and a
# DOC rate limit is a daily quota where the quota's name does. Follows `google.rpc` (Status, RetryInfo, QuotaFailure, ErrorInfo) and
# DOC Google's page on troubleshooting (read 2026-11-20).

# DOC Numbers of an answer, both ways: how many tokens it took, how probable they were, and when it was made.
# DOC
# DOC Before changing this file, know that a count of 0 is left out, that thoughts are not among the tokens of the candidates, and
# DOC that what the vendor's own tools found is not among those of the prompt. Follows the references of `UsageMetadata` and
# DOC `LogprobsResult` (read 2026-11-20).

from __future__ import annotations

import re
from datetime import UTC, datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from msgspec import UNSET
from msgspec.structs import replace

from ...errors import ErrorFacts
from ...losses import Losses, no_such
from ...responses.carriers import digest
from ...responses.echo import echo
from ...responses.items import Message, Reasoning, WebSearchCall
from ...responses.leftovers import NEAR, SPELLING, unsaid
from ...responses.parts import Logprob, OutputText, RefusalPart, TopLogprob
from ...responses.response import (
    IncompleteDetails,
    InputTokensDetails,
    OutputTokensDetails,
    Response,
    ResponseError,
    ResponseStatus,
    Usage,
)
from ...unknown import given, or_none, or_unset
from ...vendors.dialects import GeminiDialect, gemini_model
from .._errors import error_facts
from .._left import report_answer, report_cost, report_unknown
from . import types
from .content import Context, annotated, grounding_of, search_of, sources_of
from .messages import Reader, Writer, hidden
from .reasoning import document_fields, encode, inner, merged, own_fields, plain, rest, restored, spelling
from .request import DEFAULT, TIERS, TIERS_BACK
from .tools import renamed
from .types import WIRE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...losses import Loss
    from ...responses.items import AnyItem
    from ...responses.parts import ContentPart
    from ...responses.request import Request
    from ...unknown import Opt

_ROLES = ("model", "user", "")
"""Roles of an answer, which say nothing."""
_SAID = ("candidates", "usageMetadata", "modelVersion", "responseId", "error")
"""Fields of an answer that fields of ours say; the others are kept."""
_CANDIDATE = (
    "finish_message safety_ratings citation_metadata grounding_metadata url_context_metadata avg_logprobs logprobs_result "
    "token_count continuation_token"
).split()
_candidate = attrgetter(*_CANDIDATE)
_NO_MORE = _candidate(types.Candidate())
_body = attrgetter("prompt_feedback", "create_time", "model_status")
_NO_BODY = _body(types.Response())


# --- this wire to Responses -----------------------------------------------------------------------------------------


def decode_response(
    body: types.Response,
    *,
    request: Request | None = None,
    dialect: GeminiDialect = DEFAULT,
    now: float = 0,
) -> tuple[Response, list[Loss]]:
    """The Response that an answer is. `request` undoes what sending it renamed, and is echoed; `now` is when it was made."""
    lost = Losses()
    response_id = body.response_id if given(body.response_id) else f"resp_{digest(encode(body).decode())}"
    candidates = body.candidates or ()
    candidate = candidates[0] if candidates else types.Candidate()
    reader = reader_of(response_id, request, dialect)
    content = candidate.content
    for j, part in enumerate((content.parts or ()) if given(content) else ()):
        reader.add(part)
        if (what := hidden(part)) is not None:
            lost.dropped(f"candidates[0].content.parts[{j}]", what)
    reader.close()
    response = begin(body, response_id, request, now)
    settle(response, body, candidate, reader)
    if len(candidates) > 1:
        lost.dropped("candidates[1]", "only the first of several candidates becomes output")
    return response, lost


def reader_of(response_id: str, request: Request | None, dialect: GeminiDialect) -> Reader:
    """A reader for the parts of one answer."""
    named = renamed(request.tools) if request is not None and request.tools else None
    return Reader(dialect.issuer, f"call_{response_id}", answer=response_id, named=named)


def begin(body: types.Response, response_id: str, request: Request | None, now: float) -> Response:
    """What is known of a response before any output."""
    return Response(
        id=response_id,
        created_at=or_none(decode_time(body.create_time, now)),
        status="in_progress",
        model=body.model_version or "",
        output=[],
        **(echo(request) if request is not None else {}),
    )


def settle(response: Response, body: types.Response, candidate: types.Candidate, reader: Reader) -> None:
    """Complete a response whose parts are all read: its output, how it ended, and what describes only it."""
    left: types.Json = {}
    output = reader.items
    more = _candidate(candidate)
    if more != _NO_MORE or type(candidate) is not types.Candidate:
        output = _told(candidate, reader)
        left["candidate"] = rest(candidate, ("content", "finishReason", "index"))
    response.output = output
    decode_end(response, body, candidate)
    if not _is_usual(body, candidate, response):
        shape = _shape(body, candidate)
        candidates: list[types.Json] = shape.get("candidates") or [{}]
        content = inner(candidates[0], "content")
        role = content.get("role") if content.get("role") in _ROLES else "model"
        told = unsaid(content, {"role": role, "parts": []}, "candidates[0].content")
        left[SPELLING] = {"shape": shape, **({NEAR: told} if told else {})}
    if body.usage_metadata is not UNSET:
        if counts_anything(body.usage_metadata):
            response.usage = decode_usage(body.usage_metadata)
        else:
            left["usageMetadata"] = rest(body.usage_metadata)
        tier = body.usage_metadata.service_tier
        if given(tier):
            response.service_tier = TIERS_BACK.get(tier, tier)
    if body.candidates and len(body.candidates) > 1:
        left["candidates"] = plain(body.candidates[1:])
    if _body(body) != _NO_BODY or type(body) is not types.Response:
        left |= rest(body, _SAID)
        if left.get("createTime", "") == encode_time(response.created_at):
            del left["createTime"]
    if left:
        response.leftovers = {WIRE: left}


def _told(candidate: types.Candidate, reader: Reader) -> list[AnyItem]:
    """The output with what the candidate tells about it: sources, searches, probabilities."""
    output = annotated(reader.items, reader.said, candidate)
    if given(candidate.logprobs_result) and len(reader.said) == 1:
        spoken = next(item for item in output if isinstance(item, Message))
        part = spoken.content[0]
        if isinstance(part, OutputText):
            part.logprobs = decode_logprobs(candidate.logprobs_result)
    if not any(isinstance(item, WebSearchCall) for item in output):
        search = search_of(candidate, reader.id("ws"))
        if search is not None:
            return [*output, search]
    return output


def _is_usual(body: types.Response, candidate: types.Candidate, response: Response) -> bool:
    """Whether the document is built around its parts as we would build it."""
    content = candidate.content
    return (
        given(body.response_id)
        and given(content)
        and bool(content.parts)
        and content.role == "model"
        and type(content) is types.Content
        and candidate.index == 0
        and candidate.finish_reason == finish_reason(response)
    )


def _shape(body: types.Response, candidate: types.Candidate) -> types.Json:
    """The document without its parts and whatever else is told in fields of ours."""
    content = candidate.content
    if given(content) and content.parts:
        content = replace(content, parts=[])
    bare = types.Candidate(content=content, finish_reason=candidate.finish_reason, index=candidate.index)
    candidates = [bare] if body.candidates else body.candidates
    return plain(types.Response(candidates=candidates, response_id=body.response_id, error=body.error)) or {}


# --- Responses to this wire -----------------------------------------------------------------------------------------


def encode_response(
    response: Response, *, request: Request | None = None, dialect: GeminiDialect = DEFAULT
) -> tuple[types.Response, list[Loss]]:
    """The answer of this wire for a Response; a failed one says why under `error`."""
    lost = Losses()
    kept = own_fields(response.leftovers, "", lost)
    report_answer(response, lost, "service_tier")
    named = response.model or (request.model if request is not None else "")
    model = named if given(named) else ""
    writer = Writer(Context(lost, dialect, gemini_model(model), replay=False), blocked=is_blocked(response))
    for i, item in enumerate(response.output):
        writer.write(item, f"output[{i}]")
    writer.close()
    body = types.Response(
        usage_metadata=encode_usage(response, lost),
        model_version=response.model or model or UNSET,
        response_id=response.id,
        create_time=encode_time(response.created_at) or UNSET,
    )
    _encode_candidate(response, body, kept, writer, lost)
    fields = {name: v for name, v in document_fields(kept).items() if name not in ("candidate", "candidates")}
    return merged(body, fields, "leftovers", lost), lost


def _encode_candidate(response: Response, body: types.Response, kept: types.Json, writer: Writer, lost: Losses) -> None:
    """Set the candidate, in the shape that the document had as far as that still says how the answer ended."""
    told, notes = inner(kept, "candidate"), spelling(kept)
    shape = {**inner(notes, "shape"), "promptFeedback": kept.get("promptFeedback")}
    bare = types.Candidate(content=types.Content(role="model"), index=0)
    before = restored(types.Response, shape) if "shape" in notes else None
    if before is not None:
        bare = before.candidates[0] if before.candidates else bare
        body.response_id = response.id if "responseId" in shape else UNSET
    _say_why(writer, kept, bare, lost)
    if before is not None and told_end(before, bare, spoken=bool(writer.parts))[:2] == end_of(response):
        body.error = before.error
        if given(before.error) and given(response.error) and decode_failure(before.error) != response.error:
            body.error = replace(before.error, message=response.error.message)
        if not (before.candidates or writer.parts or told or given(bare.finish_message)):
            body.candidates = before.candidates
            return
    else:
        bare.finish_reason = encode_end(response, body, lost)
        if given(body.error) and not (writer.parts or told):
            return
    if writer.parts:
        bare.content = bare.content or types.Content(role="model")
        bare.content.parts = writer.parts
    candidate = merged(bare, _encode_told(bare, told, writer, lost), "leftovers", lost)
    others = restored(types.Response, {"candidates": kept["candidates"]}) if "candidates" in kept else None
    body.candidates = [candidate, *((others.candidates or ()) if others is not None else ())]


def _say_why(writer: Writer, kept: types.Json, candidate: types.Candidate, lost: Losses) -> None:
    """Say beside the parts why an answer was held back, unless the document says so already."""
    if not writer.refusals:
        return
    if len(writer.refusals) > 1:
        lost.changed("output", "several refusals, sent as one message")
    said = "\n".join(writer.refusals)
    told = inner(kept, "candidate") or inner(kept, "promptFeedback")
    if said not in (told.get("finishMessage"), told.get("blockReasonMessage")):
        candidate.finish_message = said


def _encode_told(candidate: types.Candidate, told: types.Json, writer: Writer, lost: Losses) -> types.Json:
    """What the document told about the answer, as far as it still holds; what replaces the rest is set on the candidate."""
    said = writer.said
    sourced = any(part.annotations for _, part, _ in said)
    scored = [(part, path) for _, part, path in said if part.logprobs]
    if not (sourced or scored or told):
        return told
    before = restored(types.Candidate, told) or types.Candidate()
    places = {id(part): place for place, part in enumerate(writer.parts)}
    spoken = [(places.get(id(wire), 0), part, path) for wire, part, path in said]
    fields = dict(told)
    if sources_of([(place, part) for place, part, _ in spoken], before) != [
        part.annotations or [] for _, part, _ in spoken
    ]:
        fields = {name: v for name, v in told.items() if name not in ("groundingMetadata", "citationMetadata")}
        candidate.grounding_metadata = grounding_of(spoken, lost) or UNSET
    result = before.logprobs_result
    alone = len(said) == 1 == sum(given(part.text) and not part.thought for part in writer.parts if part.text)
    if alone and not (given(result) and decode_logprobs(result) == said[0][1].logprobs):
        fields.pop("logprobsResult", None)
        if scored:
            part, path = scored[0]
            for k, entry in enumerate(part.logprobs or ()):
                report_unknown(entry, f"{path}.logprobs[{k}]", lost)
                for n, other in enumerate(entry.top_logprobs or ()):
                    report_unknown(other, f"{path}.logprobs[{k}].top_logprobs[{n}]", lost)
            candidate.logprobs_result = encode_logprobs(part.logprobs or [])
    elif not alone:
        for _, path in scored:
            lost.dropped(f"{path}.logprobs", "probabilities belong to an answer of one text at Gemini")
    if candidate.finish_message is not UNSET:
        fields.pop("finishMessage", None)
    return fields


FILTERED = "content_filter"
SERVER_ERROR = "server_error"

ENDS: dict[str, tuple[ResponseStatus, str | None]] = {
    "STOP": ("completed", None),
    "MAX_TOKENS": ("incomplete", "max_output_tokens"),
    "CONTINUATION": ("incomplete", "max_output_tokens"),
    "SAFETY": ("incomplete", FILTERED),
    "RECITATION": ("incomplete", FILTERED),
    "BLOCKLIST": ("incomplete", FILTERED),
    "PROHIBITED_CONTENT": ("incomplete", FILTERED),
    "SPII": ("incomplete", FILTERED),
    "MODEL_ARMOR": ("incomplete", FILTERED),
    "LANGUAGE": ("incomplete", FILTERED),
    "ESCALATION": ("incomplete", FILTERED),
    "PUP_LIMITED_DISABLED": ("incomplete", FILTERED),
    "IMAGE_SAFETY": ("incomplete", FILTERED),
    "IMAGE_PROHIBITED_CONTENT": ("incomplete", FILTERED),
    "IMAGE_RECITATION": ("incomplete", FILTERED),
    "MALFORMED_FUNCTION_CALL": ("failed", SERVER_ERROR),
    "UNEXPECTED_TOOL_CALL": ("failed", SERVER_ERROR),
    "MALFORMED_RESPONSE": ("failed", SERVER_ERROR),
    "TOO_MANY_TOOL_CALLS": ("failed", SERVER_ERROR),
    "MISSING_THOUGHT_SIGNATURE": ("failed", "invalid_encrypted_content"),
}
"""How an answer ended, theirs on the left: our status, and the reason or the code of the error."""
EMPTY_ENDS = ("OTHER", "IMAGE_OTHER", "NO_IMAGE", "FINISH_REASON_UNSPECIFIED")
"""Reasons that mean a failure where nothing was said; after something was said they are an end like any unknown one."""
REASONS = {"max_output_tokens": "MAX_TOKENS", FILTERED: "SAFETY"}
"""Reasons of an incomplete answer, ours on the left, the likelier of several."""


class End(NamedTuple):
    """A status, the reason or the code of the error, and what the vendor says about it."""

    status: ResponseStatus | str
    why: str | None
    message: Opt[str] = UNSET


def told_end(body: types.Response, candidate: types.Candidate, *, spoken: bool) -> End:
    """How an answer of this wire ended, in our words; `spoken` is whether anything was said."""
    finish, feedback = candidate.finish_reason, body.prompt_feedback
    if given(body.error):
        error = decode_failure(body.error)
        return End("failed", str(error.code), or_unset(error.message))
    if not body.candidates:
        if given(feedback) and feedback.block_reason:
            return End("incomplete", FILTERED, feedback.block_reason_message)
        return End("failed", SERVER_ERROR, "the vendor gave no answer")
    # Somebody who is asked to stop says so; an answer that just ends was cut.
    if not finish or (finish in EMPTY_ENDS and not spoken):
        return End("failed", SERVER_ERROR, candidate.finish_message)
    return End(*ENDS.get(finish, ("incomplete", finish)), candidate.finish_message)


def end_of(response: Response) -> tuple[str, str | None]:
    """How a response ended: its status, and the reason or the code of its error."""
    details, error = response.incomplete_details, response.error
    if response.status == "incomplete" and given(details):
        return response.status, details.reason or None
    if response.status == "failed" and given(error):
        return response.status, str(error.code) if given(error.code) else None
    return response.status, None


def decode_end(response: Response, body: types.Response, candidate: types.Candidate) -> None:
    """Set the status, and why it is not a better one."""
    if candidate.finish_reason == "STOP" and not given(body.error):
        response.status = "completed"
        return
    response.status, why, message = told_end(body, candidate, spoken=bool(response.output))
    if given(body.error):
        response.error = decode_failure(body.error)
        _cut(response)
    elif response.status == "failed":
        said = message if given(message) else f"the model stopped: {candidate.finish_reason or 'without a word'}"
        response.error = ResponseError(code=why or None, message=said)
    elif response.status == "incomplete":
        response.incomplete_details = IncompleteDetails(reason=why)
        _cut(response)
        if why == FILTERED and given(message):
            parts: list[ContentPart] = [RefusalPart(refusal=message)]
            id = f"msg_{response.id}_{len(response.output)}"
            refusal = Message(id=id, role="assistant", status="incomplete", content=parts)
            response.output = [*response.output, refusal]


def _cut(response: Response) -> None:
    """Mark the message that was cut short, which is the last thing that was said; a signature alone may stand behind it."""
    output = response.output
    last = len(output) - 1
    if last > 0 and isinstance(carrier := output[last], Reasoning) and not carrier.summary:
        last -= 1
    if last >= 0 and isinstance(message := output[last], Message):
        response.output = [*output[:last], replace(message, status="incomplete"), *output[last + 1 :]]


def is_blocked(response: Response) -> bool:
    """Whether the answer was held back, so that a refusal in it is what the vendor said about that."""
    return end_of(response) == ("incomplete", FILTERED)


def finish_reason(response: Response) -> str | None:
    """The finish reason that says how a response ended, where one does."""
    status, why = end_of(response)
    finish = "STOP" if status == "completed" else REASONS.get(why or "", why)
    return finish if finish and ENDS.get(finish, ("incomplete", why)) == (status, why) else None


def encode_end(response: Response, body: types.Response, lost: Losses) -> types.Maybe[str]:
    """The finish reason of a response; a failure is an error instead."""
    finish = finish_reason(response)
    if finish is not None:
        return finish
    if response.status != "failed":
        lost.changed("status", f"Gemini has no answer that is {response.status}; it is said to have ended so")
        return response.status.upper()
    error = response.error or ResponseError()
    body.error = encode_failure(error)
    if given(error.code) and decode_failure(body.error).code != error.code:
        lost.changed("error.code", f"Gemini has no such word; {body.error.status} is the nearest")
    if given(error.param) or given(error.misalignment):
        lost.dropped("error", "Gemini has a word and a message for a failure")
    return UNSET


WORDS = {
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
"""The word of a status."""
STATUSES = {word: status for status, word in WORDS.items()} | {"FAILED_PRECONDITION": 400, "OUT_OF_RANGE": 400}

CODES = {"RESOURCE_EXHAUSTED": "rate_limit_exceeded", "INTERNAL": "server_error", "UNAVAILABLE": "server_overloaded"}
"""Codes of failed responses, theirs on the left; other words stay as they are."""
CODES_BACK = {ours: theirs for theirs, ours in CODES.items()}

RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
_REASON = re.compile(r"[A-Z][A-Z0-9_]{2,62}")
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{0,9})?)s")


def decode_error(status: int, headers: Mapping[str, str], body: bytes) -> ErrorFacts:
    """What an error answer says."""
    facts = error_facts(WIRE, status, headers, body)
    error: Any = facts.leftovers.get(WIRE, {}).get("error")
    if not isinstance(error, dict):
        return facts
    word = cast("types.Json", error).get("status")
    if isinstance(word, str):
        facts.type = word
    for detail in _details(cast("types.Json", error)):
        delay = _DURATION.fullmatch(str(detail.get("retryDelay")))
        if delay and float(delay[1]) > 0:
            facts.retry_after = max(float(delay[1]), facts.retry_after or 0)
        reason = detail.get("reason")
        if isinstance(reason, str) and reason:
            facts.code = reason
        if any("PerDay" in str(one.get("quotaId")) for one in _objects(detail.get("violations"))):
            facts.should_retry = False  # a day's quota is not back within the delay that is told
    return facts


def _details(error: types.Json) -> Iterator[types.Json]:
    return _objects(error.get("details"))


def _objects(value: Any) -> Iterator[types.Json]:
    found: list[Any] = cast("Any", value) if isinstance(value, list) else []
    return (cast("types.Json", one) for one in found if isinstance(one, dict))


def encode_error(facts: ErrorFacts) -> tuple[int, types.Response]:
    """The status and body with which this wire says it."""
    status = facts.status if 400 <= facts.status < 600 else STATUSES.get(facts.type or "", 500)
    word = (
        facts.type
        if facts.type in STATUSES
        else WORDS.get(status) or ("INVALID_ARGUMENT" if status < 500 else "INTERNAL")
    )
    error = types.Status(code=status, message=facts.message, status=word)
    kept: Any = facts.leftovers.get(WIRE, {}).get("error")
    found = restored(types.Status, kept) if isinstance(kept, dict) else None
    if found is not None and given(found.details):
        error.details = found.details
    else:
        error.details = _details_of(facts) or UNSET
    return status, types.Response(error=error)


def _details_of(facts: ErrorFacts) -> list[types.Json]:
    """The details that tell what the body's own fields cannot."""
    details: list[types.Json] = []
    if facts.code is not None and _REASON.fullmatch(facts.code):
        details.append({"@type": ERROR_INFO, "reason": facts.code})
    if facts.retry_after is not None:
        details.append({"@type": RETRY_INFO, "retryDelay": f"{facts.retry_after:g}s"})
    return details


def decode_failure(error: types.Status) -> ResponseError:
    """Why a response failed, from an error in the place of an answer."""
    word = error.status if given(error.status) else WORDS.get(error.code or 500, "INTERNAL")
    message = error.message if given(error.message) else "the vendor answered with an error"
    return ResponseError(code=CODES.get(word, word.lower()), type=word, message=message)


def encode_failure(error: ResponseError) -> types.Status:
    """The error for a failed response."""
    code = str(error.code) if given(error.code) else "server_error"
    word = CODES_BACK.get(code) or (error.type if given(error.type) else code.upper())
    word = word if word in STATUSES else "INTERNAL"
    return types.Status(
        code=STATUSES[word], message=error.message if given(error.message) else "the model failed", status=word
    )


# --- when it was made -----------------------------------------------------------------------------------------------


def decode_time(told: Opt[str], now: float) -> Opt[int | float]:
    """When an answer was made, in seconds; `now` where it does not say."""
    if not given(told):
        return now or UNSET
    try:
        time = datetime.fromisoformat(told)
        found = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return now or UNSET
    return int(found) if found.is_integer() else found


def encode_time(created: int | float | None) -> str | None:
    """A time as this wire writes it."""
    if not given(created):
        return None
    try:
        found = datetime.fromtimestamp(created, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    text = found.strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{found.microsecond:06d}Z" if found.microsecond else f"{text}Z"


# --- how probable it was --------------------------------------------------------------------------------------------


def decode_logprobs(result: types.LogprobsResult) -> list[Logprob]:
    """The probabilities of the tokens of a text."""
    tops = result.top_candidates or []
    found: list[Logprob] = []
    for i, chosen in enumerate(result.chosen_candidates or ()):
        others = (tops[i].candidates or ()) if i < len(tops) else ()
        token, logprob, data = _scored(chosen)
        top = [TopLogprob(token=t, logprob=p, bytes=b) for t, p, b in map(_scored, others)]
        found.append(Logprob(token=token, logprob=logprob, bytes=data, top_logprobs=top))
    return found


def _scored(token: types.ScoredToken) -> tuple[str, float, list[int]]:
    text = token.token if given(token.token) else ""
    return text, token.log_probability or 0, list(text.encode("utf-8", "surrogatepass"))


def encode_logprobs(logprobs: list[Logprob]) -> types.LogprobsResult:
    """The probabilities as this wire lists them."""
    return types.LogprobsResult(
        chosen_candidates=[_score(one) for one in logprobs],
        top_candidates=[
            types.TopCandidates(candidates=[_score(other) for other in one.top_logprobs or ()]) for one in logprobs
        ],
    )


def _score(one: Logprob | TopLogprob) -> types.ScoredToken:
    return types.ScoredToken(token=one.token, log_probability=one.logprob)


# --- what it took ---------------------------------------------------------------------------------------------------

COUNTS = {
    "prompt_token_count": "promptTokenCount",
    "cached_content_token_count": "cachedContentTokenCount",
    "candidates_token_count": "candidatesTokenCount",
    "thoughts_token_count": "thoughtsTokenCount",
    "total_token_count": "totalTokenCount",
}
"""Counts that fields of ours tell, by our spelling of theirs; the others are kept."""
TOTAL = "total_token_count"
"""The count that is always told: a document without any counts nothing."""
_counts = attrgetter(*COUNTS)


def counts_anything(counted: types.UsageMetadata) -> bool:
    """Whether a document counts tokens, and does not only say how the request was served."""
    return any(given(count) for count in (*_counts(counted), counted.tool_use_prompt_token_count))


def decode_usage(counted: types.UsageMetadata) -> Usage:
    """Token counts as Responses counts them: input with what tools gave, output with thoughts."""
    told = _counts(counted)
    prompt, cached, spoken, thought, total = (value or 0 for value in told)
    into, out = prompt + (counted.tool_use_prompt_token_count or 0), spoken + thought
    usage = Usage(
        input_tokens=into,
        output_tokens=out,
        total_tokens=total if given(counted.total_token_count) else into + out,
        input_tokens_details=InputTokensDetails(cached_tokens=cached, cache_write_tokens=0),
        output_tokens_details=OutputTokensDetails(reasoning_tokens=thought),
    )
    left = rest(counted, (*COUNTS.values(), "serviceTier"))
    counts = prompt, cached, spoken, thought, usage.total_tokens
    # Counts of 0 are left out, and there is a total.
    spelled = {
        name: given(was)
        for name, was, now in zip(COUNTS, told, counts, strict=True)
        if given(was) != (bool(now) or name == TOTAL)
    }
    if given(counted.service_tier) and counted.service_tier not in TIERS_BACK:
        left["serviceTier"] = counted.service_tier
    if spelled:
        left[SPELLING] = spelled
    if left:
        usage.leftovers = {WIRE: left}
    return usage


def encode_usage(response: Response, lost: Losses) -> types.Maybe[types.UsageMetadata]:
    """Token counts of this wire: thoughts outside the candidates, tool results outside the prompt."""
    used, tier = response.usage, response.service_tier
    counted = _encode_usage(used, lost) if given(used) else types.UsageMetadata()
    if given(tier) and tier in TIERS:
        counted.service_tier = TIERS[tier]
    elif given(tier) and counted.service_tier is UNSET:
        lost.dropped("service_tier", f"Gemini has no tier {tier!r}")
    return counted if given(used) or counted != types.UsageMetadata() else UNSET


def _encode_usage(used: Usage, lost: Losses) -> types.UsageMetadata:
    kept = own_fields(used.leftovers, "usage", lost)
    spelled, tools = spelling(kept), kept.get("toolUsePromptTokenCount")
    cached, reasoned = used.input_tokens_details, used.output_tokens_details
    thought = int(reasoned.reasoning_tokens or 0) if given(reasoned) else 0
    if thought > used.output_tokens:
        lost.changed("usage.output_tokens_details", "more tokens of reasoning than of output")
        thought = int(used.output_tokens)
    counts = (
        max(used.input_tokens - (tools if isinstance(tools, int) else 0), 0),
        int(cached.cached_tokens or 0) if given(cached) else 0,
        max(used.output_tokens - thought, 0),
        thought,
        used.total_tokens,
    )
    counted = types.UsageMetadata()
    for name, value in zip(COUNTS, counts, strict=True):
        if spelled.get(name, bool(value) or name == TOTAL):
            setattr(counted, name, value)
    if given(cached) and cached.cache_write_tokens:
        lost.dropped("usage.input_tokens_details.cache_write_tokens", no_such("count", "Gemini"))
    report_cost(used, lost)
    return merged(counted, document_fields(kept), "usage.leftovers", lost)
