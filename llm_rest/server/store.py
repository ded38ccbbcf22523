"""The stores of a server: bytes by scope and key, in memory or in an SQLite file.

A scope belongs to one caller; values of other scopes are not accessible. Both stores are bounded by bytes, and the
least recently used values are deleted first (LRU). Before changing this file, know that every method is a coroutine so
that a store may wait, and that the one in memory never does: the simulator is driven without an event loop. Reading writes
nothing to a file: it works on a full disk, and costs no transaction.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from secrets import token_bytes
from typing import TYPE_CHECKING, Protocol, TypeVar

from ..errors import ConfigError
from ..sqlite import SQLiteFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

T = TypeVar("T")

Following = Callable[[bytes], "str | None"]
"""The key of the value that follows one in a chain; `None` at its end. May be called in a thread."""

MAX_BYTES = 256 * 1024 * 1024
"""The size of a store by default, in bytes."""


class Store(Protocol):
    """A store of bytes by scope and key, bounded in size."""

    async def get(self, scope: str, key: str) -> bytes | None:
        """The value, or `None` where there is none (any more). Counts as use (LRU)."""
        ...

    async def find(self, scope: str, keys: Iterable[str], most: int | None = None) -> dict[str, bytes]:
        """Those values that there are, by their keys; `TooLargeError` where they have more than `most` bytes together."""
        ...

    async def chain(self, scope: str, key: str, following: Following) -> list[bytes]:
        """The value, and each that follows another, as far as there are any. Errors of `following` are raised."""
        ...

    async def put(self, scope: str, values: Mapping[str, bytes]) -> None:
        """Store values by their keys. A value larger than the whole store is not stored."""
        ...

    async def delete(self, scope: str, *keys: str) -> bool:
        """Delete values; whether there were any."""
        ...

    def close(self) -> None:
        """Close the store."""
        ...


class TooLargeError(Exception):
    """The values that were looked up have more bytes than the caller takes."""


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

    async def find(self, scope: str, keys: Iterable[str], most: int | None = None) -> dict[str, bytes]:
        """Those values that there are, by their keys. Raises `TooLargeError` above `most` bytes."""
        found: dict[str, bytes] = {}
        size = 0
        for key in keys:
            if key not in found and (value := await self.get(scope, key)) is not None:
                found[key] = value
                size = _within(most, size + len(value))
        return found

    async def chain(self, scope: str, key: str, following: Following) -> list[bytes]:
        """The value, and each that follows another."""
        found: list[bytes] = []
        name: str | None = key
        while name is not None and (value := await self.get(scope, name)) is not None:
            found.append(value)
            name = following(value)
        return found

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

    async def delete(self, scope: str, *keys: str) -> bool:
        """Delete values; whether there were any."""
        deleted = False
        for key in keys:
            value = self._kept.pop((scope, key), None)
            if value is not None:
                self._size -= _size(scope, key, value)
                deleted = True
        return deleted

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
        self._read: OrderedDict[tuple[str, str], int] = OrderedDict()
        super().__init__(
            path,
            timeout=5,
            what="the store",
            application=_APPLICATION,
            schema=_SCHEMA,
            tables=_TABLES,
        )
        self._look()

    def secret(self) -> bytes:
        """A random key that is stored with the file, and made with its first use. It is never deleted for lack of room."""
        with self._writing():
            self._db.execute("CREATE TABLE IF NOT EXISTS secret (key BLOB NOT NULL)")
            row = self._db.execute("SELECT key FROM secret").fetchone()
            if row is None:
                row = (token_bytes(32),)
                self._db.execute("INSERT INTO secret VALUES (?)", row)
        found: bytes = row[0]
        return found

    def _look(self) -> None:
        """Read the total size, and the number of the last use."""
        found = self._db.execute("SELECT coalesce(max(used), 0), coalesce(sum(size), 0) FROM kept").fetchone()
        self._used: int = found[0]
        self._size: int = found[1]

    async def get(self, scope: str, key: str) -> bytes | None:
        """The value, or `None` where there is none (any more)."""
        return await _in_thread(partial(self._get, scope, key))

    async def find(self, scope: str, keys: Iterable[str], most: int | None = None) -> dict[str, bytes]:
        """Those values that there are, by their keys. Raises `TooLargeError` above `most` bytes."""
        return await _in_thread(partial(self._find, scope, [*dict.fromkeys(keys)], most))

    async def chain(self, scope: str, key: str, following: Following) -> list[bytes]:
        """The value, and each that follows another."""
        return await _in_thread(partial(self._chain, scope, key, following))

    async def put(self, scope: str, values: Mapping[str, bytes]) -> None:
        """Store values by their keys, in one transaction; where the store is full, what was used longest ago is deleted."""
        await _in_thread(partial(self._put, scope, values))

    async def delete(self, scope: str, *keys: str) -> bool:
        """Delete values, in one transaction; whether there were any."""
        return await _in_thread(partial(self._delete, scope, keys))

    def _get(self, scope: str, key: str) -> bytes | None:
        with self._store_errors():
            row = self._db.execute("SELECT value FROM kept WHERE scope = ? AND key = ?", (scope, key)).fetchone()
            if row is None:
                return None
            self._note_use(scope, key)
            found: bytes = row[0]
            return found

    def _find(self, scope: str, keys: list[str], most: int | None) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        size = 0
        with self._store_errors():
            for start in range(0, len(keys), _AT_ONCE):
                some = keys[start : start + _AT_ONCE]
                marks = ",".join("?" * len(some))
                rows = self._db.execute(
                    f"SELECT key, value FROM kept WHERE scope = ? AND key IN ({marks})", (scope, *some)
                )
                for key, value in rows:
                    found[key] = value
                    size = _within(most, size + len(value))
            for key in keys:
                if key in found:
                    self._note_use(scope, key)
        return found

    def _chain(self, scope: str, key: str, following: Following) -> list[bytes]:
        found: list[bytes] = []
        name: str | None = key
        while name is not None and (value := self._get(scope, name)) is not None:
            found.append(value)
            name = following(value)
        return found

    def _note_use(self, scope: str, key: str) -> None:
        """Remember that a value was read. It is written only where the value would be deleted otherwise."""
        self._used += 1
        self._read[scope, key] = self._used
        self._read.move_to_end((scope, key))
        if len(self._read) > _MAX_READ:
            self._read.popitem(last=False)

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
            oldest = self._db.execute("SELECT scope, key FROM kept ORDER BY used LIMIT 1").fetchone()
            if (used := self._read.pop(oldest, None)) is None:
                self._forget(*oldest)
            else:
                self._db.execute("UPDATE kept SET used = ? WHERE scope = ? AND key = ?", (used, *oldest))
        if size <= self._max:
            self._used += 1
            self._db.execute("INSERT INTO kept VALUES (?, ?, ?, ?, ?)", (scope, key, value, size, self._used))
            self._size += size

    def _delete(self, scope: str, keys: tuple[str, ...]) -> bool:
        try:
            with self._writing():
                return sum(self._forget(scope, key) for key in keys) > 0
        except BaseException:
            self._look()
            raise

    def _forget(self, scope: str, key: str) -> bool:
        rows = self._db.execute("DELETE FROM kept WHERE scope = ? AND key = ? RETURNING size", (scope, key)).fetchall()
        self._size -= sum(size for (size,) in rows)
        self._read.pop((scope, key), None)
        return bool(rows)


async def _in_thread(work: Callable[[], T]) -> T:
    from anyio import to_thread  # the store in memory needs no event loop

    return await to_thread.run_sync(work)


_AT_ONCE = 500
"""The number of keys in one query."""

_MAX_READ = 20_000
"""The number of values whose last use is remembered in memory."""


def _within(most: int | None, size: int) -> int:
    if most is not None and size > most:
        raise TooLargeError
    return size


def _size(scope: str, key: str, value: bytes) -> int:
    return len(scope) + len(key) + len(value) + _OVERHEAD


_OVERHEAD = 256
"""The overhead of an entry besides its value, in bytes: its keys, two integers, the row."""


def _limit(max_bytes: object) -> int:
    if not isinstance(max_bytes, int) or max_bytes < 1:
        raise ConfigError(f"a store holds a number of bytes from 1, not {max_bytes!r}")
    return max_bytes
