"""What a wire can carry comes back; what it cannot is named. From Responses to the wire and back."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from llm_rest import wires
from llm_rest.responses.carriers import PREFIX
from llm_rest.unknown import Unknown
from tests.laws.canonical import canonical_document
from tests.laws.harness import Trip, every_wire, request_trip, response_trip
from tests.laws.rows import ROWS, dialects, thoughts, vendors
from tests.laws.strategies import SINGLE, requests, responses
from tests.support.documents import canonical, differences
from tests.support.facts import unaccounted


def test_every_wire_has_a_row() -> None:
    assert set(ROWS) == set(wires.NAMES)


def same(before: Any, after: Any, name: str) -> list[str]:
    one, other = (_without_gaps(canonical_document(model, name)) for model in (before, after))
    return list(differences(one, other))


def _without_gaps(document: Any) -> Any:
    """The document without the places where equivalences took something out."""
    if isinstance(document, dict):
        return {name: _without_gaps(value) for name, value in document.items()}
    if isinstance(document, list):
        return [_without_gaps(value) for value in document if value is not None]
    return document


ROLES = tuple(f'.role: "{role}"' for role in ("user", "assistant", "system", "developer"))
KINDS = tuple(f'.type: "{kind}"' for kind in ("message", "input_text", "output_text", "additional_tools"))
"""That something is a message, and whose, is known by what it says, which is compared; and exactly where nothing is lost."""


def missing(before: Any, trip: Trip, name: str, *, sent: bool = False) -> list[str]:
    """What did not come back and no loss names; of a request that is refused only where it counts as `sent`."""
    if not sent and any(loss.kind == "refused" for loss in trip.lost):
        return []
    one, other = (canonical_document(model, name, moved=False) for model in (before, trip.back))
    return [leaf for leaf in unaccounted(one, other, trip.lost) if not leaf.endswith(ROLES + KINDS)]


def _answer_trip(name: str, response: Any, dialect: Any) -> Trip:
    """The trip of an answer; what looks like an envelope of ours became the host's own state, and is shown as it came."""
    trip = response_trip(name, response, dialect)
    if name != "openai_responses":
        return trip
    shown, _ = wires.load(name).encode_response(trip.back, dialect=dialect)
    items = [
        replace(item, encrypted_content=its.encrypted_content)
        if str(getattr(its, "encrypted_content", "")).startswith(PREFIX)
        else item
        for item, its in zip(trip.back.output, shown.output, strict=True)
    ]
    return trip._replace(back=replace(trip.back, output=items))


DOCUMENTS = {"request": (requests, request_trip), "response": (responses, _answer_trip)}
every_kind = pytest.mark.parametrize("kind", DOCUMENTS)


def travelled(name: str, kind: str, data: st.DataObject, *, rich: bool) -> tuple[Any, Trip, Any]:
    """A document, its way to the wire and back, and the facts of the host there."""
    documents, trip = DOCUMENTS[kind]
    dialect = dialects(name)[data.draw(vendors(name))]
    document = data.draw(documents(ROWS[name].models, thoughts(name, dialect.issuer), rich=rich))
    return document, trip(name, document, dialect), dialect


@every_kind
@every_wire
def test_a_document_that_loses_nothing_comes_back(name: str, kind: str) -> None:
    lossless: Counter[bool] = Counter()

    @given(st.data())
    def law(data: st.DataObject) -> None:
        document, trip, _ = travelled(name, kind, data, rich=False)
        lossless[not trip.lost] += 1
        if not trip.lost:
            assert same(document, trip.back, name) == []

    law()
    assert lossless[True] * 4 >= lossless[False], f"the law is idle: {lossless}"


@every_kind
@every_wire
@given(data=st.data())
def test_what_does_not_come_back_is_a_loss(name: str, kind: str, data: st.DataObject) -> None:
    """BUGS 4, 87 and 90"""
    document, trip, _ = travelled(name, kind, data, rich=True)
    assert missing(document, trip, name) == []


@every_kind
@every_wire
@given(data=st.data())
def test_a_document_goes_the_same_way_a_second_time(name: str, kind: str, data: st.DataObject) -> None:
    _, trip, dialect = travelled(name, kind, data, rich=True)
    again, _ = getattr(wires.load(name), f"encode_{kind}")(trip.back, dialect=dialect)
    assert list(differences(json.loads(trip.document), json.loads(msgspec.json.encode(again)))) == []


@pytest.mark.sample(4)
@every_wire
@pytest.mark.parametrize("thing", SINGLE)
@settings(max_examples=max(8, settings.default.max_examples // 5 if settings.default else 0))
@given(data=st.data())
def test_a_single_thing_comes_back_or_is_a_loss_by_its_own_name(name: str, thing: str, data: st.DataObject) -> None:
    """BUGS 4, 87 and 90"""
    dialect = dialects(name)[data.draw(vendors(name))]
    request = data.draw(SINGLE[thing])
    request.model = data.draw(st.sampled_from(ROWS[name].models))
    assert missing(request, request_trip(name, request, dialect), name, sent=True) == []


def noted(name: str, value: Any) -> Any:
    """Items and parts with leftovers of another wire that say nothing, so that no short road is taken for them."""
    if isinstance(value, list):
        return [noted(name, inner) for inner in value]
    if isinstance(value, Unknown) or not hasattr(value, "leftovers"):
        return value
    other = "ollama_chat" if name == "openai_chat" else "openai_chat"
    fields = {field: noted(name, getattr(value, field)) for field in ("content", "output") if hasattr(value, field)}
    return replace(value, leftovers={other: {"spelling": {}}, **(value.leftovers or {})}, **fields)


@every_wire
@given(data=st.data(), rich=st.booleans())
def test_leftovers_that_say_nothing_change_nothing(name: str, data: st.DataObject, rich: bool) -> None:
    request = data.draw(requests(ROWS[name].models, thoughts(name), rich=rich))
    longer = replace(request, input=noted(name, request.input))
    one, other = (wires.load(name).encode_request(each) for each in (request, longer))
    assert msgspec.json.encode(one) == msgspec.json.encode(other)


@every_wire
@given(data=st.data())
def test_what_a_wire_wrote_it_reads_without_a_loss(name: str, data: st.DataObject) -> None:
    _, trip, _ = travelled(name, "request", data, rich=True)
    # A call that was malformed before is still told to be.
    assert [loss for loss in trip.lost_back if loss.kind != "changed"] == []


def test_canonical_text_is_exact() -> None:
    assert canonical({"a": 1, "b": 1.0}) == canonical({"b": 1.0, "a": 1}) != canonical({"a": 1, "b": 1})
