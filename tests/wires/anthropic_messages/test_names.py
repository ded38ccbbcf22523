"""Call ids and tool names: legal on this wire, never two for one, and read back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_rest.wires.anthropic_messages import call_id, wire_id
from llm_rest.wires.anthropic_messages.content import MARK
from llm_rest.wires.tools import wire_name

IDS = st.text(max_size=12) | st.from_regex(r"[a-zA-Z0-9_-]{1,12}", fullmatch=True) | st.just(f"{MARK}YQ")


@given(IDS, st.integers(0, 3))
def test_every_id_is_legal_and_read_back(original: str, repeated: int) -> None:
    """anthropic.hard.5 and BUGS 34"""
    wire = wire_id(original, repeated)
    assert re.fullmatch(r"[a-zA-Z0-9_-]+", wire)
    assert call_id(wire) == original


@given(IDS, IDS, st.integers(0, 2), st.integers(0, 2))
def test_two_ids_stay_two(one: str, other: str, first: int, second: int) -> None:
    """anthropic.hard.5 and BUGS 34"""
    assert (wire_id(one, first) == wire_id(other, second)) is ((one, first) == (other, second))


@pytest.mark.parametrize("id", ["toolu_01A", "call-1", "a", "9"])
def test_a_legal_id_stays_as_it_is(id: str) -> None:
    assert wire_id(id) == call_id(id) == id


@pytest.mark.parametrize("wire", [f"{MARK}!", f"{MARK}gA", f"{MARK}YQ", f"{MARK}YQAw", f"{MARK}YQAx{'MTEx' * 3000}"])
def test_an_id_that_only_looks_like_ours_is_left_alone(wire: str) -> None:
    assert call_id(wire) == wire


@given(st.text(max_size=80))
def test_every_name_is_legal(name: str) -> None:
    """anthropic.request.32 and BUGS 41"""
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", wire_name(name))


def test_names_that_differ_only_in_what_is_illegal_stay_apart() -> None:
    assert len({wire_name("a.b"), wire_name("a:b"), wire_name("a_b")}) == 3
