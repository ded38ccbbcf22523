"""A vendor with a hidden rate limit, on a virtual clock, and callers that send as fast as the limiter lets them."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import formatdate
from typing import Any

from llm_rest.policy.limiter import Limiter, quota_readings, readings
from llm_rest.vendors.rows import VENDORS, LimitRules

WALL = 1_790_000_000.0


@dataclass
class Form:
    """How a vendor limits, and the names and values of its headers."""

    vendor: str
    header: str = ""
    """The name of a header, of a `field` (limit, remaining, reset) of `what` is limited; without it there are none."""
    reset: Callable[[float, float], str] | None = None
    """How a number of seconds until the reset is written, at a time."""
    limits: dict[str, tuple[float, float]] = field(default_factory=lambda: {"requests": (600, 60)})
    """The amount and the seconds of a limit. Output tokens are counted when an answer ends."""
    fixed: bool = False
    """Whether all of a limit comes back at the end of each window, and not continuously."""
    retry_after: bool = True
    late: bool = False
    """Whether headers are written at the end of an answer."""

    @property
    def rules(self) -> LimitRules:
        return VENDORS[self.vendor].limits if self.vendor in VENDORS else LimitRules()


@dataclass
class Level:
    limit: float
    window: float
    fixed: bool
    level: float = field(init=False)
    at: float = 0.0

    def __post_init__(self) -> None:
        self.level = self.limit

    def fill(self, now: float) -> None:
        if self.fixed:
            if now // self.window > self.at // self.window:
                self.level = self.limit
        else:
            self.level = min(self.limit, self.level + (now - self.at) * self.limit / self.window)
        self.at = now

    def wait(self, amount: float, now: float) -> float:
        """Seconds until there is so much."""
        if self.fixed:
            return self.window - now % self.window
        return max(0.0, (amount - self.level) / self.limit * self.window)


class Hidden:
    """The vendor."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.levels = {what: Level(limit, window, form.fixed) for what, (limit, window) in form.limits.items()}
        self.served: dict[str, float] = dict.fromkeys(("requests", "tokens", "output-tokens"), 0.0)
        self.refused = 0

    def ask(self, tokens: float, now: float) -> float | None:
        """Seconds until it would be served; `None` where it is."""
        needs = {"requests": 1.0, "tokens": tokens, "output-tokens": 1.0}
        waits = []
        for what, level in self.levels.items():
            level.fill(now)
            if level.level < needs[what] - 1e-9:
                waits.append(level.wait(needs[what], now))
        if waits:
            self.refused += 1
            return max(waits)
        for what in ("requests", "tokens"):
            self._take(what, needs[what])
        return None

    def end(self, output: float, now: float) -> None:
        for level in self.levels.values():
            level.fill(now)
        self._take("output-tokens", output)

    def _take(self, what: str, amount: float) -> None:
        self.served[what] += amount
        if what in self.levels:
            self.levels[what].level -= amount

    def headers(self, now: float) -> dict[str, str]:
        form, found = self.form, {"date": formatdate(WALL + now, usegmt=True)}
        for what, level in self.levels.items() if form.header else ():
            level.fill(now)
            left, seconds = max(0, int(level.level)), level.wait(level.limit, now)
            if what == "output-tokens":
                left = round(left, -3)
            if form.header == "ratelimit":
                return found | {
                    "ratelimit": f'"a";r={left};t={seconds:.0f}',
                    "ratelimit-policy": f'"a";q={level.limit};w=60',
                }
            facts = {"limit": f"{level.limit:g}", "remaining": f"{left}"}
            facts |= {"reset": form.reset(seconds, now)} if form.reset else {}
            found |= {form.header.format(field=name, what=what): text for name, text in facts.items()}
        return found


def simulate(form: Form, *, concurrency: int, seconds: float = 180, seed: int = 0) -> tuple[float, float]:
    """How much of the limit that binds was used after the first minute, and which part of all answers was a 429."""
    chance, vendor = random.Random(seed), Hidden(form)
    limiter = Limiter({}, None, now=0, reserves=form.rules.reserves_output)
    events: list[tuple[float, int, Callable[[float], None]]] = []
    idle, answered, woken = [concurrency], [0], list[float]()

    def at(when: float, what: Callable[[float], None]) -> None:
        heapq.heappush(events, (when, chance.getrandbits(60), what))

    def pump(now: float) -> None:
        if woken and woken[0] <= now:
            woken.clear()
        while idle[0]:
            output = chance.randint(20, 180)
            estimate = chance.uniform(0.8, 1.2) * 100
            counts = limiter.counts(estimate, 200)
            wait = limiter.delay(counts, now)
            if wait is None:
                return
            if wait > 0:
                if not woken or now + wait < woken[0]:
                    woken[:] = [now + wait]
                    at(now + wait, pump)
                return
            idle[0] -= 1
            ticket = limiter.admit(counts, estimate, now)
            at(now + chance.uniform(0.01, 0.08), lambda then, t=ticket, o=output: serve(then, t, o))

    def serve(now: float, ticket: Any, output: int) -> None:
        wait = vendor.ask(100 + (200 if form.rules.reserves_output else output), now)
        headers = vendor.headers(now)
        took = 0.03 if wait is not None else chance.uniform(0.5, 5)
        at(now + took, lambda then: finish(then, ticket, headers, output, wait))

    def finish(now: float, ticket: Any, headers: dict[str, str], output: int, wait: float | None) -> None:
        answered[0] += 1
        if wait is None:
            vendor.end(output, now)
        found = readings(vendor.headers(now) if form.late else headers, WALL + now, form.rules.windows)
        if wait is not None and form.vendor == "google":
            quota = {"quotaId": "GenerateRequestsPerMinutePerProjectPerModel", "quotaValue": "600"}
            found += quota_readings({"error": {"details": [{"violations": [quota]}]}})
        limiter.read(ticket, found, now)
        if wait is None:
            limiter.succeeded(ticket)
        else:
            limiter.limited(ticket, wait if form.retry_after else None, found, now)
        limiter.settle(ticket, (0, 0) if wait is not None else (100, output), now)
        idle[0] += 1
        pump(now)

    first: dict[str, float] = {}
    at(0.0, pump)
    at(60.0, lambda now: first.update(vendor.served))
    while events and events[0][0] < seconds:
        now, _, what = heapq.heappop(events)
        what(now)
        if idle[0] and not woken and not limiter.in_flight:
            pump(now)
    used = max(
        (vendor.served[what] - first[what]) / (level.limit * (seconds - 60) / level.window)
        for what, level in vendor.levels.items()
    )
    return used, vendor.refused / max(1, answered[0])


def go(seconds: float, now: float) -> str:
    """A duration as Go writes it."""
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    return f"{int(seconds // 60)}m{seconds % 60:.3f}s" if seconds >= 60 else f"{seconds:.3f}s"


def plain(seconds: float, now: float) -> str:
    return f"{seconds:.3f}"


def at(shown: Callable[[float], str]) -> Callable[[float, float], str]:
    """A moment, as this shows it."""
    return lambda seconds, now: shown(WALL + now + seconds)


moment = at(lambda when: datetime.fromtimestamp(when, UTC).isoformat(timespec="seconds").replace("+00:00", "Z"))
unix, milliseconds = at(lambda when: f"{when:.0f}"), at(lambda when: f"{when * 1000:.0f}")
X, ANTHROPIC = "x-ratelimit-{field}-{what}", "anthropic-ratelimit-{what}-{field}"
DAILY: dict[str, tuple[float, float]] = {"requests": (600 * 1440, 86400), "tokens": (60_000, 60)}
FORMS = {
    "openai": Form("openai", X, go),
    "openai tokens": Form("openai", X, go, {"requests": (6000, 60), "tokens": (120_000, 60)}),
    "openai late": Form("openai", X, go, late=True),
    "azure": Form("azure_openai", X),
    "groq": Form("groq", X, go, DAILY),
    "anthropic": Form("anthropic", ANTHROPIC, moment),
    "anthropic output": Form("anthropic", ANTHROPIC, moment, {"requests": (6000, 60), "output-tokens": (60_000, 60)}),
    "google": Form("google"),
    "mistral": Form("mistral", "x-ratelimit-{field}-req-minute", fixed=True, retry_after=False),
    "cerebras": Form("cerebras", "x-ratelimit-{field}-requests-minute", plain),
    "together": Form("together", "x-ratelimit-{field}", plain, {"requests": (10, 1)}),
    "sambanova": Form("sambanova", X, unix, fixed=True),
    "openrouter": Form("openrouter", "x-ratelimit-{field}", milliseconds, fixed=True),
    "xai": Form("xai", X, retry_after=False),
    "ietf": Form("huggingface", "ratelimit", fixed=True),
    "ietf continuous": Form("huggingface", "ratelimit"),
}
