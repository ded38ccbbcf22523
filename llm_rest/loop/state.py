"""The state of a run as one struct: the conversation, every tool call and its state, and how many model calls were made.

A `RunState` is plain data. Encode it, stop the process, decode it (`STATE`) and another process resumes the run. It holds
neither tools nor keys, which are given again. Before changing this file, know that states are kept in files and databases:
a field that is added has a default, and all times are seconds of the run's own clock, which stands still while the run is
not driven.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, field

from ..errors import printable
from ..responses.items import (
    AnyItem,
    ComputerCallOutput,
    CustomToolCallOutput,
    FunctionCallOutput,
    LocalShellCallOutput,
)
from ..responses.parts import ContentPart, parsed
from ..responses.request import Request
from ..responses.response import Response
from ..unknown import Decoder, Model

CallState = Literal["pending", "executing", "completed", "failed", "timeout", "cancelled"]
"""The state of a tool call; the last four are ends."""
Outcome = Literal["completed", "waiting", "max_iterations", "invalid_calls", "timeout", "failed", "cancelled"]
"""How a run stopped. `waiting` is for approval or output of calls, after which it continues; the others but `completed` are
errors."""

Output = str | list[ContentPart]
"""The output of a tool: text, or parts where there are images or files."""


class ToolCall(Model, kw_only=True):
    """One tool call of a run: its arguments, its state, and its output or error."""

    execution_id: str
    """The id of the call within the run, which is unique; a model may use a `call_id` twice."""
    iteration: int
    """The number of the model call that made it, from 1."""
    item: AnyItem
    """The item of the answer that is the call, such as a `FunctionCall`."""
    call_id: str
    """The id that the model or its vendor gave the call."""
    name: str
    """The name of the tool."""
    arguments: str
    """The arguments as JSON text; of a custom tool its input, which may be any text."""
    blocking: bool = True
    """Whether the model waits for the result. `False`: it gets "pending" as the output, and the result later."""
    state: CallState = "pending"
    """`pending` (not started), `executing`, or how it ended: `completed`, `failed`, `timeout`, `cancelled`."""
    waiting_for: Literal["approval", "output"] | None = None
    """What the call needs before it continues: `run.approve`/`deny`, or its output; `None` for neither."""
    approved: bool | None = None
    """The decision where approval is needed: `True`, `False`, or `None` before it."""
    timeout: float | None = None
    """The most seconds the tool may run; `None` is no limit."""
    on_resume: Literal["restart", "fail"] = "fail"
    """What a resumed run does with the call if it was running when the state was saved: `restart` it, or `fail` it."""
    created: float = 0.0
    """When the model made the call, in seconds on the run's clock."""
    started: float | None = None
    """When the tool was started, in seconds on the run's clock; `None` where it was not."""
    ended: float | None = None
    """When the call ended, in seconds on the run's clock; `None` where it has not."""
    runs: int = 0
    """How often it was started: more than once where a resumed run restarted it."""
    repairs: list[str] = field(default_factory=list[str])
    """What a decoder corrected in the call before it could be read, one line each; usually empty."""
    problems: list[str] = field(default_factory=list[str])
    """Why the call cannot be run, one line each, such as arguments that do not match the schema; empty where it can."""
    error: str | None = None
    """Why it failed, as text; `None` where it did not."""
    answer: AnyItem | None = None
    """The item with the output that the model gets; `None` as long as there is none."""
    reported: Literal["nothing", "pending", "answer", "delivered"] = "nothing"
    """What the conversation holds of the call: nothing, that it is `pending`, its output (`answer`), or "pending" and later
    the output (`delivered`)."""

    @property
    def parsed_arguments(self) -> dict[str, Any]:
        """`arguments` as a dict, before they are checked against the tool's schema; empty for an empty text.

        Raises `ToolArgumentsError` where they are no JSON object, such as the free text of a custom tool.
        """
        return parsed(self.name, self.arguments)

    @property
    def over(self) -> bool:
        """Whether it has ended: neither `pending` nor `executing`."""
        return self.state not in ("pending", "executing")

    @property
    def output(self) -> Output | None:
        """The output the model gets: text, or content parts; `None` as long as the call has not ended."""
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
        """When it times out, in seconds on the run's clock; `None` while it is not running and without a `timeout`."""
        if self.state != "executing" or self.started is None or self.timeout is None:
            return None
        return self.started + self.timeout


class Limits(Model, kw_only=True):
    """The limits of a run."""

    max_iterations: Annotated[int, Meta(ge=1)] = 10
    """The most model calls of the run."""
    tool_timeout: Annotated[float, Meta(gt=0)] | None = 30.0
    """Seconds that a tool may run where the tool has no `timeout` of its own; `None` is no limit."""
    timeout: Annotated[float, Meta(gt=0)] | None = None
    """Seconds for the whole run; `None` is no limit."""
    max_tool_threads: Annotated[int, Meta(ge=1)] = 32
    """How many blocking calls, and as many nonblocking ones, run in threads at the same time. Further calls wait."""
    max_repairs: Annotated[int, Meta(ge=0)] = 3
    """How many answers in a row may hold calls that cannot be run, before the run ends as `invalid_calls`."""
    use_previous_response_id: bool = False
    """Whether the vendor stores the conversation (`store`, `previous_response_id`) and each request holds only new items."""


class Totals(Model, kw_only=True):
    """The sums over all model calls of a run."""

    api_calls: int = 0
    """Requests to the model that were answered."""
    tool_rounds: int = 0
    """How often the run sent outputs of tools to the model."""
    input_tokens: int = 0
    """Tokens of all requests, as the vendor counts them."""
    output_tokens: int = 0
    """Tokens of all answers, with those of reasoning."""
    total_tokens: int = 0
    """Input and output tokens together."""
    cached_input_tokens: int = 0
    """The input tokens that came from the vendor's prompt cache."""
    reasoning_tokens: int = 0
    """The output tokens that were reasoning."""
    seconds: float = 0.0
    """Seconds that the model calls took, without tools."""
    cost: int | None = 0
    """What the calls cost in nano-dollars; `None` where that is not known of one of them."""

    def __add__(self, other: Totals) -> Totals:
        """The sums of both."""
        pairs: dict[str, Any] = {name: (getattr(self, name), getattr(other, name)) for name in self.__struct_fields__}
        sums: dict[str, Any] = {name: None if None in pair else sum(pair) for name, pair in pairs.items()}
        return Totals(**sums)


class Statistics(Model, kw_only=True):
    """How many tool calls a run has, by state and by kind."""

    total: int = 0
    """All tool calls of the run."""
    pending: int = 0
    """Calls that have not been started, or that wait for approval or output."""
    executing: int = 0
    """Calls that are running."""
    completed: int = 0
    """Calls that succeeded."""
    failed: int = 0
    """Calls that failed, were denied, or could not be run."""
    timeout: int = 0
    """Calls that did not finish within their timeout."""
    cancelled: int = 0
    """Calls that were cancelled."""
    blocking: int = 0
    """Calls for whose results the model waits."""
    non_blocking: int = 0
    """Calls whose results are sent later."""


class RunState(Model, kw_only=True):
    """The state of a run as plain data: the request, the conversation so far, the tool calls, totals.

    `msgspec.json.encode(run.state)` writes it, and `client.run(state=...)` resumes it, in another process too.
    """

    _one_line: ClassVar[bool] = True

    id: str
    """The id of the run, which begins the `execution_id` of its calls."""
    request: Request
    """The request that every model call repeats, without its input."""
    items: list[AnyItem]
    """The conversation so far: the input, the model's output items, and the outputs of tools."""
    limits: Limits = field(default_factory=Limits)
    """The limits of the run."""
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    """Every tool call of the run, in the order in which the model made them."""
    iteration: int = 0
    """How many model calls were made; 0 before the first."""
    at: float = 0.0
    """The time on the run's clock in seconds, which stands still while the run is not driven."""
    began: float = 0.0
    """When it was last started or resumed, in seconds on the run's clock; `timeout` counts from there."""
    running: bool = False
    """Whether the run is being driven now."""
    outcome: Outcome | None = None
    """How the run stopped; `None` where it has not."""
    error: str | None = None
    """Why it stopped, as text; `None` where it has not, or is `completed` or `waiting`."""
    sent_at: float | None = None
    """When the request in flight was sent, in seconds on the run's clock; `None` where none is."""
    delivering: list[str] = field(default_factory=list[str])
    """The nonblocking calls whose results are in the request in flight, by `execution_id`."""
    kept: int = 0
    """How many of the `items` the vendor stores already, with `use_previous_response_id`."""
    paused: bool = False
    """Whether the vendor paused the turn of a hosted tool, which continues when its answer is sent back."""
    invalid: int = 0
    """How many answers in a row held calls that cannot be run; see `Limits.max_repairs`."""
    response: Response | None = None
    """The model's latest answer; `None` before the first."""
    totals: Totals = field(default_factory=Totals)
    """The sums over all model calls: tokens, calls, seconds."""

    def __repr__(self) -> str:
        advice = "see .response .calls" if self.outcome == "completed" else "resume it with run(state=...)"
        return f"<RunState {self.summary()}; {advice}>"

    def summary(self) -> str:
        """One line: the model, the outcome or progress, what the run waits for, and how many calls and tokens it took."""
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
        """The calls that wait for approval or for an output (`waiting_for`)."""
        return [call for call in self.calls if call.waiting_for is not None]

    @property
    def statistics(self) -> Statistics:
        """How many tool calls there are, by state and by kind."""
        counts = Statistics(total=len(self.calls), blocking=sum(call.blocking for call in self.calls))
        counts.non_blocking = counts.total - counts.blocking
        for call in self.calls:
            setattr(counts, call.state, getattr(counts, call.state) + 1)
        return counts


_ERRORS = ("max_iterations", "invalid_calls", "timeout", "failed", "cancelled")

STATE: Decoder[RunState] = Decoder(RunState)
"""Decodes the JSON of a saved run (`bytes` or `str`). Raises `DecodeError` for anything else."""


def totals_of(response: Response, seconds: float) -> Totals:
    """What one answer cost, in tokens and, where it is a reply, in money."""
    counts = {} if response.usage is None else response.usage.counts
    return Totals(api_calls=1, seconds=seconds, cost=getattr(response, "cost", None), **counts)
