"""JSON Schemas as this wire can enforce them, for structured output and strict tools.

What the vendor cannot enforce is told to the model in the description instead, and every change is a loss at its place. The
caller's schema is never touched, and the same schema gives the same bytes, since tools are part of what the vendor caches.
Follows the limits listed in Anthropic's guide to structured outputs (read 2026-11-20).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

import msgspec

from ...losses import Losses
from ...responses import Schema

FORMATS = frozenset("date-time time date duration email hostname uri ipv4 ipv6 uuid".split())
KEPT = frozenset({"type", "title", "description", "required", "default"})
DEFINITIONS = ("$defs", "definitions")
MAX_DEPTH = 64

_beyond_regex = re.compile(r"\(\?(?:[=!]|<[=!])|\\[1-9bB]").search
_encode = msgspec.json.Encoder(order="deterministic").encode


def fitted(schema: Schema, lost: Losses, path: str) -> Schema:
    """`schema`, which stands at `path`, as this wire can enforce it."""
    if _recursive(schema):
        lost.refused(path, "a schema that refers to itself, which Anthropic cannot enforce")
    return _fit(schema, lost, path, 0)


def _fit(schema: Schema, lost: Losses, path: str, depth: int) -> Schema:
    if depth > MAX_DEPTH:
        lost.refused(path, f"a schema nested deeper than {MAX_DEPTH} levels")
        return {}
    refers = "$ref" in schema
    fit: Schema = {}
    told: list[str] = []
    for name, value in schema.items():
        here = f"{path}.{name}"
        if name in KEPT and not refers:
            fit[name] = value
        elif name == "$ref":
            fit = {"$ref": value, **fit}
            if not isinstance(value, str) or not value.startswith("#"):
                lost.refused(here, "a reference out of the schema")
        elif isinstance(value, dict) and (name in DEFINITIONS or (name == "properties" and not refers)):
            named = cast("Schema", value).items()
            fit[name] = {key: _fit_any(one, lost, f"{here}.{key}", depth) for key, one in named}
        elif refers:
            lost.dropped(here, "nothing stands beside a reference at Anthropic")
        elif _allowed(name, value):
            fit[name] = value
        elif name == "items" and isinstance(value, dict):
            fit[name] = _fit_any(value, lost, here, depth)
        elif name in ("anyOf", "oneOf", "allOf") and isinstance(value, list):
            fit |= _choices(name, cast("Any", value), here, lost, depth)
        elif name != "additionalProperties":
            told.append(f"{name}: {_encode(value).decode()}")
            lost.changed(here, "not enforced at Anthropic; told in the description instead")
    if refers:
        return fit
    if _open_places(schema) > 1:
        lost.refused(path, "an object described in several places, each of which Anthropic closes for the others")
    _close(schema, fit, path, lost)
    if told:
        said = fit.get("description") or ""
        before = said if isinstance(said, str) else _encode(said).decode()
        fit["description"] = "\n\n".join(filter(None, (before, f"({', '.join(told)})")))
    return fit


def _fit_any(value: Any, lost: Losses, path: str, depth: int) -> Any:
    """What stands where a schema may stand: a schema, or true and false."""
    return _fit(cast("Schema", value), lost, path, depth + 1) if isinstance(value, dict) else value


def _choices(name: str, arms: list[Any], path: str, lost: Losses, depth: int) -> Schema:
    choices = [_fit_any(one, lost, f"{path}[{i}]", depth) for i, one in enumerate(arms)]
    if name == "oneOf":
        lost.changed(path, "oneOf is sent as anyOf: more than one may fit")
        return {"anyOf": choices}
    if name == "allOf" and any("$ref" in one for one in choices if isinstance(one, dict)):
        if len(choices) == 1:
            lost.changed(path, "allOf of one reference is sent as the reference")
            return cast("Schema", choices[0])
        lost.refused(path, "allOf with references, which Anthropic cannot enforce")
    return {name: choices}


def _close(schema: Schema, fit: Schema, path: str, lost: Losses) -> None:
    """An object takes exactly the properties it lists."""
    kind, path = schema.get("type"), f"{path}.additionalProperties"
    listed = isinstance(schema.get("properties"), dict)
    if kind != "object" and not listed and not (isinstance(kind, list) and "object" in kind):
        if "additionalProperties" in schema:
            lost.changed(path, "not enforced at Anthropic")
        return
    fit["additionalProperties"] = False
    more = schema.get("additionalProperties")
    if isinstance(more, dict) or (more is not False and not schema.get("properties")):
        lost.refused(path, "an object with properties of any name, which Anthropic cannot enforce")
    elif more is not False:
        lost.changed(path, "an object takes only the properties it lists at Anthropic")


def _open_places(schema: Schema) -> int:
    """In how many places a schema describes the properties of one object, unless all of them close it already."""

    def described(*words: str) -> list[Schema]:
        lists: list[Any] = [schema[word] for word in words if isinstance(schema.get(word), list)]
        arms: list[Any] = [one for arms in lists for one in arms if isinstance(one, dict)]
        return [one for one in arms if "properties" in one or "$ref" in one]

    if schema.keys().isdisjoint(("allOf", "anyOf", "oneOf")):
        return 1
    both, either = described("allOf"), described("anyOf", "oneOf")
    both += [schema] if "properties" in schema else []
    closed = all(one.get("additionalProperties") is False for one in (*both, *either))
    return 0 if closed else len(both) + bool(either)


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


def _recursive(schema: Schema) -> bool:
    """Whether following references can lead back to where one started."""
    definitions = {"#": set(_references({name: one for name, one in schema.items() if name not in DEFINITIONS}))}
    for group in DEFINITIONS:
        inner: Any = schema.get(group)
        for name, one in cast("Schema", inner).items() if isinstance(inner, dict) else ():
            definitions[f"#/{group}/{name}"] = set(_references(one))
    settled: set[str] = set()
    # A definition is settled once all it refers to is; what never settles is part of a circle.
    while True:
        now = {n for n, targets in definitions.items() if n not in settled and targets & definitions.keys() <= settled}
        if not now:
            return len(settled) < len(definitions)
        settled |= now


def _references(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(target := cast("Schema", value).get("$ref"), str):
                yield target
            waiting += cast("Schema", value).values()
        elif isinstance(value, list):
            waiting += cast("Any", value)
