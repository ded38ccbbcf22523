"""The rows of the wire's own tables (efforts, ends, streams, hard cases) are named by its tests."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[2] / "docs" / "wires" / "anthropic_messages.md"
ID = r"anthropic\.(?:effort|stop|stream|stream_back|hard)\.\d+"


def test_every_row_of_efforts_ends_streams_and_hard_cases_is_named_by_a_test() -> None:
    rows = re.findall(rf"^\| ({ID}) \|", PAGE.read_text(), re.MULTILINE)
    named = {found for path in HERE.glob("test_*.py") for found in re.findall(ID, path.read_text())}
    assert len(rows) == len(set(rows)) == 79
    assert set(rows) == named
