"""The pages in `docs/wires`, made from the rows of the mapping tables: `python -m tests.mapping` writes them, and the page that
lists what is lost, and names the rows that do not say what to do.

A page is `tests/wires/<wire>/page.md` with the tables of the files beside it in the places of their names (`{{request}}`). A
row has an id (`chat.request.17`) and says in words what becomes of a field; its cases are run by `tests/wires/test_rows.py`.
Where one of the five kinds of losses stands in it as code (`dropped`), its last cell has to say what a user can do.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from llm_rest import wires
from tests.wires.rows import LOSSES, cases, tables

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
PAGES = ROOT / "docs" / "wires"
INDEX = PAGES / "index.md"

REMEDY = "where something is lost, you can"
ID = re.compile(r"\b(?:anthropic|chat|gemini|ollama|responses)\.(?!canonical)[a-z_]+\.\d+\b")

COMMENT = re.compile(r"^(?:\w+ = \[)?  # .*", re.MULTILINE)
"""What a file of rows says above its cases."""


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


def table(columns: str, found: dict[str, Any]) -> str:
    """A table in Markdown."""
    rule = "|---" * (columns.count("|") + 1) + "|"
    lines = [re.sub(" +\\|", " |", f"| {id} | {row['page']} |") for id, row in found.items()]
    return "\n".join([f"| {columns} |", rule, *lines])


def wire_page(name: str) -> str:
    """The text of a wire's page."""
    text = (TESTS / "wires" / name / "page.md").read_text()
    for file, content in tables(name).items():
        text = text.replace(
            f"{{{{{file}}}}}", table(content["columns"], {id: row for id, row in content.items() if ID.fullmatch(id)})
        )
    return text


def documented() -> dict[str, list[Row]]:
    """The rows of each wire's page."""
    return {name: list(rows(wire_page(name))) for name in wires.NAMES}


@cache
def named() -> Counter[str]:
    """How many cases each row has, and tests or entries of their tables that name it."""
    counted = Counter(case.row for name in wires.NAMES for case in cases(name))
    for path in sorted((TESTS / "wires").rglob("*.toml")):  # a case may show another row, too
        counted.update(ID.findall("\n".join(COMMENT.findall(path.read_text()))))
    for path in sorted(TESTS.rglob("*.py")):
        lines = path.read_text().splitlines()
        for node in ast.parse("\n".join(lines)).body if ID.search("\n".join(lines)) else ():
            start = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
            found = ID.findall("\n".join(lines[start - 1 : node.end_lineno]))
            counted.update(set(found) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else found)
    return counted


def page() -> str:
    """The text of the index: how much each wire carries, and everything that is lost with what to do about it."""
    found, tests = documented(), named()
    lines = [
        "# What each wire carries",
        "",
        "Every field of a wire has a row in the tables of its page, with an id that tests name. This page is made of those rows:",
        "`python -m tests.mapping` writes it. How a client reports and handles losses: [losses](../losses.md).",
        "",
        f"| wire | rows | tests | {' | '.join(f'`{loss}`' for loss in LOSSES)} |",
        f"|---|---|---|{'---|' * len(LOSSES)}",
    ]
    for name, listed in found.items():
        kinds = Counter(loss for row in listed for loss in row.losses)
        counts = " | ".join(str(kinds[loss]) for loss in LOSSES)
        lines.append(f"| [`{name}`]({name}.md) | {len(listed)} | {sum(tests[row.id] for row in listed)} | {counts} |")
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
    for wire in wires.NAMES:
        (PAGES / f"{wire}.md").write_text(wire_page(wire))
    INDEX.write_text(page())
    print(*(f"{row} does not say what a user can do" for row in silent()), sep="\n")
