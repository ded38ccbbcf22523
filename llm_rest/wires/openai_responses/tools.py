"""Conversion of tools, both ways: types that a host lacks, and names that no host supports (dots, spaces, over 64 characters).

Before changing this file, know that nearly every request needs no change, and is returned as the same object. Follows the
OpenAI Responses reference (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec.structs import replace

from ...responses.items import AdditionalTools, CustomToolCall, FunctionCall, FunctionCallOutput, Message
from ...responses.tools import ChooseAllowed, ChooseCustom, ChooseFunction, CustomTool, FunctionTool, NamespaceTool
from ...unknown import Unknown, given
from ..leftovers import kind_of, struct_of
from ..tools import added_tools, is_googles, refuse_tool, report_names, sent_name
from .types import WIRE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...losses import Losses
    from ...responses.items import AnyItem
    from ...responses.request import Request
    from ...responses.response import Response
    from ...responses.tools import AnyTool
    from ...vendors.dialects import ResponsesDialect

T = TypeVar("T")

# Tuples, because `isinstance(x, A | B)` builds the union anew for every item.
TOOLS = (FunctionTool, CustomTool)
CALLS = (FunctionCall, CustomToolCall, FunctionCallOutput)
NAMED: dict[type, tuple[str, ...]] = {
    **dict.fromkeys((FunctionTool, CustomTool, ChooseFunction, ChooseCustom), ("name",)),
    **dict.fromkeys(CALLS, ("name", "namespace")),
    **dict.fromkeys((AdditionalTools, ChooseAllowed), ("tools",)),
    NamespaceTool: ("name", "tools"),
    **dict.fromkeys((Message, str, type(None)), ()),
}
"""The fields with names of tools and namespaces, and with tools."""


def encode_tools(tools: Sequence[AnyTool], dialect: ResponsesDialect, lost: Losses) -> Sequence[AnyTool]:
    """The tools of types that the host supports, the same list if all are; duplicate names are rejected."""
    report_names({f"tools[{i}]": tool.name if isinstance(tool, TOOLS) else None for i, tool in enumerate(tools)}, lost)
    for i, tool in enumerate(tools):
        if is_googles(tool, dialect.issuer):
            refuse_tool(tool, f"tools[{i}]", WIRE, lost)
    if dialect.tools is None:
        return tools
    kinds = [tool.kind if isinstance(tool, Unknown) else kind_of(tool) for tool in tools]
    for i, kind in enumerate(kinds):
        if kind not in dialect.tools:
            lost.dropped(f"tools[{i}]", f"a tool of kind {kind}, which the host does not have")
    encoded = [tool for tool, kind in zip(tools, kinds, strict=True) if kind in dialect.tools]
    return encoded if len(encoded) < len(tools) else tools


# --- names ----------------------------------------------------------------------------------------------------------


def with_wire_names(request: Request, lost: Losses) -> Request:
    """The request with tool names that hosts support; the same object if all names are."""
    changes: dict[str, Any] = {}
    for i, tool in enumerate(request.tools or ()):
        if isinstance(tool, (*TOOLS, NamespaceTool)) and (name := sent_name(tool.name)) != tool.name:
            lost.emulated(f"tools[{i}].name", f"the tool is called {name!r} in Responses")
    if request.tools and (tools := _renamed_each(request.tools, sent_name)) is not request.tools:
        changes["tools"] = tools
    if (choice := renamed(request.tool_choice, sent_name)) is not request.tool_choice:
        changes["tool_choice"] = choice
    return replace(request, **changes) if changes else request


def names_of(request: Request | None) -> dict[str, str]:
    """The original names of the request's tools and namespaces, by the names sent."""
    if request is None:
        return {}
    groups = added_tools(request.input) if isinstance(request.input, list) else []
    offered = [*(request.tools or ()), *(tool for _, group in groups for tool in group.tools)]
    offered += [inner for tool in offered if isinstance(tool, NamespaceTool) for inner in tool.tools]
    names = [tool.name for tool in offered if isinstance(tool, (*TOOLS, NamespaceTool))]
    return {sent: name for name in names if (sent := sent_name(name)) != name}


def with_original_names(response: Response, request: Request, names: dict[str, str]) -> Response:
    """The response with the original names of the request, in its calls and in the fields that repeat the request."""
    changes: dict[str, Any] = {"output": [original(item, names) for item in response.output]}
    for name in ("tools", "tool_choice"):
        if given(getattr(response, name)):
            changes[name] = getattr(request, name)
    return replace(response, **changes)


def original(item: AnyItem, names: dict[str, str]) -> AnyItem:
    """The item with its tool's name in the request."""
    return renamed(item, lambda name: names.get(name, name)) if names and isinstance(item, CALLS) else item


def renamed(value: T, rename: Callable[[str], str]) -> T:
    """The tool, call, output or choice with other names in it; the same object if no name changes."""
    fields = NAMED.get(type(value))
    if fields is None:
        fields = NAMED.get(struct_of(value), ())
    changes: dict[str, Any] = {}
    for field in fields:
        old = getattr(value, field)
        new = _renamed_each(old, rename) if field == "tools" else rename(old) if old else old
        if new is not old and new != old:
            changes[field] = new
    return replace(cast("Any", value), **changes) if changes else value


def _renamed_each(values: Sequence[Any], rename: Callable[[str], str]) -> Sequence[Any]:
    made = [
        _renamed_entry(cast("Any", value), rename) if type(value) is dict else renamed(value, rename)
        for value in values
    ]
    return made if any(new is not old for new, old in zip(made, values, strict=True)) else values


def _renamed_entry(entry: dict[str, Any], rename: Callable[[str], str]) -> dict[str, Any]:
    """An entry of the allowed tools."""
    name = entry.get("name")
    if entry.get("type") not in ("function", "custom") or not isinstance(name, str) or rename(name) == name:
        return entry
    return {**entry, "name": rename(name)}
