"""The engine of both shells of the loop: a run's state, its event hooks, and the execution of each step's actions.

Everything here is written once. Its coroutines await only methods of a shell (`Shell`, `Workers`), so the shell
for sync callers drives them without an event loop. Before changing this file, know that only `take` changes the state, and
that a job reports to the workers that started it: reports of an earlier drive are ignored.
"""

from __future__ import annotations

import logging
import re
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, assert_never, cast

from msgspec import UNSET
from msgspec.structs import replace

from ..errors import (
    APITimeoutError,
    CallCancelledError,
    ConfigError,
    LLMError,
    MaxIterationsError,
    ToolArgumentsError,
    ToolError,
    ToolNotFoundError,
)
from ..responses.items import CustomToolCall, FunctionCall
from ..responses.stream import disassemble
from ..tools import ToolContext
from . import RunState, ToolCall, Turn, inputs, snapshot
from .events import RunEnd

if TYPE_CHECKING:
    from ..responses.events import AnyEvent
    from ..responses.request import Request
    from ..responses.response import Response
    from ..tools import Prepared, Toolbox
    from . import Output
    from .events import AnyLoopEvent


EventHook = Callable[[Any], object]
"""A callback that takes an event of a run (`llm_rest.loop.events`); its return value is ignored."""
Approver = Callable[[ToolCall], "bool | None | Awaitable[bool | None]"]
"""Decides whether a call may run; `None` leaves it open, and the run stops with it in `pending_calls`."""

Job = Callable[[], Coroutine[Any, Any, None]]
MODEL = "model"
"""The name of the job that calls the model."""


class Workers(Protocol):
    """The workers of one drive: a clock, jobs by name, and their reports."""

    def now(self) -> float: ...
    def start(self, name: str, job: Callable[[], Coroutine[Any, Any, None]], /) -> None: ...
    def cancel(self, name: str, /) -> None: ...
    def put(self, report: Any, /) -> None: ...
    async def receive(self, within: float | None, /) -> Any: ...


class Shell(Protocol):
    """How tools are run and the model is called: sync or async."""

    @property
    def in_threads(self) -> bool:
        """Whether every job holds a thread."""
        ...

    async def execute(self, tools: Toolbox, prepared: Prepared, context: ToolContext, /) -> Output: ...
    async def ask(self, whom: Callable[[Any], Any], about: Any, /) -> Any: ...
    async def stream(self, opened: Any, hear: Callable[[AnyEvent], bool], /) -> Response: ...


class Decided(NamedTuple):
    """An approval decision about a call."""

    execution_id: str
    verdict: bool | None


class Engine:
    """A run, driven or at rest."""

    def __init__(
        self,
        shell: Shell,
        state: RunState,
        tools: Toolbox,
        answer: Callable[[Request], Any],
        stream: Callable[[Request], Any] | None,
        event_hooks: Iterable[EventHook],
        approve: Approver | None,
        hang_up: Callable[[], None] | None,
        run: Any,
        deps: Any = UNSET,
    ) -> None:
        self.shell = shell
        self.turn = Turn(replace(state, running=False), tools, in_threads=shell.in_threads)
        self.tools = tools
        self.answer = answer
        self.opens = stream
        self.event_hooks = tuple(event_hooks)
        self.approve = approve
        self.hang_up = hang_up
        self.run = run
        self.deps = deps
        self.scope: Callable[[str, Job], Job] | None = None
        """Gives a job, by the name that it is started under, what it runs in, such as the span of its tool."""
        self.out: deque[AnyLoopEvent | AnyEvent] = deque()
        self.answers: list[Response] = []
        self.fault: Exception | None = None
        self._workers: Workers | None = None
        self._lock = threading.RLock()  # words come from any thread
        self._resting = False
        self._driven = False
        self._streams = False
        self._began = 0.0
        self._approvals_started: set[str] = set()
        self._approvals_due: deque[ToolCall] = deque()
        self._deciding = 0
        self._waiting_end: AnyLoopEvent | None = None

    @property
    def state(self) -> RunState:
        """The run as it is now; each step changes it."""
        return self.turn.state

    def snapshot(self) -> RunState:
        """A copy of the current state."""
        with self._lock:
            return snapshot(self.turn.state)

    def pending_calls(self) -> list[ToolCall]:
        """The calls that wait for approval or output, as they are now."""
        with self._lock:
            return [copy(call) for call in self.turn.calls.open.values() if call.waiting_for is not None]

    @property
    def at_rest(self) -> bool:
        """Whether there is nothing to drive: a run that has ended is not started again."""
        return self._driven and self.state.outcome not in (None, "waiting")

    def begin(self, workers: Workers, *, streams: bool) -> None:
        """Start or resume the run, with these workers."""
        with self._lock:
            if self._workers is not None:
                hint = "use one of result, events and stream at a time"
                raise ConfigError("this run is being driven already", hint=hint)
            self._workers, self._streams, self._driven = workers, streams, True
            self._began = workers.now() - self.state.at
            self._approvals_started.clear()
            self._approvals_due.clear()
            self._deciding, self._resting = 0, False
        self.take(inputs.Started(at=self.state.at))

    async def advance(self) -> bool:
        """Wait for the next input and perform its actions; whether the run continues."""
        state, workers = self.state, self._workers
        before = state.outcome
        if workers is None:
            return False
        if state.running or (before == "waiting" and self._deciding):
            limit = self.turn.deadline if state.running else None
            report = await workers.receive(None if limit is None else max(0.0, limit - self._now()))
        else:
            # A word may have come in at the last moment; whatever comes later is heard without being driven.
            with self._lock:
                report = await workers.receive(0.0)
                self._resting = report is None
            if self._resting:
                return self._emit_waiting_end()
        if report is None:
            self.take(inputs.Ticked(at=self._now()))
        elif isinstance(report, inputs.Input):
            self.take(cast("inputs.AnyInput", report))
        elif callable(report):
            self.take(cast("Callable[..., inputs.AnyInput]", report)(at=self._now()))
        elif isinstance(report, Decided):
            self._deciding -= 1
            self._start_approvals(workers)
            if report.verdict is not None:
                kind = inputs.Approved if report.verdict else inputs.Denied
                self.take(kind(at=self._now(), execution_id=report.execution_id))
        else:
            self.out.append(report)
        if state.outcome == before == "waiting":
            self.take(inputs.Started(at=self._now()))
        return True

    def say(self, report: Callable[..., inputs.AnyInput]) -> None:
        """Take an input from outside: queued while the run is driven, else applied at once."""
        with self._lock:
            if self._workers is not None and not self._resting:
                self._workers.put(report)
            else:
                self.take(report(at=self._now()))

    def cancel(self) -> None:
        """End the run; one that was not started is never started."""
        self.say(inputs.Cancelled)
        if self._workers is None:
            self._driven = True

    def stop(self) -> None:
        """End the run if it is being driven: all calls of the client were cancelled."""
        if self._workers is not None:
            self.say(inputs.Cancelled)

    def leave(self) -> None:
        """The caller stopped driving the run. What was in flight is cancelled."""
        if self.state.running:
            self.take(inputs.Cancelled(at=self._now()))
        self._emit_waiting_end()
        self._workers = None

    def _emit_waiting_end(self) -> bool:
        """Notify the hooks that the run stopped because calls wait for a decision; whether that was still to be done."""
        event, self._waiting_end = self._waiting_end, None
        if event is None or self.state.outcome != "waiting":
            return False
        self._emit(event)
        return True

    def take(self, input: inputs.AnyInput) -> None:
        """Apply an input, and perform its actions."""
        with self._lock:
            actions = self.turn.take(input)
        for action in actions:
            if isinstance(action, inputs.Emit):
                waits = isinstance(action.event, RunEnd) and action.event.outcome == "waiting"
                if waits and self._workers is not None and not self._resting:
                    self._waiting_end = action.event  # a decision may come before the run is at rest
                else:
                    self._emit(action.event)
            elif self._workers is not None:  # or the run is at rest and starts nothing
                self._do(action, self._workers)

    def _now(self) -> float:
        return self.state.at if self._workers is None else self._workers.now() - self._began

    def _do(self, action: inputs.Action, workers: Workers) -> None:
        match action:
            case inputs.Ask(request=request):
                offered = self.tools.definitions
                sent = replace(request, tools=offered) if offered else request
                self._start(workers, MODEL, partial(self._model, sent, workers))
            case inputs.CancelAsk():
                workers.cancel(MODEL)
                if self.hang_up is not None:
                    self.hang_up()
            case inputs.StartTool(call=call):
                self._start(workers, call.execution_id, partial(self._tool, call, action.prepared, workers))
            case inputs.CancelTool(execution_id=name):
                workers.cancel(name)
            case inputs.AskApproval(call=call):
                if self.approve is not None and call.execution_id not in self._approvals_started:
                    self._approvals_started.add(call.execution_id)
                    self._approvals_due.append(call)
                    self._start_approvals(workers)
            case inputs.Emit() | inputs.Stop():
                pass
            case _:
                assert_never(action)

    def _start(self, workers: Workers, name: str, job: Job) -> None:
        workers.start(name, job if self.scope is None else self.scope(name, job))

    def _start_approvals(self, workers: Workers) -> None:
        """Request approval of the next calls, at most as many at a time as there may be threads."""
        limit = self.state.limits.max_tool_threads
        while self._approvals_due and (self._deciding < limit or not self.shell.in_threads):
            call = self._approvals_due.popleft()
            if call.waiting_for == "approval":
                self._deciding += 1
                workers.start(f"approval of {call.execution_id}", partial(self._request_approval, call, workers))

    def _emit(self, event: AnyLoopEvent) -> None:
        self.out.append(event)
        for hook in self.event_hooks:
            try:
                hook(event)
            except Exception:
                logging.getLogger("llm_rest").exception("an event hook failed on %s", type(event).__name__)

    # -- jobs: each reports once, whatever becomes of it

    async def _tool(self, call: ToolCall, prepared: Prepared, workers: Workers) -> None:
        context = ToolContext(execution_id=call.execution_id, call_id=call.call_id, run=self.run, deps=self.deps)
        report: Any = partial(inputs.Failed, error="the tool was cancelled")
        try:
            report = partial(inputs.Finished, output=await self.shell.execute(self.tools, prepared, context))
        except Exception as problem:
            report = partial(inputs.Failed, error=str(problem))
        finally:
            # With its own time: whoever watches the run may be slow to hear of it, which makes no timeout of it.
            workers.put(report(execution_id=call.execution_id, at=workers.now() - self._began))

    async def _model(self, request: Request, workers: Workers) -> None:
        report: Any = partial(inputs.AnswerFailed, error="the model call was cancelled")
        try:
            if self._streams and self.opens is not None:
                response = await self.shell.stream(self.opens(request), partial(self._hear, workers))
            else:
                response = await self.shell.ask(self.answer, request)
                for event in disassemble(response) if self._streams else ():
                    workers.put(event)
            self.answers.append(response)
            if response.status == "cancelled":  # by `client.cancel()`, which ends everything
                report = inputs.Cancelled
            else:
                report = partial(inputs.Answered, response=response, repairs=repairs_of(response))
        except Exception as problem:
            self.fault = problem
            report = partial(inputs.AnswerFailed, error=str(problem))
        finally:
            workers.put(report)

    def _hear(self, workers: Workers, event: AnyEvent) -> bool:
        """Pass on an event of a streamed answer; whether it is still needed."""
        workers.put(event)
        return workers is self._workers

    async def _request_approval(self, call: ToolCall, workers: Workers) -> None:
        verdict = None
        try:
            answer: Any = None if self.approve is None else await self.shell.ask(self.approve, call)
            if not isinstance(answer, bool | None):  # a word such as "no" would count as a yes
                raise TypeError(f"approve= returns True, False or None, not {answer!r}")
            verdict = answer
        except Exception:
            logging.getLogger("llm_rest").exception("asking whether %s may run failed; the call waits", call.name)
        finally:
            workers.put(Decided(call.execution_id, verdict))

    # -- how it ended

    def error(self, partial_answer: Any) -> Exception | None:
        """The error that stopped the run, with its state."""
        state, message = self.state, self.state.error or ""
        error: Exception | None = None
        match state.outcome:
            case "max_iterations":
                hint = "allow more with max_iterations=, or go on with run(state=error.run)"
                error = MaxIterationsError(message, partial=partial_answer, hint=hint)
            case "invalid_calls":
                wrong = next(call for call in reversed(state.calls) if call.problems)
                known = self.tools.facts(wrong.name) is not None
                error = (ToolArgumentsError if known else ToolNotFoundError)(message, partial=partial_answer)
            case "timeout":
                error = APITimeoutError(message, phase="total", partial=partial_answer)
            case "failed" if self.fault is not None:
                error = self.fault
            case "failed":
                error = ToolError(message, partial=partial_answer)
            case "cancelled":
                error = CallCancelledError(message, partial=partial_answer)
            case "completed" | "waiting" | None:
                pass
            case _:
                assert_never(state.outcome)
        if isinstance(error, LLMError):
            error.run = self.snapshot()
            error.partial = partial_answer if error.partial is None else error.partial
        return error


_PLACE = re.compile(r"(output|tool_calls)\[(\d+)\]")


def repairs_of(response: Response) -> dict[int, list[str]]:
    """Corrections of a decoder to the calls in an answer, by position, from its losses."""
    calls = [i for i, item in enumerate(response.output) if isinstance(item, FunctionCall | CustomToolCall)]
    found: dict[int, list[str]] = {}
    for loss in getattr(getattr(response, "info", None), "losses", ()):
        place = _PLACE.search(loss.path) if loss.kind == "changed" else None
        if place is not None:
            number = int(place[2])
            at = number if place[1] == "output" else calls[number] if number < len(calls) else None
            if at is not None:
                found.setdefault(at, []).append(loss.what)
    return found
