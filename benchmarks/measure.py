"""Comparing two ways to do the same work on a noisy machine.

Both ways run in turn, batch by batch, so that whatever slows the machine slows both; what counts is the median of the
ratios. CPU time of this process is measured, not the clock, so a busy neighbour costs precision and not honesty.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

BATCH_NS = 4_000_000
"""How long one batch of the floor takes, roughly: long against the clock's resolution, short against a neighbour's turn."""


@dataclass(frozen=True)
class Case:
    """`ours` and `floor` do the same work; `target` is the ratio between them we want to stay below.

    One run of either may do it `per` times.
    """

    name: str
    floor: Callable[[], object]
    ours: Callable[[], object]
    target: float | None = None
    per: int = 1


@dataclass(frozen=True)
class Result:
    """Seconds of CPU time per run, and the median ratio of the batches."""

    name: str
    floor: float
    ours: float
    ratio: float
    target: float | None = None


def spent(work: Callable[[], object], times: int) -> int:
    """Nanoseconds of CPU time that `times` runs of `work` take."""
    start = time.process_time_ns()
    for _ in range(times):
        work()
    return time.process_time_ns() - start


def compare(case: Case, rounds: int) -> Result:
    """One case, measured in `rounds` batches of each side, alternating which goes first."""
    times = 1
    while (took := spent(case.floor, times)) < BATCH_NS:
        times = max(times * 2, int(times * BATCH_NS / took) if took else 0)
    spent(case.ours, times)
    floors: list[float] = []
    ours: list[float] = []
    gc.collect()
    gc.freeze()
    for turn in range(rounds):
        sides = [(case.floor, floors), (case.ours, ours)]
        for work, into in sides if turn % 2 == 0 else reversed(sides):
            into.append(spent(work, times) / times / case.per / 1e9)
    gc.unfreeze()
    ratio = median(mine / least for mine, least in zip(ours, floors, strict=True))
    return Result(case.name, median(floors), median(ours), ratio, case.target)


def table(results: list[Result]) -> str:
    """The results as a Markdown table."""
    lines = ["| what | floor | ours | ratio | target |", "|---|--:|--:|--:|--:|"]
    for r in results:
        target = f"{r.target:.2f}" if r.target else ""
        lines.append(f"| {r.name} | {_time(r.floor)} | {_time(r.ours)} | **{r.ratio:.2f}** | {target} |")
    return "\n".join(lines)


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:,.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:,.1f} ms"
