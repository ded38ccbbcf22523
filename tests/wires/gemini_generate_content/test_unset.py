"""What is null, left out or empty: a null is a field that is not set, and everything else comes back as it was, or is told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from llm_rest.errors import DecodeError
from llm_rest.responses import InputText, Message
from llm_rest.responses.stream import Assembler
from llm_rest.wires import gemini_generate_content as wire
from tests.support.documents import Place, places, replaced, without
from tests.support.facts import plain
from tests.wires.gemini_generate_content import (
    BUDGETED,
    END,
    SCHEMA,
    SIGNATURE,
    answer,
    asked,
    called,
    chunk,
    decoded,
    gave,
    model,
    read,
    sent,
    theirs,
    told,
    user,
)

HI = {"contents": [theirs("Hi")]}
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
RESULT: Any = gave("c1", {"output": "4"})

QUESTION = {
    "systemInstruction": {"role": "user", "parts": [{"text": "Be kind."}]},
    "contents": [
        theirs("Hi", IMAGE, {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://b/a.mp4"}}),
        model({"text": "Hm.", "thought": True}, called("c1", args={"a": 1}, thoughtSignature=SIGNATURE)),
        theirs({"functionResponse": {**RESULT["functionResponse"], "parts": [IMAGE], "willContinue": False}}),
    ],
    "tools": [{"functionDeclarations": [{"name": "f", "description": "d", "parametersJsonSchema": SCHEMA}]}],
    "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
    "generationConfig": {
        "temperature": 0.5,
        "topK": 4,
        "maxOutputTokens": 9,
        "stopSequences": ["END"],
        "candidateCount": 1,
        "responseMimeType": "application/json",
        "responseJsonSchema": SCHEMA,
        "thinkingConfig": {"thinkingBudget": 600, "includeThoughts": True},
    },
    "serviceTier": "flex",
    "cachedContent": "cachedContents/1",
}

ANSWER = {
    **answer(
        {"text": "Hm.", "thought": True, "thoughtSignature": SIGNATURE},
        {"text": "Yo", "thoughtSignature": SIGNATURE},
        called("c1", args={"a": 1}, thoughtSignature=SIGNATURE),
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        IMAGE,
        finishMessage="Done.",
        avgLogprobs=-1.5,
        groundingMetadata={
            "webSearchQueries": ["q"],
            "groundingChunks": [{"web": {"uri": "https://a.test", "title": "A"}}],
            "groundingSupports": [{"segment": {"endIndex": 2, "text": "Yo"}, "groundingChunkIndices": [0]}],
        },
    ),
    "promptFeedback": {"blockReasonMessage": "No."},
    "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2, "totalTokenCount": 7, "serviceTier": "flex"},
    "createTime": "2026-11-20T10:00:00Z",
}

CALLERS = ("args", "response", "parametersJsonSchema", "responseJsonSchema")
"""Fields whose values are the caller's own JSON, where a null is a value."""


def unset(document: Any) -> Iterator[tuple[Place, Any, Any]]:
    """Each field of a document: the document with null there, and without it."""
    for place in places(document):
        if place and isinstance(place[-1], str) and not set(place[:-1]) & set(CALLERS):
            yield place, replaced(document, place, None), without(document, place)


# --- null -----------------------------------------------------------------------------------------------------------


def test_a_null_in_a_request_is_a_field_left_out() -> None:
    """gemini.canonical.3"""
    for place, null, bare in unset(QUESTION):
        if place != ("contents",):
            assert wire.decode_request(decoded(null)) == wire.decode_request(decoded(bare)), place


def test_a_null_in_an_answer_is_a_field_left_out() -> None:
    """gemini.canonical.3"""
    for place, null, bare in unset(ANSWER):
        assert read(null) == read(bare), place


def test_a_null_in_a_chunk_is_a_field_left_out() -> None:
    """gemini.canonical.3"""
    for place, null, bare in unset(ANSWER):
        assert told(null) == told(bare), place


@pytest.mark.parametrize("raw", [b"null", b"[null]", b"[]", b'{"contents": [null]}', b'{"contents": null}', b"[[1]]"])
def test_a_null_in_the_place_of_an_object_is_no_document(raw: bytes) -> None:
    """gemini.canonical.3"""
    with pytest.raises(ValueError, match=r"expected|Expected|required"):
        wire.REQUEST.decode(raw)


# --- left out or empty ----------------------------------------------------------------------------------------------


def test_a_part_that_says_nothing_stays_so_where_the_system_speaks_later() -> None:
    """gemini.request.5"""
    request = asked({**HI, "systemInstruction": {"parts": [{}]}}, model=BUDGETED)
    assert isinstance(request.input[0], Message)
    request.input = [user("Hi"), Message(role="developer", content=[*request.input[0].content, InputText(text="a")])]
    assert sent(request)[0]["contents"][1]["parts"] == [{}, {"text": "<system>\na\n</system>"}]


def test_what_nobody_knows_of_a_content_is_kept_in_a_stream() -> None:
    """gemini.stream.10"""
    piece = chunk({"text": "Yo"})
    piece["candidates"][0]["content"]["mood"] = "glad"
    assembler = Assembler()
    for event in told(piece, END):
        assembler.feed(event)
    assert plain(wire.encode_response(assembler.response)[0])["candidates"][0]["content"]["mood"] == "glad"


def test_an_answer_with_a_null_for_its_candidates_is_one_only_where_it_says_why() -> None:
    with pytest.raises(DecodeError, match="candidates"):
        wire.RESPONSE.decode(b'{"candidates":null,"modelVersion":"m"}')
    blocked = wire.RESPONSE.decode(b'{"candidates":null,"promptFeedback":{"blockReason":"SAFETY"}}')
    assert wire.decode_response(blocked)[0].status == "incomplete"
    wire.EVENT.decode(b'{"candidates":null,"usageMetadata":{"totalTokenCount":3}}')
