"""Conversion of tools, tool choice and calls, both ways: functions in one list, hosted tools each under its own key.

A hosted tool without a name in Responses has a type that begins with `google:`, such as
`{"type": "google:url_context"}`, with the fields of this wire. Before changing this file,
know that the vendor caches tools first, so the same tools must give the same bytes; that names must be the same every
time, since histories already sent hold them; that the headers of an MCP server are secrets, which are on its tool and
nowhere else; and that paths into streamed arguments, which only Vertex sends, are external input. Follows the
references of `Tool`, `ToolConfig` and `FunctionDeclaration`, of whose two lengths of names the shorter one is valid
everywhere, and Vertex's guide to streaming function call arguments (read 2026-11-20).
"""

from __future__ import annotations

import re
from collections import deque
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import replace

from ... import responses as ours
from ...losses import Losses
from ...responses.carriers import NEAR, SPELLING
from ...unknown import Unknown, as_list, as_object, base, extras, given, or_none, or_unset
from ..kept import Rules, diff, own_leftovers, patch
from ..leftovers import as_plain, report_unknown
from ..options import report_missing
from ..schema import GEMINI, fitted
from ..tools import (
    Call,
    WebSearch,
    allowed_tools,
    as_function,
    call_arguments,
    fitted_name,
    object_arguments,
    qualified,
    refuse_tool,
    report_name,
    report_names,
    report_unsaid,
)
from . import types
from .content import MEDIA, SIGNED
from .types import WIRE, Json, encode, from_openapi, merge, merged, restored, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...unknown import Opt
    from .content import Context

GOOGLE = "google:"
STORE = "fileSearchStores/"
AUTO_CONTAINER = {"type": "auto"}
DROPPED = ("defer_loading", "allowed_callers", "async_")
"""Options of a function that this wire does not have."""

MODES = {"auto": "AUTO", "required": "ANY", "none": "NONE"}
"""Values of the tool choice, ours on the left."""
MODES_BACK = {theirs: our for our, theirs in MODES.items()}


@lru_cache(maxsize=1024)
def wire_name(name: str, namespace: str | None = None) -> str:
    """A tool's name on this wire, never the same for two tools; tools of a namespace are named `namespace__name`."""
    whole = f"{namespace}__{name}" if namespace else name
    return fitted_name(whole, r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}", r"[^A-Za-z0-9_.:-]")


# --- Responses to this wire -----------------------------------------------------------------------------------------


class Offer:
    """The tools of a request being encoded: functions by their paths, hosted tools, and the body fields they need."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.functions: dict[str, types.FunctionDeclaration] = {}
        self.hosted: list[types.Tool] = []
        self.held: dict[str, Opt[bool]] = {}  # the path of each function, and whether its schema is enforced
        self.makes_images = False

    def finish(self, left: Json) -> list[types.Tool]:
        """The tools in the body's format, with those of its document that have no name in Responses."""
        lost = self.context.lost
        for tool in as_list(left.get("tools")):
            self.hosted += [found] if (found := restored(types.Tool, tool)) is not None else []
        report_names({path: or_none(function.name) for path, function in self.functions.items()}, lost)
        if self.hosted and self.functions and not self.context.model.mixes_tools:
            lost.refused("tools", "this model supports functions or hosted tools, not both")
        functions = [types.Tool(function_declarations=[*self.functions.values()])] if self.functions else []
        return [*functions, *self.hosted]

    def add(self, tool: ours.AnyTool, namespace: str | None, path: str) -> None:
        """Add a tool, at `path`."""
        lost, lacks = self.context.lost, self.context.dialect.lacks
        match tool:
            case ours.FunctionTool() | ours.CustomTool():
                self._function(tool, namespace, path)
            case _ if isinstance(tool, WebSearch):
                self.hosted.append(types.Tool(google_search=_search(tool, path, self.context)))
            case ours.CodeInterpreterTool():
                if tool.container is not None and tool.container != AUTO_CONTAINER:
                    lost.dropped(f"{path}.container", "code runs in a place of the vendor's own choice")
                self.hosted.append(types.Tool(code_execution={}))
            case ours.FileSearchTool(vector_store_ids=stores):
                if "fileSearch" in lacks or not all(name.startswith(STORE) for name in stores):
                    lost.refused(path, f"file search works on stores of the vendor here, named `{STORE}...`")
                    return
                report_missing(tool, WIRE, lost, dropped=("filters", "ranking_options"), path=path)
                most = or_unset(tool.max_num_results)
                self.hosted.append(types.Tool(file_search=types.FileSearch(file_search_store_names=stores, top_k=most)))
            case ours.McpTool() if "mcpServers" not in lacks:
                if not given(tool.server_url):
                    lost.refused(path, "an MCP server without a URL, which Gemini cannot reach")
                self.hosted.append(types.Tool(mcp_servers=[self._server(tool, path)]))
            case ours.ImageGenerationTool() if self.context.model.draws:
                self.makes_images = True
                report_missing(tool, WIRE, lost, dropped=tool.__struct_fields__, path=path)
            case ours.ImageGenerationTool():
                lost.refused(path, "this model draws no images; the ones with `image` in their name do")
            case Unknown() if tool.kind.startswith(GOOGLE):
                key = _key(tool.kind)
                found = restored(types.Tool, {key: {name: value for name, value in tool.items() if name != "type"}})
                if found is None or key in lacks:
                    lost.refused(path, f"the tool {tool.kind!r}, which this host does not support")
                else:
                    self.hosted.append(found)
            case _:
                refuse_tool(tool, path, WIRE, lost)

    def _function(self, tool: ours.FunctionTool | ours.CustomTool, namespace: str | None, path: str) -> None:
        lost, name = self.context.lost, wire_name(tool.name, namespace)
        report_missing(tool, WIRE, lost, dropped=DROPPED, path=path)
        report_name(name, tool, namespace, path, WIRE, lost)
        function = as_function(tool, path, lost)
        made = types.FunctionDeclaration(name=name, description=or_unset(function.description))
        self.functions[path] = made
        if function.parameters:
            made.parameters_json_schema = fitted(function.parameters, GEMINI, lost, f"{path}.parameters")
        if given(function.output_schema):
            made.response_json_schema = fitted(function.output_schema, GEMINI, lost, f"{path}.output_schema")
        if isinstance(tool, ours.FunctionTool):
            self.held[path] = or_unset(tool.strict)

    def _server(self, tool: ours.McpTool, path: str) -> types.McpServer:
        lost, allowed = self.context.lost, tool.allowed_tools
        if tool.require_approval != "never":
            lost.refused(f"{path}.require_approval", "Gemini has no approval of MCP calls; only `never` is possible")
        if isinstance(allowed, ours.McpToolFilter) or given(allowed):
            lost.refused(f"{path}.allowed_tools", "Gemini offers all tools of an MCP server, or none")
        left = ("server_description", "defer_loading", "allowed_callers", "connector_id")
        report_missing(tool, WIRE, lost, dropped=left, path=path)
        headers = dict(tool.headers) if given(tool.headers) else {}
        if given(tool.authorization):
            headers["Authorization"] = f"Bearer {tool.authorization}"
        transport = types.StreamableHttpTransport(url=or_unset(tool.server_url), headers=headers or UNSET)
        return types.McpServer(name=tool.server_label, streamable_http_transport=transport)


def _search(tool: WebSearch, path: str, context: Context) -> types.GoogleSearch:
    lost, search, filters = context.lost, types.GoogleSearch(), tool.filters
    if given(filters):
        report_unknown(filters, f"{path}.filters", lost)
    if tool.__struct_config__.tag != "web_search":
        lost.changed(f"{path}.type", "the vendor's search has one version")
    if given(filters) and given(filters.allowed_domains):
        lost.dropped(f"{path}.filters.allowed_domains", "the vendor's search cannot be limited to sites")
    if given(filters) and given(filters.blocked_domains):
        if "excludeDomains" in context.dialect.lacks:
            lost.dropped(f"{path}.filters.blocked_domains", "this host's search cannot leave sites out")
        else:
            search.exclude_domains = filters.blocked_domains
    if tool.external_web_access is False:
        lost.refused(f"{path}.external_web_access", "the vendor searches the live web only")
    report_missing(
        tool, WIRE, lost, dropped=("user_location", "search_context_size", "search_content_types"), path=path
    )
    return search


# --- the choice -----------------------------------------------------------------------------------------------------


def encode_choice(choice: Opt[ours.ToolChoice], offer: Offer, context: Context) -> types.Maybe[types.ToolConfig]:
    """The tool choice among the tools that were added."""
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


def _calling(choice: Opt[ours.ToolChoice], lost: Losses) -> types.FunctionCallingConfig:
    match choice:
        case str() if choice in MODES:
            return types.FunctionCallingConfig(mode=MODES[choice])
        case ours.ChooseFunction(name=name) | ours.ChooseCustom(name=name):
            if isinstance(choice, ours.ChooseCustom):
                lost.emulated("tool_choice", "a custom tool is chosen as a function")
            return types.FunctionCallingConfig(mode="ANY", allowed_function_names=[wire_name(name)])
        case ours.ChooseAllowed():
            return _allowed(choice, lost)
        case ours.ChooseMcp() | Unknown() | str():
            lost.dropped("tool_choice", "a choice Gemini does not have; the model chooses")
        case _:
            pass
    return types.FunctionCallingConfig()


def _allowed(choice: ours.ChooseAllowed, lost: Losses) -> types.FunctionCallingConfig:
    names = [wire_name(entry["name"]) for entry in allowed_tools(choice, lost)]
    if choice.mode and choice.mode not in ("auto", "required"):
        lost.changed("tool_choice.mode", f"{choice.mode!r}, which Gemini does not support; the model chooses")
    if choice.mode == "required" and len(names) == 1:
        lost.changed("tool_choice", "the one allowed function, requested by its name")
    if not names:
        lost.refused("tool_choice.tools", "none of the allowed tools can be named at Gemini")
    # Without enforced schemas the model cannot be restricted to some functions: only VALIDATED and ANY have names.
    mode = "ANY" if choice.mode == "required" else "VALIDATED"
    return types.FunctionCallingConfig(mode=mode, allowed_function_names=names)


def decode_choice(config: types.FunctionCallingConfig) -> ours.ToolChoice | None:
    """The tool choice in Responses."""
    mode = config.mode.upper() if given(config.mode) else "AUTO"
    names = config.allowed_function_names
    if mode in ("ANY", "VALIDATED") and names:
        if mode == "ANY" and len(names) == 1:
            return ours.ChooseFunction(name=names[0])
        tools = [{"type": "function", "name": name} for name in names]
        return ours.ChooseAllowed(mode="required" if mode == "ANY" else "auto", tools=tools)
    if mode == "VALIDATED" or config.mode is UNSET:
        return None
    return MODES_BACK.get(mode, "auto")


# --- this wire to Responses -----------------------------------------------------------------------------------------


def decode_tools(tools: Sequence[types.Tool], *, strict: bool) -> list[ours.AnyTool]:
    """The tools in Responses, functions first, as they are sent, without those that have no name there."""
    functions: list[ours.AnyTool] = []
    hosted: list[ours.AnyTool] = []
    for tool in tools:
        functions += [_decode_function(function, strict) for function in tool.function_declarations or ()]
    for _, _, decoded in _hosted(tools):
        hosted += decoded or ()
    return [*functions, *hosted]


def _hosted(tools: Sequence[types.Tool]) -> Iterator[tuple[str, Any, Sequence[ours.AnyTool] | None]]:
    """The hosted tools by their keys, each with what it is in Responses; `None` for nothing.

    Fields that Responses lacks are in the leftovers of the first tool of a kind; a second one that has some is no tool there.
    """
    seen: set[str] = set()
    for tool in tools:
        for key, value in _fields(tool):
            if key != "functionDeclarations":
                yield key, value, _decode_hosted(key, value, first=key not in seen)
                seen.add(key)


def _decode_function(function: types.FunctionDeclaration, strict: bool) -> ours.FunctionTool:
    found = ours.FunctionTool(name=function.name or "", description=or_none(function.description), strict=strict)
    parameters, response = cast("Any", function.parameters_json_schema), cast("Any", function.response_json_schema)
    if given(function.parameters):
        parameters = from_openapi(function.parameters)
    if given(function.response):
        response = from_openapi(function.response)
    if isinstance(parameters, dict):
        found.parameters = cast("ours.Schema", parameters)
    if isinstance(response, dict):
        found.output_schema = cast("ours.Schema", response)
    if function.behavior == "NON_BLOCKING":
        found.async_ = True
    return found


def _decode_hosted(key: str, value: Any, *, first: bool) -> Sequence[ours.AnyTool] | None:
    """The hosted tools under one key in Responses; `None` where it has no such tool."""
    match value:
        case types.GoogleSearch(exclude_domains=sites) if first or value == types.GoogleSearch(exclude_domains=sites):
            return [ours.WebSearchTool(filters=ours.SearchFilters(blocked_domains=sites) if given(sites) else None)]
        case types.FileSearch(file_search_store_names=[*stores], top_k=most) if first or value == types.FileSearch(
            file_search_store_names=stores, top_k=most
        ):
            return [ours.FileSearchTool(vector_store_ids=stores, max_num_results=or_none(most))]
        case {} if key == "codeExecution" and (first or not value):
            return [ours.CodeInterpreterTool(container=AUTO_CONTAINER.copy())]
        case [*servers] if key == "mcpServers":
            return [_decode_server(server) for server in cast("list[types.McpServer]", servers)]
        case {**fields} if "type" not in fields and _key(named := f"{GOOGLE}{_snake_case(key)}") == key:
            return [Unknown({"type": named, **cast("Json", fields)})]
        case _:
            return None


def _snake_case(key: str) -> str:
    return re.sub(r"[A-Z]", lambda found: f"_{found[0].lower()}", key)


def _key(kind: str) -> str:
    """The key of a tool of Google that is called `kind` in Responses."""
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), kind.removeprefix(GOOGLE))


def _decode_server(server: types.McpServer) -> ours.McpTool:
    transport = server.streamable_http_transport or types.StreamableHttpTransport()
    return ours.McpTool(
        server_label=server.name or "",
        server_url=or_none(transport.url),
        headers=or_none(transport.headers),
        require_approval="never",
    )


# --- leftovers of tools ---------------------------------------------------------------------------------------------


class Declared(types.Document, kw_only=True):
    """The declarations of tools by name, one by one."""

    function_declarations: list[types.FunctionDeclaration] = msgspec.field(
        default_factory=list[types.FunctionDeclaration]
    )
    mcp_servers: list[types.McpServer] = msgspec.field(default_factory=list[types.McpServer])
    google_search: types.Maybe[types.GoogleSearch] = UNSET
    file_search: types.Maybe[types.FileSearch] = UNSET
    code_execution: types.Maybe[Json] = UNSET


RULES = Rules(together=(("parameters", "parametersJsonSchema"), ("response", "responseJsonSchema")))

SINGLE = {"googleSearch": "google_search", "fileSearch": "file_search", "codeExecution": "code_execution"}
"""The hosted tools of which a request has one, with their attributes."""
TOOL_FIELDS = ("tools", "functionDeclarations", "mcpServers", *SINGLE)
"""Leftovers of a request that are about tools."""
BESIDE = "beside"
"""Key of the note on undeclared fields beside a tool, by the key of that tool."""
ARRANGED = "arranged"
"""Key of the note on the groups of tools in a document: for each group the keys, and how many there are of each."""


def _fields(tool: types.Tool) -> Iterator[tuple[str, Any]]:
    beside = _beside(tool)
    for theirs, our in zip(tool.__struct_encode_fields__, tool.__struct_fields__, strict=True):
        if given(value := getattr(tool, our)) and theirs not in beside:
            yield theirs, value


def _beside(tool: types.Tool) -> Json:
    """The undeclared fields beside a tool that are no objects, and thus no tools."""
    unknown = extras(tool)
    others = {name: value for name, value in unknown.items() if not isinstance(value, dict)}
    named = len(unknown) > len(others) or any(getattr(tool, name) is not UNSET for name in base(tool).__struct_fields__)
    return others if named else {}


def _declared(tools: Sequence[types.Tool]) -> Declared:
    return Declared(
        function_declarations=[function for tool in tools for function in tool.function_declarations or ()],
        mcp_servers=[server for tool in tools for server in tool.mcp_servers or ()],
        **{
            name: next((value for tool in tools if given(value := getattr(tool, name))), UNSET)
            for name in SINGLE.values()
        },
    )


def _arrangement(tools: Sequence[types.Tool]) -> list[Any]:
    return [
        [[key, len(value) if key in LISTS else 1] for key, value in _fields(tool)]  # pyright: ignore[reportUnknownArgumentType]
        for tool in tools
    ]


LISTS = ("functionDeclarations", "mcpServers")
"""Keys of tools that hold several."""


def unnamed_tools(tools: Sequence[types.Tool]) -> list[Json]:
    """The tools that have no name in Responses."""
    return [{key: as_plain(value)} for key, value, decoded in _hosted(tools) if decoded is None]


def keep_tools(original: types.Maybe[list[types.Tool]], made: Sequence[types.Tool]) -> Json:
    """The fields of a document's tools that our encoding lacks."""
    theirs, our = _declared(original or ()), _declared(made)
    if len(theirs.mcp_servers) != len(our.mcp_servers):
        theirs.mcp_servers = our.mcp_servers  # which hold secrets
    left: Json = diff(theirs, our, RULES)
    if others := unnamed_tools(original or ()):
        left["tools"] = others
    if original == [] or _arrangement(original or ()) != _arrangement(made):
        left[SPELLING] = {**left.get(SPELLING, {}), ARRANGED: {"as": _arrangement(original or ())}}
    for i, tool in enumerate(original or ()):
        if beside := _beside(tool):
            notes = left.setdefault(SPELLING, {})
            notes.setdefault(BESIDE, {}).setdefault(next(_fields(tool))[0], beside)
            notes[NEAR] = {**notes.get(NEAR, {}), **{f"tools[{i}].{name}": None for name in beside}}
    return left


def patch_tools(tools: types.Maybe[list[types.Tool]], left: Json) -> types.Maybe[list[types.Tool]]:
    """The tools with their document's leftovers restored, in the same groups if they are the same tools."""
    found, notes = list(tools or ()), as_object(left.get(SPELLING))
    if not left.keys().isdisjoint(TOOL_FIELDS):
        names = (*LISTS, *SINGLE, SPELLING)
        declared = patch(_declared(found), {name: left[name] for name in names if name in left})
        for name in SINGLE.values():
            i = next((i for i, tool in enumerate(found) if given(getattr(tool, name))), None)
            if i is not None:
                found[i] = types.Tool(**{name: getattr(declared, name)})
        servers = iter(declared.mcp_servers)
        found = [types.Tool(mcp_servers=[next(servers)]) if tool.mcp_servers else tool for tool in found]
        if declared.function_declarations:
            found[0] = types.Tool(function_declarations=declared.function_declarations)
    groups = as_object(notes.get(ARRANGED)).get("as")
    found = _arrange(found, groups)
    for key, others in as_object(notes.get(BESIDE)).items():
        i = next((i for i, tool in enumerate(found) if any(key == each for each, _ in _fields(tool))), None)
        if i is not None:
            found[i] = merged(found[i], as_object(others)) or found[i]
    return found if found or groups == [] else UNSET


def _arrange(tools: list[types.Tool], groups: Any) -> list[types.Tool]:
    """The tools in these groups; unchanged if these are not the same tools."""
    pools: dict[str, deque[Any]] = {}
    for tool in tools:
        for key, value in _fields(tool):
            pools.setdefault(key, deque()).extend(value if key in LISTS else [value])
    made: list[types.Tool] = []
    for group in as_list(groups):
        values: Json = {}
        for key, count in (pair for pair in as_list(group) if len(as_list(pair)) == 2):
            pool = pools.get(str(key), deque())
            if type(count) is not int or not 0 <= count <= len(pool):
                return tools
            found_values = [pool.popleft() for _ in range(count)]
            values[str(key)] = found_values if key in LISTS else found_values[0] if found_values else {}
        if (found := restored(types.Tool, values)) is None:
            return tools
        made.append(found)
    return tools if any(pools.values()) or groups is None else made


# --- calls ----------------------------------------------------------------------------------------------------------

Output = ours.FunctionCallOutput | ours.CustomToolCallOutput


def encode_call(item: Call, path: str, lost: Losses) -> types.Part:
    """The part of a call, without its signature."""
    found = Losses() if item.leftovers else lost
    text = item.arguments if isinstance(item, ours.FunctionCall) else call_arguments(item, path, lost)
    args = object_arguments(text, path, found)
    call = types.FunctionCall(id=item.call_id, name=wire_name(item.name, item.namespace or ""), args=args)
    if item.namespace or item.caller or item.async_:
        report_unsaid(item, path, lost)
    if call.name != item.name and call.name != qualified(item.name, item.namespace):
        found.changed(f"{path}.name", f"a name that Gemini does not support, sent as {call.name}")
    part = types.Part(function_call=call)
    if item.leftovers is None and type(item) is ours.FunctionCall:
        return part
    if left := own_leftovers(item, WIRE, path, lost):
        part = patch(part, left)
    if found and found is not lost:  # which is no loss if the document had the same
        written = part.function_call or types.FunctionCall()
        our = {f"{path}.name": written.name == call.name, f"{path}.arguments": written.args == call.args}
        lost += [loss for loss in found if our[loss.path]]
    return part


def decode_call(part: types.Part, call: types.FunctionCall, id: str) -> ours.FunctionCall:
    """The call in a part, with this id."""
    arguments = "{}" if call.args is UNSET else text_of(call.args)
    item = ours.FunctionCall(call_id=id, name=call.name or "", arguments=arguments)
    signature = part.thought_signature
    usual = call.id and call.name and call.args and call.partial_args is call.will_continue is UNSET
    plain = types.Part(function_call=call, thought_signature=signature)
    # In nearly every answer `diff` finds nothing.
    if not usual or type(call) is not types.FunctionCall or signature == "" or part != plain:
        made = encode_call(item, "", Losses())
        if left := diff(part, made, SIGNED if signature else MEDIA):
            item.leftovers = {WIRE: left}
    return item


# --- streamed calls -------------------------------------------------------------------------------------------------

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[['\"]([^'\"]*)['\"]\]")
_DEEPEST = 100


class PartialCall:
    """A call with streamed arguments: `feed` it, then read `part`.

    The first chunk names the function, the next ones give values, those of texts in fragments, and an empty call ends it.
    """

    def __init__(self) -> None:
        self._part = types.Part()
        self._call = types.FunctionCall()
        self._args: dict[str, Any] = {}
        self._texts: dict[str, list[str]] = {}

    def feed(self, part: types.Part, call: types.FunctionCall) -> bool:
        """Add the next piece, the call in a part; true if it was the last."""
        self._call = merge(self._call, call)
        if part != types.Part(function_call=call):
            self._part = merge(self._part, part)
        for piece in call.partial_args or ():
            path = piece.json_path or "$"
            if given(piece.string_value):
                self._texts.setdefault(path, []).append(piece.string_value)
                if not piece.will_continue:
                    self._set(path, "".join(self._texts.pop(path)))
            else:
                self._set(path, next((v for v in (piece.number_value, piece.bool_value) if given(v)), None))
        return not call.will_continue

    def part(self) -> types.Part:
        """The part of the whole call, as if it were not streamed."""
        for path, pieces in self._texts.items():
            self._set(path, "".join(pieces))
        args_sent = self._call.args
        args = Raw(encode(self._args)) if self._args or args_sent is UNSET else args_sent
        whole = replace(self._call, args=args, partial_args=UNSET, will_continue=UNSET)
        return replace(self._part, function_call=whole)

    def _set(self, path: str, value: Any) -> None:
        steps = [int(index) if index else name or quoted for name, index, quoted in _STEP.findall(path)][:_DEEPEST]
        if steps and isinstance(steps[0], str):
            _put(self._args, steps, value)


def _put(place: Any, steps: list[str | int], value: Any) -> None:
    """Set a value at the path of `steps`, making objects and lists on the way."""
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        new: Any = value if following is None else [] if isinstance(following, int) else {}
        kind = list if isinstance(step, int) else dict
        if type(place) is not kind:
            return
        there = cast("Any", place)
        if isinstance(step, int) and step >= len(there):
            step = len(there)
            there.append(new)
        elif following is None or type(there[step] if kind is list else there.get(step)) is not type(new):
            there[step] = new
        place = there[step]
