"""The law of leaves on a fixed sample; `python -m tests.laws.leaves` runs it over everything there is."""

from __future__ import annotations

from functools import cache

import pytest

from llm_rest import wires
from llm_rest.losses import Loss
from tests.corpus import Answer, Exchange
from tests.corpus import exchanges as recorded
from tests.corpus.changed import WRITTEN, written
from tests.laws.excused import SAMPLE, TABLE, excuse
from tests.laws.leaves import Law, Shortfall, documents
from tests.laws.rows import ROWS
from tests.support import WIRES


@cache
def sampled(name: str) -> tuple[Shortfall, ...]:
    """What falls short in the sample of a wire."""
    law = Law(WIRES)
    chosen = [*written(name), *(one for one in recorded(name) if one.id in SAMPLE)]
    return tuple(
        one
        for exchange in chosen
        for kind, document in documents(exchange)
        for one in law.check(exchange, kind, document)
    )


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", WIRES)
def test_a_changed_leaf_shows_on_every_other_wire_or_is_named(name: str) -> None:
    """BUGS 4, 61 and 87"""
    assert [one for one in sampled(name) if excuse(one) is None] == []


@pytest.mark.parametrize("name", [name for name in WIRES if ROWS[name].failed])
def test_a_changed_leaf_of_a_stream_that_failed_shows_or_is_named(name: str) -> None:
    exchange = Exchange("failed", WRITTEN, name, True, Answer(200, {}))
    assert [one for one in Law(WIRES).check(exchange, "stream", [*ROWS[name].failed]) if excuse(one) is None] == []


EXCUSED = 624
"""The most (place, change) pairs that the sample needs an excuse for; it only falls."""


@pytest.mark.slow
def test_every_excuse_is_needed_and_the_excused_pairs_of_place_and_change_only_fall() -> None:
    pairs = {(one.source, one.kind, one.way, one.change) for name in WIRES for one in sampled(name)}
    print(f"{len(pairs)} (place, change) pairs need an excuse")
    assert len(pairs) <= EXCUSED
    used = {excuse(one) for name in WIRES for one in sampled(name)}
    assert [row for row in TABLE if row not in used] == []
    assert len(TABLE) <= 20


def test_the_law_sees_what_a_converter_hides(monkeypatch: pytest.MonkeyPatch) -> None:
    """An option that is lost without a word falls short; one that is converted does not."""
    target = wires.load("ollama_chat")
    encode = target.encode_request
    monkeypatch.setattr(target, "encode_request", lambda request, **known: (encode(request, **known)[0], []))
    document = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "seed": 1, "logit_bias": {"5": 1}}
    found = list(Law(["ollama_chat"]).check(written("openai_chat")[0], "request", document))
    assert any(one.way == ".logit_bias.*" for one in found)
    assert not any(one.way == ".seed" for one in found)


def test_an_ancestor_of_which_something_arrived_does_not_count_as_named(monkeypatch: pytest.MonkeyPatch) -> None:
    target = wires.load("ollama_chat")
    encode = target.encode_request
    lost = [Loss("tools", "some of it", "dropped")]
    monkeypatch.setattr(target, "encode_request", lambda request, **known: (encode(request, **known)[0], lost))
    tool = {
        "type": "function",
        "function": {"name": "f", "parameters": {"type": "object"}},
        "cache_control": {"type": "x"},
    }
    document = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": [tool]}
    found = list(Law(["ollama_chat"]).check(written("openai_chat")[0], "request", document))
    assert any(one.way == ".tools[].cache_control.type" for one in found)
