"""Every row is answered once: at a vendor with hidden limits and faults, and by a run that is killed at random moments."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from llm_rest import AsyncBulk, AsyncClient, RetryPolicy, Timeouts
from tests.bulk.conftest import Vendor
from tests.bulk.server import TOKENS
from tests.support import WHOLE


def answered(folder: Path) -> list[tuple[str, str]]:
    lines = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    return [(line["custom_id"], line["output_text"]) for line in lines]


def expected(rows: int) -> list[tuple[str, str]]:
    return [(f"row-{n}", f"ROW {n}") for n in range(1, rows + 1)]


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_vendor_with_hidden_limits_and_faults_answers_every_row_once_within_them(
    serve: Callable[..., Vendor], tmp_path: Path
) -> None:
    """2 % of the answers are 500s, 1 % never come, and 0.5 % of the connections are reset."""
    rows, rpm = (100_000, 18_000) if WHOLE else (300, 6_000)
    vendor = serve(rpm=rpm, tpm=rpm * TOKENS * 2, latency=0.1, errors=0.02, hangs=0.01, resets=0.005)
    memory: list[int] = []

    def asked() -> Iterator[str]:
        for n in range(1, rows + 1):
            if n % 1000 == 1:
                pages = int(Path("/proc/self/statm").read_text().split()[1])
                memory.append(pages * resource.getpagesize())
            yield f"row {n}"

    async def answer() -> Any:
        options: dict[str, Any] = {
            "retry": RetryPolicy(attempts=8, base_delay=0.2, max_delay=1.0),
            "timeout": Timeouts(first_byte=3.0 if WHOLE else 1.0),
        }
        async with (
            AsyncClient("compatible/m", **vendor.client, max_connections=128, rate_limit="learn", **options) as llm,
            AsyncBulk(llm, output_file=tmp_path / "out.jsonl", concurrency=128) as bulk,
        ):
            async for row in bulk.run(asked()):
                assert row

    anyio.run(answer)
    stats = vendor.asked("stats")
    assert answered(tmp_path) == expected(rows)
    assert len(vendor.asked()) == rows
    assert stats.get("429", 0) / stats["requests"] < (0.01 if WHOLE else 0.1)
    if WHOLE:
        assert stats["requests"] - stats.get("429", 0) >= 0.95 * rpm / 60 * (stats["seconds"] + 1)
        assert memory[-1] < memory[len(memory) // 10] * 1.2


def kill(*about: object) -> Iterator[int]:
    """What `killed.py` printed."""
    program = [sys.executable, "-m", "tests.bulk.killed", *map(str, about), "1"]
    done = subprocess.run(program, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return map(int, done.stdout.split())


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_run_that_is_killed_at_random_moments_repeats_no_more_than_the_rows_in_flight(
    serve: Callable[..., Vendor], tmp_path: Path
) -> None:
    vendor, rows, kills = serve(latency=0.02), 12_000 if WHOLE else 600, 200 if WHOLE else 10
    code, killed, repeated, finished = kill("live", "compatible/m", vendor.client["base_url"], tmp_path, rows, kills)
    assert (code, killed, finished) == (0, kills, rows)
    assert answered(tmp_path) == expected(rows)
    log = vendor.asked()
    log.pop("warm 1")
    assert sum(log.values()) - len(log) <= repeated <= kills * 8, "8 rows are in flight at a time"
