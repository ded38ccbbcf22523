"""Clients that are installed for the occasion, against the gateway in front of a simulated vendor of every wire.

Not part of the test suite, because they download packages (Codex 400 MB):

    python -m tests.clients.others vercel-ai|litellm|codex [--keep DIRECTORY] [--only PROVIDER]

needs `pip install -e ".[server]"`, and npm for Codex and the Vercel AI SDK. `--keep` is where a client is installed and found
again. Each has a tool called in every mode, through each of its providers; prints a table, and exits with 1 where one failed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from llm_rest import wires
from llm_rest.server.access import AccessControl
from llm_rest.server.app import serve_in_thread
from llm_rest.server.gateway import Gateway
from llm_rest.server.history import StoredHistory
from llm_rest.simulator import Simulator
from tests.gateway.upstreams import everything

HERE = Path(__file__).parent
TOKEN = "a-token-for-this-client-alone"
EXPECTED = [{"text": "Rain in Oslo.", "asked": ["Oslo"]}, {"text": "Rain in Bergen, too.", "asked": ["Oslo", "Bergen"]}]


class Program(NamedTuple):
    """A client: its providers, how it is installed (its version), the command of one run, and what that prints, by mode."""

    providers: tuple[str, ...]
    install: Callable[[Path], str]
    command: Callable[[Path, str, str, str, str], list[str]]
    modes: dict[str, list[Any]]
    printed: Callable[[list[Any], Path], list[Any]] = lambda lines, directory: lines


def run(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


# --- Vercel AI SDK: two turns with a tool, and a broken stream, which the SDK has to raise ---------------------------

PACKAGES = ("ai", "@ai-sdk/openai", "@ai-sdk/anthropic", "@ai-sdk/google", "zod")


def install_vercel(directory: Path) -> str:
    if not (directory / "node_modules" / "ai").exists():
        run("npm", "install", "--silent", "--prefix", directory, *PACKAGES)
    manifests = (directory / "node_modules" / name / "package.json" for name in PACKAGES[:-1])
    return ", ".join(f"{m['name']} {m['version']}" for m in map(json.loads, (path.read_text() for path in manifests)))


def vercel(directory: Path, url: str, provider: str, wire: str, mode: str) -> list[str]:
    return ["node", str(HERE / "vercel_ai.mjs"), url, TOKEN, provider, wire, mode]


# --- LiteLLM: two turns with a tool; `mcp` is imported by it and not declared ----------------------------------------


def install_litellm(directory: Path) -> str:
    python = directory / "bin" / "python"
    if not (directory / "bin" / "litellm").exists():
        venv.create(directory, with_pip=True)
        run(python, "-m", "pip", "install", "--quiet", "litellm", "mcp")
    return run(python, "-c", "import importlib.metadata; print('litellm', importlib.metadata.version('litellm'))")


def litellm(directory: Path, url: str, provider: str, wire: str, mode: str) -> list[str]:
    return [str(directory / "bin" / "python"), str(HERE / "litellm_turns.py"), url, TOKEN, provider, wire, mode]


# --- Codex: one task with a shell command, whose file must be there in the end ---------------------------------------

TASK = """reason I make the file with a command.
call exec_command {"cmd": "echo made by a tool > made.txt"}
then
say The file is there."""
CONFIG = """model = "{model}"
model_provider = "llm_rest"
web_search = "disabled"

[model_providers.llm_rest]
name = "llm_rest"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "GATEWAY_TOKEN"
"""


def install_codex(directory: Path) -> str:
    program = directory / "node_modules" / ".bin" / "codex"
    if not program.exists():
        run("npm", "install", "--silent", "--prefix", directory, "@openai/codex")
    return run(program, "--version")


def codex(directory: Path, url: str, provider: str, wire: str, mode: str) -> list[str]:
    home, work = directory / "home", directory / "work"
    home.mkdir(exist_ok=True)
    work.mkdir(exist_ok=True)
    (work / "made.txt").unlink(missing_ok=True)
    (home / "config.toml").write_text(CONFIG.format(model=wire, url=url))
    program = str(directory / "node_modules" / ".bin" / "codex")
    options = ["exec", "--skip-git-repo-check", "--sandbox", "danger-full-access", "--json"]
    return ["env", "-C", str(work), f"CODEX_HOME={home}", f"GATEWAY_TOKEN={TOKEN}", program, *options, TASK]


def done(lines: list[Any], directory: Path) -> list[Any]:
    """What Codex said last, and what is in the file."""
    said = [line["item"]["text"] for line in lines if line.get("item", {}).get("type") == "agent_message"]
    made = directory / "work" / "made.txt"
    return [*said[-1:], made.read_text() if made.exists() else "no file"]


TURNS = {"whole": EXPECTED, "streamed": EXPECTED}
PROGRAMS = {
    "vercel-ai": Program(
        ("openai.responses", "openai.chat", "anthropic", "google"),
        install_vercel,
        vercel,
        {**TURNS, "broken": [{"text": "Hello.", "raised": True}]},
    ),
    "litellm": Program(
        ("openai", "openai/responses", "anthropic", "gemini", "ollama_chat"), install_litellm, litellm, TURNS
    ),
    "codex": Program(("codex",), install_codex, codex, {"task": ["The file is there.", "made by a tool\n"]}, done),
}


def problem(program: Program, directory: Path, url: str, provider: str, wire: str, mode: str) -> str:
    """What went wrong in one run; empty where the client printed what it should."""
    command = program.command(directory, url, provider, wire, mode)
    environment = {**os.environ, "LITELLM_LOG": "ERROR", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    ran = subprocess.run(
        command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180
    )
    lines = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    printed = program.printed(lines, directory)
    if printed == program.modes[mode]:
        return ""
    return f"{provider} in front of {wire}, {mode}: {printed[-1:]} {ran.stderr.strip()[-1200:]}"


def main() -> int:
    """Play every mode with every provider of a client in front of every wire."""
    parser = argparse.ArgumentParser(description="Clients that are installed for the occasion, against the gateway.")
    parser.add_argument("client", choices=PROGRAMS)
    parser.add_argument("--keep", type=Path, help="where the client is installed; a temporary directory otherwise")
    parser.add_argument("--only", help="one provider")
    options = parser.parse_args()
    program, failures = PROGRAMS[options.client], list[str]()
    with tempfile.TemporaryDirectory() as scratch, serve_in_thread(Simulator()) as upstream:
        directory = (options.keep or Path(scratch)).resolve()
        directory.mkdir(parents=True, exist_ok=True)
        print(f"installing in {directory} ...", file=sys.stderr)
        version = program.install(directory)
        gateway = Gateway(everything(upstream), history=StoredHistory())
        with serve_in_thread(gateway, access=AccessControl(tokens={"client": TOKEN})) as url:
            print(f"{version} -> gateway -> simulated vendor")
            print(f"{'':<18}" + "".join(f"{wire:<26}" for wire in wires.NAMES))
            for provider in [options.only] if options.only else program.providers:
                cells: list[str] = []
                for wire in wires.NAMES:
                    found = [problem(program, directory, url, provider, wire, mode) for mode in program.modes]
                    failures += filter(None, found)
                    cells.append("FAILED" if any(found) else "works")
                print(f"{provider:<18}" + "".join(f"{cell:<26}" for cell in cells), flush=True)
    print(*failures, sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
