"""The engine of a bulk run that goes through the batch APIs of vendors (`mode="vendor"`).

A row is encoded and decoded by the same call as in the mode `live`, whose request is held back where it would be sent. Before
changing this file, know that everything that happens to a batch is in the journal before the next request about it is made: its
rows before it is uploaded, its file before it is created, its job before it is polled. So another process can continue.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec.structs import replace

from ..client.answer import ReceivedAnswer, error_of_answer, with_context
from ..client.generate import generate
from ..client.loss_reports import report_losses
from ..errors import APITimeoutError, Attempt, CallCancelledError, ConfigError, InternalServerError, LLMError
from ..sync import drive
from ..transport import HTTPAnswer
from . import batch_api
from .batch_api import BatchBuilder, BatchJob, BatchResult
from .batches import Batch, Results, VendorBatches, credential_of
from .engine import Engine, Job
from .modes import call_of
from .status import BulkStatus

if TYPE_CHECKING:
    from ..client.call import Caller
    from ..client.options import Settings
    from ..client.reply import Reply
    from ..client.target import OutgoingRequest, Target
    from ..loop.engine import Workers
    from ..policy.prices import Pricing
    from .journal import Journal
    from .output import BulkRow
    from .rows import Row

POLL_SECONDS, POLL_GROWTH, POLL_MOST_SECONDS = 30.0, 1.5, 300.0
"""The wait before the first look at a batch; each wait after it is longer, up to a limit."""
TRIES = 3
"""The maximum number of submissions of a row that expires, gets no result, or fails with a temporary error."""
OPEN_ROWS = 200_000
"""The maximum number of rows at vendors at a time: they are in memory until their results arrive."""
_FAILURES = 10
_HEARTBEAT_SECONDS = 5.0
_CREATING = ("upload", "create", "recover")
"""Steps that run for one batch at a time: a batch without a name is identified by comparison with the others."""
_FINAL = (400, 413, 422)
"""The statuses with which a vendor rejects the content of a batch; other statuses do not concern its rows."""


class Held(Exception):
    """Raised instead of sending a request, with that request."""

    def __init__(self, target: Target, settings: Settings, outgoing: OutgoingRequest) -> None:
        super().__init__()
        self.target, self.settings, self.outgoing = target, settings, outgoing


class _Open:
    """A batch that is being filled, or is in progress."""

    def __init__(self, batch: Batch, api: VendorBatches | None = None) -> None:
        self.batch, self.api = batch, api
        self.rows: dict[str, Row] = {}
        """The rows without a result, by the ids of their requests."""
        self.builder: BatchBuilder | None = None
        """Its lines, until it is created; `None` for a batch of an earlier process."""
        self.results: Results | None = None
        self.step = "poll" if batch.job else "recover"
        """The next step, or the running one (`busy`)."""
        self.busy = False
        self.due = 0.0
        self.delay = POLL_SECONDS
        self.failures = 0


class VendorEngine(Engine):
    """The engine of a run whose rows are sent in batches of their vendors."""

    def __init__(self, job: Job, journal: Journal) -> None:
        super().__init__(job, call_of(job))
        self._own, self._form, self._site = journal, job.form, job.site
        self._batches = {batch.name: _Open(batch) for batch in journal.batches()}
        self._jobs = {batch.job.id for batch in journal.batches(closed=True) if batch.job}
        self._filling: dict[tuple[batch_api.BatchGroup, int], _Open] = {}
        self._credentials: dict[str, str] = {}

    def status(self) -> BulkStatus:
        return replace(super().status(), in_flight=self._open_rows())

    def _open_rows(self) -> int:
        return sum(len(one.rows) for one in (*self._filling.values(), *self._batches.values()))

    async def advance(self, workers: Workers) -> list[BulkRow] | None:
        """One step: wait for the vendors, add rows to batches, and return the finished ones; `None` at the end."""
        results: list[BulkRow] = []
        filling = self._more() and self._open_rows() < OPEN_ROWS
        report = await workers.receive(0.0 if filling else self._wait(workers.now())) if self._batches else None
        while report is not None:
            one, step, found, error = report
            self._report(workers.now(), one, step, found, error, results)
            report = await workers.receive(0.0)
        try:
            if filling:
                self._fill(results)
            self._copy_outputs(results)
        finally:
            self._commit(last=not self._batches)
        if not self._more() and not self._stopping and not any(one.results for one in self._batches.values()):
            for one in [*self._filling.values()]:
                self._submit(one)
            self._commit(last=False)
        self._start(workers)
        open = [one for one in self._batches.values() if not self._stopping or one.busy or one.step == "delete"]
        return results if results or open or self._more() else None

    def _wait(self, now: float) -> float:
        due = min((one.due for one in self._batches.values() if not one.busy), default=now + _HEARTBEAT_SECONDS)
        return min(max(due - now, 0.0), _HEARTBEAT_SECONDS)

    def leave(self) -> None:
        super().leave()
        for one in self._batches.values():
            one.results = None

    async def drain(self, workers: Workers) -> None:
        while any(one.busy for one in self._batches.values()) and (report := await workers.receive(1.0)) is not None:
            report[0].busy = False

    # --- rows into batches

    def _fill(self, results: list[BulkRow]) -> None:
        for _ in range(500):
            row = None if self._stopping else self._take(results)
            if row is None:
                break
            if row.vendor_id is not None and row.vendor_id not in self._batches:
                what = f"{self._source.word} {row.n} is the background response {row.vendor_id}, which is in progress"
                self._give_up(ConfigError(what, hint="use mode='background', as the run began"))
                break
            at = None if row.vendor_id is None else self._batches[row.vendor_id]
            self._add(row, 1 if at is None else at.batch.tries, results, at)

    def _add(self, row: Row, tries: int, results: list[BulkRow], at: _Open | None = None) -> None:
        """Add a row to a batch: the one that already contains it, or the next one that is submitted."""
        try:
            held = self._held(row)
            key = batch_api.group_of(held.target, held.outgoing.route, self._credential(held)), tries
            body = held.outgoing.body
            name = f"r{row.n:09d}-{batch_api.digest(body)}"
            if at is not None:
                if at.batch.group.credential != key[0].credential:
                    what = f"the batch {at.batch.job and at.batch.job.id} was created with other credentials"
                    return self._give_up(ConfigError(what, hint="use the key that the run began with"))
                at.api = at.api or VendorBatches(self._caller, held.target, held.settings)
                at.rows[name] = row
                return None
            one = self._filling.get(key)
            if one is None:
                batch = Batch(name=f"llm-rest-{os.urandom(8).hex()}", group=key[0], created=time.time(), tries=tries)
                one = self._filling[key] = _Open(batch, VendorBatches(self._caller, held.target, held.settings))
                one.builder = BatchBuilder(key[0])
            if one.builder is not None and one.builder.add(name, body):
                one.rows[name] = row
                return None
        except LLMError as problem:
            self._end(row, None, problem, results)
            return self._look(problem)
        self._submit(one)
        return self._add(row, tries, results)

    def _held(self, row: Row) -> Held:
        """The request of a row, encoded as in the mode `live`."""

        async def send(target: Target, settings: Settings, outgoing: OutgoingRequest, *_: Any) -> NoReturn:
            refused = batch_api.refusals(batch_api.dialect_of(target), outgoing.body)
            report_losses(refused, "ignore", self._site, who=target.vendor)
            raise Held(target, settings, outgoing)

        try:
            drive(self._call_with(row, send, watchers=()))
        except Held as held:
            return held
        raise ConfigError("no batch takes a request that is sent in several steps", hint="use mode='live'")

    def _call_with(self, row: Row, send: Callable[..., Awaitable[Any]], **changes: Any) -> Any:
        """The call of a row, whose request is passed to `send` instead of the vendor."""
        caller: Caller = self._caller.scoped()
        vars(caller).update(send=send, open=_not_streamed, **changes)
        typed = {} if self._form is None else {"output": self._form, "max_repairs": 0}
        return generate(caller, row.input, {**row.options, **typed}, self._site)

    def _credential(self, held: Held) -> str:
        vendor = held.target.vendor
        if vendor not in self._credentials:
            self._credentials[vendor] = drive(credential_of(self._caller, held.target, held.settings))
        return self._credentials[vendor]

    def _submit(self, one: _Open) -> None:
        """Schedule the upload and creation of a batch, which has all its rows."""
        batch = one.batch
        del self._filling[batch.group, batch.tries]
        batch.count, batch.created = len(one.rows), time.time()
        one.step = "create" if batch.group.dialect.api.inline else "upload"
        self._batches[batch.name] = one
        self._own.save_batch(batch, [row.n for row in one.rows.values()])

    # --- steps

    def _start(self, workers: Workers) -> None:
        """Start the steps that are due; their preconditions are committed."""
        if self._resumed and self._more():
            return  # rows in batches of an earlier process are still to be read
        for one in [*self._batches.values()]:
            if one.busy or one.due > workers.now() or (self._stopping and one.step != "delete"):
                continue
            if one.api is None:  # all its rows had ended
                self._close(one)
                continue
            if one.step in _CREATING:
                if any(other.busy and other.step in _CREATING for other in self._batches.values()):
                    continue
                self._jobs |= {other.batch.job.id for other in self._batches.values() if other.batch.job}
            one.busy = True
            workers.start(
                f"batch {one.batch.name}", partial(self._take_step, one, one.api, frozenset(self._jobs), workers)
            )

    async def _take_step(self, one: _Open, api: VendorBatches, known: frozenset[str], workers: Workers) -> None:
        batch, step = one.batch, one.step
        inline = batch.group.dialect.api.inline
        content = b"" if one.builder is None else one.builder.content()
        found: Any = None
        try:
            match step:
                case "upload":
                    found = await api.upload(batch, content)
                case "create":
                    found = await api.create(batch, content if inline else b"", known)
                case "recover" if inline or batch.file:
                    found = await api.find(batch, known)
                case "recover":  # a batch whose file is unknown was not created
                    found = await api.find_file(batch)
                case "results":
                    one.results = one.results or api.results(batch)
                    found = await one.results.more()
                case "delete":
                    await api.delete_file(batch)
                case _:
                    found = await api.poll(batch)
            workers.put((one, step, found, None))
        except Exception as problem:  # an error that is not an `LLMError` ends the run
            workers.put((one, step, None, problem))

    def _report(
        self, now: float, one: _Open, step: str, found: Any, error: Exception | None, results: list[BulkRow]
    ) -> None:
        one.busy, one.due = False, now
        if error is not None:
            return self._failed(one, step, error, results)
        one.failures, one.step = 0, step
        match step:
            case "upload" | "recover" if isinstance(found, str):
                one.batch.file, one.step = found, "create"
            case "recover" if found is None and one.batch.file:
                one.step = "create"
            case "results" if found is not None:
                for each in found:
                    self._settle_result(one, each, results)
                return None
            case "results":
                return self._finish(one, results)
            case "delete":
                return self._close(one)
            case "recover" if found is None:
                return self._submit_again(one, results)
            case _:
                job: BatchJob = found  # pyright: ignore[reportAssignmentType] - of a poll or a creation
                one.batch.job, one.builder, one.step = job, None, "results" if job.status == "ended" else "poll"
                one.due = now if job.status == "ended" else now + one.delay
                one.delay = min(one.delay * POLL_GROWTH, POLL_MOST_SECONDS)
        return self._own.save_batch(one.batch)

    def _failed(self, one: _Open, step: str, error: Exception, results: list[BulkRow]) -> None:
        if not isinstance(error, LLMError):
            raise error
        one.failures, one.results = one.failures + 1, None  # they are read again from their beginning
        if step == "delete":
            return self._close(one)
        if error.retryable and one.failures < _FAILURES:
            one.due += max(error.retry_after or 0.0, one.delay)
            return None
        if step in ("upload", "create") and error.status in _FINAL and one.builder is None:
            return self._submit_again(one, results)  # the file of an earlier process does not exist any more
        if step in ("upload", "create") and error.status in _FINAL:
            for row in [*one.rows.values()]:
                self._end(row, None, error, results)
                self._look(error)
            one.rows.clear()
            one.step = "delete"
            return None
        if step in ("upload", "create"):
            self._release(one)
        return self._give_up(error)

    def _submit_again(self, one: _Open, results: list[BulkRow]) -> None:
        for row in self._release(one):
            self._add(row, one.batch.tries, results)

    def _release(self, one: _Open) -> list[Row]:
        """The rows of a batch that was not created, which are removed from it."""
        rows, one.rows, one.step = [*one.rows.values()], {}, "delete"
        for row in rows:
            self._own.release(row.n)
        self._own.save_batch(one.batch, closed=True)
        return rows

    def _close(self, one: _Open) -> None:
        self._own.save_batch(one.batch, closed=True)
        self._batches.pop(one.batch.name, None)

    # --- results

    def _finish(self, one: _Open, results: list[BulkRow]) -> None:
        """Finish the rows without a result, with the outcome of the batch."""
        job = one.batch.job
        assert job is not None
        one.results, one.step = None, "delete"
        for place, name in enumerate(sorted(one.rows), 1):  # all of its rows, where it failed
            self._settle_result(one, batch_api.without_result(job, name, place), results)
        self._own.save_batch(one.batch, closed=True)

    def _settle_result(self, one: _Open, result: BatchResult, results: list[BulkRow]) -> None:
        row = one.rows.pop(result.custom_id, None)
        if row is None:  # a duplicate result, or one with an unknown id
            return
        answer, error = None, None
        try:
            answer = self._decoded(row, one, result)
        except LLMError as problem:
            error = problem
        if error is not None and error.retryable and one.batch.tries < TRIES:
            self._own.release(row.n)
            if not self._stopping:
                self._add(row, one.batch.tries + 1, results)
        else:
            self._end(row, answer, error, results)
            self._look(error)

    def _decoded(self, row: Row, one: _Open, result: BatchResult) -> Reply:
        """The reply in a result. Raises the error in it."""
        batch, now = one.batch, time.time()
        job = batch.job.id if batch.job else ""
        pricing: Pricing | None = None

        async def send(
            target: Target, settings: Settings, outgoing: OutgoingRequest, read: Callable[..., Any], *_: Any
        ) -> Any:
            nonlocal pricing
            pricing = settings.pricing(target, outgoing.request)
            attempts = (Attempt(batch.created, now - batch.created, str(result.status)),) * batch.tries
            answer = HTTPAnswer(result.status, {}, result.body)
            match result.outcome:
                case "succeeded":
                    return read(ReceivedAnswer(answer, outgoing.secrets, attempts))
                case "errored":
                    error = error_of_answer(target, answer, outgoing.secrets)
                case "expired":
                    error = APITimeoutError(f"the batch {job} expired before the request ran", retryable=True)
                case "cancelled":
                    error = CallCancelledError(f"the batch {job} was cancelled before the request ran")
                case _:
                    error = InternalServerError(f"the batch {job} has no result for the request")
            raise with_context(error, target, attempts)

        found: Reply = drive(self._call_with(row, send))
        if found.interrupted:
            raise CallCancelledError(f"the batch {job} was cancelled before the request ran")
        if pricing is not None:
            found.info.cost = pricing(found, batch.group.dialect.cost_factor)
        found.info.metadata |= {"batch_id": job, "custom_id": result.custom_id}
        return found


async def _not_streamed(*_: Any, **__: Any) -> NoReturn:
    raise ConfigError("no batch takes a request whose answer is so long that it is streamed", hint="use mode='live'")
