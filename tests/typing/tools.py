"""What a type checker sees of tools. Checked by `make check`, never run."""

from __future__ import annotations

from typing import Any, assert_type

from llm_rest import (
    FunctionTool,
    Tool,
    ToolContext,
    ToolExecutor,
    ToolRegistry,
    tool,
)


@tool
def weather(city: str, days: int = 1) -> str:
    return city * days


@tool(blocking=False, timeout="none", needs_approval=True, on_resume="restart")
async def forecast(city: str) -> list[str]:
    return [city]


class Station:
    @tool
    def read(self, hour: int, context: ToolContext) -> float:
        return float(hour)


class Database:
    def price(self, item: str) -> float:
        return float(len(item))


@tool
async def discount(item: str, context: ToolContext[Database | None]) -> float:
    assert_type(context.deps, Database | None)
    return 0.0 if context.deps is None else context.deps.price(item)


@tool
def anything(context: ToolContext) -> str:
    assert_type(context.deps, Any)
    return context.call_id


async def a_tool_is_called_like_its_function() -> None:
    assert_type(weather("Oslo", days=2), str)
    weather(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    weather()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    assert_type(await forecast("Oslo"), list[str])
    assert_type(weather.definition, FunctionTool)
    assert_type(await discount("skis", ToolContext(deps=Database())), float)
    await discount("skis", ToolContext(deps=3))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def a_method_is_called_without_its_object(station: Station) -> None:
    assert_type(station.read(3, ToolContext()), float)
    station.read("3", ToolContext())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def a_registry_is_an_executor(registry: ToolRegistry) -> ToolExecutor:
    assert_type(registry.names, tuple[str, ...])
    assert_type(registry.register(weather), Tool[..., Any])
    return registry
