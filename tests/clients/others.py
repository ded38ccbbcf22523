"""Clients that are installed for the occasion, against the gateway in front of a simulated vendor of every wire.

Not part of the test suite, because they download packages (Codex 400 MB):

    python -m tests.clients.others vercel-ai|litellm|anthropic-sdk|claude-code|codex|aider [--keep DIRECTORY] [--only PROVIDER]

needs `pip install -e ".[server]"`, and npm for all but LiteLLM and aider. `--keep` is where a client is installed and found
again. Each is played in every mode, through each of its providers; prints a table, and exits with 1 where one failed. Programs
that add text to what the user says have the script for the simulated vendor between `@@` marks (`marked.py`).
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
from tests.gateway.upstreams import everything

from .marked import Marked

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


# --- Anthropic's SDKs: a text and two turns with a tool, read as `content[0]` ----------------------------------------

FIRST = [{"text": "Hello.", "asked": list[str]()}, *EXPECTED]


def install_anthropic(directory: Path) -> str:
    python = directory / "bin" / "python"
    if not python.exists():
        venv.create(directory, with_pip=True)
        run(python, "-m", "pip", "install", "--quiet", "anthropic")
        run("npm", "install", "--silent", "--prefix", directory, "@anthropic-ai/sdk")
    manifest = json.loads((directory / "node_modules" / "@anthropic-ai" / "sdk" / "package.json").read_text())
    version = run(python, "-c", "import importlib.metadata; print(importlib.metadata.version('anthropic'))")
    return f"anthropic {version} (Python), {manifest['version']} (TypeScript)"


def anthropic(directory: Path, url: str, provider: str, wire: str, mode: str) -> list[str]:
    if provider == "python":
        return [str(directory / "bin" / "python"), str(HERE / "anthropic_turns.py"), url, TOKEN, wire, mode]
    return ["node", str(HERE / "anthropic_turns.mjs"), url, TOKEN, wire, mode]


# --- programs that edit files: what they said last, and what is in the file ------------------------------------------

MADE = "made by a tool\n"


def workplace(directory: Path) -> Path:
    """The empty directory in which a program works."""
    work = directory / "work"
    work.mkdir(exist_ok=True)
    (work / "made.txt").unlink(missing_ok=True)
    return work


def in_file(directory: Path) -> str:
    made = directory / "work" / "made.txt"
    return made.read_text() if made.exists() else "no file"


# --- Claude Code: a text, a task with a shell command, and a wrong token, which has to end soon ----------------------

ASKED = {
    "text": "@@say Hi.@@",
    "task": """@@reason I make the file with a command.
call Bash {"command": "echo made by a tool > made.txt", "description": "Make a file"}
then
say The file is there.@@""",
    "wrong token": "@@say Hi.@@",
}


def install_claude(directory: Path) -> str:
    program = directory / "node_modules" / ".bin" / "claude"
    if not program.exists():
        run("npm", "install", "--silent", "--prefix", directory, "@anthropic-ai/claude-code")
    return run(program, "--version")


def claude(directory: Path, url: str, provider: str, wire: str, mode: str) -> list[str]:
    token = "not-a-token" if mode == "wrong token" else TOKEN
    settings = [f"CLAUDE_CONFIG_DIR={directory / 'home'}", f"ANTHROPIC_BASE_URL={url}", f"ANTHROPIC_AUTH_TOKEN={token}"]
    settings += ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", f"ANTHROPIC_SMALL_FAST_MODEL={wire}"]
    program = str(directory / "node_modules" / ".bin" / "claude")
    options = ["--model", wire, "--allowedTools", "Bash", "--output-format", "json"]
    return ["env", "-C", str(workplace(directory)), *settings, program, "-p", ASKED[mode], *options]


def claude_result(lines: list[Any], directory: Path) -> list[Any]:
    """Its result, or that it is an error, and what is in the file."""
    results = ["an error" if line["is_error"] else line["result"] for line in lines if line.get("type") == "result"]
    return [*results, in_file(directory)]


# --- Codex: a task with a shell command, over HTTP with a provider of its own and over WebSocket with the default one --

TASK = """@@reason I make the file with a command.
call exec_command {"cmd": "echo made by a tool > made.txt"}
then
say The file is there.@@"""
CONFIG = {
    "http": """model = "{model}"
model_provider = "llm_rest"
web_search = "disabled"

[model_providers.llm_rest]
name = "llm_rest"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "CODEX_API_KEY"
""",
    "websocket": """model = "{model}"
openai_base_url = "{url}/v1"
web_search = "disabled"
""",
}


def install_codex(directory: Path) -> str:
    program = directory / "node_modules" / ".bin" / "codex"
    if not program.exists():
        run("npm", "install", "--silent", "--prefix", directory, "@openai/codex")
    return run(program, "--version")


def codex(directory: Path, url: str, provider: str, wire: str, mode: str) -> list[str]:
    home = directory / "home"
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(CONFIG[provider].format(model=wire, url=url))
    program = str(directory / "node_modules" / ".bin" / "codex")
    options = ["exec", "--skip-git-repo-check", "--sandbox", "danger-full-access", "--json"]
    settings = [f"CODEX_HOME={home}", f"CODEX_API_KEY={TOKEN}"]
    return ["env", "-C", str(workplace(directory)), *settings, program, *options, TASK]


def codex_result(lines: list[Any], directory: Path) -> list[Any]:
    """What Codex said last, and what is in the file."""
    said = [line["item"]["text"] for line in lines if line.get("item", {}).get("type") == "agent_message"]
    return [*said[-1:], in_file(directory)]


# --- aider: a file edited, through its OpenAI and its Anthropic models -----------------------------------------------

EDIT = """@@say made.txt
say ```
say made by a tool
say ```@@"""


def install_aider(directory: Path) -> str:
    if not (directory / "bin" / "aider").exists():
        venv.create(directory, with_pip=True)
        run(directory / "bin" / "python", "-m", "pip", "install", "--quiet", "aider-chat")
    return run(directory / "bin" / "aider", "--version").splitlines()[-1]


def aider(directory: Path, url: str, provider: str, wire: str, mode: str) -> list[str]:
    settings = [f"HOME={directory}", f"OPENAI_API_BASE={url}/v1", f"ANTHROPIC_API_BASE={url}"]
    settings += [f"OPENAI_API_KEY={TOKEN}", f"ANTHROPIC_API_KEY={TOKEN}"]
    options = ["--no-git", "--yes-always", "--no-check-update", "--no-show-model-warnings", "--no-analytics"]
    options += ["--edit-format", "whole", "--stream" if mode == "streamed" else "--no-stream"]
    program = [str(directory / "bin" / "aider"), "--model", f"{provider}/{wire}"]
    return ["env", "-C", str(workplace(directory)), *settings, *program, *options, "--message", EDIT, "made.txt"]


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
    "anthropic-sdk": Program(("python", "typescript"), install_anthropic, anthropic, dict.fromkeys(TURNS, FIRST)),
    "claude-code": Program(
        ("claude -p",),
        install_claude,
        claude,
        {
            "text": ["Hi.", "no file"],
            "task": ["The file is there.", MADE],
            "wrong token": ["an error", "no file"],
        },
        claude_result,
    ),
    "codex": Program(("http", "websocket"), install_codex, codex, {"task": ["The file is there.", MADE]}, codex_result),
    "aider": Program(
        ("openai", "anthropic"),
        install_aider,
        aider,
        {mode: [MADE] for mode in TURNS},
        lambda lines, directory: [in_file(directory)],
    ),
}
SECONDS = {"wrong token": 30}
"""The longest time of a mode, else 180 seconds."""


def problem(program: Program, directory: Path, url: str, provider: str, wire: str, mode: str) -> str:
    """What went wrong in one run; empty where the client printed what it should."""
    command = program.command(directory, url, provider, wire, mode)
    environment = {**os.environ, "LITELLM_LOG": "ERROR", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    seconds = SECONDS.get(mode, 180)
    try:
        ran = subprocess.run(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return f"{provider} in front of {wire}, {mode}: not ended after {seconds} seconds"
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
    with tempfile.TemporaryDirectory() as scratch, serve_in_thread(Marked()) as upstream:
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
