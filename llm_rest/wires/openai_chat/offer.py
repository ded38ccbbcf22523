"""The tools that a request offers and the choice among them, both ways; web search is an option here, a tool in Responses.

Where a host lacks a way of choosing, the tools are cut down to what was chosen: that is reported as emulated. Before
changing this file, know that a choice and a word about parallel calls are sent only where tools are, since hosts refuse them
alone, and that a choice of a tool of the vendor is refused, since sending none would run another. Follows the Chat
Completions reference and its legacy `functions` (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

import msgspec
from msgspec import UNSET, UnsetType

from ...losses import Losses, no_such
from ...responses import tools as rt
from ...responses.items import AdditionalTools, AnyItem
from ...unknown import Opt, Unknown, given, or_none, or_unset
from ...vendors.dialects import ChatDialect
from .._left import as_object, beyond, notes, sent
from .._renamed import sent_name
from . import types
from .tools import decode_tools, encode_tools, is_search, name_of
from .types import Json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...responses.request import Request

WORDS = {"any": "required"}
"""What some hosts say for a word of the tool choice; the way back prefers OpenAI's, except in the host's own document."""

_ANY = ChatDialect()
"""A host that takes every choice."""

PLACE = ("city", "country", "region", "timezone")
"""Where a search is made from: one object deeper here."""


class Chosen(NamedTuple):
    """The tool choice of a request, and the tools it leaves."""

    choice: Opt[str | types.ToolChoice]
    tools: list[types.Tool]


# --- Responses -> Chat ----------------------------------------------------------------------------------------------


def encode_offer(
    request: Request, items: Sequence[AnyItem], body: types.Request, left: Json, dialect: ChatDialect, lost: Losses
) -> None:
    """Set the tools, the choice among them and whether several may be called at once."""
    spelling = notes(left)
    offered = list(request.tools or ())
    for i, item in enumerate(items):
        if isinstance(item, AdditionalTools):
            lost.emulated(f"input[{i}]", "tools added later, offered from the beginning")
            offered += item.tools
    tools: list[types.Tool] = []
    if offered:
        tools = encode_tools(offered, as_object(left.get("tools")), dialect, lost)
        body.web_search_options = _encode_search(
            offered, or_unset(request.model), "web_search" in spelling, dialect, lost
        )
    elif "tools" in spelling:
        body.tools = spelling["tools"]
    if not tools:
        if given(request.tool_choice) and request.tool_choice != "auto":
            lost.dropped("tool_choice", "a choice among no tools")
        if given(request.parallel_tool_calls):
            lost.dropped("parallel_tool_calls", "a word about calls where there are no tools")
        return
    chosen, tools = _encode_choice(or_unset(request.tool_choice), tools, dialect, lost)
    if not tools:
        return
    came = spelling.get("tool_choice")
    body.tools = tools
    body.tool_choice = came if isinstance(came, str) and WORDS.get(came) == chosen else chosen
    body.parallel_tool_calls = or_unset(request.parallel_tool_calls)
    if "functions" in spelling:
        body.functions = [tool.function for tool in tools if given(tool.function)]
        choice = body.tool_choice
        body.function_call = choice.function if isinstance(choice, types.ToolChoice) else choice
        body.tools = body.tool_choice = UNSET


def _encode_choice(
    choice: Opt[rt.ToolChoice],
    tools: list[types.Tool],
    dialect: ChatDialect,
    lost: Losses,
    naming: Callable[[str], str] = sent_name,
) -> Chosen:
    """The tool choice as the host can take it; where it cannot, the tools are cut down to what was chosen."""
    match choice:
        case None | UnsetType():
            return Chosen(choice, tools)
        case str():
            return _encode_word(choice, tools, dialect, lost)
        case rt.ChooseFunction(name=name) | rt.ChooseCustom(name=name):
            kind = "custom" if isinstance(choice, rt.ChooseCustom) and dialect.custom_tools else "function"
            if kind == "function" and isinstance(choice, rt.ChooseCustom):
                lost.emulated("tool_choice", f"the custom tool {name!r}, chosen as the function it was sent as")
            if kind in dialect.tool_choices:
                named: Json = {kind: types.Named(name=naming(name))}
                return Chosen(types.ToolChoice(type=kind, **named), tools)
            lost.emulated("tool_choice", f"the tool {name!r} is the only one offered")
            return _encode_word("required", [tool for tool in tools if name_of(tool) == naming(name)], dialect, lost)
        case rt.ChooseAllowed():
            return _encode_allowed(choice, tools, dialect, lost, naming)
        case rt.ChooseMcp() | Unknown():
            lost.refused("tool_choice", "a tool of the vendor, which Chat Completions cannot choose")
            return Chosen(UNSET, tools)


def _encode_word(word: str, tools: list[types.Tool], dialect: ChatDialect, lost: Losses) -> Chosen:
    if word in dialect.tool_choices or word not in ("none", "auto", "required"):
        return Chosen(word, tools)
    if word == "none":
        lost.emulated("tool_choice", "no tools are offered, since this host knows no way to forbid them")
        return Chosen(UNSET, [])
    lost.dropped("tool_choice", f"{word!r}, which this host does not take")
    return Chosen(UNSET, tools)


def _encode_allowed(
    choice: rt.ChooseAllowed,
    tools: list[types.Tool],
    dialect: ChatDialect,
    lost: Losses,
    naming: Callable[[str], str],
) -> Chosen:
    mode = choice.mode or "auto"
    entries: list[Json] = []
    for j, entry in enumerate(choice.tools):
        kind, name = entry.get("type"), entry.get("name")
        if kind in ("function", "custom") and isinstance(name, str):
            entries.append({"type": kind, kind: {"name": naming(name)}})
        else:
            lost.dropped(f"tool_choice.tools[{j}]", "a tool of the vendor")
    if "allowed_tools" in dialect.tool_choices:
        allowed = types.AllowedTools(mode=mode, tools=entries)
        return Chosen(types.ToolChoice(type="allowed_tools", allowed_tools=allowed), tools)
    lost.emulated("tool_choice", "only the allowed tools are offered")
    names = {_flat(entry)["name"] for entry in entries}
    return _encode_word(mode, [tool for tool in tools if name_of(tool) in names], dialect, lost)


def _encode_search(
    tools: Sequence[rt.AnyTool], model: Opt[str], own_form: bool, dialect: ChatDialect, lost: Losses
) -> Opt[types.WebSearchOptions]:
    """The option that stands for a web search tool, on models that take it; `own_form` says that it came so."""
    options: Opt[types.WebSearchOptions] = UNSET
    for i, tool in enumerate(tools):
        if not is_search(tool):
            continue
        if not own_form and not (model and model.startswith(dialect.search_models)):
            lost.refused(f"tools[{i}]", "web search, which this model cannot be asked for in Chat Completions")
            continue
        for name in ("filters", "external_web_access", "search_content_types"):
            if given(getattr(tool, name)):
                lost.dropped(f"tools[{i}].{name}", no_such("option", "Chat Completions"))
        options = _search_options(tool)
    return options


def _search_options(tool: rt.WebSearchTool) -> types.WebSearchOptions:
    options = types.WebSearchOptions(search_context_size=or_unset(tool.search_context_size))
    if given(where := tool.user_location):
        place = types.Location(**{name: or_unset(getattr(where, name)) for name in PLACE})
        options.user_location = types.UserLocation(type=or_unset(where.type), approximate=place)
    return options


# --- Chat -> Responses ----------------------------------------------------------------------------------------------


def decode_offer(
    body: types.Request, request: Request, left: Json, spelling: Json, dialect: ChatDialect, lost: Losses
) -> None:
    """Read the tools in any of their forms, and the choice among them."""
    kept: Json = {}
    tools: list[rt.AnyTool] = []
    if body.tools:
        tools += decode_tools(body.tools, kept, dialect, lost)
    elif body.tools is not UNSET:
        spelling["tools"] = body.tools
    if body.functions:
        lost.emulated("functions", "legacy functions, read as tools")
        spelling["functions"] = True
        modern = [types.Tool(type="function", function=each) for each in body.functions]
        tools += decode_tools(modern, kept, dialect, lost)
    elif body.functions is not UNSET:
        left["functions"] = body.functions
    if given(body.web_search_options):
        spelling["web_search"] = True
        tools.append(tool := _decode_search(body.web_search_options))
        if rest := beyond(body.web_search_options, _search_options(tool)):
            left["web_search_options"] = rest
    elif body.web_search_options is None:
        left["web_search_options"] = None
    if kept:
        left["tools"] = kept
    named = "function_call" if body.functions else "tool_choice"
    choice: Opt[str | types.Named | types.ToolChoice] = getattr(body, named) if tools else UNSET
    if choice:
        _decode_chosen(choice, named, request, left, spelling, lost)
    taken = (named if choice else "", "parallel_tool_calls" if tools else "")
    for name in ("tool_choice", "function_call", "parallel_tool_calls"):
        if name not in taken and (value := getattr(body, name)) is not UNSET:
            left[name] = sent(value)
    if tools:
        request.tools = tools
        request.parallel_tool_calls = or_none(body.parallel_tool_calls)


def _decode_chosen(
    choice: str | types.Named | types.ToolChoice,
    field: str,
    request: Request,
    left: Json,
    spelling: Json,
    lost: Losses,
) -> None:
    """Read the choice that stands in this field."""
    modern = types.ToolChoice(type="function", function=choice) if isinstance(choice, types.Named) else choice
    request.tool_choice = _decode_choice(modern)
    if isinstance(request.tool_choice, Unknown) and request.tool_choice.kind in ("function", "custom", "allowed_tools"):
        lost.refused(field, f"a choice without its `{request.tool_choice.kind}` object")
        request.tool_choice = None
        return
    made = _encode_choice(request.tool_choice, [], _ANY, Losses(), str).choice
    if isinstance(choice, str):
        if choice != made:
            spelling["tool_choice"] = choice
    elif isinstance(made, types.ToolChoice):
        again = made.function if isinstance(choice, types.Named) else made
        if given(again) and (rest := beyond(choice, again)):
            left[field] = rest


def _decode_choice(choice: str | types.ToolChoice) -> rt.ToolChoice:
    """The tool choice as Responses spells it."""
    if isinstance(choice, str):
        return WORDS.get(choice, choice)
    if given(choice.function):
        return rt.ChooseFunction(name=choice.function.name)
    if given(choice.custom):
        return rt.ChooseCustom(name=choice.custom.name)
    if given(allowed := choice.allowed_tools) and given(allowed.tools):
        return rt.ChooseAllowed(tools=[_flat(entry) for entry in allowed.tools], mode=or_none(allowed.mode))
    return Unknown(msgspec.to_builtins(choice))


def _flat(entry: Json) -> Json:
    inner = entry.get(str(entry.get("type")))
    return {"type": entry["type"], **cast("Json", inner)} if isinstance(inner, dict) else entry


def _decode_search(options: types.WebSearchOptions) -> rt.WebSearchTool:
    """The web search tool that the option stands for."""
    tool = rt.WebSearchTool(search_context_size=or_none(options.search_context_size))
    if given(where := options.user_location):
        near = where.approximate
        place: Json = {name: or_none(getattr(near, name)) for name in PLACE} if given(near) else {}
        tool.user_location = rt.UserLocation(type=or_none(where.type), **place)
    return tool
