"""An estimate of the number of tokens in a request; also its text, and the functions it offers.

A token is four characters, an image or a file 256 tokens. Only content that every wire supports is counted, so that the
same request has the same number on all.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from ..unknown import Unknown, given
from .items import (
    Compaction,
    CustomToolCall,
    CustomToolCallOutput,
    FunctionCall,
    FunctionCallOutput,
    Message,
)
from .parts import InputFile, InputImage, InputText, OutputText, PlainText, RefusalPart
from .request import items_of
from .tools import CustomTool, FunctionTool, NamespaceTool

if TYPE_CHECKING:
    from .items import AnyItem
    from .parts import ContentPart
    from .request import Request

CHARACTERS_PER_TOKEN = 4
TOKENS_PER_ATTACHMENT = 256
"""Tokens of an image or a file, whatever its size."""

AnyFunction = FunctionTool | CustomTool


def text_of(content: str | list[ContentPart]) -> str:
    """The text of a content; images and files are named in brackets."""
    if isinstance(content, str):
        return content
    pieces: list[str] = []
    for part in content:
        match part:
            case InputText(text=text) | OutputText(text=text) | PlainText(text=text):
                pieces.append(text)
            case InputImage():
                pieces.append("[image]")
            case InputFile(filename=name):
                pieces.append(f"[file {name}]" if given(name) else "[file]")
            case RefusalPart(refusal=text):
                pieces.append(text)
            case Unknown():
                pieces.append(f"[{part.kind}]")
            case _:
                pieces.append(f"[{part.__struct_config__.tag}]")
    return "\n".join(piece for piece in pieces if piece)


def offered(request: Request) -> list[AnyFunction]:
    """The functions and custom tools the model may call, those in namespaces too."""
    found: list[AnyFunction] = []
    for tool in request.tools if given(request.tools) else ():
        match tool:
            case FunctionTool() | CustomTool():
                found.append(tool)
            case NamespaceTool(tools=tools):
                found.extend(inner for inner in tools if isinstance(inner, FunctionTool | CustomTool))
            case _:
                pass
    return found


def tokens(text: str) -> int:
    """The number of tokens in a text: a quarter of its characters, rounded up."""
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


def estimate_tokens(request: Request) -> int:
    """An estimate of the input tokens of `request`, with its instructions and tools."""
    total = tokens(request.instructions) if isinstance(request.instructions, str) else 0
    total += sum(map(item_tokens, items_of(request)))
    for tool in offered(request):
        total += tokens(tool.name) + tokens(tool.description if given(tool.description) else "")
        if isinstance(tool, FunctionTool) and tool.parameters:
            total += tokens(msgspec.json.encode(tool.parameters).decode())
    return total


def item_tokens(item: AnyItem) -> int:
    """An estimate of the tokens of one item; 0 where only its vendor can read it."""
    match item:
        case Message(content=content):
            return tokens(text_of(content)) + _attachments(content)
        case FunctionCall(name=name, arguments=arguments):
            return tokens(name) + tokens(arguments)
        case CustomToolCall(name=name, input=written):
            return tokens(name) + tokens(written)
        case FunctionCallOutput(output=output) | CustomToolCallOutput(output=output):
            return tokens(text_of(output)) + _attachments(output)
        case Compaction(encrypted_content=kept):
            return tokens(kept)
        case _:
            return 0


def _attachments(content: str | list[ContentPart]) -> int:
    if not isinstance(content, list):
        return 0
    return TOKENS_PER_ATTACHMENT * sum(isinstance(part, InputImage | InputFile) for part in content)
