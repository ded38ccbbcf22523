"""Schemas of tools, so that nothing a model should know falls away on the server.

The server reads a schema into a structure of few words and writes it into the prompt from there: of a property only `type`,
`description`, `enum`, `items`, `anyOf`, `properties` and `required` reach the model. What has another spelling in these words
gets it, and limits are told in the description. Before changing this file, know that doing it twice must do nothing more.
Schemas of answers go to the grammar whole and need none of this. Follows the server's own types (read 2026-11-20).
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from .types import Json

LIMITS = frozenset(
    """
    minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format contentEncoding
    contentMediaType minItems maxItems uniqueItems prefixItems contains minProperties maxProperties patternProperties
    propertyNames dependentRequired dependentSchemas if then else not default allOf oneOf $ref
    """.split()
)
"""Words of a property that the server forgets and a model can read."""

UNREAD = ("anyOf", "oneOf", "not", "patternProperties", "propertyNames", "minProperties", "maxProperties")
"""Words the server forgets where they stand at the top, with no description to tell them in."""

MOST_INLINED = 500


class Rewritten:
    """`schema` in the words that the server keeps; `changed` names those that had to go."""

    def __init__(self, parameters: Json) -> None:
        self._root = parameters
        self._left = MOST_INLINED
        self.changed: list[str] = []
        top, seen = self._merged(parameters, frozenset())
        properties = top.get("properties")
        # Some templates fail where there are none.
        made = self._properties(cast("Json", properties), seen) if isinstance(properties, dict) else {}
        self.schema: Json = {"type": "object", **top, "properties": made}
        self.unread = [name for name in UNREAD if name in top]

    def _note(self, word: str) -> None:
        if word not in self.changed:
            self.changed.append(word)

    def _properties(self, properties: Json, seen: frozenset[str]) -> Json:
        return {name: self._property(value, seen) for name, value in properties.items()}

    def _property(self, value: Any, seen: frozenset[str]) -> Any:
        if not isinstance(value, dict):
            return value
        schema, seen = self._merged(cast("Json", value), seen)
        made: Json = {}
        told: list[str] = []
        for word, inner in schema.items():
            if word == "properties" and isinstance(inner, dict):
                made[word] = self._properties(cast("Json", inner), seen)
            elif word == "anyOf" or (word == "oneOf" and "anyOf" not in schema):
                made["anyOf"] = (
                    [self._property(arm, seen) for arm in cast("Any", inner)] if isinstance(inner, list) else inner
                )
            elif word == "const" and "enum" not in schema:
                made["enum"] = [inner]
            elif word in LIMITS or (word == "additionalProperties" and isinstance(inner, dict)):
                told.append(f"{word}: {inner if isinstance(inner, str) else msgspec.json.encode(inner).decode()}")
            else:
                made[word] = inner
                continue
            if word not in ("properties", "anyOf"):
                self._note(word)
        if told:
            before = made.get("description")
            made["description"] = f"{before if isinstance(before, str) else ''} ({', '.join(told)})".lstrip()
        return made

    def _merged(self, schema: Json, seen: frozenset[str]) -> tuple[Json, frozenset[str]]:
        """A schema with what it refers to in its place, and the references that led there."""
        while True:
            ref, parts = schema.get("$ref"), schema.get("allOf")
            word, found = "", None
            if isinstance(ref, str) and ref not in seen and self._left:
                word, found, seen = "$ref", self._target(ref), seen | {ref}
            elif isinstance(parts, list) and len(cast("Any", parts)) == 1:
                word, found = "allOf", cast("Any", parts)[0]
            if not isinstance(found, dict):
                return schema, seen
            self._left -= 1
            self._note(word)
            schema = {**found, **{name: inner for name, inner in schema.items() if name != word}}

    def _target(self, ref: str) -> Json | None:
        """What a reference within the schema points to."""
        found: Any = self._root
        for step in ref.removeprefix("#/").split("/") if ref.startswith("#/") else ("",):
            found = cast("Json", found).get(step) if isinstance(found, dict) else None
        return cast("Json", found) if isinstance(found, dict) else None
