"""A coding is undone wherever it is cut, in as many members as it has, and only if it is whole."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_rest.errors import MalformedResponseError, ResponseTooLargeError
from llm_rest.transport.exchange import Body
from tests.support.streams import slices

GZIP = {"content-encoding": "gzip"}
MEMBERS = st.lists(st.binary(max_size=200), min_size=1, max_size=4)
CUTS = st.lists(st.integers(0, 600), max_size=6)


def undone(pieces: list[bytes], limit: int = 10_000) -> bytes:
    body = Body(GZIP, limit)
    found = b"".join([body.feed(piece) for piece in pieces])
    body.close()
    return found


@given(members=MEMBERS, cuts=CUTS)
def test_members_are_read_one_after_the_other(members: list[bytes], cuts: list[int]) -> None:
    assert undone(slices(b"".join(map(gzip.compress, members)), cuts)) == b"".join(members)


@given(members=MEMBERS, cuts=CUTS, missing=st.integers(1, 19))
def test_a_last_member_that_is_cut_is_no_answer(members: list[bytes], cuts: list[int], missing: int) -> None:
    with pytest.raises(MalformedResponseError):
        undone(slices(b"".join(map(gzip.compress, members))[:-missing], cuts))


@given(members=MEMBERS, cuts=CUTS, more=st.binary(min_size=1, max_size=50))
def test_what_follows_and_is_no_member_is_refused(members: list[bytes], cuts: list[int], more: bytes) -> None:
    with pytest.raises(MalformedResponseError):
        undone(slices(b"".join(map(gzip.compress, members)) + more, cuts))


def test_what_follows_counts_as_much_as_the_answer() -> None:
    body = Body(GZIP, 1000)
    body.feed(gzip.compress(b"whole"))
    body.feed(b"x" * 900)
    with pytest.raises(ResponseTooLargeError):
        body.feed(b"x" * 100)


def test_the_limit_is_for_all_members_together() -> None:
    with pytest.raises(ResponseTooLargeError):
        undone([gzip.compress(bytes(400))] * 3, limit=1000)
