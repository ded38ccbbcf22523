"""Conversion of tools, tool choice and calls, both ways: nested here, flat in Responses.

The wire has functions and no tool choice (`wires/tools.py`). Before changing this file, know that arguments are
validated and never re-encoded, so that the order of keys and the notation of numbers are preserved, and that ids of
calls are random on newer servers and absent on older ones. Follows Ollama's page on tool calling and the server's own
types (read 2026-11-20).
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from ... import responses as ours
from ...losses import Losses
from ...responses.lenient import derived_call_id, repair_call
from ...unknown import given, or_none, or_unset
from ..kept import Rules, diff, item_leftovers, patch, unknown
from ..options import report_missing
from ..schema import OLLAMA, fitted_parameters
from ..tools import (
    NO_PARAMETERS,
    Call,
    as_function,
    call_arguments,
    each_tool,
    object_arguments,
    qualified,
    refuse_tool,
    report_names,
    report_unsaid,
)
from . import types
from .types import WIRE, Json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DROPPED = ("defer_loading", "allowed_callers", "output_schema", "async_")
"""Options of a tool that this wire does not have."""

RULES = Rules(defaults={"type": "function"})
FLAT_RULES = Rules(defaults={"type": "function"}, together=(("function", "name", "arguments"),))

# --- tools ----------------------------------------------------------------------------------------------------------


Rewritings = list[tuple[Json, Losses]]
"""Rewritten schemas, each with its losses: none, if the original schema is sent in the end."""


def encode_tools(tools: Mapping[str, ours.AnyTool], rewritings: Rewritings, lost: Losses) -> list[types.Tool]:
    """The tools that this wire supports."""
    made: dict[str, types.Tool] = {}
    for tool, namespace, path in each_tool(tools, lost):
        if isinstance(tool, ours.FunctionTool | ours.CustomTool):
            made[path] = _encode_tool(tool, namespace, rewritings, path, lost)
        else:
            refuse_tool(tool, path, WIRE, lost)
    report_names({path: name_of(tool) for path, tool in made.items()}, lost)
    return [*made.values()]


def name_of(tool: types.Tool) -> str:
    """The name of a tool."""
    return tool.function.name


def _encode_tool(
    tool: ours.FunctionTool | ours.CustomTool, namespace: str | None, rewritings: Rewritings, path: str, lost: Losses
) -> types.Tool:
    report_missing(tool, WIRE, lost, dropped=DROPPED, path=path)
    function = as_function(tool, path, lost)
    if function.strict:
        lost.dropped(f"{path}.strict", "strict arguments, which this server does not promise")
    parameters = function.parameters
    if parameters is None:
        parameters = NO_PARAMETERS
    elif function is tool:
        path = f"{path}.parameters"
        found = Losses()
        if not parameters:
            found.changed(path, "an empty schema, sent as an object without properties")
        parameters = fitted_parameters(parameters, OLLAMA, found, path)
        rewritings.append((parameters, found))
    name = qualified(tool.name, namespace)
    made = types.Function(name=name, description=or_unset(function.description), parameters=parameters)
    return types.Tool(type="function", function=made)


def decode_tools(tools: Sequence[types.Tool]) -> list[ours.AnyTool]:
    """The tools in the Responses format."""
    return [
        ours.FunctionTool(
            name=function.name,
            description=or_none(function.description),
            parameters=or_none(function.parameters),
            strict=False,
        )
        for function in (tool.function for tool in tools)
    ]


# --- calls ----------------------------------------------------------------------------------------------------------

_strings = msgspec.json.Decoder(str)


def encode_call(item: Call, field: str, i: int, lost: Losses) -> types.ToolCall:
    """The call at index `i` of a `field` in this wire's format."""
    path = f"{field}[{i}]"
    found = Losses() if item.leftovers else lost
    text = item.arguments if isinstance(item, ours.FunctionCall) else call_arguments(item, path, found)
    arguments = object_arguments(text, path, found)
    name = item.name if item.namespace is None else qualified(item.name, item.namespace)
    made = types.ToolCall(id=item.call_id, function=types.CallFunction(name=name, arguments=arguments))
    if item.namespace or item.caller or item.async_:
        report_unsaid(item, path, lost)
    if item.leftovers:
        made = patch(made, item_leftovers(item, WIRE))
        lost += found if given(body := made.function) and body.arguments == arguments else ()
    return made


def decode_call(
    call: types.ToolCall, origin: str, position: int, taken: set[str], path: str, lost: Losses, *, keep: bool
) -> ours.FunctionCall:
    """The call as an item. `origin` and `position` make the id of one whose own is missing or among those `taken`.

    `path` is that of the message.
    """
    function = call.function if given(call.function) else call
    raw, own_id, name = function.arguments, call.id, function.name
    arguments = "null" if raw is UNSET else str(raw, "utf-8", "replace")
    if function is call or not name or isinstance(own_id, int | float):
        found = repair_call(_plain(call, arguments), call_id="", nested=True)
        for fault in found.faults:
            lost.changed(f"{path}.tool_calls[{position}]", fault)
        name = found.name
    call_id = str(own_id) if given(own_id) else ""
    if not call_id or call_id in taken:
        if call_id:
            lost.changed(f"{path}.tool_calls[{position}]", f"a second call of the id {call_id!r}")
        call_id = derived_call_id(origin, position)
    taken.add(call_id)
    if arguments == "null":
        arguments = "{}"
    elif arguments[:1] != "{":
        lost.changed(f"{path}.tool_calls[{position}]", "its arguments were no object")
        with suppress(msgspec.MsgspecError):
            arguments = _strings.decode(arguments) or "{}"
    item = ours.FunctionCall(call_id=call_id, name=name, arguments=arguments)
    if keep:
        rules = FLAT_RULES if function is call else RULES
        item.leftovers = {WIRE: left} if (left := diff(call, encode_call(item, "", 0, Losses()), rules)) else None
    elif not (type(call) is types.ToolCall and type(function) is types.CallFunction and function.index is UNSET):
        item.leftovers = {WIRE: left} if (left := unknown(call, "index")) else None
    return item


def _plain(call: types.ToolCall, arguments: str) -> Json:
    """The call as plain values for its repair, with what servers of this wire leave out, so that it is no fault."""
    body = call.function if given(call.function) else call
    inner: Json = {"name": body.name, "arguments": arguments if arguments != "null" else "{}"}
    plain: Json = {"id": call.id if given(call.id) and call.id != "" else "-", "type": "function"}
    return {**plain, "function": inner} if given(call.function) else {**plain, **inner}
