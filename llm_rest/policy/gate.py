"""Gates: rate limits and budgets, which delay or count the attempts of a call. `client/send.py` enters them.

A call without them never loads this module. Before changing it, know that every admitted attempt is closed exactly
once, also when it fails, is cancelled, or is a stream that is closed early.
"""

from __future__ import annotations

from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..errors import ConfigError, QuotaError, RateLimitError
from ..vendors.auth import Secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..client.call import Caller
    from ..client.options import Settings
    from ..client.target import Target
    from ..errors import LLMError
    from ..responses.request import Request
    from ..transport import Call
    from .prices import Pricing


def made(given: Any, kept: dict[Any, Any]) -> Any:
    """The objects for `rate_limit="learn"` and for a path in `prices=`, cached for later calls with the same value."""
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
    """The next request of a call."""

    caller: Caller
    """The client, or one call's view of it."""
    call: Call
    """The call in flight; its earlier attempts are in `trial`."""
    target: Target
    """Its vendor, wire and model."""
    settings: Settings
    """The settings of the call."""
    request: Request
    """The request in the Responses format."""
    headers: Mapping[str, object]
    """The HTTP headers with which it is sent, the key among them."""
    until: float | None
    """The deadline of the call, by `time.monotonic`; `None` without one."""

    @property
    def account(self) -> int:
        """A digest of the key, valid in this process only."""
        own = self.settings.headers  # headers that do not identify the key
        return hash(tuple(one for name, one in self.headers.items() if isinstance(one, Secret) and name not in own))

    @property
    def pricing(self) -> Pricing | None:
        """The prices; `None` where they are unknown."""
        return self.settings.pricing(self.target, self.request)


class Admission:
    """An admitted attempt: at once, or after a wait."""

    __slots__ = ()

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """The head of the answer was received."""

    def close(self, answer: Any, error: LLMError | None) -> None:
        """The attempt has ended, with a (partial) answer or with an error; with neither it was cancelled."""


class Gates:
    """The gates of one call, from its options `budget` and `rate_limit`."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        from .budget import Budget
        from .rate_limit import RateLimit

        budget, limit = options.get("budget"), options.get("rate_limit")
        if not isinstance(budget, Budget | None):
            raise ConfigError(f"budget is Budget(usd=, tokens=, seconds=), not {budget!r}")
        if not isinstance(limit, RateLimit | None):
            raise ConfigError(f'rate_limit is "learn" or RateLimit(...), not {limit!r}')
        self._gates = [gate for gate in (budget, limit) if gate is not None]
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
        """Admit the next attempt of a call. Raises the errors of the gates."""
        attempt = NextAttempt(caller, call, target, settings, request, headers, until)
        passed = Admissions(waits=self._waits)
        try:
            for gate in self._gates:
                passed.admitted.append(await gate.enter(attempt))
        except BaseException:
            passed.close(None, None)
            raise
        return passed


class Admissions:
    """The admissions of one attempt by all gates."""

    def __init__(self, *, waits: bool) -> None:
        self.admitted: list[Admission] = []
        self._waits = waits

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """The head of the answer was received."""
        for one in self.admitted:
            one.answered(status, headers)

    def close(self, answer: Any, error: LLMError | None) -> None:
        """The attempt has ended; once, however often this is called."""
        while self.admitted:
            self.admitted.pop().close(answer, error)

    def waits_for(self, error: LLMError) -> bool:
        """Whether the request is retried after a wait at a gate, without counting as another attempt."""
        limited = isinstance(error, RateLimitError) and not isinstance(error, QuotaError)
        return self._waits and limited and error.retryable
