"""Messages that are nobody's answer, both ways: what the user says, what the model is told, and what tools gave.

A tool message holds text only and has no word for failure. Before changing this file, know that an output is tied to its
call by the id that the call was sent with. Follows the developer, system, user and tool messages of the Chat Completions
reference (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard, cast

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from ...responses.items import CustomToolCallOutput, FunctionCallOutput, Message
from ...responses.leftovers import SPELLING, own
from ...responses.parts import ContentPart
from ...unknown import Opt, Unknown, extras, given, or_none, or_unset
from .._left import absent, notes, returned, sent
from .._renamed import sent_name
from . import types
from .content import decode_parts, encode_parts
from .types import WIRE, AnyMessage, AnyPart, Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...losses import Losses
    from ...vendors.dialects import ChatDialect

Told = types.SystemMessage | types.DeveloperMessage | types.UserMessage
Output = FunctionCallOutput | CustomToolCallOutput

KINDS: dict[str, Told] = {
    "system": types.SystemMessage(),
    "developer": types.DeveloperMessage(),
    "user": types.UserMessage(),
}
"""An empty message of each role; a copy of it with a content costs a third of what making a struct costs."""
_OUTPUT, _MESSAGE, _TOOL = FunctionCallOutput(call_id="", output=""), Message(role="", content=""), types.ToolMessage()
_KNOWN = frozenset({*map(type, KINDS.values()), types.ToolMessage, types.FunctionMessage})


# --- Responses -> Chat ----------------------------------------------------------------------------------------------


def encode_told(item: Message, dialect: ChatDialect, i: int, lost: Losses) -> AnyMessage:
    """The message for the item at place `i`, which is neither the assistant's nor a tool's."""
    role = item.role
    if role == "developer" and dialect.system_role == "system":
        lost.changed(f"input[{i}].role", "the role developer, sent as system")
        role = "system"
    content: types.Content
    if isinstance(item.content, str):
        content = item.content
    else:
        path = f"input[{i}].content"
        content = encode_parts(item.content, dialect, path, lost)
        if role in dialect.plain_text:
            content = _joined(content, path, lost)
    kind = KINDS.get(role)
    if kind is None:
        return Unknown({"role": role, "content": msgspec.to_builtins(content)})
    message = replace(kind, content=content)
    if item.leftovers:
        message = returned(message, item.leftovers, WIRE, f"input[{i}]", lost)
        if message.name is not UNSET and "name" in dialect.lacks:
            lost.dropped(f"input[{i}].name", "the name of a message, which this host does not take")
            message.name = UNSET
    return message


def encode_output(
    item: Output, call_id: str, after: list[AnyPart], dialect: ChatDialect, i: int, lost: Losses
) -> types.ToolMessage | types.FunctionMessage:
    """The message for the output at place `i`. What it cannot hold goes to `after`, for a user message that follows."""
    content = item.output if isinstance(item.output, str) else _encode_parts(item, after, dialect, i, lost)
    spelling = notes(own(item.leftovers, WIRE)) if item.leftovers else {}
    message: types.ToolMessage | types.FunctionMessage
    if "legacy" in spelling:
        message = types.FunctionMessage(content=content)
    else:
        message = replace(_TOOL, content=content, tool_call_id=call_id)
    if isinstance(item, FunctionCallOutput):
        message.name = or_unset(sent_name(item.name) if given(item.name) else item.name)
    if item.is_error:
        lost.changed(f"input[{i}]", 'a failure, told by the words "Error: " before the text')
        message.content = f"Error: {content}" if isinstance(content, str) else [types.Text(text="Error: "), *content]
    if item.leftovers:
        message = returned(message, item.leftovers, WIRE, f"input[{i}]", lost)
        if isinstance(message, types.ToolMessage) and "tool_call_id" in spelling:
            message.tool_call_id = absent(spelling["tool_call_id"])
    return message


def _encode_parts(item: Output, after: list[AnyPart], dialect: ChatDialect, i: int, lost: Losses) -> types.Content:
    path = f"input[{i}].output"
    parts = encode_parts(cast("list[ContentPart]", item.output), dialect, path, lost)
    if dialect.media_in_outputs:
        return parts
    texts: list[AnyPart] = [part for part in parts if isinstance(part, types.Text)]
    others: list[AnyPart] = [part for part in parts if not isinstance(part, types.Text)]
    if others:
        lost.changed(path, "images and files, sent in a user message after the outputs")
        after += [types.Text(text=f"From the tool call {item.call_id}:"), *others]
        texts = texts or [types.Text(text="See the next user message.")]
    return _joined(texts, path, lost) if "tool" in dialect.plain_text else texts


def _joined(parts: Sequence[AnyPart], path: str, lost: Losses) -> str:
    """The texts of the parts, for hosts that take nothing but a string."""
    texts = [part.text for part in parts if isinstance(part, types.Text)]
    if len(texts) < len(parts):
        lost.dropped(path, "all but the text, which is all this host takes here")
    elif len(parts) != 1:
        lost.changed(path, "several texts, sent as one")
    return "".join(texts)


# --- Chat -> Responses ----------------------------------------------------------------------------------------------


def decode_told(message: Told, dialect: ChatDialect) -> Message:
    """The item for a message that is neither the assistant's nor a tool's."""
    content, left = _decode_content(message, dialect)
    for name in ("name", "tool_calls"):
        if (value := getattr(message, name, UNSET)) is not UNSET:
            left[name] = value
    item = replace(_MESSAGE, role=str(message.__struct_config__.tag), content=content)
    if left:
        item.leftovers = {WIRE: left}
    return item


def decode_output(
    message: types.ToolMessage | types.FunctionMessage, call_id: str, custom: bool, dialect: ChatDialect
) -> Output:
    """The output that a message holds, for the call `call_id`, which may be a custom tool's."""
    output, left = _decode_content(message, dialect)
    spelling: Json = {}
    if isinstance(message, types.FunctionMessage):
        spelling["legacy"] = True
    elif message.tool_call_id != call_id:
        spelling["tool_call_id"] = sent(message.tool_call_id)
    if spelling:
        left[SPELLING] = {**notes(left), **spelling}
    if custom and message.name is not UNSET:
        left["name"] = message.name
    item: Output = (
        CustomToolCallOutput(call_id=call_id, output=output)
        if custom
        else replace(_OUTPUT, call_id=call_id, output=output, name=or_none(message.name))
    )
    if left:
        item.leftovers = {WIRE: left}
    return item


def _decode_content(message: types.Message, dialect: ChatDialect) -> tuple[str | list[ContentPart], Json]:
    """The content of a message, and what the document said beyond it."""
    content: Opt[types.Content] = message.content
    left: Json = extras(message) if type(message) not in _KNOWN else {}
    if isinstance(content, str):
        return content, left
    if isinstance(content, list):
        return decode_parts(content, dialect), left
    return "", {**left, SPELLING: {"content": sent(content)}}


# --- roles that take turns ------------------------------------------------------------------------------------------


def alternating(messages: list[AnyMessage], lost: Losses) -> list[AnyMessage]:
    """The messages with neighbours of one role joined, for hosts that want roles to take turns."""
    kept: list[AnyMessage] = []
    for message in messages:
        before = kept[-1] if kept else None
        if isinstance(message, types.UserMessage) and isinstance(before, types.UserMessage):
            kept[-1] = types.UserMessage(content=_both(before.content, message.content))
        elif isinstance(message, types.AssistantMessage) and _only_speaks(before):
            kept[-1] = replace(message, content=_both(before.content, message.content))
        else:
            kept.append(message)
    if len(kept) < len(messages):
        lost.changed("input", "messages of one role side by side, joined to one")
    return kept


def _only_speaks(message: AnyMessage | None) -> TypeGuard[types.AssistantMessage]:
    """Whether what an assistant said is a text and nothing else, such as calls or thoughts."""
    return isinstance(message, types.AssistantMessage) and message == types.AssistantMessage(content=message.content)


def _both(one: Any, other: Any) -> types.Content:
    if not one or not other:
        return one or other or ""
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}\n\n{other}"
    parts = [[types.Text(text=each)] if isinstance(each, str) else each for each in (one, other)]
    return [*parts[0], *parts[1]]
