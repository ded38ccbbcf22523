"""Every case of the mapping rows holds."""

from __future__ import annotations

import pytest

from llm_rest import wires
from tests.wires.rows import Case, cases, problems

CASES = [case for wire in wires.NAMES for case in cases(wire)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_row_says_what_the_wire_does(case: Case) -> None:
    assert problems(case) == []
