"""The formats of messages: detection by marks (fields, roles and types of parts), checks of one message, and flat rows.

A message without a mark is a Responses message. Before changing this file, know that marks of two formats in one
message are rejected, so a mark that several formats share lists all of them; and that a message is checked before the
decoder of its wire reads it, since that accepts what a vendor may send. Follows the message formats of the vendors'
references (read 2026-11-20).
"""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING, Any, NoReturn, cast

import msgspec

from ..errors import DecodeError
from ..responses.carriers import digest
from ..responses.items import ROLES as CONVERSATION_ROLES
from ..responses.items import FunctionCall, FunctionCallOutput, Message, Reasoning
from ..responses.normalize import json_text
from ..responses.parts import SummaryText
from ..unknown import as_list, as_object
from . import NAMES

if TYPE_CHECKING:
    from ..losses import Losses

Plain = dict[str, Any]
"""A JSON object."""
Formats = tuple[str, ...]

RESPONSES, CHAT, ANTHROPIC, OLLAMA, GEMINI = NAMES
ROWS = "rows"
"""Flat rows, as in a database: `role content reasoning toolId toolName toolInput toolResult`."""

TITLES = {
    RESPONSES: "Responses",
    CHAT: "Chat Completions",
    ANTHROPIC: "Anthropic Messages",
    OLLAMA: "Ollama",
    GEMINI: "Gemini",
    ROWS: "a flat row",
}
PREFERENCE = (ANTHROPIC, CHAT, OLLAMA, GEMINI, ROWS)
"""The format to choose where several have all marks of a message, and no other message decides."""

# --- the marks ------------------------------------------------------------------------------------------------------

COLUMNS = ("toolId", "toolName", "toolInput", "toolResult")

FIELDS: dict[str, Formats] = {
    "tool_calls": (CHAT, OLLAMA),
    "tool_call_id": (CHAT, OLLAMA),
    "name": (CHAT, OLLAMA),
    "reasoning": (CHAT, ROWS),
    **dict.fromkeys(
        ("reasoning_content", "reasoning_details", "function_call", "refusal", "audio", "annotations"), (CHAT,)
    ),
    **dict.fromkeys(("images", "thinking", "tool_name"), (OLLAMA,)),
    "parts": (GEMINI,),
    "stop_sequence": (ANTHROPIC,),
    **dict.fromkeys(COLUMNS, (ROWS,)),
    **dict.fromkeys(("status", "phase"), (RESPONSES,)),
}
"""Fields of a message, and the formats that have them. `type`, `id`, `role` and `content` are in every format."""

ROLES: dict[str, Formats] = {"model": (GEMINI,), "tool": (CHAT, OLLAMA, GEMINI, ROWS), "function": (CHAT, GEMINI)}
"""Roles that only these formats have."""

# Tuples, because a role may be any JSON value.
SPEAKERS = ("assistant", "agent", "model")
KNOWN_ROLES = (*("user", "human", "system", "developer", "tool", "function"), *SPEAKERS)

ASSISTANT_BLOCKS = frozenset(
    "thinking redacted_thinking tool_use server_tool_use mcp_tool_use mcp_tool_result mcp_tool_listing "
    "web_search_tool_result web_fetch_tool_result code_execution_tool_result bash_code_execution_tool_result "
    "text_editor_code_execution_tool_result tool_search_tool_result advisor_tool_result fallback".split()
)
"""Blocks of Anthropic in assistant messages only."""
USER_BLOCKS = frozenset(
    "image document search_result tool_reference browser_state container_upload tool_result".split()
)
"""Blocks of Anthropic in other messages only."""

PARTS: dict[str, Formats] = {
    "text": (RESPONSES, CHAT, ANTHROPIC),
    **dict.fromkeys(("refusal", "input_audio"), (RESPONSES, CHAT)),
    **dict.fromkeys(("image_url", "file", "video_url", "document_url"), (CHAT,)),
    **dict.fromkeys((*ASSISTANT_BLOCKS, *USER_BLOCKS, "compaction", "tool_addition", "tool_removal"), (ANTHROPIC,)),
    **dict.fromkeys(
        (
            "input_text input_image input_image_url input_file input_video output_text summary_text reasoning_text "
            "computer_screenshot"
        ).split(),
        (RESPONSES,),
    ),
}
"""Types of parts, and the formats that have them."""

ANSWERED = frozenset("id model stop_reason stop_sequence stop_details usage container diagnostics".split())
"""Fields of an Anthropic answer beyond those of a message in a request."""

UNTRANSLATED = {"video_url", "document_url", "browser_state", "tool_addition", "tool_removal"}
"""Parts that only their own wire can send."""

PAYLOADS = {
    "user": ("text", "inlineData", "fileData", "functionResponse"),
    "model": (
        *("text", "inlineData", "functionCall", "executableCode", "codeExecutionResult", "toolCall", "toolResponse"),
        "thoughtSignature",
    ),
}
"""Fields of a Gemini part, by the role of its message."""

SOURCES = ("base64", "content", "file", "text", "url")
"""Types of the sources of images and documents of Anthropic."""


def part_formats(part: Plain) -> Formats | None:
    """The formats that have a part of this type; `None` for an unknown type."""
    kind = part.get("type")
    if not isinstance(kind, str):
        return None
    if kind == "text" and "citations" in part:
        return (ANTHROPIC,)
    if kind == "text" and "cache_control" in part:
        return (ANTHROPIC, CHAT)
    if kind == "input_audio" and isinstance(part.get("input_audio"), str):
        return (CHAT,)
    if kind == "thinking" and isinstance(part.get("thinking"), list):
        return (CHAT,)
    if kind == "tool_use":  # earlier designs put calls and results with other names into messages of Responses
        return (RESPONSES,) if "arguments" in part or isinstance(part.get("input"), str) else (ANTHROPIC, RESPONSES)
    if kind == "tool_result":
        return _result_formats(part)
    return (RESPONSES,) if kind.startswith(f"{CHAT}:") else PARTS.get(kind)


def _result_formats(part: Plain) -> Formats:
    content = part.get("content")
    if "call_id" in part or "output" in part or isinstance(content, dict):
        return (RESPONSES,)
    if isinstance(content, list):
        inner = [part_formats(as_object(piece)) or () for piece in as_list(content) if isinstance(piece, dict)]
        if any(ANTHROPIC not in formats for formats in inner):
            return (RESPONSES,)
        if any(RESPONSES not in formats for formats in inner):
            return (ANTHROPIC,)
    return (ANTHROPIC, RESPONSES)


def _marks(message: Plain) -> list[tuple[str, Formats]]:
    """The marks in a message, each with its path."""
    marks = [(name, FIELDS[name]) for name in message if name in FIELDS]
    role = message.get("role")
    if isinstance(role, str) and role in ROLES:
        marks.append((f"role {role}", ROLES[role]))
    content = message.get("content")
    for j, part in enumerate(as_list(content)):
        formats = part_formats(as_object(part))
        if formats is not None and formats != PARTS["text"]:
            marks.append((f"content[{j}] ({part['type']})", formats))
    if any(isinstance(arguments, str) for arguments in _arguments(message)):
        marks.append(("arguments as text", (CHAT,)))
    return marks


def _arguments(message: Plain) -> list[Any]:
    """The arguments of all calls in a message: text in Chat, an object in Ollama and at some hosts of Chat."""
    calls = as_list(message.get("tool_calls"))
    return [as_object(as_object(call).get("function")).get("arguments") for call in calls]


def candidates(message: Plain, path: str) -> Formats:
    """The formats that have all marks of a message; Responses alone where it has none."""
    marks = _marks(message)
    found = set(TITLES)
    for i, (place, formats) in enumerate(marks):
        if not found.intersection(formats):
            unlike = (mark for mark in marks[:i] if not set(mark[1]).intersection(formats))
            before, other = next(unlike, marks[0])
            refuse(
                path,
                f"holds marks of two formats: {before} is {TITLES[other[0]]}, {place} is {TITLES[formats[0]]}",
                "write each message in one format",
            )
        found.intersection_update(formats)
    if not marks or (RESPONSES in found and ANTHROPIC not in found):
        return (RESPONSES,)
    if message.get("role") in ("agent", "human"):
        found = found & {ROWS} or found
    preference = (OLLAMA, *PREFERENCE) if any(isinstance(each, dict) for each in _arguments(message)) else PREFERENCE
    return tuple(dict.fromkeys(name for name in preference if name in found)) or (RESPONSES,)


def refuse(path: str, what: str, hint: str) -> NoReturn:
    """Raise the error for an invalid entry at a path, with what to write instead."""
    raise DecodeError(what, path=path, hint=hint)


# --- checks of one message in its format -------------------------------------------------------------------------------------


def checked_item(item: Plain, path: str, *, strict: bool) -> Plain:
    """A Responses message or output, if all its parts are. `strict`: the receiver is not a host of this format."""
    field = "output" if str(item.get("type", "")).endswith("call_output") else "content"
    found = item.get(field)
    if not isinstance(found, list) or item.get("type", "message") not in _WITH_PARTS:
        return {"type": "message", **item} if "role" in item and "type" not in item else item
    pieces = cast("Any", found)
    if field == "output" and not any(isinstance(piece, dict) and "type" in piece for piece in pieces):
        return item
    text = "output_text" if item.get("role") in SPEAKERS else "input_text"
    parts: list[Any] = []
    for j, part in enumerate(pieces):
        if isinstance(part, dict):
            part = _our_part(cast("Plain", part), text, f"{path}.{field}[{j}]", strict)
        parts.append(part)
    return {"type": "message", **item, field: parts}


_WITH_PARTS = ("message", "function_call_output", "custom_tool_call_output")


def _our_part(part: Plain, text: str, path: str, strict: bool) -> Plain:
    kind, formats = part.get("type"), part_formats(part)
    if not isinstance(kind, str):
        refuse(path, "expected a part with a type", 'a text is {"type": "input_text", "text": ...}')
    if formats is None and strict:
        refuse(path, f"no format has a part of type {kind!r}", "text, images and files are what every wire knows")
    if formats is not None and RESPONSES not in formats:
        refuse(path, f"a part of {TITLES[formats[0]]} in an item of Responses", "write each message in one format")
    return {**part, "type": text} if kind == "text" else part


def checked_message(message: Plain, format: str, path: str, wire: str) -> Plain:
    """The message in the format of its wire. Raises `DecodeError` where its decoder would."""
    role: Any = message.get("role", "user" if format == GEMINI else None)
    if role not in KNOWN_ROLES:
        refuse(
            f"{path}.role", f"expected a role such as user or assistant, got {role!r}", "each message says who speaks"
        )
    message = {name: value for name, value in message.items() if name != "type" or value != "message"}
    if format == GEMINI:
        return _gemini(message, role, path)
    if "stop_sequence" in message:  # a whole answer of Anthropic
        message = {name: value for name, value in message.items() if name not in ANSWERED}
    role = CONVERSATION_ROLES.get(role, role)
    if format != CHAT and role == "developer":
        role = "system"
    message["role"] = role
    content = message.get("content")
    if role in ("tool", "function"):
        message["content"] = content = None if content is None else json_text(content)
    if isinstance(content, list):
        if format == OLLAMA:
            content = _joined(cast("Any", content), path)
        else:
            content = [_text_part(piece) for piece in cast("Any", content)]
            for j, part in enumerate(content):
                _check_part(part, format, role, f"{path}.content[{j}]", wire)
        message["content"] = content
    elif content is not None and not isinstance(content, str):
        refuse(f"{path}.content", f"expected text or parts, got {json_type(content)}", "a list of parts, or a string")
    _check_calls(message, path)
    if format == OLLAMA:
        _check_images(message.get("images"), f"{path}.images")
    return message


def json_type(value: Any) -> str:
    """The type of a JSON value, for an error."""
    kind = type(value).__name__
    return {"dict": "an object", "list": "a list", "bool": "a boolean"}.get(kind, kind)


def _text_part(piece: Any) -> Any:
    return {"type": "text", "text": piece} if isinstance(piece, str) else piece


def _joined(pieces: list[Any], path: str) -> str:
    """The joined text of parts, which a message of Ollama does not have."""
    for j, piece in enumerate(pieces):
        if not isinstance(piece, str) and as_object(piece).get("type") != "text":
            refuse(f"{path}.content[{j}]", "a message of Ollama holds text and images=[...]", "write one format")
    return "".join(piece if isinstance(piece, str) else str(piece.get("text", "")) for piece in pieces)


def _check_part(piece: Any, format: str, role: str, path: str, wire: str) -> None:
    part = as_object(piece)
    formats, kind = part_formats(part), part.get("type")
    if formats is None or format not in formats:
        named = f"of type {kind!r}" if kind else "without a type"
        refuse(path, f"{TITLES[format]} has no part {named}", "text, images and files are what every wire knows")
    if kind in UNTRANSLATED and format != wire:
        refuse(path, f"a part of type {kind!r}, which only {TITLES[format]} has", "send it to a host of that format")
    if format == ANTHROPIC:
        is_assistant = role == "assistant"
        if kind in ASSISTANT_BLOCKS and not is_assistant:
            refuse(path, f"a {kind} block in a message of the role {role}", "it belongs to the assistant")
        if kind in USER_BLOCKS and is_assistant and kind != "container_upload":
            refuse(path, f"a {kind} block in a message of the assistant", "it belongs to the user")
        if kind in ("image", "document") and as_object(part.get("source")).get("type") not in SOURCES:
            refuse(f"{path}.source", f"expected one of the types {', '.join(SOURCES)}", f"a source for the {kind}")
        if kind == "tool_result" and isinstance(part.get("content"), list):
            part["content"] = [_text_part(inner) for inner in part["content"]]
            for i, inner in enumerate(part["content"]):
                _check_part(inner, format, "user", f"{path}.content[{i}]", wire)


def _check_calls(message: Plain, path: str) -> None:
    calls = message.get("tool_calls")
    for j, call in enumerate(as_list(calls)):
        held = as_object(call)
        if not as_object(held.get("function") or held.get("custom")).get("name"):
            refuse(
                f"{path}.tool_calls[{j}]",
                "expected a function with a name and arguments",
                '{"id": ..., "type": "function", "function": {"name": ..., "arguments": ...}}',
            )


_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")


def _check_images(images: Any, path: str) -> None:
    for j, image in enumerate(as_list(images)):
        if not isinstance(image, str) or not _BASE64.fullmatch(image[:4096]):
            refuse(f"{path}[{j}]", "expected the bytes of an image as base64", "give bytes, a Path, or base64 text")


def _gemini(message: Plain, role: str, path: str) -> Plain:
    parts = message.get("parts")
    if not isinstance(parts, list):
        if parts is None:
            refuse(path, "a message of the role model has parts", '{"role": "model", "parts": [{"text": ...}]}')
        parts = [parts]
    if "content" in message:
        refuse(path, "has both content, as other formats do, and parts, as Gemini", "write each message in one format")
    speaker = "model" if role in SPEAKERS else "user"
    found: list[Any] = []
    for j, part in enumerate(cast("Any", parts)):
        part = {"text": part} if isinstance(part, str) else part
        _check_gemini(part, speaker, f"{path}.parts[{j}]")
        found.append(part)
    with_role = {"role": role if role in ("system", "developer") else speaker} if "role" in message else {}
    return {**message, **with_role, "parts": found}


_GEMINI = '{"text": ...}, {"inlineData": {"mimeType", "data"}}, {"functionResponse": {...}} and so on'


def _check_gemini(part: Any, speaker: str, path: str) -> None:
    if not isinstance(part, dict):
        refuse(path, f"expected an object, got {json_type(part)}", _GEMINI)
    found = {_camel(name): value for name, value in cast("Plain", part).items() if value is not None}
    if "type" in found or not any(name in found for name in PAYLOADS[speaker]):
        held = ", ".join(found) or "nothing"
        refuse(path, f"expected one of {', '.join(PAYLOADS[speaker])} for the role {speaker}, got {held}", _GEMINI)
    for name, needed in (("inlineData", ("mimeType", "data")), ("fileData", ("mimeType", "fileUri"))):
        media = as_object(found.get(name))
        if name in found and not {*needed} <= {_camel(key) for key in media if media[key]}:
            refuse(f"{path}.{name}", f"expected {' and '.join(needed)}", _GEMINI)


def _camel(name: Any) -> str:
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), str(name))


# --- flat rows ------------------------------------------------------------------------------------------------------

_ROW = {"type", "role", "content", "reasoning", *COLUMNS}


def read_row(row: Plain, path: str, calls: set[str], lost: Losses) -> list[Any]:
    """The items of a flat row: reasoning, text, call and tool result.

    A row with a call and its result needs no id: it is made from the row, and without a `toolName` the `toolId` names the tool.
    """
    held = {name: value for name, value in row.items() if value is not None}
    role = held.get("role", "tool" if "toolId" in held else None)
    if role not in KNOWN_ROLES:
        refuse(f"{path}.role", f"expected a role such as user or agent, got {role!r}", "each row says who speaks")
    for name in ("content", "reasoning", "toolId", "toolName"):
        if not isinstance(held.get(name, ""), str):
            refuse(f"{path}.{name}", f"expected text, got {json_type(held[name])}", "a flat row holds text there")
    for name in held:
        if name not in _ROW:
            lost.dropped(f"{path}.{name}", "a column that no message has")
    items: list[Any] = []
    content, call_id = held.get("content", ""), held.get("toolId", "")
    is_move = "toolInput" in held and "toolResult" in held and call_id not in calls
    if is_move and not (call_id and "toolName" in held):
        held["toolName"] = held.get("toolName", call_id)
        call_id = _made_id(row, calls)
    if held.get("reasoning") and is_move:  # what the agent wrote before it acted
        items.append(Message(role="assistant", content=held["reasoning"]))
    elif held.get("reasoning"):
        items.append(Reasoning(summary=[SummaryText(text=held["reasoning"])]))
    result = held.get("toolResult", content if role == "tool" and "toolInput" not in held else None)
    if content and result is not content:
        role = CONVERSATION_ROLES.get(role, "assistant" if role in ("tool", "function", "model") else role)
        items.append(Message(role=role, content=content))
    if not any(name in held for name in COLUMNS):
        if role == "tool":
            refuse(f"{path}.toolId", "expected the id of the call", "a row of the role tool says which call it answers")
        return items or [Message(role=CONVERSATION_ROLES.get(role, role), content="")]
    if not call_id or (is_move and not held["toolName"]):
        refuse(f"{path}.toolId", "expected the id of the call", "calls and their results are paired by it")
    if "toolInput" in held and "toolName" not in held and call_id not in calls:
        refuse(f"{path}.toolName", "expected the name of the tool", "a call without its result needs an id and a name")
    if "toolName" in held and call_id not in calls and ("toolInput" in held or "toolResult" not in held):
        arguments = _plain_text(held.get("toolInput", "")) or "{}"
        items.append(FunctionCall(call_id=call_id, name=held["toolName"], arguments=arguments))
        calls.add(call_id)
    if result is not None:
        items.append(FunctionCallOutput(call_id=call_id, output=_plain_text(result)))
    return items


def _made_id(row: Plain, calls: set[str]) -> str:
    """The id of a call in a row that has none: made from the row, and from its number among equal rows."""
    found = f"call_{digest(msgspec.json.encode(row, order='deterministic').decode())}"
    number = next(n for n in count(1) if (f"{found}_{n}" if n > 1 else found) not in calls)
    return f"{found}_{number}" if number > 1 else found


def _plain_text(value: Any) -> str:
    """Text unchanged, and any other value as its JSON text."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
