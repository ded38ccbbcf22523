"""The rows of the mapping tables in `docs/wires`, and the page that lists what is lost: `python -m tests.mapping` writes it
and names the rows that do not say what to do.

A row begins with its id (`chat.request.17`) and says in words what becomes of a field. Where one of the five kinds of losses
stands in it as code (`dropped`), its last cell has to say what a user can do.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from llm_rest import wires

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "wires"
INDEX = PAGES / "index.md"

LOSSES = ("dropped", "changed", "emulated", "withheld", "refused")
UNFINISHED: tuple[str, ...] = ()
"""Wires whose rows do not all say yet what a user can do. Their own page is all there is of them on the index."""
REMEDY = "where something is lost, you can"
ID = re.compile(r"\b(?:anthropic|chat|gemini|ollama|responses)\.(?!canonical)[a-z_]+\.\d+\b")


class Row(NamedTuple):
    """A row of a table: where it stands, what it is about, how it is lost (perhaps in several ways), and what to do then."""

    id: str
    section: str
    field: str
    losses: tuple[str, ...]
    remedy: str


def rows(text: str) -> Iterator[Row]:
    """The rows with an id on a page."""
    section, header = "", [""]
    for line in text.splitlines():
        if line.startswith("## "):
            section = line[3:]
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
        if cells and cells[0] == "id":
            header = cells
        elif cells and (found := ID.fullmatch(cells[0].strip("`"))):
            losses = tuple(loss for loss in LOSSES if f"`{loss}`" in line)
            remedy = cells[-1] if header[-1] == REMEDY and len(cells) == len(header) else ""
            yield Row(found[0], section, cells[1], losses, remedy)


def documented() -> dict[str, list[Row]]:
    """The rows of each wire's page."""
    found = {name: PAGES / f"{name}.md" for name in wires.NAMES}
    return {name: list(rows(page.read_text())) if page.exists() else [] for name, page in found.items()}


def named() -> Counter[str]:
    """How many tests, or entries of the tests' tables, name each row."""
    counted: Counter[str] = Counter()
    for path in sorted((ROOT / "tests").rglob("*.py")):
        lines = path.read_text().splitlines()
        for node in ast.parse("\n".join(lines)).body:
            start = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
            found = ID.findall("\n".join(lines[start - 1 : node.end_lineno]))
            counted.update(set(found) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else found)
    return counted


def page() -> str:
    """The text of the index: how much each wire carries, and everything that is lost with what to do about it."""
    found, tests = {name: found for name, found in documented().items() if name not in UNFINISHED}, named()
    lines = [
        "# What each wire carries",
        "",
        "Every field of a wire has a row in the tables of its page, with an id that tests name. This page is made of those rows:",
        "`python -m tests.mapping` writes it. How losses are told and what a client does about them: [losses](../losses.md).",
        "",
        f"| wire | rows | tests | {' | '.join(f'`{loss}`' for loss in LOSSES)} |",
        f"|---|---|---|{'---|' * len(LOSSES)}",
    ]
    for name, listed in found.items():
        kinds = Counter(loss for row in listed for loss in row.losses)
        counts = " | ".join(str(kinds[loss]) for loss in LOSSES)
        lines.append(f"| [`{name}`]({name}.md) | {len(listed)} | {sum(tests[row.id] for row in listed)} | {counts} |")
    lines += [f"| [`{name}`]({name}.md) |{' |' * (2 + len(LOSSES))}" for name in UNFINISHED]
    for name, listed in found.items():
        lost = [row for row in listed if row.losses]
        if not lost:
            continue
        lines += ["", f"## `{name}`", "", "| row | what | lost as | you can | tests |", "|---|---|---|---|---|"]
        for row in lost:
            how = ", ".join(f"`{loss}`" for loss in row.losses)
            lines.append(f"| {row.id} | {row.field} | {how} | {row.remedy} | {tests[row.id]} |")
    return "\n".join(lines) + "\n"


def silent() -> list[str]:
    """The rows that tell of a loss and not what a user can do."""
    return [row.id for listed in documented().values() for row in listed if row.losses and not row.remedy]


if __name__ == "__main__":
    INDEX.write_text(page())
    print(*(f"{row} does not say what a user can do" for row in silent()), sep="\n")
