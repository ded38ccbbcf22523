"""Streamed reasoning: every thought is told once, and its opaque state stays with its text."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from llm_rest.responses import Response
from llm_rest.responses import events as ev
from llm_rest.responses.items import FunctionCall, Message, Reasoning
from llm_rest.vendors.dialects import CHAT_HOSTS
from tests.corpus import exchanges
from tests.support.legal import faults
from tests.support.streams import STREAMING, assembled, read, written

Plain = dict[str, Any]
HOSTS = ("openai", "compatible", "openrouter", "deepseek")
FIELDS = ("reasoning_content", "reasoning")


def texts(item: Reasoning) -> list[str]:
    return [part.text for part in (*(item.summary or ()), *(item.content or ()))]


def thoughts(response: Response) -> list[Reasoning]:
    return [item for item in response.output if isinstance(item, Reasoning)]


def deltas_of(stream: bytes) -> list[Plain]:
    documents = [msgspec.json.decode(line[6:]) for line in stream.splitlines() if line.startswith(b"data: {")]
    return [choice["delta"] for document in documents for choice in document["choices"]]


def shown(deltas: list[Plain]) -> str:
    """What a client reads that adds up every field with reasoning."""
    found = [delta.get(field) or "" for delta in deltas for field in FIELDS]
    details = [detail for delta in deltas for detail in delta.get("reasoning_details") or ()]
    return "".join([*found, *(detail.get("text") or detail.get("summary") or "" for detail in details)])


def unbroken(text: str) -> str:
    return text.replace("\n", "")


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("name", STREAMING)
def test_a_recorded_thought_is_told_once(name: str, host: str) -> None:
    """chat.stream_back.3"""
    dialect = CHAT_HOSTS[host]
    wrong: list[str] = []
    for exchange in exchanges(name):
        events = read(name, [(exchange.response.stream_text or "").encode()], dialect=exchange.dialect)
        answer = assembled(events)
        said = unbroken("".join(text for item in thoughts(answer) for text in texts(item)))
        if not said or answer.status == "failed":
            continue
        stream = b"".join(written("openai_chat", events, dialect=dialect)[0])
        back = read("openai_chat", [stream], dialect=dialect)
        told = "".join(e.delta for e in back if isinstance(e, ev.ReasoningTextDelta | ev.ReasoningSummaryTextDelta))
        final = "".join(text for item in thoughts(assembled(back)) for text in texts(item))
        wrong += [
            f"{exchange.id}: {where}"
            for where, found in (("chunks", shown(deltas_of(stream))), ("events", told), ("answer", final))
            if unbroken(found) != said
        ]
    assert wrong == []


def test_the_state_of_a_call_leaves_with_the_call_and_stands_before_it_again() -> None:
    google = CHAT_HOSTS["google"]
    attached = {"google": {"thought_signature": "c2ln"}}
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    chunk = {
        "id": "r",
        "model": "m",
        "choices": [{"index": 0, "delta": {"tool_calls": [{**call, "extra_content": attached}]}}],
    }
    stream = b"data: %b\n\ndata: [DONE]\n\n" % msgspec.json.encode(chunk)
    events = read("openai_chat", [stream], dialect=google)
    pieces = written("openai_chat", events, dialect=google)[0]
    said = [piece for delta in deltas_of(b"".join(pieces)) for piece in delta.get("tool_calls") or ()]
    assert [piece.get("extra_content") for piece in said] == [attached, *[None] * (len(said) - 1)]
    assert [type(item) for item in assembled(read("openai_chat", pieces, dialect=google)).output] == [
        Reasoning,
        FunctionCall,
    ]


@pytest.mark.parametrize("text", [[], [{"content": "Hi"}]], ids=["alone", "behind a text"])
def test_the_state_of_a_call_that_comes_late_changes_no_item_that_was_told(text: list[Plain]) -> None:
    """chat.stream.8: the response lists the items by their index, and the late state behind them"""
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    late = {"index": 0, "extra_content": {"google": {"thought_signature": "c2ln"}}}
    deltas = [{"tool_calls": [call]}, *text, {"tool_calls": [late]}]
    chunks = [{"id": "r", "model": "m", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    stream = b"".join(b"data: %b\n\n" % msgspec.json.encode(chunk) for chunk in chunks) + b"data: [DONE]\n\n"
    events = read("openai_chat", [stream], dialect=CHAT_HOSTS["google"])
    assert faults(events) == []
    assert [type(item) for item in assembled(events).output] == [FunctionCall, *[Message for _ in text], Reasoning]
