"""Conversion of tools, both ways: functions, custom tools and namespaces, hosted tools and their runs, and tool choice.

Before changing this file, know that tools come first in what the vendor caches and binds thinking to: the same request
gives the same list in the same order; that the grammar of strict tools and output formats has few keywords, and the
others are added to the description; that an MCP server's token is in `authorization` only; and that `fingerprint` ties
the blocks of a run of hosted tools to the visible items of the run. Follows Anthropic's pages on tool use, structured
outputs and the hosted tools (read 2026-11-20).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import UNSET

from ... import responses as ours
from ...errors import DecodeError
from ...losses import Losses, no_such
from ...responses import Schema
from ...responses.carriers import digest
from ...unknown import Decoder, Opt, Unknown, as_list, as_object, extras, given, or_none, or_unset
from ..leftovers import item_id, report_unknown
from ..options import report_missing
from ..schema import ANTHROPIC, fitted
from ..tools import NO_PARAMETERS, PLACE, WebSearch, as_function, each_tool, refuse_tool, report_name, wire_name
from . import types
from .content import CODE, encode
from .types import WIRE, Json

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ...vendors.dialects import MessagesModel
    from .content import Context

# --- hosted tools ----------------------------------------------------------------------------------------------------

TOOL_SEARCH = "tool_search_tool_bm25_20251119"
AUTO = {"type": "auto"}
VERSIONED = frozenset({CODE, "web_search"})
"""Types of tools that have a version, which depends on the model."""


def encode_callers(callers: list[str] | None) -> Opt[list[str]]:
    """The callers that may use a tool: programs are code execution at Anthropic, in the version that `set_versions` sets."""
    if callers is None:
        return UNSET
    return [CODE if caller == "programmatic" else caller for caller in callers]


def set_versions(tools: Iterable[types.Tool], model: MessagesModel) -> None:
    """Set the newest version that the model supports, where a document has not named one."""
    for tool in tools:
        if tool.type is UNSET and tool.allowed_callers is UNSET:
            continue  # as nearly all
        if isinstance(tool.type, str) and tool.type in VERSIONED:
            tool.type = getattr(model, tool.type)
        for i, caller in enumerate(tool.allowed_callers or ()):
            if caller == CODE:
                cast("list[str]", tool.allowed_callers)[i] = model.code_execution


def decode_callers(callers: Opt[list[str]]) -> list[str] | None:
    """The callers that may use a tool, in Responses."""
    if not given(callers):
        return None
    return ["programmatic" if caller.startswith("code_execution_") else caller for caller in callers]


def encode_web_search(tool: WebSearch, path: str, context: Context) -> types.Tool:
    """A web search tool; `set_versions` sets its version."""
    for name in ("filters", "user_location"):
        if given(inner := getattr(tool, name)):
            report_unknown(inner, f"{path}.{name}", context.lost)
    encoded = types.Tool(type="web_search", name="web_search")
    if given(tool.filters):
        encoded.allowed_domains = or_unset(tool.filters.allowed_domains)
        encoded.blocked_domains = or_unset(tool.filters.blocked_domains)
    if given(tool.user_location):
        place = {name: or_unset(getattr(tool.user_location, name)) for name in PLACE}
        encoded.user_location = types.UserLocation(type="approximate", **place)
    if tool.external_web_access is False:
        context.lost.refused(f"{path}.external_web_access", "Anthropic searches the live web only")
    report_missing(tool, WIRE, context.lost, dropped=("search_context_size", "search_content_types"), path=path)
    return encoded


def decode_web_search(tool: types.Tool) -> ours.WebSearchTool:
    """A web search tool in Responses."""
    search = ours.WebSearchTool()
    if given(tool.allowed_domains) or given(tool.blocked_domains):
        search.filters = ours.SearchFilters(
            allowed_domains=or_none(tool.allowed_domains), blocked_domains=or_none(tool.blocked_domains)
        )
    there = tool.user_location
    if given(there) and not extras(there) and there.type == "approximate":
        search.user_location = ours.UserLocation(
            type="approximate", **{name: or_none(getattr(there, name)) for name in PLACE}
        )
    return search


def encode_tool_search(tool: ours.ToolSearchTool, path: str, context: Context) -> list[types.Tool]:
    """A tool search that the vendor runs."""
    if tool.execution == "client":
        context.lost.refused(path, "a tool search that the caller runs; offer it as a function")
        return []
    report_missing(tool, WIRE, context.lost, dropped=("description", "parameters"), path=path)
    return [types.Tool(type=TOOL_SEARCH, name=TOOL_SEARCH.rpartition("_")[0])]


def _encode_server(tool: ours.McpTool, path: str, alone: bool, lost: Losses) -> types.McpServer:
    """An MCP server, which is beside the tools of a request; one that is `alone`, without a toolset, has its tools itself."""
    server = types.McpServer(type="url", url=tool.server_url or "", name=tool.server_label)
    server.authorization_token = tool.authorization if given(tool.authorization) else UNSET
    for name, value in (tool.headers or {}).items():
        if name.lower() == "authorization" and value[:7].lower() == "bearer " and not given(tool.authorization):
            server.authorization_token = value[7:]
        else:
            lost.refused(f"{path}.headers", f"the header {name!r}; Anthropic sends an MCP server a bearer token only")
    allowed = tool.allowed_tools
    if alone and given(names := allowed.tool_names if isinstance(allowed, ours.McpToolFilter) else allowed):
        server.tool_configuration = types.McpServerTools(allowed_tools=names)
    return server


def _encode_toolset(tool: ours.McpTool, path: str, context: Context) -> list[types.Tool]:
    """The tools of an MCP server."""
    lost, allowed = context.lost, tool.allowed_tools
    if not given(tool.server_url):
        lost.refused(path, "an MCP server without a URL; Anthropic has no connectors or tunnels")
        return []
    if tool.require_approval != "never":
        lost.refused(f"{path}.require_approval", "Anthropic has no approval of MCP calls; only `never` is possible")
    if given(tool.server_description):
        lost.dropped(f"{path}.server_description", "Anthropic has no description of an MCP server")
    if isinstance(allowed, ours.McpToolFilter):
        if allowed.read_only:
            lost.refused(f"{path}.allowed_tools.read_only", "Anthropic has no filter for read-only MCP tools")
        allowed = allowed.tool_names
    toolset = types.Tool(type="mcp_toolset", mcp_server_name=tool.server_label)
    if given(allowed):
        toolset.default_config = types.McpToolConfig(enabled=False)
        toolset.configs = {name: {"enabled": True} for name in allowed}
    if given(tool.defer_loading):
        toolset.default_config = toolset.default_config or types.McpToolConfig()
        toolset.default_config.defer_loading = tool.defer_loading
    toolset.allowed_callers = encode_callers(tool.allowed_callers)
    return [toolset]


def decode_server(server: types.McpServer) -> ours.McpTool:
    """An MCP server in Responses, with the tools it has itself, as in the first connector."""
    chosen = server.tool_configuration or types.McpServerTools()
    return ours.McpTool(
        server_label=server.name,
        server_url=server.url,
        authorization=or_none(server.authorization_token),
        allowed_tools=[] if chosen.enabled is False else or_none(chosen.allowed_tools),
        require_approval="never",
    )


def decode_toolset(tool: types.Tool, server: types.McpServer) -> ours.McpTool:
    """An MCP server with its toolset in Responses."""
    mcp, default = decode_server(server), tool.default_config or types.McpToolConfig()
    chosen: types.Json = tool.configs or {}
    if default.enabled is False and chosen == {name: {"enabled": True} for name in chosen}:
        mcp.allowed_tools = [*chosen]
    mcp.defer_loading = or_none(default.defer_loading)
    mcp.allowed_callers = decode_callers(tool.allowed_callers)
    return mcp


# --- runs of hosted tools -------------------------------------------------------------------------------------------

VISIBLE = (
    *(ours.WebSearchCall, ours.CodeInterpreterCall, ours.McpCall, ours.McpListTools),
    *(ours.ToolSearchCall, ours.ToolSearchOutput),
)
"""The visible items of a run."""

Use = types.ServerToolUse | types.McpToolUse

_sorted = msgspec.json.Encoder(order="deterministic").encode


def run_items(run: Sequence[tuple[int, types.AnyBlock]], message_id: str | None) -> list[ours.AnyItem]:
    """The visible items of a run, in the order of its uses."""
    results = {block.tool_use_id: block for _, block in run if isinstance(block, types.ServerToolResult)}
    return [
        item
        for i, block in run
        for item in block_items(i, block, results.get(block.id) if isinstance(block, Use) else None, message_id)
    ]


def block_items(
    i: int, block: types.AnyBlock, result: types.ServerToolResult | None, message_id: str | None
) -> list[ours.AnyItem]:
    """The visible items of the block at position `i`; a use without its result is in progress."""
    items = _block_items(block, result)
    for item in items:
        if message_id is not None:
            item.id = item_id(item, message_id, i)
        if not item.status and not isinstance(item, ours.McpListTools):
            item.status = "in_progress"
    return cast("list[ours.AnyItem]", items)


def finish_runs(hosted: Sequence[ours.AnyItem], continues: bool, container: str | None) -> None:
    """Set the data known only at the end of an answer: where its code ran, and whether a use without result is in progress."""
    for item in hosted:
        if isinstance(item, ours.CodeInterpreterCall):
            item.container_id = container
        if not isinstance(item, Unknown) and item.status == "in_progress" and not continues:
            item.status = "incomplete"


def _block_items(block: types.AnyBlock, result: types.ServerToolResult | None) -> list[ours.ItemBase]:
    match block:
        case types.ServerToolUse(name="web_search"):
            return [_search(arguments_of(block), result)]
        case types.ServerToolUse(name="web_fetch"):
            fetch = ours.WebSearchCall(action=ours.OpenPage(url=_string(arguments_of(block), "url")))
            if isinstance(result, types.WebFetchToolResult):
                fetch.status = "completed" if "url" in result.content else "failed"
            return [fetch]
        case types.ServerToolUse(name="code_execution" | "bash_code_execution"):
            return [_code(arguments_of(block), result)]
        case types.ServerToolUse(name="tool_search_tool_regex" | "tool_search_tool_bm25"):
            return _tool_search(block, result)
        case types.McpToolUse():
            return [_mcp_call(block, result)]
        case types.McpToolListing(mcp_server_name=label, tools=listed):
            tools = [
                ours.McpToolInfo(name=t.name, input_schema=or_none(t.input_schema), description=or_none(t.description))
                for t in listed
            ]
            return [ours.McpListTools(server_label=label, tools=tools)]
        case _:
            return []


def arguments_of(block: Use) -> Json:
    """The input of a use as plain values; empty if it is not an object."""
    try:
        return as_object(msgspec.json.decode(block.input))
    except msgspec.MsgspecError:
        return {}


def _string(arguments: Json, name: str) -> str | None:
    found = arguments.get(name)
    return found if isinstance(found, str) else None


def _search(arguments: Json, result: types.ServerToolResult | None) -> ours.WebSearchCall:
    query = _string(arguments, "query")
    action = ours.Search(query=query, queries=None if query is None else [query])
    call = ours.WebSearchCall(action=action)
    if isinstance(result, types.WebSearchToolResult):
        pages = as_list(result.content)
        call.status = "failed"
        if pages or result.content == []:
            found = [(_string(as_object(page), "url"), _string(as_object(page), "title")) for page in pages]
            action.sources = [ours.UrlSource(url=url, title=title) for url, title in found if url is not None]
            call.status = "completed"
    return call


def _code(arguments: Json, result: types.ServerToolResult | None) -> ours.CodeInterpreterCall:
    call = ours.CodeInterpreterCall(code=_string(arguments, "code") or _string(arguments, "command"))
    if isinstance(result, types.CodeExecutionToolResult | types.BashCodeExecutionToolResult):
        call.status = "completed" if "return_code" in result.content else "failed"
        if call.status == "completed":
            logs = [_string(result.content, "stdout"), _string(result.content, "stderr")]
            call.outputs = [ours.CodeLogs(logs=text) for text in logs if text]
    return call


def _tool_search(use: types.ServerToolUse, result: types.ServerToolResult | None) -> list[ours.ItemBase]:
    call = ours.ToolSearchCall(arguments=arguments_of(use), execution="server", call_id=use.id)
    if not isinstance(result, types.ToolSearchToolResult):
        return [call]
    if "tool_references" not in result.content:
        call.status = "incomplete"
        return [call]
    call.status = "completed"
    names = [as_object(found).get("tool_name") for found in as_list(result.content["tool_references"])]
    tools = [ours.FunctionTool(name=name) for name in names if isinstance(name, str)]
    return [call, ours.ToolSearchOutput(tools=[*tools], execution="server", call_id=use.id, status="completed")]


def _mcp_call(use: types.McpToolUse, result: types.ServerToolResult | None) -> ours.McpCall:
    arguments = bytes(use.input).decode("utf-8", "replace")
    call = ours.McpCall(
        server_label=use.server_name, name=use.name, arguments="{}" if arguments == "null" else arguments
    )
    if isinstance(result, types.McpToolResult):
        content = result.content or ""
        if isinstance(content, list):
            content = "".join(piece.text for piece in content if isinstance(piece, types.Text))
        if result.is_error:
            call.error = {"type": "mcp_tool_execution_error", "content": content}
            call.status = "failed"
        else:
            call.output = content
            call.status = "completed"
    return call


def fingerprint(items: list[ours.AnyItem]) -> str:
    """A digest of the visible items of a run, without ids and statuses."""
    return digest("\x1e".join(_sorted(_fingerprinted(item)).decode() for item in items))


def _fingerprinted(item: ours.AnyItem) -> list[Any]:
    match item:
        case ours.WebSearchCall(action=ours.Search(query=query, sources=sources)):
            return ["search", query or "", *(one.url for one in sources or () if isinstance(one, ours.UrlSource))]
        case ours.WebSearchCall(action=ours.OpenPage(url=url)):
            return ["open", url or ""]
        case ours.CodeInterpreterCall(code=code, outputs=outputs):
            return ["code", code or "", *(one.logs for one in outputs or () if isinstance(one, ours.CodeLogs))]
        case ours.McpCall(server_label=label, name=name, arguments=arguments):
            return ["mcp", label, name, arguments, item.output or "", item.error or None]
        case ours.McpListTools(server_label=label, tools=listed):
            return ["tools", label, *(tool.name for tool in listed)]
        case ours.ToolSearchCall(arguments=arguments):
            return ["tool search", arguments]
        case ours.ToolSearchOutput(tools=found):
            return ["found", *(tool.name for tool in found if isinstance(tool, ours.FunctionTool))]
        case _:
            return [type(item).__name__]


# --- tools and the choice among them ---------------------------------------------------------------------------------

DROPPED = ("output_schema", "async_")
"""Options of a tool that this wire does not have."""

CHOICES = {"auto": "auto", "required": "any", "none": "none"}
"""Tool choices, ours on the left."""
CHOICES_BACK = {theirs: our for our, theirs in CHOICES.items()}

HOSTED = {"code_interpreter": "code_execution", "web_search": "web_search", "web_search_preview": "web_search"}
"""Tools of the vendor by the type a choice names them with, ours on the left. The way back prefers what hosts list."""
HOSTED_BACK = {"code_execution": "code_interpreter", "web_search": "web_search_preview"}

_tool: Decoder[types.Tool] = Decoder(types.Tool)


def encode_tools(request: ours.Request, body: types.Request, alone: Collection[str], context: Context) -> None:
    """Set the tools of a request and the fields they need; `alone` are the MCP servers without a toolset."""
    lost, placed = context.lost, {f"tools[{i}]": tool for i, tool in enumerate(request.tools or ())}
    encoded = (_encode_tool(tool, space, path, context) for tool, space, path in each_tool(placed, lost))
    tools = [tool for found in encoded for tool in found if tool.mcp_server_name not in alone]
    servers: dict[str, types.McpServer] = {}
    for path, tool in placed.items():
        if tool.type == "code_interpreter" and isinstance(tool.container, str):
            body.container = tool.container
        elif tool.type == "mcp" and tool.server_url:
            servers.setdefault(tool.server_label, _encode_server(tool, path, tool.server_label in alone, lost))
    if servers:
        body.mcp_servers = [*servers.values()]
    if tools or request.tools == []:
        body.tools = tools
    if tools:
        body.tool_choice = _encode_choice(request, context)
    else:
        if request.tool_choice is not None and request.tool_choice != "auto":
            (lost.dropped if request.tool_choice == "none" else lost.refused)("tool_choice", "a choice among no tools")
        if request.parallel_tool_calls is False:
            lost.dropped("parallel_tool_calls", "there are no calls")
    if request.max_tool_calls is not None:
        searches = [tool for tool in tools if tool.name in ("web_search", "web_fetch")]
        for search in searches:
            search.max_uses = request.max_tool_calls
        if searches:
            lost.changed("max_tool_calls", "a limit for each kind of search at Anthropic")
        else:
            lost.dropped("max_tool_calls", no_such("option", "Anthropic"))


def check_tools(tools: Sequence[types.Tool], context: Context) -> None:
    """Report duplicate names of tools, and record cache breakpoints."""
    seen: set[str] = set()
    for i, tool in enumerate(tools):
        key = tool.name or tool.type or ""
        if given(tool.mcp_server_name):
            key = f"mcp_toolset/{tool.mcp_server_name}"  # a toolset is named after its server
        elif given(tool.type) and tool.type.startswith("tool_search_tool_"):
            key = "tool_search"  # both searches are one in Responses
        if key in seen:
            context.lost.refused(f"tools[{i}]", f"a second tool of the name {key!r}")
        seen.add(key)
        context.marked(tool, f"tools[{i}]")


def _encode_tool(tool: ours.AnyTool, namespace: str | None, path: str, context: Context) -> list[types.Tool]:
    lost = context.lost
    match tool:
        case ours.FunctionTool() | ours.CustomTool():
            return [_encode_function(tool, namespace, path, context)]
        case ours.CodeInterpreterTool():
            if given(tool.container) and not isinstance(tool.container, str) and tool.container != AUTO:
                lost.dropped(f"{path}.container", "a container of Anthropic has no settings")
            return [types.Tool(type=CODE, name=CODE, allowed_callers=encode_callers(tool.allowed_callers))]
        case ours.ToolSearchTool():
            return encode_tool_search(tool, path, context)
        case ours.McpTool():
            return _encode_toolset(tool, path, context)
        case _ if isinstance(tool, WebSearch):
            return [encode_web_search(tool, path, context)]
        case Unknown() if re.fullmatch(r"custom|mcp_toolset|tool_search_tool_\w+|\w+_20\d{6}", tool.kind):
            try:
                return [_tool.decode(encode(tool))]
            except DecodeError:
                lost.refused(path, f"a tool of type {tool.kind!r} with fields that do not fit")
        case _:
            refuse_tool(tool, path, WIRE, lost)
    return []


def _encode_function(
    tool: ours.FunctionTool | ours.CustomTool, namespace: str | None, path: str, context: Context
) -> types.Tool:
    report_missing(tool, WIRE, context.lost, dropped=DROPPED, path=path)
    function, name = as_function(tool, path, context.lost), wire_name(tool.name, namespace)
    report_name(name, tool, namespace, path, WIRE, context.lost)
    parameters: Schema = function.parameters if given(function.parameters) else NO_PARAMETERS
    if parameters.get("type") != "object":
        parameters = {"properties": {}, **parameters, "type": "object"}
        context.lost.changed(f"{path}.parameters.type", "arguments are an object at Anthropic")
    encoded = types.Tool(
        name=name,
        description=or_unset(function.description),
        input_schema=parameters,
        defer_loading=or_unset(function.defer_loading),
        allowed_callers=encode_callers(function.allowed_callers),
    )
    if function.strict:
        fitted(parameters, ANTHROPIC, changes := Losses(), "")
        if changes:
            why = "the schema is beyond what Anthropic enforces; the tool is not strict"
            context.lost.changed(f"{path}.strict", why)
        else:
            encoded.strict = True
    return encoded


def tool_additions(
    tools: Sequence[ours.AnyTool], path: str, offered: Collection[Opt[str]], context: Context
) -> list[types.AnyBlock]:
    """Blocks that add tools: by name where the request offers them already, else with their definitions."""
    found: list[types.AnyBlock] = []
    placed = {f"{path}.tools[{j}]": tool for j, tool in enumerate(tools)}
    for tool, namespace, here in each_tool(placed, context.lost):
        definitions = _encode_tool(tool, namespace, here, context)
        set_versions(definitions, context.model)
        for encoded in definitions:
            if given(encoded.name) and encoded.name in offered:
                change = types.ChangedTool(type="tool_reference", name=encoded.name)
            else:
                context.lost.emulated(here, "a tool that is described within the conversation")
                change = types.ChangedTool(type="tool_definition", definition=encoded)
            found.append(types.ToolAddition(tool=change))
    return found


def decode_tool_addition(block: types.AnyBlock, named: dict[str, ours.FunctionTool]) -> ours.FunctionTool | None:
    """The tool that a block adds, if the block has no other field."""
    if type(block) is not types.ToolAddition or block.cache_control is not UNSET:
        return None
    tool = named.get(block.tool.name or "")
    same = tool is not None and block.tool == types.ChangedTool(type="tool_reference", name=tool.name)
    return tool if same else None


def decode_tools(body: types.Request) -> tuple[list[ours.AnyTool], list[bool]]:
    """The tools of a request in Responses, and whether each tool of this wire has an equivalent."""
    servers = {server.name: server for server in body.mcp_servers or ()}
    found: list[ours.AnyTool] = []
    known: list[bool] = []
    for tool in body.tools or ():
        decoded = _decode_tool(tool, servers, body.container)
        known.append(decoded is not None)
        if decoded is not None:
            found.append(decoded)
            servers.pop(tool.mcp_server_name or "", None)
    return [*found, *map(decode_server, servers.values())], known


def servers_without_toolset(body: types.Request) -> list[str]:
    """The MCP servers of a request without a toolset, as in the first connector."""
    named = {tool.mcp_server_name for tool in body.tools or ()}
    return [server.name for server in body.mcp_servers or () if server.name not in named]


def _decode_tool(
    tool: types.Tool, servers: Mapping[str, types.McpServer], container: Opt[str | types.Json]
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
            allowed_callers=decode_callers(tool.allowed_callers),
        )
    if kind.startswith("web_search_20"):
        return decode_web_search(tool)
    if kind.startswith("code_execution_20"):
        where = container if isinstance(container, str) else AUTO.copy()
        return ours.CodeInterpreterTool(container=where, allowed_callers=decode_callers(tool.allowed_callers))
    if kind.startswith("tool_search_tool_"):
        return ours.ToolSearchTool(execution="server")
    server = servers.get(tool.mcp_server_name or "") if kind == "mcp_toolset" else None
    return None if server is None else decode_toolset(tool, server)


def _encode_choice(request: ours.Request, context: Context) -> Opt[types.ToolChoice]:
    """The tool choice of a request that offers tools; absent for the vendor's default."""
    lost, choice = context.lost, request.tool_choice
    if choice is None and request.parallel_tool_calls is not False:
        return UNSET
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
                lost.changed("tool_choice.mode", f"{choice.mode!r}, which Anthropic lacks; the model chooses")
            lost.changed("tool_choice.tools", "Anthropic cannot narrow the tools down; all of them may be called")
        case Unknown() if choice.kind in HOSTED:
            encoded = types.ToolChoice(type="tool", name=HOSTED[choice.kind])
        case _:
            if choice is not None:
                lost.changed("tool_choice", "a choice Anthropic does not have; the model chooses")
    if encoded.type in ("any", "tool") and not context.model.forced_tools:
        lost.changed("tool_choice", "this model has no forced tool calls; it chooses itself")
        encoded = types.ToolChoice(type="auto")
    if request.parallel_tool_calls is False:
        if encoded.type == "none":
            lost.dropped("parallel_tool_calls", "there are no calls")
        else:
            encoded.disable_parallel_tool_use = True
    return encoded


def decode_choice(choice: types.ToolChoice, request: ours.Request) -> None:
    """Set the tool choice of `request`."""
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
