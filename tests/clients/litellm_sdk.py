"""LiteLLM against the gateway: two turns with a tool, through each of its providers, in front of every wire.

Not part of the test suite, because it installs LiteLLM (60 packages) from the package index:

    python tests/clients/litellm_sdk.py [--keep DIRECTORY]

needs `pip install -e ".[server]"`. `--keep` is where LiteLLM is installed and found again, with `mcp`, which it imports and
does not declare. Through Ollama's API it sends tool results with ids that the calls never had. Exits with 1 where a turn did not
end as it should.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.clients.script import TOKEN, play

PROVIDERS = ("openai", "openai/responses", "anthropic", "gemini", "ollama_chat")
PROGRAM = Path(__file__).with_name("litellm_turns.py")


def install(directory: Path) -> str:
    """Install LiteLLM where it is not yet; its version."""
    python = directory / "bin" / "python"
    if not (directory / "bin" / "litellm").exists():
        venv.create(directory, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "litellm", "mcp"], check=True)
    code = "import importlib.metadata; print('litellm', importlib.metadata.version('litellm'))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def command(directory: Path, url: str, provider: str, wire: str, mode: str) -> list[str]:
    """The program that plays the turns."""
    return [str(directory / "bin" / "python"), str(PROGRAM), url, TOKEN, provider, wire, mode]


if __name__ == "__main__":
    sys.exit(play("LiteLLM against the gateway.", PROVIDERS, install, command))
