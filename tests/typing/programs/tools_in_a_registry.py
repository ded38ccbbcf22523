"""Registries, executors of one's own and MCP servers as tools, and calling them without a model.

Prints:

    ('weather', 'forecast') rain in Oslo
    tool_not_found
    tool_arguments
    Buy skis.
"""

from __future__ import annotations

from typing import Any

from llm_rest import MCP, Client, FunctionTool, ToolArgumentsError, ToolNotFoundError, ToolRegistry

registry = ToolRegistry()


@registry.register
def weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


@registry.register(blocking=False, timeout=5)
def forecast(city: str, days: int) -> list[str]:
    """The weather of the next days."""
    return [city] * days


class Shop:
    names = ("price",)

    def has_tool(self, name: str) -> bool:
        return name in self.names

    def definition(self, name: str) -> FunctionTool:
        return FunctionTool(name=name, parameters={"type": "object", "properties": {"item": {"type": "string"}}})

    def execute(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"item": arguments["item"], "price": 30}


def main() -> None:
    print(registry.names, registry.execute("weather", {"city": "Oslo"}))
    for name, arguments in (("wether", {"city": "Oslo"}), ("forecast", {"city": "Oslo", "days": "two"})):
        try:
            registry.execute(name, arguments)
        except (ToolNotFoundError, ToolArgumentsError) as error:
            print(error.kind)
    wiki = MCP("wiki", "https://wiki.example/mcp", allowed_tools=["search"])
    script = 'call weather {"city": "Oslo"}\ncall price {"item": "skis"}\nsay Buy skis.'
    with Client("simulator/demo") as llm:
        print(llm.generate_with_tools(script, [registry, Shop(), wiki]).output_text)


if __name__ == "__main__":
    main()
