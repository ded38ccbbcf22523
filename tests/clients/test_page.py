"""The page of clients is what the tests say."""

from __future__ import annotations

from .cases import CANNOT, CELLS
from .page import PAGE, page


def test_the_page_is_what_the_tests_say() -> None:
    assert PAGE.read_text() == page(), "run python -m tests.clients.page"


def test_every_reason_is_about_a_cell() -> None:
    assert CANNOT.keys() <= set(CELLS)
