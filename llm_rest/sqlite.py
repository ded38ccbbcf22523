"""SQLite files: schema version, transactions, and `StoreError` with a reason for SQLite's exceptions.

Before changing this file, know that `user_version` names the schema of a file: a change of its tables gets a new number and a
migration, and a file of another program or of a newer version is rejected.
"""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
import time
from collections.abc import Generator
from contextlib import contextmanager
from threading import RLock
from typing import Any, Literal

from .errors import StoreError, StoreReason


class SQLiteFile:
    """A SQLite database file, which is created if missing. Raises `StoreError` for a file that cannot be used."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        timeout: float,
        what: str,
        application: int,
        schema: int,
        tables: str,
        synchronous: Literal["FULL", "NORMAL"] = "FULL",
    ) -> None:
        self.path = os.fspath(path)
        """The path of the file."""
        self.journal_mode = ""
        """`wal`, or a rollback journal (`delete`) where the file system has no shared memory."""
        self._what = what
        self._lock = RLock()
        with self._store_errors():
            if self.path != ":memory:" and not self.path.startswith("file:"):  # what is said is for its owner alone
                os.close(os.open(self.path, os.O_CREAT, 0o600))
            options: Any = {"timeout": timeout, "isolation_level": None, "check_same_thread": False, "uri": True}
            self._db = sqlite3.connect(self.path, **options)
            try:
                version = self._version(application, schema)
                self._use_wal(time.monotonic() + timeout)
                self._db.execute(f"PRAGMA synchronous={synchronous}")
                if version == 0:
                    with self._writing():
                        if self._version(application, schema) == 0:  # or another process created it first
                            for statement in tables.split(";"):
                                self._db.execute(statement)
                            self._db.execute(f"PRAGMA application_id={application}")
                            self._db.execute(f"PRAGMA user_version={schema}")
            except BaseException:
                self._db.close()
                raise

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def __del__(self) -> None:
        if getattr(self, "path", "") == ":memory:":  # users forget to close it, and Python 3.13 would warn
            self._db.close()

    def _use_wal(self, until: float) -> None:
        while not self.journal_mode:
            try:
                (self.journal_mode,) = self._db.execute("PRAGMA journal_mode=WAL").fetchone()
            except sqlite3.OperationalError as problem:
                if _reason(problem) != "locked":  # such as a read-only file
                    (self.journal_mode,) = self._db.execute("PRAGMA journal_mode").fetchone()
                elif time.monotonic() > until:
                    raise
                else:  # SQLite itself does not wait for this lock
                    time.sleep(0.01)
        if self.journal_mode not in ("wal", "memory"):
            logging.getLogger("llm_rest").info("%s: a rollback journal, because WAL is not possible here", self.path)

    def _version(self, application: int, schema: int) -> int:
        """The version of the schema, 0 for an empty file. Raises `StoreError` for what this version cannot use."""
        # In this order: another process may create the tables in between, with both numbers in the same transaction.
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (found,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if tables and found != application:
            raise self._error("is a database of another program", "damaged")
        if version > schema:
            what = f"has schema {version}, and this version of llm_rest knows schemas up to {schema}"
            raise self._error(what, "newer")
        return int(version)

    @contextmanager
    def _store_errors(self) -> Generator[None]:
        """Hold the connection, and convert exceptions of SQLite to `StoreError`."""
        with self._lock:
            try:
                yield
            except (sqlite3.Error, OSError, UnicodeError, OverflowError) as problem:
                raise self._error(f"cannot be used: {problem}", _reason(problem)) from problem

    @contextmanager
    def _writing(self) -> Generator[None]:
        """One transaction: all of it is written, or nothing."""
        with self._store_errors():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def _error(self, what: str, reason: StoreReason) -> StoreError:
        return StoreError(f"{self._what} {self.path} {what}", reason=reason)


_REASONS: dict[int, StoreReason] = {
    sqlite3.SQLITE_BUSY: "locked",
    sqlite3.SQLITE_LOCKED: "locked",
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_READONLY: "read_only",
    sqlite3.SQLITE_PERM: "read_only",
    sqlite3.SQLITE_CORRUPT: "damaged",
    sqlite3.SQLITE_NOTADB: "damaged",
}


def _reason(problem: Exception) -> StoreReason:
    if isinstance(problem, PermissionError):
        return "read_only"
    if getattr(problem, "errno", None) == errno.ENOSPC:
        return "full"
    return _REASONS.get(getattr(problem, "sqlite_errorcode", 0) & 0xFF, "failed")
