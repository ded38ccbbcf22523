"""The tool loop: a pure step, and the runs that perform it.

`step.py` decides what happens next, `(state, input, tools) -> (state, actions)`; `state.py` is a run as data, `inputs.py` has the
inputs and the actions, `calls.py` says which items are calls and what answers them, `events.py` what event hooks get. `engine.py`
performs the actions for `Run` (`threads.py`) and `AsyncRun` (`tasks.py`, on asyncio and trio), which differ only in where jobs
run. They know no vendor.
"""

from __future__ import annotations

from .calls import DELIVERY, PENDING
from .state import STATE, Limits, Outcome, Output, RunState, Statistics, ToolCall, Totals
from .step import Turn, snapshot, step

__all__ = [
    "DELIVERY",
    "PENDING",
    "STATE",
    "Limits",
    "Outcome",
    "Output",
    "RunState",
    "Statistics",
    "ToolCall",
    "Totals",
    "Turn",
    "snapshot",
    "step",
]
