"""Call ids and tool names as this wire takes them, and back.

Both maps are injective and the same every time, so that a conversation keeps its bytes and an answer can be read. Before
changing this file, know that histories already sent hold what it made. Patterns follow the Messages reference (read
2026-11-20).
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from ... import responses as ours
from ...responses.carriers import digest

MARK = "llmr-"
"""Begins an id that stands for one this wire does not take; the rest is its base64url."""

legal_id = re.compile(r"[a-zA-Z0-9_-]+").fullmatch
_legal_name = re.compile(r"[a-zA-Z0-9_-]{1,64}").fullmatch
_illegal = re.compile(r"[^a-zA-Z0-9_-]")
_TO_URL = bytes.maketrans(b"+/", b"-_")
_FROM_URL = bytes.maketrans(b"-_", b"+/")


def wire_id(call_id: str, repeated: int = 0) -> str:
    """A call id as this wire takes it: itself where it is legal and was not used before, else a spelled-out stand-in."""
    if not repeated and legal_id(call_id) and not call_id.startswith(MARK):
        return call_id
    spelled = f"{call_id}\0{repeated}" if repeated else call_id
    data = binascii.b2a_base64(spelled.encode("utf-8", "surrogatepass"), newline=False)
    return MARK + data.translate(_TO_URL).rstrip(b"=").decode()


def call_id(wire: str) -> str:
    """The id that `wire_id` was given."""
    if not wire.startswith(MARK):
        return wire
    data = wire[len(MARK) :].encode("ascii", "replace").translate(_FROM_URL)
    try:
        spelled = binascii.a2b_base64(data + b"=" * (-len(data) % 4)).decode("utf-8", "surrogatepass")
    except (binascii.Error, UnicodeDecodeError):
        return wire
    original, _, count = spelled.partition("\0")
    repeated = int(count) if len(count) < 8 and count.isascii() and count.isdigit() else 0
    return original if wire_id(original, repeated) == wire else wire


@lru_cache(maxsize=1024)
def wire_name(name: str, namespace: str = "") -> str:
    """A tool's name as this wire takes it; the tools of a namespace are called `namespace__name`."""
    whole = f"{namespace}__{name}" if namespace else name
    if _legal_name(whole):
        return whole
    return f"{_illegal.sub('_', whole)[:47]}_{digest(whole)}"


class Named(NamedTuple):
    """What a tool is called in Responses."""

    name: str
    namespace: str
    custom: bool


def renamed(tools: Iterable[ours.AnyTool]) -> dict[str, Named]:
    """The tools whose calls come back under another name, or as functions although they are custom tools."""
    found: dict[str, Named] = {}
    for tool in tools:
        if isinstance(tool, ours.FunctionTool | ours.CustomTool):
            wire = wire_name(tool.name)
            if wire != tool.name or isinstance(tool, ours.CustomTool):
                found[wire] = Named(tool.name, "", isinstance(tool, ours.CustomTool))
        elif isinstance(tool, ours.NamespaceTool):
            for inner in tool.tools:
                if isinstance(inner, ours.FunctionTool | ours.CustomTool):
                    wire = wire_name(inner.name, tool.name)
                    found[wire] = Named(inner.name, tool.name, isinstance(inner, ours.CustomTool))
    return found
