"""Tools that a wire knows under other names, or as functions although they are custom tools; and their calls, undone.

For wires without namespaces, and hosts without custom tools. Before changing this file, know that the tools of the request
are all there is to undo it by: an answer that is decoded without its request keeps the names it came with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import UNSET

from ..responses.items import CustomToolCall, Direct, FunctionCall
from ..responses.tools import CustomTool, FunctionTool, NamespaceTool
from ..unknown import Opt, given

if TYPE_CHECKING:
    from ..losses import Losses
    from ..responses.request import Request

Call = FunctionCall | CustomToolCall

_TEXT_OF_INPUT = msgspec.json.Decoder(dict[str, str])


class Sent(NamedTuple):
    """Which tool of the request a name on the wire stands for."""

    name: str
    namespace: Opt[str]
    custom: bool


def qualified(name: str, namespace: Opt[str]) -> str:
    """The name of a tool on a wire without namespaces."""
    return f"{namespace}__{name}" if given(namespace) else name


def names_sent(request: Request | None, *, custom_tools: bool) -> dict[str, Sent]:
    """What the names in the calls of an answer stand for, where tools were sent under another name or as another kind."""
    sent: dict[str, Sent] = {}
    for tool in (request.tools if request is not None else None) or ():
        space = tool.name if isinstance(tool, NamespaceTool) else UNSET
        for inner in tool.tools if isinstance(tool, NamespaceTool) else (tool,):
            custom = isinstance(inner, CustomTool) and not custom_tools
            if isinstance(inner, FunctionTool | CustomTool) and (custom or given(space)):
                sent[qualified(inner.name, space)] = Sent(inner.name, space, custom)
    return sent


def report_unsaid(item: Call, path: str, lost: Losses) -> None:
    """Report what a wire without namespaces, programs and background calls does not say about a call."""
    if given(item.namespace):
        lost.emulated(f"{path}.namespace", f"a namespace, sent as the beginning of the name {item.namespace}__*")
    if given(item.caller) and not isinstance(item.caller, Direct):
        lost.dropped(f"{path}.caller", "which program made the call")
    if item.async_:
        lost.dropped(f"{path}.async", "that the call runs in the background")


def undo(item: Call, sent: dict[str, Sent], path: str, lost: Losses) -> Call:
    """The call under the name, and of the kind, that its tool has in the request."""
    meant = sent.get(item.name)
    if meant is None:
        return item
    item.name, item.namespace = meant.name, meant.namespace
    if not meant.custom or not isinstance(item, FunctionCall):
        return item
    try:
        text = _TEXT_OF_INPUT.decode(item.arguments)["input"]
    except (msgspec.MsgspecError, KeyError):
        lost.changed(path, "arguments without the text that was asked for, taken as the text")
        text = item.arguments
    return CustomToolCall(
        id=item.id,
        status=item.status,
        call_id=item.call_id,
        name=item.name,
        namespace=item.namespace,
        input=text,
        leftovers=item.leftovers,
    )
