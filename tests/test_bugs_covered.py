"""Which bugs of other libraries have a test here: each number is named in a docstring (`BUGS 31`) or listed as later work."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.mapping import COMMENT

HERE = Path(__file__).parent

NEVER_GIVEN = {2, 9, 12, 16, 19, 22, 24, 29, 33, 36, 39, 43, 46, 50, 54, 57, 60, 63, 66, 68, 71, 73, 80, 83, 88}
NUMBERS = {*range(1, 91)} - NEVER_GIVEN
"""All of them; the numbers are stable names."""

LATER: dict[int, str] = {
    32: "there is no conversation yet",
    75: "a local MCP client is not planned",
}
"""Numbers that no test names yet, and why."""

MENTION = re.compile(r"\bBUGS ((?:\d+(?:, | and )?)+)")


def numbers(text: str) -> set[int]:
    """The numbers that a text names: `BUGS 31`, `BUGS 31, 35 and 81`."""
    return {int(number) for found in MENTION.findall(text) for number in re.findall(r"\d+", found)}


def covered() -> set[int]:
    """The numbers in the docstrings of all tests, and in the comments of the mapping rows."""
    texts = [text for path in HERE.rglob("*.toml") for text in COMMENT.findall(path.read_text())]
    for path in HERE.rglob("*.py"):
        if path != Path(__file__) and MENTION.search(source := path.read_text()):
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
                    texts.append(ast.get_docstring(node) or "")
    return numbers("\n".join(texts))


def test_every_bug_has_a_test_or_a_reason_why_not_yet() -> None:
    assert sorted(NUMBERS - covered()) == sorted(LATER)
    assert sorted(covered() - NUMBERS) == [], "these are not in the list"


@pytest.mark.parametrize(
    ("text", "found"),
    [("BUGS 31", {31}), ("see BUGS 31, 35 and 81.", {31, 35, 81}), ("bugs 4", set()), ("BUGS: 4", set())],
)
def test_numbers_are_read_from_a_sentence(text: str, found: set[int]) -> None:
    assert numbers(text) == found
