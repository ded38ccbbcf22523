"""Calls of the caller's tools: `tool_use` blocks and the items they are, arguments kept as the model wrote them.

Before changing this file, know that arguments are JSON text on one side and raw JSON on the other: they are checked, never
taken apart, so that key order and the spelling of numbers survive. Follows Anthropic's page on handling tool calls (read
2026-11-20).
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Raw

from ... import responses as ours
from ...unknown import Opt, Unknown, extras, given
from . import types
from .carried import document_fields, encode, left, merged, own, own_fields, plain, report_extras, rest
from .content import Context
from .names import MARK, Named, call_id, wire_name

TOOLSETS = ("computer", "browser")
"""Groups of tools of the vendor; ours are namespaces."""

_json = msgspec.json.Decoder(Raw)
ToolUse = types.ToolUse


# --- items to blocks ------------------------------------------------------------------------------------------------


def encode_call(
    item: ours.FunctionCall | ours.CustomToolCall, id: str, place: int | str, context: Context
) -> types.ToolUse:
    """The block of a call, under the id it has on this wire; `place` is its position in the input, or its path."""
    if type(item) is not ours.FunctionCall:
        return _rare_call(item, id, place, context)
    arguments = item.arguments
    try:
        input = _json.decode(arguments) if arguments[:1] == "{" else _mended(arguments, place, context)
    except (msgspec.MsgspecError, UnicodeEncodeError):
        input = _mended(arguments, place, context)
    block = ToolUse(id, wire_name(item.name), input)
    if item.caller is item.namespace is item.leftovers is item.async_ is UNSET:
        return block
    return _dressed(block, item, _path(place), context)


def _rare_call(
    item: ours.FunctionCall | ours.CustomToolCall, id: str, place: int | str, context: Context
) -> types.ToolUse:
    path = _path(place)
    report_extras(item, path, context.lost)
    if isinstance(item, ours.FunctionCall):
        input = _mended(item.arguments, place, context)
    else:
        input = Raw(encode({"input": item.input}))
        context.lost.emulated(path, "a custom tool's call is sent as a function's")
    return _dressed(types.ToolUse(id=id, name=wire_name(item.name), input=input), item, path, context)


def _dressed(
    block: types.ToolUse, item: ours.FunctionCall | ours.CustomToolCall, path: str, context: Context
) -> types.ToolUse:
    """The block with what only some calls have."""
    lost = context.lost
    if item.namespace in TOOLSETS:
        block.toolset_name = item.namespace
    elif given(item.namespace):
        block.name = wire_name(item.name, item.namespace)
        lost.emulated(f"{path}.namespace", "a tool of a namespace is called by both names in one")
    if item.async_:
        lost.dropped(f"{path}.async", "calls are waited for on this wire")
    match item.caller:
        case ours.Direct():
            block.caller = types.Caller(type="direct")
        case ours.ByProgram(caller_id=caller) if caller.startswith("srvtoolu_"):
            block.caller = types.Caller(type=context.model.code_execution, tool_id=caller)
        case ours.ByProgram() | Unknown():
            lost.dropped(f"{path}.caller", "a caller this vendor does not know")
        case _:
            pass
    fields = document_fields(own_fields(item.leftovers, path, lost))
    block = merged(block, fields, path, lost) if fields else block
    if given(block.cache_control):
        context.marks.append((path, block))
    return block


def _mended(arguments: str, place: int | str, context: Context) -> Raw:
    """Arguments that do not begin as an object, or are none: nothing, or something the model got wrong."""
    data = arguments.encode("utf-8", "replace")
    text = data.strip()
    if not text:
        return Raw(b"{}")
    try:
        if text[:1] == b"{":
            return _json.decode(data)
    except msgspec.MsgspecError:
        pass
    context.lost.changed(f"{_path(place)}.arguments", "not a JSON object; sent as the text of INVALID_JSON")
    return Raw(encode({"INVALID_JSON": data.decode()}))


def _path(place: int | str) -> str:
    return f"input[{place}]" if isinstance(place, int) else place


# --- blocks to items ------------------------------------------------------------------------------------------------


def decode_call(
    block: types.ToolUse, id: Opt[str], status: Opt[str], renamed: dict[str, Named]
) -> ours.FunctionCall | ours.CustomToolCall:
    """The item of a call; `renamed` says which tools have another name or kind in the request."""
    wire = block.id
    call = ours.FunctionCall(
        id=id,
        call_id=call_id(wire) if wire.startswith(MARK) else wire,
        name=block.name,
        arguments=bytes(block.input).decode("utf-8", "replace"),
        status=status,
    )
    caller = block.caller
    if caller is block.toolset_name is block.cache_control is UNSET and type(block) is ToolUse and not renamed:
        return call
    if given(caller) and caller.type == "direct" and not extras(caller):
        call.caller = ours.Direct()
    elif caller is not UNSET:
        call.leftovers = left({"caller": plain(caller)})
        if given(caller) and given(caller.tool_id):
            call.caller = ours.ByProgram(caller_id=caller.tool_id)
    call.namespace = block.toolset_name
    if block.cache_control is not UNSET or type(block) is not types.ToolUse:
        call.leftovers = left({**own(call.leftovers), **rest(block, ("cache_control",))})
    named = renamed.get(block.name)
    if named is None:
        return call
    call.name = named.name
    call.namespace = named.namespace or call.namespace
    if not named.custom:
        return call
    return ours.CustomToolCall(
        id=id,
        call_id=call.call_id,
        name=call.name,
        namespace=call.namespace,
        input=_free_text(call.arguments),
        status=status,
        caller=call.caller,
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
