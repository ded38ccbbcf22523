"""Tools and calls, both ways: functions and their schemas, calls and results, tools the vendor runs, the choice among them.

Before changing this file, know that tools come first in what the vendor caches and binds thinking to: the same request gives
the same list in the same order; that arguments are checked, never taken apart; that `fingerprint` ties a carrier to the visible
items of a run; and that an MCP server's token stands in `authorization` and nowhere else. Follows Anthropic's pages on tool
use, structured outputs and the hosted tools (read 2026-11-20).
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, cast

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import replace

from ... import responses as ours
from ...errors import DecodeError
from ...losses import Losses, no_such, not_in, not_taken
from ...responses import Schema
from ...responses.carriers import digest
from ...responses.leftovers import NEAR, SPELLING, unsaid
from ...unknown import Decoder, Opt, Unknown, extras, given, or_none, or_unset
from ...vendors.dialects import MessagesModel
from .._left import copies, report_unknown
from .._renamed import wire_name
from . import types
from .content import (
    DEFAULT,
    Context,
    beyond,
    blocks_of,
    encode,
    kind_of,
    kinds,
    left,
    merged,
    own_fields,
    part_of,
    plain,
    rest,
    returned,
)

FORMATS = frozenset("date-time time date duration email hostname uri ipv4 ipv6 uuid".split())
KEPT = frozenset({"type", "title", "description", "required", "default"})
DEFINITIONS = ("$defs", "definitions")
MAX_DEPTH = 64

_beyond_regex = re.compile(r"\(\?(?:[=!]|<[=!])|\\[1-9bB]").search
_encode = msgspec.json.Encoder(order="deterministic").encode


def fitted(schema: Schema, lost: Losses, path: str) -> Schema:
    """`schema`, which stands at `path`, as this wire can enforce it."""
    if _recursive(schema):
        lost.refused(path, "a schema that refers to itself, which Anthropic cannot enforce")
    return _fit(schema, lost, path, 0)


def _fit(schema: Schema, lost: Losses, path: str, depth: int) -> Schema:
    if depth > MAX_DEPTH:
        lost.refused(path, f"a schema nested deeper than {MAX_DEPTH} levels")
        return {}
    refers = "$ref" in schema
    fit: Schema = {}
    told: list[str] = []
    for name, value in schema.items():
        here = f"{path}.{name}"
        if name in KEPT and not refers:
            fit[name] = value
        elif name == "$ref":
            fit = {"$ref": value, **fit}
            if not isinstance(value, str) or not value.startswith("#"):
                lost.refused(here, "a reference out of the schema")
        elif isinstance(value, dict) and (name in DEFINITIONS or (name == "properties" and not refers)):
            named = cast("Schema", value).items()
            fit[name] = {key: _fit_any(one, lost, f"{here}.{key}", depth) for key, one in named}
        elif refers:
            lost.dropped(here, "nothing stands beside a reference at Anthropic")
        elif _allowed(name, value):
            fit[name] = value
        elif name == "items" and isinstance(value, dict):
            fit[name] = _fit_any(value, lost, here, depth)
        elif name in ("anyOf", "oneOf", "allOf") and isinstance(value, list):
            fit |= _choices(name, cast("Any", value), here, lost, depth)
        elif name != "additionalProperties":
            told.append(f"{name}: {_encode(value).decode()}")
            lost.changed(here, "not enforced at Anthropic; told in the description instead")
    if refers:
        return fit
    if _open_places(schema) > 1:
        lost.refused(path, "an object described in several places, each of which Anthropic closes for the others")
    _close(schema, fit, path, lost)
    if told:
        said = fit.get("description") or ""
        before = said if isinstance(said, str) else _encode(said).decode()
        fit["description"] = "\n\n".join(filter(None, (before, f"({', '.join(told)})")))
    return fit


def _fit_any(value: Any, lost: Losses, path: str, depth: int) -> Any:
    """What stands where a schema may stand: a schema, or true and false."""
    return _fit(cast("Schema", value), lost, path, depth + 1) if isinstance(value, dict) else value


def _choices(name: str, arms: list[Any], path: str, lost: Losses, depth: int) -> Schema:
    choices = [_fit_any(one, lost, f"{path}[{i}]", depth) for i, one in enumerate(arms)]
    if name == "oneOf":
        lost.changed(path, "oneOf is sent as anyOf: more than one may fit")
        return {"anyOf": choices}
    if name == "allOf" and any("$ref" in one for one in choices if isinstance(one, dict)):
        if len(choices) == 1:
            lost.changed(path, "allOf of one reference is sent as the reference")
            return cast("Schema", choices[0])
        lost.refused(path, "allOf with references, which Anthropic cannot enforce")
    return {name: choices}


def _close(schema: Schema, fit: Schema, path: str, lost: Losses) -> None:
    """An object takes exactly the properties it lists."""
    kind, path = schema.get("type"), f"{path}.additionalProperties"
    listed = isinstance(schema.get("properties"), dict)
    if kind != "object" and not listed and not (isinstance(kind, list) and "object" in kind):
        if "additionalProperties" in schema:
            lost.changed(path, "not enforced at Anthropic")
        return
    fit["additionalProperties"] = False
    more = schema.get("additionalProperties")
    if isinstance(more, dict) or (more is not False and not schema.get("properties")):
        lost.refused(path, "an object with properties of any name, which Anthropic cannot enforce")
    elif more is not False:
        lost.changed(path, "an object takes only the properties it lists at Anthropic")


def _open_places(schema: Schema) -> int:
    """In how many places a schema describes the properties of one object, unless all of them close it already."""

    def described(*words: str) -> list[Schema]:
        lists: list[Any] = [schema[word] for word in words if isinstance(schema.get(word), list)]
        arms: list[Any] = [one for arms in lists for one in arms if isinstance(one, dict)]
        return [one for one in arms if "properties" in one or "$ref" in one]

    if schema.keys().isdisjoint(("allOf", "anyOf", "oneOf")):
        return 1
    both, either = described("allOf"), described("anyOf", "oneOf")
    both += [schema] if "properties" in schema else []
    closed = all(one.get("additionalProperties") is False for one in (*both, *either))
    return 0 if closed else len(both) + bool(either)


def _allowed(name: str, value: Any) -> bool:
    match name:
        case "enum":
            return isinstance(value, list) and all(_primitive(one) for one in cast("Any", value))
        case "const":
            return _primitive(value)
        case "format":
            return isinstance(value, str) and value in FORMATS
        case "pattern":
            return isinstance(value, str) and not _beyond_regex(value)
        case "minItems":
            return value in (0, 1)
        case _:
            return False


def _primitive(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def _recursive(schema: Schema) -> bool:
    """Whether following references can lead back to where one started."""
    definitions = {"#": set(_references({name: one for name, one in schema.items() if name not in DEFINITIONS}))}
    for group in DEFINITIONS:
        inner: Any = schema.get(group)
        for name, one in cast("Schema", inner).items() if isinstance(inner, dict) else ():
            definitions[f"#/{group}/{name}"] = set(_references(one))
    settled: set[str] = set()
    # A definition is settled once all it refers to is; what never settles is part of a circle.
    while True:
        now = {n for n, targets in definitions.items() if n not in settled and targets & definitions.keys() <= settled}
        if not now:
            return len(settled) < len(definitions)
        settled |= now


def _references(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(target := cast("Schema", value).get("$ref"), str):
                yield target
            waiting += cast("Schema", value).values()
        elif isinstance(value, list):
            waiting += cast("Any", value)


TOOLSETS = ("computer", "browser")
"""Groups of tools of the vendor; namespaces of Responses."""
MARK = "llmr-"
"""Begins an id that stands for one this wire does not take; the rest is its base64url."""

Call = ours.FunctionCall | ours.CustomToolCall
Output = ours.FunctionCallOutput | ours.CustomToolCallOutput
FunctionCall = ours.FunctionCall
ToolUse, ToolResult = types.ToolUse, types.ToolResult

raw_json = msgspec.json.Decoder(Raw).decode
"""JSON text as it is, once it is known to be JSON."""


# --- ids and names --------------------------------------------------------------------------------------------------

_legal_id = re.compile(r"[a-zA-Z0-9_-]+").fullmatch
_TO_URL = bytes.maketrans(b"+/", b"-_")
_FROM_URL = bytes.maketrans(b"-_", b"+/")


def wire_id(call_id: str, repeated: int = 0) -> str:
    """A call id as this wire takes it: itself where it is legal and was not used before, else a spelled-out stand-in."""
    if not repeated and _legal_id(call_id) and not call_id.startswith(MARK):
        return call_id
    spelled = f"{call_id}\0{repeated}" if repeated else call_id
    data = binascii.b2a_base64(spelled.encode("utf-8", "surrogatepass"), newline=False)
    return MARK + data.translate(_TO_URL).rstrip(b"=").decode()


def call_id(wire: str) -> str:
    """The id that `wire_id` was given."""
    if not wire.startswith(MARK):
        return wire
    data = wire[len(MARK) :].encode("ascii", "replace").translate(_FROM_URL)
    try:
        spelled = binascii.a2b_base64(data + b"=" * (-len(data) % 4)).decode("utf-8", "surrogatepass")
    except (binascii.Error, UnicodeDecodeError):
        return wire
    original, _, count = spelled.partition("\0")
    repeated = int(count) if len(count) < 8 and count.isascii() and count.isdigit() else 0
    return original if wire_id(original, repeated) == wire else wire


class Named(NamedTuple):
    """What a tool is called in Responses."""

    name: str
    namespace: str
    custom: bool


def renamed(tools: Iterable[ours.AnyTool], namespace: str = "") -> dict[str, Named]:
    """The tools whose calls come back under another name, or as functions although they are custom tools."""
    found: dict[str, Named] = {}
    for tool in tools:
        if isinstance(tool, ours.FunctionTool | ours.CustomTool):
            wire, custom = wire_name(tool.name, namespace), isinstance(tool, ours.CustomTool)
            if wire != tool.name or custom:
                found[wire] = Named(tool.name, namespace, custom)
        elif isinstance(tool, ours.NamespaceTool):
            found |= renamed(tool.tools, tool.name)
    return found


# --- calls ----------------------------------------------------------------------------------------------------------


def plain_call(item: ours.FunctionCall) -> types.ToolUse | None:
    """The block of a call that nothing hangs on, as nearly all are: its id is legal and its arguments are an object."""
    id, text = item.call_id, item.arguments
    if text[:1] != "{" or item.status == "incomplete":
        return None
    if not (item.caller is None and item.namespace is None and item.leftovers is None and item.async_ is None):
        return None
    if not (id.isidentifier() and id.isascii()) and wire_id(id) != id:
        return None
    try:
        return ToolUse(id, wire_name(item.name), raw_json(text))
    except (msgspec.MsgspecError, UnicodeEncodeError):
        return None


def encode_call(item: Call, id: str, path: str, context: Context) -> types.ToolUse:
    """The block of a call at `path`, under the id it has on this wire."""
    plain_block = plain_call(item) if type(item) is FunctionCall else None
    if plain_block is not None:
        plain_block.id = id
        return plain_block
    lost = context.lost
    report_unknown(item, path, lost)
    if isinstance(item, ours.FunctionCall):
        input = _mended(item.arguments, path, context)
    else:
        input = Raw(encode({"input": item.input}))
        lost.emulated(path, "a custom tool's call is sent as a function's")
    block = ToolUse(id, wire_name(item.name), input)
    if item.namespace in TOOLSETS:
        block.toolset_name = item.namespace
    elif given(item.namespace):
        block.name = wire_name(item.name, item.namespace)
        lost.emulated(f"{path}.namespace", "a tool of a namespace is called by both names in one")
    if item.async_:
        lost.dropped(f"{path}.async", "Anthropic waits for every call")
    match item.caller:
        case ours.Direct():
            block.caller = types.Caller(type="direct")
        case ours.ByProgram(caller_id=caller) if caller.startswith("srvtoolu_"):
            block.caller = types.Caller(type=context.model.code_execution, tool_id=caller)
        case ours.ByProgram() | Unknown():
            lost.dropped(f"{path}.caller", "a caller this vendor does not know")
        case _:
            pass
    return context.marked(returned(block, own_fields(item.leftovers, path, lost), path, lost), path)


def is_json(text: str) -> bool:
    """Whether `text` can stand in a body as it is."""
    try:
        raw_json(text)
    except (msgspec.MsgspecError, UnicodeEncodeError):
        return False
    return True


def _mended(arguments: str, path: str, context: Context) -> Raw:
    """Arguments as an object: nothing is an empty one, and what the model got wrong is the text in one."""
    data = arguments.encode("utf-8", "replace")
    if not data.strip():
        return Raw(b"{}")
    try:
        if data.lstrip()[:1] == b"{":
            return raw_json(data)
    except msgspec.MsgspecError:
        pass
    context.lost.changed(f"{path}.arguments", "not a JSON object; sent as the text of INVALID_JSON")
    return Raw(encode({"INVALID_JSON": data.decode()}))


_call = copies(FunctionCall(call_id="", name="", arguments=""))


def decode_call(block: types.ToolUse, id: Opt[str], status: Opt[str], renamed: dict[str, Named] | None = None) -> Call:
    """The item of a call; `renamed` says which tools have another name or kind in the request."""
    wire, text, call = block.id, str(block.input, "utf-8", "replace"), _call()
    call.id, call.name, call.arguments, call.status = or_none(id), block.name, text, or_none(status)
    call.call_id = call_id(wire) if wire.startswith(MARK) else wire
    caller = block.caller
    bare = caller is block.toolset_name is block.cache_control is UNSET and type(block) is ToolUse
    if bare and text != "null" and not renamed:
        return call
    fields = rest(block, ("cache_control", "toolset_name"))
    toolset = fields.pop("toolset_name") if block.toolset_name in TOOLSETS else UNSET
    if text == "null":
        call.arguments, fields[SPELLING] = "{}", {"input": None}
    if given(caller) and caller.type == "direct" and not extras(caller):
        call.caller = ours.Direct()
    elif caller is not UNSET:
        fields["caller"] = plain(caller)
        if given(caller) and given(caller.tool_id):
            call.caller = ours.ByProgram(caller_id=caller.tool_id)
    call.leftovers = left(fields)
    named = (renamed or {}).get(block.name) or Named(block.name, "", custom=False)
    call.name, call.namespace = named.name, or_none(named.namespace or toolset)
    if not named.custom:
        return call
    return ours.CustomToolCall(
        id=or_none(id),
        call_id=call.call_id,
        name=call.name,
        namespace=call.namespace,
        input=_free_text(call.arguments),
        status=or_none(status),
        caller=call.caller,
        leftovers=call.leftovers,
    )


def _free_text(arguments: str) -> str:
    """The text of a custom tool's call, which went out as `{"input": "..."}`."""
    try:
        match msgspec.json.decode(arguments):
            case {"input": str(text), **others} if not others:
                return text
            case _:
                return arguments
    except msgspec.MsgspecError:
        return arguments


# --- results --------------------------------------------------------------------------------------------------------


def encode_result(item: Output, call: types.ToolUse, path: str, context: Context) -> types.ToolResult:
    """The block of an output at `path`, for the block of its call."""
    output = item.output
    if isinstance(output, str):
        block = ToolResult(call.id, output or UNSET)
        bare = item.leftovers is None and item.is_error is None and call.toolset_name is UNSET
        if bare and type(item) is ours.FunctionCallOutput and item.namespace is None:
            return block
    else:
        block = ToolResult(call.id, _contents(output, f"{path}.output", context))
    namespace = item.namespace if isinstance(item, ours.FunctionCallOutput) else None
    block.is_error = or_unset(item.is_error)
    block.toolset_name = next((name for name in (namespace, call.toolset_name) if name in TOOLSETS), UNSET)
    report_unknown(item, path, context.lost)
    return context.marked(returned(block, own_fields(item.leftovers, path, context.lost), path, context.lost), path)


def _contents(output: list[ours.ContentPart], path: str, context: Context) -> Any:
    blocks = blocks_of(output, path, context)
    if len(blocks) < len(output) > 1:
        for j, part in enumerate(output):
            if getattr(part, "text", None) == "":
                context.lost.dropped(f"{path}[{j}]", not_taken("an empty text", "Anthropic"))
    return blocks if blocks or not output else UNSET


def decode_result(block: types.ToolResult) -> ours.FunctionCallOutput:
    """The output that a block is in Responses."""
    content, fields = block.content, rest(block, ("cache_control", "toolset_name"))
    toolset = fields.pop("toolset_name") if block.toolset_name in TOOLSETS else UNSET
    if not content or block.is_error is None:
        written = {"content": content, "is_error": block.is_error}
        if empty := {name: value for name, value in written.items() if value in (None, "")}:
            fields[SPELLING] = empty
    return ours.FunctionCallOutput(
        call_id=call_id(block.tool_use_id),
        output=[part_of(piece) for piece in content] if isinstance(content, list) else content or "",
        is_error=or_none(block.is_error),
        namespace=or_none(toolset),
        leftovers=left(fields),
    )


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
    if said is not None and or_none(_allowed_tools(said.get("enabled"), said.get("allowed_tools", UNSET))) == allowed:
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
        allowed_tools=or_none(_allowed_tools(said.enabled, said.allowed_tools) if given(said) else None),
        require_approval="never",
    )


def _allowed_tools(enabled: Opt[bool], allowed: Opt[list[str]]) -> Opt[list[str]]:
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
        for encoded in _encode_tool(tool, f"tools[{i}]", offer, context):
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


def _encode_tool(tool: ours.AnyTool, path: str, offer: Offer, context: Context) -> list[types.Tool]:
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
            return [encode_code(tool, path, context)]
        case ours.ToolSearchTool():
            return encode_tool_search(tool, path, context)
        case ours.McpTool():
            found = encode_mcp(tool, offer.alone, path, context)
            if found is None:
                return []
            server, toolset = found
            offer.servers.setdefault(server.name, server)
            return [] if toolset is None else [toolset]
        case _ if isinstance(tool, WebSearch):
            return [encode_web_search(tool, path, context)]
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
        allowed_callers=encode_callers(or_unset(tool.allowed_callers), context.model),
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
        for encoded in _encode_tool(tool, f"{path}.tools[{j}]", Offer({}), context):
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
            (same,) = _encode_tool(replace(decoded, strict=False), "", offer, context)
            key, same.name, same.strict = _key(same), tool.name, tool.strict or UNSET
        else:
            (same,) = _encode_tool(decoded, "", offer, context)
            key = _key(same)
        if more := beyond(tool, same, SPELLED):
            fields[key] = more
    for name, server in servers.items():
        found.append(decode_server(server))
        offer.alone[name] = plain(server.tool_configuration or {})
        _encode_tool(found[-1], "", offer, context)
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
            allowed_callers=or_none(decode_callers(tool.allowed_callers)),
        )
    if kind.startswith("web_search_20"):
        return decode_web_search(tool)
    if kind.startswith("code_execution_20"):
        return decode_code(tool, container)
    if kind.startswith("tool_search_tool_"):
        return ours.ToolSearchTool(execution="server")
    server = servers.get(tool.mcp_server_name or "") if kind == "mcp_toolset" else None
    return None if server is None else decode_mcp(tool, server)


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
