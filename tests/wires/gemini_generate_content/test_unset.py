"""A null is a field that is not set, wherever it stands in a document of this wire."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from llm_rest.responses import InputText, Message
from llm_rest.wires import gemini_generate_content as wire
from tests.laws.rows import ROWS
from tests.support.documents import Place, places, replaced, without
from tests.support.facts import plain
from tests.wires.gemini_generate_content import SIGNATURE, answer, called, decoded, read, theirs, told, user

ROW = ROWS["gemini_generate_content"]
QUESTIONS = [*ROW.requests, {"contents": [theirs("Hi")], "serviceTier": "flex", "cachedContent": "cachedContents/1"}]
PARTS = answer(
    {"text": "Hm.", "thought": True, "thoughtSignature": SIGNATURE},
    {"text": "Yo", "thoughtSignature": SIGNATURE},
    called("c1", args={"a": 1}, thoughtSignature=SIGNATURE),
    {"executableCode": {"language": "PYTHON", "code": "1"}},
    {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
    {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
    finishMessage="Done.",
    avgLogprobs=-1.5,
)
ANSWERS = [*ROW.answers, PARTS | {"createTime": "2026-11-20T10:00:00Z"}]
CALLERS = ("args", "response", "parametersJsonSchema", "responseJsonSchema", "safetySettings", "promptTokensDetails")
"""Fields whose values are the caller's own JSON, or passed on as they came, where a null is a value."""


def unset(documents: list[Any]) -> Iterator[tuple[Place, Any, Any]]:
    """Each field of the documents: the document with null there, and without it."""
    for document in documents:
        for place in places(document):
            if place and isinstance(place[-1], str) and not set(place[:-1]) & set(CALLERS):
                yield place, replaced(document, place, None), without(document, place)


def test_a_null_in_a_request_is_a_field_left_out() -> None:
    """gemini.canonical.3"""
    for place, null, bare in unset(QUESTIONS):
        if place != ("contents",):
            assert wire.decode_request(decoded(null)) == wire.decode_request(decoded(bare)), place


def test_a_null_in_an_answer_or_in_a_chunk_is_a_field_left_out() -> None:
    """gemini.canonical.3"""
    for place, null, bare in unset(ANSWERS):
        if place not in (("candidates",), ("promptFeedback", "blockReason"), ("promptFeedback",)):
            assert read(null) == read(bare), place
            assert told(null) == told(bare), place


@pytest.mark.parametrize("raw", [b"null", b"[null]", b"[]", b'{"contents": [null]}', b'{"contents": null}', b"[[1]]"])
def test_a_null_in_the_place_of_an_object_is_no_document(raw: bytes) -> None:
    """gemini.canonical.3"""
    with pytest.raises(ValueError, match=r"expected|Expected|required"):
        wire.REQUEST.decode(raw)


def test_a_part_that_says_nothing_stays_so_where_the_system_speaks_later() -> None:
    """gemini.request.5"""
    body = {"contents": [theirs("Hi")], "systemInstruction": {"parts": [{}]}}
    request: Any = wire.decode_request(decoded(body))[0]
    empty = request.input[0].content
    request.input = [user("Hi"), Message(role="developer", content=[*empty, InputText(text="a")])]
    found = plain(wire.encode_request(request)[0])["contents"]
    assert found[1]["parts"] == [{}, {"text": "<system>\na\n</system>"}]
