"""One question for all who want its answer at the same time: how many calls ask a token provider once.

When a token expires, every call that is under way is refused, and each would ask for a new one. Before changing this file, know
that an answer is kept for those only who were refused the one before it: how long a token lasts is the provider's affair.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import Any

from ..sync import drive

Headers = Mapping[str, Any]

_MOST_KEPT = 1000
"""Questions whose last answer is kept: whose tokens they are, callers of a gateway decide."""


class _Event:
    """What `anyio.Event` is to tasks, for threads."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self.set = self._over.set

    async def wait(self) -> None:
        self._over.wait()


class _Flight:
    """A question that was asked: `over` is set once there is an answer, a problem, or neither because its caller gave up."""

    __slots__ = ("answer", "over", "problem", "refused")

    def __init__(self, over: Any, refused: Headers | None) -> None:
        self.over = over
        self.refused = refused
        self.answer: Headers | None = None
        self.problem: Exception | None = None


class Flights:
    """Answers to questions about accounts. An answer is the headers that say who is calling.

    `refused` is the headers of a request whose answer was 401: an answer that is among them does not help its caller, unless
    it was given after somebody had said the same.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: dict[Hashable, _Flight] = {}
        self._last: dict[Hashable, Headers] = {}

    def ask(self, about: Hashable, question: Callable[[], Headers], refused: Headers | None) -> Headers:
        """The answer, for a thread, which asks itself or waits for the one that does."""

        async def asked() -> Headers:
            return question()

        return drive(self._answer(about, about, _Event, asked, refused))

    async def ask_async(
        self, about: Hashable, question: Callable[[], Awaitable[Headers]], refused: Headers | None
    ) -> Headers:
        """The same for a task. Where the one that asks is cancelled, another asks."""
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
            flight, mine, answer = self._join(place, about, event, refused)
            if answer is not None:
                return answer
            if mine:
                try:
                    return self._landed(flight, about, await question())
                except Exception as problem:
                    flight.problem = problem
                    raise
                finally:
                    del self._asked[place]
                    flight.over.set()
            await flight.over.wait()
            if (answer := _good_for(refused, flight)) is not None:
                return answer

    def _join(
        self, place: Hashable, about: Hashable, event: Callable[[], Any], refused: Headers | None
    ) -> tuple[_Flight, bool, Headers | None]:
        """The flight for this question, whether it is one's own, and the answer where it is known already."""
        with self._lock:
            last = None if refused is None else self._last.get(about)
            answer = None if last is None or _is_among(refused, last) else last
            flight = self._asked.get(place)
            if flight is not None or answer is not None:
                return flight or _Flight(None, None), False, answer
            flight = self._asked[place] = _Flight(event(), refused)
            return flight, True, None

    def _landed(self, flight: _Flight, about: Hashable, answer: Headers) -> Headers:
        with self._lock:
            if len(self._last) >= _MOST_KEPT:
                self._last.clear()
            self._last[about] = flight.answer = answer
        return answer


def _good_for(refused: Headers | None, flight: _Flight) -> Headers | None:
    """What a flight that is over brought to somebody who waited for it."""
    if flight.problem is not None:
        raise flight.problem
    answer = flight.answer
    if answer is None or not _is_among(refused, answer) or _is_among(flight.refused, answer):
        return answer
    return None


def _is_among(refused: Headers | None, answer: Headers) -> bool:
    return refused is not None and answer.items() <= refused.items()
