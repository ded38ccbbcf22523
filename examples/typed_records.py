"""Typed output: a text becomes a list of records, each printed as soon as it is complete.

Usage:
    python examples/typed_records.py                  # the simulator
    python examples/typed_records.py openai/gpt-5.2   # a real model
"""

from __future__ import annotations

import sys
from typing import Annotated

from msgspec import Meta, Struct

from llm_rest import Client

TEXT = "Ada Lovelace was born in London in 1815, Grace Hopper in New York in 1906."

SCRIPT = """say {"value": [{"name": "Ada Lovelace", "born": 1815, "place": "London"}, \
{"name": "Grace Hopper", "born": 1906, "place": "New York"}]}"""
"""What the simulator answers."""


class Person(Struct):
    """A person in the text."""

    name: str
    born: Annotated[int, Meta(ge=1000, le=2100, description="Year of birth")]
    place: str | None = None


def main() -> None:
    """Extract the people of a text."""
    model = sys.argv[1] if len(sys.argv) > 1 else "simulator/demo"
    prompt = SCRIPT if model.startswith("simulator/") else f"List the people in this text.\n\n{TEXT}"
    with Client(model) as llm, llm.stream_json(prompt, list[Person]) as stream:
        for person in stream.elements():
            print(f"{person.name}, {person.born}, {person.place or 'unknown'}")


if __name__ == "__main__":
    main()
