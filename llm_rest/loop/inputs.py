"""What can happen to a run, what is then to be done, and what is known of its tools: the words between step and shell.

Happenings go in, each with its time on the run's clock; actions come out. Before changing this file, know that `loop/` has
to do what every action says and report what came of it, and nothing else.
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


class Happening(Struct, frozen=True, kw_only=True):
    """Something that happened, and when on the run's clock."""

    at: float


class Begun(Happening, frozen=True, kw_only=True):
    """The run is begun, or taken up again by somebody who holds nothing but its state."""


class Answered(Happening, frozen=True, kw_only=True):
    """The model answered. `repairs` is what a decoder put right, by the position of the call in the output."""

    response: Response
    repairs: dict[int, list[str]] = field(default_factory=dict[int, list[str]])


class AnswerFailed(Happening, frozen=True, kw_only=True):
    """The model did not answer."""

    error: str


class Finished(Happening, frozen=True, kw_only=True):
    """A tool gave its result."""

    execution_id: str
    output: Output


class Failed(Happening, frozen=True, kw_only=True):
    """A tool failed."""

    execution_id: str
    error: str


class Approved(Happening, frozen=True, kw_only=True):
    """Somebody allows a call."""

    execution_id: str


class Denied(Happening, frozen=True, kw_only=True):
    """Somebody forbids a call."""

    execution_id: str
    reason: str = ""


class Supplied(Happening, frozen=True, kw_only=True):
    """Somebody gives the output of a call that no tool here runs: in words or parts, or the very item that answers it."""

    execution_id: str
    output: Output | AnyItem


class Ticked(Happening, frozen=True, kw_only=True):
    """Time has passed."""


class Cancelled(Happening, frozen=True, kw_only=True):
    """The run shall end now."""


AnyHappening = Begun | Answered | AnswerFailed | Finished | Failed | Approved | Denied | Supplied | Ticked | Cancelled

# --- what is to be done ---------------------------------------------------------------------------------------------


class Ask(Struct, frozen=True):
    """Ask the model; the tools are put into the request by whoever holds them."""

    request: Request


class CancelAsk(Struct, frozen=True):
    """Nobody waits for the answer any more."""


class StartTool(Struct, frozen=True):
    """Start a tool on arguments that were checked."""

    call: ToolCall
    prepared: Any


class CancelTool(Struct, frozen=True):
    """Nobody waits for this tool any more."""

    execution_id: str


class AskApproval(Struct, frozen=True):
    """Ask whoever decides about calls, if there is anybody."""

    call: ToolCall


class Emit(Struct, frozen=True):
    """Tell the event hooks."""

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
