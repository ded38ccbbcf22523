"""Answer a question over a folder of text files: the model searches and reads by two tools, and the answer names its sources.

Usage:
    python examples/questions_over_files.py docs "Which option sets the number of retries?" openai/gpt-5.2
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from llm_rest import Client, ToolContext, ToolFailedError, tool


@dataclass
class Folder:
    """The files that the tools may read; the model does not see it."""

    path: Path


class Answer(Struct):
    text: str
    sources: list[str]  # names of files


@tool
def search(word: str, context: ToolContext[Folder]) -> list[str]:
    """Search all files for a word; the first 20 lines that contain it, as "file:line: text"."""
    found: list[str] = []
    for file in sorted(context.deps.path.rglob("*.md")):
        lines = file.read_text(encoding="utf-8").splitlines()
        name = file.relative_to(context.deps.path)
        found += [f"{name}:{n}: {line[:200]}" for n, line in enumerate(lines, 1) if word.lower() in line.lower()]
    return found[:20]


@tool
def read(file: str, context: ToolContext[Folder]) -> str:
    """Read a file, by its name as `search` gives it."""
    path = (context.deps.path / file).resolve()
    if not path.is_relative_to(context.deps.path.resolve()) or not path.is_file():
        raise ToolFailedError(f"There is no file {file}.")  # the model reads this text
    return path.read_text(encoding="utf-8")[:20_000]


def main() -> None:
    """Ask, let the model search, print the answer and its sources."""
    folder, question, model = Folder(Path(sys.argv[1])), sys.argv[2], sys.argv[3]
    with Client(model) as llm:
        answer = llm.generate_with_tools(question, [search, read], output=Answer, deps=folder).parsed
    assert isinstance(answer, Answer)
    print(answer.text, "sources:", *answer.sources, sep="\n")


if __name__ == "__main__":
    main()
