"""Mistakes that somebody could make in the step, one by one. The rules of the ledger must notice each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from llm_rest.loop import RunState
from llm_rest.loop import events as ev
from llm_rest.loop import inputs as s
from llm_rest.loop.calls import delivery
from llm_rest.loop.step import Turn
from llm_rest.responses.items import FunctionCallOutput


class DeliversTwice(Turn):
    def deliver(self) -> Any:
        due = super().deliver()
        self.state.items += [delivery(call) for call in due]
        return due


class DeliversAgainNextTime(Turn):
    def deliver(self) -> Any:
        due = super().deliver()
        for call in due:
            call.told = "pending"
        return due


class DropsAResult(Turn):
    def deliver(self) -> Any:
        for call in self.state.calls:
            if call.told == "pending" and call.over:
                call.told = "delivered"
        return []


class DropsResultsOfOneRequest(Turn):
    def deliver(self) -> Any:
        due = super().deliver()
        if len(due) > 1:
            self.state.items.pop()
        return due


class DeliversBare(Turn):
    def deliver(self) -> Any:
        due = super().deliver()
        if due:
            self.state.items[-1].content = due[-1].output  # type: ignore[union-attr]
        return due


class RunsWhatWasCut(Turn):
    def drop(self, calls: Any, reason: str) -> None:
        self.offer(calls)


class RunsACallThatWasCut(Turn):
    def offer(self, calls: Any) -> None:
        for call in calls:
            if getattr(call.item, "status", None) == "incomplete":
                call.item.status = "completed"
        super().offer(calls)


class RunsWhatIsNotInOrder(Turn):
    def check(self, call: Any) -> Any:
        return {}


class LosesTheEndEvent(Turn):
    def emit(self, kind: Any, execution_id: str, **about: Any) -> None:
        if kind is not ev.CallFailed or about["call"].state != "cancelled":
            super().emit(kind, execution_id, **about)


class LosesTheArrival(Turn):
    def emit(self, kind: Any, execution_id: str, **about: Any) -> None:
        if kind is not ev.ResultArrived:
            super().emit(kind, execution_id, **about)


class LosesTheIteration(Turn):
    def emit(self, kind: Any, execution_id: str, **about: Any) -> None:
        if kind is not ev.IterationStart or self.state.iteration == 1:
            super().emit(kind, execution_id, **about)


class TellsADeliveryTwice(Turn):
    def emit(self, kind: Any, execution_id: str, **about: Any) -> None:
        super().emit(kind, execution_id, **about)
        if kind is ev.NonblockingResult:
            super().emit(kind, execution_id, **about)


class ForgetsTheTimeout(Turn):
    def expire(self, *, passed: bool) -> None:
        return


class ForgetsTheTotal(Turn):
    def happened(self, happening: Any) -> None:
        limits = self.state.limits
        self.state.limits = replace(limits, timeout=None)
        super().happened(happening)
        self.state.limits = limits


class LetsTimedOutToolsRun(Turn):
    def end(self, call: Any, state: Any, error: str | None = None) -> None:
        super().end(call, state, error)
        if state == "timeout":
            self.actions = [action for action in self.actions if not isinstance(action, s.CancelTool)]


class SkipsApproval(Turn):
    def offer(self, calls: Any) -> None:
        for call in calls:
            if call.waiting_for == "approval":
                call.waiting_for = None
        super().offer(calls)


class TakesADenialForApproval(Turn):
    def decide(self, happening: Any) -> None:
        if isinstance(happening, s.Denied):
            happening = s.Approved(at=happening.at, execution_id=happening.execution_id)
        super().decide(happening)


class AnswersInTheWrongOrder(Turn):
    def answer_calls(self) -> None:
        before = len(self.state.items)
        super().answer_calls()
        self.state.items[before:] = self.state.items[before:][::-1]


class AnswersOnlyWhatEnded(Turn):
    def answer_calls(self) -> None:
        for call in self.unanswered:
            if call.answer is None:
                call.told = "pending"
        self.unanswered = [call for call in self.unanswered if call.answer is not None]
        super().answer_calls()


class AnswersTwice(Turn):
    def answer_calls(self) -> None:
        before = len(self.state.items)
        super().answer_calls()
        self.state.items += [item for item in self.state.items[before:] if isinstance(item, FunctionCallOutput)][:1]


class DoesNotWaitForWhatBlocks(Turn):
    def go_on(self) -> None:
        self.blocking.clear()
        super().go_on()


class TakesLateResults(Turn):
    def finished(self, happening: Any) -> None:
        call = self.by_id.get(happening.execution_id)
        if call is not None and call.state == "timeout":
            call.state = "executing"
        super().finished(happening)


class AnswersForTheVendor(Turn):
    def answered(self, response: Any, repairs: Any) -> None:
        super().answered(response, repairs)
        for item in response.output:
            if item.__struct_config__.tag == "shell_call" and item.call_id.startswith("hosted"):
                self.state.items.append(FunctionCallOutput(call_id=item.call_id, output="not ours"))


class StopsTooEarly(Turn):
    def go_on(self) -> None:
        if self.state.asked is None and self.state.iteration and not any(not c.over for c in self.state.calls):
            self.stop("completed")
        else:
            super().go_on()


class LeavesToolsRunning(Turn):
    def stop(self, outcome: Any, error: str | None = None) -> None:
        super().stop(outcome, error)
        self.actions = [action for action in self.actions if not isinstance(action, s.CancelTool)]


class LeavesTheModelRunning(Turn):
    def stop(self, outcome: Any, error: str | None = None) -> None:
        super().stop(outcome, error)
        self.actions = [action for action in self.actions if not isinstance(action, s.CancelAsk)]


class LeavesCallsOpen(Turn):
    def stop(self, outcome: Any, error: str | None = None) -> None:
        super().stop("waiting" if outcome == "cancelled" else outcome, error)


class EndsOnAFailedAnswer(Turn):
    def answer_failed(self, error: str) -> None:
        self.state.asked = None
        self.stop("failed", error)


class ForgetsWhatWasDelivered(Turn):
    def answer_failed(self, error: str) -> None:
        super().answer_failed(error)
        self.state.delivering = []


class EndsWithoutAnEvent(Turn):
    def emit(self, kind: Any, execution_id: str, **about: Any) -> None:
        if kind is not ev.RunEnd:
            super().emit(kind, execution_id, **about)


class AsksTooOften(Turn):
    def ask(self) -> None:
        limits = self.state.limits
        self.state.limits = replace(limits, max_iterations=limits.max_iterations + 1)
        super().ask()
        self.state.limits = limits

    @property
    def unfinished(self) -> bool:
        return False


class AsksTwice(Turn):
    def send(self) -> None:
        super().send()
        super().send()


class RunsAgainWhatIsLost(Turn):
    def begin(self) -> None:
        for call in self.state.calls:
            call.on_resume = "restart"
        super().begin()


class ForgetsWhatRan(Turn):
    def begin(self) -> None:
        for call in self.state.calls:
            if call.state == "executing":
                call.state = "pending"
        super().begin()


class RewritesThePast(Turn):
    def answer_calls(self) -> None:
        super().answer_calls()
        for call in self.state.calls:
            if call.told == "pending" and call.answer is not None:
                for i, item in enumerate(self.state.items):
                    if isinstance(item, FunctionCallOutput) and item.call_id == call.call_id:
                        self.state.items[i] = call.answer


class RunsAfterTheEnd(Turn):
    def stop(self, outcome: Any, error: str | None = None) -> None:
        super().stop(outcome, error)
        self.state.running = True


class RunsTooManyAtATime(Turn):
    def pool(self, call: Any) -> Any:
        return None


MUTANTS: list[type[Turn]] = [
    kind for kind in list(globals().values()) if isinstance(kind, type) and issubclass(kind, Turn) and kind is not Turn
]


def stepping(kind: type[Turn]) -> Callable[[RunState, Any, Any], tuple[RunState, list[Any]]]:
    """The step that makes this mistake."""

    def step(state: RunState, happening: Any, tools: Any) -> tuple[RunState, list[Any]]:
        turn = kind(state, tools)
        return turn.state, turn.take(happening)

    return step
