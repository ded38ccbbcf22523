"""The modes of a bulk run: each row a call of its own, a background response with a completion window, or a vendor's batches."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from ..client import endpoints
from ..client.call import interrupted_reply
from ..errors import ConfigError
from .dialects import DIALECTS, WINDOWS
from .engine import Engine
from .rows import SequenceSource

if TYPE_CHECKING:
    from ..client.call import Caller, CallSite
    from ..client.reply import Reply
    from .engine import Call, Rules
    from .journal import Journal
    from .output import Lines
    from .rows import Reader, Row, Source

Mode = Literal["live", "background", "vendor", "auto"]

AUTO_ROWS = 1_000
"""Above so many rows the mode `auto` goes through batches."""
POLL_SECONDS = 30.0
"""The time between two looks at a background response."""


def call_of(caller: Caller, form: Any, site: CallSite, window: str | None = None) -> Call:
    """Each row is a call of its own: with a `window` a background response within that time, which is retrieved until it is done."""
    if window is not None and window not in WINDOWS:
        raise ConfigError(f"completion_window is {' or '.join(WINDOWS)}, not {window!r}")
    if window is not None and form is not None:
        raise ConfigError("output= is not read from background responses", hint="use mode='vendor' or mode='live'")
    more = {"output": form} if form is not None else {}
    if window is not None:
        more = {"background": True, "background_options": {"completion_window": window}}

    async def call(row: Row) -> Reply:
        of_row = {"model": row.options["model"]} if row.options.get("model") else {}
        target, _ = caller.resolve({**of_row}) if window is not None or row.begun is not None else (None, None)
        if window is not None and target and (target.vendor, target.endpoint.wire) != ("openai", "openai_responses"):
            raise ConfigError(f"{target.vendor} has no completion windows", hint="use mode='vendor' or mode='live'")
        if target is None or row.begun is None:
            return await caller.generate(row.input, {**row.options, **more}, site)
        with caller.call() as waiting:
            await caller.transport.sleep(POLL_SECONDS)
        if waiting.stopped:
            return interrupted_reply(target, None, [], ())
        found = caller.raise_if_failed(target, await endpoints.retrieve(caller, row.begun, of_row, site))
        if window is not None and found.info.cost is not None:
            found.info.cost = round(found.info.cost * WINDOWS[window])
        return found

    return call


def engine_of(
    mode: str,
    window: str,
    journal: Journal | None,
    form: Any,
    site: CallSite,
    caller: Caller,
    source: Source,
    reader: Reader,
    lines: Lines,
    rules: Rules,
) -> Engine:
    """The engine of a run in this mode."""
    if mode not in ("live", "background", "vendor", "auto"):
        raise ConfigError(f"mode is live, background, vendor or auto, not {mode!r}")
    if mode in ("vendor", "auto") and journal is None:
        raise ConfigError(f"mode={mode!r} needs a journal", hint="give journal= or output_file=")
    if mode != "live" and (caller.fallback is not None or caller.settings.cache is not None):
        which = "cache=" if caller.fallback is None else "a fallback"
        raise ConfigError(f"{which} is for mode='live'", hint="give a client of one model without it")
    open = [] if journal is None else journal.batches()
    call = call_of(caller, form, site, window if mode == "background" else None)
    if journal is not None and (mode == "vendor" or (mode == "auto" and (open or _is_many(caller, source, journal)))):
        from .vendor_run import VendorEngine  # which most runs do not need

        return VendorEngine(caller, call, source, reader, lines, rules, journal).begin(journal, form, site)
    if open:
        what = f"{len(open)} batches of this run are at their vendor, and mode={mode!r} would send their rows again"
        raise ConfigError(what, hint="use mode='vendor', as the run began")
    return Engine(caller, call, source, reader, lines, rules, journal)


def _is_many(caller: Caller, source: Source, journal: Journal) -> bool:
    """Whether the vendor of the model takes batches, and the rows are many."""
    target = caller.targets.find(caller.defaults.get("model"))
    if target.vendor not in DIALECTS or target.endpoint.wire not in DIALECTS[target.vendor].wires:
        return False
    if isinstance(source, SequenceSource):
        return (source.total(0, 0) or 0) > AUTO_ROWS
    return next(islice(source.entries(journal), AUTO_ROWS, None), None) is not None
