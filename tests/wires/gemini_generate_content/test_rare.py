"""What is rare: documents and conversations that somebody once sent, and that must not be lost or do harm."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llm_rest.wires import gemini_generate_content as wire
from llm_rest.wires.gemini_generate_content.types import from_openapi
from tests.support.facts import plain
from tests.wires.gemini_generate_content import (
    decoded,
    theirs,
)

HI = {"contents": [theirs("Hi")]}


# --- schemas and tools ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("enum", "read_as"), [(["1.5", "x"], [1.5, "x"]), ([1], [1])])
def test_enums_of_the_older_dialect_are_numbers_where_they_can_be(enum: Any, read_as: Any) -> None:
    """gemini.schema.11"""
    assert from_openapi({"type": "NUMBER", "enum": enum})["enum"] == read_as


def test_an_older_schema_without_a_bottom_ends() -> None:
    """gemini.schema.11"""
    schema: Any = {"type": "STRING"}
    for _ in range(300):
        schema = {"items": schema}
    assert json.dumps(from_openapi(schema)).count("items") == 201


def test_a_field_in_both_spellings_is_the_wires_own() -> None:
    """gemini.request_back.26"""
    both = {"contents": [{"parts": [{"text": "Hi", "thought_signature": "a", "thoughtSignature": "b"}]}]}
    assert plain(decoded(both))["contents"][0]["parts"][0]["thoughtSignature"] == "b"


def test_a_count_names_its_model() -> None:
    """gemini.count.3, gemini.request_back.1"""
    body = {"generateContentRequest": {**HI, "model": "models/x"}}
    request, _ = wire.decode_count(wire.COUNT_REQUEST.decode(json.dumps(body).encode()))
    assert request.model == "x"
