"""The whole of a run as one struct: what was said, every call and where it stands, how often the model was asked.

A `RunState` is plain data. Encode it, stop the process, decode it (`STATE`) and another process takes the run up. It holds
neither tools nor keys, which are given anew. Before changing this file, know that states are kept in files and databases:
a field that is added has a default, and all times are seconds of the run's own clock, which stands still while nobody
drives it.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, field

from ..errors import printable
from ..responses.arguments import parsed
from ..responses.items import (
    AnyItem,
    ComputerCallOutput,
    CustomToolCallOutput,
    FunctionCallOutput,
    LocalShellCallOutput,
)
from ..responses.parts import ContentPart
from ..responses.request import Request
from ..responses.response import Response
from ..unknown import Decoder, Model

CallState = Literal["pending", "executing", "completed", "failed", "timeout", "cancelled"]
Outcome = Literal["completed", "waiting", "max_iterations", "invalid_calls", "timeout", "failed", "cancelled"]
"""How a run stopped. From `waiting` it goes on once somebody has decided; the others but the first are errors."""

Output = str | list[ContentPart]
"""What a tool gave: text, or parts where there are images or files."""


class ToolCall(Model):
    """One call of a tool: what was asked, where it stands, and what came of it.

    `execution_id` names it for good, while a model may use a `call_id` twice. `repairs` is what a decoder put right before
    it could be read, `problems` what is wrong with it all the same, `error` why it gave nothing. `answer` is the item that
    tells the model what came of it.
    """

    execution_id: str
    iteration: int
    item: AnyItem
    call_id: str
    name: str
    arguments: str
    blocking: bool = True
    state: CallState = "pending"
    waiting_for: Literal["approval", "output"] | None = None
    """What somebody has to give before it can go on."""
    approved: bool | None = None
    timeout: float | None = None
    on_resume: Literal["restart", "fail"] = "fail"
    created: float = 0.0
    started: float | None = None
    ended: float | None = None
    runs: int = 0
    """How often it was started: more than once where a run was taken up again."""
    repairs: list[str] = field(default_factory=list[str])
    problems: list[str] = field(default_factory=list[str])
    error: str | None = None
    answer: AnyItem | None = None
    told: Literal["nothing", "pending", "answer", "delivered"] = "nothing"
    """What the conversation holds of it: that it is pending, its answer, or that and later what was delivered."""

    @property
    def parsed_arguments(self) -> dict[str, Any]:
        """`arguments` as a dict, before they are checked against the tool's schema; empty for no text at all.

        Raises `ToolArgumentsError` where they are no JSON object, as the free text of a custom tool is none.
        """
        return parsed(self.name, self.arguments)

    @property
    def over(self) -> bool:
        """Whether it has ended, one way or another."""
        return self.state not in ("pending", "executing")

    @property
    def output(self) -> Output | None:
        """What it gave, in words or parts; `None` as long as it has not ended."""
        match self.answer:
            case FunctionCallOutput() | CustomToolCallOutput() | LocalShellCallOutput():
                return self.answer.output
            case ComputerCallOutput():
                return [self.answer.output]
            case None:
                return None
            case _:
                return self.error or ""

    @property
    def deadline(self) -> float | None:
        """When it has taken too long; `None` while it is not running or where it may take forever."""
        if self.state != "executing" or self.started is None or self.timeout is None:
            return None
        return self.started + self.timeout


class Limits(Model):
    """How far a run may go. `timeout` is seconds for the whole run.

    `use_previous_response_id` leaves the conversation with the vendor (`previous_response_id`) and sends what is new.
    """

    max_iterations: Annotated[int, Meta(ge=1)] = 10
    tool_timeout: Annotated[float, Meta(gt=0)] | None = 30.0
    """For tools that do not say it themselves."""
    timeout: Annotated[float, Meta(gt=0)] | None = None
    max_tool_threads: Annotated[int, Meta(ge=1)] = 32
    """How many blocking calls, and how many others, run in threads at the same time. The rest waits and is started in turn."""
    max_repairs: Annotated[int, Meta(ge=0)] = 3
    """How many answers in a row may hold calls that cannot be run."""
    use_previous_response_id: bool = False


class Totals(Model):
    """What all model calls of a run came to."""

    api_calls: int = 0
    tool_rounds: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    cached_input_tokens: int = 0
    reasoning_tokens: int = 0
    seconds: float = 0.0


class Statistics(Model):
    """How many calls there are, by where they stand and by kind."""

    total: int = 0
    pending: int = 0
    executing: int = 0
    completed: int = 0
    failed: int = 0
    timeout: int = 0
    cancelled: int = 0
    blocking: int = 0
    non_blocking: int = 0


class RunState(Model):
    """A run: the request without its input, the conversation so far, the calls, and what the model is doing."""

    _one_line: ClassVar[bool] = True

    id: str
    request: Request
    items: list[AnyItem]
    limits: Limits = field(default_factory=Limits)
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    iteration: int = 0
    at: float = 0.0
    began: float = 0.0
    """When it was last begun or taken up, which is what `timeout` counts from."""
    running: bool = False
    outcome: Outcome | None = None
    error: str | None = None
    asked: float | None = None
    """Since when an answer is awaited; `None` while none is."""
    delivering: list[str] = field(default_factory=list[str])
    """The calls whose results are in the request that is under way, by `execution_id`."""
    kept: int = 0
    """How many of the items the vendor has seen, for a run that leaves the conversation there."""
    paused: bool = False
    """Whether the vendor paused its own work and goes on when it gets its answer back."""
    invalid: int = 0
    """How many answers in a row held calls that could not be run."""
    response: Response | None = None
    totals: Totals = field(default_factory=Totals)

    def __repr__(self) -> str:
        advice = "see .response .calls" if self.outcome == "completed" else "resume it with run(state=...)"
        return f"<RunState {self.summary()}; {advice}>"

    def summary(self) -> str:
        """One line: the model, how the run stands, what it waits for, and how many calls and tokens it took."""
        facts = [f"stopped: {self.outcome}" if self.outcome in _ERRORS else self.outcome or self._stage()]
        if self.error and self.outcome in _ERRORS:
            facts.append(printable(self.error, 80))
        for need in ("approval", "output"):
            names = [f"{call.name} ({call.call_id})" for call in self.calls if call.waiting_for == need]
            if names:
                facts.append(f"{need} needed for {printable(', '.join(names), 100)}")
        counts = {
            "model call": self.totals.api_calls,
            "tool call": len(self.calls),
            "token": self.totals.total_tokens,
        }
        facts += [f"{count} {name}{'' if count == 1 else 's'}" for name, count in counts.items() if count]
        named = self.request.model or (self.response.model if self.response is not None else None)
        model = f" with {printable(named, 80)}" if named else ""
        return f"{printable(self.id, 80)}{model}: {', '.join(facts)}"

    def _stage(self) -> str:
        return "in progress" if self.running or self.iteration else "not started"

    @property
    def pending_calls(self) -> list[ToolCall]:
        """The calls that wait for somebody's word or output."""
        return [call for call in self.calls if call.waiting_for is not None]

    @property
    def statistics(self) -> Statistics:
        """How many calls there are, by where they stand and by kind."""
        counts = Statistics(total=len(self.calls), blocking=sum(call.blocking for call in self.calls))
        counts.non_blocking = counts.total - counts.blocking
        for call in self.calls:
            setattr(counts, call.state, getattr(counts, call.state) + 1)
        return counts


_ERRORS = ("max_iterations", "invalid_calls", "timeout", "failed", "cancelled")

STATE: Decoder[RunState] = Decoder(RunState)
"""Decodes a saved run. Raises `DecodeError` for anything else."""
