"""`ContentGenerator`: a prompt turn after turn, with fixed context, providers, tools and a typed value.

Prints:

    Museum 1
    Beach
    ['system', 'user', 'user', 'assistant', 'user', 'assistant', 'user', 'user', 'assistant']
    UNTIL 17.
    Stay in. 3
"""

from __future__ import annotations

import asyncio
from typing import assert_type

from msgspec import Struct

from llm_rest import AsyncClient, AsyncContentGenerator, Client, ContentGenerator, Message, PromptContext, user


class Outing(Struct):
    name: str


def opening_hours(place: str) -> str:
    """When a place is open."""
    return f"{place}: 9 to 17"


async def forecast() -> tuple[str, str]:
    return ("human", "It will rain.")


def main() -> None:
    context = PromptContext([("system", "You plan outings.")], [lambda: "It rains."])
    with Client("simulator/demo") as llm:
        planner = ContentGenerator(llm, 'say {"name": "Museum"}', Outing, context=context, temperature=0.5)
        value, metadata = planner.generate()
        assert_type(value, Outing)
        print(value.name, metadata["api_calls"])
        planner.add_context("It got late.", ("agent", "Noted."))
        question: list[Message] = [user('say {"name": "Beach"}')]
        print(planner.generate(question)[0].name)
        print([item.role for item in planner.history if item.type == "message"])
        script = 'call opening_hours {"place": "Museum"}\nsay Until 17.'
        text, _ = ContentGenerator(llm, script, str, tools=[opening_hours], max_iterations=3).generate()
        print(text.upper())


async def later() -> None:
    async with AsyncClient("simulator/demo") as llm:
        generator = AsyncContentGenerator(llm, "say Stay in.", str)
        generator.add_context_provider(forecast)
        text, _ = await generator.generate()
        print(text, len(generator.history))


if __name__ == "__main__":
    main()
    asyncio.run(later())
