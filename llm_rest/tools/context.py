"""`ToolContext`, the context of a tool call, and `ToolFacts`, the settings of a tool for a run."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, Union, get_args, get_origin

from msgspec import UNSET, Meta, Struct, UnsetType, ValidationError, to_builtins

from ..errors import ConfigError
from ..unknown import convert

OnResume = Literal["restart", "fail"]
"""What a resumed run does with a call that was running when the state was saved."""
Timeout = Annotated[float, Meta(gt=0)] | Literal["none"] | None
"""Seconds that a call of a tool may take; `"none"` for no limit, `None` for the run's `tool_timeout`."""


if TYPE_CHECKING:
    from typing_extensions import TypeVar  # of which checkers know the default

    D_co = TypeVar("D_co", covariant=True, default=Any)
else:
    from typing import TypeVar

    D_co = TypeVar("D_co", covariant=True)


class ToolContext(Generic[D_co]):
    """The context of a tool call, for a parameter annotated with `ToolContext` or `ToolContext[MyDeps]`.

    The run fills that parameter in; it is hidden from the model. `MyDeps` is the type of the object that the program passed
    as `deps=`, such as a database or the current user.
    """

    __slots__ = ("_deps", "call_id", "execution_id", "run")

    def __init__(
        self, *, execution_id: str = "", call_id: str = "", run: Any = None, deps: D_co | UnsetType = UNSET
    ) -> None:
        self.execution_id = execution_id
        """The id of the call within the run, which is unique; a model may use a `call_id` twice. Empty outside of a run."""
        self.call_id = call_id
        """The id that the model or its vendor gave the call."""
        self.run = run
        """The `Run` or `AsyncRun`; `None` outside of one."""
        self._deps = deps

    @property
    def deps(self) -> D_co:
        """The object passed as `deps=` to the run. Never sent to a model, never saved with a run.

        Raises `ConfigError` where none was given; in a `ToolContext[MyDeps | None]` it is `None` then.
        """
        if self._deps is UNSET:
            raise ConfigError("the tool uses ToolContext.deps, and none were passed", hint=DEPS_HINT)
        return self._deps

    def optional(self) -> ToolContext[D_co | None]:
        """The same context, with `deps` that are `None` where none were passed, instead of a `ConfigError`."""
        if self._deps is not UNSET:
            return self
        return ToolContext(execution_id=self.execution_id, call_id=self.call_id, run=self.run, deps=None)

    def __repr__(self) -> str:
        return f"ToolContext(execution_id={self.execution_id!r}, call_id={self.call_id!r})"


DEPS_HINT = "give deps= to the run; they are not saved with a run, so give them again to resume one"


def deps_form(form: Any) -> Any:
    """The type of the deps in an annotation such as `ToolContext[MyDeps]`; `Any` for a plain `ToolContext`.

    `UNSET` for another annotation.
    """
    form = getattr(form, "__value__", form)  # of `type Name = ...`, what it is a name for
    for one in (form, *get_args(form)):
        if one is ToolContext:
            return Any
        if get_origin(one) is ToolContext:
            return get_args(one)[0]
    return UNSET


def may_be_none(form: Any) -> bool:
    """Whether a type allows `None` for deps."""
    arms = get_args(form) if get_origin(form) in (Union, UnionType) else (form,)
    return None in arms or NoneType in arms


class ToolFacts(Struct, frozen=True, kw_only=True):
    """The settings of one tool for its calls in a run."""

    name: str
    """The name of the tool."""
    blocking: bool = True
    """Whether the model waits for the result. `False`: it gets "pending" as the output, and the result later."""
    timeout: Timeout = None
    """The most seconds a call may take; `"none"` for no limit, `None` for the run's `tool_timeout`."""
    needs_approval: bool = False
    """Whether a call waits for approval before it runs."""
    on_resume: OnResume = "fail"
    """What a resumed run does with a call that was running when the state was saved: `"restart"` or `"fail"`."""
    runs: bool = False
    """Whether the run runs it; else the vendor does, or the caller with `submit_output`."""
    is_async: bool = False
    """Whether it is a coroutine function, which needs no thread in an async client."""


def valid(facts: ToolFacts, **more: Any) -> ToolFacts:
    """The facts, with further ones from JSON. Raises `ConfigError` for unknown ones."""
    fields = {**to_builtins(facts), **more}
    try:
        return convert(fields, ToolFacts)
    except ValidationError as problem:
        what, _, place = str(problem).partition(" - at `$.")
        name = place.rstrip("`")
        if name == "timeout" and isinstance(fields[name], str):
            what = f'expected a number of seconds or "none", got {fields[name]!r}'
        raise ConfigError(f"tool {facts.name!r}: {name}: {what[:1].lower()}{what[1:]}") from None
