"""The vendors' own SDKs in front of the gateway, with each wire behind it: every two of client, upstream, case and way meet.

With `LLM_REST_TESTS=whole` every client plays every case with every upstream, sync and async.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from llm_rest import wires
from tests.support import WHOLE

from .cases import CANNOT, CASES, CELLS, ONLY
from .neutral import Unsayable
from .page import PAGE, page
from .world import CLIENTS, TOKENS, WAYS, Spy, World

# The SDKs leave generators of their HTTP client to the garbage collector where a stream is not read to its end.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:connect.. must be used as a context manager:DeprecationWarning"),  # OpenAI's SDK
]


Cell = tuple[str, str, str]


def played(cells: Iterable[Cell]) -> list[tuple[Cell, str]]:
    """Cells with the ways they are played in."""
    found: list[tuple[Cell, str]] = []
    for cell in cells:
        client, behind, case = cell
        number = [*CLIENTS].index(client) + wires.NAMES.index(behind) + [*CASES].index(case)
        if WHOLE or number % 5 < 2 or case in ONLY:
            found += [(cell, way) for way in (WAYS if WHOLE else [[*WAYS][number % 2]])]
    return found


def named(value: Cell | str) -> str:
    return value if isinstance(value, str) else "-".join(value)


def play(gateway: World, spy: Spy, cell: Cell, way: str) -> None:
    name, behind, case = cell
    client = gateway.client(name, way, "not-a-token-at-all" if case == "wrong_token" else TOKENS["alice"])
    gateway.run(way, lambda: CASES[case](client, behind, spy))


@pytest.mark.parametrize(("cell", "way"), played(cell for cell in CELLS if cell not in CANNOT), ids=named)
def test_the_client_works(gateway: World, spy: Spy, cell: Cell, way: str) -> None:
    play(gateway, spy, cell, way)


@pytest.mark.parametrize(("cell", "way"), played(CANNOT), ids=named)
def test_what_is_said_to_be_impossible_still_is(gateway: World, spy: Spy, cell: Cell, way: str) -> None:
    with pytest.raises((Unsayable, gateway.client(cell[0], way).errors[400])):
        play(gateway, spy, cell, way)


def test_every_reason_is_about_a_cell() -> None:
    assert CANNOT.keys() <= set(CELLS)


def test_the_page_says_what_the_tests_say() -> None:
    assert PAGE.read_text() == page(PAGE.read_text()), "run python -m tests.clients.page"
