"""What the model may call, both ways: functions in one list, the vendor's tools each under its own key, and the choice.

A tool of the vendor that Responses has no name for can be asked for by a kind that begins with `google:`, such as
`{"type": "google:url_context"}`, with the fields of this wire; one that a document lists is kept in leftovers. Before changing
this file, know that the vendor caches tools first, so the same tools must give the same bytes, and that the headers of an MCP
server are secrets, which stand on its tool and nowhere else. Follows the references of `Tool` and `ToolConfig` and Google's pages
on each (read 2026-11-20).
"""

# DOC JSON Schemas as this wire takes them, and the vendor's older dialect as JSON Schema.
# DOC
# DOC What the vendor knows is sent as it is, a few spellings are rewritten, and what it does not know is told to the model in the
# DOC description instead; every change is a loss at its place. The caller's schema is never touched, and the same schema gives the
# DOC same bytes, since tools are part of what the vendor caches. Before changing this file, know that recorded requests show which
# DOC keywords are accepted: those the vendor does not enforce are among them. Follows Google's guide to structured output and the
# DOC references of `Schema` and `responseJsonSchema` (read 2026-11-20).

# DOC Functions that the model calls and what they gave, both ways, and the names they have on this wire.
# DOC
# DOC Arguments and outputs are objects here: a text goes out as `{"output": text}`, a failure as `{"error": text}`, and any other
# DOC object comes back as its JSON text. Before changing this file, know that names must be the same every time, since histories
# DOC already sent hold them, and that an output finds its call by id, else by name, else by order. Follows Google's guide to function
# DOC calling and the references of `FunctionDeclaration` and `FunctionResponse` (read 2026-11-20); of the two lengths of names given
# DOC there the shorter one holds everywhere.

from __future__ import annotations

import re
from collections import Counter, deque
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import replace

from ...losses import no_such
from ...responses.items import CustomToolCall, CustomToolCallOutput, Direct, FunctionCall, FunctionCallOutput
from ...responses.leftovers import own
from ...responses.parts import InputText
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
from .._renamed import fitted_name
from . import types
from .content import decode_parts, encode_parts
from .reasoning import (
    document_fields,
    encode,
    inner,
    left,
    merged,
    own_fields,
    plain,
    rest,
    restored,
    spelling,
    stated,
    text_of,
    unsaid,
    unsay,
)
from .types import WIRE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ...losses import Losses
    from ...responses.parts import ContentPart
    from ...responses.tools import AnyTool, Schema
    from ...unknown import Opt
    from .content import Context

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


KEPT = frozenset(
    """
    $id $ref $anchor type format title description default items minItems maxItems minimum maximum required
    additionalProperties propertyOrdering pattern minLength maxLength minProperties maxProperties uniqueItems
    """.split()
)
"""Keywords the vendor accepts; the last six it does not enforce."""

SCHEMAS = frozenset({"items", "additionalProperties"})
SCHEMA_LISTS = frozenset({"anyOf", "oneOf", "prefixItems"})
SCHEMAS_BY_NAME = {"properties": "properties", "$defs": "$defs", "definitions": "$defs"}
"""Keywords whose values hold schemas: one, a list, or one for each name (ours on the left)."""

BESIDE = frozenset({"$ref", "$defs", "$id", "$anchor", "title"})
"""Keywords that may stand in one schema with a reference."""

SILENT = frozenset(
    {"$schema", "$comment", "examples", "discriminator", "readOnly", "writeOnly", "deprecated", "strict"}
)
"""Keywords that nothing has to obey."""

MAX_DEPTH = 200

_encode = msgspec.json.Encoder(order="deterministic").encode


def fitted(schema: Schema, lost: Losses, path: str) -> Schema:
    """`schema`, which stands at `path`, as this wire takes it; the same object where nothing has to change."""
    return schema if _fits(schema) else _Fitting(lost).schema(schema, path, 0)


def _fits(schema: Schema) -> bool:
    """Whether there is nothing to change in a schema, which is so for nearly every one."""
    waiting: list[Any] = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, bool):
            continue
        if not isinstance(node, dict):
            return False
        for name, value in cast("Schema", node).items():
            if name in SCHEMAS and isinstance(value, dict):
                waiting.append(value)
            elif name in ("properties", "$defs") and isinstance(value, dict):
                waiting += cast("Schema", value).values()
            elif name in SCHEMA_LISTS and isinstance(value, list):
                waiting += cast("Any", value)
            elif name == "$ref":
                if not (node.keys() <= BESIDE and _is_place(value)):
                    return False
            elif (name == "items" and isinstance(value, list)) or (
                name not in KEPT and not (name == "enum" and _is_enum(value))
            ):
                return False
    return True


def _is_place(reference: Any) -> bool:
    return reference == "#" or (isinstance(reference, str) and reference.startswith("#/$defs/"))


def _is_enum(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_listed, cast("Any", value)))


def _is_listed(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


class _Fitting:
    """One pass over a schema."""

    def __init__(self, lost: Losses) -> None:
        self.lost = lost

    def any(self, value: Any, path: str, depth: int) -> Any:
        """What stands where a schema may stand: a schema, or true and false."""
        return self.schema(cast("Schema", value), path, depth + 1) if isinstance(value, dict) else value

    def schema(self, schema: Schema, path: str, depth: int) -> Schema:
        if depth > MAX_DEPTH:
            self.lost.refused(path, f"a schema nested deeper than {MAX_DEPTH} levels")
            return {}
        if "$ref" in schema:
            return self.reference(schema, path, depth)
        fit: Schema = {}
        told: list[str] = []
        for name, value in schema.items():
            here = f"{path}.{name}"
            if name in SCHEMAS and isinstance(value, dict):
                fit[name] = self.any(value, here, depth)
            elif name in SCHEMAS_BY_NAME and isinstance(value, dict):
                self.named(name, cast("Schema", value), fit, here, depth)
            elif (name in SCHEMA_LISTS or name == "items") and isinstance(value, list):
                theirs = "prefixItems" if name == "items" else name
                if theirs != name:
                    self.lost.changed(here, "a schema for each of the first entries is spelled prefixItems")
                fit[theirs] = [self.any(one, f"{here}[{i}]", depth) for i, one in enumerate(cast("Any", value))]
            elif name in KEPT or (name == "enum" and _is_enum(value)):
                fit[name] = value
            elif name == "const" and _is_listed(value):
                fit["enum"] = [value]
                self.lost.changed(here, "a constant is sent as an enum of one")
            elif name == "allOf" and isinstance(value, list):
                self.all_of(cast("Any", value), fit, here, depth)
            elif name in ("exclusiveMinimum", "exclusiveMaximum") and type(value) is int and _counts(schema):
                step = 1 if name == "exclusiveMinimum" else -1
                fit["minimum" if step > 0 else "maximum"] = value + step
                self.lost.changed(here, "an open bound of whole numbers is sent as the closed one beside it")
            elif name in SILENT:
                self.lost.dropped(here, "a keyword Gemini does not know and nothing has to obey")
            else:
                told.append(f"{name}: {_encode(value).decode()}")
                self.lost.changed(here, "not enforced at Gemini; told in the description instead")
        if told:
            said = fit.get("description") or ""
            before = said if isinstance(said, str) else _encode(said).decode()
            fit["description"] = "\n\n".join(filter(None, (before, f"({', '.join(told)})")))
        return fit

    def named(self, name: str, schemas: Schema, fit: Schema, path: str, depth: int) -> None:
        theirs = SCHEMAS_BY_NAME[name]
        if theirs != name:
            self.lost.changed(path, f"{name} is spelled {theirs} at Gemini")
        there: Schema = fit.get(theirs, {})
        fit[theirs] = there | {key: self.any(one, f"{path}.{key}", depth) for key, one in schemas.items()}

    def all_of(self, schemas: list[Any], fit: Schema, path: str, depth: int) -> None:
        """What all of several schemas ask for, in one; where two say different things, the later one counts."""
        self.lost.changed(path, "allOf is sent as one schema with everything in it")
        for i, one in enumerate(schemas):
            found: Schema = self.any(one, f"{path}[{i}]", depth) if isinstance(one, dict) else {}
            if "$ref" in found and (fit or len(schemas) > 1):
                self.lost.refused(f"{path}[{i}]", "a reference in allOf beside other schemas")
            for name, value in found.items():
                there = fit.get(name)
                if isinstance(there, dict) and isinstance(value, dict):
                    fit[name] = {**cast("Schema", there), **cast("Schema", value)}
                elif name == "required" and isinstance(there, list) and isinstance(value, list):
                    fit[name] = [*cast("Any", there), *(one for one in cast("Any", value) if one not in there)]
                else:
                    fit[name] = value

    def reference(self, schema: Schema, path: str, depth: int) -> Schema:
        target = schema["$ref"]
        if isinstance(target, str) and target.startswith("#/definitions/"):
            target = f"#/$defs/{target[14:]}"
            self.lost.changed(f"{path}.$ref", "definitions is spelled $defs at Gemini")
        elif not _is_place(target):
            self.lost.refused(f"{path}.$ref", "a reference out of the definitions of the schema")
        fit: Schema = {"$ref": target}
        for name, value in schema.items():
            if name in ("$defs", "definitions") and isinstance(value, dict):
                self.named(name, cast("Schema", value), fit, f"{path}.{name}", depth)
            elif name in BESIDE:
                fit.setdefault(name, value)
            else:
                self.lost.dropped(f"{path}.{name}", "nothing stands beside a reference at Gemini")
        return fit


def _counts(schema: Schema) -> bool:
    return schema.get("type") == "integer" or schema.get("type") == ["integer", "null"]


# --- the vendor's older dialect -------------------------------------------------------------------------------------

TYPES = ("TYPE_UNSPECIFIED", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")
"""Types by their numbers."""

_CAMEL = {
    "any_of": "anyOf",
    "property_ordering": "propertyOrdering",
    "additional_properties": "additionalProperties",
    **{f"{end}_{what}": f"{end}{what.title()}" for end in ("min", "max") for what in ("items", "length", "properties")},
}
_WHOLE = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"})
_OURS = {"defs": "$defs", "ref": "$ref", "example": "examples"}


def from_openapi(schema: Schema, depth: int = 0) -> Schema:
    """A schema of `parameters` or `responseSchema` as JSON Schema."""
    if depth > MAX_DEPTH:
        return {}
    found: Schema = {}
    for spelled, value in schema.items():
        name = _CAMEL.get(spelled, spelled)
        if name in SCHEMAS and isinstance(value, dict):
            value = from_openapi(cast("Schema", value), depth + 1)
        elif name in ("properties", "defs") and isinstance(value, dict):
            value = {key: _inner(one, depth) for key, one in cast("Schema", value).items()}
        elif name == "anyOf" and isinstance(value, list):
            value = [_inner(one, depth) for one in cast("Any", value)]
        elif name == "type":
            value = _type(value)
        elif name == "ref" and isinstance(value, str):
            value = value.replace("#/defs/", "#/$defs/", 1)
        elif name == "example":
            value = [value]
        elif name in _WHOLE and isinstance(value, str) and value.isdecimal() and len(value) < 20:
            value = int(value)
        if name != "nullable":
            found[_OURS.get(name, name)] = value
    if found.get("type") in ("integer", "number") and isinstance(found.get("enum"), list):
        # The older dialect spells every enum as text.
        found["enum"] = [_number(one) for one in found["enum"]]
    if schema.get("nullable") is True:
        _or_null(found)
    return found


def _inner(value: Any, depth: int) -> Any:
    return from_openapi(cast("Schema", value), depth + 1) if isinstance(value, dict) else value


def _type(value: Any) -> Any:
    if type(value) is int and 0 <= value < len(TYPES):
        value = TYPES[value]
    return value.lower() if isinstance(value, str) else value


def _number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return int(value) if value.lstrip("-").isdecimal() and len(value) < 20 else float(value)
    except ValueError:
        return value


def _or_null(schema: Schema) -> None:
    if isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
    elif isinstance(schema.get("anyOf"), list):
        schema["anyOf"] = [*schema["anyOf"], {"type": "null"}]
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]


Call = FunctionCall | CustomToolCall
Output = FunctionCallOutput | CustomToolCallOutput

_CALL = ("id", "name", "args")
_RESPONSE = ("id", "name", "response")

_json = msgspec.json.Decoder(Raw)
_object = msgspec.json.Decoder(dict[str, Raw])

# --- names ----------------------------------------------------------------------------------------------------------

_legal = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}").fullmatch
_illegal = re.compile(r"[^A-Za-z0-9_.:-]")


@lru_cache(maxsize=1024)
def wire_name(name: str, namespace: str = "") -> str:
    """A tool's name as this wire takes it, never the same for two; tools of a namespace are called `namespace__name`."""
    return fitted_name(f"{namespace}__{name}" if namespace else name, _legal, _illegal)


class Named(NamedTuple):
    """What a tool is called in Responses."""

    name: str
    namespace: str
    custom: bool


def renamed(tools: Iterable[AnyTool]) -> dict[str, Named]:
    """The tools whose calls come back under another name, or as functions although they are custom tools."""
    found: dict[str, Named] = {}
    for tool in tools:
        space = tool.name if isinstance(tool, NamespaceTool) else ""
        for one in tool.tools if isinstance(tool, NamespaceTool) else (tool,):
            if isinstance(one, FunctionTool | CustomTool):
                custom, wire = isinstance(one, CustomTool), wire_name(one.name, space)
                if custom or wire != one.name:
                    found[wire] = Named(one.name, space, custom)
    return found


# --- calls ----------------------------------------------------------------------------------------------------------


def encode_call(item: Call, path: str, context: Context) -> types.Part:
    """The part of a call, without its signature."""
    lost = context.lost
    call = types.FunctionCall(id=item.call_id, name=wire_name(item.name, item.namespace or ""))
    if isinstance(item, CustomToolCall):
        lost.emulated(path, "a custom tool's call is sent as a function's")
        call.args = Raw(encode({"input": item.input}))
    else:
        value = _value(item.arguments) if item.arguments.strip() else Raw(b"{}")
        if value is None or bytes(value)[:1] != b"{":
            lost.changed(f"{path}.arguments", "arguments that are no JSON object, sent as the text of one")
            value = Raw(encode({"arguments": item.arguments}))
        call.args = value
    if given(item.caller) and not isinstance(item.caller, Direct):
        lost.dropped(f"{path}.caller", "which program made the call")
    if item.async_:
        lost.dropped(f"{path}.async", "that the call runs in the background")
    kept = own_fields(item.leftovers, path, lost)
    if spelled := spelling(kept):
        args = () if bytes(call.args) != b"{}" else ("args",)
        unsay(call, ("id", *args, *(() if item.name else ("name",))), spelled)
    if call.name and call.name != item.name:
        lost.changed(f"{path}.name", f"a name Gemini does not take, sent as {call.name}")
    return merged(types.Part(function_call=call), document_fields(kept), path, lost)


def _value(text: str) -> Raw | None:
    try:
        return _json.decode(text.strip().encode("utf-8", "replace"))
    except msgspec.MsgspecError:
        return None


def decode_call(part: types.Part, call: types.FunctionCall, origin: str) -> FunctionCall:
    """The call in a part; `origin` is its id where it came without one."""
    item = FunctionCall(
        call_id=call.id or origin,
        name=call.name or "",
        arguments="{}" if call.args is UNSET else text_of(call.args),
    )
    if not (call.id and call.name and call.args) or _says_more(part, call):
        fields = rest(part, ("functionCall", "thoughtSignature") if part.thought_signature else ("functionCall",))
        more = rest(call, _CALL)
        item.leftovers = left({**fields, "functionCall": more} if more else fields, unsaid(call, _CALL))
    return item


def _says_more(part: types.Part, call: types.FunctionCall) -> bool:
    declared = type(part) is types.Part and type(call) is types.FunctionCall
    plain = declared and call.partial_args is call.will_continue is part.thought is part.part_metadata is UNSET
    return not plain or part.thought_signature == ""


def called_as(call: FunctionCall, named: Mapping[str, Named]) -> Call:
    """The call under the name, and of the kind, that its tool has in the request."""
    tool = named.get(call.name)
    if tool is None:
        return call
    call.name = tool.name
    if tool.namespace:
        call.namespace = tool.namespace
    if not tool.custom:
        return call
    return CustomToolCall(
        id=call.id,
        call_id=call.call_id,
        name=tool.name,
        namespace=call.namespace,
        input=_free_text(call.arguments),
        status=call.status,
        leftovers=call.leftovers,
    )


def _free_text(arguments: str) -> str:
    """The text of a custom tool's call, which went out as `{"input": "..."}`."""
    try:
        found: Any = msgspec.json.decode(arguments)
    except msgspec.MsgspecError:
        return arguments
    match found:
        case {"input": str(text), **others} if not others:
            return text
        case _:
            return arguments


# --- outputs --------------------------------------------------------------------------------------------------------


def encode_output(item: Output, call: Call | None, path: str, context: Context) -> tuple[types.Part, list[types.Part]]:
    """The part with the output of `call`, and the media that have to stand beside it."""
    lost = context.lost
    report_unknown(item, path, lost)
    kept = own_fields(item.leftovers, path, lost)
    name = wire_name(call.name, call.namespace or "") if call else item.call_id or ""
    if isinstance(item, CustomToolCallOutput):
        lost.emulated(path, "a custom tool's output is sent as a function's")
    if given(item.caller) and not isinstance(item.caller, Direct):
        lost.dropped(f"{path}.caller", "which program made the call")
    text, inside, beside = _content(item, path, context)
    if text is None and item.is_error:
        lost.changed(f"{path}.output", "an error is told in words, of which there are none")
        text = ""
    spelled = spelling(kept)
    response = Raw(b"{}") if text is None else _object_of(text, spelled.get("response"), item.is_error)
    encoded = types.FunctionResponse(id=item.call_id or "", name=name, response=response, parts=inside or UNSET)
    if call:
        unsay(encoded, ("id", "name"), spelling(own(call.leftovers, WIRE)))
    unsay(encoded, _RESPONSE if text is None else ("id", "name"), spelled)
    if isinstance(item, FunctionCallOutput) and given(item.name):
        encoded.name = item.name
    return merged(types.Part(function_response=encoded), document_fields(kept), path, lost), beside


def _content(item: Output, path: str, context: Context) -> tuple[str | None, list[types.Part], list[types.Part]]:
    """The text of an output (`None` where it has none), its media inside, and its media beside."""
    if isinstance(item.output, str):
        return item.output, [], []
    lost = context.lost
    texts: list[str] = []
    inside: list[types.Part] = []
    beside: list[types.Part] = []
    for j, ours in enumerate(item.output):
        for part in encode_parts([ours], f"{path}.output", context, j):
            media = part.inline_data or part.file_data
            if given(part.text):
                texts.append(part.text)
            elif isinstance(ours, InputText):
                inside.append(part)  # which came as a part of an output, and says nothing we know
            elif media and media.mime_type in context.model.media_in_outputs:
                if given(part.media_resolution):
                    lost.dropped(f"{path}.output", "how closely a function's image is looked at")
                    part = replace(part, media_resolution=UNSET)
                inside.append(part)
            else:
                lost.changed(f"{path}.output", "media that cannot stand in an output here, sent beside it")
                beside.append(part)
    if len(texts) > 1:
        lost.changed(f"{path}.output", "texts of an output, sent as one")
    said = texts or beside or (item.output and not inside)
    return "\n".join(texts) if said else None, inside, beside


def _object_of(text: str, form: Any, failed: Any) -> Raw:
    """`response`: in the form it had, where the text still fits it, else the text under its usual key."""
    key = "error" if failed else "output"
    value = _value(text) if form in ("whole", "value") else None
    if value is not None and form == "value":
        return Raw(encode({key: value}))
    return value if value is not None and bytes(value)[:1] == b"{" else Raw(encode({key: text}))


class Asked:
    """Calls that wait for their outputs, in their order."""

    def __init__(self) -> None:
        self._open: dict[int, FunctionCall] = {}
        self._ids: dict[str, deque[int]] = {}
        self._names: dict[str, deque[int]] = {}
        self._count = 0
        self._next = 0

    def add(self, call: FunctionCall) -> None:
        """Wait for the output of one more call."""
        number, self._count = self._count, self._count + 1
        self._open[number] = call
        self._ids.setdefault(call.call_id, deque()).append(number)
        self._names.setdefault(call.name, deque()).append(number)

    def take(self, response: types.FunctionResponse) -> FunctionCall | None:
        """The call that an output answers, which then waits no longer: the one with its id, else of its name, else the next."""
        if response.id:
            return self._first(self._ids.get(response.id))
        found = self._first(self._names.get(response.name or ""))
        if found is None and self._open:
            while self._next not in self._open:
                self._next += 1
            found = self._open.pop(self._next)
        return found

    def _first(self, numbers: deque[int] | None) -> FunctionCall | None:
        while numbers:
            found = self._open.pop(numbers.popleft(), None)
            if found is not None:
                return found
        return None


def decode_output(
    part: types.Part, response: types.FunctionResponse, asked: Asked, fallback: str
) -> FunctionCallOutput:
    """The output in a part, for the call among those `asked` that it answers."""
    found = asked.take(response)
    item = FunctionCallOutput(call_id=found.call_id if found else response.id or fallback, output="")
    spelled = unsaid(response, _RESPONSE)
    if response.name and response.name != (found.name if found else item.call_id):
        item.name = response.name
    text = _text_of(item, response, spelled)
    item.output = [] if text is None else text
    if response.parts:
        texts: list[ContentPart] = [] if text is None else [InputText(text=text)]
        item.output = [*texts, *decode_parts(response.parts)]
    fields = rest(part, ("functionResponse",))
    more = rest(response, (*_RESPONSE, "parts"))
    item.leftovers = left({**fields, "functionResponse": more} if more else fields, spelled)
    return item


def _text_of(item: FunctionCallOutput, response: types.FunctionResponse, spelled: types.Json) -> str | None:
    """The text in `response`, and how it stands there; `None` where it says nothing."""
    if response.response is UNSET:
        return None
    try:
        found = _object.decode(response.response)
    except (msgspec.MsgspecError, UnicodeError):
        spelled["response"] = "whole"
        return text_of(response.response)
    match [*found]:
        case []:
            return None
        case ["output" | "error" as key]:
            item.is_error = key == "error" or item.is_error
            if bytes(found[key])[:1] == b'"':
                return str(msgspec.json.decode(found[key]))
            spelled["response"] = "value"
            return text_of(found[key])
        case _:
            spelled["response"] = "whole"
            return text_of(response.response)
