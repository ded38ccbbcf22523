"""Calls whose answers have no end, in a process of its own that says what became of each and by how much it grew.

Arguments: how to call, the base URL of a server that answers by the model's name, and the models.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio

from llm_rest import AsyncClient, Client, LLMError


def peak() -> int:
    """The most bytes that this process held so far. (`getrusage` would include those of the process that started it.)"""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


async def ask(llm: Any, model: str) -> None:
    """One call, as a stream where the model's name says so."""
    if not model.endswith("stream"):
        found = llm.generate("Hi", model=model)
        if isinstance(llm, AsyncClient):
            await found
    elif isinstance(llm, Client):
        with llm.stream("Hi", model=model) as events:
            for _ in events:
                pass
    else:
        async with llm.stream("Hi", model=model) as events:
            async for _ in events:
                pass


async def main(way: str, url: str, *models: str) -> dict[str, object]:
    """The error of each call, and by how many bytes the process grew at most."""
    kind: Any = Client if way == "sync" else AsyncClient
    llm = kind(models[0], api_key="sk-0123456789", base_url=url, retry=1, timeout=120)
    found: dict[str, object] = {}
    before = 0
    for model in models:
        try:
            await ask(llm, model)
            found[model] = "ok"
        except LLMError as error:
            found[model] = f"{type(error).__name__} {error.status}"
        before = before or peak()  # once everything is loaded
    return {**found, "grew": peak() - before}


if __name__ == "__main__":
    backend = "trio" if sys.argv[1] == "trio" else "asyncio"
    print(json.dumps(anyio.run(main, sys.argv[1], sys.argv[2], *sys.argv[3:], backend=backend)))
