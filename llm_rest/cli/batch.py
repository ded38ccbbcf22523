"""`batch`: answer every line of a file, each exactly once; the journal of a run is beside its output.

The first SIGINT lets rows in flight finish, the second cancels them; SIGTERM waits some seconds for them. All print the
command that resumes the run.
"""

from __future__ import annotations

import shlex
import signal
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import anyio
import msgspec

from ..bulk.batches import cancel_batches
from ..bulk.journal import Journal
from ..bulk.run import AsyncBulk
from ..client.client import AsyncClient
from ..errors import ConfigError, LLMError
from ..policy.rate_limit import RateLimit
from ..transport.retry import RetryPolicy
from . import CUT, FAILED, INTERRUPTED, LOST, complain, note, write_document, write_json
from .question import json_object, model_of, options_of

if TYPE_CHECKING:
    from argparse import Namespace

    from ..bulk.status import BulkStatus, Totals

TERMINATED = 143
_GRACE_SECONDS = 10.0
_JSON_SECONDS = 5.0
_RUN = (
    "mode completion_window concurrency order limit dedupe group_by_prefix full openai_lines keep_outputs at_most_once"
    " retry_failed fresh max_cost"
)


def run(arguments: Namespace) -> int:
    """Run the batch, or show a journal."""
    look = {"status": _status, "cancel": _cancel, "export": _export}.get(arguments.input)
    if look is not None:
        if arguments.journal_file is None:
            raise ConfigError(f"`batch {arguments.input}` takes a journal", hint="such as out.jsonl.journal")
        beside = Path(f"{arguments.journal_file}.journal")  # where the output is named
        with closing(Journal(beside if beside.exists() else arguments.journal_file, readonly=True)) as journal:
            return look(journal, arguments)
    if arguments.output is None and not arguments.dry_run:
        raise ConfigError("`batch` needs a file for its output", hint="add -o out.jsonl")
    return anyio.run(_run, arguments)


async def _run(arguments: Namespace) -> int:
    options = options_of(arguments)
    if arguments.schema:
        options["output"] = options.pop("text")["format"]["schema"]
    if arguments.timeout is not None:
        options["timeout"] = arguments.timeout
    if arguments.output is not None:
        options |= {"output_file": arguments.output, "max_failures": _most(arguments.max_failures)}
    run = {name: getattr(arguments, name) for name in _RUN.split() if getattr(arguments, name) is not None}
    if arguments.dry_run:
        run = {name: run[name] for name in ("limit", "mode", "completion_window", "dedupe") if run.get(name)}
        if arguments.output is None:
            run.pop("dedupe", None)
    if arguments.template is not None:
        options["template"] = _template(arguments.template)
    model = arguments.model or (None if _models_in_rows(arguments) else model_of(arguments))
    progress = _Progress(as_json=arguments.json)
    async with AsyncClient(
        model,
        wire=arguments.wire,
        base_url=arguments.base_url,
        on_loss="ignore",
        max_connections=max(arguments.concurrency, 1),
        retry=RetryPolicy(attempts=arguments.attempts or 5),
        rate_limit=RateLimit(rpm=arguments.rpm, tpm=arguments.tpm),
    ) as llm:
        async with AsyncBulk(llm, **{**options, **run}, progress=progress.show) as bulk:
            source: Any = cast("IO[bytes]", sys.stdin.buffer) if arguments.input == "-" else Path(arguments.input)
            if arguments.dry_run:
                return _dry_run(bulk, source)
            _note_resumed(Path(f"{arguments.output}.journal"), arguments)
            return await _answer(bulk, source, arguments, progress)


def _models_in_rows(arguments: Namespace) -> bool:
    """Whether the first line names its model."""
    if arguments.input == "-":
        return False
    try:
        with Path(arguments.input).open("rb") as lines:
            first = msgspec.json.decode(lines.readline())
        return "/" in str(first.get("model") or first.get("body", {}).get("model"))
    except (OSError, AttributeError, msgspec.DecodeError):
        return False


async def _answer(bulk: AsyncBulk, source: Any, arguments: Namespace, progress: _Progress) -> int:
    ended_by: list[int] = []
    problem: LLMError | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(_listen, bulk, group.cancel_scope, ended_by)
        try:
            async for _ in bulk.run(source):
                pass
        except LLMError as found:
            problem = found
        group.cancel_scope.cancel()
    progress.end()
    status = bulk.status
    summary = _sentence(status)
    if problem is not None and not status.finished and not status.done and not status.failed:
        raise problem
    sys.stderr.write(f"{arguments.output}: {summary}\n")
    if ended_by or problem is not None:
        if problem is not None:
            complain(f"stopped: {problem}")
        note(f"to go on: {shlex.join(['llm-rest', *sys.argv[1:]])}")
    if ended_by:
        return INTERRUPTED if ended_by[0] == signal.SIGINT else TERMINATED
    return CUT if problem is not None else LOST if status.failed else 0


async def _listen(bulk: AsyncBulk, scope: anyio.CancelScope, ended_by: list[int]) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            ended_by.append(number)
            if len(ended_by) > 1:
                scope.cancel()
                return
            bulk.stop()
            note(f"waiting for {bulk.status.in_flight} rows in flight; once more leaves them")
            if number == signal.SIGTERM:
                await anyio.sleep(_GRACE_SECONDS)
                scope.cancel()


def _most(text: str | None) -> int | float | None:
    """The number or the fraction in `--max-failures`."""
    try:
        return None if text is None else float(text[:-1]) / 100 if text.endswith("%") else int(text)
    except ValueError:
        raise ConfigError(
            f"--max-failures {text!r} is neither a number nor a percentage", hint="such as 100 or 5%"
        ) from None


def _template(text: str) -> dict[str, Any]:
    """The template: JSON, or the path of a JSON file."""
    hint = 'it takes JSON such as {"input": "Classify: {{text}}"}, or a file of it'
    try:
        data = text if text.lstrip().startswith("{") else Path(text).read_bytes()
    except OSError as problem:
        raise ConfigError(f"--template {text}: {problem.strerror}", hint=hint) from None
    return json_object(data, "--template", hint)


def _note_resumed(path: Path, arguments: Namespace) -> None:
    if not path.exists() or arguments.fresh:
        return
    try:
        journal = Journal(path, readonly=True)
    except LLMError:
        return  # the run reports the error in it
    in_flight, totals = journal.in_flight(), journal.at.totals
    journal.close()
    if totals.done or totals.failed or in_flight:
        note(f"going on: {_sentence(totals)}")
    if in_flight:
        what = "not sent again (--at-most-once)" if arguments.at_most_once else "sent again (they may be billed twice)"
        note(f"{in_flight} rows were in flight when the last run ended; {what}")


def _dry_run(bulk: AsyncBulk, source: Any) -> int:
    found = bulk.estimate(source)
    for line in (*found.problems, *(f"{times:,} x {loss}" for loss, times in found.losses.items())):
        note(line)
    counted = f"{found.rows:,} rows, {found.invalid:,} invalid, {found.duplicates:,} duplicates"
    tokens = f"about {found.input_tokens:,} input and {found.output_tokens:,} output tokens"
    cost = "cost not known: no price file is named (--option prices=FILE), or it has no price for a model"
    if found.cost is not None:
        cost = f"about ${found.cost / 1e9:,.2f}" + " for the input alone" * (not found.output_tokens)
    took = "time not known: no rate limit is given (--rpm, --tpm) or was learned yet (run some rows with --limit)"
    if found.seconds is not None:
        took = f"{_duration(found.seconds)} {found.limit}"
    sys.stdout.write(f"{counted}, {tokens}\n{cost}\n{took}\nnothing was sent\n")
    return LOST if found.invalid else 0


def _status(journal: Journal, arguments: Namespace) -> int:
    totals, in_flight, user = journal.at.totals, journal.in_flight(), journal.in_use()
    if arguments.json:
        facts = {**msgspec.to_builtins(totals), "in_flight": in_flight, "in_use": user, "output": str(journal.output)}
        write_json(facts)
    else:
        state = f"running in {user}" if user else "not running"
        sys.stdout.write(f"{journal.output}: {_sentence(totals)}; {in_flight:,} in flight; {state}\n")
    return 0


def _cancel(journal: Journal, arguments: Namespace) -> int:
    batches = journal.batches()

    async def cancel() -> int:
        vendor = batches[0].group.vendor if batches else None
        async with AsyncClient(base_url=arguments.base_url, vendor=vendor) as llm:
            return len(await cancel_batches(llm._caller, batches))  # pyright: ignore[reportPrivateUsage]

    cancelled = anyio.run(cancel)
    sys.stdout.write(f"{cancelled} of {len(batches)} batches cancelled; the same run again collects what ran\n")
    return 0 if cancelled == len(batches) else FAILED


def _export(journal: Journal, arguments: Namespace) -> int:
    if arguments.output is None:
        for line in journal.lines():
            write_document(line + b"\n")
        return 0
    try:
        with Path(arguments.output).open("xb") as file:
            file.writelines(line + b"\n" for line in journal.lines())
    except FileExistsError:
        raise ConfigError(f"{arguments.output} exists already", hint="name another file") from None
    return 0


def _sentence(totals: Totals) -> str:
    """The totals of a run as a sentence."""
    parts = [f"{totals.done:,} done, {totals.failed:,} failed"]
    parts += [f"{totals.duplicates:,} duplicates"] if totals.duplicates else []
    parts += [f"{totals.repeated:,} sent again after a crash"] if totals.repeated else []
    parts.append(f"in {totals.input_tokens:,} out {totals.output_tokens:,} tokens")
    if totals.cost_nano:
        unpriced = f" and {totals.unpriced:,} rows without a price" if totals.unpriced else ""
        parts.append(f"${totals.cost_nano / 1e9:.2f}{unpriced}")
    return ", ".join(parts)


class _Progress:
    """The state of the run on stderr: a line that is rewritten on a terminal, JSON lines, or nothing in a pipe."""

    def __init__(self, *, as_json: bool) -> None:
        self._json = as_json
        self._terminal = sys.stderr.isatty()
        self._last = 0.0
        self._line: Any = None
        if self._terminal and not as_json:
            try:
                from rich.console import Console
                from rich.status import Status
            except ImportError:
                return
            self._line = Status("", console=Console(stderr=True))

    def show(self, status: BulkStatus) -> None:
        """Print the progress."""
        if self._json:
            if time.monotonic() - self._last > _JSON_SECONDS or not status.in_flight:
                self._last = time.monotonic()
                sys.stderr.write(msgspec.json.encode(status).decode() + "\n")
        elif self._line is not None:
            self._line.start()
            self._line.update(_progress_line(status).replace("[", r"\["))
        elif self._terminal:
            sys.stderr.write(f"\r\x1b[K{_progress_line(status)}")
            sys.stderr.flush()

    def end(self) -> None:
        """End the progress line."""
        if self._line is not None:
            self._line.stop()
        elif self._terminal and not self._json:
            sys.stderr.write("\r\x1b[K")


def _progress_line(status: BulkStatus) -> str:
    ended = status.done + status.failed
    parts = [f"{ended:,}" + (f"/{status.total:,}" if status.total else "")]
    parts += [f"{status.finished / status.seconds:,.0f}/s"] if status.seconds > 1 else []
    parts += [f"in flight {status.in_flight}", f"failed {status.failed:,}"]
    parts.append(f"in {status.input_tokens / 1e6:.2f}M out {status.output_tokens / 1e6:.2f}M tokens")
    parts += [f"${status.cost_nano / 1e9:.2f}"] if status.cost_nano else []
    if (left := status.remaining_seconds) is not None and status.seconds > 1:
        parts.append(f"done in {_duration(left)}")
    return "  ".join(parts)


def _duration(seconds: float) -> str:
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min" if minutes else f"{seconds:.0f} s"
