"""What a run does next: a pure function of its state and one input, which returns the next state and the actions to perform.

`step` starts nothing and reads no clock. A shell (`loop/`) performs the actions and reports their results as inputs, each
with its time. Before changing this file, know the invariants after every step: a request is sent only when every call
in it has its output, each result reaches the model exactly once, and a run that stopped has nothing running and a
conversation that any vendor accepts. `tests/loop/simulation` checks them, with a table of mutations that it must detect.

A `Turn` takes one input after the other and looks only at the calls that each concerns: 1,000 calls in one answer cost
1,000 times one call. What it needs for that (which calls are open, ready, due...) is derived from the state (`schedule.py`).
"""

from __future__ import annotations

from copy import copy, deepcopy
from typing import TYPE_CHECKING, Any, assert_never, cast

from msgspec.structs import replace

from ..responses.items import CustomToolCall, FunctionCall, McpApprovalRequest
from ..responses.tools import AnyTool, ChooseAllowed, McpTool
from ..unknown import Opt, given
from . import events as ev
from . import inputs
from .calls import PENDING, answer, answers, call_request, delivery, feedback
from .schedule import Schedule
from .state import ToolCall, totals_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..responses.items import AnyItem
    from ..responses.request import Request
    from ..responses.response import Response
    from .state import CallState, Outcome, RunState

PAUSED = "pause_turn"
"""Why an answer is incomplete that its vendor continues once it is sent back unchanged."""


def step(state: RunState, input: inputs.AnyInput, tools: inputs.Tools) -> tuple[RunState, list[inputs.Action]]:
    """The state after an input, and the actions to perform now. `state` itself is not changed."""
    turn = Turn(state, tools)
    return turn.state, turn.take(input)


class Turn:
    """A copy of a state that each input changes, with indexes of its calls."""

    def __init__(self, state: RunState, tools: inputs.Tools, *, in_threads: bool = False) -> None:
        self.state = snapshot(state)
        self.tools = tools
        self.settled = 0
        """How many of the first items hold no call without an output."""
        self.actions: list[inputs.Action] = []
        self.calls = Schedule(tools, self.state.limits.max_tool_threads, in_threads=in_threads)
        self.unanswered: list[ToolCall] = []
        """The calls without an output in the conversation."""
        self.due: list[ToolCall] = []
        """The calls that ended after they were reported to the model as pending."""
        self.add(self.state.calls)

    def add(self, calls: Iterable[ToolCall]) -> None:
        """Add calls that are new here to the indexes."""
        for call in calls:
            self.calls.add(call)
            if call.reported == "nothing":
                self.unanswered.append(call)
            elif call.reported == "pending" and call.over:
                self.due.append(call)

    @property
    def deadline(self) -> float | None:
        """The time of the next timeout of the run, on its own clock; `None` without one."""
        found = [] if self.calls.deadline is None else [self.calls.deadline]
        if self.state.limits.timeout is not None:
            found.append(self.state.began + self.state.limits.timeout)
        return min(found, default=None)

    def take(self, input: inputs.AnyInput) -> list[inputs.Action]:
        """Apply an input and return the actions. A run that has stopped accepts only `Started` and decisions."""
        self.actions = []
        self.apply(input)
        return self.actions

    def apply(self, input: inputs.AnyInput) -> None:
        """Change the state by an input, and collect the actions."""
        state = self.state
        state.at = max(state.at, input.at)
        if state.running:
            self.expire(passed=isinstance(input, inputs.Ticked))
        match input:
            case inputs.Started():
                self.begin()
            case inputs.Approved() | inputs.Denied() | inputs.Supplied():
                self.decide(input)
            case inputs.Cancelled():
                if state.outcome in (None, "waiting"):
                    self.stop("cancelled", "the run was cancelled")
            case _ if not state.running:
                return
            case inputs.Answered():
                if state.sent_at is not None:
                    self.answered(input.response, input.repairs)
            case inputs.AnswerFailed():
                if state.sent_at is not None:
                    self.answer_failed(input.error)
            case inputs.Finished() | inputs.Failed():
                self.finished(input)
            case inputs.Ticked():
                if state.limits.timeout is not None and state.at >= state.began + state.limits.timeout:
                    self.stop("timeout", f"the run took longer than {state.limits.timeout:g} seconds")
            case _:
                assert_never(input)
        if state.running:
            self.advance()

    # -- begin and end

    def begin(self) -> None:
        """Start or resume the run: what was in flight is requested or started again, or fails."""
        state = self.state
        outcome, unanswered = state.outcome, state.sent_at is not None or state.outcome == "failed"
        if outcome not in (None, "waiting"):
            state.began, state.invalid = state.at, 0
        state.running, state.outcome, state.error, state.sent_at = True, None, None, None
        for call in state.calls:
            if call.state == "executing":
                if call.on_resume == "restart":
                    self.start(call)
                else:
                    self.end(call, "failed", "lost: the process that ran it ended before it did")
            elif call.waiting_for == "output" and (facts := self.tools.facts(call.name)) is not None and facts.runs:
                self.calls.set_waiting(call, "approval" if facts.needs_approval and not call.approved else None)
            if call.waiting_for == "approval":
                self.actions.append(inputs.AskApproval(call))
        if not state.iteration and not state.calls:
            # The conversation that was given may end with calls that have no output yet.
            state.calls = self.calls_in(state.items[self.settled :], {})
            self.add(state.calls)
            self.offer(state.calls)
        if unanswered:
            self.send()
        elif outcome not in (None, "waiting", "completed"):
            self.ask()

    def stop(self, outcome: Outcome, error: str | None = None) -> None:
        """End the run: nothing keeps running, and every call in the conversation gets its output."""
        state = self.state
        if outcome != "waiting":
            for call in [*self.calls.open.values()]:
                self.end(call, "cancelled", f"cancelled: {error}")
            self.answer_calls()
            self.deliver()
        if state.sent_at is not None:
            state.sent_at = None
            self.actions.append(inputs.CancelAsk())
        state.running, state.outcome, state.error, state.delivering = False, outcome, error, []
        self.emit(ev.RunEnd, state.id, outcome=outcome, error=error)
        self.actions.append(inputs.Stop(outcome))

    def expire(self, *, passed: bool) -> None:
        """End the calls that timed out. An input that arrives at the deadline still counts, unless it is `Ticked` (`passed`)."""
        while (call := self.calls.expired(self.state.at, passed=passed)) is not None:
            self.end(call, "timeout", f"timed out after {call.timeout:g} seconds")

    # -- the model

    def advance(self) -> None:
        """Call the model if there is something to send and nothing to wait for; stop if there is neither."""
        state = self.state
        # A call whose result can no longer be sent is not started.
        ends = state.sent_at is None and self.needs_model and state.iteration >= state.limits.max_iterations
        while not ends and (call := self.calls.next_ready()) is not None:
            if call.state == "pending" and call.waiting_for is None:
                self.start(call)
        if state.sent_at is not None:
            return
        if self.calls.blocking:
            if not self.calls.active:
                self.stop("waiting")
        elif self.needs_model:
            self.ask()
        elif not self.calls.open:
            self.stop("completed")
        elif not self.calls.active:
            self.stop("waiting")

    @property
    def needs_model(self) -> bool:
        """Whether there is something to send to the model, and no call that it waits for."""
        state = self.state
        return not self.calls.blocking and bool(not state.iteration or state.paused or self.unanswered or self.due)

    def ask(self) -> None:
        """Call the model with all there is to send, if the iteration limit allows another call."""
        state = self.state
        if state.iteration >= state.limits.max_iterations:
            self.stop("max_iterations", f"the model was asked {state.iteration} times")
            return
        if self.unanswered:
            state.totals = replace(state.totals, tool_rounds=state.totals.tool_rounds + 1)
        self.answer_calls()
        # A vendor that paused takes its own answer back and nothing after it.
        late = [] if state.paused else self.deliver()
        state.delivering += [call.execution_id for call in late]
        state.iteration += 1
        state.paused = False
        self.emit(ev.IterationStart, self.model_call)
        for call in late:
            self.emit(ev.NonblockingResult, call.execution_id, call=call)
        self.send()

    def send(self) -> None:
        """Send the current conversation."""
        state = self.state
        state.sent_at = state.at
        request, items = state.request, state.items
        if (state.limits.use_previous_response_id or given(request.conversation)) and state.response is not None:
            items = items[state.kept :]
            if not given(request.conversation):
                request = replace(request, previous_response_id=state.response.id)
        self.actions.append(inputs.Ask(replace(request, input=[*items] if items else None)))

    def answered(self, response: Response, repairs: dict[int, list[str]]) -> None:
        """Add the answer of the model, and start the calls that it makes."""
        state = self.state
        delivered = self.delivered
        state.totals += totals_of(response, state.at - (state.sent_at or 0.0))
        before = state.response
        resumed = before is not None and _reason(before) == PAUSED
        state.sent_at, state.delivering = None, []
        state.items += deepcopy(response.output)  # the caller may change those of the reply
        state.kept = len(state.items)
        calls = self.calls_in(response.output, repairs)
        reason = "" if response.status == "completed" else _reason(response)
        state.paused = reason == PAUSED and not calls and not state.limits.use_previous_response_id
        # What a vendor said before and after its pause is one answer.
        output = [*before.output, *response.output] if before and resumed else response.output
        state.response = replace(response, output=output, tools=_without_secrets(response.tools))
        self.emit(ev.LLMResponse, self.model_call, response=response)
        if delivered:
            self.emit(ev.NonblockingResponse, self.model_call, response=response, calls=delivered)
        state.calls += calls
        self.add(calls)
        if calls and reason not in ("", PAUSED):
            self.drop(calls, reason)
        elif calls:
            state.request = replace(state.request, tool_choice=_next_choice(state.request))
            self.offer(calls)
        if state.running and state.iteration >= state.limits.max_iterations and self.unfinished:
            self.stop("max_iterations", f"the model was asked {state.iteration} times")

    def answer_failed(self, error: str) -> None:
        """The run ends, unless the request held late results and more is to come: the next request holds them again."""
        state, delivered = self.state, self.delivered
        state.sent_at = None
        if delivered:
            self.emit(ev.NonblockingError, self.model_call, calls=delivered, error=error)
        if not delivered or not (self.calls.active or self.unanswered or self.due):
            self.stop("failed", error)

    @property
    def delivered(self) -> list[ToolCall]:
        """The calls whose late results are in the request in flight, as they are now."""
        return [copy(self.calls.by_id[name]) for name in self.state.delivering if name in self.calls.by_id]

    @property
    def unfinished(self) -> bool:
        """Whether the model would have to be called again."""
        return bool(self.state.paused or self.unanswered or self.due or self.calls.open)

    # -- calls

    def calls_in(self, items: list[AnyItem], repairs: dict[int, list[str]]) -> list[ToolCall]:
        """The calls among these items that the caller has to run; hosted tools have their output in the items already."""
        state = self.state
        settled = answers(items)
        found: list[ToolCall] = []
        for i, item in enumerate(items):
            requested = call_request(item)
            if requested is None or requested.call_id in settled:
                continue
            facts = self.tools.facts(requested.name)
            limit = None if facts is None else facts.timeout
            call = ToolCall(
                execution_id=f"{self.model_call}.{len(found) + 1}",
                iteration=state.iteration,
                item=item,
                call_id=requested.call_id,
                name=requested.name,
                arguments=requested.arguments,
                blocking=facts is None or facts.blocking,
                timeout=state.limits.tool_timeout if limit is None else None if limit == "none" else limit,
                on_resume="fail" if facts is None else facts.on_resume,
                created=state.at,
                repairs=repairs.get(i, []),
            )
            if isinstance(item, McpApprovalRequest) or (facts is not None and facts.needs_approval):
                call.waiting_for = "approval"
            elif not facts.runs if facts is not None else not isinstance(item, FunctionCall | CustomToolCall):
                call.waiting_for = "output"
            found.append(call)
        return found

    def drop(self, calls: list[ToolCall], reason: str) -> None:
        """Run none of the calls of an answer that was truncated: the missing part could have changed them."""
        for call in calls:
            self.end(call, "cancelled", f"not run: the answer was cut ({reason})")
        # Nothing is left to send to the model about it, so this does not continue by itself.
        self.answer_calls()

    def offer(self, calls: list[ToolCall]) -> None:
        """Check the calls of an answer; valid ones wait for a decision or are started next."""
        state = self.state
        for call in calls:
            if getattr(call.item, "status", None) == "incomplete":
                self.end(call, "cancelled", "not run: the call was cut before it was complete")
            elif self.tools.facts(call.name) is not None or call.waiting_for is None:
                self.check(call)
        wrong = [call for call in calls if call.problems]
        state.invalid = state.invalid + 1 if wrong else 0
        if state.invalid > state.limits.max_repairs:
            self.stop("invalid_calls", f"{wrong[0].name}: {wrong[0].problems[0]}")
        elif state.iteration < state.limits.max_iterations:
            self.actions += [inputs.AskApproval(call) for call in calls if call.waiting_for == "approval"]

    def check(self, call: ToolCall) -> Any:
        """The call's arguments made ready for its tool; a call that cannot be run ends here, with what is wrong listed."""
        prepared = self.tools.prepare(call.name, call.arguments)
        if isinstance(prepared, list):
            call.problems = cast("list[str]", prepared)
            self.end(call, "failed", feedback(call.problems))
        return cast("Any", prepared)

    def start(self, call: ToolCall) -> None:
        """Start the call, unless what it calls is no longer there."""
        prepared = self.check(call)
        if call.over:
            return
        call.state, call.started, call.runs = "executing", self.state.at, call.runs + 1
        self.calls.started(call)
        self.emit(ev.CallExecuting, call.execution_id, call=call)
        self.actions.append(inputs.StartTool(call, prepared))

    def finished(self, input: inputs.Finished | inputs.Failed) -> None:
        """Take the result of a call that is still waited for; what comes too late is dropped."""
        call = self.calls.by_id.get(input.execution_id)
        if call is None or call.state != "executing":
            return
        if isinstance(input, inputs.Finished):
            call.answer = answer(call.item, input.output)
            self.end(call, "completed")
        else:
            self.end(call, "failed", input.error)

    def decide(self, input: inputs.Approved | inputs.Denied | inputs.Supplied) -> None:
        """Record a decision or an output for a call, also while the run is not driven."""
        call = self.calls.by_id.get(input.execution_id)
        if call is None or call.over or call.waiting_for is None:
            return
        match input:
            case inputs.Supplied():
                output = input.output
                call.answer = answer(call.item, output) if isinstance(output, str | list) else output
                self.end(call, "completed")
            case inputs.Denied():
                call.approved = False
                self.end(call, "cancelled", input.reason or "denied: this call is not allowed")
            case inputs.Approved() if call.waiting_for == "approval":
                call.approved = True
                facts = self.tools.facts(call.name)
                self.calls.set_waiting(call, None if facts is None or facts.runs else "output")
                if isinstance(call.item, McpApprovalRequest):
                    call.answer = answer(call.item, "")
                    self.end(call, "completed")
            case _:
                pass

    def end(self, call: ToolCall, state: CallState, error: str | None = None) -> None:
        """End the call with its answer, or with an error that becomes its answer."""
        if call.state == "executing" and state in ("timeout", "cancelled"):
            self.actions.append(inputs.CancelTool(call.execution_id))
        call.state, call.ended, call.error, call.waiting_for = state, self.state.at, error, None
        self.calls.ended(call)
        if error is not None:
            call.answer = answer(call.item, error, failed=True)
        self.emit(ev.CallCompleted if error is None else ev.CallFailed, call.execution_id, call=call)
        if call.reported == "pending":
            self.due.append(call)
            self.emit(ev.ResultArrived, call.execution_id, call=call)

    # -- what the model gets

    def answer_calls(self) -> None:
        """Give every call its output, in the order of the calls: its result, or that it is pending."""
        for call in self.unanswered:
            call.reported = "pending" if call.answer is None else "answer"
            self.state.items.append(answer(call.item, PENDING) if call.answer is None else call.answer)
        self.unanswered.clear()

    def deliver(self) -> list[ToolCall]:
        """Add the results of the calls that were reported as pending, in the order in which they ended."""
        due = sorted(self.due, key=lambda call: (call.ended, call.iteration, len(call.execution_id), call.execution_id))
        self.due.clear()
        for call in due:
            call.reported = "delivered"
            self.state.items.append(delivery(call))
        return due

    @property
    def model_call(self) -> str:
        """The id of the current model call."""
        return f"{self.state.id}:{self.state.iteration}"

    def emit(self, kind: Any, execution_id: str, **about: Any) -> None:
        """Notify the event hooks, with a copy of the call as it is now."""
        if "call" in about:
            about["call"] = copy(about["call"])
        event = kind(execution_id=execution_id, iteration=self.state.iteration, at=self.state.at, **about)
        self.actions.append(inputs.Emit(event))


def snapshot(state: RunState) -> RunState:
    """The state with lists and calls of its own, which later inputs do not change."""
    return replace(
        state, items=[*state.items], calls=[copy(call) for call in state.calls], delivering=[*state.delivering]
    )


def _reason(response: Response) -> str:
    """Why the answer is not complete."""
    details = response.incomplete_details
    return details.reason if given(details) and given(details.reason) else response.status


def _without_secrets(tools: Opt[list[AnyTool]]) -> Opt[list[AnyTool]]:
    """The tools as an answer repeats them, without the keys of MCP servers: they are kept with the run."""
    if not given(tools):
        return tools
    return [replace(one, authorization=None, headers=None) if isinstance(one, McpTool) else one for one in tools]


def _next_choice(request: Request) -> Any:
    """The tool choice after the model has called a tool: a forced call would repeat without end."""
    choice = request.tool_choice
    if isinstance(choice, ChooseAllowed):
        return replace(choice, mode="auto") if choice.mode == "required" else choice
    return choice if choice in ("auto", "none") else None
