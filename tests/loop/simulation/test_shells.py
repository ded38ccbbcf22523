"""Hundreds of schedules through the real shells, on a virtual clock: the rules of the ledger hold there as well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
import trio
import trio.testing

import llm_rest.loop.engine as engine_module
from tests.loop.simulation.shells import play_async, play_sync

SCHEDULES = 1000


@pytest.fixture(autouse=True)
def _turn_is_put_back() -> Iterator[None]:
    turn = engine_module.Turn
    yield
    engine_module.Turn = turn


@pytest.mark.slow
def test_every_rule_holds_through_the_shell_for_async_callers() -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(SCHEDULES):
        clock = trio.testing.MockClock(autojump_threshold=0)
        play = trio.run(play_async, seed, clock=clock)
        outcomes[str(play.state.outcome)] += 1
    assert len(outcomes) == 7, "every outcome is reached"


@pytest.mark.slow
def test_every_rule_holds_through_the_shell_for_sync_callers() -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(SCHEDULES):
        outcomes[str(play_sync(seed).state.outcome)] += 1
    assert len(outcomes) == 7, "every outcome is reached"
