"""Bytes that are not a document raise `DecodeError`; whatever decodes, every converter takes without raising."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_rest import wires
from llm_rest.errors import DecodeError, ErrorFacts
from llm_rest.losses import Loss
from llm_rest.responses import REQUEST, RESPONSE
from tests.corpus.canonical import canonical
from tests.laws.harness import WIRES, every_wire, untouched
from tests.laws.rows import ROWS, dialects, vendors
from tests.laws.strategies import requests, responses
from tests.support.documents import TRAPS, VALUES, damaged, garbage
from tests.support.facts import plain

KINDS = {"REQUEST": "requests", "RESPONSE": "answers", "EVENT": "events"}
"""The decoders of a wire, and the field of its row with documents for each."""

every_decoder = pytest.mark.parametrize("kind", KINDS)


def documents(name: str, kind: str) -> tuple[Any, ...]:
    return getattr(ROWS[name], KINDS[kind])


def are_losses(lost: Any) -> bool:
    return isinstance(lost, list) and all(isinstance(loss, Loss) and loss.what for loss in lost)


def convert(name: str, kind: str, body: Any, dialect: Any) -> None:
    """Everything a wire does with a document of its own, and what the other wires then do."""
    msgspec.json.encode(body)
    if kind == "EVENT":
        return
    direction = kind.lower()
    decoded, lost = untouched(getattr(wires.load(name), f"decode_{direction}"), body, dialect=dialect)
    assert are_losses(lost)
    for other in WIRES:
        wire = wires.load(other)
        encoded, lost = untouched(getattr(wire, f"encode_{direction}"), decoded)
        assert are_losses(lost)
        msgspec.json.encode(encoded)
        if kind == "REQUEST":
            wire.route(decoded)


@every_wire
@every_decoder
def test_the_documents_of_the_row_are_documents(name: str, kind: str) -> None:
    for document in documents(name, kind):
        found = plain(getattr(wires.load(name), kind).decode(json.dumps(document).encode()))
        came = canonical(copy.deepcopy(document), name, kind.lower(), struct=True)
        assert canonical(found, name, kind.lower(), struct=True) == came


@every_wire
@every_decoder
@given(data=st.data())
def test_garbage_raises_decode_error_and_nothing_else(name: str, kind: str, data: st.DataObject) -> None:
    raw = data.draw(garbage([json.dumps(document).encode() for document in documents(name, kind)]))
    with suppress(DecodeError):
        convert(name, kind, getattr(wires.load(name), kind).decode(raw), dialects(name)["default"])


@every_wire
@pytest.mark.parametrize("trap", TRAPS, ids=range(len(TRAPS)))
def test_traps_raise_decode_error_and_nothing_else(name: str, trap: bytes) -> None:
    for kind in KINDS:
        with suppress(DecodeError):
            msgspec.json.encode(getattr(wires.load(name), kind).decode(trap))


@every_wire
@every_decoder
@given(data=st.data())
def test_a_document_of_almost_the_right_shape_is_converted_or_refused(
    name: str, kind: str, data: st.DataObject
) -> None:
    raw = json.dumps(data.draw(damaged(st.sampled_from(documents(name, kind))))).encode()
    with suppress(DecodeError):
        convert(name, kind, getattr(wires.load(name), kind).decode(raw), dialects(name)[data.draw(vendors(name))])


@every_wire
@pytest.mark.parametrize("kind", ["REQUEST", "RESPONSE"])
@given(data=st.data())
def test_nothing_valid_makes_a_converter_raise(name: str, kind: str, data: st.DataObject) -> None:
    """BUGS 34, 41 and 47: odd ids, doubled names and empty texts are losses, never exceptions."""
    wire, models = wires.load(name), ROWS[name].models
    ours, strategy = (REQUEST, requests) if kind == "REQUEST" else (RESPONSE, responses)
    document = plain(data.draw(strategy(models, rich=True)))
    with suppress(DecodeError):
        valid: Any = ours.decode(json.dumps(data.draw(damaged(st.just(document), most=6))).encode())
        options: dict[str, Any] = {"dialect": dialects(name)[data.draw(vendors(name))]}
        if kind == "REQUEST":
            wire.route(valid, **options, stream=True)
        else:
            options["request"] = data.draw(st.none() | requests(models, rich=True))
        body, lost = untouched(getattr(wire, f"encode_{kind.lower()}"), valid, **options)
        assert are_losses(lost)
        try:
            sent = getattr(wire, kind).decode(msgspec.json.encode(body))
        except DecodeError as error:
            pytest.fail(f"what was encoded is no document of the wire: {error}")
        untouched(getattr(wire, f"decode_{kind.lower()}"), sent, **options)


def nested(depth: int) -> Any:
    schema: Any = {"type": "string"}
    for _ in range(depth):
        schema = {"properties": {"a": schema}}
    return schema


@every_wire
def test_a_schema_as_deep_as_documents_may_be_is_no_problem(name: str) -> None:
    """BUGS 49"""
    wire = wires.load(name)
    for strict in (True, False, None):
        tool = {"type": "function", "name": "f", "parameters": nested(190), "strict": strict}
        format = {"type": "json_schema", "name": "n", "schema": nested(190), "strict": strict}
        document = {"model": ROWS[name].models[0], "input": "Hi", "tools": [tool], "text": {"format": format}}
        body, _ = wire.encode_request(REQUEST.decode(json.dumps(document).encode()))
        wire.decode_request(body)


@every_wire
@given(status=st.integers(100, 599), body=garbage([b'{"error":{"message":"m","type":"t","code":"c"}}']) | VALUES.map(
    lambda value: json.dumps({"error": value}).encode()
))  # fmt: skip
def test_every_error_answer_becomes_facts_and_an_answer_again(name: str, status: int, body: bytes) -> None:
    wire = wires.load(name)
    facts = wire.decode_error(status, {"retry-after": "3"}, body)
    assert isinstance(facts, ErrorFacts)
    assert facts.status == status
    # Some hosts send the header with every answer; it asks for a delay where something went wrong.
    assert facts.retry_after == 3 or status < 400
    for other in WIRES:
        sent, encoded = wires.load(other).encode_error(facts)
        assert 400 <= sent < 600
        again = wires.load(other).decode_error(sent, {}, msgspec.json.encode(encoded))
        assert again.message == facts.message or not facts.message
