"""Matching of tool outputs to their calls, where the `call_id` does not identify the call.

Clients send the item id of a call (`fc_...`) instead of its `call_id` (`paired`), and some formats identify a call by
the name of its tool, or by the order alone (`UnansweredCalls`).
"""

from __future__ import annotations

from collections import deque
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ..responses import items as it

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..losses import Losses
    from ..unknown import Opt

CALLS = frozenset("function_call custom_tool_call computer_call local_shell_call shell_call apply_patch_call".split())
"""The types of calls."""
OUTPUTS = frozenset(f"{kind}_output" for kind in CALLS)
"""The types of their outputs."""


def paired(items: Sequence[it.AnyItem], lost: Losses, start: int = 0) -> Sequence[it.AnyItem]:
    """The items with the `call_id` of an earlier call in every output; the same list where nothing had to change.

    The items before `start` are correct already.
    """
    new: Any = items[start:] if start else items
    if not any(map(attrgetter("id"), new)):  # as in most conversations of a client
        return items
    calls: set[str] = set()
    named: dict[str, str] = {}
    changed: list[it.AnyItem] | None = None
    for i, item in enumerate(new, start):
        if item.type in CALLS:
            calls.add(item.call_id)
            if item.id is not None:
                named[item.id] = item.call_id
        elif named and item.type in OUTPUTS and item.call_id not in calls and item.call_id in named:
            call_id = named[item.call_id]
            lost.changed(f"input[{i}].call_id", f"the id of the item {item.call_id}, sent as the call's id {call_id}")
            changed = list(items) if changed is None else changed
            changed[i] = replace(item, call_id=call_id)
    return items if changed is None else changed


TOOL_OUTPUTS = frozenset({it.FunctionCallOutput.type, it.CustomToolCallOutput.type})
"""The types of outputs of functions and custom tools."""


class PlacedOutputs:
    """The outputs in the items of a request, for wires that need them right after their calls: each is placed once."""

    __slots__ = ("_by_id", "_items", "places")

    def __init__(self, items: Sequence[it.AnyItem]) -> None:
        self.places: set[int] = set()
        """The positions of the outputs that were placed."""
        self._items: Any = items
        self._by_id: dict[str, deque[int]] | None = None

    def find(self, call_id: str, start: int) -> int | None:
        """The position of a call's first output from `start` on that is not placed; `start` must not decrease."""
        items = self._items
        if self._by_id is None:
            self._by_id = {}
            for i in range(start, len(items)):
                if items[i].type in TOOL_OUTPUTS:
                    self._by_id.setdefault(items[i].call_id or "", deque()).append(i)
        found = self._by_id.get(call_id)
        while found and (found[0] < start or found[0] in self.places):
            found.popleft()
        return found[0] if found else None

    def take(self, call_id: str, start: int, near: int) -> int | None:
        """The same, and mark it as placed; most often it is at `near`."""
        items, found = self._items, near
        first = items[near] if near < len(items) else None
        if first is None or first.type not in TOOL_OUTPUTS or first.call_id != call_id or near in self.places:
            later = self.find(call_id, start)
            if later is None:
                return None
            found = later
        self.places.add(found)
        return found


class UnansweredCalls:
    """Calls that wait for their outputs, found by the id they came with, by their name, and in their order."""

    __slots__ = ("_answered", "_by_id", "_by_name", "_calls", "_in_order")

    def __init__(self) -> None:
        self._calls: list[it.FunctionCall] = []
        self._answered: set[int] = set()
        self._by_id: dict[str, deque[int]] = {}
        self._by_name: dict[str, deque[int]] = {}
        self._in_order: deque[int] = deque()

    def add(self, call: it.FunctionCall, id: Opt[str]) -> None:
        """Add a call that waits for its output and came with `id`."""
        place = len(self._calls)
        self._calls.append(call)
        self._in_order.append(place)
        self._by_name.setdefault(call.name, deque()).append(place)
        if id:
            self._by_id.setdefault(id, deque()).append(place)

    def take(self, id: Opt[str], name: Opt[str], *, exact: bool = False) -> it.FunctionCall | None:
        """The call of an output, no longer waiting: by its id, else the next of its name, else the next of all.

        An `exact` id identifies that call or none.
        """
        found = [self._by_id.get(id or "")]
        if not (exact and id):
            found += [self._by_name.get(name or ""), self._in_order]
        for places in found:
            while places:
                place = places.popleft()
                if place not in self._answered:
                    self._answered.add(place)
                    return self._calls[place]
        return None
