"""The streamed call of one model: its answer in the cache, or the requests that bring the answer.

A request is retried only until its answer begins, because later its events have been yielded; a long answer is resumed by
further requests.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from .answer import IncomingEvents
from .hooks import watched
from .send import Hops, is_resumable

if TYPE_CHECKING:
    from ..errors import Attempt, LLMError
    from ..responses.events import AnyEvent
    from ..responses.stream import Assembler
    from ..transport.exchange import Incoming
    from .call import Caller, PreparedCall
    from .hooks import WatchedCall
    from .loss_reports import CallSite
    from .reply import AnswerSource
    from .send import RunningAttempt


class StreamedCall:
    """A streamed call. `seen` has the events yielded so far.

    `whole`: nothing is yielded before the end, so that it is retried until then. `others`: there are other models to try.
    """

    incoming_events: IncomingEvents | None = None
    """The answer, or the latest part of a long one; `None` until it begins."""
    cached = False
    """Whether the answer is from the cache."""

    def __init__(
        self,
        caller: Caller,
        prepared: PreparedCall,
        site: CallSite,
        seen: Assembler,
        watch: WatchedCall | None = None,
        *,
        whole: bool = False,
        others: bool = False,
    ) -> None:
        self.target, self.settings, self.request = prepared.target, prepared.settings, prepared.request
        self.watch = watch
        self._outgoing, self.lost = prepared.encode(site, stream=True)
        self._caller, self._prepared, self._seen = caller, prepared, seen
        self._whole, self._others = whole, others
        self._call = caller.call()
        self._hops = Hops(self.target, self.settings.stream_timeouts, self._outgoing)
        self._key: bytes | None = None  # the key in the cache

    @property
    def stopped(self) -> bool:
        """Whether it was cancelled."""
        return self._call.stopped

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """The requests that were made."""
        trial: RunningAttempt | None = self._call.trial
        return () if trial is None else trial.attempts

    @property
    def requests(self) -> int:
        """How many requests brought parts of the answer."""
        return 0 if self.cached else self._hops.count

    def source(self) -> AnswerSource:
        """What the leftovers of the answer so far are read with."""
        kept = None if self.incoming_events is None else self.incoming_events.frames.kept
        return self.target.source(() if kept is None else kept.data())

    async def open(self) -> None:
        """Wait for a successful answer to begin. Raises an `LLMError` otherwise."""
        if self.watch is None:
            self.watch = watched(self._caller, self.target, "generate", self.request, stream=True)
        self._call.watch = self.watch
        cache = self.settings.cache
        self._key, pieces = await self._caller.cached(self._prepared, self._outgoing)
        if cache is not None and pieces is not None:
            from ..policy.cache import CachedAnswer  # not needed by most calls

            answer: Any = CachedAnswer(pieces)
            self.incoming_events, self.cached = IncomingEvents(self.target, self.request, answer, answer), True
        else:
            self.incoming_events = await self._caller.open(
                self._call, self.target, self.settings, self._outgoing, self._begin
            )

    async def _begin(self, incoming: Incoming, trial: RunningAttempt) -> tuple[IncomingEvents, LLMError | None]:
        if self._key is not None and self.settings.cache is not None:
            from ..policy.cache import CollectedAnswer

            incoming = cast("Any", CollectedAnswer(incoming))
        incoming_events = IncomingEvents(self.target, self.request, incoming, trial)
        if trial.passed is not None:
            trial.seen = partial(getattr, self._seen, "response")
        # Without retries there is no need to wait for the first piece of the answer.
        again = self.settings.retry.attempts > 1 or self._others
        error = await incoming_events.begin(whole=self._whole) if again else None
        if error is not None and self._others:
            await incoming.close()
            return cast("Any", None), error  # raised later, and another model may answer
        return incoming_events, error

    async def more(self) -> list[AnyEvent] | None:
        """The events in the next bytes; `None` where the call was cancelled. Raises the error that ends the answer."""
        events: list[AnyEvent] | None = None
        if self.incoming_events is not None:
            with self._call:
                events = await self.incoming_events.more()
        return events

    async def resume(self, problem: LLMError | None) -> bool:
        """Resume an answer whose body ended, or broke off, at its checkpoint. False where it has none.

        Raises the vendor's error.
        """
        incoming_events = self.incoming_events
        if incoming_events is None or (problem is not None and not is_resumable(problem)):
            return False
        frames = incoming_events.frames
        hop = self._hops.next(frames.checkpoint())
        if hop is None or self.stopped:
            return False
        await incoming_events.leave(problem)
        frames.resume()

        async def begin(incoming: Incoming, trial: RunningAttempt) -> tuple[IncomingEvents, LLMError | None]:
            return IncomingEvents(self.target, self.request, incoming, trial, frames), None

        outgoing, timeouts = hop
        settings = self.settings._replace(stream_timeouts=timeouts)
        self.incoming_events = await self._caller.open(self._call, self.target, settings, outgoing, begin)
        return True

    async def store(self) -> None:
        """Store a complete answer of one request in the cache."""
        incoming_events, cache, key = self.incoming_events, self.settings.cache, self._key
        pieces = getattr(incoming_events and incoming_events.incoming, "pieces", None)
        if incoming_events is not None and cache is not None and key is not None and pieces and self._hops.count == 1:
            await self._caller.transport.waiter.in_thread(
                partial(cache.put, key, pieces, incoming_events.trial.secrets)
            )
