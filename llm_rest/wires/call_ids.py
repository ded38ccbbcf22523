"""Outputs of tools that name the item of their call (`fc_...`) instead of its `call_id`, as clients mix them up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from ..responses import items as it
from ..unknown import given

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


def paired(items: Sequence[it.AnyItem], lost: Losses) -> Sequence[it.AnyItem]:
    """The items with every output named by the `call_id` of its call; the same list where nothing had to change."""
    calls: set[str] = set()
    named: dict[str, str] = {}
    outputs: list[int] = []
    for i, item in enumerate(items):
        if type(item) is it.Message:
            continue
        if isinstance(item, OUTPUTS):
            outputs.append(i)
        elif isinstance(item, CALLS):
            calls.add(item.call_id)
            if given(item.id):
                named[item.id] = item.call_id
    if not outputs or not named:
        return items
    changed: list[it.AnyItem] | None = None
    for i in outputs:
        output = cast("Any", items[i])
        if output.call_id not in calls and output.call_id in named:
            call_id = named[output.call_id]
            lost.changed(f"input[{i}].call_id", f"the id of the item {output.call_id}, sent as the call's id {call_id}")
            changed = list(items) if changed is None else changed
            changed[i] = replace(output, call_id=call_id)
    return items if changed is None else changed
