"""How much more work a larger document is, counted in lines of Python that run, which are the same every time."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

N = 24
MOST = 5
"""Four times the size may cost five times the steps, since some are made once in so many."""


def steps(work: Callable[[], object]) -> int:
    """How many lines of Python run in `work`; finalizers of what other tests left behind do not run meanwhile."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    gc.disable()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
        gc.enable()
    return count


def growth(work: Callable[[int], Callable[[], object]]) -> float:
    """By how much the steps grow from `N` to four times `N`; `work` prepares what is counted, at a size."""
    work(2)()  # what is made once and kept is made now
    work(N)()
    small = steps(work(N))
    work(4 * N)()
    return steps(work(4 * N)) / small
