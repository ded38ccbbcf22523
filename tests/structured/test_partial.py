"""A value while its JSON is still being written."""

from __future__ import annotations

import copy
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_rest.client.partial import PartialJSON
from tests.structured.test_reading import VALUES

ROOTS = st.lists(VALUES, min_size=1, max_size=3) | st.dictionaries(st.text(max_size=3), VALUES, min_size=1, max_size=3)


def states_of(text: str, size: int) -> list[Any]:
    """Every state that is handed out for a text that comes in pieces of this size."""
    machine = PartialJSON()
    pieces = [text[i : i + size] for i in range(0, len(text), size)]
    return [state for piece in pieces for state in machine.feed(piece)]


def part_of(one: Any, other: Any) -> bool:
    """Whether `one` is what there may be of `other` before all of it came."""
    if isinstance(one, str) and isinstance(other, str):
        return other.startswith(one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) <= len(other) and all(map(part_of, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other)[: len(one)] and all(part_of(one[name], other[name]) for name in one)
    return one is other or (one == other and type(one) is type(other))


@given(ROOTS, st.integers(1, 9), st.booleans(), st.sampled_from(["", "Sure:\n```json\n"]))
def test_it_grows_into_the_whole_value_however_the_text_is_cut(
    value: Any, size: int, ascii_only: bool, before: str
) -> None:
    states = states_of(f"{before}{json.dumps(value, ensure_ascii=ascii_only)} and {{more}}", size)
    assert states[-1] == value
    json.dumps(states, ensure_ascii=False).encode()
    assert all(part_of(one, other) and one != other for one, other in pairwise(states))


def test_texts_come_letter_by_letter_and_numbers_whole() -> None:
    assert states_of('{"n": 123, "t": "ab"}', 1) == [
        {},
        {"n": 123},
        {"n": 123, "t": ""},
        {"n": 123, "t": "a"},
        {"n": 123, "t": "ab"},
    ]


ESCAPES = ['{"a": "x\\d", "b": 1}', '{"a": "x\\u12", "b": 1}', '{"a": "x\\']
"""Texts with an escape that JSON does not have, or half of one."""


@pytest.mark.parametrize(
    "text",
    ['{"a": 1', '{"a": tru', '{"a": "x\\u00', "no JSON at all", '{"a": nope, "b": 1}', "[1}", "{1: 2}", *ESCAPES],
)
def test_what_is_unfinished_or_wrong_stays_as_far_as_it_came(text: str) -> None:
    states = states_of(text, 1)
    assert states == [] or states[-1] in ({}, {"a": 1}, {"a": "x"}, [], [1])


@given(st.text('{}[]":,\\ au01\n', max_size=40), st.integers(1, 5))
def test_any_text_is_read_as_far_as_it_goes(text: str, size: int) -> None:
    for state in states_of(text, size):
        json.dumps(state)


def test_a_long_text_is_shown_in_steps_so_that_all_of_it_costs_what_its_length_does() -> None:
    machine = PartialJSON()
    machine.feed('{"t": "')
    shown = [len(state["t"]) for _ in range(50_000) for state in machine.feed("word ")]
    assert shown[:3] == [5, 10, 15]
    assert len(shown) < 1000  # and not 50,000
    assert sum(shown) < 25 * 250_000
    assert machine.feed('"}')[0]["t"] == "word " * 50_000


@given(ROOTS, st.integers(1, 9))
def test_a_snapshot_stays_as_it_was_handed_out(value: Any, size: int) -> None:
    machine, states, copies = PartialJSON(), list[Any](), list[Any]()
    text = json.dumps(value)
    for i in range(0, len(text), size):
        for state in machine.feed(text[i : i + size]):
            states.append(state)
            copies.append(copy.deepcopy(state))
    assert states == copies
    assert len({id(state) for state in states}) == len(states)


def test_snapshots_share_what_is_complete() -> None:
    machine = PartialJSON()
    (first,), (second,) = machine.feed('[{"a": [1, 2]}, {"b": ['), machine.feed("3, 4,")
    assert (first, second) == ([{"a": [1, 2]}, {"b": []}], [{"a": [1, 2]}, {"b": [3, 4]}])
    assert first[0] is second[0]
    assert first[1] is not second[1]


def test_a_long_list_is_shown_in_steps_so_that_all_of_it_costs_what_its_length_does() -> None:
    machine, text = PartialJSON(), "[" + ", ".join(map(str, range(100_000))) + "]"
    states = [state for i in range(0, len(text), 4) for state in machine.feed(text[i : i + 4])]
    assert states[-1] == [*range(100_000)]
    assert sum(map(len, states)) * 8 < 25 * len(text)


def test_what_was_not_due_is_shown_when_nothing_more_comes() -> None:
    machine = PartialJSON()
    machine.feed('{"t": "' + "word " * 10_000)
    assert machine.feed("and") == []
    assert machine.close() == [{"t": "word " * 10_000 + "and"}]
    assert machine.close() == machine.feed(" more") == []


@given(st.lists(VALUES, min_size=1, max_size=4), st.integers(1, 9))
def test_an_entry_is_complete_when_nothing_of_it_can_change(values: list[Any], size: int) -> None:
    machine, text = PartialJSON(), json.dumps({"value": values})
    for i in range(0, len(text), size):
        machine.feed(text[i : i + size])
        entries = machine.root.get("value", [])
        done = machine.complete(entries)
        assert entries[:done] == values[:done]
        assert len(entries) - done <= 1
    assert machine.complete(machine.root["value"]) == len(values)
