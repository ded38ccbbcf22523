"""`AnswerCache`, a response cache: stores answers and returns them for identical requests, whole or as a stream.

Exact: the key is a digest of the vendor, the URL and the encoded request. A hit makes no request: no key, no rate
limit, no attempt. Before changing this file, know that only complete answers are stored, that an answer which repeats a
secret is not stored, and that requests which refer to state at a vendor, or offer tools, are not cached.
"""

from __future__ import annotations

import logging
import os
import time
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Self, cast

import msgspec

from ..errors import ConfigError, StoreError
from ..responses.request import Request
from ..sqlite import SQLiteFile
from ..transport import is_duration
from ..vendors.auth import Secret, bytes_without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..errors import Attempt
    from ..losses import Loss
    from ..transport.exchange import Incoming

_APPLICATION = 0x6C6C6D63  # "llmc"
_TABLES = """
CREATE TABLE answers (key BLOB PRIMARY KEY, made REAL NOT NULL, pieces BLOB NOT NULL);
CREATE INDEX answers_made ON answers (made)
"""
LEAST = 65_536
"""The minimum size of a cache in bytes: an empty file takes some."""
_STATE = ("previous_response_id", "conversation", "background", "prompt", "store")

_pieces = msgspec.msgpack.Decoder(list[bytes])


class AnswerCache(SQLiteFile):
    """A response cache, in memory or in a SQLite file that several processes may share.

    At most `max_bytes` are stored, the oldest answers are deleted first; with `max_age`, those older than so many
    seconds. With `tools`, requests that offer tools are cached too: calls in a cached answer are executed again.
    `clock` returns seconds. Raises `StoreError` for a file that cannot be used.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] = ":memory:",
        *,
        max_bytes: int = 256 * 1024 * 1024,
        max_age: float | None = None,
        tools: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if isinstance(max_bytes, bool) or not isinstance(cast("object", max_bytes), int) or max_bytes < LEAST:
            raise ConfigError(f"max_bytes is a number from {LEAST}, not {max_bytes!r}")
        if max_age is not None and not is_duration(max_age):
            raise ConfigError(f"max_age is a positive number of seconds, not {max_age!r}")
        super().__init__(
            path,
            timeout=5.0,
            what="the cache",
            application=_APPLICATION,
            schema=1,
            tables=_TABLES,
            synchronous="NORMAL",
        )
        self.max_bytes = max_bytes
        """The maximum size of the cache, in bytes."""
        self.max_age = max_age
        """The maximum age of an answer, in seconds; `None` for no limit."""
        self.tools = tools
        """Whether requests that offer tools are cached."""
        self._clock = clock

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.path!r}: {len(self)} answers>"

    def __len__(self) -> int:
        with self._store_errors():
            (count,) = self._db.execute("SELECT count(*) FROM answers").fetchone()
        return int(count)

    def clear(self) -> None:
        """Delete all answers."""
        with self._writing():
            self._db.execute("DELETE FROM answers")

    def key(self, target: Any, settings: Any, request: Request, outgoing: Any) -> bytes | None:
        """The cache key of a request; `None` where it is not cached."""
        more: Any = request.extra or {}
        tools = bool(request.tools) or any("tools" in fields for fields in more.values())
        if settings.user_token is not None or outgoing.secrets or (tools and not self.tools):
            return None
        if any(getattr(request, name) for name in _STATE):
            return None
        headers = {**outgoing.route.headers, **settings.headers}
        header_values = sorted(
            (name, value.reveal() if isinstance(value, Secret) else value) for name, value in headers.items()
        )
        facts = (target.vendor, outgoing.url(target), outgoing.stream, settings.account, header_values, outgoing.body)
        return sha256(msgspec.msgpack.encode(facts)).digest()

    def get(self, key: bytes) -> list[bytes] | None:
        """The cached answer in its original chunks, or `None`. Raises `StoreError`."""
        since = float("-inf") if self.max_age is None else self._clock() - self.max_age
        with self._store_errors():
            found = self._db.execute("SELECT pieces FROM answers WHERE key=? AND made>=?", (key, since)).fetchone()
        try:
            return None if found is None else _pieces.decode(found[0])
        except (msgspec.MsgspecError, TypeError) as problem:
            raise self._error(f"holds a damaged answer: {problem}", "damaged") from None

    def put(self, key: bytes, pieces: list[bytes], secrets: Mapping[str, str | Secret]) -> None:
        """Store an answer. A failure is logged and not raised, since the caller's answer is valid."""
        whole = b"".join(pieces)
        if len(whole) > self.max_bytes // 2 or bytes_without_secrets(whole, secrets) != whole:
            return
        try:
            with self._writing():
                if self.max_age is not None:
                    self._db.execute("DELETE FROM answers WHERE made<?", (self._clock() - self.max_age,))
                value = msgspec.msgpack.encode(pieces)
                self._db.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", (key, self._clock(), value))
                while self._size() > self.max_bytes and self._delete_oldest():
                    pass
        except StoreError as problem:
            logging.getLogger("llm_rest").warning("an answer is not cached: %s", problem)

    def delete(self, key: bytes) -> None:
        """Delete an answer."""
        with self._writing():
            self._db.execute("DELETE FROM answers WHERE key=?", (key,))

    def _size(self) -> int:
        pages, free, size = (
            self._db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * size)

    def _delete_oldest(self) -> bool:
        oldest = "DELETE FROM answers WHERE key IN (SELECT key FROM answers ORDER BY made LIMIT 1)"
        return bool(self._db.execute(oldest).rowcount)


def cache_of(value: object) -> AnswerCache | None:
    """The value of `cache=`; `False` bypasses it for this call."""
    if value is False:
        return None
    if not isinstance(value, AnswerCache):
        raise ConfigError(f"cache= takes an AnswerCache, or False, not {value!r}", hint="cache=AnswerCache()")
    return value


class CollectedAnswer:
    """The body of a streamed answer, whose pieces are collected as they are read."""

    def __init__(self, incoming: Incoming) -> None:
        self._incoming = incoming
        self.pieces: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._incoming, name)

    async def read(self) -> bytes | None:
        piece = await self._incoming.read()
        if piece:
            self.pieces.append(piece)
        return piece


class CachedAnswer:
    """The body of a cached answer, in place of a received body and of its attempt."""

    cached = True
    status = 200
    headers: Mapping[str, str] = {}
    peer = "the cache"
    attempts: tuple[Attempt, ...] = ()
    losses: tuple[Loss, ...] = ()
    secrets: Mapping[str, Any] = {}

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = iter(pieces)

    @property
    def deadline(self) -> CachedAnswer:
        """Itself: no timeout applies."""
        return self

    async def read(self) -> bytes | None:
        return next(self._pieces, None)

    async def finish(self) -> None:
        """Does nothing."""

    close = finish

    def progressed(self, *_: object) -> None:
        """Does nothing."""

    limit_rest = began = progressed

    def end(self, *_: object) -> tuple[Attempt, ...]:
        """No attempts: no request was made."""
        return ()

    cancel = end
