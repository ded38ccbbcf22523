"""An answer cache in a file: the same request is answered without the vendor, and costs nothing.

Usage:
    python examples/answer_cache.py [model] [file]    # such as openai/gpt-5.2 and answers.db
"""

import sys

from llm_rest import AnswerCache, Client


def main(model: str = "simulator/demo", file: str = ":memory:") -> None:
    """Ask the same twice, then something else."""
    cache = AnswerCache(file, max_age=86_400)
    with Client(model, cache=cache) as llm:
        for prompt in ("say Hello.", "say Hello.", "say Bye."):
            reply = llm.generate(prompt)
            print(reply.output_text, "from the cache" if reply.info.cached else f"{len(reply.info.attempts)} request")
    cache.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
