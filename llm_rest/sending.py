"""A request is sent until there is a good answer, or no sense in asking again: the one place where anything is sent twice.

Whether and when is decided in `retry.py`; here it is done. Before changing this file, know that a call has one deadline for
all its attempts and the waits between them, that its body is encoded once and sent again byte for byte, except for one
option that vendors refuse for some models (`without_refused`), and that cancellation passes through at any point.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from .answers import hushed, redirect, refusal, told
from .errors import Attempt, LLMError, MalformedResponseError
from .observers import RequestRetry, notify
from .outgoing import without_refused
from .retry import Failed, cost_of, decide
from .transport import HTTPAnswer, HTTPRequest, Timeouts, remaining
from .transport.under_way import Stopped
from .trials import Trial

if TYPE_CHECKING:
    from .auth import Secret
    from .call import Caller, Settings
    from .losses import Loss
    from .outgoing import Outgoing
    from .target import Target
    from .transport.exchange import Incoming
    from .transport.under_way import Call

A = TypeVar("A", bound="HTTPAnswer | Incoming")
T = TypeVar("T")

Exchange = Callable[[HTTPRequest, Timeouts], Awaitable[A]]
Accept = Callable[[Any, Trial], Awaitable[tuple[T, LLMError | None]]]
"""Makes of an answer what the caller gets, or raises what is wrong with it. What is returned with an error tells of it itself,
and is handed out where the request is not made again."""

NO_BUDGET = "retry budget exhausted"
NO_TIME = "the time of the call does not allow another attempt"


async def asked(
    caller: Caller,
    call: Call,
    target: Target,
    settings: Settings,
    outgoing: Outgoing,
    exchange: Exchange[A],
    accept: Accept[T],
    total: float | None,
) -> T:
    """What `accept` makes of a good answer, which may take `total` seconds. Raises the error of the last attempt."""
    started = time.monotonic()
    url: str = outgoing.url(target)
    timeouts = settings.timeouts
    renewable = provided = target.credentials.renewable and settings.user_token is None
    attempts: tuple[Attempt, ...] = ()
    failed = Failed(0)
    paid = 0
    refused: Mapping[str, str | Secret] | None = None
    lost: list[Loss] = []
    wrong: int | None = None  # the hash of the last attempt's malformed answer, which may repeat what is secret
    while True:
        until = None if total is None else started + total
        headers = await caller.headers(target, settings, outgoing.route, refused, until)
        if total is not None and (attempts or provided):
            timeouts = remaining(timeouts, total, started)
        secrets = {**headers, **outgoing.secrets} if outgoing.secrets else headers
        method = outgoing.route.method
        call.trial = trial = Trial(
            target, caller.event_hooks, method=method, url=url, secrets=secrets, earlier=attempts, losses=lost
        )
        answer, found, error = None, None, None
        try:
            answer = await exchange(
                HTTPRequest(method, url, headers, outgoing.body, outgoing.stream, target.vendor), timeouts
            )
            if isinstance(answer, HTTPAnswer) and answer.status >= 300:
                error = redirect(answer) if answer.status < 400 else refusal(target, answer, secrets)
            else:
                found, error = await accept(answer, trial)
                if error is None:
                    caller.budget.give(url, paid)
                    return found
        except LLMError as problem:
            if call.stopped:
                raise Stopped from None
            error = problem
        hushed(error, secrets)
        status = None if answer is None else answer.status
        if renewable and status == 401:
            renewable, refused = False, headers
            attempts = trial.end(status, error)
            continue
        if not lost and (changed := without_refused(outgoing, error)) is not None:
            outgoing, loss = changed
            lost = [loss]
            attempts = trial.end(status, error)
            continue
        failed = Failed(failed.attempts + 1, failed.malformed + isinstance(error, MalformedResponseError))
        left = None if total is None else started + total - time.monotonic()
        wait: float | str = decide(error, failed, settings.retry, left=left, chance=_chance())
        if isinstance(error, MalformedResponseError):
            came = hash(answer.body if isinstance(answer, HTTPAnswer) else error.message)
            if came == wrong:
                wait, error.retryable = "final", False  # the next one would be the same again
            wrong = came
        if not isinstance(wait, str) and not caller.budget.take(url, cost_of(error)):
            wait = NO_BUDGET
        if isinstance(wait, str):
            if wait in _HINTS:
                error.hint = _HINTS[wait]
            if found is not None:
                return found
            raise told(error, target, trial.end(status, error))
        paid += cost_of(error)
        if answer is not None and not isinstance(answer, HTTPAnswer):
            await answer.close()
        attempts = trial.end(status, error)
        _tell_of(error, failed.attempts, wait, caller, target)
        await caller.transport.sleep(wait)


_HINTS = {
    NO_BUDGET: NO_BUDGET,
    "deadline": NO_TIME,
    "asked too long": "the server asks for a longer wait than a retry makes",
}


def _chance() -> float:
    from random import random  # not needed before something fails

    return random()


def _tell_of(error: LLMError, attempt: int, wait: float, caller: Caller, target: Target) -> None:
    if caller.event_hooks:
        wire = target.endpoint.wire
        retry = RequestRetry(
            vendor=target.vendor, model=target.model, wire=wire, attempt=attempt, wait=wait, reason=error.kind
        )
        notify(caller.event_hooks, retry)
