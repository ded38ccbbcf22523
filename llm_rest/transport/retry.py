"""Whether a failed request is made again, and after how long: a policy, a pure decision, and a budget.

Pure functions: `client/send.py` waits, reads the clock and draws the random numbers. Before changing this file, know that every
retry may be billed, and that many clients retrying at once keep an overloaded server down: waits are random up to a ceiling, the
server's `retry-after` is obeyed, and the budget ends retries where most requests fail.
"""

from __future__ import annotations

import math
from threading import Lock
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from msgspec import Struct

from ..errors import APITimeoutError, ConfigError, LLMError, MalformedResponseError

STRETCH = 0.1
"""How much longer than a server asked a wait may be: clients that were told the same second come one after the other."""

CAPACITY = 100
COST = 5
COST_AFTER_TIMEOUT = 10
"""A request that ran into a timeout has occupied the server for all that time."""


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """How often a request is retried, and the delay before each retry. `retry=3` is short for `RetryPolicy(attempts=3)`.

    Raises `ConfigError` for a value out of range.
    """

    attempts: int = 3
    """Requests in all; 1 means no retries."""
    base_delay: float = 1.0
    """The longest delay before the first retry, in seconds. It doubles for each retry after that (exponential backoff)."""
    max_delay: float = 8.0
    """The longest delay before any retry, in seconds."""
    jitter: Literal["full", "none"] = "full"
    """`full`: each delay is random between 0 and its limit. `none`: it is the limit itself."""
    max_malformed: int = 1
    """How often a complete answer that is malformed is retried; each was billed. Delays grow by `base_delay` seconds."""
    max_retry_after: float = 60.0
    """Seconds. Where a server asks for a longer delay (`Retry-After`), the error is raised at once, with `retry_after`."""
    retry_after_timeout: bool = True
    """Whether to retry when no answer came in time. The server may have answered all the same, and bill that answer too."""

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
    """What `retry=` means: how many requests in all, or a whole policy."""
    if value is None:
        return DEFAULT
    if isinstance(value, RetryPolicy):
        return value
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        hint = "retry=1 makes one request and no retry"
        raise ConfigError(f"retry is a number of attempts from 1 or RetryPolicy(...), not {value!r}", hint=hint)
    return RetryPolicy(attempts=value)


class Failed(NamedTuple):
    """The attempts of a call up to one that failed: how many they are, and how many of them came back malformed."""

    attempts: int
    malformed: int = 0


Stop = Literal["final", "attempts", "asked too long", "deadline"]
"""Why there is no retry: it would not help, no attempts are left, the server asks for too long a delay, or no time is left."""


def decide(error: LLMError, failed: Failed, policy: RetryPolicy, *, left: float | None, chance: float) -> float | Stop:
    """Seconds to wait before the next attempt, or why there is none.

    `left` is how many seconds the call may still take, `chance` a random number from 0 to 1.
    """
    if not worth_another(error, policy):
        return "final"
    malformed = isinstance(error, MalformedResponseError)
    if failed.attempts >= policy.attempts or (malformed and failed.malformed > policy.max_malformed):
        return "attempts"
    random = policy.jitter == "full"
    asked = error.retry_after
    if asked is not None and 0 < asked < math.inf:
        if asked > policy.max_retry_after:
            return "asked too long"
        wait = asked * (1 + STRETCH * chance) if random else asked
    else:
        wait = ceiling(failed, policy, malformed=malformed) * (chance if random else 1)
    return wait if left is None or wait < left else "deadline"


def worth_another(error: LLMError, policy: RetryPolicy = DEFAULT) -> bool:
    """Whether the same request may succeed at another time."""
    if isinstance(error, APITimeoutError) and error.phase != "connect":
        # A call that waited for a free connection all its time has none left.
        return error.retryable and policy.retry_after_timeout and error.phase not in ("total", "pool")
    return error.retryable


def ceiling(failed: Failed, policy: RetryPolicy, *, malformed: bool = False) -> float:
    """The longest wait after so many attempts where the server asks for none."""
    # Beyond 2 ** 60 the shift would only cost memory.
    factor = failed.malformed if malformed else 1 << min(failed.attempts - 1, 60)
    return min(policy.base_delay * factor, policy.max_delay)


# --- the budget -----------------------------------------------------------------------------------------------------


def taken(level: int, cost: int) -> int | None:
    """What is left of a bucket after a retry of this cost; `None` where it does not hold that much."""
    return level - cost if 0 <= cost <= level else None


def given_back(level: int, amount: int) -> int:
    """What a bucket holds after a success gives back what its retries took, or 1 where there were none."""
    return min(CAPACITY, level + max(amount, 1))


def cost_of(error: LLMError) -> int:
    """What asking again after this error takes from the bucket."""
    return COST_AFTER_TIMEOUT if isinstance(error, TimeoutError) else COST


class Budget:
    """A bucket for each origin, full at first, shared by the threads and tasks of one client."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._levels: dict[str, int] = {}  # full ones are not kept

    def level(self, url: str) -> int:
        """What the bucket of this URL's origin holds."""
        return self._levels.get(_origin(url), CAPACITY)

    def take(self, url: str, cost: int) -> bool:
        """Pay for a retry, if the bucket holds that much."""
        origin = _origin(url)
        with self._lock:
            left = taken(self._levels.get(origin, CAPACITY), cost)
            if left is not None:
                self._levels[origin] = left
        return left is not None

    def give(self, url: str, amount: int) -> None:
        """A request succeeded whose retries had taken this amount."""
        if not self._levels:
            return
        origin = _origin(url)
        with self._lock:
            level = given_back(self._levels.get(origin, CAPACITY), amount)
            if level < CAPACITY:
                self._levels[origin] = level
            else:
                self._levels.pop(origin, None)


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
