"""The events of a run: ten kinds, in order.

Every event names the run's iteration, the time on the run's clock and an `execution_id`: of the call it is about, else of
the model call (`<run>:<iteration>`), of the run where it ends. Before changing this file, know that an event holds the call
as it was at that moment.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from msgspec import Struct

from ..responses.response import Response
from .state import Outcome, ToolCall


class LoopEvent(Struct, frozen=True, kw_only=True):
    """The fields that every event of a run has."""

    execution_id: str
    """Which call the event is about: the `execution_id` of a tool call, `<run>:<iteration>` of a model call, or the run's id."""
    iteration: int
    """The number of the model call, from 1; 0 before the first."""
    at: float
    """Seconds on the run's clock, which stands still while the run is not driven."""


class _OfCall(LoopEvent, frozen=True, kw_only=True):
    """The fields of an event about one tool call."""

    call: ToolCall
    """The tool call as it was at that moment: name, arguments, state, output or error."""


class IterationStart(LoopEvent, frozen=True, kw_only=True, tag="iteration:start"):
    """A request to the model is about to be sent."""

    type: ClassVar[Literal["iteration:start"]] = "iteration:start"


class LLMResponse(LoopEvent, frozen=True, kw_only=True, tag="llm:response"):
    """The model answered."""

    type: ClassVar[Literal["llm:response"]] = "llm:response"
    response: Response
    """The model's answer: a `Reply` in a run of a client."""


class CallExecuting(_OfCall, frozen=True, kw_only=True, tag="tool:executing"):
    """A tool call is about to run."""

    type: ClassVar[Literal["tool:executing"]] = "tool:executing"


class CallCompleted(_OfCall, frozen=True, kw_only=True, tag="tool:completed"):
    """A tool call succeeded; `call.output` is its result."""

    type: ClassVar[Literal["tool:completed"]] = "tool:completed"


class CallFailed(_OfCall, frozen=True, kw_only=True, tag="tool:failed"):
    """A tool call failed, timed out, was cancelled, or could not be run; see `call.state` and `call.error`."""

    type: ClassVar[Literal["tool:failed"]] = "tool:failed"


class ResultArrived(_OfCall, frozen=True, kw_only=True, tag="result:arrived"):
    """A nonblocking call has ended. The model got "pending" as its output; the next request holds the result."""

    type: ClassVar[Literal["result:arrived"]] = "result:arrived"


class NonblockingResult(_OfCall, frozen=True, kw_only=True, tag="nonblocking:result"):
    """The result or failure (`call.state`) of a nonblocking call is in the request that is sent now."""

    type: ClassVar[Literal["nonblocking:result"]] = "nonblocking:result"


class NonblockingError(LoopEvent, frozen=True, kw_only=True, tag="nonblocking:error"):
    """The model call that held the results of nonblocking `calls` failed.

    The run continues while other calls are pending, and its next request holds these results too; else it ends as `failed`.
    """

    type: ClassVar[Literal["nonblocking:error"]] = "nonblocking:error"
    error: str
    """The message of the model call's error."""
    calls: list[ToolCall]
    """The nonblocking calls whose results were in the request that failed."""


class NonblockingResponse(LoopEvent, frozen=True, kw_only=True, tag="nonblocking:llm_response"):
    """The model's answer to a request with results of nonblocking `calls`. Comes right after `LLMResponse`."""

    type: ClassVar[Literal["nonblocking:llm_response"]] = "nonblocking:llm_response"
    response: Response
    """The model's answer: a `Reply` in a run of a client."""
    calls: list[ToolCall]
    """The nonblocking calls whose results were in the request."""


class RunEnd(LoopEvent, frozen=True, kw_only=True, tag="run:end"):
    """The run stopped. The last event of every run."""

    type: ClassVar[Literal["run:end"]] = "run:end"
    outcome: Outcome
    """How the run stopped: `completed`, `waiting`, or the limit or failure that ended it."""
    error: str | None = None
    """Why, as text; `None` where the run is `completed` or `waiting`."""


AnyLoopEvent = (
    IterationStart
    | LLMResponse
    | CallExecuting
    | CallCompleted
    | CallFailed
    | ResultArrived
    | NonblockingResult
    | NonblockingError
    | NonblockingResponse
    | RunEnd
)
"""Every event of a run."""
