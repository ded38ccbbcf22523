"""Tools the vendor runs: web search, code execution, tool search, MCP servers.

Each has its way there and back side by side; `decode_*` give the tool, the fields it has no word for, and how it was spelled.
Before changing this file, know that an MCP server's token is a secret: it stands in `authorization` and nowhere else. Follows
Anthropic's pages of each tool and of the MCP connector (read 2026-11-20).
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from ... import responses as ours
from ...dialects import MessagesModel
from ...unknown import Opt, extras, given
from . import types
from .carried import merged, rest
from .content import Context
from .functions import KEPT, decode_callers, encode_callers, spelled_callers

WebSearch = (
    ours.WebSearchTool | ours.WebSearchTool20250826 | ours.WebSearchPreviewTool | ours.WebSearchPreviewTool20250311
)

TOOL_SEARCH = "tool_search_tool_bm25_20251119"
AUTO = {"type": "auto"}


# --- web search -----------------------------------------------------------------------------------------------------


def encode_web_search(tool: WebSearch, path: str, context: Context) -> types.Tool:
    """A web search in the newest version the model has."""
    encoded = types.Tool(type=context.model.web_search, name="web_search")
    if given(tool.filters):
        encoded.allowed_domains = tool.filters.allowed_domains
        encoded.blocked_domains = tool.filters.blocked_domains
    there = tool.user_location
    if given(there):
        encoded.user_location = types.UserLocation(
            type="approximate", city=there.city, region=there.region, country=there.country, timezone=there.timezone
        )
    if tool.external_web_access is False:
        context.lost.refused(f"{path}.external_web_access", "this wire searches the live web only")
    for name in ("search_context_size", "search_content_types"):
        if given(getattr(tool, name)):
            context.lost.dropped(f"{path}.{name}", "a search of this wire has no such field")
    return encoded


def decode_web_search(
    tool: types.Tool, model: MessagesModel
) -> tuple[ours.WebSearchTool, dict[str, Any], dict[str, Any]]:
    """A web search in Responses."""
    more = rest(tool, (*KEPT, "strict", "defer_loading", "allowed_callers"))
    search = ours.WebSearchTool()
    if given(tool.allowed_domains) or given(tool.blocked_domains):
        search.filters = ours.SearchFilters(allowed_domains=tool.allowed_domains, blocked_domains=tool.blocked_domains)
    else:
        more |= rest(tool, ("allowed_domains", "blocked_domains"))
    there = tool.user_location
    if given(there) and not extras(there) and there.type == "approximate":
        search.user_location = ours.UserLocation(
            type="approximate", city=there.city, region=there.region, country=there.country, timezone=there.timezone
        )
    else:
        more |= rest(tool, ("user_location",))
    return search, more, {} if tool.type == model.web_search else {"type": tool.type}


# --- code execution -------------------------------------------------------------------------------------------------


def encode_code(tool: ours.CodeInterpreterTool, path: str, context: Context) -> types.Tool:
    """Code execution in the newest version the model has; `container_of` has its container."""
    if given(tool.container) and not isinstance(tool.container, str) and tool.container != AUTO:
        context.lost.dropped(f"{path}.container", "a container of this wire takes no settings")
    return types.Tool(
        type=context.model.code_execution,
        name="code_execution",
        allowed_callers=encode_callers(tool.allowed_callers, context.model),
    )


def decode_code(
    tool: types.Tool, container: Opt[str | types.Container], model: MessagesModel
) -> tuple[ours.CodeInterpreterTool, dict[str, Any], dict[str, Any]]:
    """Code execution in Responses, in the container of the request."""
    spelled = {} if tool.type == model.code_execution else {"type": tool.type}
    interpreter = ours.CodeInterpreterTool(
        container=container if isinstance(container, str) else AUTO.copy(),
        allowed_callers=decode_callers(tool.allowed_callers),
    )
    return interpreter, rest(tool, (*KEPT, "strict", "defer_loading")), spelled | spelled_callers(tool, model)


# --- tool search ----------------------------------------------------------------------------------------------------


def encode_tool_search(tool: ours.ToolSearchTool, path: str, context: Context) -> list[types.Tool]:
    """A search over deferred tools, as the vendor runs it."""
    if tool.execution == "client":
        context.lost.refused(path, "a tool search that the caller runs; offer it as a function")
        return []
    if given(tool.description) or given(tool.parameters):
        context.lost.dropped(path, "a tool search of this wire is not described")
    return [types.Tool(type=TOOL_SEARCH, name=TOOL_SEARCH.rpartition("_")[0])]


def decode_tool_search(tool: types.Tool) -> tuple[ours.ToolSearchTool, dict[str, Any], dict[str, Any]]:
    """A tool search in Responses."""
    spelled = {} if tool.type == TOOL_SEARCH else rest(tool, ("type", "name"))
    return (
        ours.ToolSearchTool(execution="server"),
        rest(tool, (*KEPT, "strict", "defer_loading", "allowed_callers")),
        spelled,
    )


# --- MCP ------------------------------------------------------------------------------------------------------------


def encode_mcp(
    tool: ours.McpTool, alone: dict[str, Any], path: str, context: Context
) -> tuple[types.McpServer, types.Tool | None] | None:
    """An MCP server and its toolset; without the toolset where this wire had it `alone`, and still means the same."""
    lost = context.lost
    if not given(tool.server_url):
        lost.refused(path, "an MCP server without a URL; this wire has no connectors or tunnels")
        return None
    server = types.McpServer(type="url", url=tool.server_url, name=tool.server_label)
    server.authorization_token = tool.authorization if given(tool.authorization) else UNSET
    for name, value in (tool.headers or {}).items():
        if name.lower() == "authorization" and value[:7].lower() == "bearer " and not given(tool.authorization):
            server.authorization_token = value[7:]
        else:
            lost.refused(f"{path}.headers", f"the header {name!r}; this wire sends an MCP server a bearer token only")
    if tool.require_approval != "never":
        lost.refused(f"{path}.require_approval", "this wire cannot ask before an MCP call; only `never` is possible")
    if given(tool.server_description):
        lost.dropped(f"{path}.server_description", "an MCP server is not described on this wire")
    allowed = tool.allowed_tools
    if isinstance(allowed, ours.McpToolFilter):
        if allowed.read_only:
            lost.refused(f"{path}.allowed_tools.read_only", "this wire does not know which MCP tools only read")
        allowed = allowed.tool_names
    said: dict[str, Any] | None = alone.get(tool.server_label)
    if said is not None and _allowed(said.get("enabled"), said.get("allowed_tools", UNSET)) == allowed:
        return merged(server, {"tool_configuration": said}, path, lost) if said else server, None
    toolset = types.Tool(type="mcp_toolset", mcp_server_name=tool.server_label)
    if given(allowed):
        toolset.default_config = types.McpToolConfig(enabled=False)
        toolset.configs = {name: {"enabled": True} for name in allowed}
    if given(tool.defer_loading):
        toolset.default_config = toolset.default_config or types.McpToolConfig()
        toolset.default_config.defer_loading = tool.defer_loading
    toolset.allowed_callers = encode_callers(tool.allowed_callers, context.model)
    return server, toolset


def decode_mcp(
    tool: types.Tool, server: types.McpServer, model: MessagesModel
) -> tuple[ours.McpTool, dict[str, Any], dict[str, Any]]:
    """An MCP server with its toolset in Responses."""
    mcp = decode_server(server)
    default, configs = tool.default_config, tool.configs
    more = rest(tool, (*KEPT, "tools"))
    chosen: dict[str, Any] = configs if given(configs) else {}
    if given(default) and default.enabled is False and chosen == {name: {"enabled": True} for name in chosen}:
        mcp.allowed_tools = [*chosen]
    elif configs is not UNSET or (given(default) and default.enabled is not UNSET) or default is None:
        more |= rest(tool, ("default_config", "configs"))
    if given(default) and given(default.defer_loading):
        mcp.defer_loading = default.defer_loading
    mcp.allowed_callers = decode_callers(tool.allowed_callers)
    return mcp, more, spelled_callers(tool, model)


def decode_server(server: types.McpServer) -> ours.McpTool:
    """An MCP server in Responses, with the tools it chooses itself, as the first connector had it."""
    said = server.tool_configuration
    return ours.McpTool(
        server_label=server.name,
        server_url=server.url,
        authorization=server.authorization_token,
        allowed_tools=_allowed(said.enabled, said.allowed_tools) if given(said) else UNSET,
        require_approval="never",
    )


def _allowed(enabled: Opt[bool], allowed: Opt[list[str]]) -> Opt[list[str]]:
    return [] if enabled is False else allowed
