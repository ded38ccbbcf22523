"""JSON Schemas within the vendor's limits: what cannot be enforced is told, every change is named, the caller's is untouched."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_rest.losses import Losses
from llm_rest.wires.schema import ANTHROPIC, fitted
from tests.support.documents import NAMES, VALUES


def fit(schema: dict[str, Any]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    lost = Losses()
    before = copy.deepcopy(schema)
    found = fitted(schema, ANTHROPIC, lost, "$")
    assert schema == before
    return found, [(loss.path, loss.kind) for loss in lost]


CLOSED: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


def test_a_schema_within_the_limits_is_sent_as_it_is() -> None:
    schema = {
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
    }
    assert fit(schema) == (schema, [])


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 9}, "(minimum: 1, maximum: 9)"),
        ({"type": "string", "maxLength": 5, "description": "d"}, "d\n\n(maxLength: 5)"),
        ({"type": "string", "maxLength": 5, "description": ["d"]}, '["d"]\n\n(maxLength: 5)'),
        ({"type": "string", "format": "phone"}, '(format: "phone")'),
        ({"type": "string", "pattern": r"(?=a)b"}, r'(pattern: "(?=a)b")'),
        ({"type": "string", "pattern": r"\bb"}, r'(pattern: "\\bb")'),
        ({"type": "array", "minItems": 2}, "(minItems: 2)"),
        ({"enum": [{"a": 1}]}, '(enum: [{"a":1}])'),
        ({"type": "object", "propertyNames": {"pattern": "a"}, **CLOSED}, '(propertyNames: {"pattern":"a"})'),
        ({"if": {"type": "string"}}, '(if: {"type":"string"})'),
    ],
)
def test_what_the_vendor_cannot_enforce_is_told_to_the_model(schema: dict[str, Any], told: str) -> None:
    """anthropic.request.26 and BUGS 49"""
    found, lost = fit(schema)
    assert found["description"] == told
    assert {kind for _, kind in lost} == {"changed"}


def test_one_of_several_is_any_of_them() -> None:
    """BUGS 49"""
    found, lost = fit({"oneOf": [{"type": "string"}, {"type": "null"}]})
    assert (found, lost) == ({"anyOf": [{"type": "string"}, {"type": "null"}]}, [("$.oneOf", "changed")])


def test_every_object_is_closed() -> None:
    """BUGS 51"""
    inner = {"type": "object", "properties": {"b": {"type": "object", "properties": {"c": {}}}}}
    found, lost = fit({"$defs": {"A": inner}, "$ref": "#/$defs/A"})
    closed = found["$defs"]["A"]
    assert closed["additionalProperties"] is closed["properties"]["b"]["additionalProperties"] is False
    assert lost == [
        ("$.$defs.A.properties.b.additionalProperties", "changed"),
        ("$.$defs.A.additionalProperties", "changed"),
    ]


def test_a_map_of_names_to_values_cannot_be_enforced() -> None:
    """BUGS 53"""
    for schema in ({"type": "object"}, {"type": "object", "properties": {"a": {}}, "additionalProperties": {}}):
        assert fit(schema)[1] == [("$.additionalProperties", "refused")]
    assert fit({"type": "string", "additionalProperties": {}})[1] == [("$.additionalProperties", "changed")]


def test_an_object_that_is_described_in_several_places_is_refused() -> None:
    """Each of them is closed, so that together they would take nothing."""
    one, other = ({"type": "object", "properties": {name: {}}} for name in "ab")
    for schema in ({"allOf": [one, other]}, {**one, "anyOf": [other]}, {**one, "allOf": [other]}):
        assert ("$", "refused") in fit(schema)[1]
    assert "refused" not in [kind for _, kind in fit({"anyOf": [one, other]})[1]]


def test_references() -> None:
    assert fit({"allOf": [{"$ref": "#/$defs/A"}], "$defs": {"A": CLOSED}})[0]["$ref"] == "#/$defs/A"
    both = {"allOf": [{"$ref": "#/$defs/A"}, CLOSED], "$defs": {"A": CLOSED}}
    assert fit(both)[1] == [("$.allOf", "refused"), ("$", "refused")]
    assert fit({"$ref": "https://a.b/c.json"})[1] == [("$.$ref", "refused")]
    assert fit({"$ref": "#/$defs/A", "description": "d", "$defs": {"A": CLOSED}})[1] == [("$.description", "dropped")]


@pytest.mark.parametrize(
    "schema",
    [
        {"$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}}, "$ref": "#/$defs/A"},
        {"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}, "$ref": "#/$defs/A"},
        {**CLOSED, "properties": {"child": {"$ref": "#"}}},
    ],
)
def test_a_schema_that_refers_to_itself_is_refused(schema: dict[str, Any]) -> None:
    """anthropic.request.26 and BUGS 49"""
    assert ("$", "refused") in fit(schema)[1]


def test_a_schema_nested_too_deeply_is_refused() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(100):
        deep = {"type": "array", "items": deep}
    assert [kind for _, kind in fit(deep)[1]] == ["refused"]


WORDS = st.sampled_from(
    "type properties items anyOf oneOf allOf enum const $ref $defs additionalProperties format minItems pattern".split()
)


@given(st.dictionaries(WORDS | NAMES, VALUES, max_size=5))
def test_anything_is_fitted_the_same_way_twice_and_then_fits(schema: dict[str, Any]) -> None:
    """anthropic.hard.15 and BUGS 81"""
    found, lost = fit(schema)
    assert fit(schema) == (found, lost)
    again, more = fit(found)
    assert again == found or [kind for _, kind in [*lost, *more] if kind == "refused"]
