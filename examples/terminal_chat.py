"""A chat in a terminal, streamed, with a tool; Ctrl-C ends an answer, Ctrl-D the chat.

Usage:
    python examples/terminal_chat.py                  # the simulator: repeats what you write
    python examples/terminal_chat.py openai/gpt-5.2   # a real model
"""

from __future__ import annotations

import sys
from datetime import datetime

from llm_rest import Client, LLMError, tool


@tool
def now() -> str:
    """The current date and time."""
    return datetime.now().astimezone().isoformat(timespec="minutes")


def main() -> None:
    """Read a line, print the answer while it is streamed, until the input ends."""
    model = sys.argv[1] if len(sys.argv) > 1 else "simulator/demo"
    with Client(model) as llm:
        chat = llm.chat(system="Be brief.", tools=[now], keep_partial=True)
        while True:
            try:
                text = input("> ")
            except EOFError:
                return
            try:
                with chat.stream(text) as stream:
                    for piece in stream.text:
                        print(piece, end="", flush=True)
            except KeyboardInterrupt:
                print(" [cancelled]", end="")
            except LLMError as error:  # the conversation is as it was before this turn
                print(f"error: {error}", end="")
            print()


if __name__ == "__main__":
    main()
