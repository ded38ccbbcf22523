"""The law of leaves for the client on a fixed sample; `python -m tests.laws.answers` runs it over everything there is."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from llm_rest import wires
from tests.corpus import exchanges as recorded
from tests.corpus.changed import written
from tests.laws.answers import AnswerLaw, Shortfall
from tests.laws.excused import SAMPLE, unseen
from tests.laws.leaves import documents
from tests.support import WIRES

EXCUSED = 24
"""The most (place, change) pairs that the sample needs an excuse for; it only falls."""


@cache
def sampled(name: str) -> tuple[Shortfall, ...]:
    """What a caller does not see in the sample of a wire."""
    law = AnswerLaw()
    chosen = [*written(name), *(one for one in recorded(name) if one.id in SAMPLE)]
    return tuple(
        one
        for exchange in chosen
        for kind, document in documents(exchange)
        if kind != "request"
        for one in law.check(exchange, kind, document)
    )


@pytest.mark.parametrize("name", WIRES)
def test_a_changed_leaf_of_an_answer_shows_in_the_reply_a_loss_or_the_leftovers(name: str) -> None:
    assert [one for one in sampled(name) if unseen(one) is None] == []


def test_the_excused_pairs_of_place_and_change_are_few() -> None:
    pairs = {(one.wire, one.kind, one.way, one.change) for name in WIRES for one in sampled(name)}
    print(f"{len(pairs)} (place, change) pairs of answers need an excuse")
    assert len(pairs) <= EXCUSED


def test_the_law_sees_what_a_reply_hides(monkeypatch: pytest.MonkeyPatch) -> None:
    wire: Any = wires.load("ollama_chat")
    encode = wire.encode_response

    def claiming(response: Any, **known: Any) -> Any:
        made, lost = encode(response, **known)
        made.total_duration = 7
        return made, lost

    monkeypatch.setattr(wire, "encode_response", claiming)
    document = {
        "model": "m",
        "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": "Hi"},
        "done": True,
        "done_reason": "stop",
        "total_duration": 7,
    }
    found = list(AnswerLaw().check(written("ollama_chat")[0], "response", document))
    assert [(one.way, one.change) for one in found if unseen(one) is None] == [(".total_duration", "drop")]
