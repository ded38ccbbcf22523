"""Fallback: where one model fails, the next one answers, and a text that broke off is continued.

Usage:
    python examples/fallback.py                                               # a server that is down, then the simulator
    python examples/fallback.py openai/gpt-5.2 anthropic/claude-haiku-4-5     # models in the order in which to try them
"""

import sys

from llm_rest import Client, Fallback, FallbackModel

DOWN = FallbackModel("ollama/qwen3:8b", base_url="http://127.0.0.1:9")  # where nothing listens


def main() -> None:
    """Ask twice; print who answered, and every request that was made for it."""
    models: list[str | FallbackModel] = [*sys.argv[1:]] or [DOWN, "simulator/demo"]
    with Client(Fallback(models, pause=30, midstream=True), retry=1) as llm:
        for question in ("Good morning!", "And again."):
            with llm.stream(question) as stream:
                for piece in stream.text:
                    print(piece, end="", flush=True)
            print()
            for attempt in stream.response.info.attempts:
                print(f"  {attempt.vendor}/{attempt.model}: {attempt.outcome}")


if __name__ == "__main__":
    main()
