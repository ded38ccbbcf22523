"""Many calls at once under a rate limit: they wait instead of failing, and the program sees for what.

Usage:
    python examples/rate_limits.py                                  # the simulator
    python examples/rate_limits.py anthropic/claude-haiku-4-5       # a vendor, whose limits are learned from its headers
"""

import asyncio
import sys
from collections import Counter

from llm_rest import AsyncClient, RateLimit, RateLimitWait


async def main(model: str = "simulator/demo") -> None:
    """Ask 20 questions at once; print who waited for what, and what is known about the limits."""
    limit = RateLimit(rpm=600, concurrency=4) if model == "simulator/demo" else RateLimit()
    waits: Counter[str] = Counter()

    def watch(event: object) -> None:
        if isinstance(event, RateLimitWait):
            waits[event.reason] += 1

    async with AsyncClient(model, rate_limit=limit, on_event=watch) as llm:
        replies = await asyncio.gather(*(llm.generate(f"Question {n}") for n in range(20)))
    print(f"{len(replies)} answers")
    for reason, count in waits.items():
        print(f"{count} requests waited for: {reason}")
    for known in limit.status():
        for name, (left, most) in known.limits.items():
            print(f"{known.vendor}/{known.model}: {name}: {left:.0f} of {most:.0f} left")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
