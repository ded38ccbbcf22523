"""Tools the caller runs: functions, custom tools and namespaces, and the custom tools of this wire they become.

Follows Anthropic's page on defining tools (read 2026-11-20).
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from ... import responses as ours
from ...dialects import MessagesModel
from ...losses import Losses
from ...unknown import Opt, Unknown, given
from . import types
from .calls import wire_name
from .carried import rest
from .content import Context
from .schema import fitted

KEPT = ("cache_control", "input_examples", "eager_input_streaming", "max_uses", "response_inclusion")
"""Fields of tools that Responses has no word for."""


def encode_function(tool: ours.FunctionTool, namespace: str, path: str, context: Context) -> types.Tool:
    """A function as a tool of this wire."""
    parameters: ours.Schema = tool.parameters if given(tool.parameters) else {"type": "object", "properties": {}}
    if parameters.get("type") != "object":
        parameters = {"properties": {}, **parameters, "type": "object"}
        context.lost.changed(f"{path}.parameters", "arguments are an object on this wire")
    name = wire_name(tool.name, namespace)
    if name != tool.name and not namespace:
        context.lost.emulated(f"{path}.name", f"the tool is called {name!r} on this wire")
    encoded = types.Tool(
        name=name,
        description=tool.description if given(tool.description) else UNSET,
        input_schema=parameters,
        defer_loading=tool.defer_loading,
        allowed_callers=encode_callers(tool.allowed_callers, context.model),
    )
    if tool.strict:
        if _enforceable(parameters):
            encoded.strict = True
        else:
            context.lost.changed(
                f"{path}.strict", "the schema is beyond what this wire enforces; the tool is not strict"
            )
    if tool.output_schema:
        context.lost.dropped(f"{path}.output_schema", "a tool of this wire does not describe what it gives")
    _only_waited_for(tool, path, context)
    return encoded


def decode_function(
    tool: types.Tool, name: str, model: MessagesModel
) -> tuple[ours.FunctionTool, dict[str, Any], dict[str, Any]]:
    """A tool of this wire as a function, the fields that has no word for, and how it was spelled."""
    function = ours.FunctionTool(
        name=name,
        description=tool.description,
        parameters=tool.input_schema,
        strict=bool(tool.strict),
        defer_loading=tool.defer_loading,
        allowed_callers=decode_callers(tool.allowed_callers),
    )
    return (
        function,
        rest(tool, KEPT),
        spelled_callers(tool, model) | rest(tool, ("type",) if tool.strict else ("type", "strict")),
    )


def encode_custom(tool: ours.CustomTool, namespace: str, path: str, context: Context) -> types.Tool:
    """A custom tool as a function that takes one text."""
    text = {"type": "string", "description": "The input, as plain text."}
    context.lost.emulated(path, "a custom tool is offered as a function with one text, `input`")
    if isinstance(tool.format, ours.Grammar | Unknown):
        context.lost.dropped(f"{path}.format", "this wire enforces no grammar")
    _only_waited_for(tool, path, context)
    return types.Tool(
        name=wire_name(tool.name, namespace),
        description=tool.description if given(tool.description) else UNSET,
        input_schema={
            "type": "object",
            "properties": {"input": text},
            "required": ["input"],
            "additionalProperties": False,
        },
        defer_loading=tool.defer_loading,
        allowed_callers=encode_callers(tool.allowed_callers, context.model),
    )


def encode_namespace(tool: ours.NamespaceTool, path: str, context: Context) -> list[types.Tool]:
    """The tools of a namespace one by one, each under both names."""
    context.lost.emulated(path, "the tools of a namespace are offered one by one, under its name and theirs")
    found: list[types.Tool] = []
    for j, inner in enumerate(tool.tools):
        match inner:
            case ours.FunctionTool():
                found.append(encode_function(inner, tool.name, f"{path}.tools[{j}]", context))
            case ours.CustomTool():
                found.append(encode_custom(inner, tool.name, f"{path}.tools[{j}]", context))
            case Unknown():
                context.lost.refused(
                    f"{path}.tools[{j}]", f"a tool of type {inner.type!r}, which this wire does not know"
                )
    return found


def _enforceable(parameters: ours.Schema) -> bool:
    changes = Losses()
    fitted(parameters, changes, "")
    return not changes


def _only_waited_for(tool: ours.FunctionTool | ours.CustomTool, path: str, context: Context) -> None:
    if tool.async_:
        context.lost.dropped(f"{path}.async", "calls are waited for on this wire")


# --- who may call ---------------------------------------------------------------------------------------------------


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


def spelled_callers(tool: types.Tool, model: MessagesModel) -> dict[str, Any]:
    """The callers of a tool where encoding would name another version."""
    callers = tool.allowed_callers
    return rest(tool, ("allowed_callers",)) if callers != encode_callers(decode_callers(callers), model) else {}
