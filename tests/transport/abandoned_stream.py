"""A stream that is left after a long text, in a process of its own that says by how much it grew.

Arguments: how to call, the model and its options as JSON, the base URL, and how many characters are read.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import anyio

from llm_rest import AsyncClient, Client
from tests.transport.endless_answers import peak


async def main(way: str, *given: str) -> dict[str, int]:
    """How many characters were handed out before the stream was left, and by how many bytes the process grew at most."""
    model, options, url, most = given
    kind: Any = Client if way == "sync" else AsyncClient
    llm = kind(model, base_url=url, retry=1, timeout=120, **json.loads(options))
    seen = 0

    def enough(event: Any) -> bool:
        nonlocal seen
        seen += len(getattr(event, "delta", ""))
        return seen >= limit

    before = limit = 0
    for each in (1, int(most)):
        limit, seen = each, 0
        if way == "sync":
            with llm.stream("Hi") as events:
                for event in events:
                    if enough(event):
                        break
        else:
            async with llm.stream("Hi") as events:
                async for event in events:
                    if enough(event):
                        break
        before = before or peak()  # once everything is loaded
    grew = peak() - before
    return {"seen": seen, "kept": len(events.response.output_text), "grew": grew}


if __name__ == "__main__":
    backend = "trio" if sys.argv[1] == "trio" else "asyncio"
    print(json.dumps(anyio.run(main, sys.argv[1], *sys.argv[2:], backend=backend)))
