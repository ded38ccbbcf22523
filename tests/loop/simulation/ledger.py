"""What must hold in every run, whatever happens to it and in whatever order: checked from the outside, after every step.

A ledger sees what a shell sees (inputs, states, actions) and keeps its own books. It raises `Broken`, naming the rule.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from llm_rest.loop import PENDING, RunState
from llm_rest.loop import events as ev
from llm_rest.loop import inputs as s
from llm_rest.responses.items import (
    AnyItem,
    ApplyPatchCall,
    ApplyPatchCallOutput,
    CustomToolCall,
    CustomToolCallOutput,
    FunctionCall,
    FunctionCallOutput,
    McpApprovalRequest,
    McpApprovalResponse,
    Message,
    ShellCall,
    ShellCallOutput,
)
from llm_rest.responses.parts import InputText

LEGAL = {
    "pending": {"pending", "executing", "completed", "failed", "cancelled"},
    "executing": {"executing", "completed", "failed", "timeout", "cancelled"},
}
"""The states that may follow each state of a call; a call that has ended keeps its state. `completed` without running: a
submitted output."""


class Broken(AssertionError):
    """A rule does not hold."""


def rule(holds: bool, name: str) -> None:
    if not holds:
        raise Broken(name)


def call_ids(items: list[AnyItem]) -> tuple[list[str], list[str]]:
    """The ids of the calls among items, and of the calls that are answered, in order."""
    calls: list[str] = []
    outputs: list[str] = []
    for item in items:
        match item:
            case FunctionCall() | CustomToolCall() | ShellCall() | ApplyPatchCall():
                calls.append(item.call_id)
            case McpApprovalRequest():
                calls.append(str(item.id))
            case FunctionCallOutput() | CustomToolCallOutput() | ShellCallOutput() | ApplyPatchCallOutput():
                rule(item.call_id in calls, "an output comes after its call")
                outputs.append(str(item.call_id))
            case McpApprovalResponse():
                rule(item.approval_request_id in calls, "an output comes after its call")
                outputs.append(item.approval_request_id)
            case _:
                pass
    return calls, outputs


def delivered(items: list[AnyItem]) -> list[str]:
    """The texts of the messages that deliver results."""
    found = []
    for item in items:
        if isinstance(item, Message) and isinstance(item.content, list):
            for part in item.content:
                if isinstance(part, InputText) and part.text.startswith('{"type":"tool_result"'):
                    found.append(part.text)
    return found


class Ledger:
    """The books of one run."""

    def __init__(self) -> None:
        self.running: set[str] = set()
        self.asking = False
        self.last: list[AnyItem] = []
        self.events: Counter[tuple[str, str]] = Counter()
        self.answered = 0
        self.starts: Counter[str] = Counter()
        self.allowed: set[str] = set()
        self.due: set[str] = set()  # what ended after the model got it as pending
        self.unanswered: set[str] = set()  # what was delivered in a request that has no answer yet
        self.stops = 0
        self.failed_late = False
        self.in_threads = True  # whether every tool holds a thread

    def restarted(self) -> None:
        """The process that drove the run is gone, and what it ran with it."""
        self.running.clear()
        self.asking = False

    def saw(self, before: RunState, input: Any, after: RunState, actions: list[Any]) -> None:
        """One step was made."""
        self.failed_late = False
        self._happened(before, input)
        self._moved(before, after)
        for action in actions:
            self._do(action, after)
        self._stands(after, input)
        more = any(not call.over and call.waiting_for is None for call in before.calls)
        if self.failed_late and more:
            rule(after.outcome != "failed", "a failed answer to a late result does not end a run that waits for others")

    def _happened(self, before: RunState, input: Any) -> None:
        match input:
            case s.Answered() | s.AnswerFailed():
                self.failed_late = isinstance(input, s.AnswerFailed) and self.asking and bool(self.unanswered)
                self.asking = False
                self.answered += isinstance(input, s.Answered) and before.running
            case s.Finished() | s.Failed():
                self.running.discard(input.execution_id)
            case s.Approved():
                self.allowed.add(input.execution_id)
            case _:
                pass

    def _moved(self, before: RunState, after: RunState) -> None:
        rule(len(after.calls) >= len(before.calls), "no call is forgotten")
        for old, new in zip(before.calls, after.calls, strict=False):
            rule(new.state in LEGAL.get(old.state, {old.state}), f"{old.state} -> {new.state} is legal")
            if old.reported == "pending" and new.over and not old.over:
                self.due.add(new.execution_id)
        rule(len(after.items) >= len(before.items), "nothing is taken out of the conversation")

    def _do(self, action: Any, after: RunState) -> None:
        match action:
            case s.Ask():
                self._ask(action.request.input or [], after)
            case s.CancelAsk():
                self.asking = False
            case s.StartTool():
                self._start(action.call, after)
            case s.CancelTool():
                self.running.discard(action.execution_id)
            case s.Emit():
                self._event(action.event)
            case s.Stop():
                self._stop(after, action.outcome)
            case _:
                pass

    def _ask(self, items: Any, after: RunState) -> None:
        rule(not self.asking, "one model call at a time")
        self.asking = True
        rule(after.iteration <= after.limits.max_iterations, "the model is not asked too often")
        if not (after.limits.use_previous_response_id and after.response is not None):
            rule(items[: len(self.last)] == self.last, "what was sent before stays as it was")
            self.last = items
            calls, outputs = call_ids(items)
            rule(sorted(calls) == sorted(outputs), "no request is sent with an unanswered call")
        else:
            rule(items == after.items[after.kept :], "a chained request sends what is new")
        waits = [call for call in after.calls if call.blocking and not call.over]
        rule(not waits, "the model is not asked while something blocks")

    def _start(self, call: Any, after: RunState) -> None:
        name = call.execution_id
        rule(name not in self.running, "a call runs once at a time")
        rule("cut" not in call.call_id, "a call that was cut never runs")
        rule("bad" not in call.call_id, "a call that cannot be run is not run")
        rule(call.name not in ("delete", "later") or name in self.allowed, "what needs approval waits for it")
        rule(call.waiting_for is None, "what waits is not started")
        rule(not self.starts[name] or call.name in ("read", "poll"), "only what may run twice is run again")
        rule(after.running, "nothing is started in a run that stopped")
        blocking = {one.execution_id: one.blocking for one in after.calls}
        running = [one for one in self.running if blocking[one] == call.blocking]
        free = not self.in_threads or len(running) < after.limits.max_tool_threads
        rule(free, "no more calls run at a time than there may be threads")
        self.starts[name] += 1
        self.running.add(name)

    def _event(self, event: Any) -> None:
        kind = type(event).__struct_config__.tag
        self.events[kind, event.execution_id] += 1
        match event:
            case ev.NonblockingResult():
                rule(event.execution_id in self.due, "what is delivered was due, once")
                self.due.remove(event.execution_id)
                self.unanswered.add(event.execution_id)
            case ev.NonblockingError():
                names = {call.execution_id for call in event.calls}
                rule(
                    bool(names) and names == self.unanswered,
                    "a failed answer names the results it should have answered",
                )
            case ev.NonblockingResponse():
                names = {call.execution_id for call in event.calls}
                rule(names == self.unanswered, "an answer names the results it answers")
                self.unanswered.clear()
            case ev.RunEnd():
                self.stops += 1
            case ev.CallCompleted():
                rule(event.call.state == "completed", "completed means completed")
            case ev.CallFailed():
                rule(event.call.state in ("failed", "timeout", "cancelled"), "failed means failed")
            case _:
                pass

    def _stop(self, after: RunState, outcome: str) -> None:
        rule(not self.running, f"nothing is left running ({outcome})")
        rule(not self.asking, f"no model call is left ({outcome})")
        rule(not after.running and after.outcome == outcome, "a run that stopped knows why")
        rule(self.stops == 1, "the end of a run is one event")
        self.stops = 0
        if outcome == "waiting":
            rule(bool(after.pending_calls), "a run that waits waits for something")
            return
        rule(all(call.over for call in after.calls), "a run that stopped has no open call")
        rule(outcome != "completed" or not self.due, "a run does not end before its results are delivered")
        self.unanswered.clear()
        self.due.clear()  # what no answer can follow any more is added to the conversation without being sent
        self._reported(after)

    def _reported(self, after: RunState) -> None:
        """Every call has one output, and one delivery if that output was "pending"."""
        calls, outputs = call_ids(after.items)
        rule(sorted(calls) == sorted(outputs), "every call has one output")
        rule(len(set(outputs)) == len(outputs), "no call has two outputs")
        pending = [
            str(item.call_id)
            for item in after.items
            if isinstance(item, FunctionCallOutput | CustomToolCallOutput) and item.output == PENDING
        ]
        came = delivered(after.items)
        rule(len(came) == len(pending), "every pending output has one delivery")
        texts = "\n".join(came)
        rule(all(texts.count(f'"call_id":"{name}"') == 1 for name in pending), "a delivery names its call, once")
        rule(all(text.startswith('{"type":"tool_result","call_id":') for text in came), "a delivery is wrapped")
        of_answer: dict[int, list[str]] = {}
        for call in after.calls:
            of_answer.setdefault(call.iteration, []).append(call.call_id)
        places = {name: i for i, name in enumerate(outputs)}
        for names in of_answer.values():
            order = [places[name] for name in names]
            rule(order == sorted(order), "outputs stand in the order of the calls")
        for call in after.calls:
            if call.state == "completed" and call.runs:
                token = f"result of {call.execution_id}."
                told = [str(i) for i in after.items if token in str(i)]
                rule(len(told) == 1, "what a call gave is in the conversation exactly once")
        self._all_events(after)

    def _all_events(self, after: RunState) -> None:
        counted = self.events
        for call in after.calls:
            name = call.execution_id
            rule(counted["tool:executing", name] == self.starts[name], "every start has its event")
            ends = counted["tool:completed", name] + counted["tool:failed", name]
            rule(ends == 1, "the end of a call has one event")
            late = call.reported == "delivered"
            rule(counted["result:arrived", name] == late, "a late result has one event")
        total = Counter(kind for (kind, _), n in counted.items() for _ in range(n))
        rule(total["iteration:start"] == after.iteration, "every iteration has its event")
        rule(total["llm:response"] == self.answered, "every answer has its event")

    def _stands(self, after: RunState, input: Any) -> None:
        rule(
            {c.execution_id for c in after.calls if c.state == "executing"} == self.running, "what runs is known to run"
        )
        for call in after.calls:
            limit = call.deadline
            late = limit is not None and (limit < after.at or (isinstance(input, s.Ticked) and limit <= after.at))
            rule(not late or not after.running, "no call runs longer than it may")
        if not after.running:
            return
        total = after.limits.timeout
        if total is not None and isinstance(input, s.Ticked):
            rule(after.at < after.began + total, "no run takes longer than it may")
        if self.asking:
            return
        blocked = any(call.blocking and not call.over for call in after.calls)
        rule(
            blocked or not self.due, "a late result is delivered at once when nothing keeps the model from being called"
        )
        rule(bool(self.running), "a run that goes on has something to wait for")
