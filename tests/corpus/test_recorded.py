"""Recorded traffic: every document decodes, and what we encode from it is the same JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from llm_rest import wires
from llm_rest.errors import LLMError
from llm_rest.losses import Loss
from llm_rest.responses import AnyItem
from llm_rest.unknown import Unknown
from llm_rest.vendors.rows import DIALECTS
from tests.corpus import Exchange, groups
from tests.corpus.canonical import canonical
from tests.corpus.changed import WRITTEN, of
from tests.support.documents import differences, unset
from tests.support.facts import plain, unaccounted

WRITTEN_TOO = [*groups(), ("openai_responses", WRITTEN), ("ollama_chat", WRITTEN)]
every_group = pytest.mark.parametrize(("name", "vendor"), WRITTEN_TOO)

Check = Callable[[Exchange], Iterator[str]]


def failures(name: str, vendor: str, check: Check) -> list[str]:
    """What a check found, each with the exchange it found it in; an exception is a finding like any other."""
    found: list[str] = []
    for exchange in of(name, vendor):
        try:
            found.extend(f"{exchange.id}: {problem}" for problem in check(exchange))
        except Exception as problem:
            found.append(f"{exchange.id}: {type(problem).__name__}: {problem}")
    return found


def every_exchange(check: Check) -> Callable[[str, str], None]:
    """A test of each vendor on each wire that the check finds nothing."""

    @every_group
    def test(name: str, vendor: str) -> None:
        assert failures(name, vendor, check) == []

    return test


def compared(exchange: Exchange, kind: str, raw: bytes | None) -> Iterator[str]:
    """Where our bytes of a document that was decoded differ from the recorded ones."""
    if raw is not None:
        decoder = getattr(wires.load(exchange.wire), kind.upper())
        both = json.loads(raw), plain(decoder.decode(raw))
        yield from differences(*(canonical(document, exchange.wire, kind, struct=True) for document in both))


@every_exchange
def test_a_recorded_document_is_the_same_after_decoding(exchange: Exchange) -> Iterator[str]:
    yield from compared(exchange, "request", exchange.question)
    yield from compared(exchange, "response", exchange.answer)


@every_exchange
def test_a_recorded_event_is_the_same_after_decoding(exchange: Exchange) -> Iterator[str]:
    """BUGS 61"""
    for i, data in enumerate(exchange.events()):
        yield from (f"event {i}: {problem}" for problem in compared(exchange, "event", data))


def essence(item: AnyItem) -> AnyItem:
    """An item apart from how its document was written."""
    return item if isinstance(item, Unknown) else replace(item, leftovers=None)


def dialects(exchange: Exchange) -> list[Any]:
    """The facts of the host of an exchange, and those of a host of its wire that is not known."""
    usual = DIALECTS[exchange.wire]()
    return [exchange.dialect] if exchange.dialect == usual else [exchange.dialect, usual]


def accounted(raw: bytes, model: Any, wire: str, kind: str, lost: list[Loss]) -> Iterator[str]:
    """The same JSON and no loss; or, where this vendor does not take what was recorded, differences that losses name."""
    before = canonical(json.loads(raw), wire, kind)
    after = canonical(plain(model), wire, kind)
    found = list(differences(before, after))
    if not found or not lost:
        yield from found
        # A malformed call that was read as what it asks for is told, and goes back as it came.
        yield from (f"a loss where nothing was lost: {loss}" for loss in lost if loss.kind != "changed")
    else:
        yield from (f"{missing} is gone without a loss" for missing in unaccounted(before, after, lost))
        yield from (f"{new} is new without a loss" for new in unaccounted(after, before, lost))


@every_exchange
def test_a_recorded_request_is_the_same_after_a_walk_through_responses(exchange: Exchange) -> Iterator[str]:
    wire, raw = wires.load(exchange.wire), exchange.question or b""
    for dialect in dialects(exchange) if raw else ():
        body = wire.REQUEST.decode(raw)
        request, lost = wire.decode_request(body, dialect=dialect, model=exchange.model)
        yield from unset(request)
        again, lost_again = wire.encode_request(request, dialect=dialect)
        lost = [*lost, *lost_again]
        if dialect == exchange.dialect or not lost:  # another host may take less, and other call ids
            yield from accounted(raw, again, exchange.wire, "request", lost)


@every_exchange
def test_a_recorded_response_is_the_same_after_a_walk_through_responses(exchange: Exchange) -> Iterator[str]:
    wire, raw = wires.load(exchange.wire), exchange.answer or b""
    for dialect in dialects(exchange) if raw else ():
        body = wire.RESPONSE.decode(raw)
        response, lost = wire.decode_response(body, dialect=dialect)
        yield from unset(response)
        again, lost_again = wire.encode_response(response, dialect=dialect)
        yield from accounted(raw, again, exchange.wire, "response", [*lost, *lost_again])
        bare, same = wire.decode_response(wire.RESPONSE.decode(raw), dialect=dialect, keep=False)
        found, kept = (list(map(essence, each.output)) for each in (bare, response))
        if (found, bare.status, same) != (kept, response.status, lost):
            yield "without its document it says something else"


@every_exchange
def test_a_recorded_error_is_the_same_after_a_walk_through_its_facts(exchange: Exchange) -> Iterator[str]:
    """BUGS 48"""
    wire = wires.load(exchange.wire)
    if exchange.error is None:
        return
    facts = wire.decode_error(exchange.response.status, exchange.response.headers, exchange.error)
    if not facts.message:
        yield "no message"
    status, body = wire.encode_error(facts)
    if status != exchange.response.status:
        yield f"status {status}"
    # Keys that every error of the wire has may be added; a code is text.
    before, after = canonical(json.loads(exchange.error), exchange.wire, "error"), plain(body)
    yield from (f"{missing} is gone" for missing in unaccounted(before, after, []))


def test_a_failing_check_names_the_exchange() -> None:
    def check(exchange: Exchange) -> Iterator[str]:
        yield "a difference"
        raise LLMError("and an exception")

    found = failures("ollama_chat", WRITTEN, check)
    assert found[:2] == ["request-0: a difference", "request-0: LLMError: and an exception"]
