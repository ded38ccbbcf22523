"""Tools without the loop: plain functions and `@tool`s in `tools=`, the calls of the reply, and their outputs sent back.

Prints:

    weather 4 °C in Oslo
    add 3
    Done.
"""

from __future__ import annotations

from typing import Any, Literal, assert_type

from llm_rest import Client, FunctionCallOutput, InputItem, tool


def weather(city: str, unit: Literal["C", "F"] = "C") -> str:
    """The weather in a city."""
    return f"4 °{unit} in {city}"


@tool(name="add", needs_approval=False)
def plus(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def main() -> None:
    assert_type(plus(1, b=2), int)
    script = 'call weather {"city": "Oslo"}\ncall add {"a": 1, "b": 2}\nsay Done.'
    history: list[InputItem] = [script]
    with Client("simulator/demo") as llm:
        reply = llm.generate(history, tools=[weather, plus, {"type": "web_search"}], tool_choice="auto")
        history += reply.output
        for call in reply.function_calls:
            given: dict[str, Any] = call.parsed_arguments
            output = weather(**given) if call.name == "weather" else str(plus.call(given))
            print(call.name, output)
            history.append(FunctionCallOutput(call_id=call.call_id, output=output))
        print(llm.generate_text(history, tools=[weather, plus, {"type": "web_search"}]))


if __name__ == "__main__":
    main()
