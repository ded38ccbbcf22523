"""Tools that need objects of the program: `ToolContext[Shop]`, and `deps=` of the run; also in a test without a model.

Prints:

    Thank you. ['skis']
    30.0
    Thank you. ['30.0', 'sold skis']
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import assert_type

from llm_rest import AsyncClient, Client, ToolContext, tool


@dataclass
class Shop:
    prices: dict[str, float]
    sold: list[str] = field(default_factory=list[str])


@tool
def price(item: str, context: ToolContext[Shop]) -> float:
    """The price of an item."""
    assert_type(context.deps, Shop)
    return context.deps.prices[item]


@tool
async def sell(item: str, context: ToolContext[Shop]) -> str:
    """Sell an item."""
    context.deps.sold.append(item)
    return f"{context.call_id and 'sold'} {item}"


def main() -> None:
    shop = Shop({"skis": 30.0})
    script = 'call price {"item": "skis"}\ncall sell {"item": "skis"}\nsay Thank you.'
    with Client("simulator/demo") as llm:
        print(llm.generate_with_tools(script, [price, sell], deps=shop).output_text, shop.sold)
    print(price("skis", context=ToolContext(deps=shop)))
    asyncio.run(later(script, shop))


async def later(script: str, shop: Shop) -> None:
    async with AsyncClient("simulator/demo") as llm:
        run = llm.run(script, [price, sell], deps=shop)
        print((await run.result()).output_text, [call.output for call in run.calls])


if __name__ == "__main__":
    main()
