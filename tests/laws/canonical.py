"""What a wire may give back otherwise without having lost anything: a short table, each line with its reason.

Two requests (or responses) are equal in the laws when they are equal after these rewritings. Everything else that differs
must be a loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from llm_rest import wires
from tests.support.facts import plain

Plain = dict[str, Any]


@dataclass(frozen=True)
class Equivalence:
    """Why two documents say the same, on which wires, and how both become the same document."""

    why: str
    wires: tuple[str, ...]
    rewrite: Callable[[Plain], None]


ALL = wires.NAMES


def items(document: Plain) -> Iterator[Plain]:
    """The items of a request's input or a response's output."""
    for field in ("input", "output"):
        if isinstance(document.get(field), list):
            yield from document[field]


def _bookkeeping(document: Plain) -> None:
    for item in items(document):
        for name in ("id", "status", "created_by"):
            item.pop(name, None)


def _leftovers(value: Any) -> None:
    if isinstance(value, dict):
        value.pop("leftovers", None)
        for inner in value.values():
            _leftovers(inner)
    elif isinstance(value, list):
        for inner in value:
            _leftovers(inner)


DEFAULTS = {"truncation": "disabled", "store": False, "background": False}


def _defaults(document: Plain) -> None:
    for name, value in DEFAULTS.items():
        if document.get(name, value) == value:
            document.pop(name, None)


CANONICAL: dict[str, Equivalence] = {
    "leftovers": Equivalence(
        "a decoded document notes how it was written; the laws compare what it says",
        ALL,
        _leftovers,
    ),
    "bookkeeping": Equivalence(
        "ids and statuses of items are the bookkeeping of the server that made them",
        ALL,
        _bookkeeping,
    ),
    "defaults": Equivalence(
        "asking for what a host without the option does anyway needs no option",
        ALL,
        _defaults,
    ),
}


def canonical_document(model: Any, wire: str) -> Plain:
    """A request or response as plain JSON after every rewriting that holds on the wire."""
    document: Plain = plain(model)
    for rule in CANONICAL.values():
        if wire in rule.wires:
            rule.rewrite(document)
    return document
