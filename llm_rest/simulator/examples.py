"""A value that fits a JSON Schema, always the same one for the same schema.

`instance(schema)` walks the schema once and returns the simplest valid value: the constant, or the first enumerated value,
example or default that is valid itself, else one generated from the type and its limits. References are resolved inside
the document; in a recursive schema, the alternative with the shallowest nesting is used. Not supported: `not`, `if`,
`dependentSchemas`, `unevaluatedProperties`, and patterns beyond the usual ones.
"""

from __future__ import annotations

import math
import re
from typing import Any, cast

import msgspec

from ..tools.schema import problems, target

Schema = dict[str, Any]

FORMATS = {
    pair.partition("=")[0]: pair.partition("=")[2]
    for pair in """
    date-time=2026-01-02T03:04:05Z date=2026-01-02 time=03:04:05Z duration=P1DT2H email=ada@example.com
    idn-email=ada@example.com hostname=example.com idn-hostname=example.com uri=https://example.com/ uri-reference=/a
    iri=https://example.com/ iri-reference=/a ipv4=192.0.2.1 ipv6=2001:db8::1 uuid=00000000-0000-4000-8000-000000000000
    json-pointer=/a relative-json-pointer=1/a regex=^a$ byte=YQ== binary=a
    """.split()
}
"""An example string of each format."""

_USUAL = (
    "a A 0 1 Aa A1 a1 a-b a_b a.b a@example.com https://example.com/ #a0b1c2 +4712345678 12:34 2026-01 01/02/2026 1.0 1.0.0 "
    "v1.0.0 en en-US NO USD 12345-6789 555-555-5555 ABC-123 AB-1234 AB1234 /a a/b true yes"
).split()
"""Strings that match common patterns, besides those with a format."""

_DEPTH = 6
"""The maximum depth at which optional parts are generated."""
_MANY = 64


class NoInstance(ValueError):
    """The error where no valid value of the schema was found."""


def instance(schema: Schema | bool, name: str = "text") -> Any:
    """A value that is valid under `schema`; `name` is the value of a string without other hints.

    Raises `NoInstance` where no value is valid, such as `false` or a required property that contains itself.
    """
    return _Maker(schema).make(schema, name, 0)


class _Maker:
    """Generates values for the schemas of one document, in which references are resolved."""

    def __init__(self, root: Schema | bool) -> None:
        self._root = root

    def make(self, schema: Any, name: str, depth: int) -> Any:
        if schema is True or schema == {}:
            return name
        if not isinstance(schema, dict) or depth > _MANY:
            raise NoInstance(f"nothing fits {name!r}")
        schema = self._merged(cast("Schema", schema), depth)
        allowed = [schema["const"]] if "const" in schema else schema.get("enum")
        examples = schema.get("examples")
        named = allowed or [*(examples if isinstance(examples, list) else ()), schema.get("default")]
        for value in named:
            if (value is not None or allowed) and not problems(schema, value, self._root):
                return value
        if allowed:
            raise NoInstance(f"no value of {name!r} that is listed is valid")
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return self._alternative(schema, key, name, depth)
        match _type(schema):
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, name, depth)
            case "integer" | "number" as kind:
                return _number(schema, kind)
            case "boolean":
                return True
            case "null":
                return None
            case _:
                return _string(schema, name)

    def _alternative(self, schema: Schema, key: str, name: str, depth: int) -> Any:
        """A value of the first alternative that has one: near the surface any, further down those without parts first."""
        rest = {word: value for word, value in schema.items() if word != key}
        arms: list[Any] = list(schema[key])
        if depth > _DEPTH:
            arms.sort(key=lambda arm: self._resolved(arm).get("type") in ("object", "array", None))
        for arm in arms:
            try:
                return self.make({"allOf": [rest, arm]} if rest else arm, name, depth + 1)
            except NoInstance:
                continue
        raise NoInstance(f"no alternative fits {name!r}")

    def _object(self, schema: Schema, depth: int) -> Schema:
        properties: Schema = schema.get("properties", {})
        other = schema.get("additionalProperties", True)
        made = {key: self.make(properties.get(key, other), key, depth + 1) for key in schema.get("required", [])}
        for key, value in properties.items():
            if key not in made and depth < _DEPTH and len(made) < schema.get("maxProperties", _MANY):
                try:
                    made[key] = self.make(value, key, depth + 1)
                except NoInstance:
                    continue
        for i in range(schema.get("minProperties", 0) - len(made)):
            made[f"key{i + 1}"] = self.make(other, "value", depth + 1)
        return made

    def _array(self, schema: Schema, name: str, depth: int) -> list[Any]:
        made = [self.make(item, name, depth + 1) for item in schema.get("prefixItems", [])]
        least, most = schema.get("minItems", 0), schema.get("maxItems", _MANY)
        size = max(least, 1 if "items" in schema and not made and depth < _DEPTH else 0)
        while len(made) < min(size, most):
            try:
                made.append(self._item(schema, made, name, depth))
            except NoInstance:
                if len(made) < least:
                    raise
                break
        return made[:most]

    def _item(self, schema: Schema, made: list[Any], name: str, depth: int) -> Any:
        """Another item, different from the ones before it where items must be unique."""
        items = schema.get("items", True)
        value = self.make(items, name, depth + 1)
        if value not in made or not schema.get("uniqueItems"):
            return value
        resolved = self._resolved(items)
        others = list(resolved.get("enum", ()))
        if isinstance(value, str):
            others.append(f"{value}{len(made) + 1}")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            others.append(value + len(made) * resolved.get("multipleOf", 1))
        for other in others:
            if other not in made:
                return other
        raise NoInstance(f"the items of {name!r} cannot differ")

    def _merged(self, schema: Schema, depth: int) -> Schema:
        """`schema` with its references resolved and its `allOf` merged into it."""
        schema = self._resolved(schema)
        merged = {word: value for word, value in schema.items() if word != "allOf"}
        for part in schema.get("allOf") or ():
            if depth > _MANY:
                raise NoInstance("a schema that contains itself")
            _narrow(merged, self._merged(part, depth + 1))
        return merged

    def _resolved(self, schema: Any) -> Schema:
        """The schema with its reference resolved; an empty one for anything but an object."""
        found: Schema = cast("Schema", schema) if isinstance(schema, dict) else {}
        for _ in range(_MANY):
            if not isinstance(reference := found.get("$ref"), str):
                return found
            resolved = target(self._root, reference)
            if not isinstance(resolved, dict):
                raise NoInstance(f"{reference!r} is no schema of the document")
            found = {**cast("Schema", resolved), **{word: value for word, value in found.items() if word != "$ref"}}
        raise NoInstance("a reference that leads to itself")


def _narrow(schema: Schema, part: Schema) -> None:
    """Merge `part` into `schema`, so that a value must be valid under both."""
    for word, value in part.items():
        own = schema.get(word)
        if own is None:
            schema[word] = value
        elif word == "properties":
            schema[word] = {**own, **{k: {"allOf": [own[k], v]} if k in own else v for k, v in value.items()}}
        elif word == "required":
            schema[word] = [*own, *(key for key in value if key not in own)]
        elif word.startswith(("min", "exclusiveMin")):
            schema[word] = max(own, value)
        elif word.startswith(("max", "exclusiveMax")):
            schema[word] = min(own, value)
        elif word == "enum":
            schema[word] = [choice for choice in own if choice in value]
        elif word == "additionalProperties" and value is False:
            schema[word] = False


_NUMERIC = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_HINTS = {
    "object": ("properties", "required", "additionalProperties"),
    "array": ("items", "prefixItems"),
    "number": _NUMERIC,
}


def _type(schema: Schema) -> str:
    """The type to generate: the first that is not null, else inferred from the keywords used."""
    type_given = schema.get("type")
    if type_given is None:
        return next((kind for kind, words in _HINTS.items() if any(word in schema for word in words)), "string")
    kinds = cast("list[str]", type_given) if isinstance(type_given, list) else [str(type_given)]
    return next((kind for kind in kinds if kind != "null"), "null")


def _number(schema: Schema, kind: str) -> int | float:
    """The number nearest to 1 or to a limit, within the limits."""
    limits = {word: schema[word] for word in _NUMERIC if isinstance(schema.get(word), int | float)}
    step = limits.get("multipleOf") or 1
    edges = [1, *(value for word, value in limits.items() if word != "multipleOf")]
    counts = [(math.ceil(edge / step), math.floor(edge / step) + 1, math.ceil(edge / step) - 1) for edge in edges]
    near = [count * step for around in counts for count in around]
    middle = [*edges[1:], sum(edges[1:]) / max(len(edges) - 1, 1)]
    for value in [*near, *middle]:
        if not problems({"type": kind, **limits}, value):
            return int(value) if value == math.floor(value) else value
    raise NoInstance("no number fits the limits")


def _string(schema: Schema, name: str) -> str:
    """The string of the format, a match of the pattern, or the name, adjusted to the length limits."""
    text = FORMATS.get(schema.get("format", ""))
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if (pattern := schema.get("pattern")) is not None:
        return _matching(pattern, least, _MANY if most is None else most, text)
    text = text or name or "a"
    return (text if len(text) >= least else (text * least)[:least])[:most]


def _matching(pattern: str, least: int, most: int, first: str | None) -> str:
    """A string that matches a simple pattern: `first`, a common one, or one character repeated."""
    try:
        compiled = re.compile(pattern)
    except re.error:
        return first or "a" * max(least, 1)
    repeated = (character * length for length in range(_MANY) for character in "a0Af")
    for text in (*filter(None, [first]), *_USUAL, *FORMATS.values(), "a b", "(555) 555-5555", *repeated):
        if least <= len(text) <= most and compiled.search(text):
            return text
    raise NoInstance(f"no string found for the pattern {pattern!r}")


def compact(value: Any) -> str:
    """`value` as compact JSON text."""
    return msgspec.json.encode(value).decode()
