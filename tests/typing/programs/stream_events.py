"""Streaming: the events by `event.type`, the text alone, and the whole reply at the end.

Prints:

    Good| mor|ning|.|{"na~me":~ "Ad~a"}~{'name': 'Ada'}
    tool_calls
    ['message', 'function_call']
    Good| eve|ning|.|Good evening.
"""

from __future__ import annotations

import asyncio
from typing import assert_type

from llm_rest import AsyncClient, Client, Reply
from llm_rest.responses import FunctionCallArgumentsDelta, OutputTextDelta


def main() -> None:
    with Client("simulator/demo") as llm, llm.stream('say Good morning.\ncall greet {"name": "Ada"}') as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                assert_type(event, OutputTextDelta)
                print(event.delta, end="|")
            elif event.type == "response.function_call_arguments.delta":
                assert_type(event, FunctionCallArgumentsDelta)
                print(event.delta, end="~")
            elif event.type == "response.output_item.done":
                if event.item and event.item.type == "function_call":
                    print(event.item.parsed_arguments)
            elif event.type == "response.completed":
                print(event.response.stop_reason)
            elif event.type == "unknown":
                print("new:", event.kind)
    assert_type(stream.response, Reply)
    print([item.type for item in stream.response.output])


async def later() -> None:
    async with AsyncClient("simulator/demo") as llm, llm.stream("say Good evening.") as stream:
        async for text in stream.text:
            assert_type(text, str)
            print(text, end="|")
        print(stream.response.output_text)


if __name__ == "__main__":
    main()
    asyncio.run(later())
