"""Content codings are decoded wherever the bytes are cut, in any number of gzip members, and only if they are complete."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_rest.errors import MalformedResponseError, ResponseTooLargeError
from llm_rest.transport.exchange import Body
from tests.support.streams import slices

MEMBERS = st.lists(st.binary(max_size=200), min_size=1, max_size=4)


def decoded(pieces: list[bytes], limit: int = 10_000) -> bytes:
    body = Body({"content-encoding": "gzip"}, limit)
    found = b"".join([body.feed(piece) for piece in pieces])
    body.close()
    return found


@given(
    members=MEMBERS,
    cuts=st.lists(st.integers(0, 600), max_size=6),
    missing=st.integers(1, 19),
    more=st.binary(min_size=1, max_size=50),
)
def test_members_are_decoded_one_after_the_other_and_must_be_complete(
    members: list[bytes], cuts: list[int], missing: int, more: bytes
) -> None:
    packed = b"".join(map(gzip.compress, members))
    assert decoded(slices(packed, cuts)) == b"".join(members)
    for broken in (packed[:-missing], packed + more):
        with pytest.raises(MalformedResponseError):
            decoded(slices(broken, cuts))


@pytest.mark.parametrize(
    "pieces",
    [[gzip.compress(bytes(400))] * 3, [gzip.compress(b"whole"), b"x" * 900, b"x" * 100]],
    ids=["members", "behind"],
)
def test_the_limit_counts_all_members_and_what_follows_them(pieces: list[bytes]) -> None:
    with pytest.raises(ResponseTooLargeError):
        decoded(pieces, limit=1000)
