"""Which JSON Schemas vendors take where they promise output that fits.

Follows the structured-output guides of OpenAI and Anthropic (read 2026-11-20). Each function yields what is wrong, in the
vendor's manner of saying it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

Plain = dict[str, Any]

_ANTHROPIC_REFUSES = set(
    """
    minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength maxItems uniqueItems minProperties
    maxProperties patternProperties propertyNames not if then else oneOf prefixItems contains
    """.split()
)


def anthropic(schema: Any, path: str) -> Iterator[str]:
    """What Anthropic refuses in the schema of an output or of a strict tool."""
    for _, node in _nodes(schema, ()):
        if _is_object(node) and node.get("additionalProperties") is not False:
            yield f"{path}: For 'object' type, 'additionalProperties' must be explicitly set to false"
        for word in node:
            if word in _ANTHROPIC_REFUSES:
                kind = node.get("type", "any")
                yield f"{path}: For '{kind}' type, property '{word}' is not supported"
        if node.get("minItems", 0) > 1:
            yield f"{path}: For 'array' type, 'minItems' values other than 0 or 1 are not supported"


def openai(schema: Any) -> Iterator[str]:
    """What OpenAI refuses in a strict schema."""
    root = cast("Plain", schema) if isinstance(schema, dict) else {}
    if root.get("type") != "object":
        yield f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{root.get('type')}\"'."
    for place, node in _nodes(schema, ()):
        context = f"In context=({', '.join(repr(step) for step in place)}{',' if len(place) == 1 else ''})"
        if not _is_object(node):
            continue
        if node.get("additionalProperties") is not False:
            yield f"{context}, 'additionalProperties' is required to be supplied and to be false."
        missing = [key for key in node.get("properties", {}) if key not in node.get("required", ())]
        if missing:
            yield (
                f"{context}, 'required' is required to be supplied and to be an array including every key in properties. "
                f"Missing '{missing[0]}'."
            )


def _is_object(node: Plain) -> bool:
    kind = node.get("type")
    return kind == "object" or (isinstance(kind, list) and "object" in kind) or "properties" in node


def _nodes(schema: Any, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Plain]]:
    """Every schema inside `schema`, and where it stands."""
    if not isinstance(schema, dict):
        return
    node = cast("Plain", schema)
    yield place, node
    for word in ("properties", "$defs", "definitions"):
        for key, inner in cast("Plain", node.get(word) or {}).items():
            yield from _nodes(inner, (*place, word, key))
    for word in ("items", "additionalProperties"):
        yield from _nodes(node.get(word), (*place, word))
    for word in ("anyOf", "allOf", "oneOf"):
        for i, inner in enumerate(cast("list[Any]", node.get(word) or [])):
            yield from _nodes(inner, (*place, word, str(i)))
