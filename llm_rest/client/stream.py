"""`Stream` and `AsyncStream`: the streaming response that `llm.stream(...)` returns.

Both are thin: the work is written once as coroutines, as in `call.py`; `streamed_call.py` has the requests. Before changing
this file, know the guarantees of a stream: events that arrived are yielded before an error is raised, every error holds the
partial answer, and a stream without a terminal event always ends with an error.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import replace

from ..errors import CallCancelledError, LLMError, StreamInterruptedError, printable
from ..responses import events as ev
from ..responses.stream import Assembler
from ..sync import drive
from .answer import FAILURES, generation_error, partial_reply, with_context
from .loss_reports import report_losses
from .reply import CallRecord, Reply, reply
from .send import CANCELLED
from .streamed_call import StreamedCall

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from types import TracebackType

    from ..errors import Attempt
    from ..losses import Loss
    from ..policy.fallback import Trials
    from ..policy.midstream import Continuation, Trail
    from ..responses.events import AnyEvent
    from .answer import IncomingEvents
    from .call import Caller, PreparedCall
    from .hooks import WatchedCall
    from .loss_reports import CallSite
    from .options import Input


_ENDS = (*ev.TERMINAL, ev.ErrorEvent)
_LEFT = "the stream was left before its last event"


class _Streaming:
    """The shared part of `Stream` and `AsyncStream`."""

    _trials: Trials | None = None  # the models of a fallback
    _trail: Trail | None = None  # the yielded part of a stream that another model may continue
    _shape: Callable[[PreparedCall], PreparedCall] | None = None  # changes a prepared call
    _input: Input | None

    def __init__(
        self,
        caller: Caller,
        input: Input | None,
        options: dict[str, Any],
        site: CallSite,
        shape: Callable[[PreparedCall], PreparedCall] | None = None,
    ) -> None:
        self._start(site)
        self._input, self._shape = input, shape
        if caller.fallback is None:
            self._model = StreamedCall(caller, self._prepare(caller, options), site, self._seen)
            return
        self._trials = caller.fallback.trials(caller, input, options, stream=True)
        self._trail = self._trials.trail() if shape is None else None
        if error := self._next_model():
            raise error

    @classmethod
    def prepared(cls, caller: Caller, prepared: PreparedCall, site: CallSite, watch: WatchedCall | None) -> Self:
        """The stream of a request that was validated already, which yields nothing before its end. For internal use."""
        made = cls.__new__(cls)
        made._start(site)
        prepared = prepared._replace(request=replace(prepared.request, stream=True))
        made._model = StreamedCall(caller, prepared, site, made._seen, watch, whole=True)
        return made

    def _start(self, site: CallSite) -> None:
        self._site = site
        self._seen = Assembler()
        self._batch: Iterator[AnyEvent] = iter(())
        self._failed: list[AnyEvent] = []  # the events of a failure, which are not yielded
        self._fault: LLMError | None = None
        self._cancelled = False  # cancelled by `client.cancel()`
        self._attempts_before: tuple[Attempt, ...] = ()  # the attempts and the losses of the models before this one
        self._losses_before: list[Loss] = []
        self._continued = ""  # the text of another model that this one continues
        self._continuation: Continuation | None = None
        self._complete = False  # the last event arrived
        self._ended = False  # no more events are read
        self._over = False  # no more events are yielded
        self._reply: Reply | None = None
        self._amend: Callable[[Reply], Reply] | None = None

    def _prepare(self, caller: Caller, options: dict[str, Any]) -> PreparedCall:
        prepared = caller.prepare(self._input, options, stream=True)
        return prepared if self._shape is None else self._shape(prepared)

    def _next_model(self, problem: LLMError | None = None) -> LLMError | None:
        """Prepare the request for the next model that supports it; the error to raise where there is none.

        `problem` is the error of the model before.
        """
        if (trials := self._trials) is None:
            return problem
        error = None if problem is None else trials.failed(problem)
        while error is None:
            caller, options = trials.next()
            try:
                prepared = self._prepare(caller, options)
                if self._trail is not None:
                    prepared = self._trail.continued(prepared, self._continued)
                self._model = StreamedCall(caller, prepared, self._site, self._seen, others=True)
                self._attempts_before = trials.attempts
                break
            except LLMError as refused:
                error = trials.failed(refused)
        return error

    def __repr__(self) -> str:
        """One line: model, progress, and how to read it."""
        if "_model" not in vars(self):
            return f"<{type(self).__name__} of a request that was refused>"
        seen, target = self._seen.response, self._model.target
        text = seen.output_text
        model = printable(f"{target.vendor}/{target.model}", 80)
        if self._over:
            state, advice = self.response.status, "see .response"
        elif self._model.incoming_events is None:
            state, advice = "not started", "use it in a `with`, and iterate over it for events or over .text"
        else:
            state, advice = "in progress", "iterate over it for events or over .text"
        shown = f", {printable(text, 60)!r}" if text else ""
        return f"<{type(self).__name__} from {model}: {state}{shown}; {advice}>"

    def after(self, amend: Callable[[Reply], Reply]) -> None:
        """Let `amend` add the calls made before this stream to its reply. For internal use."""
        self._amend = amend

    @property
    def ended(self) -> bool:
        """Whether the terminal event arrived and all events were read."""
        return self._over and self._complete

    @property
    def losses(self) -> list[Loss]:
        """The conversion losses of the request; at the end also those of the answer."""
        return [*self._losses_before, *self._model.lost(), *self._late_losses]

    @property
    def _late_losses(self) -> list[Loss]:
        """The conversion losses of the answer so far."""
        emulated = () if self._continuation is None else self._continuation.losses
        return [*(self._model.incoming_events.losses if self._model.incoming_events else ()), *emulated]

    @property
    def _attempts(self) -> tuple[Attempt, ...]:
        """All requests that were made."""
        return (*self._attempts_before, *self._model.attempts)

    @property
    def response(self) -> Reply:
        """The response from the events read so far: complete after the terminal event, `incomplete` without that."""
        if self._reply is not None:
            return self._reply
        found = self._seen.response
        if self._over and not self._seen.finished:
            found = replace(found, status=CANCELLED if self._cancelled else "incomplete")
        model, target = self._model, self._model.target
        before, sent, more = self._losses_before, model.lost, self._late_losses
        how = CallRecord(
            lambda: [*before, *sent(), *more],
            self._attempts,
            model.incoming_events.raw if model.incoming_events else b"",
            target.vendor,
            target.model,
            self._cancelled,
            model.requests,
            model.cached,
            model.settings.pricing(target, model.request),
            model.source,
        )
        # A copy, because it becomes the reply and an event holds it too.
        made = reply(copy(found), how)
        if self._over:
            made = self._reply = made if self._amend is None else self._amend(made)
        return made

    async def _open(self) -> IncomingEvents | None:
        """Send the request and wait for a successful answer to begin, or for cancellation. Raises an `LLMError` otherwise."""
        while self._model.incoming_events is None and not self._cancelled:
            if self._over:
                raise self._fault or StreamInterruptedError(_LEFT)
            try:
                await self._model.open()
                if self._trials is not None:
                    self._trials.answered()
            except CallCancelledError:
                self._cancelled = self._ended = self._over = True
                self._end_watch()
            except LLMError as problem:
                self._end_watch(problem)
                self._fault = self._next_model(problem)
                self._over = self._fault is not None
            except BaseException as problem:
                self._over, self._fault = True, StreamInterruptedError(_LEFT)
                self._end_watch(problem)
                raise
            if self._fault is not None:
                raise self._fault
        return self._model.incoming_events

    async def _more(self) -> bool:
        """Read the next events; whether there are any. Raises the error that ended the stream before its last event."""
        incoming = None if self._over else await self._open()
        while incoming is not None and not self._over:
            while not (self._ended or self._model.stopped):
                events = await self._received(incoming)
                incoming = self._model.incoming_events or incoming
                if events:
                    self._batch = iter(events)
                    return True
            if not self._over:
                await (self._stop(incoming) if self._model.stopped else self._end(incoming))
            incoming = self._model.incoming_events
        if self._fault is not None:
            raise self._fault.with_traceback(None)
        return False

    async def _received(self, incoming: IncomingEvents) -> list[AnyEvent]:
        """The events in the next bytes, without the events of a failure."""
        try:
            events = await self._model.more()
        except LLMError as problem:
            if not self._over and not await self._resumes(problem):  # another task or thread closed it
                self._ended, self._fault = True, self._fault or problem
            return []
        except BaseException as problem:
            if not isinstance(problem, Exception):
                incoming.trial.cancel()
            self._ended, self._fault = True, StreamInterruptedError(_LEFT)
            self._end_watch(problem)
            await self._end(incoming)
            raise
        if events is None:
            return []  # the call was cancelled
        if self._continuation is not None:
            events = self._continuation.feed(events)
        self._ended = incoming.ended and not await self._resumes(None)
        if self._trail is not None:
            self._trail.feed([event for event in events if not isinstance(event, FAILURES)])
        if events and isinstance(events[-1], _ENDS):
            self._ended = self._complete = True
            shown: list[AnyEvent] = [event for event in events if not isinstance(event, FAILURES)]
            self._failed = events[len(shown) :]
            return shown
        return events

    async def _resumes(self, problem: LLMError | None) -> bool:
        """Whether another request resumes the answer. The error of that request ends the stream."""
        try:
            return await self._model.resume(problem)
        except LLMError as fault:
            if not isinstance(fault, CallCancelledError):
                self._fault = fault
        return False

    async def _end(self, incoming: IncomingEvents) -> None:
        """Finish after the last event: report losses, or raise the error."""
        secrets = incoming.trial.secrets
        failed, self._failed = self._failed, []
        for event in failed:
            self._seen.feed(event)
        if failed:
            self._fault = generation_error(self._model.target, self._seen.response, secrets)
        elif self._fault is None and not self._complete:
            self._fault = incoming.cut()
        if (
            self._fault is not None
            and self._trail is not None
            and await self._continues_elsewhere(incoming, self._trail)
        ):
            return
        await self._leave(incoming)
        if self._fault is not None:
            with_context(self._fault, self._model.target, self._attempts)
            incoming.name(self._fault)
            self._fault.partial = partial_reply(self.response, self._fault, secrets)
            self._end_watch(self._fault)
            return
        if self._complete and self._seen.response.status == "completed" and self._continuation is None:
            await self._model.store()
        self._end_watch()
        if lost := self._late_losses:
            policy, vendor = self._model.settings.on_loss, self._model.target.vendor
            report_losses(lost, policy, self._site, who=vendor, reply=self.response)

    async def _continues_elsewhere(self, incoming: IncomingEvents, trail: Trail) -> bool:
        """Whether another model continues the interrupted text. Where none does, the error has all their attempts."""
        fault, broken, losses = self._fault, self._model, self.losses
        if fault is None or not trail.continuable(broken.request):
            return False
        await incoming.leave(fault)
        self._continued = self._seen.response.output_text
        self._fault = self._next_model(with_context(fault, broken.target, broken.attempts))
        if self._fault is not None:
            return False
        if broken.watch is not None:
            broken.watch.end(error=fault)
        self._seen.reopen()
        self._losses_before, self._ended = losses, False
        try:
            await self._open()
        except LLMError as problem:
            self._fault, self._ended = problem, True
            return False
        self._continuation = trail.continuation(self._seen.response, broken.target, self._model.target)
        return True

    async def _stop(self, incoming: IncomingEvents) -> None:
        """Finish a cancelled call with the events yielded so far."""
        self._batch, self._cancelled = iter(()), True
        incoming.trial.cancel()
        await self._leave(incoming)
        self._end_watch()

    def _end_watch(self, error: BaseException | None = None, outcome: str | None = None) -> None:
        """Notify the watchers of the end of the call."""
        if self._model.watch is not None:
            self._model.watch.end(self.response if error is None else None, error, outcome)

    async def _leave(self, incoming: IncomingEvents) -> None:
        self._ended = self._over = True
        await incoming.leave(self._fault, complete=self._complete)

    async def _close(self) -> None:
        self._batch = iter(())
        incoming = self._model.incoming_events
        if incoming is not None and not self._over:
            await (self._stop if self._model.stopped else self._leave)(incoming)
            self._end_watch(outcome="closed")
        self._ended = self._over = True


class Stream(_Streaming):
    """A streamed reply. Use it in a `with`: leaving it closes its connection.

    Iterate over it for events (`llm_rest.responses.events`), or over `text` for the text alone. `response` is the reply
    from the events read. Raises the vendor's error where the call fails, and `StreamInterruptedError` where the stream
    ends early; the error's `partial` is the reply so far.
    """

    def __enter__(self) -> Self:
        drive(self._open())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> AnyEvent:
        event = next(self._batch, None)
        if event is None or self._model.stopped:
            if not drive(self._more()):
                raise StopIteration
            event = next(self._batch)
        self._seen.feed(event)
        return event

    @property
    def text(self) -> Iterator[str]:
        """Iterates over the deltas of the answer's text alone, as `str`. Raises the errors of iterating over the stream."""
        return (event.delta for event in self if isinstance(event, ev.OutputTextDelta) and event.delta)

    def close(self) -> None:
        """Close the stream. Its connection is closed too, unless the answer was read to its end."""
        drive(self._close())


class AsyncStream(_Streaming):
    """`Stream` for async callers: `async with`, `async for`, and `aclose`."""

    async def __aenter__(self) -> Self:
        await self._open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AnyEvent:
        event = next(self._batch, None)
        if event is None or self._model.stopped:
            if not await self._more():
                raise StopAsyncIteration
            event = next(self._batch)
        self._seen.feed(event)
        return event

    async def batch(self) -> list[AnyEvent]:
        """The next events, as many as arrived together; empty after the last."""
        events = list(self._batch)
        if not events and await self._more():
            events = list(self._batch)
        for event in events:
            self._seen.feed(event)
        return events

    @property
    def text(self) -> AsyncIterator[str]:
        """Iterates over the deltas of the answer's text alone, as `str`. Raises the errors of iterating over the stream."""
        return TextDeltas(self)

    async def aclose(self) -> None:
        """Close the stream. Its connection is closed too, unless the answer was read to its end."""
        await self._close()


class TextDeltas:
    """The text deltas among the events of a stream."""

    def __init__(self, events: AsyncIterator[Any]) -> None:
        self._events = events

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        while True:
            event = await self._events.__anext__()
            if isinstance(event, ev.OutputTextDelta) and event.delta:
                return event.delta
