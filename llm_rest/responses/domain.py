"""Domain data: items without vendor-specific fields, and items as flat rows.

The result has no opaque state, no ids and no records of hosted tools, so that every wire supports it. Before changing
this file, know that calls are renumbered from the first item on, so items that are appended later change no number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..unknown import base
from .estimate import text_of
from .items import (
    AnyItem,
    CustomToolCall,
    CustomToolCallOutput,
    FunctionCall,
    FunctionCallOutput,
    Message,
    Reasoning,
)
from .parts import InputFile, InputImage, InputText, OutputText, PlainText, RefusalPart


def domain_items(items: Iterable[AnyItem]) -> list[AnyItem]:
    """The items as domain data: texts, images, files, calls and outputs, readable reasoning."""
    ids: dict[str, str] = {}
    return [made for item in items if (made := _domain_item(item, ids)) is not None]


def _domain_item(item: AnyItem, ids: dict[str, str]) -> AnyItem | None:
    def renamed(call_id: str) -> str:
        return ids.setdefault(call_id, f"call_{len(ids) + 1}")

    match item:
        case Message():
            content = item.content if isinstance(item.content, str) else _plain_parts(item.content)
            return Message(role=item.role, content=content) if content != [] else None
        case FunctionCall():
            return FunctionCall(call_id=renamed(item.call_id), name=item.name, arguments=item.arguments)
        case CustomToolCall():
            return CustomToolCall(call_id=renamed(item.call_id), name=item.name, input=item.input)
        case FunctionCallOutput() | CustomToolCallOutput():
            output = item.output if isinstance(item.output, str) else _plain_parts(item.output)
            call_id = renamed(item.call_id or "")
            return type(base(item))(call_id=call_id, output=output, is_error=item.is_error)
        case Reasoning():
            summary = [type(base(part))(text=part.text) for part in item.summary or ()]
            thought = [type(base(part))(text=part.text) for part in item.content or ()]
            return Reasoning(summary=summary, content=thought or None) if summary or thought else None
        case _:
            return None


def _plain_parts(parts: Sequence[Any]) -> list[Any]:
    made: list[Any] = []
    for part in parts:
        match part:
            case InputText() | PlainText():
                made.append(InputText(text=part.text))
            case OutputText():
                made.append(OutputText(text=part.text, annotations=[]))
            case RefusalPart():
                made.append(RefusalPart(refusal=part.refusal))
            case InputImage(image_url=str(url)):
                made.append(InputImage(image_url=url, detail=part.detail))
            case InputFile() if part.file_data or part.file_url:
                made.append(InputFile(file_data=part.file_data, file_url=part.file_url, filename=part.filename))
            case InputImage() | InputFile():  # a file id is invalid at another vendor
                made.append(InputText(text="[image]" if isinstance(part, InputImage) else "[file]"))
            case _:
                pass
    return made


def flat_rows(items: Iterable[AnyItem]) -> list[dict[str, Any]]:
    """Items as flat rows: `role content reasoning toolId toolName toolInput toolResult`."""
    rows: list[dict[str, Any]] = []
    thought = ""
    for item in items:
        row: dict[str, Any] | None = None
        match item:
            case Message():
                row = {"role": item.role, "content": text_of(item.content)}
            case FunctionCall(arguments=text) | CustomToolCall(input=text):
                row = {"role": "assistant", "toolId": item.call_id, "toolName": item.name, "toolInput": text}
            case FunctionCallOutput() | CustomToolCallOutput():
                row = {"role": "tool", "toolId": item.call_id, "toolResult": text_of(item.output)}
            case Reasoning():
                thought += "".join(part.text for part in (item.summary or item.content or ()))
            case _:
                pass
        if row is not None:
            if thought and row["role"] == "assistant":
                row, thought = {**row, "reasoning": thought}, ""
            rows.append(row)
    return rows
