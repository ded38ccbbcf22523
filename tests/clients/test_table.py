"""The vendors' own SDKs in front of the gateway, with each wire behind it: every client, every upstream, every case."""

from __future__ import annotations

import pytest

from .cases import CANNOT, CASES, CELLS
from .neutral import Unsayable
from .world import TOKENS, WAYS, Spy, World

# The SDKs leave generators of their HTTP client to the garbage collector where a stream is not read to its end.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:connect.. must be used as a context manager:DeprecationWarning"),  # OpenAI's SDK
]


def play(gateway: World, spy: Spy, cell: tuple[str, str, str], way: str) -> None:
    name, behind, case = cell
    client = gateway.client(name, way, "not-a-token-at-all" if case == "wrong_token" else TOKENS["alice"])
    gateway.run(way, lambda: CASES[case](client, behind, spy))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell not in CANNOT], ids="-".join)
def test_the_client_works(gateway: World, spy: Spy, cell: tuple[str, str, str], way: str) -> None:
    play(gateway, spy, cell, way)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("cell", CANNOT, ids="-".join)
def test_what_is_said_to_be_impossible_still_is(gateway: World, spy: Spy, cell: tuple[str, str, str], way: str) -> None:
    with pytest.raises((Unsayable, gateway.client(cell[0], way).errors[400])):
        play(gateway, spy, cell, way)
