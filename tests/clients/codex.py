"""The Codex command line against the gateway: one task with a shell command in it, in front of several simulated vendors.

Not part of the test suite, because it installs a program of 400 MB from the npm registry:

    python tests/clients/codex.py [--keep DIRECTORY]

needs npm, and `pip install -e ".[server]"`. `--keep` is where Codex is installed and found again. For each vendor it starts a
simulated one, a gateway in front of it, and `codex exec` with a home of its own and `wire_api = "responses"`; the simulated model
asks for a shell command, whose file must be there in the end. Exits with 1 where one is not.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from llm_rest.server.access import AccessControl
from llm_rest.server.app import serve_in_thread
from llm_rest.server.config import Config, Upstream
from llm_rest.server.gateway import Gateway
from llm_rest.server.history import StoredHistory
from llm_rest.simulator import Simulator

WIRES = ("openai_responses", "openai_chat", "anthropic_messages", "ollama_chat", "gemini_generate_content")
TOKEN = "a-token-for-codex-alone"
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


def codex(directory: Path) -> Path:
    """The program, installed where it is not yet."""
    found = directory / "node_modules" / ".bin" / "codex"
    if not found.exists():
        print(f"installing @openai/codex in {directory} ...", file=sys.stderr)
        subprocess.run(["npm", "install", "--silent", "--prefix", str(directory), "@openai/codex"], check=True)
    return found


def tried(program: Path, wire: str, url: str) -> tuple[bool, str]:
    """Whether the task was done with a model behind that wire, and what Codex said last."""
    with tempfile.TemporaryDirectory() as place:
        home, work = Path(place, "home"), Path(place, "work")
        home.mkdir()
        work.mkdir()
        (home / "config.toml").write_text(CONFIG.format(model=wire, url=url))
        options = ["--skip-git-repo-check", "--sandbox", "danger-full-access", "--json"]
        done = subprocess.run(
            [program, "exec", *options, TASK],
            cwd=work,
            env={**os.environ, "CODEX_HOME": str(home), "GATEWAY_TOKEN": TOKEN},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        said = [event["item"]["text"] for event in events if event.get("item", {}).get("type") == "agent_message"]
        failed = [str(event.get("message") or event.get("error")) for event in events if "fail" in event["type"]]
        made = work / "made.txt"
        good = made.exists() and made.read_text() == "made by a tool\n" and said[-1:] == ["The file is there."]
        return good, (said + failed)[-1] if said or failed else done.stderr[-300:]


def main() -> int:
    """Try it with every vendor, and print a line for each."""
    parser = argparse.ArgumentParser(description="The Codex command line against the gateway.")
    parser.add_argument("--keep", type=Path, help="where Codex is installed; a temporary directory otherwise")
    keep = parser.parse_args().keep
    with tempfile.TemporaryDirectory() as scratch, serve_in_thread(Simulator()) as upstream:
        program = codex(keep or Path(scratch))
        version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        models: dict[str, str | Upstream] = {
            wire: Upstream(model="simulator/x", base_url=upstream, wire=wire) for wire in WIRES
        }
        gateway = Gateway(Config(models=models), history=StoredHistory())
        good = True
        with serve_in_thread(gateway, access=AccessControl(tokens={"codex": TOKEN})) as url:
            print(f"{version} -> gateway -> simulated vendor")
            for wire in WIRES:
                done, said = tried(program, wire, url)
                good = good and done
                print(f"  {wire:<24} {'done' if done else 'NOT DONE':<9} {said}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
