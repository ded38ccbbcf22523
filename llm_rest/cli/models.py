"""`models`: the known facts about models, by prefixes of their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..vendors.models import ROWS
from . import note, write_json
from .tables import show

if TYPE_CHECKING:
    from argparse import Namespace

YES_NO: dict[object, str] = {True: "yes", False: "no", None: "?"}


def run(arguments: Namespace) -> int:
    """List the rows of the model table."""
    rows = [row for row in ROWS if row.prefix.startswith(arguments.prefix)]
    if arguments.json:
        write_json([{"prefix": row.prefix, "at": row.at, **msgspec.to_builtins(row.facts)} for row in rows])
        return 0
    if not rows:
        note(f"no known models begin with {arguments.prefix}; `llm-rest models` lists all")
    show(
        ("model", "at", "tools", "images", "schema", "reasons", "context"),
        [
            (
                f"{row.prefix}*",
                "any" if row.at is None else " ".join(filter(None, row.at)) or "-",
                *(
                    YES_NO.get(fact, str(fact))
                    for fact in (facts.tools, facts.vision, facts.json_schema, facts.reasoning)
                ),
                _thousands(facts.context_window),
            )
            for row in rows
            for facts in [row.facts]
        ],
    )
    return 0


def _thousands(tokens: int | None) -> str:
    return "?" if tokens is None else f"{tokens / 1000:g}k"
