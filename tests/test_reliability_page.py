"""`docs/reliability.md` names a test for each promise, and each of them exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.hostile.cases import CASES

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/reliability.md").read_text()
ROWS = [
    (promise.strip(), shown.strip())
    for promise, shown in re.findall(r"^\| (.+?) \| (.+) \|$", PAGE, re.MULTILINE)
    if promise != "promise"
]
IDS = {case.id for case in CASES}


def functions_of(file: Path) -> set[str]:
    nodes = ast.walk(ast.parse(file.read_text()))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize(("promise", "shown"), ROWS, ids=[promise[:40] for promise, _ in ROWS])
def test_every_promise_names_tests_that_exist(promise: str, shown: str) -> None:
    for named in shown.split(", "):
        if named.startswith("`"):
            file, _, test = named.strip("`").partition("::")
            assert (ROOT / file).is_file(), named
            assert not test or test in functions_of(ROOT / file), named
        else:
            assert named == "all rows" or named in IDS, named


def test_the_page_has_promises() -> None:
    assert len(ROWS) > 40
