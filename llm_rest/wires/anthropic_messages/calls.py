"""Calls of the caller's tools and what they gave: `tool_use`, `tool_result`, and the ids and names both sides take.

Before changing this file, know that arguments are JSON text on one side and raw JSON on the other: they are checked, never
taken apart, so that key order and the spelling of numbers survive; and that ids and names are made the same way every time,
since histories already sent hold them. Follows Anthropic's page on handling tool calls (read 2026-11-20).
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw

from ... import responses as ours
from ...losses import not_taken
from ...responses.leftovers import SPELLING
from ...unknown import Opt, Unknown, extras, given, or_none, or_unset
from .._left import copies, report_unknown
from .._renamed import wire_name
from . import types
from .content import Context, blocks_of, part_of
from .leftovers import encode, left, own_fields, plain, rest, returned

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
