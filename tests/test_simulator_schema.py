"""Every value the simulator makes from a JSON Schema is valid, for an independent validator."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_rest.simulator.examples import FORMATS, NoInstance, instance

DRAFT = jsonschema.Draft202012Validator

NODE = {
    "$ref": "#/$defs/Node",
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}},
            "required": ["name", "next"],
            "additionalProperties": False,
        }
    },
}
TREE = {"type": "object", "properties": {"of": {"type": "array", "items": {"$ref": "#"}}}, "required": ["of"]}
LIMITED = {"properties": {"c": {"$ref": "#/$defs/C"}}, "$defs": {"C": {"maxLength": 2}}}


def fits(value: Any, schema: Any) -> bool:
    jsonschema.validate(value, schema, DRAFT, format_checker=DRAFT.FORMAT_CHECKER)
    return True


SIMPLEST: list[tuple[Any, Any]] = [
    ({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}, {"city": "city"}),
    ({"type": "string", "enum": ["celsius", "kelvin"]}, "celsius"),
    ({"const": None}, None),
    ({"type": "string", "examples": ["Oslo"], "default": "Bergen"}, "Oslo"),
    ({"type": "string", "default": "Bergen"}, "Bergen"),
    # An example, a default or one of several values counts only where it is valid.
    ({"type": "integer", "minimum": 5, "examples": ["Oslo", 3, 7]}, 7),
    ({"type": "integer", "enum": ["a", 7]}, 7),
    ({"type": "string", "examples": [1], "default": 2}, "text"),
    ({**LIMITED, "examples": [{"c": "far"}, {"c": "ok"}]}, {"c": "ok"}),
    ({"type": "integer", "default": None, "minimum": 7}, 7),
    ({"type": ["null", "integer"]}, 1),
    ({"type": "boolean"}, True),
    ({"type": "array", "items": {"type": "integer"}}, [1]),
    ({"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": True}, [1, 2, 3]),
    ({"type": "array", "prefixItems": [{"type": "string"}, {"const": 2}]}, ["text", 2]),
    ({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2, "uniqueItems": True}, ["a", "b"]),
    ({"type": "array", "items": {"type": "string"}, "maxItems": 0}, []),
    ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, 1),
    ({"type": "object", "properties": {"a": False, "b": {"type": "null"}}}, {"b": None}),
    ({"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 2}, {"key1": 1, "key2": 1}),
    ({"properties": {"a/b": {"$ref": "#/properties/c"}, "c": {"const": 3}}}, {"a/b": 3, "c": 3}),
    (True, "text"),
]
"""Schemas, and the value that is made of each."""


def test_the_simplest_value_that_fits_is_used() -> None:
    found = [(schema, instance(schema)) for schema, _ in SIMPLEST]
    assert found == SIMPLEST
    assert all(fits(value, schema) for schema, value in found)


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
        {"$ref": "#/$defs/nowhere"},
        {"$ref": "#"},
        {"type": "integer", "minimum": 2, "maximum": 1},
        {"type": "array", "items": {"type": "boolean"}, "minItems": 3, "uniqueItems": True},
        {"type": "string", "pattern": "^(?=never)x$"},
        {"anyOf": [False]},
        {"type": "integer", "enum": ["a"]},
        {"type": "string", "const": 1},
    ],
)
def test_a_schema_without_an_instance_is_an_error(schema: Any) -> None:
    with pytest.raises(NoInstance):
        instance(schema)


PATTERNS = (
    "^[A-Z]{3}$", r"^\d{4}-\d{2}-\d{2}$", "^#[0-9a-f]{6}$", "^[0-9a-f]{12}$", r"^\+\d+$", "", r"^v\d+\.\d+\.\d+$",
)  # fmt: skip

SIMPLE: list[dict[str, Any]] = [
    *({"type": kind} for kind in ("string", "integer", "number", "boolean", "null")),
    *({"type": "string", "format": format} for format in sorted(FORMATS)),
    *({"type": "string", "pattern": pattern} for pattern in PATTERNS),
    {"type": "string", "format": "binary", "pattern": "^[A-Z]{3}$"},
    {"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5},
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.5},
    {"type": "integer", "multipleOf": 7, "minimum": 50},
    {"type": "integer", "maximum": -3},
    {"type": "integer", "minimum": -99, "maximum": -98},
    {"type": "number", "minimum": -2.5, "maximum": -2.4},
    {"type": "string", "minLength": 9},
    {"type": "string", "maxLength": 2},
    {"type": "string", "minLength": 20, "maxLength": 20},
    {"enum": [5, "a"]},
    {"const": False},
]
COMBINED = [
    {"allOf": [{"properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"required": ["b"]}]},
    {
        "allOf": [{"$ref": "#/$defs/A"}, {"properties": {"a": {"minimum": 5}}}],
        "$defs": {"A": {"properties": {"a": {"type": "integer"}}}},
    },
    {"oneOf": [{"type": "string", "maxLength": 1}, {"type": "string", "minLength": 2}]},
    {
        "type": "object",
        "required": ["a"],
        "anyOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"a": {"const": 2}}}],
    },
]


def test_recursion_formats_patterns_and_limits_hold() -> None:
    """BUGS 49"""
    assert all(fits(instance(schema), schema) for schema in [NODE, TREE, *SIMPLE, *COMBINED])


def containing(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects, arrays and alternatives of other schemas."""
    names = st.sampled_from("abcd")

    def made(properties: dict[str, Any], some: set[str]) -> dict[str, Any]:
        required = [name for name in properties if name in some]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    arrays = st.tuples(inner, st.integers(0, 2), st.integers(0, 2)).map(
        lambda drawn: {"type": "array", "items": drawn[0], "minItems": drawn[1], "maxItems": sum(drawn[1:])}
    )
    unions = st.lists(inner, min_size=1, max_size=3).map(lambda arms: {"anyOf": arms})
    return st.builds(made, st.dictionaries(names, inner, max_size=4), st.sets(names)) | arrays | unions


@given(st.recursive(st.sampled_from(SIMPLE), containing, max_leaves=12))
def test_an_instance_of_any_schema_fits_it(schema: dict[str, Any]) -> None:
    assert fits(instance(schema), schema)
