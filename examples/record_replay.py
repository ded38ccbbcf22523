"""Record the traffic of a client once, then replay it without a network, also with faults.

Usage:
    python examples/record_replay.py [model] [file]    # such as openai/gpt-5.2 and talk.jsonl
"""

import sys
import tempfile
from pathlib import Path

from llm_rest import Client, LLMError
from llm_rest.testing import Fault, record, replay


def ask(model: str) -> str:
    """The program under test."""
    with Client(model, retry=1) as llm:
        return llm.generate_text("say Good morning.")


def main(model: str = "simulator/demo", file: str = "") -> None:
    """Record, replay, and replay an answer that breaks off."""
    with tempfile.TemporaryDirectory() as folder:
        cassette = file or str(Path(folder) / "talk.jsonl")
        with record(cassette):
            print("recorded:", ask(model))
        with replay(cassette):
            print("replayed:", ask(model))
        with replay(cassette, faults=[Fault(cut=40)]):
            try:
                ask(model)
            except LLMError as error:
                print("cut off: ", type(error).__name__)


if __name__ == "__main__":
    main(*sys.argv[1:])
