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
    """What every event of a run has."""

    execution_id: str
    iteration: int
    at: float

    @property
    def type(self) -> str:
        """What kind of event it is, as it is encoded: `tool:completed`."""
        return str(type(self).__struct_config__.tag)


class _OfCall(LoopEvent, frozen=True, kw_only=True, tag_field="type"):
    call: ToolCall


class IterationStart(LoopEvent, frozen=True, kw_only=True, tag="iteration:start"):
    """The model is about to be asked."""


class LLMResponse(LoopEvent, frozen=True, kw_only=True, tag="llm:response"):
    """The model answered."""

    response: Response


class CallExecuting(_OfCall, frozen=True, kw_only=True, tag="tool:executing"):
    """A tool is started."""


class CallCompleted(_OfCall, frozen=True, kw_only=True, tag="tool:completed"):
    """A call has given its result."""


class CallFailed(_OfCall, frozen=True, kw_only=True, tag="tool:failed"):
    """A call gave none: it failed, took too long, was cancelled or could not be run; `call.state` and `call.error` say."""


class ResultArrived(_OfCall, frozen=True, kw_only=True, tag="result:arrived"):
    """A call has ended that the model was told is pending; what came of it waits for the next request."""


class NonblockingResult(_OfCall, frozen=True, kw_only=True, tag="nonblocking:result"):
    """What came of such a call, a result or a failure (`call.state`), is in the request that is sent now."""


class NonblockingError(LoopEvent, frozen=True, kw_only=True, tag="nonblocking:error"):
    """The model call that should have answered the results of such `calls` failed.

    The run continues while other calls are pending, and its next request holds these results too; else it ends as `failed`.
    """

    error: str
    calls: list[ToolCall]


class NonblockingResponse(LoopEvent, frozen=True, kw_only=True, tag="nonblocking:llm_response"):
    """The model's answer to a request with results of such `calls`. Comes right after `llm:response`."""

    response: Response
    calls: list[ToolCall]


class RunEnd(LoopEvent, frozen=True, kw_only=True, tag="run:end"):
    """The run stopped: `outcome` says how, `error` why where it was not completed. The last event of every run."""

    outcome: Outcome
    error: str | None = None


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
