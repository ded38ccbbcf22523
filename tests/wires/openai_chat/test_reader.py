"""What compatible hosts send otherwise than OpenAI, in answers that are no streams. Calls are in test_response.py."""

from __future__ import annotations

import json

import pytest

from llm_rest.wires import openai_chat as wire
from tests.wires.openai_chat import answered, plain, said


@pytest.mark.parametrize("before", [b"\n\n", b": keep-alive\n\n: OPENROUTER PROCESSING\n\n", b"\xef\xbb\xbf"])
def test_keep_alives_before_the_document_are_skipped(before: bytes) -> None:
    """chat.reader.7"""
    document = said(content="a: b\n: c")
    assert plain(wire.RESPONSE.decode(before + json.dumps(document).encode())) == document


def test_the_head_of_a_document_may_be_missing() -> None:
    """chat.reader.18"""
    response, _ = answered({"choices": [{"message": {"content": "a"}}]})
    assert response.id.startswith("resp_")
    assert response.status == "completed"
