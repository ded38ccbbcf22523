"""Tools, their names and tool choices on wires and hosts that lack some of them; and the reversal of that in calls.

A namespace is sent as a prefix of names, a custom tool as a function with one text, and a choice by offering fewer tools
and by an instruction to the model: all of it is reported as emulated. Before changing this file, know that the reversal
needs the tools of the request (`sent_tools`): an answer that is decoded without its request has the names of the wire; that
a name is changed the same way every time, since calls of earlier turns have it; and that the same tools must give the same
bytes, since vendors cache tools first.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import msgspec
from msgspec import Raw, Struct

from ..losses import not_in
from ..responses.carriers import NAMES, digest
from ..responses.items import AdditionalTools, CustomToolCall, Direct, FunctionCall
from ..responses.tools import (
    ChooseAllowed,
    ChooseCustom,
    ChooseFunction,
    CustomTool,
    FunctionTool,
    Grammar,
    NamespaceTool,
    WebSearchPreviewTool,
    WebSearchPreviewTool20250311,
    WebSearchTool,
    WebSearchTool20250826,
)
from ..unknown import Opt, Unknown, given, or_none
from .leftovers import kind_of, report_unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from ..losses import Losses
    from ..responses.items import AnyItem
    from ..responses.request import Request
    from ..responses.tools import AnyTool, ToolChoice

T = TypeVar("T")
Call = FunctionCall | CustomToolCall

WebSearch = WebSearchTool | WebSearchTool20250826 | WebSearchPreviewTool | WebSearchPreviewTool20250311
"""Web search that the vendor runs, of any version."""
PLACE = ("city", "country", "region", "timezone")
"""The location of a search."""
Json = dict[str, Any]

INPUT: Json = {
    "type": "object",
    "properties": {"input": {"type": "string", "description": "The input, as plain text."}},
    "required": ["input"],
    "additionalProperties": False,
}
"""The parameters of a function that represents a custom tool."""

NO_PARAMETERS: Json = {"type": "object", "properties": {}}
"""The parameters of a function without any, where a wire requires them."""


# --- names -----------------------------------------------------------------------------------------------------------


class Naming(Protocol):
    """The function from a tool's name and namespace to its name on a wire."""

    def __call__(self, name: str, namespace: str | None = None) -> str: ...


def qualified(name: str, namespace: str | None = None) -> str:
    """The name of a tool on a wire without namespaces."""
    return f"{namespace}__{name}" if given(namespace) else name


@lru_cache(maxsize=1024)
def wire_name(name: str, namespace: str | None = None) -> str:
    """A tool name that most vendors support, never the same for two tools."""
    whole = f"{namespace}__{name}" if namespace else name
    return fitted_name(whole, r"[a-zA-Z0-9_-]{1,64}", r"[^a-zA-Z0-9_-]")


@lru_cache(maxsize=1024)
def sent_name(name: str, namespace: str | None = None) -> str:
    """A tool name that most vendors support; an empty one stays empty, so that it is rejected or restored."""
    return wire_name(name, namespace) if name else name


def fitted_name(name: str, legal: str, illegal: str) -> str:
    """The name if it matches the pattern `legal`, else without what is `illegal` and with a digest: 64 characters at most."""
    if re.fullmatch(legal, name):
        return name
    start = re.sub(illegal, "_", name)[:47]
    return f"{start if re.fullmatch(legal, start) else f'_{start[:46]}'}_{digest(name)}"


# --- tools ----------------------------------------------------------------------------------------------------------


Added = list[tuple[int, AdditionalTools]]
"""The items that add tools, each with its position."""


def added_tools(items: Sequence[AnyItem], start: int = 0) -> Added:
    """The items that add tools; there are none before `start`."""
    kinds: set[Any] = set(map(type, islice(items, start, None)))
    if AdditionalTools.type not in {kind.type for kind in kinds}:
        return []  # as in nearly all conversations
    return [(i, item) for i, item in enumerate(items) if isinstance(item, AdditionalTools)]


def offered_tools(request: Request, added: Added, lost: Losses) -> dict[str, AnyTool]:
    """The tools of a request by their paths and, on a wire that accepts tools only there, those that its items add."""
    offered = {f"tools[{i}]": tool for i, tool in enumerate(request.tools or ())}
    for i, item in added:
        report_unknown(item, f"input[{i}]", lost)
        lost.emulated(f"input[{i}]", "tools added later, offered from the beginning")
        offered |= {f"input[{i}].tools[{j}]": tool for j, tool in enumerate(item.tools)}
    return offered


def each_tool(tools: Mapping[str, AnyTool], lost: Losses) -> Iterator[tuple[AnyTool, str | None, str]]:
    """The tools one by one, each with its namespace and its path, on a wire without namespaces."""
    for path, tool in tools.items():
        if not isinstance(tool, Unknown):
            report_unknown(tool, path, lost)
        if tool.type != "namespace":
            yield tool, None, path
            continue
        lost.emulated(path, f"a namespace, whose tools are sent as {tool.name}__*")
        for j, inner in enumerate(tool.tools):
            if isinstance(inner, Unknown):
                lost.refused(f"{path}.tools[{j}]", f"a tool of type {inner.kind!r}")
            else:
                report_unknown(inner, f"{path}.tools[{j}]", lost)
                yield inner, tool.name, f"{path}.tools[{j}]"


def refuse_tool(tool: AnyTool, path: str, wire: str, lost: Losses) -> None:
    """Report a tool that a wire cannot offer."""
    lost.refused(path, not_in(f"a tool of type {kind_of(tool)!r}", NAMES[wire]))


def is_googles(tool: AnyTool, issuer: str) -> bool:
    """Whether it is a tool of Google alone; a host that nothing is known of may be a gateway to it."""
    return (
        isinstance(tool, Unknown)
        and tool.kind.startswith("google:")
        and not issuer.startswith(("compatible", "simulator"))
    )


def as_function(tool: FunctionTool | CustomTool, path: str, lost: Losses) -> FunctionTool:
    """A custom tool as a function with one text, whose grammar is in the description; a function unchanged."""
    if isinstance(tool, FunctionTool):
        return tool
    lost.emulated(path, "a custom tool, sent as a function with one text")
    report_format(tool, path, lost)
    description = tool.description
    if isinstance(tool.format, Grammar):
        lost.changed(f"{path}.format", "a grammar, which is only described to the model")
        grammar = f"The input follows this {tool.format.syntax} grammar:\n{tool.format.definition}"
        description = f"{description or ''}\n\n{grammar}".strip()
    elif isinstance(tool.format, Unknown):
        lost.dropped(f"{path}.format", f"a format of type {tool.format.kind!r}")
    return FunctionTool(
        name=tool.name,
        description=description,
        parameters=INPUT,
        strict=False,
        defer_loading=tool.defer_loading,
        allowed_callers=tool.allowed_callers,
    )


def report_format(tool: CustomTool, path: str, lost: Losses) -> None:
    """Report the undeclared fields of the format of a custom tool."""
    if tool.format is not None and not isinstance(tool.format, Unknown):
        report_unknown(tool.format, f"{path}.format", lost)


def report_names(names: Mapping[str, str | None], lost: Losses) -> None:
    """Reject a duplicate name, and an empty one; the names by path, `None` for a tool that needs none."""
    seen: set[str] = set()
    for path, name in names.items():
        if name is not None and (name in seen or not name):
            lost.refused(f"{path}.name", f"a second tool named {name}" if name else "a tool without a name")
        seen.add(name or "")


def report_name(
    sent: str, tool: FunctionTool | CustomTool, namespace: str | None, path: str, wire: str, lost: Losses
) -> None:
    """Report the name under which a tool is `sent`, where a wire does not support its own."""
    if sent != qualified(tool.name, namespace):
        lost.emulated(f"{path}.name", f"the tool is called {sent!r} in {NAMES[wire]}")


# --- tool choice ----------------------------------------------------------------------------------------------------

WORDS = ("auto", "none", "required")
CALL_ANY = "Call at least one of the tools before you answer."
CALL_ONE = "Call the tool {} before you answer."


class Chosen(Struct, Generic[T], frozen=True):
    """The encoded form of a choice among tools."""

    choice: ToolChoice | None
    """The choice itself, where the wire supports it."""
    tools: list[T]
    """The tools to offer."""
    note: str = ""
    """An instruction to the model."""


def choose(
    choice: ToolChoice | None,
    tools: list[T],
    name_of: Callable[[T], str | None],
    wire: str,
    lost: Losses,
    *,
    takes: Collection[str] = (),
    naming: Callable[[str], str] = str,
) -> Chosen[T]:
    """The choice if the wire `takes` it (`none required function custom allowed_tools`), else fewer tools and an instruction.

    `naming` gives the wire's name of a tool, `name_of` reads that name. An emulated choice does not guarantee a call.
    """
    name = NAMES[wire]
    match choice:
        case None | "auto":
            return Chosen(choice if "auto" in takes else None, tools)
        case str() if choice in takes or (takes and choice not in WORDS):
            return Chosen(choice, tools)
        case "none":
            lost.emulated("tool_choice", f"no tools are offered, since {name} cannot forbid tool calls")
            return Chosen(None, [])
        case "required":
            lost.emulated("tool_choice", f"the instructions require a tool call, since {name} cannot force one")
            return Chosen(None, tools, CALL_ANY)
        case str():
            lost.dropped("tool_choice", not_in(repr(choice), name))
        case ChooseFunction() | ChooseCustom():
            if ("custom" if isinstance(choice, ChooseCustom) and "custom" in takes else "function") in takes:
                return Chosen(choice, tools)
            sent = naming(choice.name)
            only = [tool for tool in tools if name_of(tool) == sent]
            if "required" in takes:
                lost.emulated("tool_choice", f"{choice.name!r} is the only tool offered")
                return Chosen("required", only)
            lost.emulated("tool_choice", f"only {choice.name!r} is offered, and the instructions require its call")
            return Chosen(None, only, CALL_ONE.format(sent))
        case ChooseAllowed():
            entries = allowed_tools(choice, lost)
            if "allowed_tools" in takes:
                return Chosen(choice, tools)
            lost.emulated("tool_choice", "only the allowed tools are offered")
            allowed = {naming(entry["name"]) for entry in entries}
            left = [tool for tool in tools if name_of(tool) in allowed]
            mode = choice.mode if given(choice.mode) else "auto"
            return choose(mode, left, name_of, wire, lost, takes=takes, naming=naming)
        case _:
            lost.refused("tool_choice", not_in("a tool of a vendor", name))
    return Chosen(None, tools)


def allowed_tools(choice: ChooseAllowed, lost: Losses) -> list[Json]:
    """The functions and custom tools that a choice allows; hosted tools are reported."""
    entries: list[Json] = []
    for j, entry in enumerate(choice.tools):
        if entry.get("type") in ("function", "custom") and isinstance(entry.get("name"), str):
            entries.append(entry)
        else:
            lost.dropped(f"tool_choice.tools[{j}]", "a tool of a vendor")
    return entries


# --- calls -----------------------------------------------------------------------------------------------------------

ONE_CALL = "it was an object in place of the list of calls"
"""The loss for a call that small models write in place of a list."""


def report_unsaid(item: Call, path: str, lost: Losses) -> None:
    """Report the fields of a call that a wire without namespaces, programs and background calls does not have."""
    if given(item.namespace):
        lost.emulated(f"{path}.namespace", f"a namespace, sent as the beginning of the name {item.namespace}__*")
    if given(item.caller) and not isinstance(item.caller, Direct):
        lost.dropped(f"{path}.caller", "which program made the call")
    if item.async_:
        lost.dropped(f"{path}.async", "that the call runs in the background")


def call_arguments(item: Call, path: str, lost: Losses) -> str:
    """The arguments of a call; of a custom tool's call, those of the function that represents the tool."""
    if item.type != "custom_tool_call":
        return item.arguments
    lost.emulated(path, "a call with free text, sent as a function with one text")
    return msgspec.json.encode({"input": item.input}).decode()


def object_arguments(text: str, path: str, lost: Losses) -> Raw:
    """The arguments of a call at `path` as a JSON object: empty text as an empty object, other text inside an object."""
    if not text.startswith("{"):
        text = text.strip()
        if text in ("", "null"):
            return Raw(b"{}")
    value = json_value(text) if text.startswith("{") else None
    if value is None:
        lost.changed(f"{path}.arguments", "not a JSON object; sent as the text of INVALID_JSON")
        value = Raw(msgspec.json.encode({"INVALID_JSON": text.encode("utf-8", "replace").decode()}))
    return value


_raw = msgspec.json.Decoder(Raw).decode


def json_value(text: str) -> Raw | None:
    """JSON text unchanged; `None` for any other text."""
    try:
        return _raw(text.encode("utf-8", "replace"))
    except (msgspec.MsgspecError, RecursionError):
        return None


class SentTool(Struct, frozen=True):
    """The tool of the request that a name on the wire represents."""

    name: str
    namespace: Opt[str]
    custom: bool


SentTools = dict[str, SentTool]
"""Those tools by their names on the wire."""


def sent_tools(request: Request | None, *, custom_tools: bool, naming: Naming = qualified) -> SentTools:
    """The tools by the names in the calls of an answer, where tools were sent with another name or type."""
    sent: SentTools = {}
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
                    sent[name] = SentTool(inner.name, space, custom)
    return sent


_TEXT_OF_INPUT = msgspec.json.Decoder(dict[str, str])


def restore_tool(item: Call, sent: SentTools, path: str, lost: Losses) -> Call:
    """The call with the name and the type that its tool has in the request."""
    original = sent.get(item.name)
    if original is None:
        return item
    item.name, item.namespace = original.name, or_none(original.namespace)
    if not original.custom or not isinstance(item, FunctionCall):
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
