"""Every row of the mapping tables in the documentation is named by a test, and every row a test names exists.

A row has an id such as `anthropic.request.17` in its first column; a test names it in its docstring or as the id of a case.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from llm_rest import wires

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs" / "wires"
ID = re.compile(r"\b(?:anthropic|chat|gemini|ollama|responses)\.(?!canonical)[a-z_]+\.\d+\b")
ROW = re.compile(rf"^\|\s*`?({ID.pattern})`?\s*\|", re.MULTILINE)


def documented(wire: str) -> list[str]:
    """The ids of the rows of a wire's tables."""
    page = DOCS / f"{wire}.md"
    return ROW.findall(page.read_text()) if page.exists() else []


NAMED = {
    found for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__) for found in ID.findall(path.read_text())
}
"""The ids that tests name."""


@pytest.mark.parametrize("wire", wires.NAMES)
def test_every_row_of_the_tables_is_named_by_a_test(wire: str) -> None:
    rows = documented(wire)
    assert rows, f"docs/wires/{wire}.md has no table with ids"
    assert [row for row in rows if row not in NAMED] == []


@pytest.mark.parametrize("wire", wires.NAMES)
def test_an_id_stands_in_one_row(wire: str) -> None:
    assert [row for row, times in Counter(documented(wire)).items() if times > 1] == []


def test_every_row_a_test_names_exists() -> None:
    assert sorted(NAMED - {row for wire in wires.NAMES for row in documented(wire)}) == []


def test_a_row_is_read_with_and_without_code_marks() -> None:
    table = "| id | from |\n|---|---|\n| `chat.request.1` | a |\n| chat.request_back.12 | see chat.request.1 |\n"
    assert ROW.findall(table) == ["chat.request.1", "chat.request_back.12"]
