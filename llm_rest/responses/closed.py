"""Which JSON Schemas a host of OpenAI's formats decodes strictly: where every object names all it has, and needs it.

Follows "Structured outputs" of the OpenAI guides (read 2026-11-20). Other vendors hold a model to any schema, so a request that
comes from one of them is strict where that is possible, and says nothing about it elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from .tools import Schema

_DOUBTFUL = frozenset({"allOf", "not", "if", "then", "else", "oneOf", "patternProperties", "dependentRequired"})
_VALUES = frozenset({"default", "enum", "const", "examples"})


def strict_if_possible(schema: Schema) -> bool | None:
    """What to say of `strict` for a schema that its own vendor enforces."""
    return True if schema.get("type") == "object" and is_closed(schema) and not doubtful(schema) else None


def is_closed(schema: Any) -> bool:
    """Whether every object of the schema is closed."""
    return all(map(_closed, _nodes(schema)))


def doubtful(schema: Any) -> list[str]:
    """The keywords in the schema with which strict decoding may or may not work."""
    return sorted({name for node in _nodes(schema) for name in _DOUBTFUL & node.keys()})


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
