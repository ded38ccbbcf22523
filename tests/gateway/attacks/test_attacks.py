"""Every attack of the table on the server it is meant for; those on two stand at the same door, so only `LLM_REST_TESTS=whole`
makes them on the simulator too."""

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


@pytest.mark.sample(2)
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


def test_each_attack_has_a_name_of_its_own() -> None:
    ids = [attack.id for attack in CASES]
    assert len(ids) == len(set(ids))
