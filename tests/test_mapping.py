"""The pages of the wires are made of the rows that the tests run; what is lost is documented with what a user can do."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from llm_rest import wires
from tests.mapping import INDEX, PAGES, REMEDY, documented, named, page, rows, wire_page

ROWS = documented()
SHOWN = named()
every_wire = pytest.mark.parametrize("wire", wires.NAMES)


@every_wire
def test_the_page_of_a_wire_is_made_of_its_rows(wire: str) -> None:
    assert (PAGES / f"{wire}.md").read_text() == wire_page(wire), "run `python -m tests.mapping`"


@every_wire
def test_every_row_is_shown_by_a_case_or_a_test(wire: str) -> None:
    assert ROWS[wire], f"the page of {wire} has no table with ids"
    assert [row.id for row in ROWS[wire] if not SHOWN[row.id]] == []


@every_wire
def test_an_id_stands_in_one_row(wire: str) -> None:
    assert [row for row, times in Counter(row.id for row in ROWS[wire]).items() if times > 1] == []


def test_every_row_a_test_names_exists() -> None:
    assert sorted(SHOWN.keys() - {row.id for found in ROWS.values() for row in found}) == []


@every_wire
def test_every_loss_says_what_a_user_can_do(wire: str) -> None:
    assert [row.id for row in ROWS[wire] if row.losses and not row.remedy] == []


def test_the_page_of_what_is_lost_is_made_of_the_tables() -> None:
    """The numbers of tests on it may be older than the tests."""

    def uncounted(text: str) -> str:
        return re.sub(r"\| \d+ \|", "| |", re.sub(r"\) \| (\d+) \| \d+ \|", r") | \1 | |", text))

    assert uncounted(INDEX.read_text()) == uncounted(page()), "run `python -m tests.mapping`"


SAMPLE = "chat" + ".request.1"
"""Spelled so that this file does not count as a test of the row."""


def test_a_row_is_read_with_its_losses_and_what_to_do() -> None:
    header = f"## To a host\n| id | from | rule | {REMEDY} |\n|---|---|---|---|\n"
    (row,) = rows(f"{header}| {SAMPLE} | a | `dropped` | b |\n| chat.canonical.1 | a | `dropped` | b |\n")
    assert row == (SAMPLE, "To a host", "a", ("dropped",), "b")


def test_a_table_without_a_place_for_it_says_nothing_of_what_to_do() -> None:
    (row,) = rows(f"| id | from | rule |\n|---|---|---|\n| `{SAMPLE}` | a | `changed` |\n")
    assert (row.losses, row.remedy) == (("changed",), "")
