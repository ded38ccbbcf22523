"""Plain JSON values read as what they should be, whatever they are."""

from __future__ import annotations

from typing import Any, cast

Plain = dict[str, Any]


def table(value: Any) -> Plain:
    """`value` if it is an object, else an empty one."""
    return cast("Plain", value) if isinstance(value, dict) else {}


def rows(value: Any) -> list[Plain]:
    """The objects of `value` if it is an array."""
    return (
        [cast("Plain", row) for row in cast("Any", value) if isinstance(row, dict)] if isinstance(value, list) else []
    )
