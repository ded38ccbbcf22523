"""Schemas for hosts that enforce every word of them."""

from __future__ import annotations

from typing import Any

import pytest

from llm_rest.client.structured import Output
from llm_rest.losses import Losses
from llm_rest.responses import JsonSchemaFormat, Request
from llm_rest.wires.schema import NotStrict, strict_form


def strict(**properties: Any) -> tuple[Any, list[str]]:
    """The properties of an object that requires none, as they are sent, and the places of what was changed."""
    lost = Losses()
    found = strict_form({"type": "object", "properties": properties, "additionalProperties": False}, lost, "s")
    assert found["required"] == list(properties)
    return found["properties"], [loss.path for loss in lost]


def test_an_optional_property_is_required_and_may_be_null_once() -> None:
    """BUGS 52"""
    integer, nullable = {"type": "integer"}, {"type": ["string", "null"]}
    sent = {"a": {"anyOf": [integer, {"type": "null"}]}, "b": nullable}
    assert strict(a=integer, b=nullable) == (sent, ["s.properties.a", "s.properties.b"])


def test_every_object_is_closed_also_in_definitions() -> None:
    """BUGS 51"""
    lost = Losses()
    inner = {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}
    asked = {**inner, "properties": {"b": {"$ref": "#/$defs/A"}}, "$defs": {"A": inner}}
    found = strict_form(asked, lost, "s")
    assert found["additionalProperties"] is found["$defs"]["A"]["additionalProperties"] is False
    assert [loss.path for loss in lost] == ["s.$defs.A.additionalProperties", "s.additionalProperties"]


def test_what_is_not_enforced_is_in_the_description() -> None:
    found, lost = strict(a={"type": ["string", "null"], "description": "A name.", "minLength": 2, "default": "xy"})
    assert found["a"]["description"] == 'A name.\n\n(minLength: 2, default: "xy")'
    assert lost == ["s.properties.a.minLength", "s.properties.a.default", "s.properties.a"]


@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {}, "additionalProperties": True},
        {"type": "object", "properties": {}, "required": ["x"]},
        {"type": "array"},
        {"type": "array", "prefixItems": [{"type": "string"}]},
        {"allOf": [{"type": "string"}]},
        {"type": "string", "not": {"const": "x"}},
        {"type": "object", "properties": {}, "anyOf": [{"type": "object"}]},
    ],
)
def test_what_no_strict_schema_can_say_is_not_enforced_and_said_so(schema: Any) -> None:
    """BUGS 52 and 53"""
    with pytest.raises(NotStrict):
        strict(a=schema)
    whole = {"type": "object", "properties": {"a": schema}}
    (way,) = Output[Any](whole).ways(Request(input="x"), "native", strict=True)
    assert way.request.text
    assert way.request.text.format == JsonSchemaFormat(name="answer", schema=whole, strict=False)
    assert [(loss.path, loss.kind) for loss in way.lost] == [("text.format.strict", "changed")]
