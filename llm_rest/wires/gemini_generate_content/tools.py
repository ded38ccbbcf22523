"""What the model may call, both ways: functions in one list, and the vendor's tools each under its own key.

A tool of the vendor that Responses has no name for can be asked for by a kind that begins with `google:`, such as
`{"type": "google:url_context"}`, with the fields of this wire; one that a document lists is kept in leftovers. Before changing
this file, know that the vendor caches tools first, so the same tools must give the same bytes, and that the headers of an MCP
server are secrets, which stand on its tool and nowhere else. Follows the reference of `Tool` and Google's pages on each (read
2026-11-20).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from msgspec import UNSET

from ...responses.leftovers import SPELLING
from ...responses.tools import (
    CodeInterpreterTool,
    CustomTool,
    FileSearchTool,
    FunctionTool,
    Grammar,
    ImageGenerationTool,
    McpTool,
    McpToolFilter,
    NamespaceTool,
    SearchFilters,
    WebSearchPreviewTool,
    WebSearchPreviewTool20250311,
    WebSearchTool,
    WebSearchTool20250826,
)
from ...unknown import Unknown, extras, given
from . import types
from .carried import merged, plain, report_extras, rest, restored
from .names import wire_name
from .schema import fitted, from_openapi

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...responses.tools import AnyTool, Schema
    from ...unknown import Opt
    from .media import Context

WebSearch = WebSearchTool | WebSearchTool20250826 | WebSearchPreviewTool | WebSearchPreviewTool20250311

GOOGLE = "google:"
STORE = "fileSearchStores/"
AUTO_CONTAINER = {"type": "auto"}


def _camel(name: str) -> str:
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), name)


# --- Responses to this wire -----------------------------------------------------------------------------------------


class Offer:
    """The tools of a request on their way: functions, the vendor's own, and what they ask of the rest of the body."""

    def __init__(self, servers: types.Json) -> None:
        self.servers = servers
        self.functions: list[types.FunctionDeclaration] = []
        self.hosted: list[types.Tool] = []
        self.held: dict[str, Opt[bool]] = {}  # where each function stands, and whether it is held to its schema
        self.draws = False

    @property
    def strict(self) -> bool:
        """Whether any function is held to its schema."""
        return True in self.held.values()

    @property
    def tools(self) -> list[types.Tool]:
        """The tools as the body lists them."""
        functions = [types.Tool(function_declarations=self.functions)] if self.functions else []
        return [*functions, *self.hosted]


def encode_tools(tools: Sequence[AnyTool], servers: types.Json, context: Context) -> Offer:
    """The tools a model is offered; `servers` is what this wire left about MCP servers, by name."""
    offer = Offer(servers)
    for i, tool in enumerate(tools):
        _encode(tool, f"tools[{i}]", offer, context)
    seen: set[str] = set()
    for function in offer.functions:
        name = function.name or ""
        if name in seen:
            context.lost.refused("tools", f"two functions with the name {name!r}")
        seen.add(name)
    if offer.hosted and offer.functions and not context.model.mixes_tools:
        context.lost.refused("tools", "this model takes functions or the vendor's tools, not both")
    return offer


def _encode(tool: AnyTool, path: str, offer: Offer, context: Context) -> None:
    lost = context.lost
    if not isinstance(tool, Unknown):
        report_extras(tool, path, lost)
    match tool:
        case FunctionTool():
            offer.functions.append(_function(tool, "", path, offer, context))
        case CustomTool():
            offer.functions.append(_custom(tool, "", path, context))
        case NamespaceTool():
            _namespace(tool, path, offer, context)
        case WebSearchTool() | WebSearchTool20250826() | WebSearchPreviewTool() | WebSearchPreviewTool20250311():
            offer.hosted.append(types.Tool(google_search=_search(tool, path, context)))
        case CodeInterpreterTool():
            if tool.container is not UNSET and tool.container != AUTO_CONTAINER:
                lost.dropped(f"{path}.container", "code runs in a place of the vendor's own choice")
            offer.hosted.append(types.Tool(code_execution={}))
        case FileSearchTool():
            _file_search(tool, path, offer, context)
        case McpTool():
            _mcp(tool, path, offer, context)
        case ImageGenerationTool():
            _draws(tool, path, offer, context)
        case Unknown() if tool.type.startswith(GOOGLE):
            fields = {name: value for name, value in tool.items() if name != "type"}
            key = _camel(tool.type.removeprefix(GOOGLE))
            found = restored(types.Tool, {key: fields})
            if found is None or key in context.dialect.lacks:
                lost.refused(path, f"the tool {tool.type!r}, which this host does not take")
            else:
                offer.hosted.append(found)
        case Unknown():
            lost.refused(path, f"a tool of type {tool.type!r}, which this wire does not know")
        case _:
            lost.refused(path, f"a tool of type {tool.__struct_config__.tag!r}, which this wire does not have")


def _function(
    tool: FunctionTool, namespace: str, path: str, offer: Offer, context: Context
) -> types.FunctionDeclaration:
    lost = context.lost
    encoded = types.FunctionDeclaration(name=wire_name(tool.name, namespace), description=tool.description)
    if not namespace and encoded.name != tool.name:
        lost.changed(f"{path}.name", f"a name this wire does not take, sent as {encoded.name}")
    if tool.parameters:
        encoded.parameters_json_schema = fitted(tool.parameters, lost, f"{path}.parameters")
    if given(tool.output_schema):
        encoded.response_json_schema = fitted(tool.output_schema, lost, f"{path}.output_schema")
    offer.held[path] = tool.strict
    for name in ("defer_loading", "allowed_callers", "async_"):
        if getattr(tool, name):
            lost.dropped(f"{path}.{name.rstrip('_')}", "this wire has no such field of a function")
    return encoded


def _custom(tool: CustomTool, namespace: str, path: str, context: Context) -> types.FunctionDeclaration:
    lost = context.lost
    lost.emulated(path, "a custom tool is offered as a function with one text, `input`")
    if isinstance(tool.format, Grammar):
        lost.dropped(f"{path}.format", "this wire enforces no grammar")
    text = {"type": "string", "description": "The input, as plain text."}
    schema = {"type": "object", "properties": {"input": text}, "required": ["input"]}
    name = wire_name(tool.name, namespace)
    return types.FunctionDeclaration(name=name, description=tool.description, parameters_json_schema=schema)


def _namespace(tool: NamespaceTool, path: str, offer: Offer, context: Context) -> None:
    context.lost.emulated(path, "the tools of a namespace are offered one by one, under its name and theirs")
    for j, inner in enumerate(tool.tools):
        if isinstance(inner, FunctionTool):
            offer.functions.append(_function(inner, tool.name, f"{path}.tools[{j}]", offer, context))
        elif isinstance(inner, CustomTool):
            offer.functions.append(_custom(inner, tool.name, f"{path}.tools[{j}]", context))
        else:
            context.lost.refused(f"{path}.tools[{j}]", f"a tool of type {inner.type!r}, which this wire does not know")


def _search(tool: WebSearch, path: str, context: Context) -> types.GoogleSearch:
    lost, search = context.lost, types.GoogleSearch()
    if tool.__struct_config__.tag != "web_search":
        lost.changed(f"{path}.type", "the vendor's search has one version")
    filters = tool.filters
    if given(filters):
        if given(filters.allowed_domains):
            lost.dropped(f"{path}.filters.allowed_domains", "the vendor's search cannot be kept to some sites")
        if given(filters.blocked_domains):
            if "excludeDomains" in context.dialect.lacks:
                lost.dropped(f"{path}.filters.blocked_domains", "this host's search cannot leave sites out")
            else:
                search.exclude_domains = filters.blocked_domains
    if tool.external_web_access is False:
        lost.refused(f"{path}.external_web_access", "the vendor searches the live web only")
    for name in ("user_location", "search_context_size", "search_content_types"):
        if given(getattr(tool, name)):
            lost.dropped(f"{path}.{name}", "the vendor's search has no such option")
    return search


def _file_search(tool: FileSearchTool, path: str, offer: Offer, context: Context) -> None:
    lost = context.lost
    foreign = [name for name in tool.vector_store_ids if not name.startswith(STORE)]
    if foreign or "fileSearch" in context.dialect.lacks:
        lost.refused(path, f"file search works on stores of the vendor here, named `{STORE}...`")
        return
    for name in ("filters", "ranking_options"):
        if given(getattr(tool, name)):
            lost.dropped(f"{path}.{name}", "file search has no such option on this wire")
    search = types.FileSearch(file_search_store_names=tool.vector_store_ids, top_k=tool.max_num_results)
    offer.hosted.append(types.Tool(file_search=search))


def _mcp(tool: McpTool, path: str, offer: Offer, context: Context) -> None:
    lost = context.lost
    if "mcpServers" in context.dialect.lacks or not given(tool.server_url):
        lost.refused(path, "this host calls no such MCP server itself")
        return
    if tool.require_approval != "never":
        lost.refused(f"{path}.require_approval", "this wire cannot ask before an MCP call; only `never` is possible")
    allowed = tool.allowed_tools
    if isinstance(allowed, McpToolFilter) or given(allowed):
        lost.refused(f"{path}.allowed_tools", "this wire offers all tools of an MCP server, or none")
    for name in ("server_description", "defer_loading", "allowed_callers"):
        if given(getattr(tool, name)):
            lost.dropped(f"{path}.{name}", "this wire has no such field of an MCP server")
    headers = dict(tool.headers) if given(tool.headers) else {}
    if given(tool.authorization):
        headers["Authorization"] = f"Bearer {tool.authorization}"
    transport = types.StreamableHttpTransport(url=tool.server_url, headers=headers or UNSET)
    more = offer.servers.get(tool.server_label)
    if isinstance(more, dict):
        transport = merged(transport, cast("types.Json", more), path, lost)
    server = types.McpServer(name=tool.server_label, streamable_http_transport=transport)
    offer.hosted.append(types.Tool(mcp_servers=[server]))


def _draws(tool: ImageGenerationTool, path: str, offer: Offer, context: Context) -> None:
    if not context.model.draws:
        context.lost.refused(path, "this model draws no images; the ones with `image` in their name do")
        return
    offer.draws = True
    for name, value in plain(tool).items():
        if name != "type" and value is not None:
            context.lost.dropped(f"{path}.{name}", "images of this wire have no such option here")


# --- this wire to Responses -----------------------------------------------------------------------------------------


def decode_tools(tools: Sequence[types.Tool], *, strict: bool, left: types.Json) -> list[AnyTool]:
    """The tools in Responses. `left` takes the list itself where they cannot say all of it, or we would arrange it otherwise."""
    functions: list[AnyTool] = []
    hosted: list[AnyTool] = []
    otherwise = secret = nameless = False
    for i, tool in enumerate(tools):
        declared = tool.function_declarations
        keys = sum(getattr(tool, name) is not UNSET for name in types.Tool.__struct_fields__)
        otherwise |= keys != 1 or (given(declared) and i > 0)
        secret |= given(tool.mcp_servers)
        for function in declared or ():
            found, plainly = _decode_function(function, strict)
            functions.append(found)
            otherwise |= not plainly
        found_here, whole = _decode_hosted(tool, left)
        hosted += found_here
        nameless |= not whole
    if nameless:
        left["tools"] = plain([tool for tool in tools if not given(tool.mcp_servers)])
    elif (otherwise or not (functions or hosted)) and not secret:
        left.setdefault(SPELLING, {})["tools"] = plain(tools)
    return [*functions, *hosted]


def _decode_function(function: types.FunctionDeclaration, strict: bool) -> tuple[FunctionTool, bool]:
    """The function, and whether it says nothing more."""
    parameters: Any = function.parameters_json_schema
    found = FunctionTool(name=function.name or "", description=function.description, strict=strict)
    plainly = function.name is not UNSET and function.parameters is function.response is function.behavior is UNSET
    if given(function.parameters):
        parameters = from_openapi(function.parameters)
    if isinstance(parameters, dict):
        found.parameters = cast("Schema", parameters)
        plainly = plainly and bool(found.parameters)
    elif parameters is not UNSET:
        plainly = False
    response: Any = function.response_json_schema
    if isinstance(response, dict):
        found.output_schema = cast("Schema", response)
    elif given(function.response):
        found.output_schema = from_openapi(function.response)
    return found, plainly and not extras(function)


def _decode_hosted(tool: types.Tool, left: types.Json) -> tuple[list[AnyTool], bool]:
    """The tools of the vendor under the keys of `tool`, and whether these are all."""
    found: list[AnyTool] = []
    whole = not extras(tool)
    for name in types.Tool.__struct_fields__:
        value = getattr(tool, name)
        if not given(value) or name == "function_declarations":
            continue
        match value:
            case types.GoogleSearch() if value == types.GoogleSearch(exclude_domains=value.exclude_domains):
                filters = (
                    SearchFilters(blocked_domains=value.exclude_domains) if given(value.exclude_domains) else UNSET
                )
                found.append(WebSearchTool(filters=filters))
            case types.FileSearch() if given(value.file_search_store_names) and value == types.FileSearch(
                file_search_store_names=value.file_search_store_names, top_k=value.top_k
            ):
                found.append(
                    FileSearchTool(vector_store_ids=value.file_search_store_names, max_num_results=value.top_k)
                )
            case {} if name == "code_execution" and not value:
                found.append(CodeInterpreterTool(container=AUTO_CONTAINER.copy()))
            case [*servers] if name == "mcp_servers":
                found += [_decode_mcp(server, left) for server in cast("list[types.McpServer]", servers)]
            case _:
                whole = False
    return found, whole


def _decode_mcp(server: types.McpServer, left: types.Json) -> McpTool:
    transport = server.streamable_http_transport or types.StreamableHttpTransport()
    name = server.name or ""
    more = rest(transport, ("url", "headers"))
    if more:
        left.setdefault("mcpServers", {})[name] = more
    return McpTool(server_label=name, server_url=transport.url, headers=transport.headers, require_approval="never")
