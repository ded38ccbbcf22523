"""`models`: what is known about models, by the beginnings of their names."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec

from ..vendors.models import ROWS
from . import note
from .tables import show

if TYPE_CHECKING:
    from argparse import Namespace

YES_NO = {True: "yes", False: "no", None: "?"}


def run(arguments: Namespace) -> int:
    """List the rows of the model table."""
    rows = [row for row in ROWS if row.prefix.startswith(arguments.prefix)]
    if arguments.json:
        facts = [{"prefix": row.prefix, "at": row.at, **msgspec.to_builtins(row.facts)} for row in rows]
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(facts)).decode() + "\n")
        return 0
    if not rows:
        note(f"nothing is known of models whose names begin with {arguments.prefix}; `llm-rest models` lists all")
    show(
        ("model", "at", "tools", "images", "JSON schema", "reasoning", "efforts", "context", "output"),
        [
            (
                f"{row.prefix}*",
                "any" if row.at is None else " ".join(filter(None, row.at)) or "-",
                _said(row.facts.tools),
                _said(row.facts.vision),
                _said(row.facts.json_schema),
                _said(row.facts.reasoning),
                "?" if row.facts.efforts is None else " ".join(row.facts.efforts) or "none",
                _said(row.facts.context_window),
                _said(row.facts.max_output),
            )
            for row in rows
        ],
    )
    return 0


def _said(fact: bool | int | str | None) -> str:
    return YES_NO[fact] if fact is None or isinstance(fact, bool) else str(fact)
