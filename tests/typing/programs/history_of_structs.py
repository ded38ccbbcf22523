"""The same with structs: `Item` is the type of what a history holds, and the output of a call follows its call.

Prints:

    Four degrees. ['message', 'function_call', 'function_call_output', 'message']
"""

from __future__ import annotations

import asyncio
import json
from typing import assert_type

from llm_rest import AsyncClient, FunctionCallOutput, FunctionTool, Item, Message

WEATHER = FunctionTool(
    name="weather",
    description="The weather in a city.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


async def main() -> None:
    question = 'call weather {"city": "Oslo"}\nsay Four degrees.'
    history: list[Item] = [Message(role="user", content=question)]
    async with AsyncClient("simulator/demo") as llm:
        while True:
            reply = await llm.generate(history, tools=[WEATHER])
            assert_type(reply.output, list[Item])
            history += reply.output
            if not reply.function_calls:
                break
            for call in reply.function_calls:
                city: str = call.parsed_arguments["city"]
                output = json.dumps({"city": city, "celsius": 4})
                history.append(FunctionCallOutput(call_id=call.call_id, output=output))
    print(reply.output_text, [item.type for item in history])


if __name__ == "__main__":
    asyncio.run(main())
