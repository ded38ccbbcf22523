"""The request log: one line for every request, with its model, status, duration and tokens, never its content.

The fields are attributes of the log record, for any formatter; `JSONLines` is one that writes them as JSON. Before
changing this file, know that it never contains keys, prompts, answers or vendors' messages, which may repeat a prompt.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from ..unknown import given

if TYPE_CHECKING:
    from ..responses.response import Usage

FIELDS = (
    "request_id",
    "method",
    "path",
    "scope",
    "wire",
    "model",
    "vendor",
    "upstream_model",
    "upstream_request_id",
    "status",
    "seconds",
    "streamed",
    "input_tokens",
    "output_tokens",
    "attempts",
    "losses",
    "lost",
    "error",
)
"""The fields of a log line; unknown ones are omitted.

`losses` is the number of losses of request and answer, also of a stream; `lost` has their texts, which may repeat names
chosen by the caller, at level DEBUG only. `error` is the kind of an error of this library, or `gone` where the client
disconnected, or the server stopped, before the end.
"""

_log = logging.getLogger("llm_rest.server.requests")


def log_usage(facts: dict[str, Any], usage: Usage | None) -> None:
    """Add the token counts of an answer to the fields."""
    if given(usage):
        facts["input_tokens"], facts["output_tokens"] = usage.input_tokens, usage.output_tokens


def log_request(facts: dict[str, Any]) -> None:
    """Log a request that has ended."""
    level = logging.WARNING if facts.get("status", 0) >= 500 else logging.INFO
    if _log.isEnabledFor(level):
        lost = [str(loss) for losses in facts.get("lost", ()) for loss in losses]
        values = {
            **facts,
            "losses": len(lost) or None,
            "lost": (lost or None) if _log.isEnabledFor(logging.DEBUG) else None,
        }
        _log.log(level, "request", extra={name: values[name] for name in FIELDS if values.get(name) not in (None, "")})


class JSONLines(logging.Formatter):
    """A log formatter: one line of JSON for each record, with the fields of a request where it has them."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of JSON, without a line break at its end."""
        line: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name in FIELDS if (value := getattr(record, name, None)) is not None}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)
