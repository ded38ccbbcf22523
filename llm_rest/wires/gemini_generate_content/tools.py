"""What the model may call, both ways: functions in one list, the vendor's tools each under its own key, and the choice.

A tool of the vendor that Responses has no name for can be asked for by a kind that begins with `google:`, such as
`{"type": "google:url_context"}`, with the fields of this wire; one that a document lists is kept in leftovers. Before changing
this file, know that the vendor caches tools first, so the same tools must give the same bytes, and that the headers of an MCP
server are secrets, which stand on its tool and nowhere else. Follows the references of `Tool` and `ToolConfig` and Google's pages
on each (read 2026-11-20).
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, cast

from msgspec import UNSET

from ...losses import no_such
from ...responses.tools import (
    ChooseAllowed,
    ChooseCustom,
    ChooseFunction,
    ChooseMcp,
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
    ToolChoice,
    WebSearchPreviewTool,
    WebSearchPreviewTool20250311,
    WebSearchTool,
    WebSearchTool20250826,
)
from ...unknown import Unknown, given, or_none, or_unset
from .._left import report_unknown
from . import types
from .calls import wire_name
from .carried import inner, merged, plain, rest, restored, stated
from .schema import fitted, from_openapi

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...losses import Losses
    from ...responses.tools import AnyTool, Schema
    from ...unknown import Opt
    from .media import Context

WebSearch = WebSearchTool | WebSearchTool20250826 | WebSearchPreviewTool | WebSearchPreviewTool20250311

GOOGLE = "google:"
STORE = "fileSearchStores/"
AUTO_CONTAINER = {"type": "auto"}
TEXT_INPUT: Schema = {
    "type": "object",
    "properties": {"input": {"type": "string", "description": "The input, as plain text."}},
    "required": ["input"],
}
"""What a custom tool takes as a function."""

MODES = {"auto": "AUTO", "required": "ANY", "none": "NONE"}
"""Words of the tool choice, ours on the left."""
MODES_BACK = {theirs: ours for ours, theirs in MODES.items()}


# --- Responses to this wire -----------------------------------------------------------------------------------------


class Offer:
    """The tools of a request on their way: functions, the vendor's own, and what they ask of the rest of the body.

    `kept` is what this wire left: tools that have no name in Responses, and what was told of MCP servers beside their tools.
    """

    def __init__(self, kept: types.Json, context: Context) -> None:
        self.kept = kept
        self.context = context
        self.functions: list[types.FunctionDeclaration] = []
        self.hosted: list[types.Tool] = []
        self.held: dict[str, Opt[bool]] = {}  # where each function stands, and whether it is held to its schema
        self.draws = False

    @property
    def tools(self) -> list[types.Tool]:
        """The tools as the body lists them."""
        functions = [types.Tool(function_declarations=self.functions)] if self.functions else []
        return [*functions, *self.hosted]

    def add(self, tool: AnyTool, path: str) -> None:
        """Offer one more tool, which stands at `path`."""
        lost, lacks = self.context.lost, self.context.dialect.lacks
        if not isinstance(tool, Unknown):
            report_unknown(tool, path, lost)
        match tool:
            case FunctionTool() | CustomTool():
                self._function(tool, "", path)
            case NamespaceTool():
                lost.emulated(path, "the tools of a namespace are offered one by one, under its name and theirs")
                for j, inner in enumerate(tool.tools):
                    if isinstance(inner, FunctionTool | CustomTool):
                        self._function(inner, tool.name, f"{path}.tools[{j}]")
                    else:
                        lost.refused(f"{path}.tools[{j}]", f"a tool of type {inner.kind!r}, which nobody here knows")
            case WebSearchTool() | WebSearchTool20250826() | WebSearchPreviewTool() | WebSearchPreviewTool20250311():
                self.hosted.append(types.Tool(google_search=_search(tool, path, self.context)))
            case CodeInterpreterTool():
                if tool.container is not None and tool.container != AUTO_CONTAINER:
                    lost.dropped(f"{path}.container", "code runs in a place of the vendor's own choice")
                self.hosted.append(types.Tool(code_execution={}))
            case FileSearchTool(vector_store_ids=stores):
                if "fileSearch" in lacks or not all(name.startswith(STORE) for name in stores):
                    lost.refused(path, f"file search works on stores of the vendor here, named `{STORE}...`")
                    return
                _drop(tool, ("filters", "ranking_options"), path, lost)
                most = stated(tool.max_num_results)
                self.hosted.append(
                    types.Tool(file_search=types.FileSearch(file_search_store_names=stores, top_k=or_unset(most)))
                )
            case McpTool(server_url=str()) if "mcpServers" not in lacks:
                self.hosted.append(types.Tool(mcp_servers=[self._server(tool, path)]))
            case ImageGenerationTool() if self.context.model.draws:
                self.draws = True
                _drop(tool, tool.__struct_fields__, path, lost)
            case ImageGenerationTool():
                lost.refused(path, "this model draws no images; the ones with `image` in their name do")
            case Unknown() if tool.kind.startswith(GOOGLE):
                key = re.sub(r"_([a-z])", lambda found: found[1].upper(), tool.kind.removeprefix(GOOGLE))
                found = restored(types.Tool, {key: {name: value for name, value in tool.items() if name != "type"}})
                if found is None or key in lacks:
                    lost.refused(path, f"the tool {tool.kind!r}, which this host does not take")
                else:
                    self.hosted.append(found)
            case _:
                kind = tool.kind if isinstance(tool, Unknown) else tool.__struct_config__.tag
                lost.refused(path, f"a tool of type {kind!r}, which this host does not run")

    def _function(self, tool: FunctionTool | CustomTool, namespace: str, path: str) -> None:
        lost = self.context.lost
        encoded = types.FunctionDeclaration(name=wire_name(tool.name, namespace), description=stated(tool.description))
        self.functions.append(encoded)
        if isinstance(tool, CustomTool):
            lost.emulated(path, "a custom tool is offered as a function with one text, `input`")
            if isinstance(tool.format, Grammar | Unknown):
                lost.dropped(f"{path}.format", "Gemini enforces no grammar")
            encoded.parameters_json_schema = TEXT_INPUT
            return
        if not namespace and encoded.name != tool.name:
            lost.changed(f"{path}.name", f"a name Gemini does not take, sent as {encoded.name}")
        if tool.parameters:
            encoded.parameters_json_schema = fitted(tool.parameters, lost, f"{path}.parameters")
        if given(tool.output_schema):
            encoded.response_json_schema = fitted(tool.output_schema, lost, f"{path}.output_schema")
        self.held[path] = or_unset(tool.strict)
        _drop(tool, ("defer_loading", "allowed_callers", "async_"), path, lost)

    def _server(self, tool: McpTool, path: str) -> types.McpServer:
        lost, allowed = self.context.lost, tool.allowed_tools
        if tool.require_approval != "never":
            lost.refused(f"{path}.require_approval", "Gemini cannot ask before an MCP call; only `never` is possible")
        if isinstance(allowed, McpToolFilter) or given(allowed):
            lost.refused(f"{path}.allowed_tools", "Gemini offers all tools of an MCP server, or none")
        _drop(tool, ("server_description", "defer_loading", "allowed_callers"), path, lost)
        headers = dict(tool.headers) if given(tool.headers) else {}
        if given(tool.authorization):
            headers["Authorization"] = f"Bearer {tool.authorization}"
        transport = types.StreamableHttpTransport(url=stated(tool.server_url), headers=headers or UNSET)
        transport = merged(transport, inner(inner(self.kept, "mcpServers"), tool.server_label), path, lost)
        return types.McpServer(name=tool.server_label, streamable_http_transport=transport)


def _drop(tool: Any, names: Sequence[str], path: str, lost: Losses) -> None:
    for name in names:
        if given(value := getattr(tool, name)) and value is not False:
            lost.dropped(f"{path}.{name.rstrip('_')}", no_such("field", "Gemini"))


def _search(tool: WebSearch, path: str, context: Context) -> types.GoogleSearch:
    lost, search, filters = context.lost, types.GoogleSearch(), tool.filters
    if given(filters):
        report_unknown(filters, f"{path}.filters", lost)
    if tool.__struct_config__.tag != "web_search":
        lost.changed(f"{path}.type", "the vendor's search has one version")
    if given(filters) and given(filters.allowed_domains):
        lost.dropped(f"{path}.filters.allowed_domains", "the vendor's search cannot be kept to some sites")
    if given(filters) and given(filters.blocked_domains):
        if "excludeDomains" in context.dialect.lacks:
            lost.dropped(f"{path}.filters.blocked_domains", "this host's search cannot leave sites out")
        else:
            search.exclude_domains = filters.blocked_domains
    if tool.external_web_access is False:
        lost.refused(f"{path}.external_web_access", "the vendor searches the live web only")
    _drop(tool, ("user_location", "search_context_size", "search_content_types"), path, lost)
    return search


def encode_tools(tools: Sequence[AnyTool], offer: Offer) -> None:
    """Offer the tools to the model."""
    context = offer.context
    for i, tool in enumerate(tools):
        offer.add(tool, f"tools[{i}]")
    nameless = (
        restored(types.Request, {"contents": [], "tools": offer.kept["tools"]}) if "tools" in offer.kept else None
    )
    offer.hosted += (nameless.tools or ()) if nameless else ()
    for name, count in Counter(function.name for function in offer.functions).items():
        if count > 1:
            context.lost.refused("tools", f"two functions with the name {name!r}")
    if offer.hosted and offer.functions and not context.model.mixes_tools:
        context.lost.refused("tools", "this model takes functions or the vendor's tools, not both")


# --- the choice -----------------------------------------------------------------------------------------------------


def encode_choice(choice: Opt[ToolChoice], offer: Offer, context: Context) -> types.Maybe[types.ToolConfig]:
    """How the model chooses among the tools on offer."""
    lost = context.lost
    if not offer.functions:
        if choice not in (UNSET, None, "auto"):
            lost.dropped("tool_choice", "a choice among functions where there are none")
        return UNSET
    calling = _calling(choice, lost)
    if True in offer.held.values() and calling.mode in (UNSET, "AUTO"):
        calling.mode = "VALIDATED"
    for path, strict in offer.held.items():
        if strict is not UNSET and strict is not (calling.mode == "VALIDATED"):
            lost.changed(f"{path}.strict", "with this choice all functions are held to their schemas, or none")
    config = types.ToolConfig(function_calling_config=calling if calling != types.FunctionCallingConfig() else UNSET)
    if offer.hosted and "toolCall" not in context.dialect.lacks:
        config.include_server_side_tool_invocations = True
    return config if config != types.ToolConfig() else UNSET


def _calling(choice: Opt[ToolChoice], lost: Losses) -> types.FunctionCallingConfig:
    match choice:
        case str() if choice in MODES:
            return types.FunctionCallingConfig(mode=MODES[choice])
        case ChooseFunction(name=name) | ChooseCustom(name=name):
            if isinstance(choice, ChooseCustom):
                lost.emulated("tool_choice", "a custom tool is chosen as a function")
            return types.FunctionCallingConfig(mode="ANY", allowed_function_names=[wire_name(name)])
        case ChooseAllowed():
            return _allowed(choice, lost)
        case ChooseMcp() | Unknown() | str():
            lost.dropped("tool_choice", "a choice Gemini does not have; the model chooses")
        case _:
            pass
    return types.FunctionCallingConfig()


def _allowed(choice: ChooseAllowed, lost: Losses) -> types.FunctionCallingConfig:
    names: list[str] = []
    for j, entry in enumerate(choice.tools):
        if entry.get("type") in ("function", "custom") and isinstance(entry.get("name"), str):
            names.append(wire_name(entry["name"]))
        else:
            lost.dropped(f"tool_choice.tools[{j}]", "only functions can be chosen at Gemini")
    if choice.mode and choice.mode not in ("auto", "required"):
        lost.changed("tool_choice.mode", f"{choice.mode!r}, which Gemini does not know; the model chooses")
    if choice.mode == "required" and len(names) == 1:
        lost.changed("tool_choice", "the one allowed function is asked for by its name")
    if not names:
        lost.refused("tool_choice.tools", "none of the allowed tools can be named at Gemini")
    # Without enforced schemas the model cannot be kept to some functions: only VALIDATED and ANY take names.
    mode = "ANY" if choice.mode == "required" else "VALIDATED"
    return types.FunctionCallingConfig(mode=mode, allowed_function_names=names)


def decode_choice(config: types.FunctionCallingConfig) -> ToolChoice | None:
    """The choice in Responses."""
    mode = config.mode.upper() if given(config.mode) else "AUTO"
    names = config.allowed_function_names
    if mode in ("ANY", "VALIDATED") and names:
        if mode == "ANY" and len(names) == 1:
            return ChooseFunction(name=names[0])
        tools = [{"type": "function", "name": name} for name in names]
        return ChooseAllowed(mode="required" if mode == "ANY" else "auto", tools=tools)
    if mode == "VALIDATED" or config.mode is UNSET:
        return None
    return MODES_BACK.get(mode, "auto")


def is_strict(config: types.FunctionCallingConfig) -> bool:
    """Whether calls are held to the schemas of their functions without being forced."""
    return given(config.mode) and config.mode.upper() == "VALIDATED"


# --- this wire to Responses -----------------------------------------------------------------------------------------


def decode_tools(tools: Sequence[types.Tool], *, strict: bool, left: types.Json) -> list[AnyTool]:
    """The tools in Responses, functions first, as they are sent. `left` takes those it has no name for."""
    functions: list[AnyTool] = []
    hosted: list[AnyTool] = []
    for tool in tools:
        functions += [_decode_function(function, strict) for function in tool.function_declarations or ()]
        for theirs, ours in zip(tool.__struct_encode_fields__, tool.__struct_fields__, strict=True):
            value = getattr(tool, ours)
            if given(value) and ours != "function_declarations":
                hosted += _decode_hosted(theirs, value, left)
    return [*functions, *hosted]


def _decode_function(function: types.FunctionDeclaration, strict: bool) -> FunctionTool:
    found = FunctionTool(name=function.name or "", description=or_none(function.description), strict=strict)
    parameters, response = cast("Any", function.parameters_json_schema), cast("Any", function.response_json_schema)
    if given(function.parameters):
        parameters = from_openapi(function.parameters)
    if given(function.response):
        response = from_openapi(function.response)
    if isinstance(parameters, dict):
        found.parameters = cast("Schema", parameters)
    if isinstance(response, dict):
        found.output_schema = cast("Schema", response)
    if function.behavior == "NON_BLOCKING":
        found.async_ = True
    return found


def _decode_hosted(key: str, value: Any, left: types.Json) -> Sequence[AnyTool]:
    """The tools of the vendor under one key that Responses can say all of."""
    match value:
        case types.GoogleSearch(exclude_domains=sites) if value == types.GoogleSearch(exclude_domains=sites):
            return [WebSearchTool(filters=SearchFilters(blocked_domains=sites) if given(sites) else None)]
        case types.FileSearch(file_search_store_names=[*stores], top_k=most) if value == types.FileSearch(
            file_search_store_names=stores, top_k=most
        ):
            return [FileSearchTool(vector_store_ids=stores, max_num_results=or_none(most))]
        case {} if key == "codeExecution" and not value:
            return [CodeInterpreterTool(container=AUTO_CONTAINER.copy())]
        case [*servers] if key == "mcpServers":
            return [_decode_server(server, left) for server in cast("list[types.McpServer]", servers)]
        case _:
            left.setdefault("tools", []).append({key: plain(value)})
            return []


def _decode_server(server: types.McpServer, left: types.Json) -> McpTool:
    transport = server.streamable_http_transport or types.StreamableHttpTransport()
    name = server.name or ""
    more = rest(transport, ("url", "headers"))
    if more:
        left.setdefault("mcpServers", {})[name] = more
    return McpTool(
        server_label=name,
        server_url=or_none(transport.url),
        headers=or_none(transport.headers),
        require_approval="never",
    )
