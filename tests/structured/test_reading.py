"""The JSON in what a model wrote: lenient about what stands around it, strict about itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_rest.client.partial import NotJSON, json_in

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3).filter(str.isascii), inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)
PROSE = st.sampled_from(["", "Here you are:\n", "```json\n", "As [asked] (see [1]):\n\n", "{curly} words "])


@given(VALUES)
def test_a_text_that_is_json_is_that_value(value: Any) -> None:
    assert json_in(f" {json.dumps(value)}\n") == (value, False)


@given(OBJECTS, PROSE, st.sampled_from(["", "\n```", "\nHope that helps! [2]"]))
def test_prose_and_fences_around_an_object_are_left_out(value: Any, before: str, after: str) -> None:
    assert json_in(before + json.dumps(value) + after) == (value, bool(before or after))


@given(st.text('{}[]":,\\ a1\n', max_size=40))
def test_any_text_has_a_value_or_is_no_json(text: str) -> None:
    try:
        value, amid_text = json_in(text)
    except NotJSON:
        return
    assert amid_text or value == json.loads(text)


def test_many_brackets_are_looked_behind_only_so_often() -> None:
    assert json_in("{x} " * 50 + '{"a": 1}').value == {"a": 1}
    with pytest.raises(NotJSON):
        json_in("{" * 1_000_000 + '{"a": 1}')


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the answer is empty"),
        ("I cannot say.", "not JSON"),
        ('{"a": 1, "a": 2}', "'a' occurs twice"),
        ('{"a": NaN}', "NaN is no number"),
        ('{"a": -Infinity}', "-Infinity is no number"),
        ('{"a": 1e999}', "1e999 is no number"),
        ('{"a": [1, 2,]}', "not JSON"),
        ('{"a": 1,}', "not JSON"),
        ("{'a': 1}", "not JSON"),
        ('{"a": 1', "not JSON"),
        ('{"a": "\\ud800"}', "half of a surrogate pair"),
        ('{"a": 1}\nNo, rather:\n{"a": 2}', "more than one JSON value"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_json_or_means_two_things_is_refused(text: str, why: str) -> None:
    with pytest.raises(NotJSON, match=why):
        json_in(text)


@pytest.mark.parametrize(
    "text",
    [
        'So: {"a": {"b": 1}, "a": 2}',
        'So: {"n": NaN, "a": {"b": 1}}',
        'So: {"a": {"b": 1},}',
        'So: [{"b": 1}, {"b": 2},]',
        'So: {"a": [{"b": 1} {"b": 2}]}',
    ],
)
def test_an_object_inside_a_broken_one_is_never_the_answer(text: str) -> None:
    with pytest.raises(NotJSON):
        json_in(text)
