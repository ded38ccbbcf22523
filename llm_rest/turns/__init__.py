"""The tool loop as a pure function: `step(state, happening, tools) -> (state, actions)`, and the run it works on.

`state.py` is the run as data, `turn.py` what it does next, `happenings.py` the words in which it is told and tells,
`calls.py` which items are calls and what answers them, `events.py` what event hooks hear. `loop/` drives it.
"""

from __future__ import annotations

from .calls import DELIVERY, PENDING
from .state import STATE, Limits, Outcome, Output, RunState, Statistics, ToolCall, Totals
from .turn import Turn, snapshot, step

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
