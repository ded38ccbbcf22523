"""What a tool may know about the call it serves, and what a run knows about a tool."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, ValidationError, to_builtins

from ..errors import ConfigError
from ..unknown import convert

OnResume = Literal["restart", "fail"]
Timeout = Annotated[float, Meta(gt=0)] | None | UnsetType


class ToolContext(Struct, frozen=True, kw_only=True):
    """What a parameter annotated with this type is given; the model does not see that parameter."""

    execution_id: str = ""
    call_id: str = ""
    run: Any = None


class ToolFacts(Struct, frozen=True, kw_only=True):
    """How a run treats the calls of one tool."""

    name: str
    blocking: bool = True
    """Whether the model waits for the result; else it is told that the result will follow."""
    timeout: Timeout = UNSET
    """Seconds; `None` for no limit, `UNSET` for the run's own."""
    needs_approval: bool = False
    on_resume: OnResume = "fail"
    """What becomes of a call that was running when the state of its run was saved."""
    runs: bool = False
    """Whether there is something here that runs it; else the vendor or the caller does."""


def valid(facts: ToolFacts, **more: Any) -> ToolFacts:
    """The facts, with more of them as JSON gives it. Raises `ConfigError` for what says nothing."""
    try:
        return convert({**to_builtins(facts), **more}, ToolFacts)
    except ValidationError as problem:
        what, _, name = str(problem).partition(" - at `$.")
        raise ConfigError(f"tool {facts.name!r}: {name.rstrip('`')}: {what[:1].lower()}{what[1:]}") from None
