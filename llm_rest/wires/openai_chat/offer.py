"""The tools that a request offers, and which of them it may call, both ways.

Before changing this file, know that a choice and a word about parallel calls are sent only where tools are: hosts refuse them
alone. Follows the Chat Completions reference and its legacy `functions` (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from ...responses.items import AdditionalTools, AnyItem
from ...unknown import Opt, convert, given
from . import types
from .choice import decode_choice, encode_choice
from .left import ABSENT, absent, as_object, notes
from .search import decode_search, encode_search
from .tools import decode_functions, decode_tools, encode_tools
from .types import Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...dialects import ChatDialect
    from ...losses import Losses
    from ...responses.request import Request


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
    if not offered:
        body.tools = absent(spelling.get("tools", ABSENT))
        _encode_no_tools(request, lost)
        return
    tools = encode_tools(offered, as_object(left.get("tools")), dialect, lost)
    body.web_search_options = encode_search(offered, request.model, "web_search" in spelling, dialect, lost)
    if not tools:
        _encode_no_tools(request, lost)
        return
    chosen, tools = encode_choice(request.tool_choice, tools, dialect, lost)
    came = _choice(spelling.get("tool_choice"))
    if came is not None and decode_choice(came) == request.tool_choice:
        chosen = came
    if not tools:
        return
    body.tools = tools
    body.tool_choice = chosen
    body.parallel_tool_calls = request.parallel_tool_calls
    if "functions" in spelling:
        _encode_functions(body)


def _encode_no_tools(request: Request, lost: Losses) -> None:
    if given(request.tool_choice) and request.tool_choice != "auto":
        lost.dropped("tool_choice", "a choice among no tools")
    if given(request.parallel_tool_calls):
        lost.dropped("parallel_tool_calls", "a word about calls where there are no tools")


def _choice(plain: Any) -> str | types.ToolChoice | None:
    """The tool choice that a document had, from a leftover that may have come from anywhere."""
    try:
        return convert(plain, str | types.ToolChoice | None)
    except msgspec.ValidationError:
        return None


def _encode_functions(body: types.Request) -> None:
    """Write tools and their choice in the legacy form."""
    body.functions = [tool.function for tool in body.tools or () if given(tool.function)]
    choice = body.tool_choice
    body.function_call = choice.function if isinstance(choice, types.ToolChoice) else choice
    body.tools = body.tool_choice = UNSET


# --- Chat -> Responses ----------------------------------------------------------------------------------------------


def decode_offer(body: types.Request, request: Request, left: Json, spelling: Json, lost: Losses) -> None:
    """Read the tools in any of their forms, and the choice among them."""
    kept: Json = {}
    if body.tools is not UNSET:
        if body.tools:
            request.tools = decode_tools(body.tools, kept)
        else:
            spelling["tools"] = body.tools
    if given(body.functions):
        lost.emulated("functions", "legacy functions, read as tools")
        spelling["functions"] = True
        request.tools = [*(request.tools or ()), *decode_functions(body.functions, kept)]
    if given(body.web_search_options):
        spelling["web_search"] = True
        request.tools = [*(request.tools or ()), decode_search(body.web_search_options)]
    if kept:
        left["tools"] = kept
    choice: Opt[str | types.ToolChoice] = body.tool_choice
    if given(body.function_call):
        named = body.function_call
        choice = named if isinstance(named, str) else types.ToolChoice(type="function", function=named)
    if request.tools and choice:
        request.tool_choice = decode_choice(choice)
        if _unusual(choice):
            spelling["tool_choice"] = msgspec.to_builtins(choice)
    elif choice is not UNSET:
        left["tool_choice"] = msgspec.to_builtins(choice)
    if request.tools:
        request.parallel_tool_calls = body.parallel_tool_calls
    elif body.parallel_tool_calls is not UNSET:
        left["parallel_tool_calls"] = body.parallel_tool_calls


def _unusual(choice: str | types.ToolChoice) -> bool:
    if isinstance(choice, str):
        return decode_choice(choice) != choice
    return choice.type not in ("function", "custom")
