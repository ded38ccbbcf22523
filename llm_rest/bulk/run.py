"""`Bulk` and `AsyncBulk`: bulk runs for programs, and `map`, the same without a journal.

All of them use one engine, with the workers of the tool loop: threads, or tasks of the group that an `async with` holds.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from operator import attrgetter
from os import PathLike, fspath
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, Self, Unpack, cast

import msgspec

from ..client.client import AsyncClient, Client
from ..client.inputs import to_request
from ..client.loss_reports import CallSite
from ..client.options import OutputOptions
from ..client.structured import Output
from ..errors import ConfigError, Failure
from ..loop.tasks import TaskWorkers
from ..loop.threads import ThreadWorkers
from ..sync import drive
from ..transport.retry import RetryPolicy
from .engine import Engine, Job, Rules
from .journal import Journal
from .modes import BulkEstimate, Mode, engine_of, estimated
from .output import BulkRow, Lines
from .rows import Reader, SequenceSource, Source, source_of
from .status import BulkStatus, Totals

if TYPE_CHECKING:
    from ..client.call import Caller
    from ..client.options import Input
    from ..client.reply import Reply

Requests = Path | IO[bytes] | Iterable["Input | Mapping[str, Any]"]
"""The input of a run: a file of JSON lines, a binary stream of them, or an iterable of prompts, requests and rows as dicts."""

_PROGRESS_SECONDS = 0.5


class BulkOptions(OutputOptions, total=False):
    """The keywords of `Bulk`: those of `generate`, as defaults for every row, and those of the run."""

    journal: str | PathLike[str] | None
    """The journal file, from which a run is resumed. Default: `<output_file>.journal`; without either nothing is stored."""
    output_file: str | PathLike[str] | None
    """The file for the output lines. Without it the journal stores them."""
    mode: Mode
    """`live`: each row is a call of its own (default). `vendor`: the batch APIs of vendors. `auto`: as `vendor` where the model's
    vendor has one and the input more than 1,000 rows. `background`: background responses of OpenAI with a `completion_window`."""
    completion_window: Literal["2h", "8h"]
    """The time within which a background response is needed; default `8h`."""
    concurrency: int
    """The number of rows that are answered concurrently; default 64."""
    template: Mapping[str, Any] | None
    """A request with `{{field}}` where the fields of a row go, such as `{"input": "Classify: {{text}}"}`."""
    order: Literal["input", "arrival"]
    """The order of lines in the output file: that of the input (default), or of the answers' arrival."""
    full: bool
    """Whether a line contains the whole response; without an output file it always does."""
    openai_lines: bool
    """Whether lines are in the format of OpenAI's batch output."""
    keep_outputs: bool
    """Whether the journal keeps lines that are in the output file, so that the file can be rebuilt."""
    dedupe: bool
    """Deduplication: whether equal rows are sent once."""
    group_by_prefix: bool
    """Whether rows with the same prefix are sent one after the other, once the first was answered: for prompt caching."""
    limit: int | None
    """The maximum number of rows, from the first on; the same run without it continues from there."""
    max_failures: int | float | None
    """Stop after this number of failed rows, or at this fraction of all rows, such as 0.05."""
    max_cost: float | None
    """Stop when the replies have cost this many dollars; rows in flight are added."""
    at_most_once: bool
    """Whether rows that were in flight when a process died fail instead of being sent again."""
    retry_failed: bool
    """Whether rows that failed in an earlier run are sent again."""
    fresh: bool
    """Whether the journal and the output file of an earlier run are replaced."""
    progress: Callable[[BulkStatus], object] | None
    """A callback for the progress of the run, about twice a second and at the end."""


class _Run:
    """A run by the calls of `caller`: the shared part of `Bulk`, `AsyncBulk` and `map`."""

    def __init__(self, caller: Caller, options: dict[str, Any], site: CallSite, *, circuit: bool = True) -> None:
        run = self._run = {name: options.pop(name) for name in _RUN if name in options}
        if run.get("order", "input") not in ("input", "arrival"):
            raise ConfigError(f"order is input or arrival, not {run['order']!r}")
        self._form = options.pop("output", None)
        self._output = None if self._form is None else Output[Any](self._form)
        self._caller = caller.with_options(options)
        self._site = site
        file = run.get("output_file")
        self._file = None if file is None else Path(file)
        self._path = run.get("journal") or (None if file is None else f"{fspath(file)}.journal")
        if self._path is None and (needs := [name for name in _NEED_JOURNAL if run.get(name)]):
            raise ConfigError(f"{needs[0]} needs a journal", hint="give journal= or output_file=")
        if self._file is None and run.get("openai_lines"):
            raise ConfigError("openai_lines is the format of an output file", hint="give output_file=")
        rules: dict[str, Any] = {name: run[name] for name in Rules.__struct_fields__ if name in run}
        rules["concurrency"] = _concurrency(run)
        self._rules = Rules(**rules, circuit=circuit)
        self._mode, self._window = run.get("mode") or "live", run.get("completion_window") or "8h"
        self._template = None if run.get("template") is None else dict(run["template"])
        self._reported = 0.0
        self._engine: Engine | None = None
        self._journal: Journal | None = None

    @property
    def status(self) -> BulkStatus:
        """The current progress of the run."""
        return BulkStatus() if self._engine is None else self._engine.status()

    def stop(self) -> None:
        """Stop the run: no more rows are sent, those in flight are answered. May be called from any thread."""
        if self._engine is not None:
            self._engine.stop()

    def estimate(self, requests: Requests) -> BulkEstimate:
        """An estimate of a run over this input, without sending anything: rows, duplicates, tokens, cost, time, losses
        and invalid rows. Duplicates cost nothing with `dedupe`.
        """
        source, totals = source_of(requests), Totals()
        if self._path is not None and Path(self._path).exists():
            journal = Journal(self._path, readonly=True)
            journal.close()
            totals = journal.at.totals
        return estimated(self._caller, source, self._reader(source), self._rules, totals, self._mode, self._window)

    def _reader(self, source: Source) -> Reader:
        return Reader(source.word, self._caller.defaults.get("model"), self._template)

    def _begin(self, source: Source) -> Engine:
        """Open the journal and make the engine of a run."""
        if self._journal is not None and self._engine is not None:
            self._engine.leave()  # from a run that was left early
        self._end()
        run, reader = self._run, self._reader(source)
        if self._path is not None:
            self._journal = Journal(
                self._path,
                options=self._identity(),
                input=source.identity,
                output=self._file,
                keep_outputs=bool(run.get("keep_outputs") or self._rules.dedupe),
                fresh=bool(run.get("fresh")),
            )
            if run.get("retry_failed"):
                self._journal.retry_failed()
        full, openai = bool(run.get("full")) or self._file is None, bool(run.get("openai_lines"))
        lines = Lines(full=full, openai=openai, form=self._output)
        caller = self._caller.scoped()
        job = Job(caller, source, reader, lines, self._rules, self._journal, self._form, self._site)
        self._engine = engine_of(self._mode, self._window, job)
        return self._engine

    def _identity(self) -> dict[str, Any]:
        """The options that identify the run, as plain data without secrets."""
        fields: dict[str, Any] = msgspec.to_builtins(to_request("-", self._caller.defaults))
        del fields["input"]
        fields |= {name: True for name in ("full", "openai_lines", "dedupe") if self._run.get(name)}
        long = {name: fields.pop(name, None) for name in ("tools", "extra")}
        long |= {"schema": self._output and self._output.schema, "template": self._template}
        hashed = {name: _digest(value) for name, value in long.items() if value is not None}
        return {**fields, **hashed, "order": self._run.get("order", "input")}

    def _report(self, engine: Engine, *, last: bool = False) -> None:
        progress: Callable[[BulkStatus], object] | None = self._run.get("progress")
        if progress is not None and (last or time.monotonic() - self._reported > _PROGRESS_SECONDS):
            self._reported = time.monotonic()
            progress(engine.status())

    def _conclude(self, engine: Engine) -> None:
        self._report(engine, last=True)
        if engine.stopped is not None:
            raise engine.stopped

    def _end(self) -> None:
        """Close the journal."""
        if self._journal is not None:
            journal, self._journal = self._journal, None
            journal.close()

    def _in_threads(self, source: Source) -> Iterator[BulkRow]:
        """The rows as they finish, answered in threads."""
        engine, workers = self._begin(source), ThreadWorkers()
        try:
            while (rows := drive(engine.advance(workers))) is not None:
                yield from rows
                self._report(engine)
        finally:
            engine.leave()
            drive(engine.drain(workers))
            self._end()
        self._conclude(engine)

    def _in_tasks(self, source: Source, workers: TaskWorkers) -> AsyncIterator[BulkRow]:
        """The rows as they finish, answered in tasks."""
        engine: Engine | None = None

        async def advance() -> list[BulkRow] | None:
            nonlocal engine
            engine = engine or self._begin(source)
            try:
                rows = await engine.advance(workers)
            except BaseException:
                engine.leave()
                self._end()
                raise
            if rows is None:
                self._end()
                self._conclude(engine)
            else:
                self._report(engine)
            return rows

        return _AsyncRows(advance)


_RUN = (*BulkOptions.__annotations__.keys() - OutputOptions.__annotations__.keys(),)
_NEED_JOURNAL = ("dedupe", "at_most_once", "retry_failed", "fresh", "keep_outputs")


def _concurrency(options: Mapping[str, Any]) -> int:
    found = options.get("concurrency", 64)
    if not isinstance(found, int) or found < 1:
        raise ConfigError(f"concurrency is a number from 1, not {found!r}")
    return found


def _digest(value: Any) -> str:
    return blake2b(msgspec.json.encode(value, order="sorted"), digest_size=16).hexdigest()


def _client(kind: Any, llm: Any, options: dict[str, Any]) -> Any:
    """The client of a run, and whether it is closed with the run: a client made for it learns rate limits."""
    if isinstance(llm, kind):
        return llm, False
    options.setdefault("on_loss", "ignore")
    return kind(llm, max_connections=_concurrency(options), retry=RetryPolicy(attempts=5), rate_limit="learn"), True


class Bulk(_Run):
    """A bulk run: many requests, each answered exactly once, by a client or a model `"vendor/model"`; use it in a
    `with`.

    `with Bulk(model, journal="run.journal") as bulk: for row in bulk.run(requests): ...`. The same program run again
    resumes the last run, however it ended. A client that is made for the run learns rate limits and makes up to five
    attempts for each row. Raises `ConfigError` for invalid arguments.
    """

    client: Client
    """The client that makes the calls."""

    def __init__(self, llm: Client | str | None = None, **options: Unpack[BulkOptions]) -> None:
        plain = cast("dict[str, Any]", options)
        client, self._own = _client(Client, llm, plain)
        self.client = client
        super().__init__(client._caller, plain, CallSite())

    def run(self, requests: Requests) -> Iterator[BulkRow]:
        """Answer all rows of the input, which is read as rows finish; yields each row once it is finished.

        Rows that an earlier process finished are yielded again, from the journal, unless they are in an output file.
        Raises `ConfigError` for an input or options that are not those of the journal, `StoreError` for a journal in
        use or one that cannot be written, and at the end the error for which the run stopped early.
        """
        return self._in_threads(source_of(requests))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self._end()
        if self._own:
            self.client.close()


class AsyncBulk(_Run):
    """`Bulk` for async callers: `async with` and `async for`. The journal is written in the loop's thread, in groups of rows."""

    client: AsyncClient
    """The client that makes the calls."""

    def __init__(self, llm: AsyncClient | str | None = None, **options: Unpack[BulkOptions]) -> None:
        plain = cast("dict[str, Any]", options)
        client, self._own = _client(AsyncClient, llm, plain)
        self.client = client
        super().__init__(client._caller, plain, CallSite())
        self._workers: TaskWorkers | None = None

    def run(self, requests: Requests) -> AsyncIterator[BulkRow]:
        """As `Bulk.run`, inside an `async with`; leaving that cancels the calls in flight."""
        if self._workers is None:
            raise ConfigError("an AsyncBulk runs inside an `async with`", hint="async with AsyncBulk(...) as bulk: ...")
        return self._in_tasks(source_of(requests), self._workers)

    async def __aenter__(self) -> Self:
        self._workers = await TaskWorkers().__aenter__()
        return self

    async def __aexit__(self, kind: Any, value: Any, traceback: Any) -> None:
        workers, self._workers = self._workers, None
        try:
            if workers is not None:
                await workers.__aexit__(kind, value, traceback)
        finally:
            self._end()
            if self._own:
                await self.client.aclose()


class _AsyncRows:
    """The rows of a run. Not a generator, so that leaving the iteration early leaves nothing to close but the `AsyncBulk`."""

    def __init__(self, advance: Callable[[], Awaitable[list[BulkRow] | None]]) -> None:
        self._advance = advance
        self._ready: deque[BulkRow] = deque()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> BulkRow:
        while not self._ready:
            if (rows := await self._advance()) is None:
                raise StopAsyncIteration
            self._ready += rows
        return self._ready.popleft()


Progress = Callable[[int, "int | None"], object]
"""A callback that receives the number of answered prompts, and of all prompts."""


class Map(_Run):
    """`Client.map` and `AsyncClient.map`: a run without a journal, with its rows in the order of the prompts."""

    def __init__(
        self, caller: Caller, options: dict[str, Any], concurrency: int, progress: Progress | None, site: CallSite
    ) -> None:
        def report(status: BulkStatus) -> None:
            if progress is not None:
                progress(status.done + status.failed, status.total)

        super().__init__(caller, {**options, "concurrency": concurrency, "progress": report}, site, circuit=False)

    def in_threads(self, prompts: Iterable[Any]) -> list[Reply | Failure]:
        """The replies, and failures in their places, answered in threads."""
        return _in_order([*self._in_threads(SequenceSource(prompts))])

    async def in_tasks(self, prompts: Iterable[Any]) -> list[Reply | Failure]:
        """The replies, and failures in their places, answered in tasks."""
        source = SequenceSource(prompts)
        async with TaskWorkers() as workers:
            return _in_order([row async for row in self._in_tasks(source, workers)])


def _in_order(rows: list[BulkRow]) -> list[Reply | Failure]:
    found: list[Reply | Failure] = []
    for row in sorted(rows, key=attrgetter("n")):
        if row.error is not None:
            found.append(Failure(row.error.message, row.error.suggestions, row.error))
        elif row.reply is not None:
            found.append(row.reply)
    return found
