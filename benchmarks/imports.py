"""What importing costs, in a fresh interpreter each time, against importing the three dependencies."""

from __future__ import annotations

import subprocess
import sys
from statistics import median

from .measure import Result

FLOOR = "import httpx, msgspec, anyio"
STATEMENTS = [
    ("import llm_rest", "import llm_rest", 0.6),
    ("import a converter", "import llm_rest.wires.anthropic_messages", 0.6),
    ("import Client", "from llm_rest import Client", None),
    ("import and build a Client", "from llm_rest import Client; Client('openai/gpt-5.1', api_key='sk-bench')", 1.6),
]


def seconds(statement: str) -> float:
    """CPU seconds that `statement` takes in a new interpreter."""
    code = f"import time\nstart = time.process_time()\n{statement}\nprint(time.process_time() - start)"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def results(rounds: int) -> list[Result]:
    """The statements against the floor, interleaved."""
    for _, statement, _ in STATEMENTS:
        seconds(statement)  # the first import writes bytecode
    floors: list[float] = []
    ours: list[list[float]] = [[] for _ in STATEMENTS]
    for _ in range(rounds):
        floors.append(seconds(FLOOR))
        for into, (_, statement, _) in zip(ours, STATEMENTS, strict=True):
            into.append(seconds(statement))
    return [
        Result(
            name,
            median(floors),
            median(mine),
            median(m / f for m, f in zip(mine, floors, strict=True)),
            target,
        )
        for (name, _, target), mine in zip(STATEMENTS, ours, strict=True)
    ]
