"""Retries with exponential backoff: the policy, the decision about a failed request, and the retry budget.

Pure functions: `client/send.py` waits, reads the clock and draws the random numbers. Before changing this file, know
that every retry may be billed, and that many clients retrying at once keep an overloaded server down: waits are random
up to a ceiling, the server's `retry-after` is respected, and the budget ends retries where most requests fail.
"""

from __future__ import annotations

import math
from threading import Lock
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from msgspec import Struct

from ..errors import APITimeoutError, ConfigError, LLMError, MalformedResponseError

RETRY_AFTER_JITTER = 0.1
"""The part by which a wait may exceed the server's `Retry-After`, so that clients with the same one do not retry at once."""

CAPACITY = 100
COST = 5
COST_AFTER_TIMEOUT = 10
"""The retry budget's cost of a request that timed out, which is higher because it occupied the server all that time."""


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """How often a request is retried, and the delay before each retry. `retry=3` is short for `RetryPolicy(attempts=3)`.

    Raises `ConfigError` for a value out of range.
    """

    attempts: int = 3
    """The maximum number of requests per call; 1 means no retries."""
    base_delay: float = 1.0
    """The maximum delay before the first retry, in seconds. It doubles for each further retry (exponential backoff)."""
    max_delay: float = 8.0
    """The maximum delay before any retry, in seconds."""
    jitter: Literal["full", "none"] = "full"
    """`full`: each delay is random between 0 and its limit. `none`: it is the limit itself."""
    max_malformed: int = 1
    """How often a complete but malformed answer is retried; each was billed. Delays grow by `base_delay` seconds."""
    max_retry_after: float = 60.0
    """Seconds. Beyond a longer `Retry-After` of the server, the error is raised at once, with `retry_after`."""
    retry_after_timeout: bool = True
    """Whether to retry after a timeout. The server may have processed the request all the same, and bill it too."""

    def __post_init__(self) -> None:
        for name, least in (("attempts", 1), ("max_malformed", 0)):
            count: object = getattr(self, name)
            if not isinstance(count, int) or isinstance(count, bool) or count < least:
                raise ConfigError(f"retry {name} is a number from {least}, not {count!r}")
        for name in ("base_delay", "max_delay", "max_retry_after"):
            seconds: object = getattr(self, name)
            if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 <= seconds < math.inf:
                raise ConfigError(f"retry {name} is a number of seconds, not {seconds!r}")
        if self.jitter not in ("full", "none"):
            raise ConfigError(f"retry jitter is full or none, not {self.jitter!r}")


DEFAULT = RetryPolicy()


def policy_of(value: object) -> RetryPolicy:
    """The value of `retry=` as a policy: a number of requests, or a whole policy."""
    if value is None:
        return DEFAULT
    if isinstance(value, RetryPolicy):
        return value
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        hint = "retry=1 makes one request and no retry"
        raise ConfigError(f"retry is a number of attempts from 1 or RetryPolicy(...), not {value!r}", hint=hint)
    return RetryPolicy(attempts=value)


class Failed(NamedTuple):
    """The attempts of a call up to a failed one: their number, and the number of malformed answers."""

    attempts: int
    malformed: int = 0


Stop = Literal["final", "attempts", "retry-after too long", "deadline"]
"""The reason for no retry: it would not help, no attempts are left, the `Retry-After` is too long, or no time is left."""


def decide(error: LLMError, failed: Failed, policy: RetryPolicy, *, left: float | None, chance: float) -> float | Stop:
    """Seconds to wait before the next attempt, or the reason for no retry.

    `left` is the remaining time of the call in seconds, `chance` a random number from 0 to 1.
    """
    if not is_retryable(error, policy):
        return "final"
    malformed = isinstance(error, MalformedResponseError)
    if failed.attempts >= policy.attempts or (malformed and failed.malformed > policy.max_malformed):
        return "attempts"
    random = policy.jitter == "full"
    retry_after = error.retry_after
    if retry_after is not None and 0 < retry_after < math.inf:
        if retry_after > policy.max_retry_after:
            return "retry-after too long"
        wait = retry_after * (1 + RETRY_AFTER_JITTER * chance) if random else retry_after
    else:
        wait = ceiling(failed, policy, malformed=malformed) * (chance if random else 1)
    return wait if left is None or wait < left else "deadline"


def is_retryable(error: LLMError, policy: RetryPolicy = DEFAULT) -> bool:
    """Whether the same request may succeed later."""
    if isinstance(error, APITimeoutError) and error.phase != "connect":
        # A call that waited for a free connection has used up its time.
        return error.retryable and policy.retry_after_timeout and error.phase not in ("total", "pool")
    return error.retryable


def ceiling(failed: Failed, policy: RetryPolicy, *, malformed: bool = False) -> float:
    """The maximum delay after so many attempts, without a `Retry-After`."""
    # Beyond 2 ** 60 the shift would only cost memory.
    factor = failed.malformed if malformed else 1 << min(failed.attempts - 1, 60)
    return min(policy.base_delay * factor, policy.max_delay)


# --- the retry budget -------------------------------------------------------------------------------------------------


def cost_of(error: LLMError) -> int:
    """The tokens of the retry budget that a retry after this error takes."""
    return COST_AFTER_TIMEOUT if isinstance(error, TimeoutError) else COST


class RetryBudget:
    """The retry budget: tokens for retries by origin, shared by the threads and tasks of one client."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._levels: dict[str, int] = {}  # origins with all tokens are omitted

    def level(self, url: str) -> int:
        """The remaining tokens of this URL's origin."""
        return self._levels.get(_origin(url), CAPACITY)

    def take(self, url: str, cost: int) -> bool:
        """Take the tokens of a retry, if enough are left."""
        with self._lock:
            left = self.level(url) - cost
            if left >= 0:
                self._levels[_origin(url)] = left
        return left >= 0

    def give(self, url: str, amount: int) -> None:
        """Return the tokens taken by the retries of a successful request, or 1 where there were none."""
        if self._levels:
            with self._lock:
                self._levels[_origin(url)] = min(self.level(url) + max(amount, 1), CAPACITY)
                if self.level(url) == CAPACITY:
                    del self._levels[_origin(url)]


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
