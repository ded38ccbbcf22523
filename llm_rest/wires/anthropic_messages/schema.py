"""JSON Schemas as this wire can enforce them, for structured output and strict tools.

What the vendor cannot enforce is told to the model in the description instead, and every change is a loss at its place. The
caller's schema is never touched, and the same schema gives the same bytes, since tools are part of what the vendor caches.
Follows the limits listed in Anthropic's guide to structured outputs (read 2026-11-20).
"""

from __future__ import annotations

import re
from typing import Any, cast

import msgspec

from ... import responses as ours
from ...losses import Losses

FORMATS = frozenset("date-time time date duration email hostname uri ipv4 ipv6 uuid".split())
KEPT = frozenset({"type", "title", "description", "required", "default"})
SCHEMAS_BY_NAME = ("$defs", "definitions", "properties")
MAX_DEPTH = 64

_beyond_regex = re.compile(r"\(\?(?:[=!]|<[=!])|\\[1-9bB]").search
_encode = msgspec.json.Encoder(order="deterministic").encode


def fitted(schema: ours.Schema, lost: Losses, path: str) -> ours.Schema:
    """`schema`, which stands at `path`, as this wire can enforce it."""
    if _recursive(schema):
        lost.refused(path, "a schema that refers to itself, which this wire cannot enforce")
    return _Fitting(lost).schema(schema, path, 0)


class _Fitting:
    """One pass over a schema."""

    def __init__(self, lost: Losses) -> None:
        self.lost = lost

    def any(self, value: Any, path: str, depth: int) -> Any:
        """What stands where a schema may stand: a schema, or true and false."""
        return self.schema(cast("ours.Schema", value), path, depth + 1) if isinstance(value, dict) else value

    def schema(self, schema: ours.Schema, path: str, depth: int) -> ours.Schema:
        if depth > MAX_DEPTH:
            self.lost.refused(path, f"a schema nested deeper than {MAX_DEPTH} levels")
            return {}
        if "$ref" in schema:
            return self.reference(schema, path, depth)
        fit: ours.Schema = {}
        told: list[str] = []
        for name, value in schema.items():
            here = f"{path}.{name}"
            if name in KEPT or _allowed(name, value):
                fit[name] = value
            elif name in SCHEMAS_BY_NAME and isinstance(value, dict):
                fit[name] = {
                    key: self.any(one, f"{here}.{key}", depth) for key, one in cast("ours.Schema", value).items()
                }
            elif name == "items" and isinstance(value, dict):
                fit[name] = self.any(value, here, depth)
            elif name in ("anyOf", "oneOf", "allOf") and isinstance(value, list):
                choices = [self.any(one, f"{here}[{i}]", depth) for i, one in enumerate(cast("Any", value))]
                fit |= self.choices(name, choices, here)
            elif name == "additionalProperties":
                pass
            else:
                told.append(f"{name}: {_encode(value).decode()}")
                self.lost.changed(here, "not enforced on this wire; told in the description instead")
        if _open_places(schema) > 1:
            self.lost.refused(
                path, "an object described in several places, each of which this wire closes for the others"
            )
        self.close(schema, fit, path)
        if told:
            said = fit.get("description")
            fit["description"] = "\n\n".join(filter(None, (said, f"({', '.join(told)})")))
        return fit

    def choices(self, name: str, choices: list[Any], path: str) -> ours.Schema:
        if name == "oneOf":
            self.lost.changed(path, "oneOf is sent as anyOf: more than one may fit")
            return {"anyOf": choices}
        if name == "allOf" and any("$ref" in one for one in choices if isinstance(one, dict)):
            if len(choices) == 1:
                self.lost.changed(path, "allOf of one reference is sent as the reference")
                return cast("ours.Schema", choices[0])
            self.lost.refused(path, "allOf with references, which this wire cannot enforce")
        return {name: choices}

    def close(self, schema: ours.Schema, fit: ours.Schema, path: str) -> None:
        """An object takes exactly the properties it lists."""
        kind = schema.get("type")
        listed = isinstance(schema.get("properties"), dict)
        if kind != "object" and not listed and not (isinstance(kind, list) and "object" in kind):
            if "additionalProperties" in schema:
                self.lost.changed(f"{path}.additionalProperties", "not enforced on this wire")
            return
        fit["additionalProperties"] = False
        more = schema.get("additionalProperties")
        path = f"{path}.additionalProperties"
        if isinstance(more, dict) or (more is not False and not schema.get("properties")):
            self.lost.refused(path, "an object with properties of any name, which this wire cannot enforce")
        elif more is not False:
            self.lost.changed(path, "an object takes only the properties it lists on this wire")

    def reference(self, schema: ours.Schema, path: str, depth: int) -> ours.Schema:
        target = schema["$ref"]
        if not isinstance(target, str) or not target.startswith("#"):
            self.lost.refused(f"{path}.$ref", "a reference out of the schema")
        fit: ours.Schema = {"$ref": target}
        for name, value in schema.items():
            if name in ("$defs", "definitions") and isinstance(value, dict):
                inner = cast("ours.Schema", value).items()
                fit[name] = {key: self.any(one, f"{path}.{name}.{key}", depth) for key, one in inner}
            elif name != "$ref":
                self.lost.dropped(f"{path}.{name}", "nothing stands beside a reference on this wire")
        return fit


def _open_places(schema: ours.Schema) -> int:
    """In how many places a schema describes the properties of one object, unless all of them close it already."""
    both = _described([schema, *_arms(schema, "allOf")])
    either = _described([*_arms(schema, "anyOf"), *_arms(schema, "oneOf")])
    closed = all(one.get("additionalProperties") is False for one in (*both, *either))
    return 0 if closed else len(both) + bool(either)


def _arms(schema: ours.Schema, word: str) -> list[ours.Schema]:
    found: Any = schema.get(word)
    return [one for one in cast("Any", found) if isinstance(one, dict)] if isinstance(found, list) else []


def _described(schemas: list[ours.Schema]) -> list[ours.Schema]:
    return [one for one in schemas if "properties" in one or "$ref" in one]


def _allowed(name: str, value: Any) -> bool:
    match name:
        case "enum":
            return isinstance(value, list) and all(_primitive(one) for one in cast("Any", value))
        case "const":
            return _primitive(value)
        case "format":
            return isinstance(value, str) and value in FORMATS
        case "pattern":
            return isinstance(value, str) and not _beyond_regex(value)
        case "minItems":
            return value in (0, 1)
        case _:
            return False


def _primitive(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def _recursive(schema: ours.Schema) -> bool:
    """Whether following references can lead back to where one started."""
    definitions: dict[str, set[str]] = {}
    for group in ("$defs", "definitions"):
        inner: Any = schema.get(group)
        for name, one in cast("ours.Schema", inner).items() if isinstance(inner, dict) else ():
            definitions[f"#/{group}/{name}"] = set(_references(one))
    definitions["#"] = set(_references({name: v for name, v in schema.items() if name not in ("$defs", "definitions")}))
    settled: set[str] = set()
    # A definition is settled once all it refers to is; what never settles is part of a circle.
    while True:
        now = {n for n, targets in definitions.items() if n not in settled and targets & definitions.keys() <= settled}
        if not now:
            return len(settled) < len(definitions)
        settled |= now


def _references(value: Any) -> list[str]:
    found: list[str] = []
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            target = cast("ours.Schema", value).get("$ref")
            if isinstance(target, str):
                found.append(target)
            waiting += cast("ours.Schema", value).values()
        elif isinstance(value, list):
            waiting += cast("Any", value)
    return found
