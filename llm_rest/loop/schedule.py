"""The open calls of a run by what they wait for: a decision, a thread, their end or their timeout.

Derived from the calls, and kept up to date by `Turn`, so that an input costs as much as the calls that it concerns.
"""

from __future__ import annotations

import heapq
from itertools import count
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from . import inputs
    from .state import ToolCall


class Schedule:
    """Indexes of the calls of a run. With `in_threads` coroutine functions need a thread as well."""

    def __init__(self, tools: inputs.Tools, max_threads: int, *, in_threads: bool) -> None:
        self.by_id: dict[str, ToolCall] = {}
        self.open: dict[str, ToolCall] = {}
        """The calls that have not ended, and of these the blocking ones and those that wait for no decision."""
        self.blocking: set[str] = set()
        self.active: set[str] = set()
        self._tools = tools
        self._max_threads = max_threads
        self._in_threads = in_threads
        # Calls to be started, by the pool of threads that they need, each in the order of the calls.
        self._ready: dict[bool | None, list[tuple[int, int, ToolCall]]] = {None: [], True: [], False: []}
        self._holders: dict[bool | None, set[str]] = {True: set(), False: set()}  # calls with a thread of each pool
        self._places: dict[str, int] = {}
        self._deadlines: list[tuple[float, int, ToolCall]] = []
        self._order = count()

    def add(self, call: ToolCall) -> None:
        """Add a call."""
        self.by_id[call.execution_id] = call
        self._places[call.execution_id] = len(self._places)
        if call.state == "executing":
            self._hold_thread(call)
        if not call.over:
            self.open[call.execution_id] = call
            if call.blocking:
                self.blocking.add(call.execution_id)
            self.set_waiting(call, call.waiting_for)
            self._await_deadline(call)

    def set_waiting(self, call: ToolCall, waits: Literal["approval", "output"] | None) -> None:
        """Set what the call waits for; if that is nothing and it was not started before, it is ready."""
        call.waiting_for = waits
        if waits is not None:
            self.active.discard(call.execution_id)
            return
        self.active.add(call.execution_id)
        if call.state == "pending":
            heapq.heappush(self._ready[self._pool(call)], (self._places[call.execution_id], next(self._order), call))

    def next_ready(self) -> ToolCall | None:
        """Remove and return the first call for which there is a thread."""
        free = [
            calls
            for pool, calls in self._ready.items()
            if calls and (pool is None or len(self._holders[pool]) < self._max_threads)
        ]
        return heapq.heappop(min(free))[-1] if free else None

    def started(self, call: ToolCall) -> None:
        """The call was started."""
        self._hold_thread(call)
        self._await_deadline(call)

    def ended(self, call: ToolCall) -> None:
        """The call has ended."""
        self.open.pop(call.execution_id, None)
        for ids in (self.blocking, self.active, *self._holders.values()):
            ids.discard(call.execution_id)

    @property
    def deadline(self) -> float | None:
        """The time of the next timeout of a call; `None` without one."""
        while self._deadlines and self._deadlines[0][2].deadline != self._deadlines[0][0]:
            heapq.heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else None

    def expired(self, now: float, *, passed: bool) -> ToolCall | None:
        """The next call whose timeout is before `now`, or at `now` if that moment has `passed`; `None` without one."""
        limit = self.deadline
        return self._deadlines[0][2] if limit is not None and (limit < now or (passed and limit == now)) else None

    def _pool(self, call: ToolCall) -> bool | None:
        """The pool of threads that a call needs. Blocking calls have one of their own, so that no other call holds them up."""
        facts = self._tools.facts(call.name)
        return None if facts is None or (facts.is_async and not self._in_threads) else call.blocking

    def _hold_thread(self, call: ToolCall) -> None:
        if (pool := self._pool(call)) is not None:
            self._holders[pool].add(call.execution_id)

    def _await_deadline(self, call: ToolCall) -> None:
        if (limit := call.deadline) is not None:
            heapq.heappush(self._deadlines, (limit, next(self._order), call))
