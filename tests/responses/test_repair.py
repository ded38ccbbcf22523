"""Malformed calls are read as what they ask for, and each repair is told."""

from __future__ import annotations

from typing import Any

import pytest

from llm_rest.responses.items import CustomToolCall, FunctionCall
from llm_rest.responses.lenient import derived_call_id, repair_call

WELL_FORMED = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}


FUNCTION = WELL_FORMED["function"]
NO_ID, NO_TYPE = "it had no id", "it had no type, read as a function"
FLAT, OBJECT = "name and arguments stood beside the id", "its arguments were an object instead of text"


@pytest.mark.parametrize(
    ("call", "faults"),
    [
        (WELL_FORMED, ()),
        *[({**WELL_FORMED, "id": empty}, (NO_ID,)) for empty in ("", "null", None)],
        ({"function": FUNCTION, "id": "c1"}, (NO_TYPE,)),
        ({"id": "c1", "type": "function", **FUNCTION}, (FLAT,)),
        ({**WELL_FORMED, "function": {"name": "weather", "arguments": {"city": "Oslo"}}}, (OBJECT,)),
        ({"name": "weather", "arguments": {"city": "Oslo"}}, (NO_ID, NO_TYPE, FLAT, OBJECT)),
    ],
)
def test_what_is_missing_or_misplaced_is_repaired_and_reported(call: dict[str, Any], faults: tuple[str, ...]) -> None:
    found = repair_call(call, call_id="derived", nested=True)
    assert found.item() == FunctionCall(
        call_id="derived" if NO_ID in faults else "c1", name="weather", arguments='{"city":"Oslo"}'
    )
    assert found.faults == faults


@pytest.mark.parametrize(("arguments", "text"), [("", "{}"), ("null", "{}"), (None, "{}"), ('{"city":', '{"city":')])
def test_empty_arguments_are_an_empty_object_and_invalid_json_stays(arguments: str | None, text: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "now", "arguments": arguments}}
    found = repair_call(call, call_id="", nested=True)
    assert (found.text, len(found.faults)) == (text, text == "{}")


def test_nesting_is_a_fault_only_where_the_wire_is_flat() -> None:
    call = {**WELL_FORMED, "call_id": WELL_FORMED["id"]}
    assert repair_call(call, call_id="").faults == ("name and arguments stood one level down",)


def test_an_id_of_an_item_is_no_call_id_where_the_wire_has_both() -> None:
    call = {"type": "function_call", "id": "fc_1", "name": "f", "arguments": "{}"}
    found = repair_call(call, call_id="")
    assert (found.call_id, found.faults) == ("fc_1", ("it had no call_id, read as its other id",))


def test_a_custom_call_keeps_its_free_text() -> None:
    found = repair_call(
        {"id": "c1", "type": "custom", "custom": {"name": "run", "input": "print(1)"}}, call_id="", nested=True
    )
    assert found.item() == CustomToolCall(call_id="c1", name="run", input="print(1)")
    assert found.faults == ()


def test_a_call_without_a_name_is_told_and_stays_a_call() -> None:
    found = repair_call({"id": "c1", "type": "function", "function": {"arguments": "{}"}}, call_id="", nested=True)
    assert found.name == ""
    assert found.faults == ("it had no name",)


def test_a_derived_id_is_the_same_every_time_and_differs_by_place() -> None:
    assert derived_call_id("chatcmpl-1", 0) == derived_call_id("chatcmpl-1", 0)
    assert (
        len({derived_call_id("chatcmpl-1", 0), derived_call_id("chatcmpl-1", 1), derived_call_id("chatcmpl-2", 0)}) == 3
    )
