"""A vendor with a hidden rate limit, on a virtual clock, and callers who ask as fast as the limiter lets them."""

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


def go(seconds: float) -> str:
    """A duration as Go writes it."""
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    return f"{int(seconds // 60)}m{seconds % 60:.3f}s" if seconds >= 60 else f"{seconds:.3f}s"


@dataclass
class Form:
    """How a vendor limits, and how its headers say so."""

    vendor: str
    write: Callable[[Hidden, float], dict[str, str]]
    fixed: bool = False
    requests: float = 600
    window: float = 60
    tokens: float | None = None
    """Tokens per minute, where that is limited too."""
    output: float | None = None
    """Output tokens per minute, counted when an answer ends."""
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

    def reset(self, now: float) -> float:
        """Seconds until it is full."""
        if self.fixed:
            return self.window - now % self.window
        return (self.limit - self.level) / self.limit * self.window

    def wait(self, amount: float, now: float) -> float:
        if self.fixed:
            return self.reset(now)
        return max(0.0, (amount - self.level) / self.limit * self.window)


class Hidden:
    """The vendor."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.levels = {"requests": Level(form.requests, form.window, form.fixed)}
        if form.tokens:
            self.levels["tokens"] = Level(form.tokens, 60, form.fixed)
        if form.output:
            self.levels["output"] = Level(form.output, 60, form.fixed)
        self.served = {"requests": 0.0, "tokens": 0.0, "output": 0.0}
        self.refused = 0

    def ask(self, tokens: float, now: float) -> float | None:
        """Seconds until it would be served; `None` where it is."""
        needs = {"requests": 1.0, "tokens": tokens, "output": 1.0}
        waits = []
        for what, level in self.levels.items():
            level.fill(now)
            if level.level < needs[what] - 1e-9:
                waits.append(level.wait(needs[what], now))
        if waits:
            self.refused += 1
            return max(waits)
        for what in ("requests", "tokens"):
            self.served[what] += needs[what]
            if what in self.levels:
                self.levels[what].level -= needs[what]
        return None

    def end(self, output: float, now: float) -> None:
        self.served["output"] += output
        if "output" in self.levels:
            self.levels["output"].fill(now)
            self.levels["output"].level -= output

    def headers(self, now: float) -> dict[str, str]:
        for level in self.levels.values():
            level.fill(now)
        return {"date": formatdate(WALL + now, usegmt=True), **self.form.write(self, now)}

    def of(self, what: str, now: float) -> tuple[str, str, float]:
        level = self.levels[what]
        return f"{level.limit:g}", f"{max(0, int(level.level))}", level.reset(now)


def simulate(form: Form, *, concurrency: int, seconds: float = 180, seed: int = 0) -> tuple[float, float]:
    """How much of the limit that binds was used after the first minute, and which part of all answers was a 429."""
    chance, vendor = random.Random(seed), Hidden(form)
    limiter = Limiter({}, None, now=0, reserves=form.rules.reserves_output)
    events: list[tuple[float, int, Callable[[float], None]]] = []
    idle = [concurrency]
    answered = [0]
    woken: list[float] = []

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
        tokens = 100 + (200 if form.rules.reserves_output else output)
        wait = vendor.ask(tokens, now)
        headers = vendor.headers(now)
        if wait is not None:
            at(now + 0.03, lambda then: refuse(then, ticket, headers, wait))
            return
        took = chance.uniform(0.5, 5)
        at(now + took, lambda then: end(then, ticket, headers, output))

    def end(now: float, ticket: Any, headers: dict[str, str], output: int) -> None:
        vendor.end(output, now)
        answered[0] += 1
        limiter.read(ticket, told(vendor.headers(now) if form.late else headers, now), now)
        limiter.succeeded(ticket)
        limiter.settle(ticket, (100, output), now)
        idle[0] += 1
        pump(now)

    def told(headers: dict[str, str], now: float) -> Any:
        return readings(headers, WALL + now, form.rules.windows)

    def refuse(now: float, ticket: Any, headers: dict[str, str], wait: float) -> None:
        answered[0] += 1
        quotas = []
        if form.vendor == "google":
            found = {"quotaId": "GenerateRequestsPerMinutePerProjectPerModel", "quotaValue": f"{form.requests:g}"}
            quotas = quota_readings({"error": {"details": [{"violations": [found]}]}})
        found = told(headers, now) + quotas
        limiter.read(ticket, found, now)
        limiter.limited(ticket, wait if form.retry_after else None, found, now)
        limiter.settle(ticket, (0, 0), now)
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


def _openai(v: Hidden, now: float) -> dict[str, str]:
    found = {}
    for what in v.levels:
        limit, remaining, reset = v.of(what, now)
        found |= {f"x-ratelimit-limit-{what}": limit, f"x-ratelimit-remaining-{what}": remaining}
        found[f"x-ratelimit-reset-{what}"] = go(reset)
    return found


def _anthropic(v: Hidden, now: float) -> dict[str, str]:
    found = {}
    for what in v.levels:
        limit, remaining, reset = v.of(what, now)
        name = {"output": "output-tokens"}.get(what, what)
        if what != "requests":
            remaining = str(round(int(remaining), -3))
        moment = datetime.fromtimestamp(WALL + now + reset, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        found |= {
            f"anthropic-ratelimit-{name}-{kind}": text
            for kind, text in (("limit", limit), ("remaining", remaining), ("reset", moment))
        }
    return found


def _named(
    limit: str, remaining: str, reset: str | None = None, scale: Callable[[float], str] = "{:.0f}".format
) -> Any:
    def write(v: Hidden, now: float) -> dict[str, str]:
        most, left, seconds = v.of("requests", now)
        return {limit: most, remaining: left} | ({reset: scale(seconds + now)} if reset else {})

    return write


def _relative(prefix: str, form: str = "{:.3f}") -> Any:
    def write(v: Hidden, now: float) -> dict[str, str]:
        limit, remaining, reset = v.of("requests", now)
        return {
            prefix.format("limit"): limit,
            prefix.format("remaining"): remaining,
            prefix.format("reset"): form.format(reset),
        }

    return write


def _ietf(v: Hidden, now: float) -> dict[str, str]:
    limit, remaining, reset = v.of("requests", now)
    return {"ratelimit": f'"default";r={remaining};t={reset:.0f}', "ratelimit-policy": f'"default";q={limit};w=60'}


FORMS = {
    "openai": Form("openai", _openai),
    "openai tokens": Form("openai", _openai, requests=6000, tokens=120_000),
    "openai late": Form("openai", _openai, late=True),
    "azure": Form("azure_openai", _named("x-ratelimit-limit-requests", "x-ratelimit-remaining-requests")),
    "groq": Form("groq", _openai, requests=600 * 1440, window=86400, tokens=60_000),
    "anthropic": Form("anthropic", _anthropic),
    "anthropic output": Form("anthropic", _anthropic, requests=6000, output=60_000),
    "google": Form("google", lambda v, now: {}),
    "mistral": Form(
        "mistral",
        _named("x-ratelimit-limit-req-minute", "x-ratelimit-remaining-req-minute"),
        fixed=True,
        retry_after=False,
    ),
    "cerebras": Form("cerebras", _relative("x-ratelimit-{}-requests-minute")),
    "together": Form("together", _relative("x-ratelimit-{}"), requests=10, window=1),
    "fireworks": Form("fireworks", _named("x-ratelimit-limit-requests", "x-ratelimit-remaining-requests")),
    "sambanova": Form(
        "sambanova",
        _named(
            "x-ratelimit-limit-requests",
            "x-ratelimit-remaining-requests",
            "x-ratelimit-reset-requests",
            lambda s: f"{WALL + s:.0f}",
        ),
        fixed=True,
    ),
    "openrouter": Form(
        "openrouter",
        _named("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", lambda s: f"{(WALL + s) * 1000:.0f}"),
        fixed=True,
    ),
    "xai": Form("xai", _named("x-ratelimit-limit-requests", "x-ratelimit-remaining-requests"), retry_after=False),
    "cohere": Form(
        "cohere",
        _named(
            "x-trial-endpoint-call-limit",
            "x-trial-endpoint-call-remaining",
            "x-trial-endpoint-call-reset",
            lambda s: f"{WALL + s:.0f}",
        ),
        fixed=True,
    ),
    "ietf": Form("huggingface", _ietf, fixed=True),
    "ietf continuous": Form("huggingface", _ietf),
}
