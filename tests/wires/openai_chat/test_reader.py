"""What compatible hosts send otherwise than OpenAI, in answers that are no streams. Calls are in test_response.py."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from llm_rest.responses import RESPONSE, Message, OutputText, OutputTextDelta, Reasoning, ReasoningText
from llm_rest.vendors.dialects import CHAT_HOSTS
from llm_rest.wires import openai_chat as wire
from tests.support.streams import read
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


@pytest.mark.parametrize("text", ['{"name":"Ada","n":1.50,"list":[1,{"a":null}]}', "{}"])
def test_content_that_is_an_object_is_its_json_text(text: str) -> None:
    """chat.reader.26"""
    document = json.dumps(said(content="?")).replace('"?"', text)
    response, lost = wire.decode_response(wire.RESPONSE.decode(document))
    assert isinstance(message := response.output[0], Message)
    assert isinstance(part := message.content[0], OutputText)
    assert (part.text, lost) == (text, [])
    back, _ = wire.encode_response(RESPONSE.decode(msgspec.json.encode(response)))
    assert f'"content":{text}' in msgspec.json.encode(back).decode()


def test_content_that_is_an_object_is_text_in_histories_and_streams_too() -> None:
    """chat.reader.26"""
    body = {"model": "m", "messages": [{"role": "assistant", "content": {"a": 1}}]}
    request, _ = wire.decode_request(wire.REQUEST.decode(json.dumps(body)))
    assert isinstance(request.input, list)
    assert isinstance(message := request.input[0], Message)
    assert message.content == '{"a":1}'
    assert plain(wire.encode_request(request)[0])["messages"] == body["messages"]
    chunk = {"id": "c", "choices": [{"index": 0, "delta": {"content": {"a": 1}}, "finish_reason": "stop"}]}
    events = read("openai_chat", [b"data: %s\n\ndata: [DONE]\n\n" % json.dumps(chunk).encode()])
    assert [event.delta for event in events if isinstance(event, OutputTextDelta)] == ['{"a":1}']
