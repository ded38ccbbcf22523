"""Recorded traffic in what only this wire has to answer for; the laws of every wire are in tests/corpus."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from llm_rest import wires
from llm_rest.responses import Message, Request
from llm_rest.wires import openai_chat as wire
from llm_rest.wires.openai_chat.tools import fit_call_id
from tests.corpus import Exchange, exchanges
from tests.support.documents import differences
from tests.wires.openai_chat import OPENAI, plain


def requests() -> list[Exchange]:
    return [exchange for exchange in exchanges("openai_chat") if exchange.question is not None]


def answers() -> list[Exchange]:
    return [exchange for exchange in exchanges("openai_chat") if exchange.answer is not None]


def _fits(document: Any) -> bool:
    ids = [call["id"] for message in document["messages"] for call in message.get("tool_calls") or ()]
    return all(fit_call_id(name, OPENAI) == name for name in ids)


def test_every_recorded_request_comes_back_whatever_host_it_is_taken_for() -> None:
    wrong: list[str] = []
    for exchange in requests():
        document = json.loads(exchange.question or b"")
        request, _ = wire.decode_request(wire.REQUEST.decode(exchange.question or b""))
        body, lost = wire.encode_request(request)
        if _fits(document):
            wrong += [f"{exchange.id}: {place}" for place in differences(document, plain(body))]
            wrong += [f"{exchange.id}: {loss}" for loss in lost]
    assert wrong == []


def test_every_recorded_answer_comes_back_whatever_host_it_is_taken_for() -> None:
    wrong: list[str] = []
    for exchange in answers():
        response, _ = wire.decode_response(wire.RESPONSE.decode(exchange.answer or b""))
        body, _ = wire.encode_response(response)
        document = json.loads(exchange.answer or b"")
        wrong += [f"{exchange.id}: {place}" for place in differences(document, plain(body))]
    assert wrong == []


def test_a_recorded_answer_gives_the_same_items_whether_its_document_is_kept_or_not() -> None:
    for exchange in answers():
        for dialect in (OPENAI, exchange.dialect):
            kept, lost = wire.decode_response(wire.RESPONSE.decode(exchange.answer or b""), dialect=dialect)
            found, same = wire.decode_response(
                wire.RESPONSE.decode(exchange.answer or b""), dialect=dialect, keep=False
            )
            assert (found.output, found.status, same) == (kept.output, kept.status, lost), exchange.id


def test_every_recorded_answer_can_be_sent_back_to_its_host_without_a_loss_but_reasoning_it_does_not_want() -> None:
    wrong: list[str] = []
    for exchange in answers():
        response, _ = wire.decode_response(wire.RESPONSE.decode(exchange.answer or b""), dialect=exchange.dialect)
        request = Request(input=[*response.output, Message(role="user", content="Go on.")])
        _, lost = wire.encode_request(request, dialect=exchange.dialect)
        wrong += [
            f"{exchange.id}: {loss}"
            for loss in lost
            if loss.kind != "withheld" and "without an output" not in loss.what and "annotations" not in loss.path
        ]
    assert wrong == []


def test_every_recorded_answer_is_an_answer_of_the_responses_wire() -> None:
    responses = wires.load("openai_responses")
    for exchange in answers():
        response, _ = wire.decode_response(wire.RESPONSE.decode(exchange.answer or b""), dialect=exchange.dialect)
        body, lost = responses.encode_response(response, request=Request())
        responses.RESPONSE.decode(msgspec.json.encode(body))
        assert {loss.kind for loss in lost} <= {"dropped"}


def test_every_recorded_chunk_decodes_without_anything_unknown_and_comes_back() -> None:
    count = 0
    for exchange in exchanges("openai_chat"):
        for data in exchange.events():
            chunk = wire.EVENT.decode(data)
            assert list(differences(json.loads(data), plain(chunk))) == [], exchange.id
            count += 1
    assert count > 4000


@pytest.mark.parametrize("kind", ["request", "answer"])
def test_there_is_as_much_recorded_traffic_as_was_promised(kind: str) -> None:
    assert len(requests() if kind == "request" else answers()) >= (283 if kind == "request" else 235)
