"""A world of chance around the step: a model that answers anything, tools that take any time, people who decide or do not."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec

from llm_rest.loop import STATE, Limits, RunState, Turn, step
from llm_rest.loop import inputs as s
from llm_rest.responses.items import (
    AnyItem,
    CustomToolCall,
    FunctionCall,
    FunctionCallOutput,
    McpApprovalRequest,
    McpCall,
    Message,
    ShellCall,
    ShellCallOutput,
)
from llm_rest.responses.parts import OutputText
from llm_rest.responses.request import Request
from llm_rest.responses.response import IncompleteDetails, Response, Usage
from llm_rest.tools import ToolFacts
from tests.loop.simulation.ledger import Ledger, rule

FACTS = {
    fact.name: fact
    for fact in (
        ToolFacts(name="read", runs=True, on_resume="restart"),
        ToolFacts(name="slow", runs=True, timeout=5.0),
        ToolFacts(name="note", runs=True, timeout="none"),
        ToolFacts(name="watch", runs=True, blocking=False),
        ToolFacts(name="poll", runs=True, blocking=False, timeout=3.0, on_resume="restart"),
        ToolFacts(name="delete", runs=True, needs_approval=True),
        ToolFacts(name="later", runs=True, blocking=False, needs_approval=True),
        ToolFacts(name="theirs"),
        ToolFacts(name="shell"),
    )
}


class Box:
    """Tools without functions: nothing here runs, the world chooses when something ends and how."""

    def facts(self, name: str) -> ToolFacts | None:
        return FACTS.get(name)

    def prepare(self, name: str, arguments: str) -> Any:
        if name not in FACTS:
            return [f"there is no tool called {name!r}"]
        return {} if arguments.endswith("}") else ["the arguments are not valid JSON", "and not an object"]


BOX = Box()
Step = Callable[[RunState, Any, Any], tuple[RunState, list[Any]]]


def answer(rng: Random, number: int, *, eager: float, everywhere: bool = False) -> Response:
    """Whatever a model may answer: text, calls in order or not, half an answer, a pause, things the vendor did itself.

    With `everywhere` it is made of what every wire knows.
    """
    output: list[AnyItem] = []
    status, why = "completed", None
    kind = rng.random()
    if kind < 0.03 and not everywhere:
        status, why = "incomplete", "pause_turn"
    elif kind < 0.1:
        status, why = "incomplete", rng.choice(("max_output_tokens", "content_filter", "a reason nobody knows"))
    if rng.random() < 0.4 or status == "incomplete":
        said = OutputText(text=f"text {number}", annotations=[])
        output.append(Message(role="assistant", status="completed", content=[said]))
    if why != "pause_turn" and rng.random() < eager:
        many = range(rng.choice((1, 1, 2, 3)))
        output += [_call(rng, f"call_{number}_{i}", cut=why is not None, everywhere=everywhere) for i in many]
    if rng.random() < 0.05 and not everywhere:
        output.append(McpCall(id=f"mcp_{number}", server_label="docs", name="find", arguments="{", error="broken"))
    if rng.random() < 0.03 and not everywhere:
        output.append(ShellCall(call_id=f"hosted_{number}", action={"commands": ["ls"]}))
        output.append(ShellCallOutput(call_id=f"hosted_{number}", output=[]))
    return Response(
        id=f"resp_{number}",
        status=status,
        output=output,
        incomplete_details=IncompleteDetails(reason=why) if why else None,
        usage=Usage(input_tokens=7, output_tokens=3),
    )


def _call(rng: Random, call_id: str, *, cut: bool, everywhere: bool) -> AnyItem:
    chance = rng.random()
    name = rng.choice(("read", "read", "slow", "note", "watch", "watch", "poll", "delete", "later", "theirs"))
    if cut:
        return FunctionCall(call_id=f"{call_id}_cut", name=name, arguments=rng.choice(('{"city": "Os', "{}")))
    if chance < 0.03:
        return FunctionCall(call_id=f"{call_id}_bad", name="missing", arguments="{}")
    if chance < 0.07:
        return FunctionCall(call_id=f"{call_id}_bad", name=name, arguments="{")
    if chance < 0.09:
        return FunctionCall(call_id=f"{call_id}_cut", name=name, arguments="{}", status="incomplete")
    if chance < 0.12 and not everywhere:
        return ShellCall(call_id=f"{call_id}_shell", action={"commands": ["ls"]})
    if chance < 0.15 and not everywhere:
        return McpApprovalRequest(id=f"{call_id}_mcp", server_label="docs", name="find", arguments="{}")
    if chance < 0.2:
        return CustomToolCall(call_id=call_id, name=name, input="{free text}")
    return FunctionCall(call_id=call_id, name=name, arguments="{}")


class World:
    """One schedule: everything that may happen, chosen by chance from one seed, until the run has come to rest."""

    def __init__(self, seed: int, step: Step = step, *, everywhere: bool = False) -> None:
        self.rng = rng = Random(seed)
        self.step = step
        self.left = 60
        self.everywhere = everywhere
        self.eager = rng.choice((0.4, 0.7, 0.9))
        limits = Limits(
            max_iterations=rng.choice((1, 3, 6, 12)),
            tool_timeout=rng.choice((4.0, 30.0, None)),
            timeout=rng.choice((None, 8.0, 20.0)),
            max_repairs=rng.choice((0, 1, 3)),
            max_tool_threads=rng.choice((1, 1, 2, 32)),
            use_previous_response_id=rng.random() < 0.1 and not everywhere,
        )
        said: list[AnyItem] = [Message(role="user", content="go")]
        if rng.random() < 0.1:  # another tool had begun
            said += [_call(rng, f"call_0_{i}", cut=False, everywhere=everywhere) for i in range(rng.choice((1, 2)))]
        self.state = RunState(id="run", request=Request(tool_choice="required"), items=said, limits=limits)
        self.ledger = Ledger()
        self.requests: list[Request] = []
        self.now = 0.0
        self.answers = 0

    def run(self) -> World:
        """Let it happen, to the end."""
        self.tell(s.Started(at=0.0))
        while self.left > 0:
            self.left -= 1
            if not self.state.running:
                if not self.taken_up():
                    return self
                continue
            self.pass_time()
            if self.state.running:
                self.tell(self.choose())
            if self.rng.random() < 0.02:
                self.restart()
        self.tell(s.Cancelled(at=self.now))
        rule(not self.ledger.running and not self.ledger.asking, "a cancelled run leaves nothing running")
        return self

    def tell(self, input: Any) -> None:
        before = self.state
        self.state, actions = self.step(before, input, BOX)
        self.requests += [action.request for action in actions if isinstance(action, s.Ask)]
        self.ledger.saw(before, input, self.state, actions)

    def pass_time(self) -> None:
        """Some time goes by, but no deadline unnoticed."""
        later = self.now + self.rng.choice((0.0, 0.0, 0.5, 1.0, 5.0))
        limit = Turn(self.state, BOX).deadline
        if limit is not None and limit <= later:
            self.now = max(limit, self.now)
            if self.rng.random() < 0.7 or limit < self.now:
                self.tell(s.Ticked(at=self.now))
        else:
            self.now = later

    def choose(self) -> Any:
        """What happens next."""
        rng, at = self.rng, self.now
        jobs = sorted(self.ledger.running) + ["model"] * self.ledger.asking
        waiting = self.state.pending_calls
        chance = rng.random()
        if chance < 0.01:
            return s.Cancelled(at=at)
        if chance < 0.03 and self.state.calls:
            # A report that is no longer expected, or never was.
            over = [call.execution_id for call in self.state.calls if call.over]
            return s.Finished(at=at, execution_id=rng.choice([*over, "run:9.9"]), output="too late")
        if waiting and (chance < 0.3 or not jobs):
            return self.decision(rng.choice(waiting))
        if not jobs:
            return s.Ticked(at=at)
        job = rng.choice(jobs)
        if job == "model":
            self.answers += 1
            if rng.random() < (0.15 if self.state.delivering else 0.02):
                return s.AnswerFailed(at=at, error="overloaded")
            return s.Answered(
                at=at,
                response=answer(rng, self.answers, eager=self.eager, everywhere=self.everywhere),
                repairs={0: ["it had no id"]},
            )
        if rng.random() < 0.15:
            return s.Failed(at=at, execution_id=job, error="ValueError: no")
        return s.Finished(at=at, execution_id=job, output=f"result of {job}.")

    def decision(self, call: Any) -> Any:
        """Somebody's word about a call."""
        rng, name, at = self.rng, call.execution_id, self.now
        if call.waiting_for == "output":
            item = FunctionCallOutput(call_id=call.call_id, output="by hand")
            typed = isinstance(call.item, FunctionCall) and rng.random() < 0.5
            return s.Supplied(at=at, execution_id=name, output=item if typed else "by hand")
        return s.Approved(at=at, execution_id=name) if rng.random() < 0.6 else s.Denied(at=at, execution_id=name)

    def restart(self) -> None:
        """The process ends; another one takes the run up from what was saved."""
        saved = msgspec.json.encode(self.state)
        loaded = STATE.decode(saved)
        rule(msgspec.json.encode(loaded) == saved, "a saved run is loaded as it was")
        rule(loaded.calls == self.state.calls, "a saved run is loaded as it was")
        loaded.running = False
        self.state = loaded
        self.ledger.restarted()
        self.now = loaded.at
        self.tell(s.Started(at=self.now))

    def taken_up(self) -> bool:
        """A run that stopped is left, decided about, or resumed; whether it continues."""
        rng = self.rng
        if self.state.outcome == "waiting":
            if rng.random() < 0.1:
                return False
            for call in self.state.pending_calls:
                if rng.random() < 0.7:
                    self.tell(self.decision(call))
            if rng.random() < 0.1:
                self.tell(s.Cancelled(at=self.now))
                return True
        elif rng.random() < 0.6:
            self.tell(s.Finished(at=self.now, execution_id="run:1.1", output="too late"))
            return False
        elif self.state.outcome == "max_iterations":
            self.state.limits.max_iterations += 3
        self.restart() if rng.random() < 0.3 else self.tell(s.Started(at=self.now))
        return True
