"""Tools and the choice among them, both ways: nested here, flat in Responses.

The wire knows functions and no choice: what must or must not be called is brought about by offering fewer tools, and by a
sentence to the model. Before changing this file, know that everything emulated here has to be undone for the calls that come
back (`_renamed.names_sent`). Follows Ollama's page on tool calling (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...losses import no_such, not_in
from ...responses.leftovers import SPELLING
from ...responses.tools import (
    AnyTool,
    ChooseAllowed,
    ChooseCustom,
    ChooseFunction,
    ChooseMcp,
    CustomTool,
    FunctionTool,
    Grammar,
    NamespaceTool,
    ToolChoice,
)
from ...unknown import Opt, Unknown, extras, given, or_none, or_unset
from .._left import ABSENT, as_object, notes, nulls, rest, sent, spell
from .._renamed import qualified
from . import types
from .schema import Rewritten
from .types import Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...losses import Losses

INPUT: Json = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
"""The parameters of a function that stands for a custom tool."""

NO_PARAMETERS: Json = {"type": "object", "properties": {}}

CALL_ANY = "Call at least one of the tools before you answer."
CALL_ONE = "Call the tool {} before you answer."


class Offered(NamedTuple):
    """The tools to offer, and what the model has to be told about them."""

    tools: list[types.Tool]
    note: str = ""


# --- Responses -> Ollama --------------------------------------------------------------------------------------------


def encode_tools(tools: Sequence[AnyTool], left: Json, lost: Losses) -> list[types.Tool]:
    """The tools that this wire can offer; `left` holds by name what the document said beyond Responses."""
    made: list[types.Tool] = []
    for i, tool in enumerate(tools):
        path = f"tools[{i}]"
        match tool:
            case FunctionTool() | CustomTool():
                made.append(_encode_tool(tool, None, left, path, lost))
            case NamespaceTool():
                lost.emulated(path, f"a namespace, whose tools are sent as {tool.name}__*")
                for j, inner in enumerate(tool.tools):
                    if isinstance(inner, Unknown):
                        lost.refused(f"{path}.tools[{j}]", f"a tool of type {inner.kind!r}")
                    else:
                        made.append(_encode_tool(inner, tool.name, left, f"{path}.tools[{j}]", lost))
            case Unknown():
                lost.refused(path, not_in(f"a tool of type {tool.kind!r}", "Ollama"))
            case _:
                lost.refused(path, f"a tool of type {tool.__struct_config__.tag!r}, which only Responses has")
    seen: set[str] = set()
    for i, function in enumerate(tool.function for tool in made):
        if function.name in seen or not function.name:
            lost.refused(f"tools[{i}].name", f"a second tool of the name {function.name!r}, or one without a name")
        seen.add(function.name)
    return made


def _encode_tool(
    tool: FunctionTool | CustomTool, namespace: str | None, left: Json, path: str, lost: Losses
) -> types.Tool:
    for name in ("defer_loading", "allowed_callers", "output_schema", "async_", *extras(tool)):
        if getattr(tool, name, name in extras(tool)):
            lost.dropped(f"{path}.{name.rstrip('_')}", no_such("option", "Ollama"))
    name = qualified(tool.name, namespace)
    kept = as_object(left.get(name))
    function = types.Function(name=name, description=or_unset(tool.description), parameters=INPUT)
    if isinstance(tool, CustomTool):
        lost.emulated(path, "a custom tool, sent as a function with one text")
        if isinstance(tool.format, Grammar):
            lost.changed(f"{path}.format", "a grammar, which is only described to the model")
            told = f"The input follows this {tool.format.syntax} grammar:\n{tool.format.definition}"
            function.description = f"{tool.description or ''}\n\n{told}".strip()
        elif isinstance(tool.format, Unknown):
            lost.dropped(f"{path}.format", f"a format of type {tool.format.kind!r}")
    else:
        if tool.strict:
            lost.dropped(f"{path}.strict", "strict arguments, which this server does not promise")
        function.parameters = or_unset(tool.parameters)
        if tool.parameters is None and notes(kept).get("parameters", ABSENT) is None:
            function.parameters = None
        elif "parameters" not in notes(kept):
            function.parameters = (
                NO_PARAMETERS if tool.parameters is None else _encode_parameters(tool.parameters or {}, path, lost)
            )
    made = types.Tool(type="function", function=function)
    if kept:
        made.function = spell(function, as_object(kept.get("function")))
        made = spell(made, {word: value for word, value in kept.items() if word != "function"})
    return made


def _encode_parameters(schema: Json, path: str, lost: Losses) -> Json:
    written = Rewritten(schema)
    if not schema:
        lost.changed(f"{path}.parameters", "an empty schema, sent as an object without properties")
    if written.changed:
        words = ", ".join(written.changed)
        lost.changed(f"{path}.parameters", f"{words}: put into words that the server does not forget")
    for word in written.unread:
        lost.dropped(f"{path}.parameters.{word}", "a word of the schema that the server forgets")
    return written.schema


def choose(choice: Opt[ToolChoice], tools: list[types.Tool], lost: Losses) -> Offered:
    """The tools that a choice leaves. The server knows none, so no call is certain and none is forbidden."""
    match choice:
        case "none":
            lost.emulated("tool_choice", "no tools are offered, since Ollama knows no way to forbid them")
            return Offered([])
        case "required":
            lost.emulated("tool_choice", "the model is told to call a tool, since Ollama cannot make it")
            return Offered(tools, CALL_ANY)
        case ChooseFunction(name=name) | ChooseCustom(name=name):
            lost.emulated("tool_choice", f"only {name!r} is offered, and the model is told to call it")
            return Offered([tool for tool in tools if tool.function.name == name], CALL_ONE.format(name))
        case ChooseAllowed():
            return _choose_allowed(choice, tools, lost)
        case ChooseMcp() | Unknown():
            lost.refused("tool_choice", not_in("a tool of a vendor", "Ollama"))
        case str() if choice != "auto":
            lost.dropped("tool_choice", not_in(repr(choice), "Ollama"))
        case _:
            pass
    return Offered(tools)


def _choose_allowed(choice: ChooseAllowed, tools: list[types.Tool], lost: Losses) -> Offered:
    names = [entry.get("name") for entry in choice.tools]
    for j, entry in enumerate(choice.tools):
        if entry.get("type") not in ("function", "custom"):
            lost.dropped(f"tool_choice.tools[{j}]", "a tool of a vendor")
    lost.emulated("tool_choice", "only the allowed tools are offered")
    mode = choice.mode if given(choice.mode) else "auto"
    return choose(mode, [tool for tool in tools if tool.function.name in names], lost)


# --- Ollama -> Responses --------------------------------------------------------------------------------------------


def decode_tools(tools: Sequence[types.Tool], left: Json) -> list[AnyTool]:
    """The tools as Responses spells them; what it has no field for goes to `left`, by name."""
    kept: Json = {}
    made: list[AnyTool] = []
    for tool in tools:
        function = tool.function
        made.append(
            FunctionTool(
                name=function.name,
                description=or_none(function.description),
                parameters=or_none(function.parameters),
                strict=False,
            )
        )
        inner, outer = rest(function, "name", "description", "parameters"), rest(tool, "type", "function")
        inner |= nulls(function, "description")
        spelling: Json = {}
        if not given(function.parameters) or Rewritten(function.parameters).schema != function.parameters:
            spelling["parameters"] = sent(function.parameters)
        if tool.type != "function":
            outer[SPELLING] = {"type": sent(tool.type)}
        if spelling:
            outer[SPELLING] = {**as_object(outer.get(SPELLING)), **spelling}
        if inner:
            outer["function"] = inner
        if outer:
            kept[function.name] = outer
    if kept:
        left["tools"] = kept
    return made
