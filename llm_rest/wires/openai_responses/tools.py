"""Names of tools that no host takes: with dots or spaces, or longer than 64 characters. They are changed, and changed back.

Before changing this file, know that nearly every request needs nothing of this, and passes as the same object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from ...responses.items import AdditionalTools, AnyItem, CustomToolCall, FunctionCall, FunctionCallOutput
from ...responses.tools import (
    AnyTool,
    ChooseAllowed,
    ChooseCustom,
    ChooseFunction,
    CustomTool,
    FunctionTool,
    NamespaceTool,
)
from ...unknown import given
from .._renamed import sent_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...losses import Losses
    from ...responses.request import Request
    from ...responses.response import Response

T = TypeVar("T")

# Tuples, because `isinstance(x, A | B)` builds the union anew for every item.
CALLS = (FunctionCall, CustomToolCall, FunctionCallOutput)
TOOLS = (FunctionTool, CustomTool)
CHOICES = (ChooseFunction, ChooseCustom)


def with_wire_names(request: Request, lost: Losses) -> Request:
    """The request with names that hosts take; the very same object where they take them all."""
    changes: dict[str, Any] = {}
    if request.tools:
        for i, tool in enumerate(request.tools):
            if isinstance(tool, (*TOOLS, NamespaceTool)) and (name := sent_name(tool.name)) != tool.name:
                lost.emulated(f"tools[{i}].name", f"the tool is called {name!r} in Responses")
        changes["tools"] = _each(request.tools, _tool)
    if isinstance(request.input, list):
        changes["input"] = _each(request.input, _item)
    if given(request.tool_choice):
        changes["tool_choice"] = _choice(request.tool_choice)
    changes = {name: value for name, value in changes.items() if value is not getattr(request, name)}
    return replace(request, **changes) if changes else request


def names_of(request: Request | None) -> dict[str, str]:
    """The names of the request's tools and namespaces, by those that were sent instead."""
    offered: list[AnyTool] = list((request.tools if request is not None else None) or ())
    if request is not None and isinstance(request.input, list):
        for item in request.input:
            if isinstance(item, AdditionalTools):
                offered += item.tools
    names = [tool.name for tool in offered if isinstance(tool, (*TOOLS, NamespaceTool))]
    groups = [tool.tools for tool in offered if isinstance(tool, NamespaceTool)]
    names += [one.name for tools in groups for one in tools if isinstance(one, TOOLS)]
    return {sent: name for name in names if (sent := sent_name(name)) != name}


def with_original_names(response: Response, request: Request, names: dict[str, str]) -> Response:
    """The response with the names that the request has, in its calls and in what it repeats of the request."""
    changes: dict[str, Any] = {"output": [original(item, names) for item in response.output]}
    for name in ("tools", "tool_choice"):
        if given(getattr(response, name)):
            changes[name] = getattr(request, name)
    return replace(response, **changes)


def original(item: AnyItem, names: dict[str, str]) -> AnyItem:
    """The item with the name that its tool has in the request."""
    if not isinstance(item, CALLS) or not (item.name in names or item.namespace in names):
        return item
    name, space = item.name, item.namespace
    return replace(item, name=names.get(name or "", name), namespace=names.get(space or "", space))


def _each(values: Sequence[T], convert: Callable[[T], T]) -> Sequence[T]:
    made = [convert(value) for value in values]
    return values if all(map(_same, made, values)) else made


def _same(one: object, other: object) -> bool:
    return one is other


def _tool(tool: Any) -> Any:
    if not isinstance(tool, (*TOOLS, NamespaceTool)):
        return tool
    name = sent_name(tool.name)
    if isinstance(tool, NamespaceTool):
        inner = _each(tool.tools, _tool)
        return tool if name == tool.name and inner is tool.tools else replace(tool, name=name, tools=inner)
    return tool if name == tool.name else replace(tool, name=name)


def _item(item: Any) -> Any:
    if isinstance(item, CALLS):
        name = sent_name(item.name) if item.name else item.name
        space = sent_name(item.namespace) if item.namespace else item.namespace
        same = name == item.name and space == item.namespace
        return item if same else replace(item, name=name, namespace=space)
    if isinstance(item, AdditionalTools):
        tools = _each(item.tools, _tool)
        return item if tools is item.tools else replace(item, tools=tools)
    return item


def _choice(choice: Any) -> Any:
    if isinstance(choice, CHOICES):
        name = sent_name(choice.name)
        return choice if name == choice.name else replace(choice, name=name)
    if isinstance(choice, ChooseAllowed):
        tools = _each(choice.tools, _entry)
        return choice if tools is choice.tools else replace(choice, tools=tools)
    return choice


def _entry(entry: dict[str, Any]) -> dict[str, Any]:
    name = entry.get("name")
    if entry.get("type") not in ("function", "custom") or not isinstance(name, str) or sent_name(name) == name:
        return entry
    return {**entry, "name": sent_name(name)}
