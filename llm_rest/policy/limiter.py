"""Rate limiting: the limits in the headers of answers, and the time at which the next request may be sent.

Pure: the time is an argument; `rate_limit.py` waits. Before changing this file, know that answers arrive out of order,
so a header describes the moment when its request was sent: later requests are subtracted, and refilled amounts added.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

from ..unknown import as_list, as_object

# --- headers ----------------------------------------------------------------------------------------------------------


class Reading(NamedTuple):
    """One rate limit in the headers of an answer."""

    name: str
    """The limit as the headers name it, such as `requests` or `input tokens day`."""
    what: str
    """What is counted: `requests`, `tokens`, `input`, `output`, or `share` of an allowance of unknown size."""
    window: float
    """Seconds until a used-up limit is full again."""
    limit: float | None = None
    remaining: float | None = None
    reset: float | None = None
    """Seconds until the limit is full again."""


FAMILY = re.compile(r"(?:x-)?(?:anthropic-)?(?:(ratelimit|priority)|(tokenlimit)|(trial-endpoint-call))-(.+)")
_KINDS = {"limit", "remaining", "reset", "utilization"}
_WHAT = {
    **dict.fromkeys(("request", "requests", "req"), "requests"),
    **dict.fromkeys(("token", "tokens"), "tokens"),
    **dict.fromkeys(("input", "prompt"), "input"),
    **dict.fromkeys(("output", "generated", "completion"), "output"),
    "unified": "share",
}
_WINDOWS = {
    "second": 1.0,
    "minute": 60.0,
    "hour": 3600.0,
    "day": 86400.0,
    "month": 2592000.0,
    "5h": 18000.0,
    "7d": 604800.0,
}
_PLAIN = frozenset({"usage", "based", "cache", "adjusted", "dynamic", "oi"})
"""Words that only distinguish one limit from another."""


class _Name(NamedTuple):
    name: str
    what: str
    window: float | None
    kind: str


@lru_cache(maxsize=512)
def _classified(header: str) -> _Name | None:
    """The meaning of a header; `None` for one with an unknown word."""
    found = FAMILY.fullmatch(header)
    if found is None:
        return None
    words = re.split("[-_]", found[4])
    kinds = [word for word in words if word in _KINDS]
    rest = [word for word in words if word not in _KINDS]
    if len(kinds) != 1 or not all(word in _WHAT or word in _WINDOWS or word in _PLAIN for word in rest):
        return None
    named = [_WHAT[word] for word in rest if word in _WHAT]
    what = next(
        (word for word in named if word != "tokens"), named[0] if named else "tokens" if found[2] else "requests"
    )
    window = next((_WINDOWS[word] for word in rest if word in _WINDOWS), None)
    family = ["priority"] if found[1] == "priority" else []
    return _Name(" ".join([*family, *rest] if named else [*family, what, *rest]), what, window, kinds[0])


_NUMBER = re.compile(r"[0-9]{1,18}(?:\.[0-9]{0,18})?")
_GO = re.compile(r"(?:[0-9]{1,15}(?:\.[0-9]{0,15})?(?:ms|us|µs|ns|s|m|h|d))+")
_PIECE = re.compile(r"([0-9.]+)(ms|us|µs|ns|s|m|h|d)")
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_IETF = re.compile(r'\s*(?:"([^"]{0,100})"|([\w.-]{1,100}))((?:\s*;\s*[a-z]+=(?:"[^"]{0,100}"|[^;,\s]{1,100}))+)')
_PARAMETER = re.compile(r'([a-z]+)=("[^"]*"|[^;,\s]+)')


def seconds_until(text: str, now: float) -> float | None:
    """Seconds until a reset, from any notation; `now` is in seconds since 1970. `None` for an invalid value."""
    text = text.strip()
    if _NUMBER.fullmatch(text):
        number = float(text)
        return max(0.0, number / 1000 - now if number > 1e12 else number - now if number > 1e9 else number)
    if _GO.fullmatch(text):
        return sum(float(number) * _UNITS[unit] for number, unit in _PIECE.findall(text))
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now)


def readings(headers: Mapping[str, str], now: float, windows: Mapping[str, float] = {}) -> list[Reading]:
    """The rate limits in the headers of an answer, by lower-case names. Unknown headers are ignored.

    `now` is when the answer arrived, in seconds since 1970; `windows` are the windows that no header names, in seconds.
    """
    found: dict[str, dict[str, Any]] = {}
    for header, text in headers.items():
        name = _classified(header)
        value = None if name is None else _value(name.kind, text, now)
        if name is not None and value is not None:
            of = found.setdefault(name.name, {"what": name.what, "window": name.window})
            of |= {"limit": 1.0, "remaining": max(0.0, 1 - value)} if name.kind == "utilization" else {name.kind: value}
    for header in ("ratelimit-policy", "ratelimit"):
        for quoted, bare, parameters in _IETF.findall(headers.get(header, "")):
            facts = {key: text.strip('"') for key, text in _PARAMETER.findall(parameters)}
            of = found.setdefault(f"requests {quoted or bare}", {"what": "requests", "window": None})
            for key, kind in (("q", "limit"), ("r", "remaining"), ("t", "reset"), ("w", "window")):
                if _NUMBER.fullmatch(facts.get(key, "")) and facts.get("qu", "requests") == "requests":
                    of[kind] = float(facts[key])
    for dynamic in [key for key in found if " dynamic" in key]:
        found.pop(dynamic.replace(" dynamic", ""), None)  # the dynamic limit is the one that applies
    for of in found.values():
        of["window"] = of["window"] or windows.get(of["what"], 60.0)
    return [Reading(name, **of) for name, of in found.items() if len(of) > 2]


def _value(kind: str, text: str, now: float) -> float | None:
    if kind == "reset":
        return seconds_until(text, now)
    text = text.partition(",")[0].strip()
    return float(text) if _NUMBER.fullmatch(text) else None


def quota_readings(body: Any) -> list[Reading]:
    """The rate limits in the body of Google's 429 responses (`QuotaFailure`), all of them used up."""
    found: list[Reading] = []
    for detail in map(as_object, as_list(as_object(as_object(body).get("error")).get("details"))):
        for one in map(as_object, as_list(detail.get("violations"))):
            name, value = str(one.get("quotaId", "")), str(one.get("quotaValue", ""))
            if name and _NUMBER.fullmatch(value):
                what = "requests" if "Token" not in name else "input" if "Input" in name else "tokens"
                window = 86400.0 if "PerDay" in name else 60.0
                found.append(Reading(f"{what} {name}", what, window, float(value), 0.0))
    return found


# --- scheduling of requests ------------------------------------------------------------------------------------------

COUNTED = ("requests", "tokens", "input", "output")
Counts = tuple[float, float, float, float]
"""Requests, tokens, input tokens and output tokens."""


def counts_of(input: float, output: float, requests: float = 1) -> Counts:
    """The amounts of one request, one for each kind of limit."""
    return requests, input + output, input, output


class Bucket:
    """A token bucket for one limit: `level` is the remaining amount after all requests sent.

    It refills continuously, or at once at the end of a window, which is learned from `reset` and from jumps.
    """

    __slots__ = ("_corrected", "_early", "_rolled", "at", "full_at", "level", "limit", "name", "rate", "what", "window")

    def __init__(self, name: str, what: str, limit: float, window: float, now: float) -> None:
        self.name, self.what, self.limit, self.window = name, what, limit, window
        self.level, self.at = limit, now
        self.rate = limit / window
        self.full_at: float | None = None
        """When it is full again, where it fills at once: infinite where that is not known; `None` where it fills continuously."""
        self._corrected = self._rolled = -math.inf
        self._early = 0.0  # taken so shortly before the refill that it may count after it

    def fill(self, now: float) -> None:
        """Add the refilled amount."""
        if self.full_at is None:
            self.level = min(self.full, self.level + self.rate * (now - self.at))
        elif now >= self.full_at:
            self._rolled, self.level, self._early = self.full_at, self.limit - self._early, 0.0
            self.full_at += self.window * (1 + (now - self.full_at) // self.window)
        self.at = now

    def take(self, amount: float, now: float) -> None:
        """Subtract the amount of a request; negative for a correction."""
        self.level = min(self.full, self.level - amount)
        if self.full_at is not None and now > self.full_at - self.slack - JITTER:
            self._early += amount

    @property
    def slack(self) -> float:
        """Seconds added to a time when it is full: times are often whole seconds, and early requests are rejected."""
        return min(1.0, self.window / 20)

    @property
    def full(self) -> float:
        """The highest level: with a small reserve for continuous refill, because requests may overtake each other."""
        return self.limit if self.full_at is not None else self.limit - min(0.01 * self.limit + 1, self.limit / 4)

    def delay(self, amount: float, now: float) -> float:
        """Seconds until this amount is available. An amount above the capacity is sent when the bucket is full."""
        self.fill(now)
        missing = min(amount, self.full) - self.level
        if self.full_at == math.inf:
            return 0.0
        if missing <= 1e-9:
            return 0.0 if self.limit else math.inf
        return (
            (self.full_at or now) - now if self.full_at is not None else missing / self.rate if self.rate else math.inf
        )

    def read(self, reading: Reading, sent: float, since: tuple[float, float], now: float) -> None:
        """Correct it by an answer to a request sent at `sent`; `since` is the amount spent after that, at least and at most."""
        self.fill(now)
        if reading.limit is not None and reading.limit != self.limit:
            self.rate = self.rate * reading.limit / self.limit if self.limit else reading.limit / self.window
            self.level, self.limit = self.level + reading.limit - self.limit, reading.limit
            self.level = min(self.level, self.full)
        remaining = reading.remaining
        if remaining is None or sent < self._rolled:
            return
        free = 0.0 if self.full_at is not None else self.rate * (now - sent)
        level = remaining + free - since[0]
        least = min(self.limit, remaining + free) - since[1]  # it may have been full meanwhile
        fixed = self._is_fixed(reading, least)
        if fixed:
            full_at = now + (self.window if reading.reset is None else reading.reset + self.slack)
            later = self.full_at is None or self.full_at <= now
            self.full_at = full_at if later else min(full_at, self.full_at or full_at)
        elif fixed is False:
            self.full_at = None
        elif reading.reset is not None and self.full_at is not None:
            self.full_at = min(self.full_at, now + reading.reset + self.slack)
        if level < self.level:
            self._corrected = now if level < self.level - 0.01 * self.limit else self._corrected
            self.level = level
        elif sent > self._corrected:
            self.level = max(self.level, min(least, remaining) - (self.limit - self.full))

    def _is_fixed(self, reading: Reading, level: float) -> bool | None:
        """Whether it refills at once, as far as one answer shows."""
        if reading.reset is None:
            return True if self.full_at == math.inf or level - self.level > self.limit / 2 else None
        used = 1 - min(1.0, (reading.remaining or 0) / self.limit) if self.limit else 1.0
        apart = abs(reading.reset - used * self.window)
        if apart > max(2.0, 0.2 * self.window):
            return True
        # Where more than half of the limit is used, both kinds may look the same.
        return False if used < 0.5 and apart <= max(2.0, 0.1 * self.window) and used * self.window > 2 else None


class Ticket:
    """An admitted request, until its end."""

    __slots__ = ("counts", "ended", "estimate", "sent", "settled")

    def __init__(self, counts: Counts, estimate: float, sent: float, settled: list[float]) -> None:
        self.counts, self.estimate, self.sent, self.settled = counts, estimate, sent, tuple(settled)
        self.ended = False


FIRST_CONCURRENCY = 4
JITTER = 0.25
"""Seconds by which requests may overtake each other on their way."""
LONGEST_PROBE = 60.0


class Limiter:
    """A rate limiter for one vendor, base URL, key and model, without clock, lock and waiting.

    `delay` is the time until the next request may be sent, `admit` counts it, `read` and `limited` process the head of
    its answer, and `settle` its end.
    """

    def __init__(
        self, given: Mapping[str, float], concurrency: int | None, *, now: float, reserves: bool = False
    ) -> None:
        self.buckets = {
            f"given {what}": Bucket(f"given {what}", what, limit, 60.0, now) for what, limit in given.items()
        }
        self.in_flight = 0
        self._ratio = 1.0  # counted input tokens for each estimated one
        self._output, self._outputs = 0.0, 0  # the usual number of output tokens, and how many answers it is from
        self._most = concurrency
        self._window = float(FIRST_CONCURRENCY)
        self._reserves = reserves
        self._spent, self._settled = [0.0] * 4, [0.0] * 4
        self._log: list[tuple[float, tuple[float, ...]]] = []  # spent amounts, and their times
        self._paused, self._limited, self._unexplained = -math.inf, -math.inf, -math.inf
        self._probes, self._probing = 0, False
        self.reason = ""
        """The reason for the wait of the last request."""

    def counts(self, estimate: float, most_output: int | None) -> Counts:
        """The amounts of a request with so many estimated input tokens."""
        output = math.inf if most_output is None else most_output
        if most_output is None or not self._reserves:
            output = min(output, self._output * (1 + 2 / math.sqrt(max(self._outputs, 1))))
        return counts_of(estimate * self._ratio, output)

    def delay(self, counts: Counts, now: float) -> float | None:
        """Seconds until a request may be sent, 0 for now; `None` until another request ends."""
        if now < self._paused:
            self.reason = "the pause that the vendor asked for"
            return self._paused - now
        most = 1 if self._probing else self._most or math.inf
        if not self.buckets:
            most = min(most, self._window)
        if self.in_flight >= max(1, int(min(most, 1e9))):
            self.reason = f"{self.in_flight} requests at once"
            return None
        longest = 0.0
        for bucket in self.buckets.values():
            if bucket.what in COUNTED and (wait := bucket.delay(counts[COUNTED.index(bucket.what)], now)) > longest:
                longest = wait
                self.reason = limit_text(bucket)
        return longest

    def admit(self, counts: Counts, estimate: float, now: float) -> Ticket:
        """Count a request that is being sent."""
        sent = now
        self.in_flight += 1
        self._spend(counts, now)
        if self._log and now - self._log[-1][0] < JITTER / 4:
            now = self._log.pop()[0]
        self._log.append((now, tuple(self._spent)))
        if len(self._log) > 8192:
            del self._log[:4096]
        return Ticket(counts, estimate, sent, self._settled)

    def _spend(self, counts: Sequence[float], now: float, *, given_only: bool = False) -> None:
        for i, what in enumerate(COUNTED):
            if not given_only:
                self._spent[i] += counts[i]
            for bucket in self.buckets.values():
                if bucket.what == what and (bucket.name.startswith("given") or not given_only):
                    bucket.take(counts[i], now)

    def read(self, ticket: Ticket, found: list[Reading], now: float) -> None:
        """Process the head of an answer."""
        for one in found:
            bucket = self.buckets.get(one.name)
            if one.limit is None or one.what not in COUNTED:
                continue
            i = COUNTED.index(one.what)
            if self._reserves or one.what in ("requests", "input"):
                since = self._since(i, ticket.sent + JITTER), self._since(i, ticket.sent - JITTER)
            else:  # the tokens of an answer are counted at its end
                since = self._spent[i] - ticket.settled[i], self._spent[i] - ticket.settled[i]
            if bucket is None:
                bucket = self.buckets[one.name] = Bucket(one.name, one.what, one.limit, one.window, now)
                bucket.level = min(bucket.full, one.limit if one.remaining is None else one.remaining) - since[1]
            bucket.read(one, ticket.sent, since, now)

    def _since(self, i: int, moment: float) -> float:
        """The amount spent after a moment."""
        found = bisect_right(self._log, moment, key=itemgetter(0))
        return self._spent[i] - (self._log[found - 1][1][i] if found else 0.0)

    def succeeded(self, ticket: Ticket) -> None:
        """A request was answered: allow more concurrency, and end probing if it was sent since."""
        if ticket.sent >= self._limited:
            self._probes, self._probing = 0, False
        self._window += 1 / self._window

    def slower(self) -> None:
        """The vendor is overloaded: reduce concurrency, where no limit is known."""
        self._window = max(1.0, self._window / 2)

    def limited(self, ticket: Ticket, retry_after: float | None, found: list[Reading], now: float) -> None:
        """Process a 429, or the like: wait as the vendor requires, or probe with one request after a growing pause."""
        self._probing = True
        used_up = [one for one in found if one.remaining is not None and one.remaining < 1 and one.limit]
        if ticket.sent >= self._limited:  # ignore other requests that were sent together
            self._limited = now
            self.slower()
            self._probes += 1
            if not used_up:
                if now - self._unexplained < 60:
                    for bucket in self.buckets.values():
                        bucket.rate /= 2
                self._unexplained = now
            if retry_after is None and self._probes > 2:  # what fills continuously would have let one through
                for name in {one.name for one in used_up if one.reset is None} & self.buckets.keys():
                    self.buckets[name].full_at = math.inf
        wait = retry_after
        if wait is None:
            known = [one.reset for one in used_up if one.reset is not None and one.what == "share"]
            wait = max(
                known, default=0.0 if used_up and self._probes < 2 else min(LONGEST_PROBE, 2.0 ** (self._probes - 1))
            )
        self._paused = max(self._paused, now + wait)

    def settle(self, ticket: Ticket, usage: tuple[int, int] | None, now: float) -> None:
        """A request has ended with this many input and output tokens; `None` means unknown."""
        if ticket.ended:
            return
        ticket.ended = True
        self.in_flight -= 1
        actual = ticket.counts if usage is None else counts_of(*usage)
        if usage is not None and usage[0] and ticket.estimate:
            self._ratio += 0.2 * (min(max(usage[0] / ticket.estimate, 0.1), 10) - self._ratio)
            self._outputs += 1
            self._output += (usage[1] - self._output) / min(self._outputs, 20)
        for i in range(4):
            self._settled[i] += actual[i]
        # A vendor that reserves what an answer may take keeps it, as far as is known; the next header tells.
        self._spend([actual[i] - ticket.counts[i] for i in range(4)], now, given_only=self._reserves)


_PER = {1.0: "second", 60.0: "minute", 3600.0: "hour", 86400.0: "day", 2592000.0: "month"}


def limit_text(bucket: Bucket) -> str:
    """A limit as text, such as `500 requests per minute`."""
    what = {"input": "input tokens", "output": "output tokens"}.get(bucket.what, bucket.what)
    return f"{bucket.limit:g} {what} per {_PER.get(bucket.window, f'{bucket.window:g} s')}"
