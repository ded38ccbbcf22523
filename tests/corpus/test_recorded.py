"""Recorded traffic: every document decodes, and what we encode from it is the same JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from llm_rest import wires
from llm_rest.errors import LLMError
from llm_rest.losses import Loss
from tests.corpus import Exchange, groups, recorded
from tests.corpus.canonical import canonical
from tests.support.documents import differences, unset
from tests.support.facts import unaccounted

every_group = pytest.mark.parametrize(("name", "vendor"), groups())

Check = Callable[[Exchange], Iterator[str]]


def failures(name: str, vendor: str, check: Check) -> list[str]:
    """What a check found, each with the exchange it found it in; an exception is a finding like any other."""
    found: list[str] = []
    for exchange in recorded(name, vendor):
        try:
            found.extend(f"{exchange.id}: {problem}" for problem in check(exchange))
        except Exception as problem:
            found.append(f"{exchange.id}: {type(problem).__name__}: {problem}")
    return found


def compared(raw: bytes, model: Any, wire: str, kind: str, *, struct: bool = False) -> Iterator[str]:
    """Where our bytes of a document differ from the recorded ones."""
    before, after = json.loads(raw), json.loads(msgspec.json.encode(model))
    yield from differences(canonical(before, wire, kind, struct=struct), canonical(after, wire, kind, struct=struct))


@every_group
def test_a_recorded_document_is_the_same_after_decoding(name: str, vendor: str) -> None:
    wire = wires.load(name)

    def check(exchange: Exchange) -> Iterator[str]:
        if exchange.question is not None:
            yield from compared(exchange.question, wire.REQUEST.decode(exchange.question), name, "request", struct=True)
        if exchange.answer is not None:
            yield from compared(exchange.answer, wire.RESPONSE.decode(exchange.answer), name, "response", struct=True)

    assert failures(name, vendor, check) == []


@every_group
def test_a_recorded_event_is_the_same_after_decoding(name: str, vendor: str) -> None:
    """BUGS 61"""
    wire = wires.load(name)

    def check(exchange: Exchange) -> Iterator[str]:
        for i, data in enumerate(exchange.events()):
            for problem in compared(data, wire.EVENT.decode(data), name, "event", struct=True):
                yield f"event {i}: {problem}"

    assert failures(name, vendor, check) == []


def accounted(raw: bytes, model: Any, wire: str, kind: str, lost: list[Loss]) -> Iterator[str]:
    """The same JSON and no loss; or, where this vendor does not take what was recorded, differences that losses name."""
    before = canonical(json.loads(raw), wire, kind)
    after = canonical(json.loads(msgspec.json.encode(model)), wire, kind)
    found = list(differences(before, after))
    if not found or not lost:
        yield from found
        # A malformed call that was read as what it asks for is told, and goes back as it came.
        yield from (f"a loss where nothing was lost: {loss}" for loss in lost if loss.kind != "changed")
    else:
        yield from (f"{missing} is gone without a loss" for missing in unaccounted(before, after, lost))
        yield from (f"{new} is new without a loss" for new in unaccounted(after, before, lost))


@every_group
def test_a_recorded_request_is_the_same_after_a_walk_through_responses(name: str, vendor: str) -> None:
    wire = wires.load(name)

    def check(exchange: Exchange) -> Iterator[str]:
        if exchange.question is not None:
            body = wire.REQUEST.decode(exchange.question)
            request, lost = wire.decode_request(body, dialect=exchange.dialect, model=exchange.model)
            yield from unset(request)
            again, lost_again = wire.encode_request(request, dialect=exchange.dialect)
            yield from accounted(exchange.question, again, name, "request", [*lost, *lost_again])

    assert failures(name, vendor, check) == []


@every_group
def test_a_recorded_response_is_the_same_after_a_walk_through_responses(name: str, vendor: str) -> None:
    wire = wires.load(name)

    def check(exchange: Exchange) -> Iterator[str]:
        if exchange.answer is not None:
            body = wire.RESPONSE.decode(exchange.answer)
            response, lost = wire.decode_response(body, dialect=exchange.dialect)
            yield from unset(response)
            again, lost_again = wire.encode_response(response, dialect=exchange.dialect)
            yield from accounted(exchange.answer, again, name, "response", [*lost, *lost_again])

    assert failures(name, vendor, check) == []


@every_group
def test_a_recorded_error_is_the_same_after_a_walk_through_its_facts(name: str, vendor: str) -> None:
    """BUGS 48"""
    wire = wires.load(name)

    def check(exchange: Exchange) -> Iterator[str]:
        if exchange.error is None:
            return
        facts = wire.decode_error(exchange.response.status, exchange.response.headers, exchange.error)
        if not facts.message:
            yield "no message"
        status, body = wire.encode_error(facts)
        if status != exchange.response.status:
            yield f"status {status}"
        # Keys that every error of the wire has may be added; a code is text.
        before, after = canonical(json.loads(exchange.error), name, "error"), json.loads(msgspec.json.encode(body))
        yield from (f"{missing} is gone" for missing in unaccounted(before, after, []))

    assert failures(name, vendor, check) == []


def test_a_failing_check_names_the_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.corpus import test_recorded

    class Recording:
        id = "some-exchange"

    def check(exchange: Exchange) -> Iterator[str]:
        yield "a difference"
        raise LLMError("and an exception")

    monkeypatch.setattr(test_recorded, "recorded", lambda name, vendor: [Recording()])
    assert test_recorded.failures("", "", check) == [
        "some-exchange: a difference",
        "some-exchange: LLMError: and an exception",
    ]
