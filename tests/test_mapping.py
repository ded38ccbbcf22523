"""What is lost on a wire is documented with what a user can do, and listed on one page."""

from __future__ import annotations

import re

import pytest

from llm_rest import wires
from tests.mapping import INDEX, REMEDY, UNFINISHED, documented, named, page, rows

ROWS = documented()


@pytest.mark.parametrize("wire", [name for name in wires.NAMES if name not in UNFINISHED])
def test_every_loss_says_what_a_user_can_do(wire: str) -> None:
    assert [row.id for row in ROWS[wire] if row.losses and not row.remedy] == []


def test_the_page_of_what_is_lost_is_made_of_the_tables() -> None:
    """The numbers of tests on it may be older than the tests."""

    def uncounted(text: str) -> str:
        return re.sub(r"\| \d+ \|", "| |", re.sub(r"\) \| (\d+) \| \d+ \|", r") | \1 | |", text))

    assert uncounted(INDEX.read_text()) == uncounted(page()), "run `python -m tests.mapping`"


def test_every_loss_is_shown_by_a_test() -> None:
    tests = named()
    finished = [found for wire, found in ROWS.items() if wire not in UNFINISHED]
    assert [row.id for found in finished for row in found if row.losses and not tests[row.id]] == []


SAMPLE = "chat" + ".request.1"
"""Spelled so that this file does not count as a test of the row."""


def test_a_row_is_read_with_its_losses_and_what_to_do() -> None:
    header = f"## To a host\n| id | from | rule | {REMEDY} |\n|---|---|---|---|\n"
    (row,) = rows(f"{header}| {SAMPLE} | a | `dropped` | b |\n| chat.canonical.1 | a | `dropped` | b |\n")
    assert row == (SAMPLE, "To a host", "a", ("dropped",), "b")


def test_a_table_without_a_place_for_it_says_nothing_of_what_to_do() -> None:
    (row,) = rows(f"| id | from | rule |\n|---|---|---|\n| `{SAMPLE}` | a | `changed` |\n")
    assert (row.losses, row.remedy) == (("changed",), "")
