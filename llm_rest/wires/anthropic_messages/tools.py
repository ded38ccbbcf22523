"""What the model may call, and the choice among it.

Functions, custom tools and namespaces are here, the vendor's own tools in `hosted`. Before changing this file, know that tools
come first in what the vendor caches and binds thinking to: the same request gives the same list in the same order. What a tool
of this wire says beyond what Responses has a word for is whatever encoding the decoded tool would not say; it waits in the
request's leftovers under the tool's name. Follows Anthropic's pages on tool use (read 2026-11-20).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from ... import responses as ours
from ...errors import DecodeError
from ...losses import Losses, not_in
from ...responses.leftovers import NEAR, SPELLING, unsaid
from ...unknown import Decoder, Opt, Unknown, extras, given, or_none, or_unset
from ...vendors.dialects import MessagesModel
from .._left import report_unknown
from .._renamed import wire_name
from . import hosted, types
from .content import Context
from .leftovers import DEFAULT, beyond, encode, kind_of, kinds, merged, plain
from .schema import fitted

CHOICES = {"auto": "auto", "required": "any", "none": "none"}
"""Tool choices, ours on the left."""
CHOICES_BACK = {theirs: our for our, theirs in CHOICES.items()}

HOSTED = {"code_interpreter": "code_execution", "web_search": "web_search", "web_search_preview": "web_search"}
"""Tools of the vendor by the type a choice names them with, ours on the left. The way back prefers what hosts list."""
HOSTED_BACK = {"code_execution": "code_interpreter", "web_search": "web_search_preview"}

SPELLED = frozenset({"type", "name", "input_schema", "strict", "allowed_callers"})
"""Fields that differ only in how they are written; they are used again as long as they say what the tool says."""

_TOOLS = kinds(ours.AnyTool)
_wire_type = re.compile(r"custom|mcp_toolset|tool_search_tool_\w+|\w+_20\d{6}").fullmatch
_tool: Decoder[types.Tool] = Decoder(types.Tool)

Servers = dict[str, types.McpServer]


class Offer:
    """The tools of a request on this wire: the list, and what else of the body they bring along."""

    __slots__ = ("alone", "container", "servers", "tools")

    def __init__(self, alone: dict[str, Any]) -> None:
        self.alone = alone
        self.tools: list[types.Tool] = []
        self.servers: Servers = {}
        self.container: Opt[str] = UNSET


# --- Responses to this wire -----------------------------------------------------------------------------------------


def encode_tools(tools: Sequence[ours.AnyTool], kept: dict[str, Any], context: Context) -> Offer:
    """The tools of a request; `kept` is what this wire left on it."""
    offer, lost = Offer(servers_alone(kept)), context.lost
    fields: dict[str, dict[str, Any]] = kept.get("tools", {})
    for i, tool in enumerate(tools):
        for encoded in _encode(tool, f"tools[{i}]", offer, context):
            more = fields.get(_key(encoded)) if fields else None
            offer.tools.append(_completed(encoded, tool, more, f"tools[{i}]", offer, context) if more else encoded)
    for place, other in kept.get("other_tools", ()):
        offer.tools.insert(place, merged(types.Tool(), other, "leftovers.anthropic_messages.other_tools", lost))
    for name, more in kept.get("mcp_servers", {}).items():
        if name in offer.servers:
            offer.servers[name] = merged(offer.servers[name], more, "tools", lost)
    seen: set[str] = set()
    for i, encoded in enumerate(offer.tools):
        key = _key(encoded)
        if key in seen:
            lost.refused(f"tools[{i}]", f"a second tool of the name {key!r}")
        seen.add(key)
        if given(encoded.cache_control):
            context.marks.append((f"tools[{i}]", encoded))
    return offer


def _completed(
    encoded: types.Tool, tool: ours.AnyTool, kept: dict[str, Any], path: str, offer: Offer, context: Context
) -> types.Tool:
    """A tool with the fields it had on this wire, spelled as it was where that still says the same."""
    fields = {name: value for name, value in kept.items() if name != SPELLING}
    spelled = merged(encoded, fields | kept.get(SPELLING, {}), path, context.lost)
    meant = _decode(spelled, offer.servers, offer.container, context.model)
    if isinstance(meant, ours.FunctionTool) and isinstance(tool, ours.FunctionTool) and not encoded.strict:
        meant.strict = tool.strict  # whatever was asked, it is not, which was told
    if meant == tool:
        return spelled
    return merged(encoded, fields, path, context.lost)


def _encode(tool: ours.AnyTool, path: str, offer: Offer, context: Context) -> list[types.Tool]:
    lost = context.lost
    if type(tool) not in _TOOLS and not isinstance(tool, Unknown):
        report_unknown(tool, path, lost)
    match tool:
        case ours.FunctionTool():
            return [_encode_function(tool, "", path, context)]
        case ours.CustomTool():
            return [_encode_custom(tool, "", path, context)]
        case ours.NamespaceTool():
            return _encode_namespace(tool, path, context)
        case ours.CodeInterpreterTool():
            if isinstance(tool.container, str):
                offer.container = tool.container
            return [hosted.encode_code(tool, path, context)]
        case ours.ToolSearchTool():
            return hosted.encode_tool_search(tool, path, context)
        case ours.McpTool():
            found = hosted.encode_mcp(tool, offer.alone, path, context)
            if found is None:
                return []
            server, toolset = found
            offer.servers.setdefault(server.name, server)
            return [] if toolset is None else [toolset]
        case _ if isinstance(tool, hosted.WebSearch):
            return [hosted.encode_web_search(tool, path, context)]
        case Unknown() if _wire_type(tool.kind):
            try:
                return [_tool.decode(encode(tool))]
            except DecodeError:
                lost.refused(path, f"a tool of type {tool.kind!r} with fields that do not fit")
        case _:
            lost.refused(path, not_in(f"a tool of type {kind_of(tool)!r}", "Anthropic"))
    return []


def _encode_function(tool: ours.FunctionTool, namespace: str, path: str, context: Context) -> types.Tool:
    parameters: ours.Schema = tool.parameters if given(tool.parameters) else {"type": "object", "properties": {}}
    if parameters.get("type") != "object":
        parameters = {"properties": {}, **parameters, "type": "object"}
        context.lost.changed(f"{path}.parameters.type", "arguments are an object at Anthropic")
    if tool.output_schema:
        context.lost.dropped(f"{path}.output_schema", "Anthropic has no schema for what a tool gives")
    encoded = _callable(tool, parameters, namespace, path, context)
    if encoded.name != tool.name and not namespace:
        context.lost.emulated(f"{path}.name", f"the tool is called {encoded.name!r} at Anthropic")
    if tool.strict:
        changes = Losses()
        fitted(parameters, changes, "")
        if changes:
            why = "the schema is beyond what Anthropic enforces; the tool is not strict"
            context.lost.changed(f"{path}.strict", why)
        else:
            encoded.strict = True
    return encoded


def _encode_custom(tool: ours.CustomTool, namespace: str, path: str, context: Context) -> types.Tool:
    """A custom tool as a function that takes one text."""
    context.lost.emulated(path, "a custom tool is offered as a function with one text, `input`")
    if isinstance(tool.format, ours.Grammar | Unknown):
        context.lost.dropped(f"{path}.format", "Anthropic enforces no grammar")
    properties = {"input": {"type": "string", "description": "The input, as plain text."}}
    schema = {"type": "object", "properties": properties, "required": ["input"], "additionalProperties": False}
    return _callable(tool, schema, namespace, path, context)


def _callable(
    tool: ours.FunctionTool | ours.CustomTool, schema: ours.Schema, namespace: str, path: str, context: Context
) -> types.Tool:
    """What functions and custom tools have in common."""
    if tool.async_:
        context.lost.dropped(f"{path}.async", "Anthropic waits for every call")
    return types.Tool(
        name=wire_name(tool.name, namespace),
        description=tool.description if given(tool.description) else UNSET,
        input_schema=schema,
        defer_loading=or_unset(tool.defer_loading),
        allowed_callers=hosted.encode_callers(or_unset(tool.allowed_callers), context.model),
    )


def _encode_namespace(tool: ours.NamespaceTool, path: str, context: Context) -> list[types.Tool]:
    """The tools of a namespace one by one, each under both names."""
    context.lost.emulated(path, "the tools of a namespace are offered one by one, under its name and theirs")
    found: list[types.Tool] = []
    for j, inner in enumerate(tool.tools):
        here = f"{path}.tools[{j}]"
        match inner:
            case ours.FunctionTool():
                found.append(_encode_function(inner, tool.name, here, context))
            case ours.CustomTool():
                found.append(_encode_custom(inner, tool.name, here, context))
            case Unknown():
                context.lost.refused(here, not_in(f"a tool of type {inner.kind!r}", "Anthropic"))
    return found


def tool_additions(
    tools: Sequence[ours.AnyTool], path: str, offered: frozenset[str], context: Context
) -> list[types.AnyBlock]:
    """Blocks that make tools callable from here on: by name where the request offers them already, else with all of them."""
    found: list[types.AnyBlock] = []
    for j, tool in enumerate(tools):
        for encoded in _encode(tool, f"{path}.tools[{j}]", Offer({}), context):
            if given(encoded.name) and encoded.name in offered:
                change = types.ChangedTool(type="tool_reference", name=encoded.name)
            else:
                context.lost.emulated(f"{path}.tools[{j}]", "a tool that is described within the conversation")
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


# --- this wire to Responses -----------------------------------------------------------------------------------------


def decode_tools(
    body: types.Request, model: MessagesModel, kept: dict[str, Any], spelled: dict[str, Any]
) -> list[ours.AnyTool]:
    """The tools of a request in Responses; what they have no word for goes to `kept`, how they were written to `spelled`."""
    found: list[ours.AnyTool] = []
    fields: dict[str, dict[str, Any]] = {}
    others: list[list[Any]] = []
    servers = {server.name: server for server in body.mcp_servers or ()}
    context, offer = Context(Losses(), DEFAULT, model, replay=True), Offer({})
    for i, tool in enumerate(body.tools or ()):
        decoded = _decode(tool, servers, body.container, model)
        if decoded is None:
            others.append([i, plain(tool)])
            continue
        found.append(decoded)
        servers.pop(tool.mcp_server_name or "", None)
        if isinstance(decoded, ours.FunctionTool):
            # Whether its schema can be enforced, and what it may be called, is settled when it is sent.
            (same,) = _encode(replace(decoded, strict=False), "", offer, context)
            key, same.name, same.strict = _key(same), tool.name, tool.strict or UNSET
        else:
            (same,) = _encode(decoded, "", offer, context)
            key = _key(same)
        if more := beyond(tool, same, SPELLED):
            fields[key] = more
    for name, server in servers.items():
        found.append(hosted.decode_server(server))
        offer.alone[name] = plain(server.tool_configuration or {})
        _encode(found[-1], "", offer, context)
    if servers:
        spelled["mcp_servers"] = offer.alone
    for i, server in enumerate(body.mcp_servers or ()):
        place = f"mcp_servers[{i}].tool_configuration"
        if more := unsaid(offer.alone.get(server.name), {}, place, "enabled", "allowed_tools"):
            spelled[NEAR] = {**spelled.get(NEAR, {}), **more}
    more_of = {server.name: beyond(server, offer.servers[server.name]) for server in body.mcp_servers or ()}
    unknown = {name: more for name, more in more_of.items() if more}
    left = {"tools": fields, "other_tools": others, "mcp_servers": unknown}
    kept |= {name: value for name, value in left.items() if value}
    return found


def servers_alone(kept: dict[str, Any]) -> dict[str, Any]:
    """The MCP servers of a request of this wire that came without a toolset, as the first connector had them."""
    alone: dict[str, Any] = kept.get(SPELLING, {}).get("mcp_servers", {})
    return alone


def _decode(
    tool: types.Tool, servers: Servers, container: Opt[str | types.Container], model: MessagesModel
) -> ours.AnyTool | None:
    """The tool in Responses; `None` where Responses has no such tool."""
    kind, name = tool.type or "custom", tool.name
    if kind == "custom" and given(name):
        return ours.FunctionTool(
            name=name,
            description=or_none(tool.description),
            parameters=or_none(tool.input_schema),
            strict=bool(tool.strict),
            defer_loading=or_none(tool.defer_loading),
            allowed_callers=or_none(hosted.decode_callers(tool.allowed_callers)),
        )
    if kind.startswith("web_search_20"):
        return hosted.decode_web_search(tool)
    if kind.startswith("code_execution_20"):
        return hosted.decode_code(tool, container)
    if kind.startswith("tool_search_tool_"):
        return ours.ToolSearchTool(execution="server")
    server = servers.get(tool.mcp_server_name or "") if kind == "mcp_toolset" else None
    return None if server is None else hosted.decode_mcp(tool, server)


# --- the choice among them ------------------------------------------------------------------------------------------


def encode_choice(request: ours.Request, spelled: dict[str, Any], context: Context) -> Opt[types.ToolChoice]:
    """The tool choice of a request that offers tools; absent where the vendor's own habit is meant."""
    lost, choice = context.lost, request.tool_choice
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
            if choice.mode and choice.mode not in CHOICES:
                lost.changed("tool_choice.mode", f"{choice.mode!r}, which Anthropic does not know; the model chooses")
            lost.changed("tool_choice.tools", "Anthropic cannot narrow the tools down; all of them may be called")
        case Unknown() if choice.kind in HOSTED:
            encoded = types.ToolChoice(type="tool", name=HOSTED[choice.kind])
        case ours.ChooseMcp() | Unknown() | str():
            lost.changed("tool_choice", "a choice Anthropic does not have; the model chooses")
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
    elif encoded.type in spelled.get("tool_choice", {}):
        encoded.disable_parallel_tool_use = spelled["tool_choice"][encoded.type]
    return encoded


def decode_choice(
    choice: types.ToolChoice, request: ours.Request, kept: dict[str, Any], spelled: dict[str, Any]
) -> None:
    """Set what a tool choice says on `request`."""
    known = choice.type in CHOICES_BACK or (choice.type == "tool" and given(choice.name))
    if extras(choice) or not known:
        kept["tool_choice"] = plain(choice)
    if choice.type in CHOICES_BACK:
        request.tool_choice = CHOICES_BACK[choice.type]
    elif choice.type == "tool" and given(choice.name):
        is_function = any(isinstance(t, ours.FunctionTool) and t.name == choice.name for t in request.tools or ())
        if choice.name in HOSTED_BACK and not is_function:
            request.tool_choice = Unknown(type=HOSTED_BACK[choice.name])
        else:
            request.tool_choice = ours.ChooseFunction(name=choice.name)
    if choice.disable_parallel_tool_use is True:
        request.parallel_tool_calls = False
    elif choice.disable_parallel_tool_use is not UNSET:
        spelled["tool_choice"] = {choice.type: choice.disable_parallel_tool_use}
