"""JSON Schemas as hosts of structured output and tools take them.

What a host knows is sent as it is, a few keywords are rewritten, and what it does not know is told to the model in the
description; every change is a loss at its place. Before changing this file, know that the caller's schema is never touched, and
that the same schema gives the same bytes, since tools are part of what vendors cache. Follows Google's guide to structured
output and the references of `Schema` and `responseJsonSchema` (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import msgspec

from ..losses import Losses

if TYPE_CHECKING:
    from ..responses.tools import Schema

KEPT = frozenset(
    """
    $id $ref $anchor type format title description default items minItems maxItems minimum maximum required
    additionalProperties propertyOrdering pattern minLength maxLength minProperties maxProperties uniqueItems
    """.split()
)
"""Keywords the vendor accepts; the last six it does not enforce."""

SCHEMAS = frozenset({"items", "additionalProperties"})
SCHEMA_LISTS = frozenset({"anyOf", "oneOf", "prefixItems"})
SCHEMAS_BY_NAME = {"properties": "properties", "$defs": "$defs", "definitions": "$defs"}
"""Keywords whose values hold schemas: one, a list, or one for each name (ours on the left)."""

BESIDE = frozenset({"$ref", "$defs", "$id", "$anchor", "title"})
"""Keywords that may stand in one schema with a reference."""

SILENT = frozenset(
    {"$schema", "$comment", "examples", "discriminator", "readOnly", "writeOnly", "deprecated", "strict"}
)
"""Keywords that nothing has to obey."""

MAX_DEPTH = 200

_encode = msgspec.json.Encoder(order="deterministic").encode


def fitted(schema: Schema, lost: Losses, path: str) -> Schema:
    """`schema`, which stands at `path`, as this wire takes it; the same object where nothing has to change."""
    found = Losses()
    fit = _Fitting(found).schema(schema, path, 0)
    lost += found
    return fit if found else schema


def _is_place(reference: Any) -> bool:
    return reference == "#" or (isinstance(reference, str) and reference.startswith("#/$defs/"))


def _is_enum(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_listed, cast("Any", value)))


def _is_listed(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


class _Fitting:
    """One pass over a schema."""

    def __init__(self, lost: Losses) -> None:
        self.lost = lost

    def any(self, value: Any, path: str, depth: int) -> Any:
        """What stands where a schema may stand: a schema, or true and false."""
        return self.schema(cast("Schema", value), path, depth + 1) if isinstance(value, dict) else value

    def schema(self, schema: Schema, path: str, depth: int) -> Schema:
        if depth > MAX_DEPTH:
            self.lost.refused(path, f"a schema nested deeper than {MAX_DEPTH} levels")
            return {}
        if "$ref" in schema:
            return self.reference(schema, path, depth)
        fit: Schema = {}
        told: list[str] = []
        for name, value in schema.items():
            here = f"{path}.{name}"
            if name in SCHEMAS and isinstance(value, dict):
                fit[name] = self.any(value, here, depth)
            elif name in SCHEMAS_BY_NAME and isinstance(value, dict):
                self.named(name, cast("Schema", value), fit, here, depth)
            elif (name in SCHEMA_LISTS or name == "items") and isinstance(value, list):
                theirs = "prefixItems" if name == "items" else name
                if theirs != name:
                    self.lost.changed(here, "a schema for each of the first entries is spelled prefixItems")
                fit[theirs] = [self.any(one, f"{here}[{i}]", depth) for i, one in enumerate(cast("Any", value))]
            elif name in KEPT or (name == "enum" and _is_enum(value)):
                fit[name] = value
            elif name == "const" and _is_listed(value):
                fit["enum"] = [value]
                self.lost.changed(here, "a constant is sent as an enum of one")
            elif name == "allOf" and isinstance(value, list):
                self.all_of(cast("Any", value), fit, here, depth)
            elif name in ("exclusiveMinimum", "exclusiveMaximum") and type(value) is int and _counts(schema):
                step = 1 if name == "exclusiveMinimum" else -1
                fit["minimum" if step > 0 else "maximum"] = value + step
                self.lost.changed(here, "an open bound of whole numbers is sent as the closed one beside it")
            elif name in SILENT:
                self.lost.dropped(here, "a keyword Gemini does not know and nothing has to obey")
            else:
                told.append(f"{name}: {_encode(value).decode()}")
                self.lost.changed(here, "not enforced at Gemini; told in the description instead")
        if told:
            said = fit.get("description") or ""
            before = said if isinstance(said, str) else _encode(said).decode()
            fit["description"] = "\n\n".join(filter(None, (before, f"({', '.join(told)})")))
        return fit

    def named(self, name: str, schemas: Schema, fit: Schema, path: str, depth: int) -> None:
        theirs = SCHEMAS_BY_NAME[name]
        if theirs != name:
            self.lost.changed(path, f"{name} is spelled {theirs} at Gemini")
        there: Schema = fit.get(theirs, {})
        fit[theirs] = there | {key: self.any(one, f"{path}.{key}", depth) for key, one in schemas.items()}

    def all_of(self, schemas: list[Any], fit: Schema, path: str, depth: int) -> None:
        """What all of several schemas ask for, in one; where two say different things, the later one counts."""
        self.lost.changed(path, "allOf is sent as one schema with everything in it")
        for i, one in enumerate(schemas):
            found: Schema = self.any(one, f"{path}[{i}]", depth) if isinstance(one, dict) else {}
            if "$ref" in found and (fit or len(schemas) > 1):
                self.lost.refused(f"{path}[{i}]", "a reference in allOf beside other schemas")
            for name, value in found.items():
                there = fit.get(name)
                if isinstance(there, dict) and isinstance(value, dict):
                    fit[name] = {**cast("Schema", there), **cast("Schema", value)}
                elif name == "required" and isinstance(there, list) and isinstance(value, list):
                    fit[name] = [*cast("Any", there), *(one for one in cast("Any", value) if one not in there)]
                else:
                    fit[name] = value

    def reference(self, schema: Schema, path: str, depth: int) -> Schema:
        target = schema["$ref"]
        if isinstance(target, str) and target.startswith("#/definitions/"):
            target = f"#/$defs/{target[14:]}"
            self.lost.changed(f"{path}.$ref", "definitions is spelled $defs at Gemini")
        elif not _is_place(target):
            self.lost.refused(f"{path}.$ref", "a reference out of the definitions of the schema")
        fit: Schema = {"$ref": target}
        for name, value in schema.items():
            if name in ("$defs", "definitions") and isinstance(value, dict):
                self.named(name, cast("Schema", value), fit, f"{path}.{name}", depth)
            elif name in BESIDE:
                fit.setdefault(name, value)
            else:
                self.lost.dropped(f"{path}.{name}", "nothing stands beside a reference at Gemini")
        return fit


def _counts(schema: Schema) -> bool:
    return schema.get("type") == "integer" or schema.get("type") == ["integer", "null"]


# --- the vendor's older dialect -------------------------------------------------------------------------------------

TYPES = ("TYPE_UNSPECIFIED", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")
"""Types by their numbers."""

_CAMEL = {
    "any_of": "anyOf",
    "property_ordering": "propertyOrdering",
    "additional_properties": "additionalProperties",
    **{f"{end}_{what}": f"{end}{what.title()}" for end in ("min", "max") for what in ("items", "length", "properties")},
}
_WHOLE = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"})
_OURS = {"defs": "$defs", "ref": "$ref", "example": "examples"}


def from_openapi(schema: Schema, depth: int = 0) -> Schema:
    """A schema of `parameters` or `responseSchema` as JSON Schema."""
    if depth > MAX_DEPTH:
        return {}
    found: Schema = {}
    for spelled, value in schema.items():
        name = _CAMEL.get(spelled, spelled)
        if name in SCHEMAS and isinstance(value, dict):
            value = from_openapi(cast("Schema", value), depth + 1)
        elif name in ("properties", "defs") and isinstance(value, dict):
            value = {key: _inner(one, depth) for key, one in cast("Schema", value).items()}
        elif name == "anyOf" and isinstance(value, list):
            value = [_inner(one, depth) for one in cast("Any", value)]
        elif name == "type":
            value = _type(value)
        elif name == "ref" and isinstance(value, str):
            value = value.replace("#/defs/", "#/$defs/", 1)
        elif name == "example":
            value = [value]
        elif name in _WHOLE and isinstance(value, str) and value.isdecimal() and len(value) < 20:
            value = int(value)
        if name != "nullable":
            found[_OURS.get(name, name)] = value
    if found.get("type") in ("integer", "number") and isinstance(found.get("enum"), list):
        # The older dialect spells every enum as text.
        found["enum"] = [_number(one) for one in found["enum"]]
    if schema.get("nullable") is True:
        _or_null(found)
    return found


def _inner(value: Any, depth: int) -> Any:
    return from_openapi(cast("Schema", value), depth + 1) if isinstance(value, dict) else value


def _type(value: Any) -> Any:
    if type(value) is int and 0 <= value < len(TYPES):
        value = TYPES[value]
    return value.lower() if isinstance(value, str) else value


def _number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return int(value) if value.lstrip("-").isdecimal() and len(value) < 20 else float(value)
    except ValueError:
        return value


def _or_null(schema: Schema) -> None:
    if isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
    elif isinstance(schema.get("anyOf"), list):
        schema["anyOf"] = [*schema["anyOf"], {"type": "null"}]
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
