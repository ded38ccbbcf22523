"""Messages that are nobody's answer: what the user says and what the model is told, both ways.

Follows the developer, system and user messages of the Chat Completions reference (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

import msgspec
from msgspec.structs import replace

from ...responses.items import Message
from ...responses.leftovers import SPELLING, own, report_foreign
from ...unknown import Unknown, extras
from . import types
from .content import decode_parts, encode_parts
from .left import absent, notes, put_back, sent, unspelled
from .types import WIRE, AnyMessage, Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...dialects import ChatDialect
    from ...losses import Losses

Plain = types.SystemMessage | types.DeveloperMessage | types.UserMessage

KINDS: dict[str, type[Plain]] = {
    "system": types.SystemMessage,
    "developer": types.DeveloperMessage,
    "user": types.UserMessage,
}
"""The messages by their role."""


def joined(parts: Sequence[types.AnyPart], path: str, lost: Losses) -> str:
    """The texts of the parts, for hosts that take nothing but a string."""
    texts = [part.text for part in parts if isinstance(part, types.Text)]
    if len(texts) < len(parts):
        lost.dropped(path, "all but the text, which is all this host takes here")
    elif len(parts) != 1:
        lost.changed(path, "several texts, sent as one")
    return "".join(texts)


def spell_content(message: types.Message, left: Json) -> None:
    """Write an empty content as the document had it."""
    spelling = notes(left)
    if "content" in spelling and not message.content:
        message.content = absent(spelling["content"])


def encode_plain(item: Message, dialect: ChatDialect, i: int, lost: Losses) -> AnyMessage:
    """The message for the item at place `i`, which is not the assistant's."""
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
            content = joined(content, path, lost)
    kind = KINDS.get(role)
    if kind is None:
        return Unknown({"role": role, "content": msgspec.to_builtins(content)})
    message = kind(content=content)
    if not item.leftovers:
        return message
    report_foreign(item.leftovers, WIRE, f"input[{i}]", lost)
    left = own(item.leftovers, WIRE)
    if "name" in left and "name" in dialect.lacks:
        lost.dropped(f"input[{i}].leftovers.{WIRE}.name", "the name of a message, which this host does not take")
        left = {name: value for name, value in left.items() if name != "name"}
    message = put_back(message, unspelled(left))
    spell_content(message, left)
    return message


def decode_plain(message: Plain, dialect: ChatDialect) -> Message:
    """The item for a message that is not the assistant's."""
    item = Message(role=str(message.__struct_config__.tag), content="")
    content = message.content
    left: Json = {}
    if isinstance(content, str):
        item.content = content
    elif isinstance(content, list):
        item.content = decode_parts(content, dialect)
    else:
        left[SPELLING] = {"content": sent(content)}
    for name in ("name", "tool_calls"):
        if (value := getattr(message, name, msgspec.UNSET)) is not msgspec.UNSET:
            left[name] = value
    if type(message) not in KINDS.values():
        left.update(extras(message))
    if left:
        item.leftovers = {WIRE: left}
    return item


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
    return [*_parts(one), *_parts(other)]


def _parts(content: Any) -> list[types.AnyPart]:
    if isinstance(content, str):
        return [types.Text(text=content)]
    return content or []
