"""What a type checker sees of tools. Checked by `make check`, never run."""

from __future__ import annotations

from typing import Any, assert_type

from llm_rest import FunctionTool, Tool, ToolContext, ToolExecutor, ToolRegistry, tool


@tool
def weather(city: str, days: int = 1) -> str:
    return city * days


@tool(blocking=False, timeout=None, needs_approval=True, on_resume="restart")
async def forecast(city: str) -> list[str]:
    return [city]


class Station:
    @tool
    def read(self, hour: int, context: ToolContext) -> float:
        return float(hour)


async def a_tool_is_called_like_its_function() -> None:
    assert_type(weather("Oslo", days=2), str)
    weather(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    weather()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    assert_type(await forecast("Oslo"), list[str])
    assert_type(weather.definition, FunctionTool)


def a_method_is_called_without_its_object(station: Station) -> None:
    assert_type(station.read(3, ToolContext()), float)
    station.read("3", ToolContext())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def a_registry_is_an_executor(registry: ToolRegistry) -> ToolExecutor:
    assert_type(registry.names, tuple[str, ...])
    assert_type(registry.register(weather), Tool[..., Any])
    return registry
