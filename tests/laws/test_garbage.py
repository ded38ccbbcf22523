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
from llm_rest.responses import REQUEST, RESPONSE, Request, Response
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


def convert_request(name: str, body: Any, dialect: Any) -> None:
    """Everything a wire does with a request of its own, and what the other wires then do."""
    request, lost = untouched(wires.load(name).decode_request, body, dialect=dialect)
    assert are_losses(lost)
    take_request(request)


def take_request(request: Request) -> None:
    for other in WIRES:
        wire = wires.load(other)
        encoded, lost = untouched(wire.encode_request, request)
        assert are_losses(lost)
        msgspec.json.encode(encoded)
        wire.route(request)


def convert_response(name: str, body: Any, dialect: Any) -> None:
    """Everything a wire does with a response of its own, and what the other wires then do."""
    response, lost = untouched(wires.load(name).decode_response, body, dialect=dialect)
    assert are_losses(lost)
    take_response(response)


def take_response(response: Response) -> None:
    for other in WIRES:
        encoded, lost = untouched(wires.load(other).encode_response, response)
        assert are_losses(lost)
        msgspec.json.encode(encoded)


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
        body = getattr(wires.load(name), kind).decode(raw)
        msgspec.json.encode(body)
        if kind == "REQUEST":
            convert_request(name, body, dialects(name)["default"])
        elif kind == "RESPONSE":
            convert_response(name, body, dialects(name)["default"])


@every_wire
@pytest.mark.parametrize("trap", TRAPS, ids=range(len(TRAPS)))
def test_traps_raise_decode_error_and_nothing_else(name: str, trap: bytes) -> None:
    for kind in KINDS:
        with suppress(DecodeError):
            msgspec.json.encode(getattr(wires.load(name), kind).decode(trap))


@every_wire
@given(data=st.data())
def test_a_request_of_almost_the_right_shape_is_converted_or_refused_as_bytes(name: str, data: st.DataObject) -> None:
    raw = json.dumps(data.draw(damaged(st.sampled_from(documents(name, "REQUEST"))))).encode()
    with suppress(DecodeError):
        body = wires.load(name).REQUEST.decode(raw)
        convert_request(name, body, dialects(name)[data.draw(vendors(name))])


@every_wire
@given(data=st.data())
def test_a_response_of_almost_the_right_shape_is_converted_or_refused_as_bytes(name: str, data: st.DataObject) -> None:
    raw = json.dumps(data.draw(damaged(st.sampled_from(documents(name, "RESPONSE"))))).encode()
    with suppress(DecodeError):
        body = wires.load(name).RESPONSE.decode(raw)
        convert_response(name, body, dialects(name)[data.draw(vendors(name))])


@every_wire
@given(data=st.data())
def test_an_event_of_almost_the_right_shape_is_kept_or_refused_as_bytes(name: str, data: st.DataObject) -> None:
    changed = data.draw(damaged(st.sampled_from(documents(name, "EVENT"))))
    with suppress(DecodeError):
        msgspec.json.encode(wires.load(name).EVENT.decode(json.dumps(changed).encode()))


@every_wire
@given(data=st.data())
def test_no_valid_request_makes_a_converter_raise(name: str, data: st.DataObject) -> None:
    """BUGS 34, 41 and 47: odd ids, doubled names and empty texts are losses, never exceptions."""
    wire = wires.load(name)
    written = data.draw(requests(ROWS[name].models, rich=True))
    with suppress(DecodeError):
        request = REQUEST.decode(json.dumps(data.draw(damaged(st.just(plain(written)), most=6))).encode())
        dialect = dialects(name)[data.draw(vendors(name))]
        body, lost = untouched(wire.encode_request, request, dialect=dialect)
        assert are_losses(lost)
        try:
            sent = wire.REQUEST.decode(msgspec.json.encode(body))
        except DecodeError as error:
            pytest.fail(f"what was encoded is no request of the wire: {error}")
        untouched(wire.decode_request, sent, dialect=dialect)
        wire.route(request, dialect=dialect, stream=True)


@every_wire
@given(data=st.data())
def test_no_valid_response_makes_a_converter_raise(name: str, data: st.DataObject) -> None:
    wire = wires.load(name)
    written = data.draw(responses(ROWS[name].models, rich=True))
    with suppress(DecodeError):
        response = RESPONSE.decode(json.dumps(data.draw(damaged(st.just(plain(written)), most=6))).encode())
        dialect = dialects(name)[data.draw(vendors(name))]
        request = data.draw(st.none() | requests(ROWS[name].models, rich=True))
        body, lost = untouched(wire.encode_response, response, request=request, dialect=dialect)
        assert are_losses(lost)
        try:
            sent = wire.RESPONSE.decode(msgspec.json.encode(body))
        except DecodeError as error:
            pytest.fail(f"what was encoded is no response of the wire: {error}")
        untouched(wire.decode_response, sent, request=request, dialect=dialect)


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
