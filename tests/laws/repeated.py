"""Values that a stream repeats: of a field in several events the last value counts."""

from __future__ import annotations

import re
from typing import Any

from tests.support.documents import Place, canonical
from tests.support.documents import at as value_at


def general(place: Place) -> str:
    """A path without positions and without names that callers choose."""
    way = "".join("[]" if isinstance(step, int) else f".{step}" for step in place)
    return re.sub(r"(\.(?:properties|\$defs|definitions|metadata|logit_bias|labels))\.[^.\[]+", r"\1.*", way)


def is_repeated(events: list[Any], place: Place, change: str, changed: list[Any]) -> bool:
    """Whether other events of a stream say what was changed in one of them, or what it was changed to.

    A later event of the same type may have a value at the same place, but for positions; any event may have the old value
    of what was removed, or the new one, under the same name.
    """
    at, *rest = place
    if not rest:
        return change == "empty" and named_values(events[at]) <= {
            one for event in changed for one in named_values(event)
        }
    kind, way = kind_of(events[at]), tuple(rest)
    ends = {general(way[: i + 1]) for i in range(len(way) - 1)}  # where a later event may have no such place any more
    for event in events[at + 1 :]:
        if kind_of(event) == kind and (general(way) in ways_of(event) or ends & ends_of(event)):
            return True
    name = next((step for step in reversed(way) if isinstance(step, str)), "")
    removed = change in ("drop", "empty", "text")
    said = {one for event in (changed if removed else [*events[:at], *events[at + 1 :]]) for one in named_values(event)}
    value = value_at(events if removed else changed, place)
    return (name, without_nulls(value)) in said or (value in ({}, [], ""))


def named_values(value: Any) -> set[tuple[str, str]]:
    """The fields of a document, each with its name and value."""
    found: set[tuple[str, str]] = set()
    for name, inner in (
        value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
    ):
        if isinstance(name, str):
            found.add((name, without_nulls(inner)))
            found |= {(name, without_nulls(each)) for each in (inner if isinstance(inner, list) else ())}
        found |= named_values(inner)
    return found


def ends_of(document: Any, way: Place = ()) -> set[str]:
    """The general paths of the values that have no values of their own."""
    if isinstance(document, dict | list) and document:
        steps = document.items() if isinstance(document, dict) else enumerate(document)
        return {one for step, inner in steps for one in ends_of(inner, (*way, step))}
    return set() if document is None else {general(way)}


def kind_of(event: Any) -> Any:
    return event.get("type") if isinstance(event, dict) else None


def without_nulls(value: Any) -> str:
    """The text of a document without nulls, which mean the same as absent, and with 1 for 1.0."""

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: bare(inner) for name, inner in value.items() if inner is not None}
        if isinstance(value, list):
            return [bare(inner) for inner in value]
        return int(value) if isinstance(value, float) and value.is_integer() else value

    return canonical(bare(value))


def ways_of(document: Any, way: Place = ()) -> set[str]:
    """The general paths of the values in a document."""
    found = {general(way)}
    for step, inner in (
        document.items() if isinstance(document, dict) else enumerate(document if isinstance(document, list) else ())
    ):
        if inner is not None:
            found |= ways_of(inner, (*way, step))
    return found
