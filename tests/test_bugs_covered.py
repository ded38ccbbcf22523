"""Which bugs of other libraries have a test here: each number is named in a docstring (`BUGS 31`) or listed as later work."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent

NUMBERS = {
    *(
        1,
        3,
        4,
        5,
        6,
        7,
        8,
        10,
        11,
        13,
        14,
        15,
        17,
        18,
        20,
        21,
        23,
        25,
        26,
        27,
        28,
        30,
        31,
        32,
        34,
        35,
        37,
        38,
        40,
        41,
        42,
    ),
    *(
        44,
        45,
        47,
        48,
        49,
        51,
        52,
        53,
        55,
        56,
        58,
        59,
        61,
        62,
        64,
        65,
        67,
        69,
        70,
        72,
        74,
        75,
        76,
        77,
        78,
        79,
        81,
        82,
        84,
    ),
    *(85, 86, 87, 89, 90),
}
"""All of them; the numbers are stable names and some were never given."""

LOOP = "there is no tool loop yet"
CONVERSATION = "there is no conversation yet"

LATER: dict[int, str] = {
    32: CONVERSATION,
    75: "a local MCP client is not planned",
    76: "the first request of a process is not measured yet",
    85: "the wheel is checked by tests/test_packaging.py, imports by tests/test_imports.py",
}
"""Numbers that no test names yet, and why."""

MENTION = re.compile(r"\bBUGS ((?:\d+(?:, | and )?)+)")


def numbers(text: str) -> set[int]:
    """The numbers a docstring names: `BUGS 31`, `BUGS 31, 35 and 81`."""
    return {int(number) for found in MENTION.findall(text) for number in re.findall(r"\d+", found)}


def docstrings(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            yield ast.get_docstring(node) or ""


COVERED = {
    number
    for path in HERE.rglob("*.py")
    if path != Path(__file__)
    for text in docstrings(path.read_text())
    for number in numbers(text)
}


def test_every_bug_has_a_test_or_a_reason_why_not_yet() -> None:
    assert sorted(NUMBERS - COVERED - set(LATER)) == []


def test_no_bug_is_called_later_work_once_it_has_a_test() -> None:
    assert sorted(COVERED & set(LATER)) == []


def test_no_test_names_a_bug_that_is_not_in_the_list() -> None:
    assert sorted((COVERED | set(LATER)) - NUMBERS) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [("BUGS 31", {31}), ("see BUGS 31, 35 and 81.", {31, 35, 81}), ("bugs 4", set()), ("BUGS: 4", set())],
)
def test_numbers_are_read_from_a_sentence(text: str, found: set[int]) -> None:
    assert numbers(text) == found
