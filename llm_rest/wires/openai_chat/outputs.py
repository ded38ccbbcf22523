"""What tools gave, both ways: a tool message here, a call's output in Responses.

A tool message holds text only and has no word for failure. Before changing this file, know that an output is tied to its
call by the id that the call was sent with. Follows the tool message of the Chat Completions reference (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from msgspec import UNSET

from ...responses.items import CustomToolCallOutput, FunctionCallOutput
from ...responses.leftovers import SPELLING, own, report_foreign
from ...responses.parts import ContentPart
from ...unknown import extras
from . import types
from .content import decode_parts, encode_parts
from .left import absent, notes, put_back, sent, unspelled
from .plain import joined, spell_content
from .types import WIRE, AnyPart, Json

if TYPE_CHECKING:
    from ...dialects import ChatDialect
    from ...losses import Losses

Output = FunctionCallOutput | CustomToolCallOutput


def encode_output(
    item: Output, call_id: str, after: list[AnyPart], dialect: ChatDialect, i: int, lost: Losses
) -> types.ToolMessage | types.FunctionMessage:
    """The message for the output at place `i`. What it cannot hold goes to `after`, for a user message that follows."""
    content = item.output if isinstance(item.output, str) else _encode_parts(item, after, dialect, i, lost)
    message = types.ToolMessage(content=content, tool_call_id=call_id)
    if isinstance(item, FunctionCallOutput):
        message.name = item.name
    if item.is_error:
        lost.changed(f"input[{i}]", 'a failure, told by the words "Error: " before the text')
        message.content = f"Error: {content}" if isinstance(content, str) else [types.Text(text="Error: "), *content]
    if not item.leftovers:
        return message
    report_foreign(item.leftovers, WIRE, f"input[{i}]", lost)
    return _spelled(message, own(item.leftovers, WIRE))


def _encode_parts(item: Output, after: list[AnyPart], dialect: ChatDialect, i: int, lost: Losses) -> types.Content:
    path = f"input[{i}].output"
    parts = encode_parts(cast("list[ContentPart]", item.output), dialect, path, lost)
    texts: list[AnyPart] = [part for part in parts if isinstance(part, types.Text)]
    others: list[AnyPart] = [part for part in parts if not isinstance(part, types.Text)]
    if others:
        lost.changed(path, "images and files, sent in a user message after the outputs")
        after += [types.Text(text=f"From the tool call {item.call_id}:"), *others]
        texts = texts or [types.Text(text="See the next user message.")]
    return joined(texts, path, lost) if "tool" in dialect.plain_text else texts


def _spelled(message: types.ToolMessage, left: Json) -> types.ToolMessage | types.FunctionMessage:
    spelling = notes(left)
    message = put_back(message, unspelled(left))
    spell_content(message, left)
    if "tool_call_id" in spelling:
        message.tool_call_id = absent(spelling["tool_call_id"])
    if "legacy" in spelling:
        return types.FunctionMessage(content=message.content, name=message.name)
    return message


def decode_output(
    message: types.ToolMessage | types.FunctionMessage, call_id: str, custom: bool, dialect: ChatDialect
) -> Output:
    """The output that a message holds, for the call `call_id`, which may be a custom tool's."""
    left: Json = {}
    spelling: Json = {}
    if isinstance(message, types.FunctionMessage):
        spelling["legacy"] = True
    elif message.tool_call_id != call_id:
        spelling["tool_call_id"] = sent(message.tool_call_id)
    content = message.content
    output: str | list[ContentPart] = ""
    if isinstance(content, list):
        output = decode_parts(content, dialect)
    elif isinstance(content, str):
        output = content
    else:
        spelling["content"] = sent(content)
    if type(message) not in (types.ToolMessage, types.FunctionMessage):
        left = extras(message)
    if spelling:
        left[SPELLING] = spelling
    item: Output
    if custom:
        item = CustomToolCallOutput(call_id=call_id, output=output)
        if message.name is not UNSET:
            left["name"] = message.name
    else:
        item = FunctionCallOutput(call_id=call_id, output=output, name=message.name)
    if left:
        item.leftovers = {WIRE: left}
    return item
