"""Recorded documents with one thing changed, as tomorrow's traffic may have it: nothing of that is lost silently either."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from llm_rest import wires
from llm_rest.errors import DecodeError
from tests.corpus import Answer, Exchange, Sent, groups, recorded
from tests.corpus.changed import TABLE, Excuse, excuse
from tests.corpus.test_recorded import accounted, every_group
from tests.laws.rows import ROWS
from tests.support import WIRES
from tests.support.documents import Place, at, places, replaced

KINDS = ("type", "role", "status", "object", "mode", "format", "effort", "detail", "service_tier", "tool_choice")
KINDS += ("finish_reason", "stop_reason", "finishReason", "done_reason")
"""Names of fields that hold one of several words, of which there may be more tomorrow."""

WRITTEN = "written"
"""The vendor of exchanges that we wrote: no host in particular."""

FIXTURES = Path(__file__).parents[2] / "fixtures"


def written(name: str) -> list[Exchange]:
    """The small documents of the laws and the fixtures as exchanges, for outsiders and for wires that are recorded little."""
    row, files = ROWS[name], sorted((FIXTURES / name).glob("*.json"))
    questions = {f"request-{i}": json.dumps(document).encode() for i, document in enumerate(row.requests)}
    questions |= {file.name: file.read_bytes() for file in files if file.name.endswith(".request.json")}
    answers = {f"answer-{i}": json.dumps(document).encode() for i, document in enumerate(row.answers)}
    answers |= {file.name: file.read_bytes() for file in files if file.name.endswith(".response.json")}
    nothing = Answer(200, {})
    asked = [Exchange(id, WRITTEN, name, False, nothing, Sent("", {}, Raw(body))) for id, body in questions.items()]
    return asked + [Exchange(id, WRITTEN, name, False, Answer(200, {}, Raw(body))) for id, body in answers.items()]


def changes(document: Any) -> Iterator[tuple[str, Place, Any]]:
    """The document with one change each: what was done, where, and what it is then."""
    for place in places(document):
        value = at(document, place)
        if isinstance(value, dict):
            yield "add", place, replaced(document, (*place, "brand_new"), {"deep": [1, "two"]})
        if not place:
            continue
        if isinstance(place[-1], str):
            less = copy.deepcopy(document)
            del at(less, place[:-1])[place[-1]]
            yield "drop", place, less
        if value is not None:
            yield "null", place, replaced(document, place, None)
        if value and isinstance(value, str | list | dict):
            yield "empty", place, replaced(document, place, type(value)())
        if place[-1] in KINDS and isinstance(value, str):
            yield "kind", place, replaced(document, place, "brand_new")


def shape(document: Any, place: Place) -> tuple[str, ...]:
    """What a place is like: its way there without positions, and the kinds of what stands there and around it."""
    way = "".join("[]" if isinstance(step, int) else f".{step}" for step in place)
    around = [at(document, place), at(document, place[:-1])]
    return (way, *(str(one.get("type", one.get("role"))) if isinstance(one, dict) else "" for one in around))


def walked(exchange: Exchange, kind: str, document: Any) -> list[str]:
    """What a walk through Responses and back loses without a word; nothing of what no struct takes or nobody may send."""
    wire, raw = wires.load(exchange.wire), json.dumps(document).encode()
    try:
        body = wire.REQUEST.decode(raw) if kind == "request" else wire.RESPONSE.decode(raw)
    except DecodeError:
        return []
    if kind == "request":
        request, lost = wire.decode_request(body, dialect=exchange.dialect, model=exchange.model)
        again, more = wire.encode_request(request, dialect=exchange.dialect)
    else:
        response, lost = wire.decode_response(body, dialect=exchange.dialect)
        again, more = wire.encode_response(response, dialect=exchange.dialect)
    lost = [*lost, *more]
    if any(loss.kind == "refused" for loss in lost):
        return []
    found = accounted(raw, again, exchange.wire, kind, lost)
    return [problem for problem in found if not problem.startswith("a loss where nothing was lost")]


@cache
def silent(name: str, vendor: str) -> list[tuple[str, Excuse | None]]:
    """What of a changed exchange is lost without a word, and its excuse; each change of a kind of place is tried once."""
    seen: set[Any] = set()
    found: list[tuple[str, Excuse | None]] = []
    for exchange in written(name) if vendor == WRITTEN else recorded(name, vendor):
        for kind, raw in (("request", exchange.question), ("response", exchange.answer)):
            document = None if raw is None else json.loads(raw)
            for change, place, changed in changes(document) if isinstance(document, dict) else ():
                like = (kind, change, *shape(document, place))
                if like not in seen:
                    seen.add(like)
                    where = f"{exchange.id}: {change} {'.'.join(map(str, place))} of the {kind}"
                    excused = excuse(name, kind, change, like[2])
                    found += [(f"{where}: {problem}", excused) for problem in walked(exchange, kind, changed)[:1]]
    return found


@every_group
def test_a_change_of_a_recorded_document_is_not_lost_silently(name: str, vendor: str) -> None:
    """BUGS 4, 61 and 87"""
    assert [problem for problem, excused in silent(name, vendor) if excused is None] == []


@pytest.mark.parametrize("name", ["openai_responses", "ollama_chat"])
def test_a_change_of_a_written_document_is_not_lost_silently(name: str) -> None:
    """BUGS 4, 61 and 87"""
    assert [problem for problem, excused in silent(name, WRITTEN) if excused is None] == []


@pytest.mark.parametrize("name", WIRES)
def test_every_excuse_is_needed(name: str) -> None:
    vendors = [WRITTEN, *(vendor for one, vendor in groups() if one == name)]
    used = {excused for vendor in vendors for _, excused in silent(name, vendor)}
    assert set(TABLE.get(name, ())) - used == set()
