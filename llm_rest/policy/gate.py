"""Gates: what holds back or counts the attempts of a call, a rate limit and a budget. `client/send.py` enters them.

A call without them never loads this module. Before changing it, know that every attempt that was let in is closed exactly
once, also when it fails, is cancelled, or is a stream that is left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..errors import ConfigError, QuotaError, RateLimitError
from ..vendors.auth import Secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..client.call import Caller
    from ..client.hooks import WatchedCall
    from ..client.target import Target
    from ..errors import LLMError
    from ..responses.request import Request
    from ..transport import Call
    from ..transport.sockets import Waiter


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

        limit = options.get("rate_limit")
        if limit is not None and not isinstance(limit, RateLimit):
            raise ConfigError(f'rate_limit is "learn" or RateLimit(...), not {limit!r}')
        self._gates: list[Gate] = [gate for gate in (limit,) if gate is not None]
        self._waits = limit is not None

    async def enter(
        self,
        caller: Caller,
        call: Call,
        target: Target,
        own: Mapping[str, object],
        request: Request,
        headers: Mapping[str, object],
        until: float | None,
    ) -> Admissions:
        """Let an attempt in; of its headers the caller's `own` say nothing of the key. Raises what a gate raises."""
        secrets = [value for name, value in headers.items() if isinstance(value, Secret) and name not in own]
        attempt = NextAttempt(
            target, request, hash(tuple(secrets)), caller.transport.waiter, until, call.watch, call.trial is not None
        )
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
