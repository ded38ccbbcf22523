"""An estimate of how many tokens a request has, its text, and the functions it offers.

A token is four characters, an image or a file 256 tokens. What is counted is what every wire can carry, so that the same
request has the same number on all.
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
    from .parts import ContentPart
    from .request import Request

CHARACTERS_PER_TOKEN = 4
TOKENS_PER_ATTACHMENT = 256
"""What an image or a file costs, whatever its size."""

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
    """How many tokens a text has: a quarter of its characters, rounded up."""
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


def estimate_tokens(request: Request) -> int:
    """About how many tokens the input of `request` has, with its instructions and tools."""
    text = [request.instructions] if isinstance(request.instructions, str) else []
    attachments = 0
    for item in items_of(request):
        match item:
            case Message(content=content):
                text.append(text_of(content))
                attachments += _attachments(content)
            case FunctionCall(name=name, arguments=arguments):
                text += (name, arguments)
            case CustomToolCall(name=name, input=written):
                text += (name, written)
            case FunctionCallOutput(output=output) | CustomToolCallOutput(output=output):
                text.append(text_of(output))
                attachments += _attachments(output)
            case Compaction(encrypted_content=kept):
                text.append(kept)
            case _:
                pass
    for tool in offered(request):
        text += (tool.name, tool.description if given(tool.description) else "")
        if isinstance(tool, FunctionTool) and tool.parameters:
            text.append(msgspec.json.encode(tool.parameters).decode())
    return sum(tokens(piece) for piece in text) + attachments * TOKENS_PER_ATTACHMENT


def _attachments(content: str | list[ContentPart]) -> int:
    return sum(isinstance(part, InputImage | InputFile) for part in content) if isinstance(content, list) else 0
