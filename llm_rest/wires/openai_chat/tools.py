"""Tools, both ways.

Nested here, flat in Responses. Without `strict` a Responses host tries strict decoding and falls back where the schema does
not allow it; here it means loose: so a missing `strict` is decided by the schema on the way out and becomes false on the
way in. Before changing this file, know that tools of the vendor have no place on this wire, and that everything emulated
here has to be undone for the calls that come back (`calls.names_sent`). Follows the Chat Completions reference (read 2026-11-20).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from ...responses.leftovers import SPELLING
from ...responses.tools import (
    AnyTool,
    CustomTool,
    FunctionTool,
    Grammar,
    NamespaceTool,
    Schema,
    TextGrammar,
)
from ...unknown import Opt, Unknown, convert, extras, given
from . import types
from .calls import qualified
from .choice import name_of
from .left import absent, as_object, as_plain, notes, put_back, sent, unspelled
from .search import is_search
from .strictness import doubts, holds_strictly
from .types import Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...dialects import ChatDialect
    from ...losses import Losses


INPUT: Schema = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
    "additionalProperties": False,
}
"""The parameters of a function that stands for a custom tool."""

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

# --- tools ----------------------------------------------------------------------------------------------------------


def encode_tools(tools: Sequence[AnyTool], left: Json, dialect: ChatDialect, lost: Losses) -> list[types.Tool]:
    """The tools that this wire can offer; `left` holds by name what the document said beyond Responses."""
    encoded: list[types.Tool] = []
    for i, tool in enumerate(tools):
        path = f"tools[{i}]"
        match tool:
            case FunctionTool() | CustomTool():
                encoded.append(_encode_tool(tool, UNSET, left, dialect, path, lost))
            case NamespaceTool():
                lost.emulated(path, f"a namespace, whose tools are sent as {tool.name}__*")
                for j, inner in enumerate(tool.tools):
                    if isinstance(inner, FunctionTool | CustomTool):
                        encoded.append(_encode_tool(inner, tool.name, left, dialect, f"{path}.tools[{j}]", lost))
                    else:
                        lost.refused(f"{path}.tools[{j}]", f"a tool of type {inner.type!r}")
            case _ if is_search(tool):
                continue  # becomes an option of the request
            case Unknown():
                encoded += _encode_host_tool(tool, path, lost)
            case _:
                lost.refused(path, f"the tool {tool.__struct_config__.tag!r}, which only a Responses host runs")
    _check_names(encoded, lost)
    return encoded


def _encode_tool(
    tool: FunctionTool | CustomTool, namespace: Opt[str], left: Json, dialect: ChatDialect, path: str, lost: Losses
) -> types.Tool:
    for name in ("defer_loading", "allowed_callers", "output_schema", "async_"):
        if getattr(tool, name, None):
            lost.dropped(f"{path}.{name.rstrip('_')}", "an option of a tool that this wire has no field for")
    for name in extras(tool):
        lost.dropped(f"{path}.{name}", "a field only a Responses host would know")
    name = qualified(tool.name, namespace)
    if isinstance(tool, CustomTool):
        return put_back(_encode_custom(tool, name, dialect, path, lost), as_object(left.get(name)))
    # Null is no text and no schema here, where a field is there or not.
    function = types.Function(name=name)
    if given(tool.description):
        function.description = tool.description
    if given(tool.parameters):
        function.parameters = tool.parameters
    elif dialect.needs_parameters:
        function.parameters = {"type": "object", "properties": {}}
    if tool.strict or (not given(tool.strict) and _strict_unasked(tool.parameters, path, lost)):
        if dialect.strict_tools:
            function.strict = True
        elif tool.strict:
            lost.dropped(f"{path}.strict", "strict arguments, which this host does not promise")
    made = types.Tool(type="function", function=function)
    kept = as_object(left.get(name))
    return _spelled(made, kept) if kept else made


def _strict_unasked(schema: Opt[Schema], path: str, lost: Losses) -> bool:
    if not schema or not holds_strictly(schema):
        return False
    if doubtful := doubts(schema):
        lost.changed(f"{path}.strict", f"strictness was left open, and is off because of {', '.join(doubtful)}")
    return not doubtful


def _spelled(made: types.Tool, kept: Json) -> types.Tool:
    """The tool with what its document said beyond Responses, written as it was."""
    spelling = notes(kept)
    if "type" in spelling:
        made.type = absent(spelling["type"])
    if "strict" in spelling and given(made.function) and made.function.strict is UNSET:
        made.function.strict = spelling["strict"]
    return put_back(made, unspelled(kept))


def _encode_custom(tool: CustomTool, name: str, dialect: ChatDialect, path: str, lost: Losses) -> types.Tool:
    if not dialect.custom_tools:
        lost.emulated(path, "a custom tool, sent as a function with one text")
        description = tool.description or ""
        if isinstance(tool.format, Grammar):
            lost.changed(f"{path}.format", "a grammar, which is only described to the model")
            description = (
                f"{description}\n\nThe input follows this {tool.format.syntax} grammar:\n{tool.format.definition}"
            )
        return types.Tool(
            type="function", function=types.Function(name=name, description=description.strip(), parameters=INPUT)
        )
    custom = types.Custom(name=name)
    if given(tool.description):
        custom.description = tool.description
    match tool.format:
        case Grammar(definition=definition, syntax=syntax):
            custom.format = types.GrammarFormat(grammar=types.Grammar(definition=definition, syntax=syntax))
        case TextGrammar():
            custom.format = types.TextFormat()
        case Unknown() as unknown:
            custom.format = unknown
        case nothing:
            custom.format = nothing
    return types.Tool(type="custom", custom=custom)


def _encode_host_tool(tool: Unknown, path: str, lost: Losses) -> list[types.Tool]:
    """A tool of the host, which callers may name as the host does."""
    declared = {name: value for name, value in tool.items() if name in types.Tool.__struct_fields__}
    try:
        return [put_back(convert(declared, types.Tool), tool)]
    except msgspec.ValidationError:
        lost.refused(path, f"a tool of type {tool.type!r} in a form this wire does not have")
        return []


def _check_names(tools: list[types.Tool], lost: Losses) -> None:
    seen: set[str] = set()
    for i, tool in enumerate(tools):
        name = name_of(tool)
        if name is None:
            continue
        if name in seen:
            lost.refused(f"tools[{i}].name", f"a second tool of the name {name!r}")
        elif not _NAME.fullmatch(name):
            lost.refused(f"tools[{i}].name", f"the name {name!r}; letters, digits, _ and - are allowed, up to 64")
        seen.add(name)


def decode_tools(tools: Sequence[types.Tool], left: Json) -> list[AnyTool]:
    """The tools as Responses spells them; what it has no field for goes to `left`, by name."""
    return [_decode_tool(tool, left) for tool in tools]


def _decode_tool(tool: types.Tool, left: Json) -> AnyTool:
    made: FunctionTool | CustomTool
    kept: Json = {name: getattr(tool, name) for name in ("parameters", "cache_control", "eager_input_streaming")}
    kept = {**{name: value for name, value in kept.items() if value is not UNSET}, **extras(tool)}
    if tool.type in ("function", UNSET, None) and given(tool.function):
        function = tool.function
        made = FunctionTool(
            name=function.name,
            description=function.description,
            parameters=function.parameters,
            strict=function.strict is True,
        )
        spelling: Json = {} if tool.type == "function" else {"type": sent(tool.type)}
        if function.strict is False or function.strict is None:
            spelling["strict"] = function.strict
        if spelling:
            kept[SPELLING] = spelling
        nulls = {name: None for name in ("description", "parameters") if getattr(function, name) is None}
        if unknown := {**nulls, **extras(function)}:
            kept["function"] = unknown
    elif tool.type == "custom" and given(tool.custom):
        made = decode_custom(tool.custom)
        if unknown := extras(tool.custom):
            kept["custom"] = unknown
    else:
        return Unknown(as_plain(tool))
    if kept:
        left[made.name] = kept
    return made


def decode_custom(custom: types.Custom) -> CustomTool:
    """A custom tool, its grammar no longer nested."""
    made = CustomTool(name=custom.name, description=custom.description)
    match custom.format:
        case types.GrammarFormat(grammar=grammar):
            made.format = Grammar(definition=grammar.definition, syntax=grammar.syntax)
        case types.TextFormat():
            made.format = TextGrammar()
        case other:
            made.format = other
    return made


def decode_functions(functions: Sequence[types.Function], left: Json) -> list[AnyTool]:
    """Functions in their legacy form, as tools."""
    return decode_tools([types.Tool(type="function", function=function) for function in functions], left)
