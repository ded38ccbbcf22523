"""Whether a Responses host would decode a function's arguments strictly where nothing was said.

It tries, and falls back where the schema does not allow it; Chat Completions never tries. So the question has to be answered
here. Follows the section on supported schemas of OpenAI's structured outputs guide (read 2026-11-20).
"""

from __future__ import annotations

from typing import Any, cast

Schema = dict[str, Any]

DOUBTFUL = frozenset({"allOf", "not", "if", "then", "else", "oneOf", "patternProperties", "dependentRequired"})
"""Keywords with which strict decoding may or may not work."""

_VALUES = frozenset({"default", "enum", "const", "examples"})


def holds_strictly(schema: Schema) -> bool:
    """Whether every object in the schema is closed and requires all its properties."""
    # Most schemas are open at the top, and then nothing below needs to be looked at.
    return schema.get("additionalProperties") is False and all(map(_closed, _nodes(schema)))


def doubts(schema: Schema) -> list[str]:
    """The keywords in the schema with which strict decoding may or may not work."""
    return sorted({name for node in _nodes(schema) for name in DOUBTFUL & node.keys()})


def _nodes(schema: Any) -> list[Schema]:
    """Every object of the schema, itself included, without the values it lists."""
    found: list[Schema] = []
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            found.append(cast("Schema", node))
            waiting += [value for name, value in cast("Schema", node).items() if name not in _VALUES]
        elif isinstance(node, list):
            waiting += cast("Any", node)
    return found


def _closed(node: Schema) -> bool:
    properties = node.get("properties")
    if node.get("type") != "object" and not isinstance(properties, dict):
        return True
    required: Any = node.get("required")
    names = cast("Schema", properties).keys() if isinstance(properties, dict) else ()
    return node.get("additionalProperties") is False and (
        all(name in required for name in names) if isinstance(required, list) else not names
    )
