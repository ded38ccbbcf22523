"""Prompts, answers, calls and results as the messages with parts of the conventions for generative AI.

Encrypted reasoning, signatures and keys are never in them, and large files are replaced by their size.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ..responses.items import (
    AnyItem,
    Compaction,
    CustomToolCall,
    CustomToolCallOutput,
    FunctionCall,
    FunctionCallOutput,
    Message,
    Reasoning,
)
from ..responses.parts import parse_data_url
from ..unknown import extras

MAX_BLOB = 64 * 1024
"""The maximum size of a recorded image or other file, in bytes."""

SERVER_TOOLS = {
    "web_search_call": (("action",), ()),
    "file_search_call": (("queries",), ("results",)),
    "code_interpreter_call": (("code",), ("outputs",)),
    "image_generation_call": ((), ("revised_prompt",)),
    "mcp_call": (("server_label", "arguments"), ("output", "error")),
}
"""Calls that the vendor executes: the fields of the call, and those of its result."""

MEDIA = {"input_image": "image", "input_audio": "audio", "input_video": "video", "input_file": "document"}
"""Parts that are no text, and their modality."""
LOCATIONS = ("image_url", "video_url", "file_url", "file_data")


def field_at(struct: Any, path: str) -> Any:
    """The field at this path, also one that is not declared by its struct; `None` without one."""
    for field in path.split("."):
        found = getattr(struct, field, None)
        struct = extras(struct).get(field) if found is None and struct is not None else found
    return struct


def as_json(value: Any) -> str | None:
    """The value as JSON text; `None` for an empty one."""
    return str(msgspec.json.encode(value), "utf-8") if value else None


def listed(value: Any) -> list[Any] | None:
    """One value, or several, as a list."""
    return [value] if isinstance(value, str | dict) else value and [*value]


def messages(items: Iterable[AnyItem]) -> list[dict[str, Any]]:
    """Items as messages with parts. Consecutive text, calls and reasoning of the assistant are one message."""
    found: list[dict[str, Any]] = []
    for item in items:
        role, parts = _role_and_parts(item)
        if found and found[-1]["role"] == role and role in ("assistant", "tool"):
            found[-1]["parts"] += parts
        elif parts:
            found.append({"role": role, "parts": parts})
    return found


def _role_and_parts(item: AnyItem) -> tuple[str, list[Any]]:
    match item:
        case Message():
            return "system" if item.role == "developer" else item.role, _content_parts(item.content)
        case FunctionCallOutput() | CustomToolCallOutput():
            return "tool", [{"type": "tool_call_response", "id": item.call_id, "response": result_of(item.output)}]
        case FunctionCall() | CustomToolCall():
            call = {"type": "tool_call", "id": item.call_id, "name": item.name, "arguments": _arguments(item)}
            return "assistant", [call]
        case Reasoning():
            texts = [field_at(part, "text") for part in (*(item.summary or ()), *(item.content or ()))]
            return "assistant", [text_part(text, "reasoning") for text in texts if text]
        case Compaction():
            return "assistant", [{"type": "compaction", **({"id": item.id} if item.id else {})}]
        case _ if item.type in SERVER_TOOLS:
            return "assistant", _server_call(item)
        case _:  # of other items only the kind is recorded
            return "assistant", [{"type": f"llm_rest.{getattr(item, 'kind', item.type)}"}]


def text_part(text: str | None, kind: str = "text") -> dict[str, Any] | None:
    """A part with text; `None` without any."""
    return {"type": kind, "content": text} if text else None


def _arguments(item: Any) -> Any:
    try:
        return msgspec.json.decode(item.arguments)
    except (AttributeError, msgspec.MsgspecError, UnicodeError, RecursionError):
        return getattr(item, "arguments", None) or getattr(item, "input", "")


def result_of(output: Any) -> Any:
    """What a tool returned: its text, or parts."""
    return output if isinstance(output, str) or output is None else _content_parts(output)


def _server_call(item: Any) -> list[dict[str, Any]]:
    """A call that the vendor executed, and its result."""
    plain: dict[str, Any] = msgspec.to_builtins(item)
    called, returned = ({name: plain[name] for name in names if plain.get(name)} for names in SERVER_TOOLS[item.type])
    kind = item.type.removesuffix("_call")
    call = {"type": "server_tool_call", "id": item.id, "name": getattr(item, "name", kind)}
    answered = {"type": "server_tool_call_response", "id": item.id}
    parts = [{**call, "server_tool_call": {"type": kind, **called}}]
    return [*parts, {**answered, "server_tool_call_response": {"type": kind, **returned}}] if returned else parts


def _content_parts(content: Any) -> list[Any]:
    return listed(text_part(content)) or [] if isinstance(content, str) else [_part(part) for part in content]


def _part(part: Any) -> dict[str, Any]:
    modality = MEDIA.get(part.type)
    if modality is None:
        return text_part(field_at(part, "text") or field_at(part, "refusal")) or {"type": f"llm_rest.{part.type}"}
    url = next((str(found) for name in LOCATIONS if (found := field_at(part, name))), "")
    media = parse_data_url(url)
    if media is None:
        kind, data = f"audio/{field_at(part, 'input_audio.format')}", field_at(part, "input_audio.data")
    else:
        kind, data = media.type, media.data
    common = {"modality": modality, "mime_type": kind}
    if data is not None and len(data) > MAX_BLOB * 4 // 3:
        return {"type": "llm_rest.omitted", "size": len(data) * 3 // 4, **common}
    if data is not None:
        return {"type": "blob", "content": data, **common}
    if file := field_at(part, "file_id"):
        return {"type": "file", "modality": modality, "file_id": file}
    return {"type": "uri", "modality": modality, "uri": url}
