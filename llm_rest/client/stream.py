"""`Stream` and `AsyncStream`: the streaming response that `llm.stream(...)` returns.

Both are thin: the work is written once as coroutines, as in `call.py`. Before changing this file, know the guarantees of a
stream: events that arrived are yielded before an error is raised, every error holds the partial answer, and a stream without
a terminal event always ends with an error. A request is retried within `_open` only, because nothing has been yielded yet.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Self, cast

from msgspec.structs import replace

from ..errors import CallCancelledError, LLMError, StreamInterruptedError, printable
from ..responses import events as ev
from ..responses.stream import Assembler
from ..sync import drive
from .answer import FAILURES, IncomingEvents, generation_error, partial_reply, with_context
from .continuation import Hops, is_resumable
from .hooks import watched
from .loss_reports import report_losses
from .reply import CallRecord, Reply, reply
from .send import CANCELLED

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from types import TracebackType

    from ..errors import Attempt
    from ..losses import Loss
    from ..policy.fallback import Trials
    from ..policy.midstream import Continuation, Trail
    from ..responses.events import AnyEvent
    from ..responses.response import Response
    from ..transport.exchange import Incoming
    from .call import Caller, Losses, PreparedCall, Shape
    from .history import History
    from .hooks import WatchedCall
    from .loss_reports import CallSite
    from .options import Input
    from .send import RunningAttempt


_ENDS = (*ev.TERMINAL, ev.ErrorEvent)
_LEFT = "the stream was left before its last event"


class _Streaming:
    """The shared part of `Stream` and `AsyncStream`."""

    _whole = False  # the answer is retried until its end, instead of only until its first event
    _watch: WatchedCall | None = None
    _trials: Trials | None = None  # the models of a fallback
    _trail: Trail | None = None  # the yielded part of a stream that another model may continue
    _shaped: Callable[[Caller, dict[str, Any]], PreparedCall]

    def __init__(
        self,
        caller: Caller,
        input: Input | None,
        options: dict[str, Any],
        site: CallSite,
        shape: Shape | None = None,
        history: History | None = None,
        *,
        plain: bool = True,
    ) -> None:
        self._start(site)
        if caller.fallback is None:
            self._aim(caller, caller.prepare(input, options, shape, history, stream=True))
            return
        self._trials = caller.fallback.trials(caller, input, options, stream=True)

        def shaped(one: Caller, how: dict[str, Any]) -> PreparedCall:
            return one.prepare(input, how, shape, history, stream=True)

        self._shaped = shaped
        self._trail = self._trials.trail() if plain else None
        self._aim_at_next(self._trials)

    @classmethod
    def prepared(cls, caller: Caller, prepared: PreparedCall, site: CallSite, watch: WatchedCall | None) -> Self:
        """The stream of a request that was validated already, which yields nothing before its end. For internal use."""
        made = cls.__new__(cls)
        made._whole, made._watch = True, watch
        made._start(site)
        made._aim(caller, prepared._replace(request=replace(prepared.request, stream=True)))
        return made

    def _aim_at_next(self, trials: Trials) -> None:
        """Prepare the request for the next model that supports it. Raises the most relevant error where none does."""
        error: LLMError | None = None
        while error is None:
            caller, options = trials.next()
            try:
                self._aim(caller, self._shaped(caller, options))
                return
            except LLMError as problem:
                error = trials.failed(problem)
        raise error

    def _aim(self, caller: Caller, prepared: PreparedCall) -> None:
        """Prepare the request for one model."""
        self._outgoing, self._lost = prepared.encode(self._site, stream=True)
        self._caller = caller
        self._prepared = prepared
        self._target, self._settings, self._request = prepared.target, prepared.settings, prepared.request
        self._call = caller.call()
        self._hops = Hops(self._target, self._settings.stream_timeouts, self._outgoing)

    def _start(self, site: CallSite) -> None:
        self._site = site
        self._seen = Assembler()
        self._batch: Iterator[AnyEvent] = iter(())
        self._came: IncomingEvents | None = None
        self._failed: list[AnyEvent] = []  # the events of a failure, which are not yielded
        self._fault: LLMError | None = None
        self._cancelled = False  # cancelled by `client.cancel()`
        self._attempts: tuple[
            Attempt, ...
        ] = ()  # attempts of earlier hops, and of a call that was cancelled before an answer arrived
        self._refused: tuple[Attempt, ...] = ()  # attempts of a hop that failed
        self._all: tuple[Attempt, ...] | None = None  # attempts of other models that failed to continue it
        self._continuation: Continuation | None = None
        self._key: bytes | None = None  # the key in the cache
        self._complete = False  # the last event arrived
        self._ended = False  # no more events are read
        self._over = False  # no more events are yielded
        self._reply: Reply | None = None
        self._amend: Callable[[Reply], Reply] | None = None

    def __repr__(self) -> str:
        """One line: model, progress, and how to read it."""
        if "_target" not in vars(self):
            return f"<{type(self).__name__} of a request that was refused>"
        seen = self._seen.response
        text = seen.output_text
        model = printable(f"{self._target.vendor}/{self._target.model}", 80)
        if self._over:
            state, advice = self.response.status, "see .response"
        elif self._came is None:
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
        return self._lost() + self._late_losses

    @property
    def _late_losses(self) -> list[Loss]:
        """The conversion losses of the answer so far."""
        emulated = () if self._continuation is None else self._continuation.losses
        return [*(self._came.losses if self._came else ()), *emulated]

    @property
    def response(self) -> Reply:
        """The response from the events read so far: complete after the terminal event, `incomplete` without that."""
        if self._reply is not None:
            return self._reply
        found = self._seen.response
        if self._over and not self._seen.finished:
            found = replace(found, status=CANCELLED if self._cancelled else "incomplete")
        came, target = self._came, self._target
        attempts, raw = (self._made(came), came.raw) if came else (self._attempts, b"")
        cached = getattr(came and came.incoming, "cached", False)
        calls = 0 if cached else self._hops.count
        pricing = self._settings.pricing(target, self._request)
        sent, more = self._lost, self._late_losses
        how = CallRecord(
            lambda: sent() + more, attempts, raw, target.vendor, target.model, self._cancelled, calls, cached, pricing
        )
        # A copy, because it becomes the reply and an event holds it too.
        made = reply(copy(found), how)
        if self._over:
            made = self._reply = made if self._amend is None else self._amend(made)
        return made

    def _so_far(self) -> Response:
        return self._seen.response

    def _made(self, came: IncomingEvents) -> tuple[Attempt, ...]:
        """All requests that were made."""
        if self._all is not None:
            return self._all
        return (*self._attempts, *came.trial.attempts, *self._refused)

    async def _open(self) -> IncomingEvents | None:
        """Send the request and wait for a successful answer to begin, or for cancellation. Raises an `LLMError` otherwise."""
        while self._came is None and not self._cancelled:
            if self._over:
                raise self._fault or StreamInterruptedError(_LEFT)
            if self._watch is None:
                self._watch = watched(self._caller, self._target, "generate", self._request, stream=True)
            self._call.watch = self._watch
            try:
                self._came = await self._cached() or await self._caller.open(
                    self._call, self._target, self._settings, self._outgoing, self._begun
                )
                if self._trials is not None:
                    self._trials.answered()
            except CallCancelledError as ended:
                self._attempts = (*self._attempts, *ended.attempts)
                self._cancelled = self._ended = self._over = True
                self._end_watch()
            except LLMError as problem:
                self._end_watch(problem)
                self._fault = self._other_model(problem)
                self._over = self._fault is not None
            except BaseException as problem:
                self._over, self._fault = True, StreamInterruptedError(_LEFT)
                self._end_watch(problem)
                raise
            if self._fault is not None:
                raise self._fault
        return self._came

    async def _cached(self) -> IncomingEvents | None:
        """The answer from the cache, if it is stored there."""
        cache = self._settings.cache
        self._key, pieces = await self._caller.cached(self._prepared, self._outgoing)
        if cache is None or pieces is None:
            return None
        answer: Any = cache.answer(pieces)
        return IncomingEvents(self._target, self._request, answer, answer)

    async def _keep(self, came: IncomingEvents) -> None:
        """Store a complete answer of one request in the cache."""
        cache, key, pieces = self._settings.cache, self._key, getattr(came.incoming, "pieces", None)
        whole = self._complete and self._seen.response.status == "completed" and self._hops.count == 1
        if cache is not None and key is not None and pieces and whole and self._continuation is None:
            await self._caller.transport.waiter.in_thread(partial(cache.put, key, pieces, came.trial.secrets))

    def _other_model(self, problem: LLMError) -> LLMError | None:
        """Switch to the next model of the fallback; the error to raise where there is none."""
        error: LLMError | None = problem
        if self._trials is not None and (error := self._trials.failed(problem)) is None:
            try:
                self._aim_at_next(self._trials)
            except LLMError as last:
                return last
            self._attempts, self._watch = self._trials.attempts, None
        return error

    async def _begun(self, incoming: Incoming, trial: RunningAttempt) -> tuple[IncomingEvents, LLMError | None]:
        if self._key is not None and self._settings.cache is not None:
            incoming = self._settings.cache.collecting(incoming)
        came = IncomingEvents(self._target, self._request, incoming, trial)
        if trial.passed is not None:
            trial.seen = self._so_far
        # Without retries there is no need to wait for the first piece of the answer.
        again = self._settings.retry.attempts > 1 or self._trials is not None
        error = await came.begin(whole=self._whole) if again else None
        if error is not None and self._trials is not None:
            await incoming.close()
            return cast("Any", None), error  # raised later, and another model may answer
        return came, error

    async def _resume(self, came: IncomingEvents, problem: LLMError | None) -> bool:
        """Resume an answer whose body ended, or broke off, at its checkpoint. False where it has none.

        Raises the vendor's error.
        """
        if problem is not None and not is_resumable(problem):
            return False
        hop = self._hops.next(came.frames.checkpoint())
        if hop is None or self._call.stopped:
            return False
        frames = came.frames
        await came.incoming.close()
        earlier = came.trial.end(came.incoming.status, problem)
        frames.resume()
        settings = self._settings._replace(stream_timeouts=hop.timeouts)

        async def begun(incoming: Incoming, trial: RunningAttempt) -> tuple[IncomingEvents, LLMError | None]:
            return IncomingEvents(self._target, self._request, incoming, trial, frames), None

        self._came = await self._caller.open(self._call, self._target, settings, hop.outgoing, begun)
        self._attempts = (*self._attempts, *earlier)
        return True

    async def _more(self) -> bool:
        """Read the next events; whether there are any. Raises the error that ended the stream before its last event."""
        came = None if self._over else await self._open()
        while came is not None and not self._over:
            while not (self._ended or self._call.stopped):
                events = await self._received(came)
                came = self._came or came
                if events:
                    self._batch = iter(events)
                    return True
            if not self._over:
                await (self._stop(came) if self._call.stopped else self._end(came))
            came = self._came
        if self._fault is not None:
            raise self._fault.with_traceback(None)
        return False

    async def _received(self, came: IncomingEvents) -> list[AnyEvent]:
        """The events in the next bytes, without the events of a failure."""
        events: list[AnyEvent] | None = None
        try:
            with self._call:
                events = await came.more()
        except LLMError as problem:
            if not self._over and not await self._continues_in_hop(came, problem):  # another task or thread closed it
                self._ended, self._fault = True, self._fault or problem
            return []
        except BaseException as problem:
            if not isinstance(problem, Exception):
                came.trial.cancel()
            self._ended, self._fault = True, StreamInterruptedError(_LEFT)
            self._end_watch(problem)
            await self._end(came)
            raise
        if events is None:
            return []  # the call was cancelled
        if self._continuation is not None:
            events = self._continuation.feed(events)
        self._ended = came.ended and not await self._continues_in_hop(came, None)
        if self._trail is not None:
            self._trail.feed([event for event in events if not isinstance(event, FAILURES)])
        if events and isinstance(events[-1], _ENDS):
            self._ended = self._complete = True
            shown: list[AnyEvent] = [event for event in events if not isinstance(event, FAILURES)]
            self._failed = events[len(shown) :]
            return shown
        return events

    async def _continues_in_hop(self, came: IncomingEvents, problem: LLMError | None) -> bool:
        """Whether another hop resumes the answer. An error of its request ends the stream."""
        try:
            return await self._resume(came, problem)
        except LLMError as fault:
            self._refused = fault.attempts
            if not isinstance(fault, CallCancelledError):
                self._fault = fault
        return False

    async def _end(self, came: IncomingEvents) -> None:
        """Finish after the last event: report losses, or raise the error."""
        failed, self._failed = self._failed, []
        for event in failed:
            self._seen.feed(event)
        if failed:
            self._fault = generation_error(self._target, self._seen.response, came.trial.secrets)
        elif self._fault is None and not self._complete:
            self._fault = came.cut()
        if self._fault is not None and self._trail is not None and await self._continues_elsewhere(came, self._trail):
            return
        await self._leave(came)
        if self._fault is not None:
            with_context(self._fault, self._target, self._made(came))
            came.name(self._fault)
            self._fault.partial = partial_reply(self.response, self._fault, came.trial.secrets)
            self._end_watch(self._fault)
            return
        await self._keep(came)
        self._end_watch()
        if lost := self._late_losses:
            report_losses(lost, self._settings.on_loss, self._site, who=self._target.vendor, reply=self.response)

    async def _continues_elsewhere(self, came: IncomingEvents, trail: Trail) -> bool:
        """Whether another model continues the interrupted text. Where none does, the error has all their attempts."""
        trials, fault, shaped = self._trials, self._fault, self._shaped
        if trials is None or fault is None or not trail.continuable(self._request):
            return False
        await came.incoming.close()
        came.trial.end(came.incoming.status, fault)
        self._fault = trials.failed(with_context(fault, self._target, self._made(came)[len(trials.attempts) :]))
        if self._fault is None:
            self._end_watch(fault)
            self._watch = None
            self._seen.reopen()
            seen, losses, target = self._seen.response, self.losses, self._target
            said = seen.output_text
            self._shaped = lambda one, how: trail.continued(shaped(one, how), said)
            try:
                self._came, self._ended = None, False
                self._aim_at_next(trials)
                self._attempts = trials.attempts
                await self._open()
                self._shaped = shaped
                self._continuation = trail.continuation(seen, target, self._target)
                self._lost = partial(_joined, losses, self._lost)
                return True
            except LLMError as problem:
                self._came, self._fault, self._ended = came, problem, True
        self._all = trials.attempts
        return False

    async def _stop(self, came: IncomingEvents) -> None:
        """Finish a cancelled call with the events yielded so far."""
        self._batch, self._cancelled = iter(()), True
        came.trial.cancel()
        await self._leave(came)
        self._end_watch()

    def _end_watch(self, error: BaseException | None = None, outcome: str | None = None) -> None:
        """Notify the watchers of the end of the call."""
        if self._watch is not None:
            self._watch.end(self.response if error is None else None, error, outcome)

    async def _leave(self, came: IncomingEvents) -> None:
        self._ended = self._over = True
        if self._complete:
            await came.incoming.finish()
        else:
            await came.incoming.close()
        came.trial.end(came.incoming.status, self._fault)

    async def _close(self) -> None:
        self._batch = iter(())
        if self._came is not None and not self._over:
            await (self._stop if self._call.stopped else self._leave)(self._came)
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
        if event is None or self._call.stopped:
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
        if event is None or self._call.stopped:
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


def _joined(earlier: list[Loss], later: Losses) -> list[Loss]:
    return [*earlier, *later()]


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
