"""What stands around the message of an answer: why it ended, what it cost, when it was made. For whole and streamed ones.

The wire has no id for an answer, so its model and the time it began, which servers tell to the nanosecond, make one. Before
changing this file, know that a count the server left out is not taken for zero silently, and that the server tells nobody
when it cut the conversation to its window: only the count of what it read shows it. Follows Ollama's API reference (read
2026-11-20).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import UNSET

from ...responses.carriers import digest
from ...responses.items import CustomToolCallOutput, FunctionCall, FunctionCallOutput, Message
from ...responses.leftovers import own, report_foreign
from ...responses.response import Usage
from ...unknown import Opt, given
from .._left import absent, as_object, leftovers, notes, report_cost, sent
from . import types
from .types import WIRE

if TYPE_CHECKING:
    from ...losses import Losses
    from ...responses.items import AnyItem
    from ...responses.request import Request


# --- why it ended ---------------------------------------------------------------------------------------------------


class Ending(NamedTuple):
    """How an answer ended, as Responses says it; `reason` says why it is incomplete or what failed."""

    status: str
    reason: str | None = None


ENDINGS = {
    "stop": Ending("completed"),
    "length": Ending("incomplete", "max_output_tokens"),
    "load": Ending("completed"),
    "unload": Ending("completed"),
}
"""What the reasons mean; the way back takes `stop` or `length`."""

FAILED = Ending("failed", "server_error")


def ending_of(line: types.Line, has_output: bool, lost: Losses) -> Ending:
    """How an answer with this last line ended."""
    reason = line.done_reason
    if not line.done:
        # The server stops like this when a model repeats itself.
        lost.changed("done", "an answer without an end, taken for a failure")
        return FAILED
    if reason:
        if reason not in ENDINGS:
            lost.changed("done_reason", f"the unknown reason {reason!r}, taken for incomplete")
        return ENDINGS.get(reason) or Ending("incomplete", reason)
    lost.changed("done_reason", "no reason, taken for " + ("the end" if has_output else "a failure"))
    return ENDINGS["stop"] if has_output else FAILED


def reason_for(status: str) -> Opt[str]:
    """The reason the server would give for an answer of that status."""
    return {"completed": "stop", "incomplete": "length"}.get(status, UNSET)


# --- when it was made -----------------------------------------------------------------------------------------------

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = 253_402_300_800


def seconds_of(stamp: Opt[str]) -> int | None:
    """The moment that a stamp tells; `None` where it tells none."""
    if not stamp:
        return None
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return int((moment - _EPOCH).total_seconds() // 1)


def stamp_of(seconds: int | float | None, origin: str) -> str:
    """A moment as the server writes it. The nanoseconds are made of the id, which the wire has no field for."""
    whole = int(seconds) if given(seconds) and 0 <= seconds < _LATEST else 0
    return f"{datetime.fromtimestamp(whole, UTC).isoformat()[:19]}.{int(digest(origin), 16) % 10**9:09}Z"


def origin_of(line: types.Line) -> str:
    """What the ids of an answer are made of, from its first line."""
    return digest(f"{line.model or ''}/{line.created_at}" if line.created_at else msgspec.json.encode(line).decode())


# --- what it cost ---------------------------------------------------------------------------------------------------


def decode_usage(line: types.Line, has_output: bool, lost: Losses) -> Opt[Usage]:
    """The counts of the last line; nothing where it has none."""
    read, made = line.prompt_eval_count, line.eval_count
    if not given(read) and not given(made):
        return UNSET
    usage = Usage(input_tokens=read or 0, output_tokens=made or 0)
    if not given(read) or (has_output and not given(made)):
        name = "output_tokens" if given(read) else "input_tokens"
        lost.changed(f"usage.{name}", "a count the server left out, as older ones do for what they had read before")
    if not given(read) or not given(made):
        spelling = {name: sent(getattr(line, name)) for name in COUNTS if not given(getattr(line, name))}
        usage.leftovers = leftovers(WIRE, {}, spelling)
    return usage


COUNTS = {"prompt_eval_count": "input_tokens", "eval_count": "output_tokens"}
"""The counts there are, theirs on the left."""


def encode_usage(usage: Usage, body: types.Line, lost: Losses) -> None:
    """Set the counts."""
    spelling = notes(own(usage.leftovers, WIRE))
    for theirs, ours in COUNTS.items():
        count = getattr(usage, ours)
        setattr(body, theirs, absent(spelling[theirs]) if theirs in spelling and not count else count)
    if usage.total_tokens != usage.input_tokens + usage.output_tokens:
        lost.dropped("usage.total_tokens", "a total that is not the sum")
    for name in ("input_tokens_details", "output_tokens_details"):
        details = getattr(usage, name)
        for part in details.__struct_fields__ if given(details) else ():
            if getattr(details, part):
                lost.dropped(f"usage.{name}.{part}", "a count that Ollama does not give")
    report_cost(usage, lost)
    report_foreign(usage.leftovers, WIRE, "usage", lost)


# --- what was read --------------------------------------------------------------------------------------------------

LEAST = 8000
"""A shorter conversation, in characters, fits every window."""
CHARACTERS = 8
"""More characters than make a token in any language: what counts fewer tokens than that has not been read whole."""


def check_window(request: Request, usage: Usage, lost: Losses) -> None:
    """Report where the server seems to have cut the conversation, which it does without a word."""
    read, window = usage.input_tokens, _window(request)
    items = request.input if isinstance(request.input, list) else ()
    said = len(request.input) if isinstance(request.input, str) else sum(map(_size, items))
    size = said + len(request.instructions or "")
    full = window is not None and read >= window - 1
    if read and (full or (size > LEAST and read * CHARACTERS < size)):
        told = f"about {size // 4} tokens, of which the server read {int(read)}: it cuts what does not fit its window"
        lost.changed("input", f'{told}; raise it with extra={{"{WIRE}": {{"options": {{"num_ctx": ...}}}}}}')


def _window(request: Request) -> int | None:
    """The size of the window, where the request sets it."""
    extra = as_object(request.extra.get(WIRE)) if request.extra else {}
    size = as_object(extra.get("options")).get("num_ctx", own(request.leftovers, WIRE).get("num_ctx"))
    return size if isinstance(size, int) else None


def _size(item: AnyItem) -> int:
    """How many characters an item tells."""
    match item:
        case Message(content=content) | FunctionCallOutput(output=content) | CustomToolCallOutput(output=content):
            return len(content) if isinstance(content, str) else sum(len(getattr(part, "text", "")) for part in content)
        case FunctionCall(arguments=text):
            return len(text)
        case _:
            return 0
