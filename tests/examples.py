"""The examples of the README and the documentation: where they stand, what they promise, and as modules for type checkers.

`python -m tests.examples FOLDER` writes a module for each page, which holds its ```python blocks at the lines that they have
on the page, those that are not run included. `make check` runs pyright and mypy in strict mode over these.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_BLOCK = re.compile(
    r"^(?P<skip><!-- not run: .+? -->\n+)?^```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE
)


@dataclass
class Example:
    """One fenced block: where it stands, what it is, and the output that the page promises."""

    page: Path
    line: int
    kind: str
    body: str
    output: str | None = None

    @property
    def name(self) -> str:
        return f"{self.page.name}:{self.line}"


def examples(page: Path, text: str, *, not_run: bool = False) -> Iterator[Example]:
    """The examples of a page, in order, each with its output where the page shows one; on demand those that are not run, too."""
    waiting: Example | None = None
    end = 0
    for found in _BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("kind")) + 1
        adjacent = text[end : found.start()].strip() == ""
        if found["kind"] == "text" and waiting and adjacent:
            waiting.output = found["body"]
        if waiting:
            yield waiting
            waiting = None
        if found["kind"] in ("python", "console") and (not_run or not found["skip"]):
            waiting = Example(page, line, found["kind"], found["body"])
        end = found.end()
    if waiting:
        yield waiting


def module(page: Path, text: str) -> str:
    """The Python of a page with every line where the page has it; empty for a page without any."""
    lines: list[str] = []
    for example in examples(page, text, not_run=True):
        if example.kind == "python":
            lines += [""] * (example.line - len(lines)) + example.body.splitlines()
    if lines:
        lines[0] = "# pyright: strict"
    return "".join(f"{line}\n" for line in lines)


def write_modules(folder: Path) -> None:
    """Write the modules of all pages to a folder, and take away those of pages that are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("page_*.py"):
        old.unlink()
    for page in PAGES:
        name = re.sub(r"\W", "_", str(page.relative_to(ROOT).with_suffix("")))
        if code := module(page, page.read_text()):
            (folder / f"page_{name}.py").write_text(code)


if __name__ == "__main__":
    write_modules(Path(sys.argv[1]))
