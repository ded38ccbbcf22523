"""Streamed reasoning: every thought is told once, and its opaque state stays with its text."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from llm_rest.responses import Response
from llm_rest.responses import events as ev
from llm_rest.responses.items import Reasoning
from llm_rest.vendors.dialects import CHAT_HOSTS
from tests.corpus import exchanges
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
