"""Detection of a message's format by marks: tables of fields, roles and types of parts, with their formats.

A message without a mark is a Responses message. Before changing this file, know that marks of two formats in one
message are rejected, so a mark that several formats share lists all of them. Follows the message formats of the
vendors' references (read 2026-11-20).
"""

from __future__ import annotations

from typing import Any, NoReturn

from ..errors import DecodeError
from . import NAMES
from .leftovers import as_list, as_object

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
            before, theirs = next(unlike, marks[0])
            refuse(
                path,
                f"holds marks of two formats: {before} is {TITLES[theirs[0]]}, {place} is {TITLES[formats[0]]}",
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
