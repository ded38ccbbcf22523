"""What other libraries cost before the first call: `python -m benchmarks.peers` installs each in an environment of its own.

Printed are the distributions and megabytes that `pip install` brings, and the CPU time and memory until there is a client, as
medians over fresh processes. The package index has to be reachable; it takes some minutes and is no part of `make bench`.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]

PEERS = {
    "llm_rest": (str(ROOT), "from llm_rest import Client; Client('openai/m', api_key='k')"),
    "lm15": ("lm15", "from lm15 import OpenAILM; OpenAILM(api_key='k')"),
    "openai": ("openai", "from openai import OpenAI; OpenAI(api_key='k')"),
    "anthropic": ("anthropic", "from anthropic import Anthropic; Anthropic(api_key='k')"),
    "llm": ("llm", "import llm; llm.get_model('gpt-4o')"),
    "instructor": ("instructor", "import instructor; instructor.from_provider('openai/m', api_key='k')"),
    "pydantic-ai": (
        "pydantic-ai-slim[openai]",
        "import os; os.environ['OPENAI_API_KEY'] = 'k'; from pydantic_ai import Agent; Agent('openai:m')",
    ),
    "litellm": (
        "litellm",
        "import os; os.environ['LITELLM_LOCAL_MODEL_COST_MAP'] = 'True'; from litellm import completion",
    ),
}
"""What to install, and the program that makes a client."""

MEASURE = """
import resource, sys, time
start = time.process_time()
exec(sys.argv[1])
print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def measured(requirement: str, program: str, rounds: int) -> tuple[str, int, float, float, float]:
    """The version, the distributions, the megabytes, the milliseconds and the megabytes of memory of a library."""
    with tempfile.TemporaryDirectory() as home:
        venv.create(home, with_pip=False)
        python = f"{home}/bin/python"
        pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "--quiet"]
        subprocess.run([*pip, "install", "--no-compile", requirement], check=True, stderr=subprocess.DEVNULL)
        listed = [path.name.removesuffix(".dist-info").rsplit("-", 1) for path in Path(home).rglob("*.dist-info")]
        files = [path for path in Path(home, "lib").rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files) / 1e6
        found = [
            [float(number) for number in subprocess.check_output([python, "-c", MEASURE, program]).split()[-2:]]
            for _ in range(rounds + 1)
        ][1:]  # the first one writes the caches
        name = "llm_rest" if requirement == str(ROOT) else requirement.partition("[")[0].replace("-", "_")
        version = dict(listed)[name]
        seconds, memory = (statistics.median(each) for each in zip(*found, strict=True))
        return version, len(listed), size, seconds * 1000, memory


def main() -> None:
    """Print a table in Markdown."""
    chosen = sys.argv[1:] or list(PEERS)
    print(
        "| library | version | distributions | MB installed | ms of CPU to a client | MB of memory |\n|---|---|--:|--:|--:|--:|"
    )
    for name in chosen:
        version, count, size, milliseconds, memory = measured(*PEERS[name], rounds=7)
        print(f"| `{name}` | {version} | {count} | {size:.1f} | {milliseconds:.0f} | {memory:.0f} |", flush=True)


if __name__ == "__main__":
    main()
