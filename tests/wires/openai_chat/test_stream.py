"""Streams of Chat Completions: where tags are cut, what counts are sent, and each thought told once with its state."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from llm_rest.responses import Response
from llm_rest.responses import events as ev
from llm_rest.responses.items import FunctionCall, Message, Reasoning
from llm_rest.responses.response import Usage
from llm_rest.responses.stream import disassemble
from llm_rest.vendors.dialects import CHAT_HOSTS, ChatDialect
from llm_rest.wires import openai_chat as wire
from tests.corpus import exchanges
from tests.support.legal import faults
from tests.support.streams import STREAMING, assembled, read, written

Plain = dict[str, Any]
FIELDS = ("reasoning_content", "reasoning")
STOP = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
GOOGLE = CHAT_HOSTS["google"]
SIGNED = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def stream_of(*deltas: Plain) -> bytes:
    """The bytes of a stream with these deltas before its end."""
    chunks = [*({"choices": [{"index": 0, "delta": delta}]} for delta in deltas), STOP]
    documents = [msgspec.json.encode({"id": "c1", "created": 1, "model": "m", **chunk}) for chunk in chunks]
    return b"".join(b"data: %b\n\n" % document for document in documents) + b"data: [DONE]\n\n"


def events_of(*deltas: Plain, dialect: ChatDialect = CHAT_HOSTS["openai"]) -> list[Any]:
    """The events of a stream with these deltas, which are legal."""
    events = read("openai_chat", [stream_of(*deltas)], dialect=dialect)
    assert faults(events) == []
    return events


def deltas_in(stream: bytes) -> list[Plain]:
    documents = [msgspec.json.decode(line[6:]) for line in stream.splitlines() if line.startswith(b"data: {")]
    return [choice["delta"] for document in documents for choice in document["choices"]]


# --- thoughts in the text -------------------------------------------------------------------------------------------


def thought_and_text(response: Response) -> tuple[str, str]:
    """The texts of all thoughts and of all messages."""
    thoughts = [part.text for item in response.output if isinstance(item, Reasoning) for part in item.content or ()]
    spoken = [part for item in response.output if isinstance(item, Message) for part in item.content]
    return "".join(thoughts), "".join(getattr(part, "text", "") for part in spoken)


@pytest.mark.parametrize("cut", range(1, 30))
def test_tags_around_a_thought_are_found_wherever_they_are_cut(cut: int) -> None:
    text = "<think>Hm <b></think>\n\nHi </think>"
    events = events_of({"content": text[:cut]}, {"content": text[cut:]}, dialect=CHAT_HOSTS["together"])
    assert thought_and_text(assembled(events)) == ("Hm <b>", "Hi </think>")


@pytest.mark.parametrize("pieces", [("<thi", "ng>"), ("<th",), ("a <think>b</think>",)])
def test_text_that_only_begins_like_a_tag_is_text(pieces: tuple[str, ...]) -> None:
    events = events_of(*({"content": piece} for piece in pieces), dialect=CHAT_HOSTS["together"])
    assert thought_and_text(assembled(events)) == ("", "".join(pieces))


# --- counts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("asked", "counted"), [({"include_usage": True}, True), (None, False), ({}, False)])
def test_counts_are_sent_where_the_client_asked_for_them(asked: Any, counted: bool) -> None:
    """chat.stream_back.10"""
    body = {"model": "m", "messages": [], "stream": True} | ({} if asked is None else {"stream_options": asked})
    request, _ = wire.decode_request(wire.REQUEST.decode(msgspec.json.encode(body)))
    usage = Usage(input_tokens=1, output_tokens=2, total_tokens=3)
    events = disassemble(Response(id="r", model="m", status="completed", output=[], usage=usage))
    assert (b'"usage"' in b"".join(written("openai_chat", events, request=request)[0])) is counted


# --- reasoning ------------------------------------------------------------------------------------------------------


def texts(response: Response) -> str:
    items = [item for item in response.output if isinstance(item, Reasoning)]
    found = [part.text for item in items for part in (*(item.summary or ()), *(item.content or ()))]
    return "".join(found).replace("\n", "")


def shown(deltas: list[Plain]) -> str:
    """What a client reads that adds up every field with reasoning."""
    found = [delta.get(field) or "" for delta in deltas for field in FIELDS]
    details = [detail for delta in deltas for detail in delta.get("reasoning_details") or ()]
    return "".join([*found, *(detail.get("text") or detail.get("summary") or "" for detail in details)])


@pytest.mark.parametrize("host", ["openai", "compatible", "openrouter", "deepseek"])
@pytest.mark.parametrize("name", STREAMING)
def test_a_recorded_thought_is_told_once(name: str, host: str) -> None:
    """chat.stream_back.3"""
    dialect = CHAT_HOSTS[host]
    wrong: list[str] = []
    for exchange in exchanges(name):
        events = read(name, [(exchange.response.stream_text or "").encode()], dialect=exchange.dialect)
        answer = assembled(events)
        said = texts(answer)
        if not said or answer.status == "failed":
            continue
        stream = b"".join(written("openai_chat", events, dialect=dialect)[0])
        back = read("openai_chat", [stream], dialect=dialect)
        told = "".join(e.delta for e in back if isinstance(e, ev.ReasoningTextDelta | ev.ReasoningSummaryTextDelta))
        places = {"chunks": shown(deltas_in(stream)), "events": told, "answer": texts(assembled(back))}
        wrong += [f"{exchange.id}: {where}" for where, found in places.items() if found.replace("\n", "") != said]
    assert wrong == []


def test_the_state_of_a_call_leaves_with_the_call_and_stands_before_it_again() -> None:
    pieces = written("openai_chat", events_of({"tool_calls": [{**CALL, **SIGNED}]}, dialect=GOOGLE), dialect=GOOGLE)[0]
    said = [piece for delta in deltas_in(b"".join(pieces)) for piece in delta.get("tool_calls") or ()]
    assert [piece.get("extra_content") for piece in said] == [SIGNED["extra_content"], *[None] * (len(said) - 1)]
    again = assembled(read("openai_chat", pieces, dialect=GOOGLE))
    assert [type(item) for item in again.output] == [Reasoning, FunctionCall]


@pytest.mark.parametrize("text", [[], [{"content": "Hi"}]], ids=["alone", "behind a text"])
def test_the_state_of_a_call_that_comes_late_changes_no_item_that_was_told(text: list[Plain]) -> None:
    """chat.stream.8: the response lists the items by their index, and the late state behind them"""
    events = events_of({"tool_calls": [CALL]}, *text, {"tool_calls": [{"index": 0, **SIGNED}]}, dialect=GOOGLE)
    assert [type(item) for item in assembled(events).output] == [FunctionCall, *[Message for _ in text], Reasoning]
