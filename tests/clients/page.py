"""Writes the table of `docs/clients.md` from the tests' own data: which client works in front of which wire, and why not where
it does not. `python -m tests.clients.page` writes it; `test_table.py` fails where it is out of date."""

from __future__ import annotations

import inspect
from pathlib import Path

from llm_rest import wires

from .cases import CANNOT, CASES, ONLY
from .world import CLIENTS

PAGE = Path(__file__).parents[2] / "docs" / "clients.md"
HEADING = "\n## What works\n"


def page(text: str) -> str:
    """The page with what stands below the heading written anew."""
    before, _, rest = text.partition(HEADING)
    after = rest[rest.index("\n## ") :]
    reasons = {reason: number for number, reason in enumerate(dict.fromkeys(CANNOT.values()), 1)}
    lines = ["", f"| in front of | {' | '.join(f'`{wire}`' for wire in wires.NAMES)} |", "|---" * 6 + "|"]
    for client in CLIENTS:
        cells = [_cell(client, behind, reasons) for behind in wires.NAMES]
        lines.append(f"| `{client}` | {' | '.join(cells)} |")
    lines += ["", *(f"{number}. {reason}" for reason, number in reasons.items())]
    lines += ["", f"The {len(CASES)} cases are these; where a client is named, only its API supports it:", ""]
    for case, played in CASES.items():
        name, _, told = (inspect.getdoc(played) or "").partition(": ")
        client = f" (`{ONLY[case]}`)" if case in ONLY else ""
        lines.append(f"- **{name}**{client}: {told}")
    return before + HEADING + "\n".join(lines) + "\n" + after


def _cell(client: str, behind: str, reasons: dict[str, int]) -> str:
    """Whether everything works there, with the numbers of the reasons for what does not."""
    missing: list[str] = []
    for case, played in CASES.items():
        if reason := CANNOT.get((client, behind, case)):
            name = (inspect.getdoc(played) or "").partition(":")[0]
            missing.append(f"{name} ({reasons[reason]})")
    return f"all but {', '.join(missing)}" if missing else "all"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
