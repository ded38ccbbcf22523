"""Tool names that a wire does not support, and custom tools sent as functions; and the reversal of both in calls.

For names that a wire rejects, wires without namespaces, and hosts without custom tools. Before changing this file, know
that the reversal needs the tools of the request: an answer that is decoded without its request has the names of the
wire. A name is changed the same way every time, since calls of earlier turns have it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec import Struct

from ..responses.carriers import digest
from ..responses.items import AdditionalTools, CustomToolCall, Direct, FunctionCall
from ..responses.tools import CustomTool, FunctionTool, NamespaceTool
from ..unknown import Opt, given, or_none

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..losses import Losses
    from ..responses.items import AnyItem
    from ..responses.request import Request

Call = FunctionCall | CustomToolCall

_TEXT_OF_INPUT = msgspec.json.Decoder(dict[str, str])


class Naming(Protocol):
    """The function from a tool's name and namespace to its name on a wire."""

    def __call__(self, name: str, namespace: str | None = None) -> str: ...


class Sent(Struct, frozen=True):
    """The tool of the request that a name on the wire represents."""

    name: str
    namespace: Opt[str]
    custom: bool


def qualified(name: str, namespace: str | None = None) -> str:
    """The name of a tool on a wire without namespaces."""
    return f"{namespace}__{name}" if given(namespace) else name


@lru_cache(maxsize=1024)
def wire_name(name: str, namespace: str | None = None) -> str:
    """A tool name that most vendors support, never the same for two tools."""
    whole = f"{namespace}__{name}" if namespace else name
    return fitted_name(whole, r"[a-zA-Z0-9_-]{1,64}", r"[^a-zA-Z0-9_-]")


def sent_name(name: str, namespace: str | None = None) -> str:
    """A tool name that most vendors support; an empty one stays empty, so that it is rejected or restored."""
    return wire_name(name, namespace) if name else name


def fitted_name(name: str, legal: str, illegal: str) -> str:
    """The name if it matches the pattern `legal`, else without what is `illegal` and with a digest: 64 characters at most."""
    if re.fullmatch(legal, name):
        return name
    start = re.sub(illegal, "_", name)[:47]
    return f"{start if re.fullmatch(legal, start) else f'_{start[:46]}'}_{digest(name)}"


Added = list[tuple[int, AdditionalTools]]
"""The items that add tools, each with its position."""


def added_tools(items: Sequence[AnyItem], start: int = 0) -> Added:
    """The items that add tools; there are none before `start`."""
    kinds = set(map(type, islice(items, start, None)))
    if not any(issubclass(kind, AdditionalTools) for kind in kinds):  # as in nearly all conversations
        return []
    return [(i, item) for i, item in enumerate(items) if isinstance(item, AdditionalTools)]


def names_sent(request: Request | None, *, custom_tools: bool, naming: Naming = qualified) -> dict[str, Sent]:
    """The tools by the names in the calls of an answer, where tools were sent with another name or type."""
    sent: dict[str, Sent] = {}
    if request is None:
        return sent
    offered = list(request.tools or ())
    for _, item in added_tools(request.input) if isinstance(request.input, list) else ():
        offered += item.tools
    for tool in offered:
        space = tool.name if isinstance(tool, NamespaceTool) else None
        for inner in tool.tools if isinstance(tool, NamespaceTool) else (tool,):
            if isinstance(inner, FunctionTool | CustomTool):
                name, custom = naming(inner.name, space), isinstance(inner, CustomTool) and not custom_tools
                if custom or name != inner.name:
                    sent[name] = Sent(inner.name, space, custom)
    return sent


def report_unsaid(item: Call, path: str, lost: Losses) -> None:
    """Report the fields of a call that a wire without namespaces, programs and background calls does not have."""
    if given(item.namespace):
        lost.emulated(f"{path}.namespace", f"a namespace, sent as the beginning of the name {item.namespace}__*")
    if given(item.caller) and not isinstance(item.caller, Direct):
        lost.dropped(f"{path}.caller", "which program made the call")
    if item.async_:
        lost.dropped(f"{path}.async", "that the call runs in the background")


def undo(item: Call, sent: dict[str, Sent], path: str, lost: Losses) -> Call:
    """The call with the name and the type that its tool has in the request."""
    meant = sent.get(item.name)
    if meant is None:
        return item
    item.name, item.namespace = meant.name, or_none(meant.namespace)
    if not meant.custom or not isinstance(item, FunctionCall):
        return item
    try:
        text = _TEXT_OF_INPUT.decode(item.arguments)["input"]
    except (msgspec.MsgspecError, KeyError):
        lost.changed(path, "arguments without the text property, used as the text")
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
