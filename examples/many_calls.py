"""A hundred calls at the same time, at most ten in flight, with retries and a callback that shows them.

Usage:
    python examples/many_calls.py                  # the simulator
    python examples/many_calls.py openai/gpt-5.2   # a real model
"""

from __future__ import annotations

import asyncio
import sys
import time

from llm_rest import AsyncClient, ClientEvent, Failure, Reply, RetryPolicy


def show_retry(event: ClientEvent) -> None:
    """Print each retry, with its reason and delay in seconds."""
    if event.type == "request:retry":
        print(f"retry after {event.wait:.1f} s: {event.reason}")


async def main() -> None:
    """Ask a hundred questions and count what came of them."""
    model = sys.argv[1] if len(sys.argv) > 1 else "simulator/demo"
    questions = [f"What is {n} times {n}?" for n in range(99)] + ["fail 500 This one fails."]
    retry = RetryPolicy(attempts=2, base_delay=0.1)
    started = time.monotonic()
    async with AsyncClient(model, retry=retry, max_connections=10, on_event=show_retry) as llm:
        found = await asyncio.gather(*(llm.try_generate(question) for question in questions))
    answers = [one for one in found if isinstance(one, Reply)]
    tokens = sum(one.usage.total_tokens for one in answers if one.usage)
    print(f"{len(answers)} answers, {tokens} tokens, {time.monotonic() - started:.1f} s")
    for one in found:
        if isinstance(one, Failure):
            print(f"failed: {one.description} ({len(one.error.attempts)} requests)")


if __name__ == "__main__":
    asyncio.run(main())
