"""The messages of a recorded request as items of Responses: the way back of `turns`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET

from ... import responses as ours
from ...responses.leftovers import SPELLING
from ...unknown import Unknown
from . import types
from .assistant import BlockReader
from .calls import decode_result
from .content import part_of
from .leftovers import WIRE, own, rest
from .turns import SEPARATE

ROLES = {"user": "user", "assistant": "assistant", "system": "developer"}
"""Who speaks, theirs on the left; anybody else is taken for a user."""


def decode_messages(
    messages: Sequence[types.InputMessage], issuer: str, tools: Sequence[ours.AnyTool]
) -> list[ours.AnyItem]:
    """The items that `messages` are in Responses; one that says nothing is none."""
    items: list[ours.AnyItem] = []
    before = ""
    for message in messages:
        role, content = message.role, message.content
        if not content:
            continue
        fields = rest(message, ("clear_at", "output_config"))
        if role not in ROLES:
            role, fields["role"] = "user", role
        if isinstance(content, str):
            found: list[ours.AnyItem] = [ours.Message(role=ROLES[role], content=content)]
        elif role == "assistant":
            reader = BlockReader(issuer)
            for i, block in enumerate(content):
                reader.add(i, block)
            found = reader.close()
        else:
            found = _heard(content, role, tools)
        if fields:
            _note(found[0], "message", fields)
        if items and role == before != "system" and _would_join(items[-1], found[0]):
            _note(found[0], SPELLING, {SEPARATE: True})
        items += found
        before = role
    return items


def _would_join(last: ours.AnyItem, first: ours.AnyItem) -> bool:
    """Whether the item after the last one would be sent in the same message, within turns of one role."""
    if isinstance(first, ours.Message) and first.role != "assistant":
        return isinstance(last, ours.FunctionCallOutput)
    return True


def _note(item: ours.AnyItem, name: str, fields: dict[str, Any]) -> None:
    if not isinstance(item, Unknown):
        kept = own(item.leftovers)
        item.leftovers = {WIRE: {**kept, name: {**kept.get(name, {}), **fields}}}


def _heard(blocks: Sequence[types.AnyBlock], role: str, tools: Sequence[ours.AnyTool]) -> list[ours.AnyItem]:
    """What was not said by the model. Tools that a system message adds are an item of their own, where they are described."""
    items: list[ours.AnyItem] = []
    if role == "system" and blocks:
        named = {tool.name: tool for tool in tools if isinstance(tool, ours.FunctionTool)}
        added = [_added(block, named) for block in blocks]
        if all(added):
            return [ours.AdditionalTools(role="developer", tools=[tool for tool in added if tool is not None])]
    parts: list[ours.ContentPart] = []
    for block in blocks:
        if role == "system" or not isinstance(block, types.ToolResult):
            if not parts:
                items.append(ours.Message(role=ROLES[role], content=parts))
            parts.append(part_of(block))
        else:
            items.append(decode_result(block))
            parts = []
    return items


def _added(block: types.AnyBlock, named: dict[str, ours.FunctionTool]) -> ours.FunctionTool | None:
    """The tool that becomes callable with a block that says nothing else."""
    if type(block) is not types.ToolAddition or block.cache_control is not UNSET:
        return None
    tool = named.get(block.tool.name or "")
    same = tool is not None and block.tool == types.ChangedTool(type="tool_reference", name=tool.name)
    return tool if same else None
