"""The contents of a Gemini request as its vendor sees them: who speaks in turn, whatever way that is spelled.

ProtoJSON takes snake_case names and one value for a list of one; after `camel` there is one spelling.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, cast

from .plain import Plain, rows, table

_CHOSEN = frozenset(
    "args response parameters parametersJsonSchema responseSchema responseJsonSchema labels partMetadata".split()
)
"""Fields whose names inside are the caller's own."""


def camel(value: Any) -> Any:
    """A document with its names in camelCase, except inside what a caller chose himself."""
    if isinstance(value, list):
        return [camel(inner) for inner in cast("Any", value)]
    if not isinstance(value, dict):
        return value
    named = {_camel(name): inner for name, inner in cast("Plain", value).items()}
    return {name: inner if name in _CHOSEN else camel(inner) for name, inner in named.items()}


def _camel(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])_([a-z])", lambda found: found[1].upper(), name)


def many(value: Any) -> list[Plain]:
    """The objects of a repeated field, which may be written as one."""
    return [cast("Plain", value)] if isinstance(value, dict) else rows(value)


class Group(NamedTuple):
    """What one side says before the other does: its parts, with the path of each."""

    role: str
    parts: list[tuple[str, Plain]]

    def having(self, name: str) -> list[Plain]:
        """What the parts hold under `name`."""
        return [table(part[name]) for _, part in self.parts if name in part]

    @property
    def ordinary(self) -> list[Plain]:
        """The user's own words and media, which begin a turn; results of functions do not."""
        return [part for _, part in self.parts if "functionResponse" not in part] if self.role == "user" else []


def groups_of(document: Plain) -> list[Group]:
    """The contents of a camelCase document, those of one side in a row taken together."""
    found: list[Group] = []
    for i, content in enumerate(many(document.get("contents"))):
        role = "model" if content.get("role") == "model" else "user"
        if not found or found[-1].role != role:
            found.append(Group(role, []))
        for j, part in enumerate(many(content.get("parts"))):
            found[-1].parts.append((f"contents[{i}].parts[{j}]", part))
    return found
