"""Running tools by name: the `ToolExecutor` protocol, and `ToolRegistry` for Python functions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Protocol, cast, overload, runtime_checkable

from ..errors import ConfigError, ToolArgumentsError, ToolNotFoundError
from ..responses.tools import FunctionTool
from .forms import DoesNotFit
from .function import Tool
from .schema import instead

AnyFunction = Tool[..., Any]
"""A tool with any parameters and any result."""


@runtime_checkable
class ToolExecutor(Protocol):
    """Anything that runs tools by name. `execute` may be a coroutine function; its exceptions are errors for the model."""

    def execute(self, name: str, arguments: dict[str, Any], /) -> Any | Awaitable[Any]:
        """The result of the tool: any value that a tool may return, or an awaitable of it. `arguments` are plain JSON data."""
        ...

    def has_tool(self, name: str, /) -> bool:
        """Whether there is a tool of this name."""
        ...

    def definition(self, name: str, /) -> FunctionTool:
        """The definition of the tool for a request. Called for names of `has_tool`."""
        ...


class ToolRegistry:
    """Tools by name: `registry.register(function)`, or `@registry.register`."""

    def __init__(self, *tools: AnyFunction | Callable[..., Any]) -> None:
        self._tools: dict[str, AnyFunction] = {}
        for one in tools:
            self.register(one)

    @overload
    def register(self, function: AnyFunction | Callable[..., Any], /, **options: Any) -> AnyFunction: ...
    @overload
    def register(self, /, **options: Any) -> Callable[[Callable[..., Any]], AnyFunction]: ...
    def register(self, function: Any = None, /, **options: Any) -> Any:
        """Add a tool, or a function with the options of `tool`. Raises `ConfigError` for a name that is taken."""
        if function is None:  # `@registry.register(blocking=False)`
            return partial(self.register, **options)
        added = as_tool(function, **options)
        if added.name in self._tools:
            raise ConfigError(f"there is a tool called {added.name!r} already", hint="give name= to one of them")
        self._tools[added.name] = added
        return added

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools, in the order in which they were added."""
        return tuple(self._tools)

    def has_tool(self, name: str) -> bool:
        """Whether there is a tool of this name."""
        return name in self._tools

    def tool(self, name: str) -> AnyFunction:
        """The tool of that name. Raises `ToolNotFoundError`."""
        if name not in self._tools:
            raise ToolNotFoundError(f"there is no tool called {name!r}", hint=instead(name, self._tools))
        return self._tools[name]

    def definition(self, name: str) -> FunctionTool:
        """The definition of the tool for a request. Raises `ToolNotFoundError`."""
        return self.tool(name).definition

    def execute(self, name: str, arguments: dict[str, Any]) -> Any | Awaitable[Any]:
        """The result of the tool for these JSON arguments; an awaitable where it is a coroutine function.

        Raises `ToolNotFoundError`, `ToolArgumentsError`, and the tool's exceptions.
        """
        found = self.tool(name)
        try:
            values = found.typed(arguments)
        except DoesNotFit as mismatch:
            raise ToolArgumentsError(f"{name}: {mismatch}") from None
        return found.call(values)


def as_tool(function: Any, **options: Any) -> AnyFunction:
    """The tool of a function; a `Tool` unchanged. Raises `ConfigError`."""
    inner = getattr(function, "__func__", None)
    if isinstance(inner, Tool):  # `@classmethod` over `@tool` may bind the tool as if it were a function
        function = cast("Any", inner).__get__(function.__self__)
    found = cast("AnyFunction", function) if isinstance(function, Tool) else Tool(function, **options)
    if options and found is function:
        raise ConfigError(f"{found.name!r} is a tool already", hint="give the options to @tool")
    if found.is_method:
        raise ConfigError(f"{found.name!r} is a method of a class", hint=f"take it from an object: thing.{found.name}")
    return found
