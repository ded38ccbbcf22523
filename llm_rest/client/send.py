"""Sending a request with retries: attempts, the event hooks of each, and the waits between them.

`retry.py` decides whether and when to retry. Before changing this file, know that one deadline covers all attempts of a call and
the waits between them, that the body is sent again byte for byte (but for one option that vendors reject for some models,
`without_rejected`), and that cancellation is possible at any point.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from ..errors import APIConnectionError, APITimeoutError, Attempt, LLMError, MalformedResponseError
from ..transport import HTTPAnswer, HTTPRequest, Stopped, Timeouts, limit, remaining
from ..transport.retry import Failed, cost_of, decide
from ..wires import long_wire
from .answer import error_of_answer, redact, redirect_error, with_context
from .target import without_rejected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..losses import Loss
    from ..policy.gate import Admissions
    from ..responses.response import Response
    from ..transport import Call
    from ..transport.exchange import Incoming
    from ..vendors.auth import Secret
    from .call import Caller
    from .hooks import WatchedCall
    from .options import Settings
    from .target import OutgoingRequest, Target

CANCELLED = "cancelled"
"""The outcome of a cancelled request."""


class RunningAttempt:
    """A request in flight: it notifies the watchers of its call, and is recorded as an `Attempt`.

    `secrets` are the secrets of the request to redact; `attempts` are the earlier attempts and this one; `losses` are
    options that it omits because the vendor rejected them in an earlier one.
    """

    __slots__ = (
        "_clock",
        "_earlier",
        "_ended",
        "_started",
        "_target",
        "_watch",
        "losses",
        "passed",
        "secrets",
        "seen",
    )

    def __init__(
        self,
        target: Target,
        watch: WatchedCall | None,
        *,
        method: str,
        url: str,
        secrets: Mapping[str, str | Secret],
        earlier: tuple[Attempt, ...] = (),
        losses: Sequence[Loss] = (),
        passed: Admissions | None = None,
    ) -> None:
        self.passed = passed
        """The admissions by the gates of the call (rate limits, budget)."""
        self.seen: Callable[[], Response] | None = None
        """Returns the streamed answer so far; `None` for other answers."""
        self.secrets = secrets
        self.losses = losses
        self._target = target
        self._watch = watch
        self._earlier = earlier
        self._ended: Attempt | None = None
        if watch is not None:
            watch.request_started(method, url)
        self._started, self._clock = time.time(), time.perf_counter()

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """The attempts so far, including this one."""
        return (*self._earlier, self._ended or self._attempt("under way"))

    def began(self) -> None:
        """More events of a stream arrived."""
        if self._watch is not None:
            self._watch.events_received()

    def end(self, status: int | None, error: LLMError | None = None) -> tuple[Attempt, ...]:
        """End the attempt with an answer, or with an error. Returns all attempts.

        It ends once; a later error in the answer only changes the record of the attempt.
        """
        kind = error.kind if error else None
        if self.passed is not None and (error or self.seen):
            self.passed.close(self.seen and self.seen(), error)
        if self._ended is not None and self._ended.outcome != CANCELLED and kind is not None:
            self._ended = replace(self._ended, outcome=kind)
        if self._ended is None:
            self._ended = self._attempt(kind or str(status))
            if self._watch is not None:
                self._watch.request_ended(status, kind)
        return self.attempts

    def cancel(self) -> tuple[Attempt, ...]:
        """The request, or the wait after it, was cancelled. Returns all attempts."""
        took = self._took()
        if self.passed is not None:
            self.passed.close(self.seen and self.seen(), None)
        if self._ended is None:
            self._ended = self._attempt(CANCELLED)
        if self._watch is not None:
            self._watch.request_cancelled(took)
        return self.attempts

    def _attempt(self, outcome: str) -> Attempt:
        return Attempt(self._started, self._took(), outcome, self._target.vendor, self._target.model)

    def _took(self) -> float:
        return time.perf_counter() - self._clock


A = TypeVar("A", bound="HTTPAnswer | Incoming")
T = TypeVar("T")

Exchange = Callable[[HTTPRequest, Timeouts], Awaitable[A]]
Accept = Callable[[Any, RunningAttempt], Awaitable[tuple[T, LLMError | None]]]
"""Converts an answer to the caller's result, or raises its error. A result that is returned with an error reports it itself,
and is used where the request is not retried."""

MOST_LIMITED = 20
"""The maximum number of 429 responses to a request with a rate limit before they count as a failed attempt."""
NO_BUDGET = "retry budget exhausted"
NO_TIME = "the time of the call does not allow another attempt"


async def send_with_retries(
    caller: Caller,
    call: Call,
    target: Target,
    settings: Settings,
    outgoing: OutgoingRequest,
    exchange: Exchange[A],
    accept: Accept[T],
    total: float | None,
) -> T:
    """The result of `accept` for a successful answer, within `total` seconds. Raises the error of the last attempt."""
    started = time.monotonic()
    url: str = outgoing.url(target)
    timeouts, gates, request = settings.timeouts, settings.gates, outgoing.request
    renewable = provided = target.credentials.renewable and settings.user_token is None
    attempts: tuple[Attempt, ...] = () if call.trial is None else call.trial.attempts  # of the parts of a long answer
    failed = Failed(0)
    paid = limited = 0
    passed: Admissions | None = None
    trial: RunningAttempt
    refused: Mapping[str, str | Secret] | None = None
    lost: list[Loss] = []
    wrong: int | None = None  # the hash of the last attempt's malformed answer, which may repeat secrets
    while True:
        until = None if total is None else started + total
        headers = await caller.headers(target, settings, outgoing.route, refused, until)
        if gates is not None and request is not None:
            passed = await gates.enter(caller, call, target, settings, request, headers, until)
        if total is not None and (attempts or provided or passed):
            timeouts = remaining(timeouts, total, started)
        secrets = {**headers, **outgoing.secrets} if outgoing.secrets else headers
        method = outgoing.route.method
        call.trial = trial = RunningAttempt(
            target, call.watch, method=method, url=url, secrets=secrets, earlier=attempts, losses=lost, passed=passed
        )
        answer, found, error = None, None, None
        try:
            answer = await exchange(
                HTTPRequest(method, url, headers, outgoing.body, outgoing.stream, target.vendor), timeouts
            )
            if call.watch is not None:
                call.watch.headers = answer.headers
            if passed is not None:
                passed.answered(answer.status, answer.headers)
            if isinstance(answer, HTTPAnswer) and answer.status >= 300:
                error = redirect_error(answer) if answer.status < 400 else error_of_answer(target, answer, secrets)
            else:
                found, error = await accept(answer, trial)
                if error is None:
                    caller.retry_budget.give(url, paid)
                    return found
        except LLMError as problem:
            if call.stopped:
                raise Stopped from None
            error = problem
        redact(error, secrets)
        status = None if answer is None else answer.status
        if renewable and status == 401:
            renewable, refused = False, headers
            attempts = trial.end(status, error)
            continue
        if not lost and (changed := without_rejected(outgoing, error)) is not None:
            outgoing, loss = changed
            lost = [loss]
            attempts = trial.end(status, error)
            continue
        if passed is not None and limited < MOST_LIMITED and settings.retry.attempts > 1 and passed.waits_for(error):
            limited += 1
            if answer is not None and not isinstance(answer, HTTPAnswer):
                await answer.close()
            attempts = trial.end(status, error)
            continue
        failed = Failed(failed.attempts + 1, failed.malformed + isinstance(error, MalformedResponseError))
        left = None if total is None else started + total - time.monotonic()
        wait: float | str = decide(error, failed, settings.retry, left=left, chance=_random())
        if isinstance(error, MalformedResponseError):
            fingerprint = hash(answer.body if isinstance(answer, HTTPAnswer) else error.message)
            if fingerprint == wrong:
                wait, error.retryable = "final", False  # the next attempt would fail in the same way
            wrong = fingerprint
        if not isinstance(wait, str) and not caller.retry_budget.take(url, cost_of(error)):
            wait = NO_BUDGET
        if isinstance(wait, str):
            if wait in _HINTS:
                error.hint = _HINTS[wait]
            if found is not None:
                return found
            raise with_context(error, target, trial.end(status, error))
        paid += cost_of(error)
        if answer is not None and not isinstance(answer, HTTPAnswer):
            await answer.close()
        attempts = trial.end(status, error)
        if call.watch is not None:
            call.watch.retrying(error, wait)
        await caller.transport.sleep(wait)


_HINTS = {
    NO_BUDGET: NO_BUDGET,
    "deadline": NO_TIME,
    "retry-after too long": "the server asks for a longer wait than a retry makes",
}


def _random() -> float:
    from random import random  # not needed before an attempt fails

    return random()


# --- long answers ---------------------------------------------------------------------------------------------------

RECONNECTS = 3
"""How often a stream is resumed at the same token."""


class Hops:
    """The requests for one long answer, which a vendor sends in several hops.

    A hop ends, or a stream breaks off, at a token; the same request with that token continues there (`LongWire`). Each is
    billed like any request. `timeouts` are those of the whole call; `count` is how many requests have brought parts of it.
    """

    def __init__(self, target: Target, timeouts: Timeouts, outgoing: OutgoingRequest) -> None:
        self.count = 1
        self._wire = long_wire(target.wire)
        self._timeouts = timeouts
        self._outgoing = outgoing
        self._started = time.monotonic()
        self._token = ""
        self._reconnects = 0

    def next(self, token: str | None) -> tuple[OutgoingRequest, Timeouts] | None:
        """The request of the hop that begins at a token; `None` without a token, or after too many hops at the same one."""
        if self._wire is None or token is None:
            return None
        self._reconnects = self._reconnects + 1 if token == self._token else 0
        if self._reconnects > RECONNECTS:
            return None
        self._token = token
        self.count += 1
        body = self._wire.continued(self._outgoing.body, token)
        total = self._timeouts.total
        left = self._timeouts if total is None else remaining(self._timeouts, limit(total, None), self._started)
        return replace(self._outgoing, body=body), left


def is_resumable(problem: LLMError) -> bool:
    """Whether an answer that ended with this error can be resumed: a broken or silent connection, with time left."""
    late = isinstance(problem, APITimeoutError) and problem.phase == "total"
    return isinstance(problem, APIConnectionError) and not late
