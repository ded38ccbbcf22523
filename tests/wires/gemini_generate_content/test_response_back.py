"""Responses as answers of this wire, and errors both ways."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from llm_rest.errors import (
    AuthenticationError,
    BadRequestError,
    ErrorFacts,
    InternalServerError,
    NotFoundError,
    OverloadedError,
    QuotaError,
    RateLimitError,
    api_error,
)
from llm_rest.responses import (
    Compaction,
    CustomToolCall,
    ImageGenerationCall,
    IncompleteDetails,
    InputTokensDetails,
    Logprob,
    Message,
    OutputText,
    OutputTokensDetails,
    Reasoning,
    ReasoningText,
    RefusalPart,
    Request,
    Response,
    ResponseError,
    Search,
    SummaryText,
    Usage,
    WebSearchCall,
)
from llm_rest.unknown import Unknown, with_extras
from llm_rest.wires import gemini_generate_content as wire
from tests.support.facts import plain
from tests.wires.gemini_generate_content import answered, call, called, parts_of, said, written

# --- what was said --------------------------------------------------------------------------------------------------


def parts(*output: Any, **fields: Any) -> tuple[list[Any], list[str]]:
    document, lost = written(answered(*output, **fields))
    return parts_of(document), lost


def test_a_small_answer() -> None:
    """gemini.response_back.1"""
    assert written(answered(said("Yo"), created_at=1795168800)) == (
        {
            "candidates": [
                {"content": {"role": "model", "parts": [{"text": "Yo"}]}, "finishReason": "STOP", "index": 0}
            ],
            "modelVersion": "m",
            "createTime": "2026-11-20T10:00:00Z",
            "responseId": "r",
        },
        [],
    )


def test_the_model_is_the_one_that_was_asked() -> None:
    """gemini.response_back.1"""
    response = Response(id="r", status="completed", output=[])
    assert written(response, request=Request(model="x"))[0]["modelVersion"] == "x"


def test_what_another_model_thought_is_shown_as_thoughts() -> None:
    """gemini.response_back.2"""
    summary = Reasoning(summary=[SummaryText(text="a"), SummaryText(text="b")], encrypted_content="gAAAA")
    words = Reasoning(summary=[], content=[ReasoningText(text="c")])
    assert parts(summary, said("Yo"), words) == (
        [
            {"text": "a", "thought": True},
            {"text": "b", "thought": True},
            {"text": "Yo"},
            {"text": "c", "thought": True},
        ],
        ["output[0].encrypted_content (dropped)", "output[2] (changed)"],
    )


def test_calls_have_their_ids_and_arguments_in_an_object() -> None:
    """gemini.response_back.3: and no stand-in for a signature"""
    assert parts(
        call("c1", "f", '{"a":1}'), call("c2", "f", "1"), CustomToolCall(call_id="c3", name="g", input="x")
    ) == (
        [called("c1", "f", {"a": 1}), called("c2", "f", {"INVALID_JSON": "1"}), called("c3", "g", {"input": "x"})],
        ["output[1].arguments (changed)", "output[2] (emulated)"],
    )


def test_a_refusal_is_a_text_or_the_reason_why_nothing_came() -> None:
    """gemini.response_back.4"""
    refusal = Message(role="assistant", content=[RefusalPart(refusal="No.")])
    assert parts(refusal) == ([{"text": "No."}], ["output[0].content[0] (changed)"])
    held: Any = {"status": "incomplete", "incomplete_details": IncompleteDetails(reason="content_filter")}
    document, lost = written(answered(refusal, **held))
    assert document["candidates"] == [
        {"content": {"role": "model"}, "finishReason": "SAFETY", "finishMessage": "No.", "index": 0}
    ]
    assert lost == []
    assert written(answered(refusal, refusal, **held))[1] == ["output (changed)"]


def test_a_picture_is_data() -> None:
    """gemini.response_back.5"""
    image = ImageGenerationCall(id="i", status="completed", result="AAAA", output_format="webp", quality="low")
    assert parts(image) == (
        [{"inlineData": {"mimeType": "image/webp", "data": "AAAA"}}],
        ["output[0].quality (dropped)"],
    )
    assert parts(ImageGenerationCall(id="i", status="in_progress", result=None)) == ([], ["output[0] (dropped)"])


def test_what_has_no_part_here_is_dropped() -> None:
    """gemini.response_back.6"""
    search = WebSearchCall(id="w", status="completed", action=Search(queries=["q"]))
    strange = with_extras(said("Yo"), {"mood": "glad"})
    assert parts(search, Unknown({"type": "dream"}), strange, Compaction(encrypted_content="x")) == (
        [{"text": "Yo"}],
        ["output[0] (dropped)", "output[1] (dropped)", "output[2].mood (dropped)", "output[3] (dropped)"],
    )


def test_probabilities_of_one_text() -> None:
    """gemini.response_back.7"""
    scored = OutputText(text="Yo", annotations=[], logprobs=[Logprob(token="Yo", logprob=-1, bytes=None)])
    document, lost = written(answered(Message(role="assistant", content=[scored])))
    assert document["candidates"][0]["logprobsResult"] == {
        "chosenCandidates": [{"token": "Yo", "logProbability": -1}],
        "topCandidates": [{"candidates": []}],
    }
    assert lost == []
    assert written(answered(Message(role="assistant", content=[scored]), said("!")))[1] == [
        "output[0].content[0].logprobs (dropped)"
    ]


# --- what stands beside ---------------------------------------------------------------------------------------------


def counted(**fields: Any) -> tuple[Any, list[str]]:
    document, lost = written(answered(usage=Usage(**{"input_tokens": 10, "output_tokens": 5, **fields})))
    return document["usageMetadata"], lost


def test_thoughts_are_counted_apart_and_zeros_left_out() -> None:
    """gemini.response_back.8"""
    assert counted(total_tokens=15, output_tokens_details=OutputTokensDetails(reasoning_tokens=5)) == (
        {"promptTokenCount": 10, "thoughtsTokenCount": 5, "totalTokenCount": 15},
        [],
    )
    assert counted(input_tokens_details=InputTokensDetails(cached_tokens=4))[0] == {
        "promptTokenCount": 10,
        "cachedContentTokenCount": 4,
        "candidatesTokenCount": 5,
        "totalTokenCount": 15,
    }


def test_counts_this_wire_does_not_have() -> None:
    """gemini.response_back.9"""
    details = InputTokensDetails(cached_tokens=0, cache_write_tokens=3)
    assert counted(input_tokens_details=details, cost=0.1)[1] == [
        "usage.input_tokens_details.cache_write_tokens (dropped)",
        "usage.cost (dropped)",
    ]
    more = OutputTokensDetails(reasoning_tokens=9)
    assert counted(output_tokens_details=more) == (
        {"promptTokenCount": 10, "thoughtsTokenCount": 5, "totalTokenCount": 15},
        ["usage.output_tokens_details (changed)"],
    )


def test_tiers() -> None:
    """gemini.response_back.10"""
    assert written(answered(service_tier="default"))[0]["usageMetadata"] == {"serviceTier": "standard"}
    assert written(answered(service_tier="scale"))[1] == ["service_tier (dropped)"]


@pytest.mark.parametrize(
    ("status", "reason", "finish", "lost"),
    [
        ("completed", None, "STOP", []),
        ("incomplete", "max_output_tokens", "MAX_TOKENS", []),
        ("incomplete", "content_filter", "SAFETY", []),
        ("incomplete", "BORED", "BORED", []),
        ("incomplete", None, "INCOMPLETE", ["status (changed)"]),
        ("cancelled", None, "CANCELLED", ["status (changed)"]),
        ("in_progress", None, "IN_PROGRESS", ["status (changed)"]),
    ],
)
def test_how_it_ended(status: str, reason: str | None, finish: str, lost: list[str]) -> None:
    """gemini.response_back.11: what is not over is not told as completed"""
    details = IncompleteDetails(reason=reason) if reason else None
    document, found = written(answered(said("Yo"), status=status, incomplete_details=details))
    assert (document["candidates"][0]["finishReason"], found) == (finish, lost)


@pytest.mark.parametrize(
    ("code", "error", "lost"),
    [
        ("rate_limit_exceeded", (429, "RESOURCE_EXHAUSTED"), []),
        ("server_error", (500, "INTERNAL"), []),
        ("server_overloaded", (503, "UNAVAILABLE"), []),
        ("invalid_prompt", (500, "INTERNAL"), ["error.code (changed)"]),
    ],
)
def test_a_failure_is_an_error(code: str, error: Any, lost: list[str]) -> None:
    """gemini.response_back.12"""
    failed = answered(status="failed", error=ResponseError(code=code, message="Oops."))
    document, found = written(failed)
    assert document["error"] == {"code": error[0], "message": "Oops.", "status": error[1]}
    assert ("candidates" in document, found) == (False, lost)


def test_what_was_said_before_a_failure_is_kept() -> None:
    """gemini.response_back.12"""
    failed = answered(said("Yo"), status="failed", error=ResponseError(code="server_error", message="Oops."))
    document, _ = written(failed)
    assert parts_of(document) == [{"text": "Yo"}]
    again: Any = wire.decode_response(wire.RESPONSE.decode(msgspec.json.encode(document)))[0]
    assert (again.status, again.output[0].status) == ("failed", "incomplete")


def test_what_this_wire_has_no_word_for() -> None:
    """gemini.response_back.13"""
    response = answered(said("Yo"), billing={"payer": "x"}, leftovers={"openai_chat": {"system_fingerprint": "fp"}})
    assert written(response)[1] == ["system_fingerprint (dropped)", "billing (dropped)"]


# --- errors ---------------------------------------------------------------------------------------------------------

TYPE = "type.googleapis.com/google.rpc."


def error(status: int, word: str, *details: Any, message: str = "Oops.") -> bytes:
    found: Any = {"code": status, "message": message, "status": word}
    return json.dumps({"error": found | ({"details": details} if details else {})}).encode()


INVALID_KEY = {"@type": f"{TYPE}ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}
LATER = {"@type": f"{TYPE}RetryInfo", "retryDelay": "34.4s"}
DAILY = {"@type": f"{TYPE}QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}]}
MINUTELY = {"@type": f"{TYPE}QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerMinutePerProject"}]}


@pytest.mark.parametrize(
    ("status", "body", "kind", "retry"),
    [
        (400, error(400, "INVALID_ARGUMENT"), BadRequestError, False),
        (400, error(400, "INVALID_ARGUMENT", INVALID_KEY), AuthenticationError, False),
        (401, error(401, "UNAUTHENTICATED"), AuthenticationError, False),
        (404, error(404, "NOT_FOUND"), NotFoundError, False),
        (429, error(429, "RESOURCE_EXHAUSTED", MINUTELY, LATER), RateLimitError, True),
        (500, error(500, "INTERNAL"), InternalServerError, True),
        (503, error(503, "UNAVAILABLE"), OverloadedError, True),
        (503, b"[" + error(503, "UNAVAILABLE") + b"]", OverloadedError, True),
        (502, b"<html><title>502</title></html>", InternalServerError, True),
    ],
)
def test_errors_are_typed(status: int, body: bytes, kind: type[Exception], retry: bool) -> None:
    """gemini.error.1"""
    found = api_error(wire.decode_error(status, {}, body))
    assert (type(found), found.retryable) == (kind, retry)


def test_the_delay_stands_in_the_details() -> None:
    """gemini.error.2"""
    facts = wire.decode_error(429, {"retry-after": "3"}, error(429, "RESOURCE_EXHAUSTED", LATER))
    assert (facts.retry_after, facts.type, facts.message) == (34.4, "RESOURCE_EXHAUSTED", "Oops.")


def test_a_day_is_not_waited_for() -> None:
    """gemini.error.3"""
    found = api_error(wire.decode_error(429, {}, error(429, "RESOURCE_EXHAUSTED", DAILY, LATER)))
    assert isinstance(found, RateLimitError | QuotaError)
    assert not found.retryable


@pytest.mark.parametrize("details", [[], [LATER], [INVALID_KEY, DAILY]])
def test_an_error_comes_back_as_it_was(details: Any) -> None:
    """gemini.error.4"""
    body = error(429, "RESOURCE_EXHAUSTED", *details)
    status, document = wire.encode_error(wire.decode_error(429, {}, body))
    assert (status, plain(document)) == (429, json.loads(body))


def test_an_error_of_anybody_is_told_in_this_vendors_words() -> None:
    """gemini.error.5"""
    facts = ErrorFacts(status=529, message="Busy.", type="overloaded_error", code="OVERLOADED", retry_after=2.5)
    status, document = wire.encode_error(facts)
    assert (status, plain(document)["error"]) == (
        529,
        {
            "code": 529,
            "message": "Busy.",
            "status": "INTERNAL",
            "details": [
                {"@type": f"{TYPE}ErrorInfo", "reason": "OVERLOADED"},
                {"@type": f"{TYPE}RetryInfo", "retryDelay": "2.5s"},
            ],
        },
    )


def test_why_a_prompt_was_blocked_is_told_as_it_was_said_since() -> None:
    """gemini.response_back.4"""
    document: Any = {"promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "No."}, "responseId": "r"}
    response: Any = wire.decode_response(wire.RESPONSE.decode(json.dumps(document).encode()))[0]
    response.output[0].content = [RefusalPart(refusal="Not today.")]
    assert written(response)[0]["candidates"][0]["finishMessage"] == "Not today."
