"""What the model may call, and the choice among it.

Functions are in `functions`, the vendor's own tools in `hosted`; here they become one list. Before changing this file, know
that tools come first in what the vendor caches and binds thinking to: the same request gives the same list in the same order,
and the fields of a tool that Responses has no word for wait in the request's leftovers under the tool's name. Follows
Anthropic's pages on tool use (read 2026-11-20).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec import UNSET

from ... import responses as ours
from ...dialects import MessagesModel
from ...errors import DecodeError
from ...responses.leftovers import SPELLING
from ...unknown import Decoder, Opt, Unknown, extras, given
from . import types
from .calls import wire_name
from .carried import encode, kind_of, kinds, merged, plain, report_extras
from .content import Context
from .functions import decode_callers, decode_function, encode_custom, encode_function, encode_namespace
from .hosted import (
    decode_code,
    decode_mcp,
    decode_server,
    decode_tool_search,
    decode_web_search,
    encode_code,
    encode_mcp,
    encode_tool_search,
    encode_web_search,
)

CHOICES = {"auto": "auto", "required": "any", "none": "none"}
"""Tool choices, ours on the left."""
CHOICES_BACK = {theirs: ours for ours, theirs in CHOICES.items()}

HOSTED = {"code_interpreter": "code_execution", "web_search": "web_search", "web_search_preview": "web_search"}
"""Tools of the vendor by the type a choice names them with, ours on the left. The way back prefers what hosts list."""
HOSTED_BACK = {"code_execution": "code_interpreter", "web_search": "web_search_preview"}

_TOOLS = kinds(ours.AnyTool)
_wire_type = re.compile(r"custom|mcp_toolset|tool_search_tool_\w+|\w+_20\d{6}").fullmatch
_tool: Decoder[types.Tool] = Decoder(types.Tool)


class Offer:
    """The tools of a request on this wire: the list, and what else of the body they bring along."""

    __slots__ = ("alone", "container", "servers", "tools")

    def __init__(self, alone: dict[str, Any]) -> None:
        self.alone = alone
        self.tools: list[types.Tool] = []
        self.servers: list[types.McpServer] = []
        self.container: Opt[str] = UNSET


# --- Responses to this wire -----------------------------------------------------------------------------------------


def encode_tools(tools: Sequence[ours.AnyTool], kept: dict[str, Any], context: Context) -> Offer:
    """The tools of a request; `kept` is what this wire left on it."""
    offer = Offer(servers_alone(kept))
    fields: dict[str, dict[str, Any]] = kept.get("tools", {})
    for i, tool in enumerate(tools):
        for encoded in _encode(tool, f"tools[{i}]", offer, context):
            more = fields.get(_key(encoded))
            offer.tools.append(_complete(encoded, more, f"tools[{i}]", context) if more else encoded)
    for place, other in kept.get("other_tools", ()):
        offer.tools.insert(place, merged(types.Tool(), other, "leftovers.anthropic_messages.other_tools", context.lost))
    servers: dict[str, dict[str, Any]] = kept.get("mcp_servers", {})
    if servers:
        offer.servers = [merged(s, servers.get(s.name, {}), "tools", context.lost) for s in offer.servers]
    seen: set[str] = set()
    for i, encoded in enumerate(offer.tools):
        key = _key(encoded)
        if key in seen:
            context.lost.refused(f"tools[{i}]", f"a second tool of the name {key!r}")
        seen.add(key)
        if given(encoded.cache_control):
            context.marks.append((f"tools[{i}]", encoded))
    return offer


def _encode(tool: ours.AnyTool, path: str, offer: Offer, context: Context) -> list[types.Tool]:
    lost = context.lost
    if type(tool) not in _TOOLS and not isinstance(tool, Unknown):
        report_extras(tool, path, lost)
    match tool:
        case ours.FunctionTool():
            return [encode_function(tool, "", path, context)]
        case ours.CustomTool():
            return [encode_custom(tool, "", path, context)]
        case ours.NamespaceTool():
            return encode_namespace(tool, path, context)
        case (
            ours.WebSearchTool()
            | ours.WebSearchTool20250826()
            | ours.WebSearchPreviewTool()
            | ours.WebSearchPreviewTool20250311()
        ):
            return [encode_web_search(tool, path, context)]
        case ours.CodeInterpreterTool():
            if isinstance(tool.container, str):
                offer.container = tool.container
            return [encode_code(tool, path, context)]
        case ours.ToolSearchTool():
            return encode_tool_search(tool, path, context)
        case ours.McpTool():
            found = encode_mcp(tool, offer.alone, path, context)
            if found is not None:
                server, toolset = found
                if all(other.name != server.name for other in offer.servers):
                    offer.servers.append(server)
                return [] if toolset is None else [toolset]
        case Unknown() if _wire_type(tool.type):
            try:
                return [_tool.decode(encode(tool))]
            except DecodeError:
                lost.refused(path, f"a tool of type {tool.type!r} with fields that do not fit")
        case _:
            lost.refused(path, f"a tool of type {kind_of(tool)!r}, which this wire does not have")
    return []


def tool_addition(tool: ours.AnyTool, path: str, offered: frozenset[str], context: Context) -> list[types.AnyBlock]:
    """Blocks that make a tool callable from here on: by name where the request offers it already, else with all of it."""
    found: list[types.AnyBlock] = []
    for encoded in _encode(tool, path, Offer({}), context):
        if given(encoded.name) and encoded.name in offered:
            change = types.ChangedTool(type="tool_reference", name=encoded.name)
        else:
            context.lost.emulated(path, "a tool that is described within the conversation")
            change = types.ChangedTool(type="tool_definition", definition=encoded)
        found.append(types.ToolAddition(tool=change))
    return found


def _key(tool: types.Tool) -> str:
    """What a tool is called; a toolset goes by its server, and the two searches over tools are one to us."""
    if given(tool.mcp_server_name):
        return f"mcp_toolset/{tool.mcp_server_name}"
    if given(tool.type) and tool.type.startswith("tool_search_tool_"):
        return "tool_search"
    return tool.name or tool.type or ""


def _complete(tool: types.Tool, kept: dict[str, Any], path: str, context: Context) -> types.Tool:
    """A tool with the fields it had on this wire, spelled as it was where it still says the same."""
    fields = {name: value for name, value in kept.items() if name != SPELLING}
    spelled: dict[str, Any] = kept.get(SPELLING, {})
    for name, value in spelled.items():
        same = decode_callers(value) == decode_callers(tool.allowed_callers) if name == "allowed_callers" else True
        if same and (name != "strict" or tool.strict is UNSET):
            fields[name] = value
    return merged(tool, fields, path, context.lost)


# --- this wire to Responses -----------------------------------------------------------------------------------------


def decode_tools(
    body: types.Request, model: MessagesModel, kept: dict[str, Any], spelled: dict[str, Any]
) -> list[ours.AnyTool]:
    """The tools of a request in Responses; what they have no word for goes to `kept`, how they were written to `spelled`."""
    found: list[ours.AnyTool] = []
    fields: dict[str, dict[str, Any]] = {}
    others: list[list[Any]] = []
    servers = {server.name: server for server in body.mcp_servers or ()}
    unknown = {server.name: extras(server) for server in servers.values() if extras(server)}
    for i, tool in enumerate(body.tools or ()):
        decoded = _decode(tool, servers, body.container, model)
        if decoded is None:
            others.append([i, plain(tool)])
            continue
        found_tool, more, said = decoded
        found.append(found_tool)
        if said:
            more[SPELLING] = said
        if more:
            fields[_key(tool)] = more
    found += [decode_server(server) for server in servers.values()]
    if servers:
        spelled["mcp_servers"] = {server.name: plain(server.tool_configuration or {}) for server in servers.values()}
    left = {"tools": fields, "other_tools": others, "mcp_servers": unknown}
    kept |= {name: value for name, value in left.items() if value}
    return found


def servers_alone(kept: dict[str, Any]) -> dict[str, Any]:
    """The MCP servers of a request of this wire that came without a toolset, as the first connector had them."""
    alone: dict[str, Any] = kept.get(SPELLING, {}).get("mcp_servers", {})
    return alone


def _decode(
    tool: types.Tool, servers: dict[str, types.McpServer], container: Opt[str | types.Container], model: MessagesModel
) -> tuple[ours.AnyTool, dict[str, Any], dict[str, Any]] | None:
    """The tool in Responses; `None` where Responses has no such tool."""
    kind, name = tool.type or "custom", tool.name
    if kind == "custom" and given(name):
        return decode_function(tool, name, model)
    if kind.startswith("web_search_20"):
        return decode_web_search(tool, model)
    if kind.startswith("code_execution_20"):
        return decode_code(tool, container, model)
    if kind.startswith("tool_search_tool_"):
        return decode_tool_search(tool)
    server = servers.pop(tool.mcp_server_name or "", None) if kind == "mcp_toolset" else None
    return None if server is None else decode_mcp(tool, server, model)


# --- the choice among them ------------------------------------------------------------------------------------------


def encode_choice(request: ours.Request, spelled: dict[str, Any], context: Context) -> Opt[types.ToolChoice]:
    """The tool choice of a request that offers tools; absent where the vendor's own habit is meant."""
    lost = context.lost
    choice = request.tool_choice
    encoded = types.ToolChoice(type="auto")
    match choice:
        case str() if choice in CHOICES:
            encoded.type = CHOICES[choice]
        case ours.ChooseFunction(name=name) | ours.ChooseCustom(name=name):
            encoded = types.ToolChoice(type="tool", name=wire_name(name))
            if isinstance(choice, ours.ChooseCustom):
                lost.emulated("tool_choice", "a custom tool is chosen as the function it is offered as")
        case ours.ChooseAllowed():
            encoded.type = CHOICES.get(choice.mode or "auto", "auto")
            lost.changed("tool_choice", "this wire cannot narrow the tools down; all of them may be called")
        case Unknown() if choice.type in HOSTED:
            encoded = types.ToolChoice(type="tool", name=HOSTED[choice.type])
        case ours.ChooseMcp() | Unknown() | str():
            lost.changed("tool_choice", "a choice this wire does not have; the model chooses")
        case _:
            if request.parallel_tool_calls is not False:
                return UNSET
    if encoded.type in ("any", "tool") and not context.model.forced_tools:
        lost.changed("tool_choice", "this model cannot be made to call a tool; it chooses itself")
        encoded = types.ToolChoice(type="auto")
    if request.parallel_tool_calls is False:
        if encoded.type == "none":
            lost.dropped("parallel_tool_calls", "there are no calls at all")
        else:
            encoded.disable_parallel_tool_use = True
    elif spelled.get("tool_choice") == encoded.type:
        encoded.disable_parallel_tool_use = False
    return encoded


def decode_choice(
    choice: types.ToolChoice, request: ours.Request, kept: dict[str, Any], spelled: dict[str, Any]
) -> None:
    """Set what a tool choice says on `request`."""
    if extras(choice):
        kept["tool_choice"] = plain(choice)
    if choice.type in CHOICES_BACK:
        request.tool_choice = CHOICES_BACK[choice.type]
    elif choice.type == "tool" and given(choice.name):
        hosted = HOSTED_BACK.get(choice.name)
        is_function = any(isinstance(t, ours.FunctionTool) and t.name == choice.name for t in request.tools or ())
        if hosted is None or is_function:
            request.tool_choice = ours.ChooseFunction(name=choice.name)
        else:
            request.tool_choice = Unknown(type=hosted)
    else:
        kept["tool_choice"] = plain(choice)
    if choice.disable_parallel_tool_use is True:
        request.parallel_tool_calls = False
    elif choice.disable_parallel_tool_use is False:
        spelled["tool_choice"] = choice.type
