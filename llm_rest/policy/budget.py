"""Budgets: shared spending limits of calls, checked before each request and settled after it.

`Budget` is a gate of `gate.py`. Its arithmetic uses neither clock nor network: times are arguments. Before changing
this file, know that the sum of spent and reserved amounts never exceeds a limit when a request is sent, so that the
limit is exceeded at most by what the requests in flight use beyond their reserve.
"""

from __future__ import annotations

import math
import time
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any

from ..errors import BudgetError, ConfigError
from ..responses.estimate import estimate_tokens
from ..responses.response import Usage
from .gate import Admission
from .prices import DOLLAR

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..errors import LLMError
    from .gate import NextAttempt
    from .prices import Pricing

FIRST_OUTPUT = 1000
"""Output tokens reserved for a request without `max_output_tokens`, until answers show the usual number."""


class Budget:
    """A spending limit that calls share: `Client(budget=Budget(usd=5))`, or `budget=` of a call, a run or a chat.

    `usd` is US dollars and requires `prices=`, or a vendor that reports costs; `tokens` are input and output tokens, `seconds`
    count from the first call. Before a request is sent, its estimated input and its `max_output_tokens` are reserved; when that
    exceeds the budget, `BudgetError` is raised. Afterwards the real usage is counted; failed and cancelled requests count
    nothing, a stream that is closed early an estimate. May be shared by clients, threads and event loops. Raises `ConfigError`.
    """

    def __init__(self, *, usd: float | None = None, tokens: int | None = None, seconds: float | None = None) -> None:
        self._limits: dict[str, float] = {}
        for name, value in {"usd": usd, "tokens": tokens, "seconds": seconds}.items():
            number: Any = value
            if number is not None:
                if not isinstance(number, int | float) or isinstance(number, bool) or not 0 < number < math.inf:
                    raise ConfigError(f"Budget: {name} is a positive number, not {number!r}")
                self._limits[name] = number * DOLLAR if name == "usd" else number
        if not self._limits:
            raise ConfigError("Budget() limits nothing", hint="give usd=, tokens= or seconds=")
        self._lock = RLock()  # a request may be garbage-collected at any moment, in this thread too
        self._spent = {"usd": 0.0, "tokens": 0.0}
        self._reserved = {"usd": 0.0, "tokens": 0.0}
        self._started: float | None = None
        self._outputs, self._answers = 0, 0

    def __repr__(self) -> str:
        shown = [f"{_amount(name, self.spent(name))} of {_amount(name, limit)}" for name, limit in self._limits.items()]
        return f"<Budget: spent {', '.join(shown)}>"

    @property
    def limits(self) -> Mapping[str, float]:
        """The limits by name: nano-dollars of `usd`, `tokens`, `seconds`."""
        return dict(self._limits)

    def spent(self, name: str = "usd") -> float:
        """The amount spent of `usd` (in nano-dollars), `tokens` or `seconds`, without reservations of requests in flight."""
        if name == "seconds":
            return 0.0 if self._started is None else time.monotonic() - self._started
        return self._spent[name]

    def settle(self, share: BudgetShare, usd: float, tokens: float, output: int | None = None) -> None:
        """Count the real cost of a request instead of its reservation, once."""
        with self._lock:
            if share.ended:
                return
            share.ended = True
            self._reserved["usd"] -= share.usd
            self._reserved["tokens"] -= share.tokens
            self._spent["usd"] += usd
            self._spent["tokens"] += tokens
            if output is not None:
                self._outputs, self._answers = self._outputs + output, self._answers + 1

    async def enter(self, attempt: NextAttempt) -> BudgetShare:
        """Reserve the maximum cost of a request. Raises `BudgetError` where that exceeds the remaining budget."""
        found = estimate_tokens(attempt.request)
        usual = self._outputs // self._answers if self._answers else FIRST_OUTPUT
        output = usual if attempt.request.max_output_tokens is None else attempt.request.max_output_tokens
        pricing, usd = attempt.pricing, 0
        if "usd" in self._limits:
            estimated = None if pricing is None else pricing.of_usage(Usage(input_tokens=found, output_tokens=output))
            if estimated is None and (pricing is None or not pricing.reports):
                target = attempt.target
                where = f" in {pricing.file}" if pricing is not None and pricing.file else ""
                what = f"Budget(usd=) cannot count calls of {target.vendor}/{target.model}: it has no price{where}"
                hint = "give a price file: prices=, or limit tokens: Budget(tokens=)"
                raise BudgetError(what, vendor=target.vendor, model=target.model, hint=hint)
            usd = estimated or 0
        with self._lock:
            now = time.monotonic()
            self._started = now if self._started is None else self._started
            needs = {"usd": usd, "tokens": found + output, "seconds": 0.0}
            for name, limit in self._limits.items():
                spent = now - self._started if name == "seconds" else self._spent[name]
                reserved = self._reserved.get(name, 0.0)
                if spent + reserved + needs[name] > limit or spent >= limit:
                    raise _exceeded(name, spent, reserved, needs[name], limit)
            self._reserved["usd"] += usd
            self._reserved["tokens"] += needs["tokens"]
        return BudgetShare(self, usd, needs["tokens"], found, pricing)


class BudgetShare(Admission):
    """The reservation of one request, until it ends."""

    __slots__ = ("_budget", "_input", "_pricing", "ended", "tokens", "usd")

    def __init__(self, budget: Budget, usd: float, tokens: float, input: int, pricing: Pricing | None) -> None:
        self._budget, self._input, self._pricing = budget, input, pricing
        self.usd = usd
        """The reserved cost in nano-dollars."""
        self.tokens = tokens
        """The reserved tokens of input and output."""
        self.ended = False
        """Whether the real usage was counted."""

    def close(self, answer: Any, error: LLMError | None) -> None:
        """The request has ended: count its usage."""
        settle, pricing = partial(self._budget.settle, self), self._pricing
        usage: Usage | None = getattr(answer, "usage", None)
        text: str | None = getattr(answer, "output_text", None)
        if usage is not None:
            cost = pricing(answer) if pricing is not None else None
            settle(self.usd if cost is None else cost, usage.total_tokens, usage.output_tokens)
        elif answer is None or (error is not None and not getattr(answer, "output", None)):
            settle(0, 0)
        elif text is None:
            settle(self.usd, self.tokens)
        else:  # without usage: a stream that was closed early, or a host that reports none
            estimate = Usage(input_tokens=self._input, output_tokens=-(-len(text) // 4))
            cost = None if pricing is None else pricing.of_usage(estimate)
            settle(self.usd if cost is None else cost, estimate.total_tokens)

    def __del__(self) -> None:
        if not self.ended:  # garbage-collected: the reservation may have been used
            self._budget.settle(self, self.usd, self.tokens)


def _amount(name: str, value: float) -> str:
    return f"${value / DOLLAR:.6g}" if name == "usd" else f"{value:.6g} {name}"


def _exceeded(name: str, spent: float, reserved: float, need: float, limit: float) -> BudgetError:
    facts = {"spent": _amount(name, spent), "reserved": _amount(name, reserved), "limit": _amount(name, limit)}
    if need > limit:
        what = f"one request may take {_amount(name, need)}, more than the whole budget of {facts['limit']}"
    elif name == "seconds":
        what = f"the budget of {facts['limit']} is used up: {facts['spent']} have passed since the first call"
    else:
        what = f"the budget of {facts['limit']} does not allow a request that may take {_amount(name, need)}: "
        what += f"{facts['spent']} spent, {facts['reserved']} reserved for requests in flight"
    error = BudgetError(what, hint="raise the budget, set a lower max_output_tokens, or shorten the input")
    error.limit_name, error.spent, error.reserved, error.limit = name, spent, reserved, limit
    return error
