"""Answers of this wire: what the model said, how it ended, what it cost, and where it found what it said.

The parts are read in `reader` and written in `writer`; sources are in `grounding`. Before changing this file, know that a
streamed answer must come out the same: everything after the parts is settled by `settle`, from the fields of the candidate
and the answer alone. Follows the references of `GenerateContentResponse` and `Candidate` (read 2026-11-20).
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

from ...losses import Losses
from ...responses.carriers import digest
from ...responses.echo import echo
from ...responses.items import Message, WebSearchCall
from ...responses.leftovers import NEAR, SPELLING, unsaid
from ...responses.parts import OutputText
from ...responses.response import Response
from ...unknown import given, or_none
from ...vendors.dialects import GeminiDialect, gemini_model
from .._left import report_answer, report_unknown
from . import types
from .calls import renamed
from .carried import (
    document_fields,
    encode,
    inner,
    merged,
    own_fields,
    plain,
    rest,
    restored,
    spelling,
)
from .counts import (
    counts_anything,
    decode_logprobs,
    decode_time,
    decode_usage,
    encode_logprobs,
    encode_time,
    encode_usage,
)
from .ends import decode_end, encode_end, end_of, finish_reason, is_blocked, told_end
from .errors import decode_failure
from .grounding import annotated, grounding_of, search_of, sources_of
from .media import Context
from .options import TIERS_BACK
from .reader import Reader, hidden
from .request import DEFAULT
from .types import WIRE
from .writer import Writer

if TYPE_CHECKING:
    from ...losses import Loss
    from ...responses.items import AnyItem
    from ...responses.request import Request

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
