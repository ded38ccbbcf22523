"""`Toolbox`: the tools of one run, and the preparation and execution of their calls.

Functions run here, an executor's tools in the executor; hosted tools are passed on as data. Before changing this file,
know that `prepare` does not raise: its problems are the output of the call, for the model.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, cast

import msgspec
from msgspec import Struct

from ..errors import ConfigError, DecodeError, ToolFailedError
from ..responses.normalize import flat_function
from ..responses.parts import ContentPart, json_object
from ..responses.tools import (
    AnyTool,
    ApplyPatchTool,
    ComputerTool,
    ComputerUsePreviewTool,
    CustomTool,
    FunctionTool,
    LocalShellTool,
    NamespaceTool,
    ShellTool,
)
from ..responses.tools import Tool as Definition
from ..unknown import Decoder, Unknown, given
from . import threads
from .context import ToolContext, ToolFacts, valid
from .forms import DoesNotFit
from .function import Tool, is_coroutine_function
from .output import output_of
from .registry import AnyFunction, ToolExecutor, ToolRegistry, as_tool
from .schema import checked, instead

Plain = dict[str, Any]

Offered = Any
"""A `Tool`, a function, a definition (a struct of `responses.tools`, `MCP(...)`, or the same as JSON), an executor (all that
its `names` lists), or the name of one of the executor's tools."""

_NAMED = (FunctionTool, CustomTool)
_RUN_BY_CALLER = (*_NAMED, ShellTool, LocalShellTool, ApplyPatchTool, ComputerTool, ComputerUsePreviewTool)
_KINDS = frozenset(str(kind.__struct_config__.tag) for kind in _RUN_BY_CALLER)
_DEFINITION = Decoder[Definition | Unknown](AnyTool)
_BESIDE = frozenset(ToolFacts.__struct_fields__) - {"name", "runs", "is_async"}


class Prepared(Struct, frozen=True, kw_only=True):
    """A call that is ready to run: its arguments as JSON data, and its function."""

    name: str
    arguments: dict[str, Any]
    function: Callable[[ToolContext | None], Any]
    is_async: bool
    """Whether the function needs a running event loop."""


class _Entry(Struct, frozen=True):
    facts: ToolFacts
    definition: Definition | Unknown
    runner: AnyFunction | ToolExecutor | None = None


class Toolbox:
    """The tools of one run, from any kind of tool; `executor` runs definitions without a function."""

    def __init__(self, tools: Iterable[Offered] = (), executor: ToolExecutor | None = None) -> None:
        self.definitions: list[Any] = []
        self._entries: dict[str, _Entry] = {}
        if executor is not None and not _executes(executor):
            raise ConfigError(f"{executor!r} is no executor", hint="it has execute, has_tool and definition")
        self._executor = executor
        for one in tools:
            self._add(one)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools that the vendor does not run itself."""
        return tuple(self._entries)

    @property
    def needs_deps(self) -> list[str]:
        """The names of the tools that take a `ToolContext` with deps."""
        return [name for name, one in self._entries.items() if isinstance(one.runner, Tool) and one.runner.needs_deps]

    def facts(self, name: str) -> ToolFacts | None:
        """The settings of a tool; `None` for an unknown name."""
        entry = self._entries.get(name)
        return entry.facts if entry else None

    # --- what is offered --------------------------------------------------------------------------------------------

    def _add(self, one: Offered) -> None:
        match one:
            case str():
                if self._executor is None or not self._executor.has_tool(one):
                    raise ConfigError(f"no executor has a tool called {one!r}", hint="give executor=, or the tool")
                self._define(self._executor.definition(one), self._executor)
            case Definition() | dict():
                self._define(cast("Plain", one), self._executor)
            case _ if _executes(one):
                names = getattr(one, "names", None)
                if names is None:
                    kind = type(one).__name__
                    raise ConfigError(f"{kind} does not list its tools", hint="give it names, or name them in tools=")
                for name in cast("Iterable[str]", names() if callable(names) else names):
                    self._define(one.definition(name), one)
            case _ if callable(one):
                found = as_tool(one)
                self.definitions.append(found.definition)
                self._keep(_Entry(found.facts, found.definition, found))
            case _ if callable(getattr(one, "tool", None)):  # such as `MCP`
                self._define(one.tool(), self._executor)
            case _:
                raise ConfigError(
                    f"a {type(one).__name__} is no tool", hint="give a function, a definition, an executor"
                )

    def _define(self, offered: Definition | Plain, executor: ToolExecutor | None) -> None:
        """Offer a definition; the executor runs it if it has a tool of that name."""
        one, facts = _read(offered)
        self.definitions.append(one)
        for each in one.tools if isinstance(one, NamespaceTool) else [one]:
            kind = each.kind if isinstance(each, Unknown) else str(type(each).__struct_config__.tag)
            name = each.name if isinstance(each, _NAMED) else kind
            if isinstance(each, _RUN_BY_CALLER):
                runner = executor if executor is not None and executor.has_tool(name) else None
                self._keep(_entry(each, name, facts, runner))
            elif facts.get("blocking") is False:
                raise ConfigError(f"{kind} is run by the vendor and cannot be non-blocking", hint="use background=True")

    def _keep(self, entry: _Entry) -> None:
        name = entry.facts.name
        if name in self._entries:
            raise ConfigError(f"two tools are called {name!r}", hint="give name= to one of them")
        self._entries[name] = entry

    # --- calls ------------------------------------------------------------------------------------------------------

    def prepare(self, name: str, arguments: str) -> Prepared | list[str]:
        """A call ready to run, or its problems as text for the model."""
        entry = self._entries.get(name)
        if entry is None:
            return [f"there is no tool called {name!r}; {instead(name, self.names)}"]
        try:
            plain = {"input": arguments} if isinstance(entry.definition, CustomTool) else _object(arguments)
            return _prepared(entry, plain)
        except DoesNotFit as mismatch:
            return mismatch.problems

    async def run(self, prepared: Prepared, context: ToolContext | None = None) -> str | list[ContentPart]:
        """The output of a call. A sync function runs in a thread, which is abandoned on cancellation.

        Raises `ToolFailedError` for any exception of the tool.
        """
        if prepared.is_async:
            value = _called(prepared, context)
        else:
            # Wrapped up, because trio would close a coroutine that comes out of a thread.
            (value,) = await threads.result_of(prepared.name, lambda: (_called(prepared, context),))
        return output_of(await _awaited(prepared, value) if inspect.isawaitable(value) else value)

    def run_sync(self, prepared: Prepared, context: ToolContext | None = None) -> str | list[ContentPart]:
        """The output of a call, run in this thread; a coroutine function in an event loop of its own."""
        value = _called(prepared, context)
        if inspect.isawaitable(value):
            import anyio

            value = anyio.run(_awaited, prepared, value)
        return output_of(value)


def _executes(one: object) -> bool:
    return isinstance(one, ToolExecutor) and not isinstance(one, type)


def _read(offered: Definition | Plain) -> tuple[Definition | Unknown, Plain]:
    """A definition, and the settings beside it where it is written as JSON."""
    if isinstance(offered, Definition | Unknown):
        return offered, {}
    beside = _BESIDE if offered.get("type") in _KINDS else {"blocking"}
    facts = {name: offered[name] for name in beside if name in offered}
    rest = flat_function({name: value for name, value in offered.items() if name not in beside})
    try:
        made = _DEFINITION.decode(msgspec.json.encode(rest))
    except (DecodeError, TypeError) as problem:
        raise ConfigError(f"this is no definition of a tool: {problem}") from None
    if isinstance(made, Unknown) and not made.get("type"):
        hint = '{"type": "function", "name": ..., "parameters": {...}}, or the type of a vendor\'s tool'
        raise ConfigError("this is no definition of a tool: it has no type", hint=hint)
    return made, facts


def _entry(one: Definition | Unknown, name: str, facts: Plain, executor: ToolExecutor | None) -> _Entry:
    runner = executor.tool(name) if isinstance(executor, ToolRegistry) else executor
    if isinstance(runner, Tool):
        known = runner.facts
    else:
        is_async = runner is not None and is_coroutine_function(runner.execute)
        known = ToolFacts(name=name, runs=runner is not None, is_async=is_async)
    return _Entry(valid(known, **facts), one, runner)


def _object(arguments: str) -> Plain:
    """The arguments as data. Raises `DoesNotFit`."""
    try:
        return json_object(arguments)
    except ValueError as problem:
        raise DoesNotFit([str(problem)]) from None


def _prepared(entry: _Entry, plain: Plain) -> Prepared:
    """The call with these arguments. Raises `DoesNotFit`."""
    name, runner, definition = entry.facts.name, entry.runner, entry.definition
    target: Callable[..., Any]
    function: Callable[[ToolContext | None], Any]
    if isinstance(runner, Tool):
        function, target = partial(runner.call, runner.typed(plain)), runner.function
    else:
        if isinstance(definition, FunctionTool) and given(definition.parameters):
            plain, found = checked(definition.parameters, plain)
            if found:
                raise DoesNotFit(found)
        target = _nobody if runner is None else runner.execute
        function = partial(_executed, target, name, plain)
    return Prepared(name=name, arguments=plain, function=function, is_async=is_coroutine_function(target))


def _executed(execute: Callable[..., Any], name: str, arguments: Plain, _: ToolContext | None) -> Any:
    return execute(name, arguments)


def _nobody(name: str, _: Plain) -> None:
    raise ToolFailedError(f"no executor runs {name}", hint="pass an executor= that has it")


def _called(prepared: Prepared, context: ToolContext | None) -> Any:
    try:
        return prepared.function(context)
    except (ToolFailedError, KeyboardInterrupt):
        raise
    except BaseException as problem:  # a sync function is cancelled by its own code only
        raise _failure(prepared.name, problem) from problem


async def _awaited(prepared: Prepared, value: Awaitable[Any]) -> Any:
    try:
        return await value
    except ToolFailedError:
        raise
    except (Exception, SystemExit) as problem:
        raise _failure(prepared.name, problem) from problem


def _failure(name: str, problem: BaseException) -> ToolFailedError:
    """The error for the model: class and message of the exception, as one line without secrets."""
    inner: list[BaseException] = getattr(problem, "exceptions", [])
    if isinstance(problem, BaseExceptionGroup) and len(inner) == 1:
        return _failure(name, inner[0])
    if isinstance(problem, ToolFailedError):
        return problem
    words = "; ".join([str(cast("object", problem)), *(f"{type(one).__name__}: {one}" for one in inner)])
    return ToolFailedError(f"{name} failed with {type(cast('object', problem)).__name__}{words and ': '}{words}")
