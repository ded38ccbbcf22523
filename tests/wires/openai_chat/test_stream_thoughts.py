"""Streamed reasoning: every thought is told once, and its opaque state stays with its text."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from llm_rest.responses import Response
from llm_rest.responses import events as ev
from llm_rest.responses.carriers import seal
from llm_rest.responses.items import Message, Reasoning
from llm_rest.responses.parts import OutputText, ReasoningText, SummaryText
from llm_rest.responses.stream import disassemble
from llm_rest.vendors.dialects import CHAT_HOSTS
from llm_rest.wires import openai_chat as wire
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


def sealed(number: int) -> str:
    return seal("anthropic_messages", "anthropic", {"type": str(number)})


TWO = Response(
    id="resp_1",
    model="m",
    status="completed",
    output=[
        Reasoning(id="rs_1", summary=[SummaryText(text="One."), SummaryText(text="Two.")], encrypted_content=sealed(1)),
        Reasoning(id="rs_2", summary=[], content=[ReasoningText(text="Three.")], encrypted_content=sealed(2)),
        Reasoning(id="rs_3", summary=[], encrypted_content=sealed(3)),
        Message(id="msg_1", role="assistant", content=[OutputText(text="Hi.", annotations=[])]),
    ],
)
EXPECTED = [(["One.", "Two."], [], sealed(1)), ([], ["Three."], sealed(2)), ([], [], sealed(3))]


def parts(items: Any) -> list[tuple[list[str], list[str], Any]]:
    return [
        ([part.text for part in item.summary or ()], [part.text for part in item.content or ()], item.encrypted_content)
        for item in items
        if isinstance(item, Reasoning)
    ]


@pytest.mark.parametrize("host", ["openai", "compatible"])
def test_state_of_other_vendors_stands_behind_its_text_and_comes_back_with_it(host: str) -> None:
    """chat.stream_back.3 chat.response_back.12"""
    dialect = CHAT_HOSTS[host]
    stream = b"".join(written("openai_chat", disassemble(TWO), dialect=dialect)[0])
    deltas = deltas_of(stream)
    assert shown(deltas) == "One.\n\nTwo.\n\nThree."
    events = read("openai_chat", [stream], dialect=dialect)
    assert parts(assembled(events).output) == EXPECTED
    assert parts(e.item for e in events if isinstance(e, ev.OutputItemDone)) == EXPECTED


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_state_comes_back_from_a_client_that_adds_up_the_deltas(field: str) -> None:
    """chat.response_back.12"""
    deltas = deltas_of(b"".join(written("openai_chat", disassemble(TWO), dialect=CHAT_HOSTS["openai"])[0]))
    details = [detail for delta in deltas for detail in delta.get("reasoning_details") or ()]
    message = {"role": "assistant", "content": "Hi.", field: shown(deltas), "reasoning_details": details}
    body = {"model": "m", "messages": [message]}
    request, _ = wire.decode_request(wire.REQUEST.decode(msgspec.json.encode(body)))
    assert parts(request.input) == EXPECTED


@pytest.mark.parametrize(
    "lengths", [{"summary": [99]}, {"summary": [-1]}, {"summary": "x"}, {"text": [True]}, {}, None]
)
def test_places_that_a_client_made_up_name_no_text(lengths: Any) -> None:
    detail = {"type": "reasoning.encrypted", "data": sealed(1), "format": "llm_rest", "id": "0", "start": 0}
    message = {"role": "assistant", "reasoning_content": "Hm.", "reasoning_details": [{**detail, "lengths": lengths}]}
    request, _ = wire.decode_request(wire.REQUEST.decode(msgspec.json.encode({"model": "m", "messages": [message]})))
    items = [item for item in request.input or () if isinstance(item, Reasoning)]
    assert [text for item in items for text in texts(item)] == ["Hm."]


def chunk(**delta: Any) -> bytes:
    document = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return b"data: %s\n\n" % msgspec.json.encode({**document, "choices": [{"index": 0, "delta": delta}]})


SIGNED = {"type": "reasoning.text", "text": "Hm, let me.", "signature": "c2ln", "index": 0}


@pytest.mark.parametrize("host", ["compatible", "openrouter"])
@pytest.mark.parametrize(
    "pieces",
    [
        [{"reasoning_content": "Hm, "}, {"reasoning_content": "let me."}, {"reasoning_details": [SIGNED]}],
        [{"reasoning_details": [SIGNED]}, {"reasoning": "Hm, "}, {"reasoning": "let me."}],
        [{"reasoning": "Hm, let me."}, {"reasoning_content": "Hm, let me."}],
        [{"reasoning": "Hm, let me."}, {"content": "Hi."}, {"reasoning_details": [SIGNED]}],
        [{"reasoning": "Hm, let me.", "reasoning_details": [SIGNED]}, {"content": "Hi."}],
    ],
)
def test_a_thought_that_a_host_sends_in_two_fields_is_told_once(host: str, pieces: list[Plain]) -> None:
    """chat.stream.2"""
    stream = b"".join(chunk(**piece) for piece in [*pieces, {"content": "!"}]) + b"data: [DONE]\n\n"
    events = read("openai_chat", [stream], dialect=CHAT_HOSTS[host])
    assert "".join(e.delta for e in events if isinstance(e, ev.ReasoningTextDelta)) == "Hm, let me."
