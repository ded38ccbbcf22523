"""The messages of a recorded request as items of Responses: the way back of `turns`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET

from ... import responses as ours
from ...responses.leftovers import SPELLING
from ...unknown import Unknown, given
from . import types
from .assistant import BlockReader
from .calls import decode_result
from .carried import WIRE, own, rest
from .content import part_of
from .turns import SEPARATE

ROLES = {"system": "developer"}


def decode_messages(
    messages: Sequence[types.InputMessage], issuer: str, tools: Sequence[ours.AnyTool]
) -> list[ours.AnyItem]:
    """The items that `messages` are in Responses."""
    named = {tool.name: tool for tool in tools if isinstance(tool, ours.FunctionTool)}
    items: list[ours.AnyItem] = []
    before = ""
    for message in messages:
        content = message.content
        if isinstance(content, str):
            found: list[ours.AnyItem] = [ours.Message(role=ROLES.get(message.role, message.role), content=content)]
        elif message.role == "assistant":
            found = _said(content or [], issuer)
        elif message.role == "system":
            found = _instructed(content or [], named)
        else:
            found = _heard(content or [], message.role)
        if not found:
            continue
        fields = rest(message, ("clear_at", "output_config"))
        if fields:
            _note(found[0], {"message": fields})
        if items and message.role == before != "system" and _would_join(items[-1], found[0]):
            _note(found[0], {SPELLING: {SEPARATE: True}})
        items += found
        before = message.role
    return items


def _would_join(last: ours.AnyItem, first: ours.AnyItem) -> bool:
    """Whether the item after the last one would be sent in the same message, within turns of one role."""
    if isinstance(first, ours.Message) and first.role != "assistant":
        return isinstance(last, ours.FunctionCallOutput)
    return True


def _note(item: ours.AnyItem, fields: dict[str, Any]) -> None:
    if not isinstance(item, Unknown):
        item.leftovers = {WIRE: {**own(item.leftovers), **fields}}


def _said(blocks: Sequence[types.AnyBlock], issuer: str) -> list[ours.AnyItem]:
    reader = BlockReader(issuer)
    for i, block in enumerate(blocks):
        reader.add(i, block)
    return reader.close()


def _heard(blocks: Sequence[types.AnyBlock], role: str) -> list[ours.AnyItem]:
    items: list[ours.AnyItem] = []
    parts: list[ours.ContentPart] = []
    for block in blocks:
        if not isinstance(block, types.ToolResult):
            parts.append(part_of(block))
            continue
        if parts:
            items.append(ours.Message(role=role, content=parts))
            parts = []
        items.append(decode_result(block))
    if parts:
        items.append(ours.Message(role=role, content=parts))
    return items


def _instructed(blocks: Sequence[types.AnyBlock], named: dict[str, ours.FunctionTool]) -> list[ours.AnyItem]:
    """A system message: tools that become callable are an item of their own, where the request describes them."""
    added: list[ours.AnyTool] = []
    for block in blocks:
        if type(block) is types.ToolAddition and block.cache_control is UNSET and given(block.tool.name):
            tool = named.get(block.tool.name)
            if tool is not None and block.tool == types.ChangedTool(type="tool_reference", name=tool.name):
                added.append(tool)
    if added and len(added) == len(blocks):
        return [ours.AdditionalTools(role="developer", tools=added)]
    return [ours.Message(role="developer", content=[part_of(block) for block in blocks])] if blocks else []
