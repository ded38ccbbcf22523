"""Outputs of tools that name the item of their call (`fc_...`) instead of its `call_id`, as clients mix them up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ..responses import items as it

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..losses import Losses

CALLS = (it.FunctionCall, it.CustomToolCall, it.ComputerCall, it.LocalShellCall, it.ShellCall, it.ApplyPatchCall)
OUTPUTS = (
    it.FunctionCallOutput,
    it.CustomToolCallOutput,
    it.ComputerCallOutput,
    it.LocalShellCallOutput,
    it.ShellCallOutput,
    it.ApplyPatchCallOutput,
)


def paired(items: Sequence[it.AnyItem], lost: Losses, start: int = 0) -> Sequence[it.AnyItem]:
    """The items with every output named by the `call_id` of a call before it; the same list where nothing had to change.

    Those before `start` are right already.
    """
    calls: set[str] = set()
    named: dict[str, str] = {}
    changed: list[it.AnyItem] | None = None
    for i in range(start, len(items)):
        item: Any = items[i]
        if isinstance(item, it.Message) or (not named and isinstance(item, it.FunctionCallOutput)):
            continue
        if isinstance(item, CALLS):
            calls.add(item.call_id)
            if item.id is not None:
                named[item.id] = item.call_id
        elif named and isinstance(item, OUTPUTS) and item.call_id not in calls and item.call_id in named:
            call_id = named[item.call_id]
            lost.changed(f"input[{i}].call_id", f"the id of the item {item.call_id}, sent as the call's id {call_id}")
            changed = list(items) if changed is None else changed
            changed[i] = replace(item, call_id=call_id)
    return items if changed is None else changed
