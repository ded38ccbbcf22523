"""Recorded streams: legal events wherever the network cut them, and the same answer through every other wire."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import Any

import msgspec
import pytest

from llm_rest import wires
from llm_rest.responses import Request, Response
from llm_rest.responses.events import TERMINAL, OutputItemDone
from tests.corpus import Exchange, exchanges, file_of
from tests.corpus.changed import WRITTEN
from tests.corpus.test_other_wires import silent
from tests.corpus.test_recorded import failures
from tests.support.documents import unset
from tests.support.facts import plain
from tests.support.hosts import facts
from tests.support.legal import faults
from tests.support.streams import STREAMING, assembled, read, slices, written

ENDS = {"completed", "incomplete", "failed"}


def streamed() -> list[tuple[str, str]]:
    """Each wire and vendor there are recorded streams of."""
    return [
        (name, vendor)
        for name in STREAMING
        for vendor in (
            sorted({e.vendor for e in exchanges(name) if e.response.stream_text is not None})
            if file_of(name).exists()
            else ["no recordings"]
        )
    ]


every_vendor = pytest.mark.parametrize(("name", "vendor"), [*streamed(), ("ollama_chat", WRITTEN)])
every_pair = pytest.mark.parametrize(
    ("name", "vendor", "other"),
    [(name, vendor, other) for (name, vendor), other in product(streamed(), STREAMING) if other != name],
)


def text_of(exchange: Exchange) -> bytes:
    return (exchange.response.stream_text or "").encode()


@every_vendor
def test_a_recorded_stream_is_legal_events_wherever_it_is_cut(name: str, vendor: str) -> None:
    """BUGS 56"""

    def check(exchange: Exchange) -> Iterator[str]:
        stream = text_of(exchange)
        if not stream:
            return
        whole = read(name, [stream], dialect=exchange.dialect)
        yield from faults(whole)
        yield from unset(whole)
        if whole and isinstance(whole[-1], TERMINAL) and whole[-1].response.status not in ENDS:
            yield f"it ends as {whole[-1].response.status}"
        chance = random.Random(len(stream))
        cuts = [chance.randrange(len(stream)) for _ in range(40)]
        if read(name, slices(stream, cuts), dialect=exchange.dialect) != whole:
            yield "cut elsewhere it tells something else"

    assert failures(name, vendor, check) == []


@pytest.mark.sample(4)
@every_pair
def test_a_recorded_stream_goes_through_every_other_wire(name: str, vendor: str, other: str) -> None:
    there: Any = facts("compatible", other)

    def check(exchange: Exchange) -> Iterator[str]:
        stream = text_of(exchange)
        if not stream:
            return
        events = read(name, [stream], dialect=exchange.dialect)
        pieces, lost = written(other, events, dialect=there)
        back = read(other, pieces, dialect=there)
        yield from faults(back)
        yield from silent(assembled(events), assembled(back), lost)

    assert failures(name, vendor, check) == []


def kinds(response: Response) -> list[str]:
    """The types of the items in their order."""
    return [str(plain(item)["type"]) for item in response.output]


@every_vendor
def test_the_items_of_a_stream_have_one_order(name: str, vendor: str) -> None:
    """In the events that end them, in the response at the end, and in the whole answer that says the same."""
    wire = wires.load(name)

    def check(exchange: Exchange) -> Iterator[str]:
        events = read(name, [text_of(exchange)], dialect=exchange.dialect)
        response = assembled(events)
        if not events or not isinstance(events[-1], TERMINAL) or response.status == "failed":
            return
        ended = {event.output_index: event.item for event in events if isinstance(event, OutputItemDone)}
        told = [plain(ended[index])["type"] for index in sorted(ended)]
        if told != kinds(response):
            yield f"told as {told}, and at the end {kinds(response)}"
        document, _ = wire.encode_response(response, dialect=exchange.dialect)
        whole = wire.decode_response(wire.RESPONSE.decode(msgspec.json.encode(document)), dialect=exchange.dialect)[0]
        if kinds(whole) != kinds(response):
            yield f"streamed as {kinds(response)}, whole as {kinds(whole)}"

    assert failures(name, vendor, check) == []


@pytest.mark.sample(4)
@every_pair
def test_clients_of_every_other_wire_get_its_items_in_one_order(name: str, vendor: str, other: str) -> None:
    there: Any = facts("compatible", other)
    wire = wires.load(other)

    def check(exchange: Exchange) -> Iterator[str]:
        events = read(name, [text_of(exchange)], dialect=exchange.dialect)
        response = assembled(events)
        if not events or not isinstance(events[-1], TERMINAL) or response.status == "failed":
            return
        for request in (None, Request(model="m", input="Hi")):
            document, _ = wire.encode_response(response, dialect=there, request=request)
            whole = wire.decode_response(wire.RESPONSE.decode(msgspec.json.encode(document)), dialect=there)[0]
            pieces, _ = written(other, events, dialect=there, request=request)
            streamed = assembled(read(other, pieces, dialect=there))
            order: Any = set if other == "openai_chat" else list  # one message there has them as fields, in no order
            if order(kinds(whole)) != order(kinds(streamed)):
                yield f"whole as {kinds(whole)}, streamed as {kinds(streamed)}"

    assert failures(name, vendor, check) == []
