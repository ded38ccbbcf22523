"""Every attack of the table on the server it is meant for; those on two stand at the same door, so only `LLM_REST_TESTS=whole`
makes them on the simulator too. `python -m tests.gateway.attacks` makes and prints all of them."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.gateway.attacks.cases import CASES
from tests.gateway.attacks.table import Attack, groups, run
from tests.gateway.attacks.world import World, attacked, eventually
from tests.support import WHOLE

NORMAL = Attack("", "a normal request", lambda place: [])

pytestmark = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is measured by Linux")


@pytest.fixture(scope="module")
def world() -> Generator[World]:
    with attacked() as found:
        yield found


@pytest.mark.parametrize(
    ("on", "group"),
    groups(
        CASES if WHOLE else [replace(a, on=tuple(on for on in a.on if on != "simulator")) for a in CASES if not a.whole]
    ),
    ids=lambda x: x if isinstance(x, str) else "+".join(attack.id for attack in x),
)
def test_an_attack_is_withstood(group: list[Attack], on: str, world: World) -> None:
    faults = run(group, world.places[on])
    assert not faults, f"{', '.join(attack.given for attack in group)}: {'; '.join(faults)}"


def test_nothing_is_left_of_them(world: World) -> None:
    place = world.places["gateway"]

    def few() -> bool:
        for name in world.places:
            run([NORMAL], world.places[name])
        return world.files() < 60

    assert eventually(few), world.files()
    assert place.world.process.poll() is None


def test_the_table_names_each_attack_once_and_says_why_where_there_is_none() -> None:
    ids = [attack.id for attack in CASES]
    assert len(ids) == len(set(ids))
    for attack in CASES:
        assert all(len(reason.split()) > 2 for reason in attack.cannot.values()), attack.id
        assert {"gateway", "simulator"} <= {*attack.on, *attack.cannot}, attack.id
