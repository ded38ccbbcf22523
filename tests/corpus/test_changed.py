"""Recorded documents with one thing changed, as tomorrow's traffic may have it: nothing of that is lost silently either."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from llm_rest import wires
from llm_rest.errors import DecodeError
from tests.corpus import Exchange, groups, recorded
from tests.corpus.changed import TABLE, WRITTEN, Excuse, changes, excuse, shape, written
from tests.corpus.test_recorded import accounted, every_group
from tests.support import WIRES


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


@pytest.mark.sample(4)
@every_group
def test_a_change_of_a_recorded_document_is_not_lost_silently(name: str, vendor: str) -> None:
    """BUGS 4, 61 and 87"""
    assert [problem for problem, excused in silent(name, vendor) if excused is None] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", WIRES)
def test_every_excuse_is_needed(name: str) -> None:
    vendors = [WRITTEN, *(vendor for one, vendor in groups() if one == name)]
    used = {excused for vendor in vendors for _, excused in silent(name, vendor)}
    assert set(TABLE.get(name, ())) - used == set()
