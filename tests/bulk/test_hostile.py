"""A vendor with hidden limits that fails, hangs and resets connections: every row is answered once (`tests/bulk/hostile.py`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bulk.hostile import run
from tests.support import WHOLE


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_hostile_vendor_answers_every_row_once_within_its_limits(tmp_path: Path) -> None:
    rows, rpm = (100_000, 18_000) if WHOLE else (300, 6_000)
    found = run(rows, rpm, tmp_path, timeout=3.0 if WHOLE else 1.0)
    assert found["each once, in order"]
    assert found["failed"] == 0
    assert found["prompts asked"] == rows
    assert found["429s"] < (0.01 if WHOLE else 0.1)
    if WHOLE:
        assert found["of the limit"] >= 0.95
        assert found["memory at the end (MiB)"] < found["memory at 10 % (MiB)"] * 1.2
