"""Helpers to read plain JSON of any shape as lists; a place in a request that a rule validates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

if TYPE_CHECKING:
    from ..server.handler import Context

Plain = dict[str, Any]
"""A JSON object."""


def entries(value: Any, wire: str = "") -> list[Any]:
    """The entries of a list; for Gemini a single value counts as a list of one."""
    if isinstance(value, dict) and wire == "gemini_generate_content":
        return [cast("Plain", value)]
    return [*cast("Any", value)] if isinstance(value, list) else []


def rows(value: Any, wire: str = "") -> list[Plain]:
    """The objects in a list."""
    return [one for one in entries(value, wire) if isinstance(one, dict)]


def kind_of(value: Any) -> str:
    """The JSON type of a value; `missing` for an absent one."""
    kinds = {dict: "object", list: "array", str: "string", bool: "bool", type(None): "null", object: "missing"}
    return kinds.get(cast("Any", type(value)), "number")


MISSING: Any = object()
"""The value of an absent field."""

Found = Iterable[Plain]
"""The validation errors found by a test: one entry for each, with the values for its message."""


class Place(NamedTuple):
    """A value in a request, its path, and the arguments of the rule."""

    at: str
    path: str
    name: str
    holder: Plain
    value: Any
    document: Plain
    context: Context
    model: str
    words: list[str]
    seen: set[str]

    @property
    def given(self) -> bool:
        """Whether the value is present."""
        return self.value is not MISSING and self.value is not None
