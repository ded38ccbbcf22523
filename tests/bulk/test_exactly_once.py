"""A run that is killed at random moments ends as one that was not, and repeats no more than the rows in flight."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bulk.conftest import Vendor
from tests.support import WHOLE

KILLS, ROWS = (200, 12_000) if WHOLE else (10, 600)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_run_that_is_killed_at_random_moments_answers_every_row_once(
    serve: Callable[..., Vendor], tmp_path: Path
) -> None:
    vendor = serve(latency=0.02)
    command = [
        sys.executable,
        "-m",
        "tests.bulk.killed",
        vendor.client["base_url"],
        str(tmp_path),
        str(ROWS),
        str(KILLS),
    ]
    done = subprocess.run([*command, "1"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    code, kills, repeated, answered = map(int, done.stdout.split())
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert (code, kills, answered) == (0, KILLS, ROWS)
    assert [(line["custom_id"], line["output_text"]) for line in lines] == [
        (f"row-{n}", f"ROW {n}") for n in range(1, ROWS + 1)
    ]
    log = vendor.asked()
    assert sum(log.values()) - len(log) <= repeated <= kills * 8, "8 rows are in flight at a time"
