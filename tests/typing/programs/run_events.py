"""Watching a run: its events by `event.type`, the text of its answers, and an approval that takes its time.

Prints:

    tool:executing
    tool:executing
    weather: 4 degrees
    weather: weather failed with KeyError: 'Atlantis'
    completed 1
    Oslo
    Atlantis
    Cold| in |Oslo|.|Cold in Oslo.
"""

from __future__ import annotations

import asyncio
from typing import assert_type

from llm_rest import AnyLoopEvent, AsyncClient, CallCompleted, CallFailed, ToolCall, tool

SCRIPT = 'call weather {"city": "Oslo"}\ncall weather {"city": "Atlantis"}\nsay Cold in Oslo.'


@tool(needs_approval=True)
async def weather(city: str) -> str:
    """The weather in a city."""
    if city != "Oslo":
        raise KeyError(city)
    return "4 degrees"


async def approve(call: ToolCall) -> bool:
    await asyncio.sleep(0)
    return call.name == "weather"


def about(event: AnyLoopEvent) -> str:
    if event.type == "tool:completed":
        assert_type(event, CallCompleted)
        return f"{event.call.name}: {event.call.output}"
    if event.type == "tool:failed":
        assert_type(event, CallFailed)
        return f"{event.call.name}: {event.call.error}"
    if event.type == "llm:response":
        return event.response.output_text
    if event.type == "run:end":
        return event.outcome
    return event.type


async def main() -> None:
    async with AsyncClient("simulator/demo") as llm:
        run = llm.run(SCRIPT, [weather], approve=approve, max_iterations=5)
        async with run.events() as events:
            print(*sorted([about(event) async for event in events if event.type.startswith("tool:")]), sep="\n")
        print(run.state.outcome, run.statistics.failed)
        async with llm.run(SCRIPT, [weather], approve=approve).stream() as stream:
            async for event in stream:
                if event.type == "response.output_text.delta":
                    print(event.delta, end="|")
                elif event.type == "tool:executing":
                    print(event.call.parsed_arguments["city"])
        async with llm.run(SCRIPT, [weather], approve=approve).stream() as stream:
            print("".join([text async for text in stream.text]))


if __name__ == "__main__":
    asyncio.run(main())
