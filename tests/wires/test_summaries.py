"""A caller who asks for a summary finds the thoughts of Chat hosts and Ollama there; for others they stay raw thoughts."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from llm_rest import wires
from llm_rest.responses import Message, ReasoningOptions, Request
from llm_rest.vendors.rows import DIALECTS
from tests.support.hosts import facts

SUMMARY = Request(model="m", input="x", reasoning=ReasoningOptions(summary="auto"))
DETAILS = [
    {"type": "reasoning.text", "text": "ab", "signature": "s", "index": 0},
    {"type": "reasoning.summary", "summary": "S", "index": 1},
    {"type": "reasoning.text", "text": "cd", "index": 2},
]
CASES: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "zai": ("openai_chat", {"reasoning_content": "th"}, ["th"]),
    "groq": ("openai_chat", {"reasoning": "th"}, ["th"]),
    "openrouter": ("openai_chat", {"reasoning_details": DETAILS}, ["S", "ab", "cd"]),
    "ollama": ("ollama_chat", {"thinking": "th"}, ["th"]),
}


def documents(wire: str, thought: dict[str, Any]) -> tuple[Any, list[Any]]:
    """A whole answer with a thought, and the same in pieces."""
    if wire == "ollama_chat":
        end = {"model": "m", "created_at": "2026-01-01T00:00:00Z", "done": True, "done_reason": "stop"}
        whole = {**end, "message": {"role": "assistant", "content": "Hi", **thought}}
        first = {**whole, "message": {"role": "assistant", "content": "", **thought}, "done": False}
        return whole, [first, {**end, "message": {"role": "assistant", "content": "Hi"}}]
    head = {"id": "c", "created": 1, "model": "m"}
    message = {"role": "assistant", "content": "Hi", **thought}
    pieces = [(thought, None), ({"content": "Hi"}, None), ({}, "stop")]
    whole = {**head, "choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
    return whole, [{**head, "choices": [{"index": 0, "delta": d, "finish_reason": r}]} for d, r in pieces]


@pytest.mark.parametrize("vendor", CASES)
def test_thoughts_are_the_summary_that_was_asked_for_whole_and_streamed(vendor: str) -> None:
    name, thought, texts = CASES[vendor]
    wire: Any = wires.load(name)
    dialect = facts(vendor, name) if name in DIALECTS else None
    whole, pieces = documents(name, thought)
    response: Any
    raw: Any
    response, lost = wire.decode_response(
        wire.RESPONSE.decode(json.dumps(whole)), request=SUMMARY, dialect=dialect, keep=False
    )
    decoder = wire.decode_stream(request=SUMMARY, dialect=dialect, keep=False)
    events: list[Any] = [event for piece in pieces for event in decoder.feed(wire.EVENT.decode(json.dumps(piece)))]
    events += decoder.end() if name == "openai_chat" else []
    assert [part.text for part in response.output[0].summary] == texts
    assert not response.output[0].content
    assert msgspec.json.encode(events[-1].response.output) == msgspec.json.encode(response.output)
    assert any(event.type == "response.reasoning_summary_text.delta" for event in events)
    assert not any(event.type.startswith("response.reasoning_text") for event in events)
    assert not [loss for loss in lost if loss.path.startswith("output")]
    # The host gets them back as it sent them.
    request = Request(
        model="m", input=[Message(role="user", content="a"), *response.output, Message(role="user", content="b")]
    )
    (message,) = (
        m
        for m in json.loads(msgspec.json.encode(wire.encode_request(request, dialect=dialect)[0]))["messages"]
        if m["role"] == "assistant"
    )
    if vendor != "groq":  # which takes thoughts of messages with calls only
        assert message == {"role": "assistant", "content": "Hi", **thought}
    raw, _ = wire.decode_response(
        wire.RESPONSE.decode(json.dumps(whole)), request=Request(model="m", input="x"), dialect=dialect
    )
    assert raw.output[0].content
