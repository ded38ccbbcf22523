"""Answers of this wire: what they are in Responses, how they ended, what they took."""

from __future__ import annotations

from typing import Any

import msgspec

from llm_rest.wires import gemini_generate_content as wire
from tests.support.facts import plain
from tests.wires.gemini_generate_content import (
    answer,
    read,
    written,
)

YO = {"text": "Yo"}


def returns(document: Any, **options: Any) -> Any:
    """The response of an answer, which must become that answer again."""
    response, _ = read(document, **options)
    assert written(response)[0] == document
    return response


# --- the answer -----------------------------------------------------------------------------------------------------


def test_an_answer_without_an_id_is_named_after_what_it_says() -> None:
    """gemini.response.1"""
    document = answer(YO)
    del document["responseId"]
    response = returns(document)
    assert response.id.startswith("resp_")
    assert response.id == read(document)[0].id
    assert response.id != read({**document, "modelVersion": "n"})[0].id


# --- how it ended ---------------------------------------------------------------------------------------------------


def ended(finish: str | None, *parts: Any, **candidate: Any) -> Any:
    return returns(answer(*parts, finishReason=finish, **({} if parts else {"content": None}), **candidate))


def test_a_number_may_be_a_text() -> None:
    """gemini.response.22: as protobuf writes large ones"""
    body = msgspec.json.encode({**answer(YO), "usageMetadata": {"promptTokenCount": "10", "totalTokenCount": "10"}})
    assert plain(wire.RESPONSE.decode(body))["usageMetadata"] == {"promptTokenCount": 10, "totalTokenCount": 10}
