"""The choice among the tools, both ways.

Where a host lacks a way of choosing, the tools are cut down to what was chosen: that is reported as emulated. Before
changing this file, know that a choice of a tool of the vendor is refused, since sending none would run another. Follows the
Chat Completions reference (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec
from msgspec import UNSET, UnsetType

from ...responses.tools import ChooseAllowed, ChooseCustom, ChooseFunction, ChooseMcp, ToolChoice
from ...unknown import Opt, Unknown, given
from . import types
from .types import Json

if TYPE_CHECKING:
    from ...dialects import ChatDialect
    from ...losses import Losses


def name_of(tool: types.Tool) -> str | None:
    """The name of a function or custom tool; a tool of the host has none."""
    named = tool.function if isinstance(tool.function, types.Function) else tool.custom
    return named.name if isinstance(named, types.Function | types.Custom) else None


WORDS = {"any": "required"}
"""What some hosts say for a word of the tool choice; the way back prefers OpenAI's, except in the host's own document."""


class Chosen(NamedTuple):
    """The tool choice of a request, and the tools it leaves."""

    choice: Opt[str | types.ToolChoice]
    tools: list[types.Tool]


def encode_choice(choice: Opt[ToolChoice], tools: list[types.Tool], dialect: ChatDialect, lost: Losses) -> Chosen:
    """The tool choice as the host can take it; where it cannot, the tools are cut down to what was chosen."""
    match choice:
        case None | UnsetType():
            return Chosen(choice, tools)
        case str():
            return _encode_word(choice, tools, dialect, lost)
        case ChooseFunction(name=name) | ChooseCustom(name=name):
            kind = "custom" if isinstance(choice, ChooseCustom) and dialect.custom_tools else "function"
            if kind == "function" and isinstance(choice, ChooseCustom):
                lost.emulated("tool_choice", f"the custom tool {name!r}, chosen as the function it was sent as")
            if kind in dialect.tool_choices:
                named = types.Named(name=name)
                made = (
                    types.ToolChoice(type=kind, custom=named)
                    if kind == "custom"
                    else types.ToolChoice(type=kind, function=named)
                )
                return Chosen(made, tools)
            lost.emulated("tool_choice", f"the tool {name!r} is the only one offered")
            return _encode_word("required", [tool for tool in tools if name_of(tool) == name], dialect, lost)
        case ChooseAllowed():
            return _encode_allowed(choice, tools, dialect, lost)
        case ChooseMcp() | Unknown():
            lost.refused("tool_choice", "a tool of the vendor, which this wire cannot choose")
            return Chosen(UNSET, tools)


def _encode_word(word: str, tools: list[types.Tool], dialect: ChatDialect, lost: Losses) -> Chosen:
    if word in dialect.tool_choices or word not in ("none", "auto", "required"):
        return Chosen(word, tools)
    if word == "none":
        lost.emulated("tool_choice", "no tools are offered, since this host knows no way to forbid them")
        return Chosen(UNSET, [])
    lost.dropped("tool_choice", f"{word!r}, which this host does not take")
    return Chosen(UNSET, tools)


def _encode_allowed(choice: ChooseAllowed, tools: list[types.Tool], dialect: ChatDialect, lost: Losses) -> Chosen:
    mode = choice.mode or "auto"
    names: list[str] = []
    entries: list[Json] = []
    for j, entry in enumerate(choice.tools):
        kind, name = entry.get("type"), entry.get("name")
        if kind in ("function", "custom") and isinstance(name, str):
            names.append(name)
            entries.append({"type": kind, kind: {"name": name}})
        else:
            lost.dropped(f"tool_choice.tools[{j}]", "a tool of the vendor")
    if "allowed_tools" in dialect.tool_choices:
        allowed = {"mode": mode, "tools": entries}
        return Chosen(types.ToolChoice(type="allowed_tools", allowed_tools=allowed), tools)
    lost.emulated("tool_choice", "only the allowed tools are offered")
    return _encode_word(mode, [tool for tool in tools if name_of(tool) in names], dialect, lost)


def decode_choice(choice: str | types.ToolChoice) -> ToolChoice:
    """The tool choice as Responses spells it."""
    if isinstance(choice, str):
        return WORDS.get(choice, choice)
    if given(choice.function):
        return ChooseFunction(name=choice.function.name)
    if given(choice.custom):
        return ChooseCustom(name=choice.custom.name)
    allowed = choice.allowed_tools
    if given(allowed) and isinstance(allowed.get("tools"), list):
        tools = [_flat(cast("Json", entry)) for entry in cast("list[Any]", allowed["tools"]) if isinstance(entry, dict)]
        return ChooseAllowed(tools=tools, mode=allowed.get("mode", UNSET))
    return Unknown(msgspec.to_builtins(choice))


def _flat(entry: Json) -> Json:
    inner = entry.get(str(entry.get("type")))
    if not isinstance(inner, dict):
        return entry
    return {"type": entry["type"], **cast("Json", inner)}
