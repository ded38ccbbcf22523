"""The modes of a bulk run, and what a run would cost and take: each row a call of its own, a background response with a
completion window, or a vendor's batches.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field

from ..client import endpoints
from ..client.generate import generate, interrupted_reply, raise_if_failed
from ..errors import ConfigError
from ..responses.estimate import estimate_tokens
from ..responses.response import Usage
from .dialects import DIALECTS, WINDOWS
from .engine import Call, Engine, encoded
from .rows import SequenceSource

if TYPE_CHECKING:
    from ..client.call import Caller
    from ..client.reply import Reply
    from .engine import Job, Rules
    from .journal import Journal
    from .rows import Reader, Row, Source
    from .status import Totals

Mode = Literal["live", "background", "vendor", "auto"]

AUTO_ROWS = 1_000
"""The number of rows above which the mode `auto` uses batches."""
POLL_SECONDS = 30.0
"""The polling interval of a background response, in seconds."""
_PROBLEMS = 10


def call_of(job: Job, window: str | None = None) -> Call:
    """The call for a row: an ordinary one; with a `window` a background response within that time."""
    if window is not None and window not in WINDOWS:
        raise ConfigError(f"completion_window is {' or '.join(WINDOWS)}, not {window!r}")
    if window is not None and job.form is not None:
        raise ConfigError("output= is not read from background responses", hint="use mode='vendor' or mode='live'")
    more: dict[str, Any] = {} if job.form is None else {"output": job.form}
    if window is not None:
        more = {"background": True, "background_options": {"completion_window": window}}
    caller, site = job.caller, job.site

    async def call(row: Row) -> Reply:
        if window is None and row.vendor_id is None:
            return await generate(caller, row.input, {**row.options, **more}, site)
        of_row = {"model": row.options["model"]} if row.options.get("model") else {}
        target, _ = caller.resolve({**of_row})
        if window is not None and (target.vendor, target.endpoint.wire) != ("openai", "openai_responses"):
            raise ConfigError(f"{target.vendor} has no completion windows", hint="use mode='vendor' or mode='live'")
        if row.vendor_id is None:
            return await generate(caller, row.input, {**row.options, **more}, site)
        with caller.call() as waiting:
            await caller.transport.sleep(POLL_SECONDS)
        if waiting.stopped:
            return interrupted_reply(target, ())
        found = raise_if_failed(target, await endpoints.stored(caller, row.vendor_id, of_row, site))
        if window is not None and found.info.cost is not None:
            found.info.cost = round(found.info.cost * WINDOWS[window])
        return found

    return call


def engine_of(mode: str, window: str, job: Job) -> Engine:
    """The engine of a run in this mode."""
    caller, journal = job.caller, job.journal
    if mode not in ("live", "background", "vendor", "auto"):
        raise ConfigError(f"mode is live, background, vendor or auto, not {mode!r}")
    if mode in ("vendor", "auto") and journal is None:
        raise ConfigError(f"mode={mode!r} needs a journal", hint="give journal= or output_file=")
    if mode != "live" and (caller.fallback is not None or caller.settings.cache is not None):
        which = "cache=" if caller.fallback is None else "a fallback"
        raise ConfigError(f"{which} is for mode='live'", hint="give a client of one model without it")
    open = [] if journal is None else journal.batches()
    if journal is not None and (mode == "vendor" or (mode == "auto" and (open or _is_many(job, journal)))):
        from .vendor_run import VendorEngine  # not needed by most runs

        return VendorEngine(job, journal)
    if open:
        what = f"{len(open)} batches of this run are at their vendor, and mode={mode!r} would send their rows again"
        raise ConfigError(what, hint="use mode='vendor', as the run began")
    return Engine(job, call_of(job, window if mode == "background" else None))


def _is_many(job: Job, journal: Journal) -> bool:
    """Whether the vendor of the model has a batch API, and the input has many rows."""
    target = job.caller.targets.find(job.caller.defaults.get("model"))
    if target.vendor not in DIALECTS or target.endpoint.wire not in DIALECTS[target.vendor].wires:
        return False
    if isinstance(job.source, SequenceSource):
        return (job.source.total(0, 0) or 0) > AUTO_ROWS
    return next(islice(job.source.entries(journal), AUTO_ROWS, None), None) is not None


# --- estimates --------------------------------------------------------------------------------------------------------


class BulkEstimate(Struct):
    """An estimate of a run, returned by `estimate`: rows, tokens, cost and time."""

    rows: int = 0
    """The number of rows of the input."""
    invalid: int = 0
    """The number of rows that would fail without being sent."""
    duplicates: int = 0
    """The number of rows that are equal to an earlier one."""
    input_tokens: int = 0
    """The estimated number of input tokens: a quarter of the characters."""
    output_tokens: int = 0
    """About how many tokens the outputs will have: as many per row as the rows so far had, else the most that the rows allow
    (`max_output_tokens`); 0 where neither is known."""
    cost: int | None = None
    """The estimated cost in nano-dollars; `None` without a price file, and where it has no price for a row."""
    seconds: float | None = None
    """How long the run takes at the rate limits that are given, or that the journal has from the answers so far; `None` where
    none is known."""
    limit: str = ""
    """The rate limit that determines `seconds`, such as `or more at 500 requests per minute`."""
    losses: dict[str, int] = field(default_factory=dict[str, int])
    """The conversion losses of the requests, and how often each occurs."""
    problems: list[str] = field(default_factory=list[str])
    """The errors of the first invalid rows."""


def cost_factor(mode: str, window: str, vendors: set[str]) -> float:
    """The price of a token in this mode relative to an ordinary call."""
    if mode == "background":
        return WINDOWS.get(window, 1.0)
    return max(DIALECTS[name].cost_factor for name in vendors) if mode == "vendor" and vendors <= {*DIALECTS} else 1.0


def estimated(
    caller: Caller, source: Source, reader: Reader, rules: Rules, totals: Totals, mode: str, window: str
) -> BulkEstimate:
    """What a run over this input would be; `totals` are those of the run so far."""
    from ..policy.limiter import COUNTED, counts_of  # which runs do not need
    from ..policy.rate_limit import LIMITS

    found, keys, costs = BulkEstimate(), set[bytes](), list[int | None]()
    counts: dict[str, list[float]] = {}
    usual = round(totals.output_tokens / totals.done) if totals.done else 0
    for entry in source.entries(None):
        if rules.limit is not None and entry.n > rules.limit:
            break
        if isinstance(entry.raw, bytes) and not entry.raw.strip():
            continue
        found.rows += 1
        try:
            row = reader.read(entry)
            sent = encoded(caller, row)
        except ConfigError as problem:
            found.invalid += 1
            if len(found.problems) < _PROBLEMS:
                place = f"{source.word} {entry.n}: "
                found.problems.append(place + str(problem).removeprefix(place))
            continue
        for loss in (*row.losses, *sent.losses):
            loss_text = re.sub(r"\[\d+\]", "[…]", str(loss))
            found.losses[loss_text] = found.losses.get(loss_text, 0) + 1
        if (key := sent.key) in keys:
            found.duplicates += 1
            if rules.dedupe:
                continue
        keys.add(key)
        output = usual or sent.request.max_output_tokens or 0
        usage = Usage(input_tokens=estimate_tokens(sent.request), output_tokens=output)
        pricing = sent.settings.pricing(sent.target, sent.request)
        costs.append(None if pricing is None else pricing.of_usage(usage))
        count = counts.setdefault(f"{sent.target.vendor}/{sent.target.model}", [0.0] * len(COUNTED))
        for i, n in enumerate(counts_of(usage.input_tokens, output)):
            count[i] += n
    if found.invalid > _PROBLEMS:
        found.problems.append(f"and {found.invalid - _PROBLEMS:,} more")
    found.input_tokens = round(sum(count[2] for count in counts.values()))
    found.output_tokens = round(sum(count[3] for count in counts.values()))
    if costs and None not in costs:
        vendors = {name.partition("/")[0] for name in counts}
        found.cost = round(sum(cost or 0 for cost in costs) * cost_factor(mode, window, vendors))
    given = caller.defaults.get("rate_limit")
    own: dict[str, float] = {}
    if given is not None:
        own = {what: limit * given.share for name, what in LIMITS.items() if (limit := getattr(given, name))}
    for name, count in counts.items():
        known = totals.limits.get(name, {}) | own
        for what, limit in known.items():
            seconds = count[COUNTED.index(what)] / limit * 60 if limit else 0.0
            if found.seconds is None or seconds > found.seconds:
                found.seconds, found.limit = seconds, f"or more at {limit:,g} {what} per minute"
    if mode == "vendor":
        found.seconds, found.limit = 86_400.0, "or less in batches of the vendor"
    return found
