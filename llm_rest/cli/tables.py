"""Tables, Markdown and a status line on a terminal (with the extra `cli`); plain text without it or in a pipe."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections import Counter
from contextlib import contextmanager
from itertools import zip_longest
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from ..losses import Loss


_LONGEST_WORD = 30


def show(columns: Sequence[str], rows: Sequence[Sequence[str]], to: TextIO | None = None) -> None:
    """Print a table to stdout or `to`, no wider than the terminal, or 80 columns in a pipe: cells are wrapped at spaces."""
    out: TextIO = sys.stdout if to is None else to
    if out.isatty() and _pretty(columns, rows, out):
        return
    most = shutil.get_terminal_size().columns if out.isatty() else 80
    widths = [max(len(cell) for cell in column) for column in zip(columns, *rows, strict=True)]
    words = [[word for cell in column for word in cell.split()] for column in zip(columns, *rows, strict=True)]
    least = [min(_LONGEST_WORD, max(map(len, column), default=0)) for column in words]
    while sum(widths) + 2 * (len(widths) - 1) > most:
        widest = max(range(len(widths)), key=lambda index: widths[index] * (widths[index] > least[index]))
        if widths[widest] <= least[widest]:
            break
        widths[widest] -= 1
    for row in (columns, *rows):
        cells = [textwrap.wrap(cell, width) for cell, width in zip(row, widths, strict=True)]
        for lines in zip_longest(*cells, fillvalue="") if any(cells) else [[""] * len(widths)]:
            line = "  ".join(cell.ljust(width) for cell, width in zip(lines, widths, strict=True))
            out.write(line.rstrip() + "\n")


def show_losses(losses: Iterable[Loss]) -> None:
    """Print the losses as a table on stderr; a repeated loss is one row with its count."""
    found = Counter((loss.path, loss.kind, loss.what) for loss in losses)
    if found:
        show(("lost at", "how", "what", "times"), [(*one, str(times)) for one, times in found.items()], sys.stderr)


def _pretty(columns: Sequence[str], rows: Sequence[Sequence[str]], to: TextIO) -> bool:
    """Print with rich; whether it is installed."""
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        return False
    table = Table(*columns, header_style="bold")
    for row in rows:
        # A cell is plain text: brackets in it are not markup.
        table.add_row(*(Text(cell) for cell in row))
    Console(file=to).print(table)
    return True


def markdown(text: str) -> bool:
    """Print the text as formatted Markdown; whether stdout is a terminal and rich is installed."""
    if not sys.stdout.isatty():
        return False
    try:
        from rich.console import Console
        from rich.markdown import Markdown
    except ImportError:
        return False
    Console().print(Markdown(text))
    return True


@contextmanager
def waiting(model: str) -> Generator[Callable[[], None]]:
    """A status line on stderr while waiting for a model, on a terminal only; removed when the function is called."""
    try:
        from rich.console import Console
    except ImportError:
        yield lambda: None
        return
    with Console(stderr=True).status(f"waiting for {model}") as status:  # shows nothing in a pipe
        yield status.stop
