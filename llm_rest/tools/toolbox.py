"""`Toolbox`: what one run offers a model, and how its calls are prepared and run.

Functions of ours run here, what an executor knows runs there, vendor tools ride along as data. Before changing this file,
know that `prepare` answers a model: it never raises, its words go back as the output of the call.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from difflib import get_close_matches
from typing import Any, cast

import msgspec
from msgspec import Struct

from ..errors import ConfigError, DecodeError, ToolError, ToolFailed, ToolNotFound
from ..forms import DoesNotFit
from ..json_schema import problems
from ..responses.normalize import flat_function
from ..responses.parts import ContentPart
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
from ..unknown import Decoder, Unknown, check_depth, given
from .context import ToolContext, ToolFacts
from .function import Tool, is_async, optional_left_out
from .output import output_of
from .registry import ToolExecutor, ToolRegistry, as_tool

Offered = Tool[..., Any] | Callable[..., Any] | AnyTool | dict[str, Any] | ToolExecutor | str | Any
"""A tool, a function, a definition (a struct or JSON), an executor (all it names), or the name of an executor's tool."""

_CLIENT_RUN = (ShellTool, LocalShellTool, ApplyPatchTool, ComputerTool, ComputerUsePreviewTool)
_FACTS = ("blocking", "timeout", "needs_approval", "on_resume")
_JSON = Decoder[Any](AnyTool)


class Prepared(Struct, frozen=True, kw_only=True):
    """A call that is ready to run: its arguments as plain JSON data, and as what runs it takes them."""

    name: str
    arguments: dict[str, Any]
    function: Callable[..., Any]
    values: dict[str, Any]
    context: str | None = None


class _Entry(Struct, frozen=True):
    definition: Any
    facts: ToolFacts
    tool: Tool[..., Any] | None = None
    executor: ToolExecutor | None = None


class Toolbox:
    """The tools of one run, made of anything that is a tool."""

    def __init__(self, tools: Iterable[Offered] = (), executor: ToolExecutor | None = None) -> None:
        self.definitions: list[AnyTool] = []
        self._entries: dict[str, _Entry] = {}
        self._executor = executor
        for one in tools:
            self._add(one)

    @property
    def names(self) -> tuple[str, ...]:
        """What a model may call, and run here or by the caller."""
        return tuple(self._entries)

    def facts(self, name: str) -> ToolFacts | None:
        """How the calls of a tool are treated; nothing for a name that is not offered."""
        entry = self._entries.get(name)
        return entry.facts if entry else None

    # --- what is offered --------------------------------------------------------------------------------------------

    def _add(self, one: Any) -> None:
        if isinstance(one, str):
            if self._executor is None or not self._executor.has_tool(one):
                raise ConfigError(f"no executor has a tool called {one!r}", hint="give executor=, or the tool itself")
            one = self._executor.definition(one)
        elif isinstance(one, ToolRegistry):
            for each in one.tools:
                self._add(each)
            return
        elif not isinstance(one, type) and isinstance(one, ToolExecutor):
            for name in cast("Iterable[str]", getattr(one, "names", ())):
                self._define(one.definition(name), executor=one)
            return
        make = getattr(one, "tool", None)
        if isinstance(one, dict) and not isinstance(one, Unknown):
            self._plain(cast("dict[str, Any]", one))
        elif isinstance(one, Definition | Unknown):
            self._define(one)
        elif callable(make) and not callable(one):  # such as `Mcp`
            self._define(make())
        elif callable(one):
            added = as_tool(one)
            self._keep(added.name, _Entry(added.definition, added.facts, tool=added))
            self.definitions.append(added.definition)
        else:
            raise ConfigError(
                f"a {type(one).__name__} is no tool", hint="a function, a Tool, a definition or an executor"
            )

    def _plain(self, plain: dict[str, Any]) -> None:
        """A definition written as JSON, with facts about its calls beside it."""
        facts = {name: plain[name] for name in _FACTS if name in plain}
        rest = flat_function({name: value for name, value in plain.items() if name not in facts})
        try:
            self._define(_JSON.decode(msgspec.json.encode(rest)), facts)
        except (DecodeError, TypeError) as problem:
            raise ConfigError(f"a tool that is no definition: {problem}") from None

    def _define(self, one: Any, facts: dict[str, Any] | None = None, executor: ToolExecutor | None = None) -> None:
        self.definitions.append(one)
        if isinstance(one, NamespaceTool):
            inner: list[Any] = [each for each in one.tools if isinstance(each, FunctionTool | CustomTool)]
        else:
            inner = [one]
        for each in inner:
            functions = isinstance(each, FunctionTool | CustomTool)
            kind = each.type if isinstance(each, Unknown) else str(type(each).__struct_config__.tag)
            name = each.name if functions else kind
            if functions or isinstance(each, _CLIENT_RUN):
                executor = executor or self._executor
                runner = executor if executor is not None and executor.has_tool(name) else None
                if isinstance(runner, ToolRegistry):
                    entry = _Entry(each, runner.tool(name).facts, tool=runner.tool(name))
                else:
                    entry = _Entry(each, _facts(name, facts, runs=runner is not None), executor=runner)
                self._keep(name, entry)
            elif facts and facts.get("blocking") is False:
                raise ConfigError(f"{kind} is run by the vendor and cannot be non-blocking", hint="use background=True")

    def _keep(self, name: str, entry: _Entry) -> None:
        if name in self._entries:
            raise ConfigError(f"two tools are called {name!r}", hint="give name= to one of them")
        self._entries[name] = entry

    # --- calls ------------------------------------------------------------------------------------------------------

    def prepare(self, name: str, arguments: str) -> Prepared | list[str]:
        """A call ready to run, or what is wrong with it, in words for the model."""
        entry = self._entries.get(name)
        if entry is None:
            return [self._unknown(name)]
        if isinstance(entry.definition, CustomTool):
            plain: dict[str, Any] = {"input": arguments}
        else:
            try:
                plain = _object(arguments)
            except DoesNotFit as problem:
                return problem.problems
        if entry.tool is not None:
            try:
                values = entry.tool.typed(plain)
            except DoesNotFit as mismatch:
                return mismatch.problems
            return Prepared(
                name=name, arguments=plain, function=entry.tool.function, values=values, context=entry.tool.context
            )
        if isinstance(entry.definition, FunctionTool) and given(entry.definition.parameters):
            plain = optional_left_out(entry.definition.parameters, plain)
            if found := problems(entry.definition.parameters, plain):
                return found
        function = entry.executor.execute if entry.executor is not None else _nobody
        return Prepared(name=name, arguments=plain, function=function, values={"name": name, "arguments": plain})

    def _unknown(self, name: str) -> str:
        close = get_close_matches(name, self._entries, 1)
        if close:
            return f"there is no tool called {name!r}; did you mean {close[0]!r}?"
        return f"there is no tool called {name!r}; there are: {', '.join(list(self._entries)[:50]) or 'none'}"

    async def run(self, prepared: Prepared, context: ToolContext | None = None) -> str | list[ContentPart]:
        """The output of a call: a coroutine function runs here, any other in a thread that is left behind on cancellation.

        Raises `ToolFailed` for whatever the tool raises.
        """
        import anyio
        from anyio import to_thread

        call = _call(prepared, context)
        if is_async(prepared.function):
            value = call()
        else:
            # A limiter of its own: a tool that hangs, or was left behind, keeps no other from running.
            value = await to_thread.run_sync(call, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1))
        if inspect.isawaitable(value):
            value = await _awaited(prepared.name, value)
        return output_of(value)

    def run_sync(self, prepared: Prepared, context: ToolContext | None = None) -> str | list[ContentPart]:
        """The output of a call, run in this thread; a coroutine function in an event loop of its own."""
        if is_async(prepared.function):
            import anyio

            return anyio.run(self.run, prepared, context)
        return output_of(_call(prepared, context)())


def _facts(name: str, facts: dict[str, Any] | None, *, runs: bool) -> ToolFacts:
    try:
        return msgspec.convert({"name": name, "runs": runs, **(facts or {})}, ToolFacts)
    except msgspec.ValidationError as problem:
        raise ConfigError(f"tool {name!r}: {problem}") from None


def _object(arguments: str) -> dict[str, Any]:
    """The arguments as data; no text at all is what models write for none."""
    if not arguments.strip():
        return {}
    try:
        check_depth(arguments.encode())
        value = msgspec.json.decode(arguments)
    except (msgspec.MsgspecError, DecodeError, UnicodeError) as problem:
        raise DoesNotFit([f"the arguments are not valid JSON: {problem}"]) from None
    if not isinstance(value, dict):
        raise DoesNotFit([f"the arguments must be a JSON object, not {arguments[:80]}"])
    return cast("dict[str, Any]", value)


def _call(prepared: Prepared, context: ToolContext | None) -> Callable[[], Any]:
    values = prepared.values
    if prepared.context is not None:
        values = {**values, prepared.context: context or ToolContext()}

    def call() -> Any:
        try:
            return prepared.function(**values)
        except (Exception, SystemExit) as problem:
            raise _failure(prepared.name, problem) from problem

    return call


async def _awaited(name: str, value: Awaitable[Any]) -> Any:
    try:
        return await value
    except Exception as problem:
        raise _failure(name, problem) from problem


def _failure(name: str, problem: BaseException) -> ToolError:
    """What the model is told: the kind of the exception and its words, as one line without secrets."""
    while isinstance(problem, BaseExceptionGroup) and len(problem.exceptions) == 1:
        problem = cast("BaseExceptionGroup[BaseException]", problem).exceptions[0]
    if isinstance(problem, ToolError):
        return problem
    words = f": {problem}" if str(problem) else ""
    return ToolFailed(f"{name} failed with {type(problem).__name__}{words}")


def _nobody(name: str, arguments: dict[str, Any]) -> Any:
    raise ToolNotFound(f"nothing here runs {name!r}", hint="give an executor that has it")
