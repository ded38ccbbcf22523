"""Single flight: concurrent calls of one account share one call of the token provider.

When a token expires, every call in flight is rejected, and each would request a new one. Before changing this file, know
that a result is shared only with calls whose previous token was rejected: the provider decides how long a token lasts.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import Any

from ..sync import drive

Headers = Mapping[str, Any]

_MOST_KEPT = 1000
"""The most accounts whose last result is stored, since callers of a gateway choose the accounts."""


class _Event:
    """The counterpart of `anyio.Event` for threads."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self.set = self._over.set

    async def wait(self) -> None:
        self._over.wait()


class _Flight:
    """A call of the provider in flight: `over` is set after its result, its exception, or its cancellation."""

    __slots__ = ("answer", "over", "problem", "refused")

    def __init__(self, over: Any, refused: Headers | None) -> None:
        self.over = over
        self.refused = refused
        self.answer: Headers | None = None
        self.problem: Exception | None = None


class Flights:
    """Calls of a token provider by account, shared by concurrent callers. A result is the authentication headers.

    `refused` is the headers of a request whose answer was 401: a result that equals them is not used, unless
    the provider returned it after another caller had reported the same.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[Hashable, _Flight] = {}
        self._last: dict[Hashable, Headers] = {}

    def ask(self, about: Hashable, question: Callable[[], Headers], refused: Headers | None) -> Headers:
        """The result, for a thread, which calls the provider or waits for the thread that does."""

        async def result() -> Headers:
            return question()

        return drive(self._answer(about, about, _Event, result, refused))

    async def ask_async(
        self, about: Hashable, question: Callable[[], Awaitable[Headers]], refused: Headers | None
    ) -> Headers:
        """The same for a task. If the calling task is cancelled, another one calls."""
        import anyio
        from anyio.lowlevel import current_token

        return await self._answer((current_token(), about), about, anyio.Event, question, refused)

    async def _answer(
        self,
        place: Hashable,
        about: Hashable,
        event: Callable[[], Any],
        question: Callable[[], Awaitable[Headers]],
        refused: Headers | None,
    ) -> Headers:
        while True:
            flight, is_first, answer = self._join(place, about, event, refused)
            if answer is not None:
                return answer
            if is_first:
                try:
                    return self._landed(flight, about, await question())
                except Exception as problem:
                    flight.problem = problem
                    raise
                finally:
                    del self._flights[place]
                    flight.over.set()
            await flight.over.wait()
            if (answer := _good_for(refused, flight)) is not None:
                return answer

    def _join(
        self, place: Hashable, about: Hashable, event: Callable[[], Any], refused: Headers | None
    ) -> tuple[_Flight, bool, Headers | None]:
        """The flight for this account, whether the caller owns it, and the result where it is known already."""
        with self._lock:
            last = None if refused is None else self._last.get(about)
            answer = None if last is None or _is_among(refused, last) else last
            flight = self._flights.get(place)
            if flight is not None or answer is not None:
                return flight or _Flight(None, None), False, answer
            flight = self._flights[place] = _Flight(event(), refused)
            return flight, True, None

    def _landed(self, flight: _Flight, about: Hashable, answer: Headers) -> Headers:
        with self._lock:
            if len(self._last) >= _MOST_KEPT:
                self._last.clear()
            self._last[about] = flight.answer = answer
        return answer


def _good_for(refused: Headers | None, flight: _Flight) -> Headers | None:
    """The result of a finished flight for a caller that waited for it."""
    if flight.problem is not None:
        raise flight.problem
    answer = flight.answer
    if answer is None or not _is_among(refused, answer) or _is_among(flight.refused, answer):
        return answer
    return None


def _is_among(refused: Headers | None, answer: Headers) -> bool:
    return refused is not None and answer.items() <= refused.items()
