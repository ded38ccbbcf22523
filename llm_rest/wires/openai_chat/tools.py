"""Tools, both ways.

Nested here, flat in Responses. Without `strict` a Responses host tries strict decoding and falls back where the schema does
not allow it; here it means loose: so a missing `strict` is decided by the schema on the way out and becomes false on the
way in. Before changing this file, know that tools of the vendor have no place on this wire, and that everything emulated
here has to be undone for the calls that come back (`_renamed.names_sent`). Follows the Chat Completions reference and OpenAI's
guide to structured outputs (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

import msgspec
from msgspec import UNSET

from ...losses import no_such
from ...responses import tools as rt
from ...responses.closed import doubtful, is_closed
from ...unknown import Opt, Unknown, convert, given, or_none, or_unset
from .._left import as_object, as_plain, beyond, put_back, report_unknown
from .._renamed import qualified, sent_name
from . import types
from .types import Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...losses import Losses
    from ...vendors.dialects import ChatDialect

INPUT: rt.Schema = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
    "additionalProperties": False,
}
"""The parameters of a function that stands for a custom tool."""

_SEARCH = rt.WebSearchTool | rt.WebSearchTool20250826 | rt.WebSearchPreviewTool | rt.WebSearchPreviewTool20250311


def name_of(tool: types.Tool) -> str | None:
    """The name of a function or custom tool; a tool of the host has none."""
    named = tool.function if isinstance(tool.function, types.Function) else tool.custom
    return named.name if isinstance(named, types.Function | types.Custom) else None


def is_search(tool: rt.AnyTool) -> TypeGuard[rt.WebSearchTool]:
    """Whether the tool is the vendor's web search, of whatever version."""
    return isinstance(tool, _SEARCH)


# --- Responses -> Chat ----------------------------------------------------------------------------------------------


def encode_tools(tools: Sequence[rt.AnyTool], left: Json, dialect: ChatDialect, lost: Losses) -> list[types.Tool]:
    """The tools that this wire can offer; `left` holds by name what the document said beyond Responses."""
    encoded: list[types.Tool] = []
    for i, tool in enumerate(tools):
        path = f"tools[{i}]"
        match tool:
            case rt.FunctionTool() | rt.CustomTool():
                encoded.append(_encode_tool(tool, None, left, dialect, path, lost))
            case rt.NamespaceTool():
                lost.emulated(path, f"a namespace, whose tools are sent as {tool.name}__*")
                for j, inner in enumerate(tool.tools):
                    if isinstance(inner, rt.FunctionTool | rt.CustomTool):
                        encoded.append(_encode_tool(inner, tool.name, left, dialect, f"{path}.tools[{j}]", lost))
                    else:
                        lost.refused(f"{path}.tools[{j}]", f"a tool of type {inner.kind!r}")
            case _ if is_search(tool):
                continue  # becomes an option of the request
            case Unknown():
                # A tool of the host, which callers may name as the host does.
                declared = {name: value for name, value in tool.items() if name in types.Tool.__struct_fields__}
                try:
                    encoded.append(put_back(convert(declared, types.Tool), tool))
                except msgspec.ValidationError:
                    lost.refused(path, f"a tool of type {tool.kind!r} in a form Chat Completions does not have")
            case _:
                lost.refused(path, f"a tool of type {tool.__struct_config__.tag!r}, which only Responses has")
    seen: set[str | None] = set()
    for i, name in enumerate(map(name_of, encoded)):
        if name is not None and name in seen:
            lost.refused(f"tools[{i}].name", f"a second tool of the name {name!r}")
        elif name == "":
            lost.refused(f"tools[{i}].name", "a tool without a name")
        seen.add(name)
    return encoded


def _encode_tool(
    tool: rt.FunctionTool | rt.CustomTool,
    namespace: str | None,
    left: Json,
    dialect: ChatDialect,
    path: str,
    lost: Losses,
) -> types.Tool:
    for name in ("defer_loading", "allowed_callers", "output_schema", "async_"):
        if getattr(tool, name, None):
            lost.dropped(f"{path}.{name.rstrip('_')}", no_such("option", "Chat Completions"))
    report_unknown(tool, path, lost)
    name = sent_name(tool.name, namespace)
    if name != qualified(tool.name, namespace):
        lost.emulated(f"{path}.name", f"the tool is called {name!r} in Chat Completions")
    made = _nested(tool, name, dialect)
    if isinstance(tool, rt.CustomTool):
        if not dialect.custom_tools:
            made = _as_function(tool, name, path, lost)
    elif function := made.function:
        if tool.strict and not dialect.strict_tools:
            lost.dropped(f"{path}.strict", "strict arguments, which this host does not promise")
            function.strict = UNSET
        elif not given(tool.strict) and _strict_unasked(or_unset(tool.parameters), path, lost) and dialect.strict_tools:
            function.strict = True
    kept = as_object(left.get(qualified(tool.name, namespace)))
    return put_back(made, kept) if kept else made


def _nested(tool: rt.FunctionTool | rt.CustomTool, name: str, dialect: ChatDialect) -> types.Tool:
    """The tool, strict where it is asked to be, and custom where it is."""
    # Null is no text and no schema here, where a field is there or not.
    about: Json = {"name": name, "description": UNSET if tool.description is None else tool.description}
    if isinstance(tool, rt.FunctionTool):
        usual: Opt[Json] = {"type": "object", "properties": {}} if dialect.needs_parameters else UNSET
        parameters = tool.parameters if given(tool.parameters) else usual
        function = types.Function(**about, parameters=parameters, strict=tool.strict or UNSET)
        return types.Tool(type="function", function=function)
    match tool.format:
        case rt.Grammar(definition=definition, syntax=syntax):
            form: Any = types.GrammarFormat(grammar=types.Grammar(definition=definition, syntax=syntax))
        case rt.TextGrammar():
            form = types.TextFormat()
        case other:
            form = or_unset(other)
    return types.Tool(type="custom", custom=types.Custom(**about, format=form))


def _as_function(tool: rt.CustomTool, name: str, path: str, lost: Losses) -> types.Tool:
    lost.emulated(path, "a custom tool, sent as a function with one text")
    description = tool.description or ""
    if isinstance(tool.format, rt.Grammar):
        lost.changed(f"{path}.format", "a grammar, which is only described to the model")
        description += f"\n\nThe input follows this {tool.format.syntax} grammar:\n{tool.format.definition}"
    function = types.Function(name=name, description=description.strip(), parameters=INPUT)
    return types.Tool(type="function", function=function)


def _strict_unasked(schema: Opt[rt.Schema], path: str, lost: Losses) -> bool:
    """Whether a Responses host would decode strictly although nothing was said: where every object is closed."""
    # Most schemas are open at the top, and then nothing below needs to be looked at.
    if not schema or schema.get("additionalProperties") is not False or not is_closed(schema):
        return False
    if found := doubtful(schema):
        lost.changed(f"{path}.strict", f"strictness was left open, and is off because of {', '.join(found)}")
    return not found


# --- Chat -> Responses ----------------------------------------------------------------------------------------------


def decode_tools(tools: Sequence[types.Tool], left: Json, dialect: ChatDialect, lost: Losses) -> list[rt.AnyTool]:
    """The tools as Responses spells them; what it has no field for goes to `left`, by name."""
    found = [_decode_tool(tool, left, dialect, f"tools[{i}]", lost) for i, tool in enumerate(tools)]
    return [tool for tool in found if tool is not None]


def _decode_tool(tool: types.Tool, left: Json, dialect: ChatDialect, path: str, lost: Losses) -> rt.AnyTool | None:
    made: rt.FunctionTool | rt.CustomTool
    if tool.type in ("function", UNSET, None) and given(function := tool.function):
        made = rt.FunctionTool(
            name=function.name,
            description=or_none(function.description),
            parameters=or_none(function.parameters),
            strict=function.strict is True,
        )
    elif tool.type == "custom" and given(custom := tool.custom):
        made = rt.CustomTool(name=custom.name, description=or_none(custom.description))
        match custom.format:
            case types.GrammarFormat(grammar=grammar):
                made.format = rt.Grammar(definition=grammar.definition, syntax=grammar.syntax)
            case types.TextFormat():
                made.format = rt.TextGrammar()
            case other:
                made.format = or_none(other)
    elif tool.type in ("function", "custom", "", UNSET, None):
        lost.refused(path, f"a tool without its `{tool.type or 'function'}` object")
        return None
    else:
        return Unknown(as_plain(tool))
    if kept := beyond(tool, _nested(made, made.name, dialect)):
        left[made.name] = kept
    return made
