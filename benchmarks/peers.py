"""What other libraries cost: `python -m benchmarks.peers` installs each in an environment of its own and measures it.

Printed are the distributions and megabytes that `pip install` brings, the CPU time until there is a client, until its first
answer and of each further call, and the memory then: the least of several processes. The vendor is a server on this machine, in
another process, whose answer is 1 kB. The package index has to be reachable; it takes minutes and is no part of `make bench`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from .calls import server

ROOT = Path(__file__).parents[1]

PEERS = {
    "llm_rest": (
        str(ROOT),
        "from llm_rest import Client; llm = Client('openai/m', wire='openai_chat')",
        "llm.generate('Hi').output_text",
    ),
    "lm15": (
        "lm15",
        "import os; from lm15 import Message, OpenAIChatLM, Request; "
        "lm = OpenAIChatLM(api_key='k', base_url=os.environ['OPENAI_BASE_URL'])",
        "lm.complete(Request(model='m', messages=(Message.user('Hi'),))).text",
    ),
    "openai": (
        "openai",
        "from openai import OpenAI; client = OpenAI()",
        "client.chat.completions.create(model='m', messages=[{'role': 'user', 'content': 'Hi'}]).choices[0].message.content",
    ),
    "anthropic": (
        "anthropic",
        "from anthropic import Anthropic; client = Anthropic()",
        "client.messages.create(model='m', max_tokens=9, messages=[{'role': 'user', 'content': 'Hi'}]).content[0].text",
    ),
    "llm": (
        "llm",
        "import llm, os; model = llm.get_model('gpt-4o'); model.api_base = os.environ['OPENAI_BASE_URL']",
        "model.prompt('Hi', stream=False).text()",
    ),
    "instructor": (
        "instructor",
        "import instructor; client = instructor.from_provider('openai/m')",
        "client.create(response_model=None, messages=[{'role': 'user', 'content': 'Hi'}]).choices[0].message.content",
    ),
    "pydantic-ai": (
        "pydantic-ai-slim[openai]",
        "from pydantic_ai import Agent; agent = Agent('openai-chat:m')",
        "agent.run_sync('Hi').output",
    ),
    "litellm": (
        "litellm",
        "import os; os.environ['LITELLM_LOCAL_MODEL_COST_MAP'] = 'True'; from litellm import completion",
        "completion(model='openai/m', messages=[{'role': 'user', 'content': 'Hi'}]).choices[0].message.content",
    ),
}
"""What to install, the program that makes a client, and the call that gives the text of an answer."""

ROUNDS = 5

MEASURE = """
import sys, time
_start = time.process_time()
exec(sys.argv[1])
_client = time.process_time() - _start
_call = compile(sys.argv[2], "call", "eval")
_answer = eval(_call)
assert isinstance(_answer, str) and _answer, _answer
_first = time.process_time() - _start
_further = []
for _ in range(5):
    _start = time.process_time()
    for _ in range(20):
        eval(_call)
    _further.append((time.process_time() - _start) / 20)
_memory = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(_client, _first, min(_further), int(_memory) / 1024)
"""


def run(python: str, program: str, call: str, url: str) -> list[float]:
    """The seconds of CPU to a client, to its first answer and of a further call, and the megabytes of memory."""
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
        "OPENAI_BASE_URL": f"{url}/v1",
        "ANTHROPIC_BASE_URL": url,
        "OPENAI_API_KEY": "k",
        "ANTHROPIC_API_KEY": "k",
    }
    printed = subprocess.check_output([python, "-c", MEASURE, program, call], env=environment)
    return [float(number) for number in printed.split()[-4:]]


def install(requirement: str, home: str) -> str:
    """Install a library into a new environment; its version, the distributions and the megabytes."""
    venv.create(home, with_pip=False)
    pip = [sys.executable, "-m", "pip", "--python", f"{home}/bin/python", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "install", "--no-compile", requirement], check=True, stderr=subprocess.DEVNULL)
    listed = [path.name.removesuffix(".dist-info").rsplit("-", 1) for path in Path(home).rglob("*.dist-info")]
    size = sum(path.stat().st_size for path in Path(home, "lib").rglob("*") if path.is_file()) / 1e6
    name = "llm_rest" if requirement == str(ROOT) else requirement.partition("[")[0].replace("-", "_")
    return f"{dict(listed)[name]} | {len(listed)} | {size:.1f}"


def main() -> None:
    """Print a table in Markdown."""
    chosen = sys.argv[1:] or list(PEERS)
    found: dict[str, list[list[float]]] = {name: [] for name in chosen}
    with tempfile.TemporaryDirectory() as homes, server() as url:
        installed = {name: install(PEERS[name][0], f"{homes}/{name}") for name in chosen}
        for _ in range(ROUNDS + 1):  # in turn, so that whatever slows the machine slows all of them
            for name in chosen:
                found[name].append(run(f"{homes}/{name}/bin/python", *PEERS[name][1:], url))
    print(
        "| library | version | distributions | MB installed | ms to a client | ms to an answer | ms each call | MB of memory |"
    )
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for name in chosen:
        # The first round writes the compiled modules.
        client, first, further, memory = (min(each) for each in zip(*found[name][1:], strict=True))
        times = f"{client * 1000:.0f} | {first * 1000:.0f} | {further * 1000:.2f} | {memory:.0f}"
        print(f"| `{name}` | {installed[name]} | {times} |")


if __name__ == "__main__":
    main()
