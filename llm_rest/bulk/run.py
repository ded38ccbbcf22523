"""`Bulk` and `AsyncBulk`: bulk runs for programs, and `map`, their sibling without a journal.

Both kinds drive the same engine, with the workers of the tool loop: threads, or tasks of the group that an `async with` holds.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from os import PathLike, fspath
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, Self, Unpack, cast

import msgspec
from msgspec import Struct, field

from ..client.call import CallSite
from ..client.client import AsyncClient, Client
from ..client.options import OutputOptions, to_request
from ..client.structured import Output
from ..errors import ConfigError, Failure
from ..loop.tasks import TaskWorkers
from ..loop.threads import ThreadWorkers
from ..responses.estimate import estimate_tokens
from ..sync import drive
from ..transport.retry import RetryPolicy
from .engine import BulkStatus, Engine, Rules, encoded
from .journal import Journal
from .modes import Mode, call_of, engine_of
from .output import BulkRow, Lines
from .rows import Reader, SequenceSource, Source, source_of

if TYPE_CHECKING:
    from ..client.call import Caller
    from ..client.options import Input
    from ..client.reply import Reply

Requests = Path | IO[bytes] | Iterable["Input | Mapping[str, Any]"]
"""The input of a run: a file of JSON lines, a binary stream of them, or an iterable of prompts, requests and rows as dicts."""

_PROGRESS_SECONDS = 0.5
_PROBLEMS = 10


class BulkOptions(OutputOptions, total=False):
    """The keywords of `Bulk`: those of `generate`, for every row that does not say otherwise, and those of the run."""

    journal: str | PathLike[str] | None
    """The file of the journal, by which a run is resumed. Default: `<output_file>.journal`; without either nothing is kept."""
    output_file: str | PathLike[str] | None
    """The file for the lines of output. Without it the journal keeps them."""
    mode: Mode
    """`live`: each row is a call of its own (default). `vendor`: the batch APIs of vendors. `auto`: as `vendor` where the model's
    vendor has one and the input more than 1,000 rows. `background`: background responses of OpenAI with a `completion_window`."""
    completion_window: Literal["2h", "8h"]
    """The time within which a background response is needed; default `8h`."""
    concurrency: int
    """How many rows are answered at the same time; default 64."""
    template: Mapping[str, Any] | None
    """A request with `{{field}}` where the fields of a row go, such as `{"input": "Classify: {{text}}"}`."""
    order: Literal["input", "arrival"]
    """The order of lines in the output file: that of the input (default), or as answers come."""
    full: bool
    """Whether a line has the whole response; without an output file it always has."""
    openai_lines: bool
    """Whether lines are in the format of OpenAI's batch output."""
    keep_outputs: bool
    """Whether the journal keeps lines that are in the output file, so that the file can be rebuilt."""
    dedupe: bool
    """Whether equal rows are sent once."""
    group_by_prefix: bool
    """Whether rows that begin alike are sent one after the other, once the first one came back: for the vendor's prompt cache."""
    limit: int | None
    """Only the first rows of the input, so many; the same run without it goes on from there."""
    max_failures: int | float | None
    """Stop after so many failed rows, or at this fraction of all rows, such as 0.05."""
    max_cost: float | None
    """Stop when the replies have cost so many dollars; rows in flight come on top."""
    at_most_once: bool
    """Whether rows that were in flight when a process died fail instead of being sent again."""
    retry_failed: bool
    """Whether rows that failed in an earlier run are sent again."""
    fresh: bool
    """Whether the journal and the output file of an earlier run are replaced."""
    progress: Callable[[BulkStatus], object] | None
    """A callback for the state of the run, about twice a second and at the end."""


class BulkEstimate(Struct):
    """What a run would be, as `estimate` counts it."""

    rows: int = 0
    """All rows of the input."""
    invalid: int = 0
    """Rows that would fail without being sent."""
    duplicates: int = 0
    """Rows that are equal to an earlier one."""
    input_tokens: int = 0
    """About how many tokens the inputs have: a quarter of their characters."""
    losses: dict[str, int] = field(default_factory=dict[str, int])
    """What the vendors would not get, and how often."""
    problems: list[str] = field(default_factory=list[str])
    """What is wrong with the first invalid rows."""


class _Bulk:
    """What `Bulk` and `AsyncBulk` share."""

    client: Any
    """The client that makes the calls."""

    def __init__(
        self, kind: Any, llm: Client | AsyncClient | str | None, options: dict[str, Any], site: CallSite
    ) -> None:
        run: dict[str, Any] = {name: options.pop(name) for name in _RUN if name in options}
        self._own = not isinstance(llm, kind)
        concurrency = _checked(run.get("concurrency", 64))
        if run.get("order", "input") not in ("input", "arrival"):
            raise ConfigError(f"order is input or arrival, not {run['order']!r}")
        self._form = options.pop("output", None)
        self._output = None if self._form is None else Output[Any](self._form)
        if self._own:
            llm = kind(llm, max_connections=concurrency, retry=RetryPolicy(attempts=5), rate_limit="learn")
        self.client = llm
        quiet = {"on_loss": "ignore", **options} if self._own else options
        caller: Caller = self.client._caller
        self._caller = caller.with_options(quiet)
        self._site = site
        file, journal = run.get("output_file"), run.get("journal")
        self._file = None if file is None else Path(file)
        if journal is None and file is not None:
            journal = f"{fspath(file)}.journal"
        self._path = journal
        if journal is None and (needs := [name for name in _NEED_JOURNAL if run.get(name)]):
            raise ConfigError(f"{needs[0]} needs a journal", hint="give journal= or output_file=")
        cost = run.get("max_cost")
        self._rules = Rules(
            concurrency=concurrency,
            max_failures=run.get("max_failures"),
            max_cost_nano=None if cost is None else round(cost * 1e9),
            limit=run.get("limit"),
            dedupe=bool(run.get("dedupe")),
            at_most_once=bool(run.get("at_most_once")),
            group_by_prefix=bool(run.get("group_by_prefix")),
        )
        template = run.get("template")
        self._template = None if template is None else dict(cast("Mapping[str, Any]", template))
        self._run = run
        self._progress: Callable[[BulkStatus], object] | None = run.get("progress")
        self._reported = 0.0
        self._engine: Engine | None = None
        self._journal: Journal | None = None

    @property
    def status(self) -> BulkStatus:
        """Where the run stands."""
        return BulkStatus() if self._engine is None else self._engine.status()

    def stop(self) -> None:
        """End the run in order: no more rows are sent, those in flight are answered. May be called from any thread."""
        if self._engine is not None:
            self._engine.stop()

    def estimate(self, requests: Requests) -> BulkEstimate:
        """What a run over this input would be, without sending anything: rows, duplicates, tokens, losses and invalid rows."""
        source, found, keys = source_of(requests), BulkEstimate(), set[bytes]()
        reader = Reader(source.word, self._caller.defaults.get("model"), self._template)
        for entry in source.entries(None):
            if self._rules.limit is not None and entry.n > self._rules.limit:
                break
            if isinstance(entry.raw, bytes) and not entry.raw.strip():
                continue
            found.rows += 1
            try:
                row = reader.read(entry)
                key, request, losses = encoded(self._caller, row)
            except ConfigError as problem:
                found.invalid += 1
                if len(found.problems) < _PROBLEMS:
                    place = f"{source.word} {entry.n}: "
                    found.problems.append(place + str(problem).removeprefix(place))
                continue
            found.duplicates += key in keys
            keys.add(key)
            found.input_tokens += estimate_tokens(request)
            for loss in (*row.losses, *losses):
                said = re.sub(r"\[\d+\]", "[…]", str(loss))
                found.losses[said] = found.losses.get(said, 0) + 1
        return found

    def _begin(self, source: Source) -> Engine:
        """Open the journal and make the engine of a run."""
        if self._journal is not None and self._engine is not None:
            self._engine.leave()  # a run that was left early
        self._end()
        model = self._caller.defaults.get("model")
        reader = Reader(source.word, model, self._template)
        full = bool(self._run.get("full")) or self._file is None
        lines = Lines(full=full, openai=bool(self._run.get("openai_lines")), form=self._output)
        if self._path is not None:
            self._journal = Journal(
                self._path,
                options=self._identity(),
                input=source.identity,
                output=self._file,
                keep_outputs=bool(self._run.get("keep_outputs")) or self._rules.dedupe,
                fresh=bool(self._run.get("fresh")),
            )
            if self._run.get("retry_failed"):
                self._journal.retry_failed()
        caller = self._caller.scoped()
        self._engine = engine_of(
            self._run.get("mode") or "live",
            self._run.get("completion_window") or "8h",
            self._journal,
            self._form,
            self._site,
            caller,
            source,
            reader,
            lines,
            self._rules,
        )
        return self._engine

    def _identity(self) -> dict[str, Any]:
        """The options that make a run what it is, as plain data without secrets."""
        asked = to_request("-", self._caller.defaults)
        fields: dict[str, Any] = msgspec.to_builtins(asked)
        of_run: dict[str, Any] = {
            name: self._run[name] for name in ("full", "openai_lines", "dedupe") if self._run.get(name)
        }
        schema = None if self._output is None else self._output.schema
        digests = {
            "schema": schema,
            "template": self._template,
            **{name: fields.pop(name, None) for name in ("tools", "extra")},
        }
        hashed = {name: _digest(value) for name, value in digests.items() if value is not None}
        del fields["input"]
        return {**fields, **of_run, **hashed, "order": self._run.get("order", "input")}

    def _report(self, engine: Engine, *, last: bool = False) -> None:
        if self._progress is not None and (last or time.monotonic() - self._reported > _PROGRESS_SECONDS):
            self._reported = time.monotonic()
            self._progress(engine.status())

    def _conclude(self, engine: Engine) -> None:
        self._report(engine, last=True)
        if engine.stopped is not None:
            raise engine.stopped

    def _end(self) -> None:
        """Close the journal."""
        if self._journal is not None:
            journal, self._journal = self._journal, None
            journal.close()


_RUN = (*BulkOptions.__annotations__.keys() - OutputOptions.__annotations__.keys(),)
_NEED_JOURNAL = ("dedupe", "at_most_once", "retry_failed", "fresh", "keep_outputs")


def _checked(concurrency: Any) -> int:
    if not isinstance(concurrency, int) or concurrency < 1:
        raise ConfigError(f"concurrency is a number from 1, not {concurrency!r}")
    return concurrency


def _digest(value: Any) -> str:
    return blake2b(msgspec.json.encode(value, order="sorted"), digest_size=16).hexdigest()


class Bulk(_Bulk):
    """Many requests, each answered exactly once, by a client or a model `"vendor/model"`; use it in a `with`.

    `with Bulk(model, journal="run.journal") as bulk: for row in bulk.run(requests): ...`. The same program run again goes on
    where the last run ended, however that was. A client that is made for the run learns rate limits and makes up to five
    attempts for each row.
    Raises `ConfigError` for invalid arguments.
    """

    def __init__(self, llm: Client | str | None = None, **options: Unpack[BulkOptions]) -> None:
        super().__init__(Client, llm, cast("dict[str, Any]", options), CallSite())

    def run(self, requests: Requests) -> Iterator[BulkRow]:
        """Answer all rows of the input, which is read as rows finish; yields each row once it is finished.

        Rows that an earlier process finished come again, from the journal, unless they are in an output file. Raises
        `ConfigError` for an input or options that are not those of the journal, `StoreError` for a journal in use or one that
        cannot be written, and at the end the error for which the run stopped early.
        """
        source = source_of(requests)
        return self._rows(source)

    def _rows(self, source: Source) -> Iterator[BulkRow]:
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self._end()
        if self._own:
            self.client.close()


class AsyncBulk(_Bulk):
    """`Bulk` for async callers: `async with` and `async for`. The journal is written in the loop's thread, in groups of rows."""

    def __init__(self, llm: AsyncClient | str | None = None, **options: Unpack[BulkOptions]) -> None:
        super().__init__(AsyncClient, llm, cast("dict[str, Any]", options), CallSite())
        self._workers: TaskWorkers | None = None

    def run(self, requests: Requests) -> AsyncIterator[BulkRow]:
        """As `Bulk.run`, inside an `async with`; leaving that ends what is under way."""
        if self._workers is None:
            raise ConfigError("an AsyncBulk runs inside an `async with`", hint="async with AsyncBulk(...) as bulk: ...")
        source, workers, engine = source_of(requests), self._workers, None

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
    """The rows of a run. No generator: whoever leaves the iteration early leaves nothing to be closed but the `AsyncBulk`."""

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


# --- map ----------------------------------------------------------------------------------------------------------------

Progress = Callable[[int, "int | None"], object]
"""A callback that gets how many prompts are answered, and of how many."""


class _Map:
    """The engine of one `map`, and what came back in the order of the prompts."""

    def __init__(
        self,
        caller: Caller,
        prompts: Iterable[Any],
        options: dict[str, Any],
        concurrency: int,
        progress: Progress | None,
        site: CallSite,
    ) -> None:
        rules = Rules(concurrency=_checked(concurrency), circuit=False)
        if (form := options.pop("output", None)) is not None:
            Output[Any](form)
        caller = caller.with_options(options).scoped()
        source = SequenceSource(prompts)
        reader = Reader(source.word, caller.defaults.get("model"), None)
        lines = Lines(full=False, openai=False, form=None)
        self.engine = Engine(caller, call_of(caller, form, site), source, reader, lines, rules, None)
        self._progress = progress
        self._total = source.total(0, 0)
        self._found: dict[int, Reply | Failure] = {}

    def take(self, rows: list[BulkRow]) -> None:
        """Put finished rows in their places."""
        for row in rows:
            if row.error is not None:
                self._found[row.n] = Failure(row.error.message, row.error.suggestions, row.error)
            elif row.reply is not None:
                self._found[row.n] = row.reply
        if rows and self._progress is not None:
            self._progress(len(self._found), self._total)

    def result(self) -> list[Reply | Failure]:
        """The replies and failures, in the order of the prompts."""
        if self.engine.stopped is not None:
            raise self.engine.stopped
        return [self._found[n] for n in sorted(self._found)]


def map_in_threads(*arguments: Any) -> list[Reply | Failure]:
    """`Client.map`."""
    job, workers = _Map(*arguments), ThreadWorkers()
    try:
        while (rows := drive(job.engine.advance(workers))) is not None:
            job.take(rows)
    finally:
        job.engine.leave()
        drive(job.engine.drain(workers))
    return job.result()


async def map_in_tasks(*arguments: Any) -> list[Reply | Failure]:
    """`AsyncClient.map`."""
    job = _Map(*arguments)
    async with TaskWorkers() as workers:
        while (rows := await job.engine.advance(workers)) is not None:
            job.take(rows)
    return job.result()
