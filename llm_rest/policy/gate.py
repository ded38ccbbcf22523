"""Gates: what holds back or counts the attempts of a call, a rate limit and a budget. `client/send.py` enters them.

A call without them never loads this module. Before changing it, know that every attempt that was let in is closed exactly
once, also when it fails, is cancelled, or is a stream that is left.
"""

from __future__ import annotations

from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from ..errors import ConfigError, QuotaError, RateLimitError
from ..vendors.auth import Secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..client.call import Caller, Settings
    from ..client.hooks import WatchedCall
    from ..client.target import Target
    from ..errors import LLMError
    from ..responses.request import Request
    from ..transport import Call
    from ..transport.sockets import Waiter
    from .prices import Pricing


def made(given: Any, kept: dict[Any, Any]) -> Any:
    """What `rate_limit="learn"` and the path in `prices=` stand for; kept for the next call that says the same."""
    from .prices import Prices
    from .rate_limit import RateLimit

    if isinstance(given, Prices):
        return given
    if not isinstance(given, str | PathLike):
        raise ConfigError(f"prices= takes the path of a file or Prices(...), not {given!r}")
    name = fspath(cast("str", given))
    if name not in kept:
        kept[name] = RateLimit() if name == "learn" else Prices(name)
    return kept[name]


class NextAttempt(NamedTuple):
    """The request that is about to be sent."""

    target: Target
    """Where it goes."""
    request: Request
    """What it asks the model for."""
    account: int
    """Stands for the key: a digest that only this process knows."""
    waiter: Waiter
    """How this caller waits."""
    until: float | None
    """When the time of the call ends, as `time.monotonic` tells it."""
    watch: WatchedCall | None
    """The call, where it is watched."""
    again: bool
    """Whether it is a retry."""
    pricing: Pricing | None = None
    """What answers cost; `None` where that is not known."""


class Admission(Protocol):
    """An attempt that a gate let in."""

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """The head of the answer came."""

    def close(self, answer: Any, error: LLMError | None) -> None:
        """It has ended, with an answer as far as it came or with an error; with neither it was cancelled."""


class Gate(Protocol):
    """Lets attempts in: at once, after a wait, or not at all."""

    async def enter(self, attempt: NextAttempt) -> Admission: ...


class Gates:
    """The gates of one call."""

    __slots__ = ("_gates", "_waits")

    def __init__(self, options: Mapping[str, Any]) -> None:
        from .rate_limit import RateLimit

        limit, budget = options.get("rate_limit"), options.get("budget")
        if limit is not None and not isinstance(limit, RateLimit):
            raise ConfigError(f'rate_limit is "learn" or RateLimit(...), not {limit!r}')
        self._gates: list[Gate] = []
        if budget is not None:
            from .budget import Budget

            if not isinstance(budget, Budget):
                raise ConfigError(f"budget is Budget(usd=, tokens=, seconds=), not {budget!r}")
            self._gates.append(budget)
        if limit is not None:
            self._gates.append(limit)
        self._waits = limit is not None

    async def enter(
        self,
        caller: Caller,
        call: Call,
        target: Target,
        settings: Settings,
        request: Request,
        headers: Mapping[str, object],
        until: float | None,
    ) -> Admissions:
        """Let an attempt in. Raises what a gate raises."""
        own = settings.headers  # which say nothing of the key
        secrets = [value for name, value in headers.items() if isinstance(value, Secret) and name not in own]
        account, waiter, again = hash(tuple(secrets)), caller.transport.waiter, call.trial is not None
        pricing = settings.pricing(target, request)
        attempt = NextAttempt(target, request, account, waiter, until, call.watch, again, pricing)
        passed = Admissions(self._waits)
        try:
            for gate in self._gates:
                passed.of.append(await gate.enter(attempt))
        except BaseException:
            passed.close(None, None)
            raise
        return passed


class Admissions:
    """What the gates gave an attempt."""

    __slots__ = ("_limited", "_waits", "of")

    def __init__(self, waits: bool) -> None:
        self.of: list[Admission] = []
        self._waits = waits

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """The head of the answer came."""
        for one in self.of:
            one.answered(status, headers)

    def close(self, answer: Any, error: LLMError | None) -> None:
        """The attempt has ended; once, however often this is called."""
        closed, self.of = self.of, []
        for one in closed:
            one.close(answer, error)

    def waits_for(self, error: LLMError) -> bool:
        """Whether the request is sent again after a wait at a gate, instead of as another attempt."""
        return (
            self._waits and isinstance(error, RateLimitError) and not isinstance(error, QuotaError) and error.retryable
        )
