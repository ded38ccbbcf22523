"""The page of clients is what the tests say."""

from __future__ import annotations

import itertools

from llm_rest import wires

from .cases import CANNOT, CASES
from .page import PAGE, page
from .world import CLIENTS


def test_the_page_is_what_the_tests_say() -> None:
    assert PAGE.read_text() == page(), "run python -m tests.clients.page"


def test_every_reason_is_about_a_cell() -> None:
    assert CANNOT.keys() <= set(itertools.product(CLIENTS, wires.NAMES, CASES))
