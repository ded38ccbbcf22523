"""What importing costs, in a fresh interpreter each time, against importing the three dependencies.

Measured in a clean environment with the base install only: where trio, rich or h2 are installed, httpx loads them too, and
neither the floor nor we look as they do at a user's.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from .measure import Result

ROOT = Path(__file__).parents[1]
FLOOR = "import httpx, msgspec, anyio"
STATEMENTS = [
    ("import llm_rest", "import llm_rest", 0.6),
    ("import a converter", "import llm_rest.wires.anthropic_messages", 0.6),
    ("import Client", "from llm_rest import Client", None),
    ("import and build a Client", "from llm_rest import Client; Client('openai/gpt-5.1', api_key='sk-bench')", 1.6),
]


@contextmanager
def clean_environment() -> Iterator[Path]:
    """The interpreter of a new environment that holds the base install."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=False)
        python = Path(folder) / "bin/python"
        pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", str(ROOT)]
        subprocess.run(pip, check=True)
        yield python


def seconds(python: Path, statement: str) -> float:
    """CPU seconds that `statement` takes in a new interpreter."""
    code = f"import time\nstart = time.process_time()\n{statement}\nprint(time.process_time() - start)"
    done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def results(rounds: int) -> list[Result]:
    """The statements against the floor, interleaved."""
    floors: list[float] = []
    ours: list[list[float]] = [[] for _ in STATEMENTS]
    with clean_environment() as python:
        for _, statement, _ in STATEMENTS:
            seconds(python, statement)  # the first import reads everything from the disk
        for _ in range(rounds):
            floors.append(seconds(python, FLOOR))
            for into, (_, statement, _) in zip(ours, STATEMENTS, strict=True):
                into.append(seconds(python, statement))
    return [
        Result(name, median(floors), median(mine), median(m / f for m, f in zip(mine, floors, strict=True)), target)
        for (name, _, target), mine in zip(STATEMENTS, ours, strict=True)
    ]
