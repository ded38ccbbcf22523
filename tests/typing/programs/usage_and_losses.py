"""What an answer cost and how it was obtained: token counts, attempts, seconds, losses, and plain data for a log.

Prints:

    True
    seed dropped - Anthropic has no such option
    DEMO True ['200']
    True ['created_at', 'id']
    True
    ['seed']
"""

from __future__ import annotations

from typing import assert_type

import msgspec

from llm_rest import Client, Loss, LossError, Reply, Usage


def total(replies: list[Reply]) -> int:
    tokens = 0
    for reply in replies:
        if reply.usage:  # `None` where a host gives no counts
            assert_type(reply.usage, Usage)
            tokens += reply.usage.total_tokens + 1
            details = reply.usage.input_tokens_details
            tokens -= (details.cached_tokens or 0) if details else 0
    return tokens


def main() -> None:
    with Client("simulator/demo", wire="anthropic_messages", on_loss="ignore") as llm:
        replies = [llm.generate(f"say {word}.", seed=7) for word in ("One", "Two")]
        print(total(replies) > 2)
        reply = replies[0]
        assert_type(reply.losses, list[Loss])
        for loss in reply.losses:
            print(loss.path, loss.kind, "-", loss.what)
        print(reply.model.upper(), reply.info.duration >= 0.0, [attempt.outcome for attempt in reply.info.attempts])
        print(int(reply.info.metadata["total_tokens"]) > 0, sorted(reply.to_dict())[:2])
        print(len(msgspec.json.encode(reply.to_dict())) > 100)
        try:
            llm.generate("Hi", seed=7, on_loss="raise")
        except LossError as error:
            print([loss.path for loss in error.losses])


if __name__ == "__main__":
    main()
