"""Inputs and actions of `step`, and the protocol of the tools: the interface between the pure step and its shell.

Inputs go in, each with its time on the run's clock; actions come out. Before changing this file, know that `loop/` has
to perform every action and report its result, and nothing else.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

from msgspec import Struct, field

from ..responses.items import AnyItem
from ..responses.request import Request
from ..responses.response import Response
from .events import AnyLoopEvent
from .state import Outcome, Output, ToolCall

# --- what happens ---------------------------------------------------------------------------------------------------


class Input(Struct, frozen=True, kw_only=True):
    """An input of `step`, and when it occurred on the run's clock."""

    at: float


class Started(Input, frozen=True, kw_only=True):
    """The run starts, or is resumed from its saved state."""


class Answered(Input, frozen=True, kw_only=True):
    """The model answered. `repairs` lists what a decoder corrected, by the position of the call in the output."""

    response: Response
    repairs: dict[int, list[str]] = field(default_factory=dict[int, list[str]])


class AnswerFailed(Input, frozen=True, kw_only=True):
    """The model call failed."""

    error: str


class Finished(Input, frozen=True, kw_only=True):
    """A tool returned its result."""

    execution_id: str
    output: Output


class Failed(Input, frozen=True, kw_only=True):
    """A tool failed."""

    execution_id: str
    error: str


class Approved(Input, frozen=True, kw_only=True):
    """A call is approved."""

    execution_id: str


class Denied(Input, frozen=True, kw_only=True):
    """A call is denied."""

    execution_id: str
    reason: str = ""


class Supplied(Input, frozen=True, kw_only=True):
    """The output of a call that no tool here runs: text, content parts, or the output item itself."""

    execution_id: str
    output: Output | AnyItem


class Ticked(Input, frozen=True, kw_only=True):
    """Time has passed."""


class Cancelled(Input, frozen=True, kw_only=True):
    """The run is cancelled."""


AnyInput = Started | Answered | AnswerFailed | Finished | Failed | Approved | Denied | Supplied | Ticked | Cancelled

# --- what is to be done ---------------------------------------------------------------------------------------------


class Ask(Struct, frozen=True):
    """Call the model; the shell adds the tools to the request."""

    request: Request


class CancelAsk(Struct, frozen=True):
    """Cancel the model call."""


class StartTool(Struct, frozen=True):
    """Start a tool on arguments that were checked."""

    call: ToolCall
    prepared: Any


class CancelTool(Struct, frozen=True):
    """Cancel this tool call."""

    execution_id: str


class AskApproval(Struct, frozen=True):
    """Ask for approval of a call, if there is an approver."""

    call: ToolCall


class Emit(Struct, frozen=True):
    """Notify the event hooks."""

    event: AnyLoopEvent


class Stop(Struct, frozen=True):
    """The run has stopped: nothing of it is running."""

    outcome: Outcome


Action = Ask | CancelAsk | StartTool | CancelTool | AskApproval | Emit | Stop


class Facts(Protocol):
    """What is known of a tool."""

    @property
    def blocking(self) -> bool: ...
    @property
    def timeout(self) -> float | Literal["none"] | None: ...
    @property
    def needs_approval(self) -> bool: ...
    @property
    def on_resume(self) -> Literal["restart", "fail"]: ...
    @property
    def runs(self) -> bool: ...
    @property
    def is_async(self) -> bool: ...


class Tools(Protocol):
    """The tools of a run: what is known of one, and the arguments of a call made ready for it or what is wrong with them."""

    def facts(self, name: str, /) -> Facts | None: ...
    def prepare(self, name: str, arguments: str, /) -> Any: ...
