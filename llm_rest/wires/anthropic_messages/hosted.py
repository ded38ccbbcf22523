"""Tools the vendor runs: as a request offers them, and what an answer shows of their runs.

Consecutive blocks of such tools form a *run*. It becomes one visible item per use (a search, a run of code, an MCP call),
followed by one carrier with the whole blocks, since a result holds encrypted text that nothing else could rebuild. Before
changing this file, know that `fingerprint` ties the carrier to its items (what it leaves out can be edited unnoticed), and
that an MCP server's token is a secret: it stands in `authorization` and nowhere else. Follows the web search, web fetch, code
execution, tool search and MCP connector guides of Anthropic (read 2026-11-20).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec
from msgspec import UNSET

from ... import responses as ours
from ...losses import no_such
from ...responses.carriers import digest
from ...unknown import Opt, Unknown, extras, given, or_none, or_unset
from ...vendors.dialects import MessagesModel
from .._left import report_unknown
from . import types
from .content import Context
from .leftovers import merged

WebSearch = (
    ours.WebSearchTool | ours.WebSearchTool20250826 | ours.WebSearchPreviewTool | ours.WebSearchPreviewTool20250311
)
TOOL_SEARCH = "tool_search_tool_bm25_20251119"
AUTO = {"type": "auto"}
PLACE = ("city", "region", "country", "timezone")

PREFIX: dict[type, str] = {
    ours.WebSearchCall: "ws",
    ours.CodeInterpreterCall: "ci",
    ours.McpCall: "mcp",
    ours.McpListTools: "mcpl",
    ours.ToolSearchCall: "tsc",
    ours.ToolSearchOutput: "tso",
}
"""The items that show what a run did, and how their ids begin, as Responses hosts expect it."""
VISIBLE = tuple(PREFIX)

Use = types.ServerToolUse | types.McpToolUse
Results = dict[str, types.ServerToolResult]

_sorted = msgspec.json.Encoder(order="deterministic").encode


# --- tools that are offered -----------------------------------------------------------------------------------------


def encode_callers(callers: Opt[list[str]], model: MessagesModel) -> Opt[list[str]]:
    """Who may call a tool: programs are a version of code execution on this wire."""
    if not given(callers):
        return UNSET
    return [model.code_execution if caller == "programmatic" else caller for caller in callers]


def decode_callers(callers: Opt[list[str]]) -> Opt[list[str]]:
    """Who may call a tool, in Responses."""
    if not given(callers):
        return UNSET
    return ["programmatic" if caller.startswith("code_execution_") else caller for caller in callers]


def encode_web_search(tool: WebSearch, path: str, context: Context) -> types.Tool:
    """A web search in the newest version the model has."""
    for name in ("filters", "user_location"):
        if given(inner := getattr(tool, name)):
            report_unknown(inner, f"{path}.{name}", context.lost)
    encoded = types.Tool(type=context.model.web_search, name="web_search")
    if given(tool.filters):
        encoded.allowed_domains = or_unset(tool.filters.allowed_domains)
        encoded.blocked_domains = or_unset(tool.filters.blocked_domains)
    if given(tool.user_location):
        place = {name: or_unset(getattr(tool.user_location, name)) for name in PLACE}
        encoded.user_location = types.UserLocation(type="approximate", **place)
    if tool.external_web_access is False:
        context.lost.refused(f"{path}.external_web_access", "Anthropic searches the live web only")
    for name in ("search_context_size", "search_content_types"):
        if given(getattr(tool, name)):
            context.lost.dropped(f"{path}.{name}", no_such("field", "Anthropic"))
    return encoded


def decode_web_search(tool: types.Tool) -> ours.WebSearchTool:
    """A web search in Responses."""
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


def encode_code(tool: ours.CodeInterpreterTool, path: str, context: Context) -> types.Tool:
    """Code execution in the newest version the model has; its container is the request's."""
    if given(tool.container) and not isinstance(tool.container, str) and tool.container != AUTO:
        context.lost.dropped(f"{path}.container", "a container of Anthropic takes no settings")
    callers = encode_callers(or_unset(tool.allowed_callers), context.model)
    return types.Tool(type=context.model.code_execution, name="code_execution", allowed_callers=callers)


def decode_code(tool: types.Tool, container: Opt[str | types.Container]) -> ours.CodeInterpreterTool:
    """Code execution in Responses, in the container of the request."""
    where = container if isinstance(container, str) else AUTO.copy()
    return ours.CodeInterpreterTool(container=where, allowed_callers=or_none(decode_callers(tool.allowed_callers)))


def encode_tool_search(tool: ours.ToolSearchTool, path: str, context: Context) -> list[types.Tool]:
    """A search over deferred tools, as the vendor runs it."""
    if tool.execution == "client":
        context.lost.refused(path, "a tool search that the caller runs; offer it as a function")
        return []
    for name in ("description", "parameters"):
        if given(getattr(tool, name)):
            context.lost.dropped(f"{path}.{name}", "Anthropic has no description of a tool search")
    return [types.Tool(type=TOOL_SEARCH, name=TOOL_SEARCH.rpartition("_")[0])]


def encode_mcp(
    tool: ours.McpTool, alone: dict[str, Any], path: str, context: Context
) -> tuple[types.McpServer, types.Tool | None] | None:
    """An MCP server and its toolset; without the toolset where this wire had it `alone`, and still means the same."""
    lost, allowed = context.lost, tool.allowed_tools
    if not given(tool.server_url):
        lost.refused(path, "an MCP server without a URL; Anthropic has no connectors or tunnels")
        return None
    server = types.McpServer(type="url", url=tool.server_url, name=tool.server_label)
    server.authorization_token = tool.authorization if given(tool.authorization) else UNSET
    for name, value in (tool.headers or {}).items():
        if name.lower() == "authorization" and value[:7].lower() == "bearer " and not given(tool.authorization):
            server.authorization_token = value[7:]
        else:
            lost.refused(f"{path}.headers", f"the header {name!r}; Anthropic sends an MCP server a bearer token only")
    if tool.require_approval != "never":
        lost.refused(f"{path}.require_approval", "Anthropic cannot ask before an MCP call; only `never` is possible")
    if given(tool.server_description):
        lost.dropped(f"{path}.server_description", "Anthropic has no description of an MCP server")
    if isinstance(allowed, ours.McpToolFilter):
        if allowed.read_only:
            lost.refused(f"{path}.allowed_tools.read_only", "Anthropic does not know which MCP tools only read")
        allowed = allowed.tool_names
    said: dict[str, Any] | None = alone.get(tool.server_label)
    if said is not None and or_none(_allowed(said.get("enabled"), said.get("allowed_tools", UNSET))) == allowed:
        return merged(server, {"tool_configuration": said}, path, lost) if said else server, None
    toolset = types.Tool(type="mcp_toolset", mcp_server_name=tool.server_label)
    if given(allowed):
        toolset.default_config = types.McpToolConfig(enabled=False)
        toolset.configs = {name: {"enabled": True} for name in allowed}
    if given(tool.defer_loading):
        toolset.default_config = toolset.default_config or types.McpToolConfig()
        toolset.default_config.defer_loading = tool.defer_loading
    toolset.allowed_callers = encode_callers(or_unset(tool.allowed_callers), context.model)
    return server, toolset


def decode_mcp(tool: types.Tool, server: types.McpServer) -> ours.McpTool:
    """An MCP server with its toolset in Responses."""
    mcp, default = decode_server(server), tool.default_config
    chosen: dict[str, Any] = tool.configs if given(tool.configs) else {}
    if given(default) and default.enabled is False and chosen == {name: {"enabled": True} for name in chosen}:
        mcp.allowed_tools = [*chosen]
    if given(default) and given(default.defer_loading):
        mcp.defer_loading = default.defer_loading
    mcp.allowed_callers = or_none(decode_callers(tool.allowed_callers))
    return mcp


def decode_server(server: types.McpServer) -> ours.McpTool:
    """An MCP server in Responses, with the tools it chooses itself, as the first connector had it."""
    said = server.tool_configuration
    return ours.McpTool(
        server_label=server.name,
        server_url=server.url,
        authorization=or_none(server.authorization_token),
        allowed_tools=or_none(_allowed(said.enabled, said.allowed_tools) if given(said) else None),
        require_approval="never",
    )


def _allowed(enabled: Opt[bool], allowed: Opt[list[str]]) -> Opt[list[str]]:
    return [] if enabled is False else allowed


# --- what a run did, as items ---------------------------------------------------------------------------------------


def run_items(run: Sequence[tuple[int, types.AnyBlock]], message_id: str | None) -> list[ours.AnyItem]:
    """The visible items of a run, in the order of its uses."""
    results: Results = {block.tool_use_id: block for _, block in run if isinstance(block, types.ServerToolResult)}
    return [item for i, block in run for item in shown(i, block, results, message_id)]


def shown(i: int, block: types.AnyBlock, results: Results, message_id: str | None) -> list[ours.AnyItem]:
    """The visible items of the block at position `i`; a use whose result is not among `results` is in progress."""
    items = _visible(block, results.get(block.id) if isinstance(block, Use) else None)
    for item in items:
        if message_id is not None:
            item.id = f"{PREFIX[type(item)]}_{message_id}_{i}"
        if not item.status and not isinstance(item, ours.McpListTools):
            item.status = "in_progress"
    return cast("list[ours.AnyItem]", items)


def conclude(hosted: Sequence[ours.AnyItem], going_on: bool, container: Opt[str]) -> None:
    """Set what only the end of an answer tells: where its code ran, and whether a use without result still goes on."""
    for item in hosted:
        if isinstance(item, ours.CodeInterpreterCall):
            item.container_id = or_none(container)
        if not isinstance(item, Unknown) and item.status == "in_progress" and not going_on:
            item.status = "incomplete"


def _visible(block: types.AnyBlock, result: types.ServerToolResult | None) -> list[ours.ItemBase]:
    match block:
        case types.ServerToolUse(name="web_search"):
            return [_search(arguments_of(block), result)]
        case types.ServerToolUse(name="web_fetch"):
            fetch = ours.WebSearchCall(action=ours.OpenPage(url=or_none(_text(arguments_of(block), "url"))))
            if isinstance(result, types.WebFetchToolResult):
                fetch.status = "completed" if isinstance(result.content, types.WebFetchResult) else "failed"
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


def arguments_of(block: Use) -> dict[str, Any]:
    """The input of a use as plain values; empty where it is no object."""
    try:
        found = msgspec.json.decode(block.input)
    except msgspec.MsgspecError:
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _text(arguments: dict[str, Any], name: str) -> Opt[str]:
    found = arguments.get(name)
    return found if isinstance(found, str) else UNSET


def _search(arguments: dict[str, Any], result: types.ServerToolResult | None) -> ours.WebSearchCall:
    query = _text(arguments, "query")
    action = ours.Search(query=or_none(query), queries=[query] if given(query) else None)
    call = ours.WebSearchCall(action=action)
    if isinstance(result, types.WebSearchToolResult):
        call.status = "failed"
        if isinstance(result.content, list):
            pages = [page for page in result.content if isinstance(page, types.WebSearchResult)]
            action.sources = [ours.UrlSource(url=page.url) for page in pages]
            call.status = "completed"
    return call


def _code(arguments: dict[str, Any], result: types.ServerToolResult | None) -> ours.CodeInterpreterCall:
    call = ours.CodeInterpreterCall(code=or_none(_text(arguments, "code") or _text(arguments, "command")))
    if isinstance(result, types.CodeExecutionToolResult | types.BashCodeExecutionToolResult):
        match result.content:
            case types.CodeResult(stdout=out, stderr=err) | types.BashResult(stdout=out, stderr=err):
                logs = [out, err]
            case types.EncryptedCodeResult(stderr=err):
                logs = [err]
            case _:
                call.status = "failed"
                return call
        call.outputs = [ours.CodeLogs(logs=text) for text in logs if text]
        call.status = "completed"
    return call


def _tool_search(use: types.ServerToolUse, result: types.ServerToolResult | None) -> list[ours.ItemBase]:
    call = ours.ToolSearchCall(arguments=arguments_of(use), execution="server", call_id=use.id)
    if not isinstance(result, types.ToolSearchToolResult):
        return [call]
    if not isinstance(result.content, types.ToolsFound):
        call.status = "incomplete"
        return [call]
    call.status = "completed"
    tools = [ours.FunctionTool(name=found.tool_name) for found in result.content.tool_references]
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
    """A digest of what the visible items of a run say; ids and statuses do not count."""
    return digest("\x1e".join(_sorted(_says(item)).decode() for item in items))


def _says(item: ours.AnyItem) -> list[Any]:
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
        case ours.ToolSearchCall(arguments=asked):
            return ["tool search", asked]
        case ours.ToolSearchOutput(tools=found):
            return ["found", *(tool.name for tool in found if isinstance(tool, ours.FunctionTool))]
        case Unknown():
            return ["unknown", dict(item)]
        case _:
            return [type(item).__name__]
