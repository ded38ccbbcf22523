"""Tables on a terminal: pretty with the extra `cli` (rich), plain columns without it or in a pipe."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def show(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table to stdout."""
    if sys.stdout.isatty() and _pretty(columns, rows):
        return
    widths = [max(len(cell) for cell in column) for column in zip(columns, *rows, strict=True)]
    for row in (columns, *rows):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write(line.rstrip() + "\n")


def _pretty(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Print with rich; whether it is there."""
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        return False
    table = Table(*columns, header_style="bold")
    for row in rows:
        # A cell is text: brackets in it are no markup.
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)
    return True
