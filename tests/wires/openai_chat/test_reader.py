"""What compatible hosts send otherwise than OpenAI, in answers that are no streams. Calls are in test_response.py."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llm_rest.dialects import CHAT_HOSTS
from llm_rest.responses import Message, OutputText, Reasoning, ReasoningText
from llm_rest.wires import openai_chat as wire
from tests.wires.openai_chat import CALL, OPENAI, answered, plain, said


@pytest.mark.parametrize("before", [b"\n\n", b": keep-alive\n\n: OPENROUTER PROCESSING\n\n", b"\xef\xbb\xbf"])
def test_keep_alives_before_the_document_are_skipped(before: bytes) -> None:
    """chat.reader.7"""
    document = said(content="a: b\n: c")
    assert plain(wire.RESPONSE.decode(before + json.dumps(document).encode())) == document


@pytest.mark.parametrize("index", [0, 1, 0.0])
def test_the_index_of_a_call_says_nothing_here(index: float) -> None:
    """chat.reader.8"""
    document = said(content=None, tool_calls=[{**CALL, "index": index}], finish_reason="tool_calls")
    assert len(answered(document)[0].output) == 1


def test_content_may_be_parts() -> None:
    """chat.reader.14"""
    response, _ = answered(said(content=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]))
    (message,) = response.output
    assert isinstance(message, Message)
    assert message.content == [OutputText(text="a"), OutputText(text="b")]


@pytest.mark.parametrize(
    "message",
    [
        {"reasoning_content": "Hm."},
        {"reasoning": "Hm."},
        {"reasoning": "Hm.", "reasoning_content": "Hm."},
        {"reasoning": None, "reasoning_content": "Hm."},
        {"reasoning_details": [{"type": "reasoning.text", "text": "Hm.", "index": 0}], "reasoning": "Hm."},
    ],
)
@pytest.mark.parametrize("host", ["openai", "deepseek", "groq", "openrouter", "huggingface"])
def test_reasoning_is_read_wherever_it_stands(message: dict[str, Any], host: str) -> None:
    """chat.reader.15 and chat.response.4"""
    response, _ = answered(said(content="a", **message), CHAT_HOSTS[host])
    thought = response.output[0]
    assert isinstance(thought, Reasoning)
    assert thought.content == [ReasoningText(text="Hm.")]
    assert thought.summary == []
    assert len(response.output) == 2


@pytest.mark.parametrize("gap", ["\n\n", ""])
def test_think_tags_are_reasoning_where_the_host_is_known_to_send_them(gap: str) -> None:
    """chat.reader.15 and chat.response.24"""
    document = said(content=f"<think>\nHm.</think>{gap}a")
    response, _ = answered(document, CHAT_HOSTS["lmstudio"])
    thought, message = response.output
    assert isinstance(thought, Reasoning)
    assert isinstance(message, Message)
    assert thought.content == [ReasoningText(text="\nHm.")]
    assert message.content == [OutputText(text="a", annotations=[])]
    assert len(answered(document, OPENAI)[0].output) == 1
    assert len(answered(said(content="<think>Hm."), CHAT_HOSTS["lmstudio"])[0].output) == 1


def test_an_empty_text_beside_reasoning_is_no_text() -> None:
    """chat.reader.16"""
    response, _ = answered(said(content="", reasoning_content="Hm."), CHAT_HOSTS["deepseek"])
    assert [type(item) for item in response.output] == [Reasoning]


@pytest.mark.parametrize(
    "change",
    [
        {"created": 1.5},
        {"created": None},
        {"id": None},
        {"object": ""},
        {"model": ""},
        {"model": None},
    ],
)
def test_the_head_of_a_document_may_be_odd(change: dict[str, Any]) -> None:
    """chat.reader.18"""
    response, _ = answered({**said(content="a"), **change})
    assert isinstance(response.created_at, int)
    assert response.id


def test_the_head_of_a_document_may_be_missing() -> None:
    """chat.reader.18"""
    response, _ = answered({"choices": [{"message": {"content": "a"}}]})
    assert response.id.startswith("resp_")
    assert response.status == "completed"
