"""What a server keeps: by scope, within bounds, in memory and in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llm_rest.errors import ConfigError, StoreError
from llm_rest.server.store import MemoryStore, SQLiteStore, Store

pytestmark = pytest.mark.anyio

NewStore = Callable[..., Any]


@pytest.fixture(params=["memory", "file"])
def new_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NewStore]:
    opened: list[SQLiteStore] = []
    numbers = count()

    def make(max_bytes: int = 1_000_000) -> Store:
        if request.param == "memory":
            return MemoryStore(max_bytes)
        opened.append(SQLiteStore(tmp_path / f"kept{next(numbers)}.db", max_bytes))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


def size_of(scope: str) -> int:
    """What an entry takes besides its value."""
    return len(scope) + 1 + 256


Step = tuple[str, str, str, int]
STEPS: st.SearchStrategy[list[Step]] = st.lists(
    st.tuples(*map(st.sampled_from, (("put", "get", "delete"), ("alice", "bob"), "abc")), st.integers(0, 2000)),
    max_size=40,
)


@pytest.mark.parametrize("max_bytes", [2000, 100_000])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
async def test_a_store_holds_what_was_used_last_and_no_more_than_it_may(
    new_store: NewStore, max_bytes: int, steps: list[Step]
) -> None:
    """Compared with a list of what was used last, by scope and key; a value that is larger than the store drops nothing."""
    store = new_store(max_bytes)
    model: dict[tuple[str, str], int] = {}
    for what, scope, key, size in steps:
        before = model.pop((scope, key), None)
        if what == "delete":
            assert await store.delete(scope, key) == (before is not None)
            continue
        found = await store.get(scope, key)
        assert (None if found is None else len(found)) == before
        if what == "put":
            await store.put(scope, {key: bytes(size)})
            before = size if size + size_of(scope) <= max_bytes else None
        if before is not None:
            model[scope, key] = before
        while sum(kept + size_of(of) for (of, _), kept in model.items()) > max_bytes:
            del model[next(iter(model))]
    for scope, key in product(("alice", "bob"), "abc"):
        assert await store.delete(scope, key) == ((scope, key) in model)


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


async def test_a_put_that_fails_leaves_a_file_as_it_was(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "kept.db", 2000)
    broken: Any = None
    with pytest.raises(TypeError):
        await store.put("s", {"a": bytes(1500), "b": broken})
    await store.put("s", {"c": bytes(1500)})
    assert [key for key in "abc" if await store.get("s", key)] == ["c"]
    store.close()
