"""The stores of a server: bytes by scope and key, in memory or in an SQLite file.

A scope belongs to one caller; values of other scopes are not accessible. Both stores are bounded by bytes, and the
least recently used values are deleted first (LRU). Before changing this file, know that every method is a coroutine so
that a store may wait, and that the one in memory never does: the simulator is driven without an event loop.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from ..errors import ConfigError
from ..sqlite import SQLiteFile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

T = TypeVar("T")

MAX_BYTES = 256 * 1024 * 1024
"""The size of a store by default, in bytes."""


class Store(Protocol):
    """A store of bytes by scope and key, bounded in size."""

    async def get(self, scope: str, key: str) -> bytes | None:
        """The value, or `None` where there is none (any more). Counts as use (LRU)."""
        ...

    async def put(self, scope: str, values: Mapping[str, bytes]) -> None:
        """Store values by their keys. A value larger than the whole store is not stored."""
        ...

    async def delete(self, scope: str, key: str) -> bool:
        """Delete a value; whether there was one."""
        ...

    def close(self) -> None:
        """Close the store."""
        ...


class MemoryStore:
    """A store in memory, of at most `max_bytes`. Its content is lost when the process ends."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max = _limit(max_bytes)
        self._size = 0
        self._kept: OrderedDict[tuple[str, str], bytes] = OrderedDict()

    async def get(self, scope: str, key: str) -> bytes | None:
        """The value, or `None` where there is none (any more)."""
        value = self._kept.get((scope, key))
        if value is not None:
            self._kept.move_to_end((scope, key))
        return value

    async def put(self, scope: str, values: Mapping[str, bytes]) -> None:
        """Store values by their keys; where the store is full, the least recently used ones are deleted."""
        for key, value in values.items():
            await self.delete(scope, key)
            size = _size(scope, key, value)
            if size > self._max:
                continue
            while self._size + size > self._max:
                (old_scope, old_key), old = self._kept.popitem(last=False)
                self._size -= _size(old_scope, old_key, old)
            self._kept[scope, key] = value
            self._size += size

    async def delete(self, scope: str, key: str) -> bool:
        """Delete a value; whether there was one."""
        value = self._kept.pop((scope, key), None)
        if value is None:
            return False
        self._size -= _size(scope, key, value)
        return True

    def close(self) -> None:
        """Delete everything."""
        self._kept.clear()
        self._size = 0


_APPLICATION = 0x6C726B76
_SCHEMA = 1
_TABLES = """
CREATE TABLE kept (
    scope TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, size INTEGER NOT NULL, used INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) WITHOUT ROWID;
CREATE INDEX kept_used ON kept (used)
"""


class SQLiteStore(SQLiteFile):
    """A store in a SQLite file, of at most `max_bytes`; one server uses it at a time. Works in a worker thread.

    Raises `StoreError` where the file cannot be opened or is no database. The file holds conversations: only its owner
    may read it.
    """

    def __init__(self, path: str | Path, max_bytes: int = MAX_BYTES) -> None:
        self._max = _limit(max_bytes)
        super().__init__(
            path,
            timeout=5,
            what="the store",
            application=_APPLICATION,
            schema=_SCHEMA,
            tables=_TABLES,
        )
        self._look()

    def _look(self) -> None:
        """Read the total size, and the number of the last use."""
        found = self._db.execute("SELECT coalesce(max(used), 0), coalesce(sum(size), 0) FROM kept").fetchone()
        self._used: int = found[0]
        self._size: int = found[1]

    async def get(self, scope: str, key: str) -> bytes | None:
        """The value, or `None` where there is none (any more)."""
        return await _in_thread(partial(self._get, scope, key))

    async def put(self, scope: str, values: Mapping[str, bytes]) -> None:
        """Store values by their keys, in one transaction; where the store is full, what was used longest ago is deleted."""
        await _in_thread(partial(self._put, scope, values))

    async def delete(self, scope: str, key: str) -> bool:
        """Delete a value; whether there was one."""
        return await _in_thread(partial(self._delete, scope, key))

    def _get(self, scope: str, key: str) -> bytes | None:
        with self._store_errors():
            row = self._db.execute("SELECT value FROM kept WHERE scope = ? AND key = ?", (scope, key)).fetchone()
            if row is None:
                return None
            self._used += 1
            self._db.execute("UPDATE kept SET used = ? WHERE scope = ? AND key = ?", (self._used, scope, key))
            found: bytes = row[0]
            return found

    def _put(self, scope: str, values: Mapping[str, bytes]) -> None:
        try:
            with self._writing():
                for key, value in values.items():
                    self._put_one(scope, key, value)
        except BaseException:
            self._look()
            raise

    def _put_one(self, scope: str, key: str, value: bytes) -> None:
        size = _size(scope, key, value)
        self._forget(scope, key)
        while self._size + size > self._max >= size:
            self._forget(*self._db.execute("SELECT scope, key FROM kept ORDER BY used LIMIT 1").fetchone())
        if size <= self._max:
            self._used += 1
            self._db.execute("INSERT INTO kept VALUES (?, ?, ?, ?, ?)", (scope, key, value, size, self._used))
            self._size += size

    def _delete(self, scope: str, key: str) -> bool:
        with self._store_errors():
            return self._forget(scope, key)

    def _forget(self, scope: str, key: str) -> bool:
        rows = self._db.execute("DELETE FROM kept WHERE scope = ? AND key = ? RETURNING size", (scope, key)).fetchall()
        self._size -= sum(size for (size,) in rows)
        return bool(rows)


async def _in_thread(work: Callable[[], T]) -> T:
    from anyio import to_thread  # the store in memory needs no event loop

    return await to_thread.run_sync(work)


def _size(scope: str, key: str, value: bytes) -> int:
    return len(scope) + len(key) + len(value) + _OVERHEAD


_OVERHEAD = 256
"""The overhead of an entry besides its value, in bytes: its keys, two integers, the row."""


def _limit(max_bytes: object) -> int:
    if not isinstance(max_bytes, int) or max_bytes < 1:
        raise ConfigError(f"a store holds a number of bytes from 1, not {max_bytes!r}")
    return max_bytes
