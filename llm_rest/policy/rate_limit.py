"""Client-side rate limiting: requests wait until the vendor accepts them, instead of failing.

`limiter.py` computes the waits, this file waits. Before changing it, know that threads and event loops share one queue:
a request that leaves it wakes the next one.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct
from msgspec.structs import replace

from ..client.hooks import RateLimitWait
from ..errors import ConfigError, LLMError, OverloadedError, QuotaError, RateLimitError
from ..responses.estimate import estimate_tokens
from .gate import Admission
from .limiter import COUNTED, FAMILY, Limiter, Reading, Ticket, quota_readings, readings

if TYPE_CHECKING:
    from ..transport.sockets import Signal
    from .gate import NextAttempt

LIMITS = {"rpm": "requests", "tpm": "tokens", "input_tpm": "input", "output_tpm": "output"}
_KEYS = 1000
_LOOK_UP = 1.0
"""Seconds after which a request that waits for another's end looks again: that one may have been forgotten."""


class LimitStatus(Struct, frozen=True, kw_only=True):
    """The current state of a `RateLimit` for one vendor, key and model."""

    vendor: str
    """The name of the vendor."""
    model: str
    """The model, as the vendor calls it."""
    in_flight: int
    """Requests that were sent and have not ended."""
    waiting: int
    """Requests that wait for the limit."""
    wait: float
    """Seconds until the next request is sent, as far as known; 0 where none has to wait."""
    reason: str
    """The limit that requests wait for, such as `500 requests per minute`; empty where none waits."""
    limits: dict[str, tuple[float, float]]
    """All known limits by their names in the headers: the remaining amount, and the limit itself."""
    per_minute: dict[str, float]
    """The limits per minute, by what they count: `requests`, `tokens`, `input` and `output`."""
    headers: dict[str, str]
    """The rate limit headers of the latest answer, unchanged."""


class RateLimit(Struct, kw_only=True, dict=True, eq=False, weakref=True, omit_defaults=True, repr_omit_defaults=True):
    """A rate limit: requests wait for it instead of failing: `Client(rate_limit=RateLimit(rpm=500))`.

    `rate_limit="learn"` is short for `RateLimit()`. Each vendor, base URL, key and model has its own limits. Share one
    object between clients, threads and event loops that use the same key. Requests are sent first come, first served. A
    wait ends with the timeout of the call, in a `RateLimitError` that names the limit. Raises `ConfigError` for limits
    that contradict each other. A pickle has the configured limits, not the learned ones.
    """

    rpm: float | None = None
    """Requests per minute."""
    tpm: float | None = None
    """Tokens per minute, input and output together."""
    input_tpm: float | None = None
    """Input tokens per minute."""
    output_tpm: float | None = None
    """Output tokens per minute."""
    concurrency: int | None = None
    """The maximum number of concurrent requests."""
    learn: bool = True
    """Whether limits are also read from the headers of answers."""
    share: float = 1.0
    """The fraction of all limits, configured and learned, that is used here; see `divided`."""

    def __post_init__(self) -> None:
        for name in (*LIMITS, "concurrency", "share"):
            value: object = getattr(self, name)
            number = isinstance(value, int) if name == "concurrency" else isinstance(value, int | float)
            if value is not None and (not number or isinstance(value, bool) or not 0 < cast("float", value) < math.inf):
                raise ConfigError(f"RateLimit: {name} is a positive number, not {value!r}")
        if self.share > 1:
            raise ConfigError(f"RateLimit: share is a part of the limits from 0 to 1, not {self.share:g}")
        for name in ("input_tpm", "output_tpm"):
            if self.tpm is not None and (part := getattr(self, name)) is not None and part > self.tpm:
                raise ConfigError(
                    f"RateLimit: {name}={part:g} is more than tpm={self.tpm:g}, which counts input and output"
                )
        if not self.learn and all(getattr(self, name) is None for name in (*LIMITS, "concurrency")):
            raise ConfigError("RateLimit(learn=False) limits nothing", hint="give rpm=, tpm= or concurrency=")
        self.lock = Lock()
        self._lines: dict[Any, _Line] = {}

    def divided(self, count: int) -> RateLimit:
        """A rate limit for each of `count` processes or machines that share a key: a part of configured and learned limits."""
        if type(count) is not int or count < 1:
            raise ConfigError(f"divided() takes a number of processes from 1, not {count!r}")
        return replace(self, share=self.share / count)

    def status(self) -> list[LimitStatus]:
        """The current state for each vendor, key and model: limits, waiting requests and their delay."""
        now = time.monotonic()
        with self.lock:
            return [line.status(now) for line in self._lines.values()]

    def _line(self, attempt: NextAttempt, now: float) -> _Line:
        endpoint = attempt.target.endpoint
        key = (endpoint.vendor.name, endpoint.base_url, attempt.account, endpoint.model)
        line = self._lines.get(key)
        if line is None:
            if len(self._lines) >= _KEYS:
                self._lines = {name: one for name, one in self._lines.items() if one.waiting or one.limiter.in_flight}
            given = {
                what: value * self.share for name, what in LIMITS.items() if (value := getattr(self, name)) is not None
            }
            most = self.concurrency and max(1, int(self.concurrency * self.share))
            limiter = Limiter(given, most, now=now, reserves=endpoint.vendor.limits.reserves_output)
            line = self._lines[key] = _Line(limiter, attempt.target.vendor, attempt.target.model)
        return line

    async def enter(self, attempt: NextAttempt) -> LimitedAttempt:
        """Wait until the request may be sent. Raises `RateLimitError` where the time of the call does not allow the wait."""
        estimate = float(estimate_tokens(attempt.request))
        me = _Waiting()
        with self.lock:
            line = self._line(attempt, now := time.monotonic())
            counts = line.limiter.counts(estimate, attempt.request.max_output_tokens)
            (line.waiting.appendleft if attempt.call.trial is not None else line.waiting.append)(me)
        notified = False
        try:
            while True:
                with self.lock:
                    now = time.monotonic()
                    wait = line.limiter.delay(counts, now)
                    first = line.waiting[0] is me
                    if first and wait == 0:
                        return LimitedAttempt(self, line, line.limiter.admit(counts, estimate, now), attempt)
                    reason = line.limiter.reason if first or wait != 0 else "requests that came first"
                    me.signal = attempt.caller.transport.waiter.signal()
                left = math.inf if attempt.until is None else attempt.until - now
                if wait == math.inf or (wait or 0) >= left:
                    raise self._too_long(attempt, reason, wait or 0.0, left)
                if not notified and attempt.call.watch is not None:
                    attempt.call.watch.notify(RateLimitWait, wait=wait or 0.0, reason=reason)
                notified = True
                longest = (_LOOK_UP if wait is None else wait) if first else _LOOK_UP * 30
                await me.signal.wait(min(longest, left))
        finally:
            with self.lock:
                line.waiting.remove(me)
                line.wake()

    def _too_long(self, attempt: NextAttempt, reason: str, wait: float, left: float) -> RateLimitError:
        target = attempt.target
        what = f"the rate limit of {target.vendor} for {target.model}, {reason}, allows the request"
        if wait == math.inf:
            return RateLimitError(f"{what} never", vendor=target.vendor, model=target.model, retryable=False)
        return RateLimitError(
            f"{what} in {wait:.3g} s, and the call has {max(left, 0):.3g} s left",
            vendor=target.vendor,
            model=target.model,
            retry_after=wait or None,
            hint="allow more time: timeout=Timeouts(total=...), or make fewer calls at once",
        )


class _Waiting:
    """A request in the queue. The first one knows its wait; the others are woken when a request leaves the queue."""

    __slots__ = ("signal",)

    def __init__(self) -> None:
        self.signal: Signal | None = None


class _Line:
    """The queue of requests that wait for one limiter, first come, first served."""

    def __init__(self, limiter: Limiter, vendor: str, model: str) -> None:
        self.limiter, self.vendor, self.model = limiter, vendor, model
        self.waiting: deque[_Waiting] = deque()
        self.headers: dict[str, str] = {}

    def wake(self) -> None:
        """Wake the first request, which checks again."""
        if self.waiting and (signal := self.waiting[0].signal) is not None:
            signal.set()

    def status(self, now: float) -> LimitStatus:
        """The current state."""
        limiter = self.limiter
        wait = limiter.delay(limiter.counts(0, None), now) or 0.0 if self.waiting else 0.0
        return LimitStatus(
            vendor=self.vendor,
            model=self.model,
            in_flight=limiter.in_flight,
            waiting=len(self.waiting),
            wait=wait,
            reason=limiter.reason if self.waiting else "",
            limits={name: (max(0.0, bucket.level), bucket.limit) for name, bucket in limiter.buckets.items()},
            per_minute={
                what: min(one.limit / one.window * 60 for one in limiter.buckets.values() if one.what == what)
                for what in {bucket.what for bucket in limiter.buckets.values()} & {*COUNTED}
            },
            headers=self.headers,
        )


class LimitedAttempt(Admission):
    """A request admitted by the rate limit, until it ends."""

    __slots__ = ("_line", "_of", "_readings", "_ticket", "_windows")

    def __init__(self, of: RateLimit, line: _Line, ticket: Ticket, attempt: NextAttempt) -> None:
        self._of, self._line, self._ticket = of, line, ticket
        self._windows = attempt.target.endpoint.vendor.limits.windows
        self._readings: list[Reading] = []

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """The head of the answer was received."""
        of, line = self._of, self._line
        if of.learn:
            share = of.share
            now = _time_of(headers.get("date", "")) or time.time()
            self._readings = [_part(one, share) for one in readings(headers, now, self._windows)]
        with of.lock:
            if self._readings:
                line.headers = {
                    name: text for name, text in headers.items() if FAMILY.match(name) or "ratelimit" in name
                }
                line.limiter.read(self._ticket, self._readings, time.monotonic())
            if status != 429:
                line.limiter.succeeded(self._ticket)
            line.wake()

    def close(self, answer: Any, error: LLMError | None) -> None:
        """The request has ended, with a (partial) answer or with an error; with neither it was cancelled."""
        usage: tuple[int, int] | None = (0, 0)
        if answer is not None:
            known = getattr(answer, "usage", None)
            usage = None if known is None else (known.input_tokens, known.output_tokens)
        limited = isinstance(error, RateLimitError) and not isinstance(error, QuotaError)
        of, line = self._of, self._line
        with of.lock:
            limiter = line.limiter
            if limited and error is not None:
                quotas = [_part(one, of.share) for one in quota_readings(error.body)]
                now = time.monotonic()
                limiter.read(self._ticket, quotas, now)
                limiter.limited(self._ticket, error.retry_after, self._readings + quotas, now)
            elif isinstance(error, OverloadedError):
                limiter.slower()
            limiter.settle(self._ticket, usage, time.monotonic())
            line.wake()

    def __del__(self) -> None:
        # Garbage-collected without an end. No lock: this may run anywhere. Waiting requests check again at intervals.
        if not self._ticket.ended:
            self._line.limiter.settle(self._ticket, None, time.monotonic())


def _part(reading: Reading, share: float) -> Reading:
    if share == 1 or reading.what == "share":
        return reading
    limit, remaining = (None if value is None else value * share for value in (reading.limit, reading.remaining))
    return reading._replace(limit=limit, remaining=remaining)


@lru_cache(maxsize=64)
def _time_of(date: str) -> float | None:
    """The creation time of an answer by the server's clock, to which its times refer; equal for those of one second."""
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
