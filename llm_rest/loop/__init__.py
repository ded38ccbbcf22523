"""The tool loop (agent loop): a pure step, and the runs that perform its actions.

`step.py` decides what to do next, `(state, input, tools) -> (state, actions)`; `state.py` is a run as data, `inputs.py` has the
inputs and the actions, `calls.py` reads calls and builds their outputs, `events.py` has the events for hooks. `engine.py`
performs the actions for `Run` (`threads.py`) and `AsyncRun` (`tasks.py`, on asyncio and trio), which differ only in where jobs
run. All of it is independent of vendors.
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
