"""The engine of a bulk run: scheduling of rows, handling of answers, and stop conditions.

Everything here is written once. Its coroutines await nothing but what the workers give them, which are those of the tool loop:
threads for sync callers, tasks for async ones. Before changing this file, know the order of a step: answers are stored and new
rows marked as sent, both are committed at once, and only then are these rows sent and those answers handed out.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import asdict

from ..client.endpoints import UNFINISHED
from ..client.loss_reports import CallSite
from ..errors import BudgetError, CallCancelledError, ConfigError, LLMError
from .journal import DUPLICATE, NEW, SENT, Journal
from .output import BulkRow, Lines, ended
from .rows import Entry, Reader, Row, Source
from .status import BulkStatus, Totals

if TYPE_CHECKING:
    from ..client.call import Caller
    from ..client.options import Settings
    from ..client.reply import Reply
    from ..client.target import Target
    from ..loop.engine import Workers
    from ..losses import Loss
    from ..responses.request import Request

Call = Callable[[Row], Awaitable["Reply"]]
"""Answers a row or raises an `LLMError`; in the mode `live` by a call of its own."""

ALIKE = 20
"""The number of consecutive equal failures that stop a run: at its beginning, and later of a rejected key or account."""
_LASTING = {"authentication", "permission_denied", "quota"}
_PREFIX_BYTES = 4096
"""The length of the common prefix of rows that are sent one after the other (`group_by_prefix`): about 1,000 tokens."""
_GROUPS = 1000
_DRAIN_SECONDS = 5.0
_GATHER_SECONDS = 0.01
_WRITE_SECONDS = 0.5
_HEARTBEAT_SECONDS = 5.0
_MOST = 500
_NOWHERE = CallSite(0)


class Rules(Struct, frozen=True, kw_only=True):
    """The options of a run."""

    concurrency: int
    max_failures: int | float | None = None
    max_cost: float | None = None
    limit: int | None = None
    dedupe: bool = False
    at_most_once: bool = False
    group_by_prefix: bool = False
    circuit: bool = True


class Job(NamedTuple):
    """The input, output, client and options of a run."""

    caller: Caller
    source: Source
    reader: Reader
    lines: Lines
    rules: Rules
    journal: Journal | None
    form: Any
    """The type of typed output, or its JSON Schema."""
    site: CallSite


class Engine:
    """The engine of a run. Without a journal nothing is stored and rows are only yielded."""

    def __init__(self, job: Job, call: Call) -> None:
        self._caller, self._source, self._reader, self._lines, self._rules, self._journal, *_ = job
        self._call, journal = call, job.journal
        self._entries: Iterator[Entry] = job.source.entries(journal)
        self._totals = Totals() if journal is None else journal.at.totals
        self._read = (0, 0) if journal is None else (journal.at.read_rows, journal.at.read_to)
        self._exhausted = False
        self._stopping = False
        self.stopped: LLMError | None = None
        """The error for which the run stopped before its end; `None` where it did not."""
        self._free = [f"row {i}" for i in range(job.rules.concurrency)]
        self._running: dict[int, tuple[Row, str]] = {}
        self._marked: set[int] = set()
        self._polled: list[Row] = []  # rows with background responses in progress, which are polled
        self._resumed = True  # whether rows in the journal are still being read
        self._window: list[tuple[Row, bytes]] = []
        self._warm: dict[bytes, bool] = {}  # groups by the digest of their prefix, and whether a row of it was answered
        self._groups: dict[int, bytes] = {}
        self._alike: tuple[str, int] = "", 0
        self._finished = 0
        self._began = self._wrote = time.monotonic()

    def status(self) -> BulkStatus:
        """The progress of the run."""
        return BulkStatus(
            **asdict(self._totals),
            in_flight=len(self._running),
            total=self._source.total(*self._read),
            seconds=time.monotonic() - self._began,
            finished=self._finished,
        )

    def stop(self) -> None:
        """Send no more rows; the run ends when the rows in flight are answered."""
        self._stopping = True

    async def advance(self, workers: Workers) -> list[BulkRow] | None:
        """One step: wait for answers, send the next rows, and return the finished ones; `None` at the end."""
        results: list[BulkRow] = []
        if self._running:
            for _, row, answer, error in await self._reports(workers):
                self._settle(row, answer, error, results)
        starting, self._polled = [] if self._stopping else self._polled, []
        try:
            while len(starting) < len(self._free) and not self._stopping and (row := self._next(results)) is not None:
                starting.append(row)
        except BaseException:  # received answers are committed even where the input raises
            if self._journal is not None:
                for row in starting:
                    if row.vendor_id is None:
                        self._journal.mark(row.n, NEW)
            self._commit(last=True)
            raise
        self._copy_outputs(results)
        for row in starting:
            self._running[row.n] = row, self._free.pop()
            if self._journal is not None and row.n not in self._marked and row.vendor_id is None:
                self._journal.mark(row.n, SENT)
        self._marked.clear()
        self._commit(last=not self._running)
        for row in starting:
            workers.start(self._running[row.n][1], partial(self._run_row, row, workers))
        return results if results or self._running or self._more() or (self._polled and not self._stopping) else None

    def _more(self) -> bool:
        return not (self._exhausted or self._stopping)

    async def _run_row(self, row: Row, workers: Workers) -> None:
        try:
            workers.put((self, row, await self._call(row), None))
        except Exception as problem:  # an error that is not an `LLMError` ends the run
            workers.put((self, row, None, problem))

    async def _reports(self, workers: Workers) -> list[Any]:
        """All answers received so far, and shortly after those that follow, so that they are committed together."""
        reports = [await workers.receive(_HEARTBEAT_SECONDS)]
        until, enough = workers.now() + _GATHER_SECONDS, min(max(1, self._rules.concurrency // 4), len(self._running))
        while reports[-1] is not None and len(reports) < len(self._running):
            left = until - workers.now() if len(reports) < enough else 0.0
            reports.append(await workers.receive(max(left, 0.0)))
        return [report for report in reports if report is not None and report[0] is self]

    # --- answers

    def _settle(self, row: Row, answer: Reply | None, error: Exception | None, results: list[BulkRow]) -> None:
        self._free.append(self._running.pop(row.n)[1])
        if error is not None and not isinstance(error, LLMError):
            raise error
        if (group := self._groups.pop(row.n, None)) is not None:
            self._warm[group] = True
        if answer is not None and answer.interrupted:
            return self._give_up(CallCancelledError("the run was cancelled"))  # the row was sent, and may be billed
        if error is not None and self._journal is not None and self._is_left_open(error):
            return self._journal.mark(row.n, NEW)
        if answer is not None and answer.status in UNFINISHED:
            if self._journal is not None and row.vendor_id is None:
                self._journal.mark_background(row.n, answer.id)
            return self._polled.append(row._replace(vendor_id=answer.id))
        self._end(row, answer, error, results)
        self._look(error)
        return None

    def _is_left_open(self, error: LLMError) -> bool:
        """Whether the row was not sent, or is of those that follow the ones for which the run stopped."""
        if error.kind == "budget":
            self._give_up(error)
            return True
        return self.stopped is not None and self.stopped.kind == error.kind in _LASTING

    def _end(self, row: Row, answer: Reply | None, error: LLMError | None, results: list[BulkRow]) -> None:
        if isinstance(error, ConfigError) and not error.message.startswith(self._source.word):
            error.message = f"{self._source.word} {row.n}: {error.message}"
            error.args = (error.message,)
        done = ended(row, answer, error)
        results.append(done)
        self._finished += 1
        if self._journal is None:
            self._totals.add(done)
        else:
            self._journal.finish(done, self._lines.line(row, done))
        if self._rules.max_cost is not None and answer is not None:
            self._check_cost(done, answer.model, round(self._rules.max_cost * 1e9))

    def _check_cost(self, done: BulkRow, model: str, limit: int) -> None:
        """Stop the run where it has cost `limit` nano-dollars, or where the cost of a row is not known."""
        spent = self._totals.cost_nano
        if done.cost is None:
            what, hint = f"the cost of a reply of {model} is not known", "name a file of prices, or leave max_cost out"
        elif spent >= limit:
            what, hint = f"the run has cost ${spent / 1e9:.2f}", "the same run with a higher max_cost continues"
            hint = hint if self._journal is not None else "give journal=, so that the same run can continue"
        else:
            return
        error = BudgetError(f"max_cost: {what}", hint=hint)
        error.limit_name, error.spent, error.limit = "usd", spent, limit
        self._give_up(error)

    def _copy_outputs(self, results: list[BulkRow]) -> None:
        """Copy the output of a finished row to its duplicates."""
        if self._journal is None or not self._rules.dedupe:
            return
        for n, custom_id, line in self._journal.copies():
            done, copied = self._lines.copied(line, Row(n, custom_id))
            self._journal.finish(done, copied)
            self._finished += 1
            results.append(done)

    def _look(self, error: LLMError | None) -> None:
        """Stop the run where consecutive rows have the same failure, or too many rows fail."""
        if not self._rules.circuit:
            return
        kind, count = self._alike
        self._alike = ("", 0) if error is None else (error.kind, count + 1 if error.kind == kind else 1)
        if error is None:
            return
        most, failed = self._rules.max_failures, self._totals.failed
        if self._alike[1] >= ALIKE and (self._finished == self._alike[1] or error.kind in _LASTING):
            self._give_up(
                error,
                f"{ALIKE} rows in succession failed so; mend it, then run again with retry_failed (--retry-failed)",
            )
        elif most is not None and (
            failed > most if isinstance(most, int) else failed >= ALIKE and failed > most * (failed + self._totals.done)
        ):
            self._give_up(error, f"{failed} rows failed, and max_failures is {most:g}")

    def _give_up(self, error: LLMError, why: str | None = None) -> None:
        if self.stopped is None:
            self.stopped = error
            if why is not None:
                error.hint = why
            self.stop()

    # --- rows

    def _next(self, results: list[BulkRow]) -> Row | None:
        """The next row to send; `None` where there is none now."""
        if not self._rules.group_by_prefix:
            return self._take(results)
        while len(self._window) < 4 * self._rules.concurrency and (row := self._take(results)) is not None:
            self._window.append((row, self._prefix(row)))
        # Rows of a group follow each other, once its first row was answered: that one fills the vendor's cache.
        ready = [one for one in self._window if not one[1] or self._warm.get(one[1], True)]
        if not ready:
            return None
        row, group = chosen = min(ready, key=lambda one: (one[1] not in self._warm, one[1], one[0].n))
        self._window.remove(chosen)
        if group:
            self._warm[group] = self._warm.pop(group, False)
            if len(self._warm) > _GROUPS:
                self._warm.pop(next(iter(self._warm)))
        return row

    def _take(self, results: list[BulkRow]) -> Row | None:
        """The next row of the input to be sent; rows that need no request are added to the results."""
        for _ in range(_MOST):
            entry = None if self._exhausted or self._stopping else next(self._entries, None)
            if entry is None or (self._rules.limit is not None and entry.n > self._rules.limit):
                self._exhausted, self._resumed = not self._stopping, False
                break
            self._resumed = entry.known is not None
            if entry.known is None:
                self._read = entry.n, entry.end
            if isinstance(entry.raw, bytes) and not entry.raw.strip():
                continue
            row: Row | None
            try:
                row, problem = self._reader.read(entry), None
            except LLMError as found:
                row, problem = Row(entry.n, found.partial), found
                found.partial = None
            if self._journal is not None:
                row, problem = self._journaled(self._journal, entry, row, problem, results)
                self._journal.at.read_rows, self._journal.at.read_to = self._read
            if row is not None and problem is None:
                return row
            if row is not None:
                self._end(row, None, problem, results)
                self._look(problem)
        return None

    def _journaled(
        self, journal: Journal, entry: Entry, row: Row, problem: LLMError | None, results: list[BulkRow]
    ) -> tuple[Row | None, LLMError | None]:
        """The row, where it is to be answered, and what is wrong with it; it is in the journal then."""
        known, n = entry.known, entry.n
        if known is None:
            key = original = None
            try:
                if self._rules.dedupe and problem is None:
                    key = encoded(self._caller, row).key
                    original = journal.find("key", key)
            except LLMError as found:
                problem = found
            state = DUPLICATE if original is not None else NEW if self._rules.group_by_prefix else SENT
            place = {"offset": entry.offset, "digest": entry.digest, "state": state, "original": original}
            if not journal.add(n, row.custom_id, key if original is None else None, **place):
                journal.mark(n, NEW)
                return row, problem or self._taken_id(journal, row)
            if state == SENT:
                self._marked.add(n)
            return None if original is not None else row, problem
        if known.digest != entry.digest:
            what = f"{self._source.word} {n} of the input is not what it was when the run began"
            raise ConfigError(what, hint="put the input back, or start over with --fresh")
        if known.state not in (NEW, SENT):
            if journal.output is None and (line := journal.line(n)) is not None:
                results.append(self._lines.restored(n, line))
            return None, None
        if known.vendor_id is None and known.state == SENT:
            if self._rules.at_most_once:
                what = "in flight when an earlier process ended, and not sent again (at_most_once)"
                return row, problem or CallCancelledError(what)
            self._totals.repeated += 1
        return row._replace(vendor_id=known.vendor_id), problem or self._taken_id(journal, row)

    def _taken_id(self, journal: Journal, row: Row) -> ConfigError | None:
        owner = None if row.custom_id is None else journal.find("custom_id", row.custom_id)
        if owner in (None, row.n):
            return None
        return ConfigError(f"custom_id: {row.custom_id!r} is the id of {self._source.word} {owner} already")

    def _prefix(self, row: Row) -> bytes:
        """The digest of the prefix of a row's request; empty where it is too short for a prompt cache, or invalid."""
        try:
            found = encoded(self._caller, row)
        except LLMError:
            return b""
        if len(found.body) < _PREFIX_BYTES:
            return b""
        self._groups[row.n] = found._replace(body=found.body[:_PREFIX_BYTES]).key
        return self._groups[row.n]

    # --- ends

    def _commit(self, *, last: bool) -> None:
        if self._journal is not None:
            self._journal.commit()
            if last or time.monotonic() - self._wrote > _WRITE_SECONDS:
                if (limit := self._caller.defaults.get("rate_limit")) is not None:
                    known = {f"{one.vendor}/{one.model}": one.per_minute for one in limit.status()}
                    self._totals.limits = {**self._totals.limits, **known}
                self._journal.write_output()
                self._wrote = time.monotonic()

    def leave(self) -> None:
        """Cancel the calls in flight."""
        self._caller.cancel()

    async def drain(self, workers: Workers) -> None:
        """Wait a moment until no call is in flight."""
        until = workers.now() + _DRAIN_SECONDS
        while self._running and (report := await workers.receive(max(until - workers.now(), 0.0))) is not None:
            self._running.pop(report[1].n, None)


class Encoded(NamedTuple):
    """A row as a request."""

    target: Target
    settings: Settings
    request: Request
    url: str
    body: bytes
    losses: list[Loss]
    """The losses of the request."""

    @property
    def key(self) -> bytes:
        """A key that is equal for equal requests to the same vendor."""
        place = blake2b(f"{self.target.vendor} {self.url}".encode(), digest_size=32).digest()
        return blake2b(self.body, digest_size=16, key=place).digest()


def encoded(caller: Caller, row: Row) -> Encoded:
    """The row as a request. Raises `ConfigError` for an invalid row."""
    prepared = caller.prepare(row.input, {**row.options})
    target, settings = prepared.target, prepared.settings
    outgoing, lost = prepared._replace(settings=settings._replace(on_loss="ignore")).encode(_NOWHERE)
    return Encoded(target, settings, prepared.request, outgoing.url(target), outgoing.body, lost())
