"""Schemas: what the vendor takes of JSON Schema, and its own older dialect."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest

from llm_rest.losses import Losses
from llm_rest.wires.gemini_generate_content.types import from_openapi
from llm_rest.wires.schema import GEMINI, fitted
from tests.wires.gemini_generate_content import named


def fit(schema: Any) -> tuple[Any, list[str]]:
    """The schema as it is sent, and every loss; the caller's own stays as it was."""
    before, lost = copy.deepcopy(schema), Losses()
    found = fitted(schema, GEMINI, lost, "s")
    assert schema == before
    return found, named(lost)


TREE = {
    "type": "object",
    "properties": {
        "kind": {"type": "string", "enum": ["leaf", "branch"], "description": "d", "default": "leaf"},
        "when": {"type": ["string", "null"], "format": "date-time"},
        "size": {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 9}, {"type": "null"}]},
        "shape": {"oneOf": [{"type": "string", "pattern": "^a"}, {"type": "boolean"}]},
        "pair": {"type": "array", "prefixItems": [{"type": "number"}], "items": False, "minItems": 1},
        "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
    },
    "required": ["kind"],
    "additionalProperties": {"type": "string", "minLength": 1},
    "$defs": {"tree": {"$ref": "#"}},
}


def test_what_the_vendor_knows_is_sent_as_it_is() -> None:
    """gemini.schema.1, BUGS 49, BUGS 53"""
    lost = Losses()
    assert fitted(TREE, GEMINI, lost, "s") is TREE
    assert lost == []


def test_a_constant_is_an_enum_of_one() -> None:
    """gemini.schema.2, BUGS 49"""
    assert fit({"const": "a"}) == ({"enum": ["a"]}, ["s.const (changed)"])


def test_all_of_several_schemas_is_one_schema() -> None:
    """gemini.schema.3, BUGS 49"""
    one: Any = {"properties": {"a": {"type": "string"}}, "required": ["a"]}
    other: Any = {"properties": {"b": {"const": 1}}, "required": ["b"]}
    found, lost = fit({"type": "object", "allOf": [one, other]})
    assert found == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"enum": [1]}},
        "required": ["a", "b"],
    }
    assert set(lost) == {"s.allOf (changed)", "s.allOf[1].properties.b.const (changed)"}
    assert set(fit({"allOf": [{"$ref": "#/$defs/a"}, {"type": "object"}]})[1]) == {
        "s.allOf (changed)",
        "s.allOf[0] (refused)",
    }


def test_definitions_have_one_name_here() -> None:
    """gemini.schema.4, BUGS 49"""
    assert fit({"$ref": "#/definitions/a", "definitions": {"a": {"type": "string"}}}) == (
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}},
        ["s.$ref (changed)", "s.definitions (changed)"],
    )


def test_nothing_stands_beside_a_reference() -> None:
    """gemini.schema.5, BUGS 49"""
    assert fit({"$ref": "#/$defs/a", "description": "d", "$defs": {"a": {}}}) == (
        {"$ref": "#/$defs/a", "$defs": {"a": {}}},
        ["s.description (dropped)"],
    )
    assert fit({"$ref": "https://x.test/a.json"})[1] == ["s.$ref (refused)"]


def test_open_bounds_of_whole_numbers_are_closed() -> None:
    """gemini.schema.6, BUGS 49"""
    assert fit({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9}) == (
        {"type": "integer", "minimum": 1, "maximum": 8},
        ["s.exclusiveMinimum (changed)", "s.exclusiveMaximum (changed)"],
    )


@pytest.mark.parametrize(
    ("keyword", "value", "text"),
    [
        ("exclusiveMinimum", 0.5, "(exclusiveMinimum: 0.5)"),
        ("propertyNames", {"pattern": "^a"}, '(propertyNames: {"pattern":"^a"})'),
        ("patternProperties", {"^a": {"type": "string"}}, '(patternProperties: {"^a":{"type":"string"}})'),
        ("not", {"type": "string"}, '(not: {"type":"string"})'),
        ("const", None, "(const: null)"),
        ("multipleOf", 5, "(multipleOf: 5)"),
    ],
)
def test_what_cannot_be_enforced_is_told_in_the_description(keyword: str, value: Any, text: str) -> None:
    """gemini.schema.7, BUGS 49"""
    assert fit({keyword: value}) == ({"description": text}, [f"s.{keyword} (changed)"])
    assert fit({"description": "d", keyword: value})[0] == {"description": f"d\n\n{text}"}
    assert fit({"description": [1], keyword: value})[0] == {"description": f"[1]\n\n{text}"}


@pytest.mark.parametrize("keyword", ["$schema", "examples", "discriminator", "readOnly"])
def test_what_nothing_has_to_obey_is_left_out(keyword: str) -> None:
    """gemini.schema.8"""
    assert fit({"type": "string", keyword: "x"}) == ({"type": "string"}, [f"s.{keyword} (dropped)"])


def test_a_schema_without_a_bottom_is_refused() -> None:
    """gemini.schema.10"""
    schema: Any = {"const": 1}
    for _ in range(300):
        schema = {"items": schema}
    found, lost = fit(schema)
    assert [name.rpartition(" ")[2] for name in lost] == ["(refused)"]
    assert msgspec.json.encode(found).count(b"items") == 201


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (
            {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}},
            {"type": "object", "properties": {"a": {"type": "string"}}},
        ),
        ({"type": "STRING", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "STRING", "enum": ["a"], "nullable": True}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"any_of": [{"type": 3}], "nullable": True}, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        ({"type": "INTEGER", "enum": ["1", "2"]}, {"type": "integer", "enum": [1, 2]}),
        (
            {"type": "ARRAY", "max_items": "3", "items": {"type": "NUMBER"}},
            {"type": "array", "maxItems": 3, "items": {"type": "number"}},
        ),
        ({"ref": "#/defs/a", "defs": {"a": {"type": "NULL"}}}, {"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}),
        ({"type": "STRING", "example": "x"}, {"type": "string", "examples": ["x"]}),
    ],
)
def test_the_older_dialect_is_read_as_json_schema(theirs: Any, ours: Any) -> None:
    """gemini.schema.11"""
    assert from_openapi(theirs) == ours


def test_entries_by_their_place_have_one_name_here() -> None:
    """gemini.schema.4"""
    assert fit({"type": "array", "items": [{"const": 1}]}) == (
        {"type": "array", "prefixItems": [{"enum": [1]}]},
        ["s.items (changed)", "s.items[0].const (changed)"],
    )
