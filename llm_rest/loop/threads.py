"""`Run`: the loop for sync callers. Tools and model calls run in daemon threads, the caller waits for a queue. The step
limits how many tools run at the same time (`max_tool_threads`).

No event loop is used, so it works inside a running one as well. Before changing this file, know that a
thread cannot be stopped from outside: a cancelled tool keeps running, its result is dropped, and its daemon
thread does not keep the program from ending. A model call is cancelled by the client.
"""

from __future__ import annotations

import inspect
import queue
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

from ..errors import ConfigError
from ..responses.events import OutputTextDelta
from ..sync import drive
from ..tools import threads
from .engine import Engine, Workers
from .events import LoopEvent
from .run import BaseRun, R_co

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator
    from types import TracebackType

    from ..responses.events import AnyEvent
    from ..responses.response import Response
    from ..tools import Prepared, Toolbox, ToolContext
    from . import Output
    from .events import AnyLoopEvent

E_co = TypeVar("E_co", covariant=True)


class ThreadWorkers:
    """A daemon thread for every job, and a queue for their reports."""

    def __init__(self) -> None:
        self._reports: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def now(self) -> float:
        return time.monotonic()

    def start(self, name: str, job: Callable[[], Coroutine[Any, Any, None]]) -> None:
        def work() -> None:
            with suppress(BaseException):  # a job reports what became of it
                drive(job())

        threads.start(name, work)

    def cancel(self, name: str) -> None:
        """The thread continues; its report is ignored."""

    def put(self, report: Any) -> None:
        self._reports.put(report)

    async def receive(self, within: float | None) -> Any:
        try:
            # A queue does not take every number: `inf` is longer than it can wait.
            return self._reports.get(timeout=None if within is None else min(within, threading.TIMEOUT_MAX))
        except queue.Empty:
            return None


class ThreadShell:
    """Runs tools and model calls in the thread of their job."""

    in_threads = True

    async def execute(self, tools: Toolbox, prepared: Prepared, context: ToolContext) -> Output:
        return tools.run_sync(prepared, context)

    async def ask(self, whom: Callable[[Any], Any], about: Any) -> Any:
        found = whom(about)
        if inspect.isawaitable(found):  # somebody who decides, and takes an event loop for it
            import anyio

            found = anyio.run(_awaited, found)
        return found

    async def stream(self, opened: Any, hear: Callable[[AnyEvent], bool]) -> Response:
        with opened as events:
            for event in events:
                if not hear(event):
                    break
            found: Response = events.response
            return found


async def _awaited(what: Awaitable[Any]) -> Any:
    return await what


class Run(BaseRun[R_co]):
    """A run of the tool loop for sync callers: call `result()`, or iterate over `events()` or `stream()`."""

    workers: Callable[[], Workers] = ThreadWorkers
    """Makes the workers of the run's jobs: model calls and tools, in daemon threads."""

    def result(self) -> R_co:
        """Drive the run to its end: the model's last reply, or its reply so far where calls wait in `pending_calls`.

        Raises the error of a model call, `MaxIterationsError` or `APITimeoutError` at a limit, `ToolArgumentsError` or
        `ToolNotFoundError` after too many invalid calls, and `CallCancelledError`; `error.run` is the state to resume.
        """
        with self.events() as events:
            for _ in events:
                pass
        return self._concluded()

    def events(self) -> RunEvents[AnyLoopEvent]:
        """Drive the run and iterate over its events, in a `with`; leaving it early cancels the run."""
        return RunEvents(self._engine, self.workers, streams=False)

    def stream(self) -> RunStream:
        """The same with the stream events of every answer between them; `.text` has the text deltas alone."""
        return RunStream(self._engine, self.workers, self._concluded)


class RunEvents(Generic[E_co]):
    """An iterator over the events of a run. Use it in a `with`: leaving it early cancels the run."""

    def __init__(self, engine: Engine, workers: Callable[[], Workers], *, streams: bool) -> None:
        self._engine = engine
        self._new_workers = workers
        self._streams = streams
        self._open = self._entered = False

    def __repr__(self) -> str:
        advice = "iterate over it" if self._entered else "use it in a `with`, and iterate over it"
        return f"<{type(self).__name__} of {self._engine.state.summary()}; {advice}>"

    def __enter__(self) -> Self:
        self._entered = True
        if not self._engine.at_rest:
            self._engine.begin(self._new_workers(), streams=self._streams)
            self._open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._open:
            self._open = False
            self._engine.leave()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> E_co:
        if not self._entered:
            raise ConfigError("the events of a run are read inside a `with`", hint="with run.events() as events: ...")
        while self._open:
            while self._engine.out:
                event: Any = self._engine.out.popleft()
                if self._streams or isinstance(event, LoopEvent):
                    return cast("E_co", event)
            if not drive(self._engine.advance()):
                break
        raise StopIteration


class RunStream(RunEvents["AnyLoopEvent | AnyEvent"]):
    """An iterator over the events of a run and of its answers. Use it in a `with`: leaving it early cancels the run."""

    def __init__(self, engine: Engine, workers: Callable[[], Workers], conclude: Callable[[], object]) -> None:
        super().__init__(engine, workers, streams=True)
        self._conclude = conclude

    @property
    def text(self) -> Iterator[str]:
        """Iterates over the text deltas of all answers, as `str`. Raises the errors of `result()` at its end."""
        for event in self:
            if isinstance(event, OutputTextDelta) and event.delta:
                yield event.delta
        self._conclude()
