"""Incremental encoding of a growing conversation: earlier turns are stored as bytes, and only new turns are encoded.

A wire encodes a turn by itself, so the encoding of the first turns is the beginning of every longer one. Messages that a later
turn may change are not stored: `_boundary` finds where a turn begins, and the wire's writer decides (`settled`). Before changing
this file, know that a request with a prefix must have the same bytes and losses as one without (`tests/laws/test_prefixes.py`).
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from ..losses import Loss
from ..responses import items as it
from ..responses.parts import InputText, OutputText
from ..responses.request import Request
from .call_ids import CALLS, OUTPUTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..losses import Losses

_encode = msgspec.json.Encoder().encode
_options = attrgetter(
    *(name for name in Request.__struct_fields__ if name not in ("input", "stream", "stream_options"))
)

_WHOLE = frozenset("additional_tools compaction_trigger configuration_update item_reference".split())
"""The types of items that affect the whole request."""


class Writer(Protocol):
    """The interface of each wire's encoder of messages: it writes items, in their order, as messages."""

    messages: list[Any]
    """The messages so far."""
    state: Any
    """After `settled`: the state that a writer of later items needs."""

    @property
    def changing(self) -> int | None:
        """After `settled`: the message that a later turn may change; `None` where that is an earlier one."""
        ...

    def write(self, start: int, end: int) -> None:
        """Write the items from `start` up to `end`."""
        ...

    def settled(self, end: int) -> bool:
        """End the turn before the item at `end`; returns whether the messages, except `changing`, can no longer change.

        They are then removed from `messages`.
        """
        ...

    def finish(self) -> None:
        """End the conversation."""
        ...


class EncodedPrefix:
    """The encoded first turns of a conversation; pass it to every `encode_request` of that conversation.

    A request that continues the last one, with the same options, has its new turns encoded and the earlier ones copied; any other
    is encoded anew. Items are compared by identity first: an item that was encoded must not be changed in place, but replaced.
    """

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: list[Turns] = []  # at most one; a call that uses it removes it, so that two calls never share it

    def turns(self, key: tuple[Any, ...], items: Sequence[it.AnyItem]) -> Turns:
        """The stored turns that are the beginning of `items`, encoded for the same key; none otherwise."""
        try:
            kept = self._kept.pop()
        except IndexError:
            return Turns(key)
        count = len(kept.items)
        same = count < len(items) and kept.key == key and kept.items == items[:count]
        return kept if same and (not count or _begins(items, count)) and _is_complete(items, count) else Turns(key)

    def turns_of(self, items: Sequence[it.AnyItem]) -> Turns | None:
        """The turns that were encoded last, if they are the beginning of `items`."""
        kept = self._kept[0] if self._kept else None
        return kept if kept is not None and kept.items == items[: kept.count] else None

    def keep(self, turns: Turns) -> None:
        """Store these turns for the next request."""
        self._kept[:] = [turns]


class Turns:
    """Encoded turns: their items, messages and losses, and the state of the wire's writer (`state`)."""

    __slots__ = ("_searched", "changing", "items", "key", "losses", "prefix", "raw", "seen", "settled", "state")

    def __init__(self, key: tuple[Any, ...] = ()) -> None:
        self.key = key
        """The dialect and the options they were encoded for."""
        self.items: list[it.AnyItem] = []
        """Their items."""
        self.settled = b""
        """Their messages as JSON, without the brackets of a list, up to the one that a later turn may change."""
        self.changing: list[Any] = []
        """That message, if there is one."""
        self.raw = b""
        """The messages after it."""
        self.losses: list[Loss] = []
        """Their losses."""
        self.state: Any = None
        """The state that the wire's writer needs; `None` where there are no turns."""
        self.prefix: EncodedPrefix | None = None
        """The store for the next request; `None` for no store."""
        self.seen: set[str] = set()
        """Data from the items that a wire needs for its `route`."""
        self._searched = 0

    def not_seen(self) -> list[it.AnyItem]:
        """The items that are new since the last request."""
        new, self._searched = self.items[self._searched :], len(self.items)
        return new

    @property
    def count(self) -> int:
        """The number of encoded items."""
        return len(self.items)

    def encode(self, items: Sequence[it.AnyItem], writer: Writer, lost: Losses) -> list[Any]:
        """The messages of all items; those of earlier turns are one `msgspec.Raw`, without the brackets of a list."""
        before, start = len(lost), len(self.items)
        lost += self.losses  # of which none is rejected
        known = len(lost)
        end = 0 if self.prefix is None else _boundary(items, start)
        if end:
            writer.write(start, end)
            # An item that cannot be sent may become valid by later ones, such as the output of a call.
            if not any(map(_is_refused, lost[known:])) and writer.settled(end):
                self.losses = lost[before:]
                self.items += items[start:end]
                self.state = writer.state
                made, i = [*writer.messages], writer.changing
                if i is not None:
                    self.settled = _joined(self.settled, _json(self.changing), self.raw, _json(made[:i]))
                    self.changing, self.raw, made = [made[i]], b"", made[i + 1 :]
                self.raw = _joined(self.raw, _json(made))
                writer.messages.clear()
            start = end
        writer.write(start, len(items))
        writer.finish()
        if self.prefix is not None and not any(map(_is_refused, lost[known:])):
            self.prefix.keep(self)
        return [*_raw(self.settled), *self.changing, *_raw(self.raw), *writer.messages]


def encoded_turns(prefix: EncodedPrefix | None, request: Request, dialect: Any, wire: str) -> Turns:
    """The turns of a request that are already encoded: none without a prefix, or with document fields of its own."""
    if (
        prefix is None
        or not isinstance(request.input, list)
        or request.leftovers
        or (request.extra and wire in request.extra)
    ):
        return Turns()
    turns = prefix.turns((wire, dialect, *_options(request)), request.input)
    turns.prefix = prefix
    return turns


def _json(messages: list[Any]) -> bytes:
    """The messages as JSON, without the brackets of a list."""
    return _encode(messages)[1:-1]


def _raw(messages: bytes) -> list[msgspec.Raw]:
    return [msgspec.Raw(messages)] if messages else []


def _joined(*pieces: bytes) -> bytes:
    return b",".join(filter(None, pieces))


def _is_refused(loss: Loss) -> bool:
    return loss.kind == "refused"


def _is_complete(items: Sequence[it.AnyItem], start: int) -> bool:
    """Whether the outputs from `start` on belong to calls there, and no item there affects the whole request."""
    calls: set[str] = set()
    for i in range(start, len(items)):
        item: Any = items[i]
        if item.type in CALLS:
            calls.add(item.call_id)
        elif item.type in _WHOLE or (item.type in OUTPUTS and item.call_id not in calls):
            return False
    return True


def _boundary(items: Sequence[it.AnyItem], start: int) -> int:
    """The last position after `start` where a turn, or a round of calls in it, begins; 0 where there is none."""
    if not _is_complete(items, start):
        return 0
    return next((i for i in range(len(items) - 1, start, -1) if _begins(items, i)), 0)


def _begins(items: Sequence[it.AnyItem], i: int) -> bool:
    """Whether a turn, or a round of calls in it, begins at `i` on every wire: the role changes."""
    k = i
    if _is_message_of(items[i], "user"):
        k -= 1
        while k and isinstance(items[k], it.Reasoning):
            k -= 1
        return _is_message_of(items[k], "assistant")
    if items[i - 1].type not in OUTPUTS:
        return False
    while k < len(items) - 1 and isinstance(items[k], it.Reasoning):
        k += 1
    item = items[k]
    return _is_message_of(item, "assistant") or (item.type in CALLS and getattr(item, "status", None) != "incomplete")


def _is_message_of(item: it.AnyItem, role: str) -> bool:
    """Whether it is a message of this role with text, for which every wire writes a message."""
    if not isinstance(item, it.Message) or item.role != role:
        return False
    if isinstance(item.content, str):
        return bool(item.content.strip())
    return any(isinstance(part, OutputText | InputText) and part.text.strip() for part in item.content)
