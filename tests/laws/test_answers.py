"""The law of leaves for the client on a fixed sample; `python -m tests.laws.answers` runs it over everything there is."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from llm_rest import wires
from tests.corpus import exchanges as recorded
from tests.corpus.changed import written
from tests.laws.answers import AnswerLaw, Shortfall, seen
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


TOLD = {
    ("changed", "it had no id"),
    ("changed", "it had no arguments, read as {}"),
    ("changed", "a missing count, which older servers omit for cached input"),
}
"""What recorded answers lack, and a caller is warned about."""


@pytest.mark.parametrize("name", WIRES)
def test_recorded_answers_cause_no_warnings_by_what_only_describes_them(name: str) -> None:
    told: set[tuple[str, str]] = set()
    for exchange in recorded(name):
        for kind, document in documents(exchange):
            if kind == "request" or (kind == "stream" and any(has_failed(event) for event in document)):
                continue
            found = seen(exchange, kind, document)
            told |= {(loss.kind, loss.what) for loss in (found.losses if found else ()) if loss.kind != "withheld"}
    assert told <= TOLD


def has_failed(event: Any) -> bool:
    return isinstance(event, dict) and (bool(event.get("error")) or event.get("type") == "error")


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
