"""The journal of a bulk run: a SQLite file beside the output with the state of every row (sent, answered).

Before changing this file, know its guarantees. A row is `SENT` and committed before its request leaves; its output is committed
before it is written to the output file; the file is extended in the transaction that records its new length. So a process may be
killed at any moment: the file is cut to the recorded length, rows that were `SENT` are sent again, and nothing else is repeated.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import takewhile
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from ..errors import ConfigError, StoreError
from ..sqlite import SQLiteFile
from ..unknown import decoder_of
from .status import Totals

if TYPE_CHECKING:
    from .batches import Batch
    from .output import BulkRow

_APPLICATION = 0x6C6C6D62  # "llmb"
_TABLES = """
CREATE TABLE run (
    id INTEGER PRIMARY KEY CHECK (id = 1), created REAL NOT NULL, options TEXT NOT NULL, input TEXT NOT NULL, output TEXT,
    position TEXT NOT NULL, lease TEXT, lease_time REAL
);
CREATE TABLE row (
    n INTEGER PRIMARY KEY, custom_id TEXT, key BLOB, offset INTEGER NOT NULL, digest BLOB NOT NULL, state INTEGER NOT NULL,
    original INTEGER, batch_id TEXT, finished REAL, place INTEGER, output BLOB
);
CREATE INDEX row_open ON row (state) WHERE finished IS NULL;
CREATE UNIQUE INDEX row_custom_id ON row (custom_id) WHERE custom_id IS NOT NULL;
CREATE UNIQUE INDEX row_place ON row (place) WHERE place IS NOT NULL;
CREATE INDEX row_key ON row (key) WHERE key IS NOT NULL;
CREATE TABLE spool (n INTEGER PRIMARY KEY, line BLOB NOT NULL);
CREATE TABLE batch (name TEXT PRIMARY KEY, closed INTEGER NOT NULL, document BLOB NOT NULL)
"""

LEASE_SECONDS = 60.0
"""The lease time in seconds: a process that has not renewed its lease for so long has lost the journal."""
_RENEW_SECONDS = 10.0
_PROCESS = os.urandom(8).hex()
_LINES = 500
"""The number of rows that are read from the journal, or appended to the output, at a time."""

Identity = Callable[[int | None], dict[str, Any]]
"""What identifies an input as plain data; where a size is given, as it was at that size."""

NEW, SENT, _, DONE, FAILED, DUPLICATE = range(6)
"""The states of a row."""


class Position(Struct):
    """The progress of a run in the input and in the output."""

    read_to: int = 0
    """The number of bytes of the input that were read."""
    read_rows: int = 0
    """The number of the last row that was read."""
    written: int = 0
    """The size of the output file in bytes."""
    next: int = 1
    """The first row that is not in the output file; in the order of arrival the first place."""
    spooled: bool = False
    """Whether the input is stored in the journal."""
    totals: Totals = field(default_factory=Totals)


class JournalRow(NamedTuple):
    """The journal's entry of one row."""

    n: int
    offset: int
    digest: bytes
    state: int
    vendor_id: str | None
    """The batch of the row, or the id of its background response, where the vendor is processing it."""


class Journal(SQLiteFile):
    """The journal at `path` of a run with these `options` over an input, both as plain data; its lines go to `output`.

    `options["order"]` is `input` or `arrival`.
    A new file becomes the journal of a new run. Another run's options or input raise `ConfigError` with the difference; a run of
    another process, and an `output` that is shorter than the journal has recorded, `StoreError`. With `readonly` it is only
    looked at.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        options: dict[str, Any] | None = None,
        input: Identity = lambda size: {},
        output: Path | None = None,
        keep_outputs: bool = False,
        fresh: bool = False,
        readonly: bool = False,
    ) -> None:
        self._file: Any = None
        self._lease = ""
        self._renewed = 0.0
        if readonly and not Path(path).exists():
            raise StoreError(f"the journal {path} does not exist", reason="not_found")
        super().__init__(
            path,
            timeout=5.0,
            what="the journal",
            application=_APPLICATION,
            schema=1,
            tables=_TABLES,
            synchronous="NORMAL",
        )
        try:
            if not readonly:
                with self._writing():
                    self._claim(options or {}, input, None if output is None else str(output), fresh=fresh)
                if fresh:
                    with self._store_errors():
                        self._db.execute("VACUUM")
            found = self._one("SELECT options, output, position FROM run")
            if found is None:
                raise self._error("is empty", "not_found")
            by_arrival = msgspec.json.decode(found[0]).get("order") == "arrival"
            self.output = None if found[1] is None else Path(found[1])
            self.keep_outputs = keep_outputs or output is None
            self.at: Position = decoder_of(Position).decode(found[2])
            self._order = "place" if by_arrival else "n"
            last = "SELECT coalesce(max(place), 0) FROM row WHERE place IS NOT NULL"
            self._place: int | None = self._one(last)[0] if by_arrival else None
            if output is not None and not readonly:
                with self._store_errors():
                    self._open_output(output, fresh=fresh)
        except BaseException:
            self.close()
            raise

    # --- locking, and the check that it is the same run

    def in_use(self) -> str | None:
        """A description of the process that runs the journal; `None` where there is none, or it died."""
        lease, renewed = self._one("SELECT lease, lease_time FROM run") or (None, 0.0)
        if lease is None:
            return None
        other = msgspec.json.decode(lease)
        here = other["host"] == socket.gethostname()
        # In a container, a process of an earlier start had the same id.
        reused = other["pid"] == os.getpid() and other["process"] != _PROCESS
        if (here and (reused or not _is_alive(other["pid"]))) or time.time() - renewed > LEASE_SECONDS:
            return None
        return f"process {other['pid']} on {other['host']}"

    def _claim(self, options: dict[str, Any], input: Identity, output: str | None, *, fresh: bool) -> None:
        if user := self.in_use():
            what = f"is in use by {user}; let it end, or wait {LEASE_SECONDS:.0f} s after its death"
            raise self._error(what, "locked")
        for table in ("run", "row", "spool", "batch") if fresh else ():
            self._db.execute(f"DELETE FROM {table}")
        lease = {"pid": os.getpid(), "host": socket.gethostname(), "process": _PROCESS, "run": os.urandom(8).hex()}
        self._lease, self._renewed = _json(lease), time.time()
        known = self._one("SELECT options, input, output FROM run")
        if known is None:
            known = _json(options), _json(input(None)), output
            self._db.execute("INSERT INTO run VALUES (1, ?, ?, ?, ?, '{}', NULL, NULL)", (self._renewed, *known))
        first: dict[str, Any] = msgspec.json.decode(known[1])
        was = {**msgspec.json.decode(known[0]), **first, "output": known[2]}
        now = {**msgspec.json.decode(_json(options)), **input(first.get("size")), "output": output}
        if found := [name for name in {**was, **now} if was.get(name) != now.get(name)]:
            changes = "; ".join(f"{name} is {_short(now.get(name))}, and was {_short(was.get(name))}" for name in found)
            hint = "run the same command again to go on, name another journal, or start over with --fresh"
            raise ConfigError(f"the journal {self.path} belongs to another run: {changes}", hint=hint)
        self._db.execute("UPDATE run SET lease=?, lease_time=?", (self._lease, self._renewed))

    # --- rows

    def add(self, n: int, custom_id: str | None, key: bytes | None = None, **fields: Any) -> bool:
        """Add a row with its `offset`, `digest`, `state` and `original`; false, and added without its id, where an earlier row
        has the same `custom_id`.
        """
        values = {"n": n, "custom_id": custom_id, "key": key, **fields}
        insert = f"INSERT INTO row ({', '.join(values)}) VALUES ({', '.join(f':{name}' for name in values)})"
        insert += " ON CONFLICT (custom_id) WHERE custom_id IS NOT NULL DO NOTHING"
        if self._do(insert, values):
            return True
        self._do(insert, {**values, "custom_id": None, "key": None})
        return False

    def find(self, column: Literal["custom_id", "key"], value: str | bytes) -> int | None:
        """The first row with this `custom_id` or `key`."""
        found: int | None = self._one(f"SELECT min(n) FROM row WHERE {column}=?", (value,))[0]
        return found

    def copies(self) -> list[tuple[int, str | None, bytes]]:
        """Duplicates without an output whose original has one: their numbers and ids, and its line."""
        query = (
            "SELECT row.n, row.custom_id, other.output FROM row JOIN row AS other ON other.n=row.original"
            " WHERE row.state=? AND row.finished IS NULL AND other.finished IS NOT NULL LIMIT ?"
        )
        with self._store_errors():
            return [*self._db.execute(query, (DUPLICATE, _LINES))]

    def mark(self, n: int, state: int) -> None:
        """Set the state of a row that is not finished: `SENT` before it is sent, `NEW` where it was not after all."""
        self._do("UPDATE row SET state=? WHERE n=?", (state, n))

    def finish(self, row: BulkRow, line: bytes) -> None:
        """Store the outcome of a row and its line, and count it."""
        state = DUPLICATE if row.duplicate_of is not None else DONE if row else FAILED
        if self._place is not None:
            self._place += 1
        values = (state, time.time(), self._place, line, row.n)
        self._do("UPDATE row SET state=?, finished=?, place=?, output=? WHERE n=?", values)
        self.at.totals.add(row)

    def rows(self, after: int, *, unfinished: bool) -> Iterator[JournalRow]:
        """The rows after one in order: all of them, or those without an output."""
        where = "finished IS NULL AND" if unfinished else ""
        query = f"SELECT n, offset, digest, state, batch_id FROM row WHERE {where} n > ? ORDER BY n LIMIT ?"
        return (JournalRow(*found) for found in self._pages(query, after))

    def line(self, n: int) -> bytes | None:
        """The output line of a finished row, as long as the journal stores it."""
        found: tuple[bytes | None] | None = self._one("SELECT output FROM row WHERE n=?", (n,))
        return None if found is None else found[0]

    def lines(self) -> Iterator[bytes]:
        """All output lines in the journal, in the order of the input."""
        query = "SELECT n, output FROM row WHERE output IS NOT NULL AND n > ? ORDER BY n LIMIT ?"
        return (line for _, line in self._pages(query, 0))

    def in_flight(self) -> int:
        """How many rows are marked as sent and have no answer, without those that the vendor works on."""
        return int(
            self._one("SELECT count(*) FROM row WHERE finished IS NULL AND state=? AND batch_id IS NULL", (SENT,))[0]
        )

    def mark_background(self, n: int, response: str) -> None:
        """Record the id of a row's background response."""
        self._do("UPDATE row SET batch_id=? WHERE n=?", (response, n))

    # --- batches of vendors

    def save_batch(self, batch: Batch, rows: Iterable[int] = (), *, closed: bool = False) -> None:
        """Store the state of a batch, and that these rows are in it; a `closed` batch needs no further steps."""
        self._do("INSERT OR REPLACE INTO batch VALUES (?, ?, ?)", (batch.name, closed, msgspec.json.encode(batch)))
        for n in rows:
            self._do("UPDATE row SET state=?, batch_id=? WHERE n=?", (SENT, batch.name, n))

    def release(self, n: int) -> None:
        """Remove a row from its batch: it is to be sent again."""
        self._do("UPDATE row SET state=?, batch_id=NULL WHERE n=?", (NEW, n))

    def batches(self, *, closed: bool = False) -> list[Batch]:
        """The closed batches, or the open ones."""
        from .batches import Batch  # a slow import of the client

        with self._store_errors():
            found = self._db.execute("SELECT document FROM batch WHERE closed=?", (closed,)).fetchall()
        return [decoder_of(Batch).decode(document) for (document,) in found]

    # --- input that cannot be read again

    def spool(self, lines: Iterable[bytes]) -> None:
        """Store all lines of the input, in one transaction."""
        with self._writing():
            self._db.executemany("INSERT INTO spool VALUES (?, ?)", enumerate(lines, 1))
            self.at.spooled = True
            self._record()

    def spooled_lines(self, after: int) -> Iterator[tuple[int, bytes]]:
        """The stored lines after one, with their numbers."""
        return self._pages("SELECT n, line FROM spool WHERE n > ? ORDER BY n LIMIT ?", after)

    def spooled_line(self, n: int) -> bytes:
        """One stored line."""
        return bytes(self._one("SELECT line FROM spool WHERE n=?", (n,))[0])

    # --- transactions

    def _one(self, query: str, values: tuple[Any, ...] = ()) -> Any:
        with self._store_errors():
            return self._db.execute(query, values).fetchone()

    def _pages(self, query: str, after: int) -> Iterator[Any]:
        """The rows of a query by their number, in pages, so that others may be written in between."""
        while True:
            with self._store_errors():
                page = self._db.execute(query, (after, _LINES)).fetchall()
            yield from page
            if len(page) < _LINES:
                return
            after = page[-1][0]

    def _do(self, statement: str, values: Any) -> int:
        """Execute a statement in the transaction that `commit` ends; how many rows it changed."""
        with self._store_errors():
            self._begin()
            return int(self._db.execute(statement, values).rowcount)

    def _begin(self) -> None:
        if not self._db.in_transaction:
            self._db.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """What was added, marked and finished is safe now. Raises `StoreError` where another process has taken the journal."""
        if self._db.in_transaction or time.time() - self._renewed > _RENEW_SECONDS:
            try:
                with self._store_errors():
                    self._begin()  # where only the lease is renewed
                    self._record()
                    self._db.execute("COMMIT")
            except BaseException:
                self._rollback()
                raise

    def _rollback(self) -> None:
        with suppress(Exception):  # its cause was raised already
            self._db.execute("ROLLBACK")

    def _record(self) -> None:
        self._renewed = time.time()
        values = (self._renewed, _json(self.at), self._lease)
        if not self._db.execute("UPDATE run SET lease_time=?, position=? WHERE lease=?", values).rowcount:
            raise self._error("was taken over by another process", "conflict")

    # --- the output file

    def _open_output(self, path: Path, *, fresh: bool) -> None:
        """Open the output and cut it to the length that was recorded."""
        self._file = path.open("r+b" if path.exists() else "x+b", buffering=0)
        size = os.fstat(self._file.fileno()).st_size
        if size < self.at.written:
            raise StoreError(
                f"the output {path} has {size:,} bytes, and the journal wrote {self.at.written:,}",
                reason="damaged",
                hint="put the file back or start over with --fresh; after --keep-outputs, `llm-rest batch export` rebuilds it",
            )
        if size and not self.at.read_rows and not fresh:
            hint = "name another file, or replace it with --fresh"
            raise ConfigError(f"the output {path} is not empty and belongs to no run of this journal", hint=hint)
        os.ftruncate(self._file.fileno(), self.at.written)

    def write_output(self) -> None:
        """Append the lines of finished rows to the output, and record its new size in the same transaction."""
        query = f"SELECT {self._order}, output FROM row WHERE {self._order} >= ? ORDER BY {self._order} LIMIT ?"
        while self._file is not None:
            with self._store_errors():
                found = self._db.execute(query, (self.at.next, _LINES)).fetchall()
            lines = [*takewhile(itemgetter(1), found)]  # up to the first row that is not finished
            if not lines:
                return
            before, first, last = replace(self.at), lines[0][0], lines[-1][0]
            try:
                with self._writing():
                    self._append(b"".join([line + b"\n" for _, line in lines]))
                    if not self.keep_outputs:
                        done = f"UPDATE row SET output=NULL WHERE {self._order} BETWEEN ? AND ?"
                        self._db.execute(done, (first, last))
                    self.at.next = last + 1
                    self._record()
            except BaseException:
                self.at = before
                raise

    def _append(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            done = os.pwrite(self._file.fileno(), rest, self.at.written)
            self.at.written += done
            rest = rest[done:]
        os.fsync(self._file.fileno())

    def retry_failed(self) -> None:
        """Open the failed rows again. Lines in the output return to the journal, and the output is written anew."""
        order, failed = self._order, f"SELECT n FROM row WHERE state={FAILED}"
        with self._writing():
            count = self._one(f"SELECT count(*) FROM ({failed})")[0]
            if not count:
                return
            if self._file is not None and not self.keep_outputs:
                self._file.seek(0)
                with open(self._file.fileno(), "rb", closefd=False) as lines:
                    rows = self._db.execute(f"SELECT n FROM row WHERE {order} < ? ORDER BY {order}", (self.at.next,))
                    back = [(line.rstrip(b"\n"), n) for (n,), line in zip(rows.fetchall(), lines, strict=True)]
                    self._db.executemany("UPDATE row SET output=? WHERE n=?", back)
            copies = self._one(f"SELECT count(*) FROM row WHERE finished IS NOT NULL AND original IN ({failed})")[0]
            self.at.totals.failed -= count + copies
            self.at.totals.duplicates -= copies
            again = f"state={FAILED} OR original IN ({failed})"
            self._db.execute(f"UPDATE row SET finished=NULL, output=NULL, place=NULL WHERE {again}")
            self._db.execute(f"UPDATE row SET state={NEW}, batch_id=NULL WHERE state={FAILED}")
            self.at.written, self.at.next = 0, 1
            self._record()
        if self._file is not None:
            os.ftruncate(self._file.fileno(), 0)

    def close(self) -> None:
        """Release the lease and close the files; uncommitted changes are discarded."""
        with self._lock, suppress(Exception):
            self._rollback()
            self._db.execute("UPDATE run SET lease=NULL, lease_time=NULL WHERE lease=?", (self._lease,))
        if self._file is not None:
            self._file.close()
            self._file = None
        super().close()


def _json(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as problem:
        return isinstance(problem, PermissionError)  # the process of another user
    return True


def _short(value: Any) -> str:
    text = "not given" if value is None else _json(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
