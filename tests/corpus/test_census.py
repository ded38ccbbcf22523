"""Every key of every recorded document is a declared field, or stands in a written list (`undeclared.py`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import UNSET, Struct

from llm_rest import wires
from llm_rest.unknown import Decoder, Model, Unknown, extras
from tests.corpus import Exchange, exchanges
from tests.corpus.undeclared import UNDECLARED
from tests.support import WIRES


def undeclared(value: Any, place: str) -> Iterator[str]:
    """The fields and kinds in a decoded document that no struct declares."""
    if isinstance(value, Unknown):
        yield f"{place}: {value.kind}"
    elif isinstance(value, Struct):
        name = type(value).__name__
        unknown = extras(value)
        yield from (f"{name}.{field}" for field in unknown)
        for field in value.__struct_fields__:
            inner = getattr(value, field)
            if inner is not UNSET and not (field.startswith("extra_") and unknown):
                yield from undeclared(inner, f"{name}.{field}")
    elif isinstance(value, dict):
        for inner in value.values():
            yield from undeclared(inner, place)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from undeclared(inner, place)


def documents(name: str, exchange: Exchange) -> Iterator[tuple[Decoder[Any], bytes]]:
    wire = wires.load(name)
    if exchange.question is not None:
        yield wire.REQUEST, exchange.question
    if exchange.answer is not None:
        yield wire.RESPONSE, exchange.answer
    yield from ((wire.EVENT, data) for data in exchange.events())


@pytest.mark.parametrize("name", WIRES)
def test_every_key_in_every_recorded_document_is_declared_or_listed(name: str) -> None:
    """BUGS 61"""
    found: Counter[str] = Counter()
    for exchange in exchanges(name):
        for decoder, data in documents(name, exchange):
            found.update(set(undeclared(decoder.decode(data), "")))
    new = {line: times for line, times in found.items() if line not in UNDECLARED[name]}
    assert new == {}, "declare these, or list them in undeclared.py"
    assert sorted(UNDECLARED[name] - found.keys()) == [], "these are declared by now, or gone"


def test_the_census_finds_new_fields_and_kinds() -> None:
    response = wires.load("openai_responses").RESPONSE.decode(
        b'{"id":"r","status":"completed","new":1,"output":[{"type":"later"},'
        b'{"type":"message","role":"assistant","content":[{"type":"output_text","text":"t","newer":2}]}]}'
    )
    assert sorted(undeclared(response, "")) == ["OutputText.newer", "Response.new", "Response.output: later"]
    assert isinstance(response, Model)
