"""Names of tools as this wire takes them, and back.

The map is injective and the same every time, so that a conversation keeps its bytes and an answer can be read. Before changing
this file, know that histories already sent hold what it made. The pattern follows the reference of `FunctionDeclaration` (read
2026-11-20); of the two lengths given there the shorter one holds everywhere.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ...responses.carriers import digest
from ...responses.tools import CustomTool, FunctionTool, NamespaceTool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...responses.tools import AnyTool

_legal = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}").fullmatch
_illegal = re.compile(r"[^A-Za-z0-9_.:-]")


@lru_cache(maxsize=1024)
def wire_name(name: str, namespace: str = "") -> str:
    """A tool's name as this wire takes it; the tools of a namespace are called `namespace__name`."""
    whole = f"{namespace}__{name}" if namespace else name
    if _legal(whole):
        return whole
    start = _illegal.sub("_", whole)[:46]
    return f"{start if _legal(start) else f'_{start}'}_{digest(whole)}"


class Named(NamedTuple):
    """What a tool is called in Responses."""

    name: str
    namespace: str
    custom: bool


def renamed(tools: Iterable[AnyTool]) -> dict[str, Named]:
    """The tools whose calls come back under another name, or as functions although they are custom tools."""
    found: dict[str, Named] = {}
    for tool in tools:
        if isinstance(tool, FunctionTool | CustomTool):
            _add(tool, "", found)
        elif isinstance(tool, NamespaceTool):
            for inner in tool.tools:
                if isinstance(inner, FunctionTool | CustomTool):
                    _add(inner, tool.name, found)
    return found


def _add(tool: FunctionTool | CustomTool, namespace: str, found: dict[str, Named]) -> None:
    custom, wire = isinstance(tool, CustomTool), wire_name(tool.name, namespace)
    if custom or wire != tool.name:
        found[wire] = Named(tool.name, namespace, custom)
