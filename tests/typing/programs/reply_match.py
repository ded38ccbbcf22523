"""Reading a reply with `match`: items, parts and open values by their classes.

Prints:

    thought: Easy.
    Hello.
    greet {"name": "Ada"}
    something new: telepathy
"""

from __future__ import annotations

import asyncio

from llm_rest import AsyncClient, FunctionCall, Item, Message, Reasoning, Unknown
from llm_rest.responses import OutputText, RefusalPart


def shown(item: Item) -> str:
    match item:
        case Message(role="assistant", content=str(text)):
            return text
        case Message(content=[OutputText(text=text), *_]):
            return text
        case Message(content=[RefusalPart(refusal=words)]):
            return f"refused: {words}"
        case FunctionCall(name=name, arguments=arguments):
            return f"{name} {arguments}"
        case Reasoning(summary=[first, *_]):
            return f"thought: {first.text}"
        case Unknown():
            return f"something new: {item.kind}"
        case _:
            return item.type


async def main() -> None:
    async with AsyncClient("simulator/demo") as llm:
        reply = await llm.generate('reason Easy.\nsay Hello.\ncall greet {"name": "Ada"}')
        print(*map(shown, reply.output), sep="\n")
        print(shown(Unknown({"type": "telepathy"})))


if __name__ == "__main__":
    asyncio.run(main())
