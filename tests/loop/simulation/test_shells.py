"""Hundreds of schedules through the real shells, on a virtual clock: the rules of the ledger hold there as well."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import trio
import trio.testing

import llm_rest.loop.engine as engine_module
from tests.loop.simulation.shells import Play, play_async, play_sync

SCHEDULES = 1000


@pytest.fixture(autouse=True)
def _turn_is_put_back() -> Iterator[None]:
    turn = engine_module.Turn
    yield
    engine_module.Turn = turn


def play_on_a_clock(seed: int) -> Play:
    return trio.run(play_async, seed, clock=trio.testing.MockClock(autojump_threshold=0))


@pytest.mark.slow
@pytest.mark.parametrize("play", [play_on_a_clock, play_sync], ids=["async", "sync"])
def test_every_rule_holds_through_the_shell_of_either_kind_of_client(play: Callable[[int], Play]) -> None:
    outcomes = {str(play(seed).state.outcome) for seed in range(SCHEDULES)}
    assert len(outcomes) == 7, "every outcome is reached"
