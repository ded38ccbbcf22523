"""The Vercel AI SDK against the gateway: two turns with a tool, through each of its providers, in front of every wire.

A third, broken stream has an error of the vendor behind some text, which the SDK has to raise.

Not part of the test suite, because it installs packages from the npm registry:

    python tests/clients/vercel_ai.py [--keep DIRECTORY]

needs npm, and `pip install -e ".[server]"`. `--keep` is where the packages are installed and found again. The default provider
for OpenAI refers to items of the first turn by id (`item_reference`). Exits with 1 where a turn did not end as it should.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.clients.script import TOKEN, TURNS, play

PACKAGES = ("ai", "@ai-sdk/openai", "@ai-sdk/anthropic", "@ai-sdk/google", "zod")
PROVIDERS = ("openai.responses", "openai.chat", "anthropic", "google")
MODES = {**TURNS, "broken": [{"text": "Hello.", "raised": True}]}
PROGRAM = Path(__file__).with_suffix(".mjs")


def install(directory: Path) -> str:
    """Install the packages where they are not yet; their versions."""
    if not (directory / "node_modules" / "ai").exists():
        subprocess.run(["npm", "install", "--silent", "--prefix", str(directory), *PACKAGES], check=True)
    manifests = (directory / "node_modules" / name / "package.json" for name in PACKAGES[:-1])
    return ", ".join(f"{m['name']} {m['version']}" for m in map(json.loads, (path.read_text() for path in manifests)))


def command(directory: Path, url: str, provider: str, wire: str, mode: str) -> list[str]:
    """The program that plays the turns."""
    return ["node", str(PROGRAM), url, TOKEN, provider, wire, mode]


if __name__ == "__main__":
    sys.exit(play("The Vercel AI SDK against the gateway.", PROVIDERS, install, command, MODES))
