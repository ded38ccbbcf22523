"""What a server keeps: by scope, within bounds, in memory and in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_rest.errors import ConfigError, StoreError
from llm_rest.server.store import MemoryStore, SQLiteStore, Store
from llm_rest.sync import drive

pytestmark = pytest.mark.anyio

NewStore = Callable[..., Any]


@pytest.fixture(params=["memory", "file"])
def new_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NewStore]:
    opened: list[SQLiteStore] = []

    def make(max_bytes: int = 1_000_000) -> Store:
        if request.param == "memory":
            return MemoryStore(max_bytes)
        opened.append(SQLiteStore(tmp_path / "kept.db", max_bytes))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


async def test_what_was_put_is_there_until_it_is_deleted(new_store: NewStore) -> None:
    store = new_store()
    await store.put("alice", {"k": b"1"})
    await store.put("alice", {"k": b"2"})
    assert await store.get("alice", "k") == b"2"
    assert await store.delete("alice", "k")
    assert await store.get("alice", "k") is None
    assert not await store.delete("alice", "k")


async def test_nobody_reads_or_deletes_what_is_in_another_scope(new_store: NewStore) -> None:
    store = new_store()
    await store.put("alice", {"k": b"1"})
    assert await store.get("mallory", "k") is None
    assert not await store.delete("mallory", "k")
    assert await store.get("alice", "k") == b"1"


async def test_what_was_used_longest_ago_goes_first(new_store: NewStore) -> None:
    store = new_store(4000)
    for key in "abc":
        await store.put("s", {key: bytes(1000)})
    await store.get("s", "a")
    await store.put("s", {"d": bytes(1000)})
    assert [key for key in "abcd" if await store.get("s", key)] == ["a", "c", "d"]


async def test_what_is_larger_than_the_store_is_not_kept_and_drops_nothing_else(new_store: NewStore) -> None:
    store = new_store(2000)
    await store.put("s", {"small": b"1"})
    await store.put("s", {"large": bytes(2000)})
    assert await store.get("s", "large") is None
    assert await store.get("s", "small") == b"1"


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 900) | st.none()), max_size=40))
def test_a_store_in_memory_never_holds_more_than_it_may(steps: list[tuple[str, int | None]]) -> None:
    """Compared with a plain list of what was used last."""
    store, limit = MemoryStore(2000), 2000
    model: list[tuple[str, int]] = []
    for key, size in steps:
        model = [(name, kept) for name, kept in model if name != key]
        if size is None:
            drive(store.delete("s", key))
            continue
        drive(store.put("s", {key: bytes(size)}))
        model.append((key, size))
        while sum(kept + 258 for _, kept in model) > limit:
            model.pop(0)
    for key in "abc":
        found = drive(store.get("s", key))
        assert (None if found is None else len(found)) == dict(model).get(key)


async def test_a_file_is_read_by_the_next_process_and_by_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "kept.db"
    first = SQLiteStore(path)
    await first.put("s", {"k": b"1"})
    first.close()
    assert path.stat().st_mode & 0o077 == 0
    again = SQLiteStore(path)
    assert await again.get("s", "k") == b"1"
    again.close()


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to be looked at " * 50)
    with pytest.raises(StoreError, match=r"notes\.txt"):
        SQLiteStore(path)
    with pytest.raises(ConfigError, match="a number of bytes"):
        MemoryStore(0)
