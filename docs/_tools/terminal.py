"""Draws the picture of a terminal in the README: `python docs/_tools/terminal.py docs/assets/terminal.svg`.

The commands below are run, without keys and in an empty home, and their real output is written as SVG by rich (extra `cli`). The
picture loads no font from another host.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

COMMANDS = (
    'llm-rest ask "Why is the sea salt?" -m anthropic/claude-haiku-4-5',
    'llm-rest ask "say Minerals from rocks." -m simulator/demo',
    "llm-rest ask 'Invent a dog' --schema 'name, age int, tricks str[]' -m simulator/demo",
    "llm-rest explain hi -m groq/openai/gpt-oss-120b -o temperature=0.2",
    "llm-rest ask hi -m ollama/qwen3:8b",
)


def output(command: str, home: str) -> str:
    """What a command prints, on both streams."""
    own = ("_API_KEY", "_TOKEN", "LLM_REST_STORE", "LLM_REST_MODEL")
    environment = {name: value for name, value in os.environ.items() if not name.endswith(own)}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={**environment, "PATH": path, "HOME": home, "COLUMNS": "100", "NO_COLOR": "1"},
    )
    return done.stdout.rstrip()


def main() -> None:
    """Run the commands and write the picture."""
    console = Console(record=True, width=100, file=StringIO(), force_terminal=True)
    with tempfile.TemporaryDirectory() as home:
        for command in COMMANDS:
            console.print(Text.assemble(("$ ", "green"), (command, "bold")))
            console.print(Text(output(command, home)))
            console.print()
    without_fonts = re.sub(r"@font-face \{\{.*?\n    \}\}\n", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    picture = console.export_svg(title="llm-rest", code_format=without_fonts, unique_id="terminal")
    Path(sys.argv[1]).write_text("\n".join(line.rstrip() for line in picture.splitlines()) + "\n")


if __name__ == "__main__":
    main()
