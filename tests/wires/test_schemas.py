"""JSON Schemas within the limits of a host: every change is named, and the caller's schema is untouched.

Gemini's older dialect, in which its clients may write schemas, is read as JSON Schema.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_rest import wires
from llm_rest.losses import Losses
from llm_rest.responses import FunctionTool
from llm_rest.wires.schema import ANTHROPIC, GEMINI, Host, fitted
from tests.support.documents import NAMES, VALUES

Schema = dict[str, Any]
CLOSED: Schema = {"type": "object", "properties": {}, "additionalProperties": False}
DEFINED = {"A": CLOSED}
ONE, OTHER = ({"type": "object", "properties": {name: {}}} for name in "ab")


def fit(schema: Schema, host: Host) -> tuple[Schema, list[str]]:
    """The schema as it is sent, and every loss; the caller's own stays as it was."""
    before, lost = copy.deepcopy(schema), Losses()
    found = fitted(schema, host, lost, "$")
    assert schema == before
    return found, [f"{loss.path} ({loss.kind})" for loss in lost]


@pytest.mark.parametrize(
    ("host", "schema"),
    [
        (
            ANTHROPIC,
            {
                **CLOSED,
                "title": "T",
                "description": "d",
                "required": ["a"],
                "$defs": {"D": {"enum": ["x", 1, None, True]}},
                "properties": {
                    "a": {"$ref": "#/$defs/D"},
                    "b": {"type": "array", "items": {"type": "string", "format": "date"}, "minItems": 1},
                    "c": {"anyOf": [{"const": 1}, {"type": ["string", "null"], "pattern": "^a+$", "default": "a"}]},
                    "d": {"allOf": [CLOSED, CLOSED]},
                },
            },
        ),
        (
            GEMINI,
            {
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
            },
        ),
    ],
)
def test_a_schema_within_the_limits_is_sent_as_it_is(host: Host, schema: Schema) -> None:
    """gemini.schema.1, BUGS 49, BUGS 53"""
    assert fit(schema, host) == (schema, [])


@pytest.mark.parametrize(
    ("host", "schema", "text"),
    [
        (ANTHROPIC, {"type": "integer", "minimum": 1, "maximum": 9}, "(minimum: 1, maximum: 9)"),
        (ANTHROPIC, {"type": "string", "maxLength": 5}, "(maxLength: 5)"),
        (ANTHROPIC, {"type": "string", "format": "phone"}, '(format: "phone")'),
        (ANTHROPIC, {"type": "string", "pattern": r"(?=a)b"}, r'(pattern: "(?=a)b")'),
        (ANTHROPIC, {"type": "string", "pattern": r"\bb"}, r'(pattern: "\\bb")'),
        (ANTHROPIC, {"type": "array", "minItems": 2}, "(minItems: 2)"),
        (ANTHROPIC, {"enum": [{"a": 1}]}, '(enum: [{"a":1}])'),
        (ANTHROPIC, {"propertyNames": {"pattern": "a"}, **CLOSED}, '(propertyNames: {"pattern":"a"})'),
        (ANTHROPIC, {"if": {"type": "string"}}, '(if: {"type":"string"})'),
        (GEMINI, {"exclusiveMinimum": 0.5}, "(exclusiveMinimum: 0.5)"),
        (GEMINI, {"propertyNames": {"pattern": "^a"}}, '(propertyNames: {"pattern":"^a"})'),
        (GEMINI, {"patternProperties": {"^a": {}}}, '(patternProperties: {"^a":{}})'),
        (GEMINI, {"not": {"type": "string"}}, '(not: {"type":"string"})'),
        (GEMINI, {"const": None}, "(const: null)"),
        (GEMINI, {"multipleOf": 5}, "(multipleOf: 5)"),
    ],
)
def test_what_a_host_cannot_enforce_is_told_in_the_description(host: Host, schema: Schema, text: str) -> None:
    """anthropic.request.26, gemini.schema.7, BUGS 49"""
    for before, after in ({}, text), ({"description": "d"}, f"d\n\n{text}"), ({"description": [1]}, f"[1]\n\n{text}"):
        found, lost = fit({**schema, **before}, host)
        assert found["description"] == after
        assert lost
        assert {loss.rpartition(" ")[2] for loss in lost} == {"(changed)"}


@pytest.mark.parametrize(
    ("host", "schema", "sent", "lost"),
    [
        (
            ANTHROPIC,
            {"oneOf": [{"type": "string"}, {"type": "null"}]},
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
            ["$.oneOf (changed)"],
        ),
        (ANTHROPIC, {"type": "object"}, None, ["$.additionalProperties (refused)"]),
        (ANTHROPIC, {**ONE, "additionalProperties": {}}, None, ["$.additionalProperties (refused)"]),
        (ANTHROPIC, {"type": "string", "additionalProperties": {}}, None, ["$.additionalProperties (changed)"]),
        (
            ANTHROPIC,
            {"allOf": [{"$ref": "#/$defs/A"}], "$defs": DEFINED},
            {"$ref": "#/$defs/A", "$defs": DEFINED},
            None,
        ),
        (
            ANTHROPIC,
            {"allOf": [{"$ref": "#/$defs/A"}, CLOSED], "$defs": DEFINED},
            None,
            ["$.allOf (refused)", "$ (refused)"],
        ),
        (ANTHROPIC, {"$ref": "https://a.b/c.json"}, None, ["$.$ref (refused)"]),
        (ANTHROPIC, {"$ref": "#/$defs/A", "description": "d", "$defs": DEFINED}, None, ["$.description (dropped)"]),
        (GEMINI, {"const": "a"}, {"enum": ["a"]}, ["$.const (changed)"]),
        (
            GEMINI,
            {
                "type": "object",
                "allOf": [{**ONE, "required": ["a"]}, {"properties": {"b": {"const": 1}}, "required": ["b"]}],
            },
            {"type": "object", "properties": {"a": {}, "b": {"enum": [1]}}, "required": ["a", "b"]},
            ["$.allOf (changed)", "$.allOf[1].properties.b.const (changed)"],
        ),
        (
            GEMINI,
            {"allOf": [{"$ref": "#/$defs/a"}, {"type": "object"}]},
            None,
            ["$.allOf (changed)", "$.allOf[0] (refused)"],
        ),
        (
            GEMINI,
            {"$ref": "#/definitions/a", "definitions": {"a": {"type": "string"}}},
            {"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}},
            ["$.$ref (changed)", "$.definitions (changed)"],
        ),
        (
            GEMINI,
            {"type": "array", "items": [{"const": 1}]},
            {"type": "array", "prefixItems": [{"enum": [1]}]},
            ["$.items (changed)", "$.items[0].const (changed)"],
        ),
        (
            GEMINI,
            {"$ref": "#/$defs/a", "description": "d", "$defs": {"a": {}}},
            {"$ref": "#/$defs/a", "$defs": {"a": {}}},
            ["$.description (dropped)"],
        ),
        (GEMINI, {"$ref": "https://x.test/a.json"}, None, ["$.$ref (refused)"]),
        (
            GEMINI,
            {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9},
            {"type": "integer", "minimum": 1, "maximum": 8},
            ["$.exclusiveMinimum (changed)", "$.exclusiveMaximum (changed)"],
        ),
        *(
            (GEMINI, {"type": "string", keyword: "x"}, {"type": "string"}, [f"$.{keyword} (dropped)"])
            for keyword in ("$schema", "examples", "discriminator", "readOnly")
        ),
    ],
)
def test_what_a_host_takes_in_another_form_is_sent_in_that_form_and_named(
    host: Host, schema: Schema, sent: Schema | None, lost: list[str] | None
) -> None:
    """gemini.schema.2, gemini.schema.3, gemini.schema.4, gemini.schema.5, gemini.schema.6, gemini.schema.8.
    BUGS 49 and 53"""
    found, named = fit(schema, host)
    assert sent is None or found == sent
    assert lost is None or sorted(named) == sorted(lost)


def test_every_object_is_closed() -> None:
    """BUGS 51"""
    inner = {"type": "object", "properties": {"b": {"type": "object", "properties": {"c": {}}}}}
    found, lost = fit({"$defs": {"A": inner}, "$ref": "#/$defs/A"}, ANTHROPIC)
    closed = found["$defs"]["A"]
    assert closed["additionalProperties"] is closed["properties"]["b"]["additionalProperties"] is False
    places = ("$.$defs.A.properties.b.additionalProperties", "$.$defs.A.additionalProperties")
    assert lost == [f"{place} (changed)" for place in places]


@pytest.mark.parametrize(
    ("schema", "refused"),
    [
        # An object that is described in several places, each of which is closed: together they would take nothing.
        ({"allOf": [ONE, OTHER]}, True),
        ({**ONE, "anyOf": [OTHER]}, True),
        ({**ONE, "allOf": [OTHER]}, True),
        ({"anyOf": [ONE, OTHER]}, False),
        # A schema that refers to itself.
        ({"$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}}, "$ref": "#/$defs/A"}, True),
        ({"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}, "$ref": "#/$defs/A"}, True),
        ({**CLOSED, "properties": {"child": {"$ref": "#"}}}, True),
    ],
)
def test_a_schema_that_anthropic_cannot_enforce_as_a_whole_is_refused(schema: Schema, refused: bool) -> None:
    """anthropic.request.26 and BUGS 49"""
    assert ("$ (refused)" in fit(schema, ANTHROPIC)[1]) is refused


def nested(depth: int, **leaf: Any) -> Schema:
    schema: Schema = leaf
    for _ in range(depth):
        schema = {"items": schema}
    return schema


@pytest.mark.parametrize(("host", "most"), [(ANTHROPIC, None), (GEMINI, 201)])
def test_a_schema_nested_too_deeply_is_refused(host: Host, most: int | None) -> None:
    """gemini.schema.10"""
    found, lost = fit(nested(300, const=1), host)
    assert [loss.rpartition(" ")[2] for loss in lost] == ["(refused)"]
    assert most in (None, json.dumps(found).count('"items"'))


WORDS = st.sampled_from(
    "type properties items anyOf oneOf allOf enum const $ref $defs additionalProperties format minItems pattern".split()
)


@pytest.mark.parametrize("host", [ANTHROPIC, GEMINI], ids=["anthropic", "gemini"])
@given(schema=st.dictionaries(WORDS | NAMES, VALUES, max_size=5))
def test_anything_is_fitted_the_same_way_twice_and_then_fits(host: Host, schema: Schema) -> None:
    """anthropic.hard.15 and BUGS 81"""
    found, lost = fit(schema, host)
    assert fit(schema, host) == (found, lost)
    again, more = fit(found, host)
    assert again == found or any(loss.endswith("(refused)") for loss in [*lost, *more])


# --- the older dialect of Gemini ------------------------------------------------------------------------------------


def read(schema: Schema) -> Any:
    """A schema in the older dialect as a decoded request has it."""
    wire = wires.load("gemini_generate_content")
    declared = [{"functionDeclarations": [{"name": "f", "parameters": schema}]}]
    request = wire.decode_request(wire.REQUEST.decode(json.dumps({"contents": [], "tools": declared})))[0]
    assert request.tools
    (tool,) = request.tools
    assert isinstance(tool, FunctionTool)
    return tool.parameters


@pytest.mark.parametrize(
    ("older", "ours"),
    [
        (
            {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}},
            {"type": "object", "properties": {"a": {"type": "string"}}},
        ),
        ({"type": "STRING", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "STRING", "enum": ["a"], "nullable": True}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"any_of": [{"type": 3}], "nullable": True}, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        ({"type": "INTEGER", "enum": ["1", "2"]}, {"type": "integer", "enum": [1, 2]}),
        ({"type": "NUMBER", "enum": ["1.5", "x"]}, {"type": "number", "enum": [1.5, "x"]}),
        ({"type": "NUMBER", "enum": [1]}, {"type": "number", "enum": [1]}),
        (
            {"type": "ARRAY", "max_items": "3", "items": {"type": "NUMBER"}},
            {"type": "array", "maxItems": 3, "items": {"type": "number"}},
        ),
        ({"ref": "#/defs/a", "defs": {"a": {"type": "NULL"}}}, {"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}),
        ({"type": "STRING", "example": "x"}, {"type": "string", "examples": ["x"]}),
    ],
)
def test_the_older_dialect_is_read_as_json_schema(older: Schema, ours: Schema) -> None:
    """gemini.schema.11"""
    assert read(older) == ours


def test_an_older_schema_without_a_bottom_ends() -> None:
    """gemini.schema.11"""
    assert json.dumps(read(nested(300, type="STRING"))).count("items") == 201
