"""Schemas as hosts want them that enforce every word (`strict`).

Every object is closed and requires all its properties; an optional one may be null instead, which is taken for an absent
property afterwards (`json_schema.checked`). What is not enforced is told to the model in the description, and every change is
a loss at its place. The caller's schema is never touched. Follows the section on supported schemas of OpenAI's guide to
structured outputs (read 2026-11-20).
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from ..losses import Losses
from .schema import Schema, problems, walk

_KEPT = frozenset(
    """
    type title description enum const required pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf
    minItems maxItems
    """.split()
)
_FORMATS = frozenset("date-time time date duration email hostname ipv4 ipv6 uuid".split())
_BEYOND = frozenset(
    "allOf not if then else dependentRequired dependentSchemas patternProperties prefixItems unevaluatedProperties".split()
)
_NULL: Schema = {"type": "null"}
_encode = msgspec.json.Encoder(order="deterministic").encode


class Beyond(Exception):
    """What a strict schema cannot say."""


def strict_form(schema: Schema, lost: Losses, path: str) -> Schema:
    """`schema`, which stands at `path` and takes an object, as a strict one. Raises `Beyond` where there is none."""
    if "anyOf" in schema or "oneOf" in schema:
        raise Beyond(f"{path}: alternatives at the top")
    return _strict(schema, lost, path)


def _strict(schema: Any, lost: Losses, path: str) -> Schema:
    if not isinstance(schema, dict):
        raise Beyond(f"{path}: {schema!r} in place of a schema")
    node = cast("Schema", schema)
    beyond = sorted(_BEYOND & node.keys())
    if beyond:
        raise Beyond(f"{path}.{beyond[0]}")
    if "$ref" in node:
        return _reference(node, lost, path)
    arms = [word for word in ("anyOf", "oneOf") if word in node]
    if len(arms) > 1 or (arms and ("properties" in node or "items" in node)):
        raise Beyond(f"{path}.{arms[0]}: alternatives beside other demands")
    if not arms and not node.keys() & {"type", "enum", "const"}:
        raise Beyond(f"{path}: a value of any type")
    made: Schema = {}
    told: list[str] = []
    for word, value in node.items():
        here = f"{path}.{word}"
        if word == "properties":
            made |= _properties(node, lost, here)
        elif word in ("$defs", "definitions"):
            made[word] = {name: _strict(one, lost, f"{here}.{name}") for name, one in value.items()}
        elif word == "items":
            made[word] = _strict(value, lost, here)
        elif word in arms:
            made["anyOf"] = [_strict(one, lost, f"{here}[{i}]") for i, one in enumerate(value)]
            if word == "oneOf":
                lost.changed(here, "oneOf is sent as anyOf: more than one may fit")
        elif word == "additionalProperties":
            pass
        elif word in _KEPT and (word != "format" or value in _FORMATS):
            made.setdefault(word, value)
        else:
            told.append(f"{word}: {_encode(value).decode()}")
            lost.changed(here, "not enforced by a strict schema; told in the description instead")
    if told:
        made["description"] = "\n\n".join(filter(None, (made.get("description"), f"({', '.join(told)})")))
    _close(node, made, lost, path)
    return made


def _reference(node: Schema, lost: Losses, path: str) -> Schema:
    for word in node.keys() - {"$ref"}:
        lost.dropped(f"{path}.{word}", "nothing stands beside a reference in a strict schema")
    return {"$ref": node["$ref"]}


def _properties(node: Schema, lost: Losses, path: str) -> Schema:
    """The properties, all of them required."""
    required: list[str] = node.get("required", [])
    made: Schema = {}
    for name, one in node["properties"].items():
        made[name] = _strict(one, lost, f"{path}.{name}")
        if name not in required:
            lost.changed(f"{path}.{name}", "not required, which a strict schema says as: required, and may be null")
            if not _may_be_null(one):
                made[name] = {"anyOf": [made[name], _NULL]}
    unknown = [name for name in required if name not in made]
    if unknown:
        raise Beyond(f"{path}: {unknown[0]!r} is required and not described")
    return {"properties": made, "required": list(made)}


def _close(node: Schema, made: Schema, lost: Losses, path: str) -> None:
    kinds = node.get("type")
    is_object = kinds == "object" or (isinstance(kinds, list) and "object" in kinds)
    if "properties" in made and not is_object:
        raise Beyond(f"{path}: properties of what may be no object")
    if (kinds == "array" or (isinstance(kinds, list) and "array" in kinds)) and "items" not in made:
        raise Beyond(f"{path}: items of any type")
    if not is_object:
        return
    more = node.get("additionalProperties")
    if more is not False:
        if more is not None or "properties" not in made:
            raise Beyond(f"{path}: an object with properties of any name")
        lost.changed(f"{path}.additionalProperties", "an object of a strict schema takes only the properties it lists")
    made["additionalProperties"] = False
    made.setdefault("properties", {})
    made["required"] = list(made["properties"])


def _may_be_null(schema: Schema) -> bool:
    """Whether the schema takes null, as far as can be said without its definitions."""
    return "$ref" not in schema and not any("$ref" in one for _, one in walk(schema)) and not problems(schema, None)
