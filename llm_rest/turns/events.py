"""The events of a run: ten kinds, in the order in which things happen.

Every event names the run's iteration, the time on the run's clock and an `execution_id`: of the call it is about, else of
the model call (`<run>:<iteration>`), of the run where it ends. Before changing this file, know that an event holds the call
as it was at that moment.
"""

from __future__ import annotations

from msgspec import Struct

from ..responses.response import Response
from .state import Outcome, ToolCall


class LoopEvent(Struct, frozen=True, kw_only=True, tag_field="type"):
    """The fields that every event of a run has."""

    execution_id: str
    """Which call the event is about: the `execution_id` of a tool call, `<run>:<iteration>` of a model call, or the run's id."""
    iteration: int
    """The number of the model call, from 1; 0 before the first."""
    at: float
    """Seconds on the run's clock, which stands still while the run is not driven."""

    @property
    def type(self) -> str:
        """What kind of event it is, as it is encoded: `tool:completed`."""
        return str(type(self).__struct_config__.tag)


class _OfCall(LoopEvent, frozen=True, kw_only=True, tag_field="type"):
    """The fields of an event about one tool call."""

    call: ToolCall
    """The tool call as it was at that moment: name, arguments, state, output or error."""


class IterationStart(LoopEvent, frozen=True, kw_only=True, tag="iteration:start"):
    """A request to the model is about to be sent."""


class LLMResponse(LoopEvent, frozen=True, kw_only=True, tag="llm:response"):
    """The model answered."""

    response: Response
    """The model's answer: a `Reply` in a run of a client."""


class CallExecuting(_OfCall, frozen=True, kw_only=True, tag="tool:executing"):
    """A tool call is about to run."""


class CallCompleted(_OfCall, frozen=True, kw_only=True, tag="tool:completed"):
    """A tool call succeeded; `call.output` is its result."""


class CallFailed(_OfCall, frozen=True, kw_only=True, tag="tool:failed"):
    """A tool call failed, timed out, was cancelled, or could not be run; `call.state` and `call.error` say which and why."""


class ResultArrived(_OfCall, frozen=True, kw_only=True, tag="result:arrived"):
    """A nonblocking call has ended. The model got "pending" as its output; the next request holds the result."""


class NonblockingResult(_OfCall, frozen=True, kw_only=True, tag="nonblocking:result"):
    """The result or failure (`call.state`) of a nonblocking call is in the request that is sent now."""


class NonblockingError(LoopEvent, frozen=True, kw_only=True, tag="nonblocking:error"):
    """The model call that held the results of nonblocking `calls` failed.

    The run continues while other calls are pending, and its next request holds these results too; else it ends as `failed`.
    """

    error: str
    """The message of the model call's error."""
    calls: list[ToolCall]
    """The nonblocking calls whose results were in the request that failed."""


class NonblockingResponse(LoopEvent, frozen=True, kw_only=True, tag="nonblocking:llm_response"):
    """The model's answer to a request with results of nonblocking `calls`. Comes right after `LLMResponse`."""

    response: Response
    """The model's answer: a `Reply` in a run of a client."""
    calls: list[ToolCall]
    """The nonblocking calls whose results were in the request."""


class RunEnd(LoopEvent, frozen=True, kw_only=True, tag="run:end"):
    """The run stopped. The last event of every run."""

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
