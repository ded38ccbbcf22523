"""The log of calls: one line for each call at INFO, one for each request at DEBUG, under the logger `llm_rest.client`.

A line is the type of the event, `vendor/model`, and `name=value` for its fields, which are attributes of the record too. It holds
no prompt, answer or key, as the events it is made of. `LLM_REST_LOG` in the environment switches it on. Before changing this
file, know that `logging` is not imported by us: a program that has not imported it has no log either.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import asdict

from ..errors import ConfigError, printable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from logging import Logger

    from .hooks import ClientCallEvent, WatchedCall

VARIABLE = "LLM_REST_LOG"
ENDS = {"call:end": 20, "request:end": 10, "request:cancelled": 10}
"""The events that are logged, and the log level of each."""
LEVELS = ("debug", "info", "warning", "error")

_found: Logger | None = None


def is_logging() -> bool:
    """Whether calls are logged."""
    global _found
    if _found is None and "logging" in sys.modules:
        from logging import getLogger

        _found = getLogger(__name__.rpartition(".")[0])
    return _found is not None and _found.isEnabledFor(20)


def log_event(call: WatchedCall, event: type[ClientCallEvent], fields: Mapping[str, Any]) -> None:
    """A watcher that logs the end of calls and requests."""
    kind: str = vars(event)["type"]
    level = ENDS.get(kind, 0)
    if not level or _found is None or not _found.isEnabledFor(level):
        return
    known = {name: value for name, value in asdict(call.event(event, fields)).items() if value not in (None, (), 0)}
    words = [f"{name}={_word(known[name])}" for name in known if name not in ("vendor", "model", "wire")]
    named = printable(f"{call.target.vendor}/{call.target.model}", 120)
    _found.log(level, "%s", " ".join([kind, named, *words]), extra=known)


def _word(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    text = ",".join(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else str(value)
    return printable(text, 300).replace(" ", "_")


def log_by_environment() -> None:
    """Configure logging from `LLM_REST_LOG`: log to stderr from that level on, unless the program has a handler.

    Raises `ConfigError` for any other value.
    """
    value = os.environ.get(VARIABLE)
    if not value:
        return
    if value.lower() not in LEVELS:
        raise ConfigError(f"{VARIABLE}={value!r} is no level of the log", hint=f"use one of {', '.join(LEVELS)}")
    import logging

    logger = logging.getLogger("llm_rest")
    if not logger.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
        logger.addHandler(handler)
    logger.setLevel(value.upper())
