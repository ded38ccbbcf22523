"""What the caller's tools gave: outputs of calls, and the `tool_result` blocks they are on this wire.

Before changing this file, know that nearly every output is a plain string. Follows Anthropic's page on handling tool calls
(read 2026-11-20).
"""

from __future__ import annotations

from typing import Any, cast

from msgspec import UNSET

from ... import responses as ours
from ...unknown import given
from . import types
from .calls import TOOLSETS
from .carried import document_fields, left, merged, own_fields, report_extras, rest
from .content import Context, blocks_of, parts_of
from .names import call_id

Output = ours.FunctionCallOutput | ours.CustomToolCallOutput
ToolResult = types.ToolResult


def encode_result(item: Output, call: types.ToolUse, i: int, context: Context) -> types.ToolResult:
    """The block of an output, which stands at position `i` of the input, for the block of its call."""
    output = item.output
    if isinstance(output, str):
        block = ToolResult(call.id, output or UNSET)
        if type(item) is ours.FunctionCallOutput and item.leftovers is item.namespace is item.is_error is UNSET:
            return block if call.toolset_name is UNSET else _complete(block, item, call, i, context)
    else:
        block = ToolResult(call.id, _contents(output, f"input[{i}].output", context))
    return _complete(block, item, call, i, context)


def _contents(output: list[ours.ContentPart], path: str, context: Context) -> Any:
    blocks = blocks_of(output, path, context)
    if len(blocks) < len(output) > 1:
        for j, part in enumerate(output):
            if getattr(part, "text", None) == "":
                context.lost.dropped(f"{path}[{j}]", "an empty text, which this wire refuses")
    return blocks if blocks or not output else UNSET


def _complete(block: types.ToolResult, item: Output, call: types.ToolUse, i: int, context: Context) -> types.ToolResult:
    """The block with what only some outputs have."""
    path = f"input[{i}]"
    block.is_error = item.is_error
    block.toolset_name = call.toolset_name
    if isinstance(item, ours.FunctionCallOutput) and item.namespace in TOOLSETS:
        block.toolset_name = item.namespace
    report_extras(item, path, context.lost)
    fields = document_fields(own_fields(item.leftovers, path, context.lost))
    block = merged(block, fields, path, context.lost) if fields else block
    if given(block.cache_control):
        context.marks.append((path, block))
    return block


def decode_result(block: types.ToolResult) -> ours.FunctionCallOutput:
    """The output that a block is in Responses."""
    content = block.content
    fields = rest(block, ("cache_control",))
    if isinstance(content, list):
        output: str | list[ours.ContentPart] = parts_of(cast("list[types.AnyBlock]", content))
    else:
        output = content or ""
        if content is None or content == "":
            fields["content"] = content
    if block.is_error is None:
        fields["is_error"] = None
    return ours.FunctionCallOutput(
        call_id=call_id(block.tool_use_id),
        output=output,
        is_error=UNSET if block.is_error is None else block.is_error,
        namespace=block.toolset_name,
        leftovers=left(fields),
    )
