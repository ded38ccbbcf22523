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
    rewrite: Callable[[Plain, str], None]


ALL = wires.NAMES


def items(document: Plain) -> Iterator[Plain]:
    """The items of a request's input or a response's output."""
    for field in ("input", "output"):
        if isinstance(document.get(field), list):
            yield from document[field]


def _bookkeeping(document: Plain, wire: str) -> None:
    for item in items(document):
        for name in ("id", "status", "created_by"):
            item.pop(name, None)


def _leftovers(value: Any, wire: str) -> None:
    if isinstance(value, dict):
        left = value.get("leftovers")
        if isinstance(left, dict):
            left.pop(wire, None)
            if not left:
                del value["leftovers"]
        for inner in value.values():
            _leftovers(inner, wire)
    elif isinstance(value, list):
        for inner in value:
            _leftovers(inner, wire)


DEFAULTS = {"truncation": "disabled", "store": False, "background": False}


def _defaults(document: Plain, wire: str) -> None:
    for name, value in DEFAULTS.items():
        if document.get(name, value) == value:
            document.pop(name, None)


CANONICAL: dict[str, Equivalence] = {
    "leftovers": Equivalence(
        "a document notes what only its own wire has and how it was written; another wire's notes are losses",
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
            rule.rewrite(document, wire)
    return document
