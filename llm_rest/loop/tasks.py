"""`AsyncRun`: the loop for async callers, on asyncio and trio. Every tool and model call is a task of one group.

Before changing this file, know that the group lives as long as the `async with` of the events: leaving it, also by
cancellation, ends all tasks.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

import anyio
from anyio.lowlevel import checkpoint_if_cancelled, current_token

from ..errors import ConfigError
from ..responses.events import OutputTextDelta
from ..sync import from_any_thread
from .engine import Engine
from .events import LoopEvent
from .run import BaseRun, R_co

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from types import TracebackType

    from ..responses.events import AnyEvent
    from ..responses.response import Response
    from ..tools import Prepared, Toolbox, ToolContext
    from . import Output
    from .events import AnyLoopEvent

E_co = TypeVar("E_co", covariant=True)


class TaskWorkers:
    """A task for every job, each in a scope of its own, and a queue for their reports and for inputs from other threads."""

    def __init__(self) -> None:
        self._reports: deque[Any] = deque()
        self._received = anyio.Event()
        self._soon = from_any_thread(current_token())
        self._thread = threading.get_ident()
        self._scopes: dict[str, anyio.CancelScope] = {}
        self._group = anyio.create_task_group()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        self._group.cancel_scope.cancel()
        # What the caller raised stays what it is: a group would wrap up whatever passes through it.
        is_error = kind is not None and not issubclass(kind, anyio.get_cancelled_exc_class())
        try:
            if not is_error:
                return await self._group.__aexit__(kind, value, traceback)
            await self._group.__aexit__(None, None, None)  # whether it ended a task says nothing about the error
            return None
        except BaseExceptionGroup as problems:
            if len(problems.exceptions) == 1:  # such as the KeyboardInterrupt of a tool
                raise problems.exceptions[0] from None
            raise

    def now(self) -> float:
        return anyio.current_time()

    def start(self, name: str, job: Callable[[], Awaitable[None]]) -> None:
        scope = self._scopes[name] = anyio.CancelScope()

        async def run() -> None:
            with scope:
                try:
                    await job()
                except anyio.get_cancelled_exc_class():
                    # A tool may raise this by itself, which cancels no other task.
                    if anyio.get_current_task().has_pending_cancellation():
                        raise

        self._group.start_soon(run, name=f"llm_rest {name}")

    def cancel(self, name: str) -> None:
        scope = self._scopes.get(name)
        if scope is not None:
            scope.cancel()

    def put(self, report: Any) -> None:
        self._reports.append(report)
        if threading.get_ident() == self._thread:
            self._wake()
        else:
            with suppress(RuntimeError):  # its loop has ended
                self._soon(self._wake)

    def _wake(self) -> None:
        self._received.set()

    async def receive(self, within: float | None) -> Any:
        if not self._reports and within != 0.0:
            # What another thread reports wakes whatever event is there when the loop comes to it.
            self._received = anyio.Event()
            with anyio.move_on_after(within):
                await self._received.wait()
        # A cancelled scope cancels the jobs as well as the reader, whichever first: their reports of it are no failures.
        await checkpoint_if_cancelled()
        return self._reports.popleft() if self._reports else None


class TaskShell:
    """Runs tools and model calls in tasks; sync tools in threads that are abandoned on cancellation."""

    in_threads = False

    async def execute(self, tools: Toolbox, prepared: Prepared, context: ToolContext) -> Output:
        return await tools.run(prepared, context)

    async def ask(self, whom: Callable[[Any], Any], about: Any) -> Any:
        found = whom(about)
        return await found if inspect.isawaitable(found) else found

    async def stream(self, opened: Any, hear: Callable[[AnyEvent], bool]) -> Response:
        async with opened as events:
            async for event in events:
                hear(event)
            found: Response = events.response
            return found


class AsyncRun(BaseRun[R_co]):
    """`Run` for async callers."""

    async def result(self) -> R_co:
        """Drive the run to its end: the model's last reply, or its reply so far where calls wait in `pending_calls`.

        Raises the errors of `Run.result`; `error.run` is the state to resume.
        """
        async with self.events() as events:
            async for _ in events:
                pass
        return await self._conclude_later()

    async def _conclude_later(self) -> R_co:
        return self._concluded()

    def events(self) -> AsyncRunEvents[AnyLoopEvent]:
        """Drive the run and iterate over its events, in an `async with`; leaving it early cancels the run."""
        return AsyncRunEvents(self._engine, streams=False)

    def stream(self) -> AsyncRunStream:
        """The same with the stream events of every answer between them; `.text` has the text deltas alone."""
        return AsyncRunStream(self._engine, self._conclude_later)


class AsyncRunEvents(Generic[E_co]):
    """An iterator over the events of a run. Use it in an `async with`: leaving it early cancels the run."""

    def __init__(self, engine: Engine, *, streams: bool) -> None:
        self._engine = engine
        self._streams = streams
        self._workers: TaskWorkers | None = None
        self._entered = False

    def __repr__(self) -> str:
        advice = "iterate over it" if self._entered else "use it in an async `with`, and iterate over it"
        return f"<{type(self).__name__} of {self._engine.state.summary()}; {advice}>"

    async def __aenter__(self) -> Self:
        self._entered = True
        if not self._engine.at_rest:
            workers = await TaskWorkers().__aenter__()
            try:
                self._engine.begin(workers, streams=self._streams)
            except BaseException:
                await workers.__aexit__(*sys.exc_info())
                raise
            self._workers = workers
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        workers, self._workers = self._workers, None
        if workers is not None:
            self._engine.leave()
            await workers.__aexit__(kind, value, traceback)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> E_co:
        if not self._entered:
            hint = "async with run.events() as events: ..."
            raise ConfigError("the events of a run are read inside an `async with`", hint=hint)
        while self._workers is not None:
            while self._engine.out:
                event: Any = self._engine.out.popleft()
                if self._streams or isinstance(event, LoopEvent):
                    return cast("E_co", event)
            if not await self._engine.advance():
                break
        raise StopAsyncIteration


class AsyncRunStream(AsyncRunEvents["AnyLoopEvent | AnyEvent"]):
    """`RunStream` for async callers."""

    def __init__(self, engine: Engine, conclude: Callable[[], Awaitable[object]]) -> None:
        super().__init__(engine, streams=True)
        self._conclude = conclude

    @property
    def text(self) -> AsyncIterator[str]:
        """Iterates over the text deltas of all answers, as `str`. Raises the errors of `result()` at its end."""
        return _Texts(self, self._conclude)


class _Texts:
    """The texts among the events of a run."""

    def __init__(self, events: AsyncRunStream, conclude: Callable[[], Awaitable[object]]) -> None:
        self._events, self._conclude = events, conclude

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        async for event in self._events:
            if isinstance(event, OutputTextDelta) and event.delta:
                return event.delta
        await self._conclude()
        raise StopAsyncIteration
