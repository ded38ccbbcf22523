"""The programs in `examples/` run, against the simulator, and show what they promise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

EVENTS = (
    "iteration:start llm:response tool:executing tool:completed tool:failed result:arrived nonblocking:result "
    "nonblocking:llm_response run:end"
)


@pytest.mark.parametrize("options", [(), ("--wire", "anthropic_messages")], ids=["default", "anthropic_messages"])
def test_the_weather_agent_prints_the_timeline_of_its_run(options: tuple[str, ...]) -> None:
    command = [sys.executable, "examples/weather_agent.py", *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stderr == ""
    rows = [line.split(maxsplit=3) for line in done.stdout.splitlines()[2:] if line.startswith("  ")]
    assert {row[2] for row in rows} == set(EVENTS.split())
    times = [float(row[0]) for row in rows]
    assert times == sorted(times)
    assert "5 calls (2 blocking, 3 not): 4 completed, 0 failed, 1 timed out; 5 model calls" in done.stdout
