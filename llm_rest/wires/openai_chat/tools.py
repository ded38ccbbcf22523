"""Tools, tool choice and calls, both ways: nested here, flat in Responses; web search is an option here, a tool there.

Without `strict` a Responses host tries strict decoding and falls back where the schema does not allow it; here it means
not strict: so an absent `strict` is decided by the schema in encoding and becomes false in decoding. Tool choice and
parallel calls are sent only with tools, since hosts reject them alone. Before changing this file, know that every
emulation is reversed for calls in answers (`sent_tools`), that a call and its output are linked by the id
alone, and that a choice of a hosted tool is rejected, since without it another tool would run. Follows the Chat
Completions reference, its legacy `functions`, and OpenAI's guide to structured outputs (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeGuard, cast

import msgspec
from msgspec import UNSET

from ... import responses as ours
from ...losses import Losses, no_such
from ...responses.carriers import digest
from ...responses.lenient import derived_call_id, repair_call
from ...responses.tools import doubtful, is_closed
from ...unknown import Opt, Unknown, convert, given, or_none, or_unset, with_extras
from ..kept import item_leftovers, patch, unknown
from ..leftovers import as_plain, built, carrier, present
from ..options import report_missing
from ..tools import (
    NO_PARAMETERS,
    PLACE,
    Added,
    Call,
    Naming,
    WebSearch,
    allowed_tools,
    as_function,
    call_arguments,
    choose,
    each_tool,
    is_googles,
    offered_tools,
    qualified,
    refuse_tool,
    report_format,
    report_name,
    report_names,
    report_unsaid,
    sent_name,
)
from . import types
from .hosts import came_from, host_leftovers, with_host
from .reasoning import CallState
from .types import FUNCTIONS, WIRE, AssistantFields, Json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...vendors.dialects import ChatDialect

DROPPED = ("defer_loading", "allowed_callers", "output_schema", "async_")
"""Options of a tool that this wire does not have."""

WORDS = {"any": "required"}
"""Aliases of tool choices at some hosts; encoding prefers OpenAI's value, except in the host's own document."""

EMPTY = ("", "null")
"""The values for no arguments that hosts send, beside leaving them out."""

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def name_of(tool: types.Tool) -> str | None:
    """The name of a function or custom tool; a tool of the host has none."""
    named = tool.function or tool.custom
    return named.name if named else None


def is_search(tool: ours.AnyTool) -> TypeGuard[ours.WebSearchTool]:
    """Whether the tool is the vendor's web search, of any version."""
    return isinstance(tool, WebSearch)


# --- the tools of a request -----------------------------------------------------------------------------------------


def encode_offer(
    request: ours.Request,
    added: Added,
    body: types.Request,
    used: Sequence[str],
    dialect: ChatDialect,
    lost: Losses,
    naming: Naming = sent_name,
) -> str:
    """Set the tools, the tool choice and the option of parallel calls; `used` names the older fields.

    Returns an instruction to the model about them.
    """
    offered = offered_tools(request, added, lost)
    tools = encode_tools(offered, dialect, lost, naming)
    body.web_search_options = _encode_search(offered, request.model, "web_search_options" in used, dialect, lost)
    if not tools:
        if request.tool_choice is not None and request.tool_choice != "auto":
            lost.dropped("tool_choice", "a choice among no tools")
        if request.parallel_tool_calls is not None:
            lost.dropped("parallel_tool_calls", "a tool choice without tools")
        return ""
    takes = dialect.tool_choices
    if not dialect.custom_tools:
        takes = tuple(kind for kind in takes if kind != "custom")
    chosen = choose(request.tool_choice, tools, name_of, WIRE, lost, takes=takes, naming=naming)
    if not chosen.tools:
        return ""
    body.parallel_tool_calls = or_unset(request.parallel_tool_calls)
    choice = _encode_choice(chosen.choice, dialect, lost, naming)
    functions = [tool.function for tool in chosen.tools if given(tool.function)]
    if FUNCTIONS in used and len(functions) == len(chosen.tools) and not isinstance(choice, dict):
        body.functions = functions
        body.function_call = or_unset(choice.function) if isinstance(choice, types.ToolChoice) else choice
    else:
        body.tools, body.tool_choice = chosen.tools, choice
    return chosen.note


def decode_offer(body: types.Request, request: ours.Request, lost: Losses) -> list[int]:
    """Decode the tools in any of their forms, and the tool choice; returns the indices of those not decoded."""
    legacy = [types.Tool(type="function", function=each) for each in body.functions or ()]
    found = [_decode_tool(tool, f"tools[{i}]", lost) for i, tool in enumerate([*(body.tools or ()), *legacy])]
    tools = [tool for tool in found if tool is not None]
    if given(body.web_search_options):
        tools.append(_decode_search(body.web_search_options))
    if tools:
        request.tools = tools
        request.parallel_tool_calls = or_none(body.parallel_tool_calls)
        if choice := body.function_call if body.functions else body.tool_choice:
            request.tool_choice = _decode_choice(choice, "function_call" if body.functions else "tool_choice", lost)
    return [i for i, tool in enumerate(found) if tool is None]


# --- tools ----------------------------------------------------------------------------------------------------------


def encode_tools(
    tools: Mapping[str, ours.AnyTool], dialect: ChatDialect, lost: Losses, naming: Naming = sent_name
) -> list[types.Tool]:
    """The tools that this wire supports."""
    made: dict[str, types.Tool] = {}
    for tool, namespace, path in each_tool(tools, lost):
        if isinstance(tool, (ours.FunctionTool, ours.CustomTool)):
            made[path] = _encode_tool(tool, namespace, dialect, path, lost, naming)
        elif isinstance(tool, Unknown) and not is_googles(tool, dialect.issuer):
            # A tool of the host, which callers may write in the host's format.
            declared = {name: value for name, value in tool.items() if name in types.Tool.__struct_fields__}
            try:
                others = {name: value for name, value in tool.items() if name not in declared}
                made[path] = with_extras(convert(declared, types.Tool), others)
            except msgspec.ValidationError:
                refuse_tool(tool, path, WIRE, lost)
        elif not is_search(tool):  # which becomes an option of the request
            refuse_tool(tool, path, WIRE, lost)
    report_names({path: name_of(tool) for path, tool in made.items()}, lost)
    return [*made.values()]


def _encode_tool(
    tool: ours.FunctionTool | ours.CustomTool,
    namespace: str | None,
    dialect: ChatDialect,
    path: str,
    lost: Losses,
    naming: Naming,
) -> types.Tool:
    report_missing(tool, WIRE, lost, dropped=DROPPED, path=path)
    name = naming(tool.name, namespace)
    report_name(name, tool, namespace, path, WIRE, lost)
    if isinstance(tool, ours.CustomTool) and dialect.custom_tools:
        report_format(tool, path, lost)
        return _encode_custom(tool, name)
    source = as_function(tool, path, lost)
    usual: Opt[Json] = NO_PARAMETERS if dialect.needs_parameters else UNSET
    function = types.Function(
        name=name,
        description=or_unset(source.description),
        parameters=source.parameters if given(source.parameters) else usual,
        strict=source.strict or UNSET,
    )
    if source.strict and not dialect.strict_tools:
        lost.dropped(f"{path}.strict", "strict arguments, which this host does not promise")
        function.strict = UNSET
    elif not given(source.strict) and _strict_unasked(source.parameters, path, lost) and dialect.strict_tools:
        function.strict = True
    return types.Tool(type="function", function=function)


def _encode_custom(tool: ours.CustomTool, name: str) -> types.Tool:
    custom = types.Custom(name=name, description=or_unset(tool.description))
    match tool.format:
        case ours.Grammar(definition=definition, syntax=syntax):
            custom.format = types.GrammarFormat(grammar=types.Grammar(definition=definition, syntax=syntax))
        case ours.TextGrammar():
            custom.format = types.TextFormat()
        case other:
            custom.format = or_unset(other)
    return types.Tool(type="custom", custom=custom)


def _strict_unasked(schema: ours.Schema | None, path: str, lost: Losses) -> bool:
    """Whether a Responses host would decode strictly by default: if every object is closed."""
    # Most schemas are open at the top, and then no further check is needed.
    if not schema or schema.get("additionalProperties") is not False or not is_closed(schema):
        return False
    if found := doubtful(schema):
        lost.changed(f"{path}.strict", f"strictness was left open, and is off because of {', '.join(found)}")
    return not found


def _decode_tool(tool: types.Tool, path: str, lost: Losses) -> ours.AnyTool | None:
    """The tool in the Responses format; `None` for one without its object."""
    if tool.type in ("function", UNSET, None) and given(function := tool.function):
        return ours.FunctionTool(
            name=function.name,
            description=or_none(function.description),
            parameters=or_none(function.parameters),
            strict=function.strict is True,
        )
    if tool.type == "custom" and given(custom := tool.custom):
        made = ours.CustomTool(name=custom.name, description=or_none(custom.description))
        match custom.format:
            case types.GrammarFormat(grammar=grammar):
                made.format = ours.Grammar(definition=grammar.definition, syntax=grammar.syntax)
            case types.TextFormat():
                made.format = ours.TextGrammar()
            case other:
                made.format = or_none(other)
        return made
    if tool.type in ("function", "custom", "", UNSET, None):
        lost.refused(path, f"a tool without its `{tool.type or 'function'}` object")
        return None
    return Unknown(as_plain(tool))


# --- web search -----------------------------------------------------------------------------------------------------


def _encode_search(
    tools: Mapping[str, ours.AnyTool], model: str | None, own_form: bool, dialect: ChatDialect, lost: Losses
) -> Opt[types.WebSearchOptions]:
    """The option for a web search tool, on models that support it; `own_form`: it came in that form."""
    options: Opt[types.WebSearchOptions] = UNSET
    for path, tool in tools.items():
        if not is_search(tool):
            continue
        if not own_form and not (model and model.startswith(dialect.search_models)):
            lost.refused(path, "web search, which this model does not support in Chat Completions")
            continue
        for name in ("filters", "external_web_access", "search_content_types"):
            if given(getattr(tool, name)):
                lost.dropped(f"{path}.{name}", no_such("option", "Chat Completions"))
        options = types.WebSearchOptions(search_context_size=or_unset(tool.search_context_size))
        if given(where := tool.user_location):
            place = types.Location(**{name: or_unset(getattr(where, name)) for name in PLACE})
            options.user_location = types.UserLocation(type=or_unset(where.type), approximate=place)
    return options


def _decode_search(options: types.WebSearchOptions) -> ours.WebSearchTool:
    """The web search tool for the option."""
    tool = ours.WebSearchTool(search_context_size=or_none(options.search_context_size))
    if given(where := options.user_location):
        near = where.approximate
        place: Json = {name: or_none(getattr(near, name)) for name in PLACE} if given(near) else {}
        tool.user_location = ours.UserLocation(type=or_none(where.type), **place)
    return tool


# --- tool choice ----------------------------------------------------------------------------------------------------


def _encode_choice(
    choice: ours.ToolChoice | None, dialect: ChatDialect, lost: Losses, naming: Naming
) -> Opt[str | types.ToolChoice]:
    """A tool choice that the host supports."""
    match choice:
        case None | str():
            return choice or UNSET
        case ours.ChooseFunction(name=chosen) | ours.ChooseCustom(name=chosen):
            kind = "custom" if isinstance(choice, ours.ChooseCustom) and dialect.custom_tools else "function"
            if kind == "function" and isinstance(choice, ours.ChooseCustom):
                lost.emulated("tool_choice", f"the custom tool {chosen!r}, chosen as the function it was sent as")
            named: Json = {kind: types.Named(name=naming(chosen, None))}
            return types.ToolChoice(type=kind, **named)
        case ours.ChooseAllowed():
            entries = [
                {"type": entry["type"], entry["type"]: {"name": naming(entry["name"], None)}}
                for entry in allowed_tools(choice, Losses())
            ]
            return types.ToolChoice(
                type="allowed_tools", allowed_tools=types.AllowedTools(mode=choice.mode or "auto", tools=entries)
            )
        case _:
            return cast("types.ToolChoice", choice)


def _decode_choice(choice: str | types.Named | types.ToolChoice, field: str, lost: Losses) -> ours.ToolChoice | None:
    """The tool choice in the Responses format; `None` for one without its object."""
    if isinstance(choice, str):
        return WORDS.get(choice, choice)
    if isinstance(choice, types.Named):
        return ours.ChooseFunction(name=choice.name)
    if given(choice.function):
        return ours.ChooseFunction(name=choice.function.name)
    if given(choice.custom):
        return ours.ChooseCustom(name=choice.custom.name)
    if given(allowed := choice.allowed_tools) and given(allowed.tools):
        return ours.ChooseAllowed(tools=[_flat(entry) for entry in allowed.tools], mode=or_none(allowed.mode))
    if choice.type in ("function", "custom", "allowed_tools"):
        lost.refused(field, f"a choice without its `{choice.type}` object")
        return None
    return Unknown(as_plain(choice))


def _flat(entry: Json) -> Json:
    inner = entry.get(str(entry.get("type")))
    return {"type": entry["type"], **cast("Json", inner)} if isinstance(inner, dict) else entry


# --- calls ----------------------------------------------------------------------------------------------------------


def fit_call_id(call_id: str, dialect: ChatDialect) -> str:
    """The id of a call for the host: the same if it is supported, else always the same replacement."""
    if not dialect.exact_call_id:
        return call_id if 0 < len(call_id) <= dialect.longest_call_id else f"call_{digest(call_id)}"
    if len(call_id) == dialect.longest_call_id and call_id.isascii() and call_id.isalnum():
        return call_id
    number, short = int(digest(call_id), 16), ""
    for _ in range(dialect.longest_call_id):
        number, digit = divmod(number, len(_DIGITS))
        short += _DIGITS[digit]
    return short


def encode_call(
    item: Call, dialect: ChatDialect, i: int, lost: Losses, field: Literal["input", "output"] = "input"
) -> types.ToolCall:
    """The call at index `i` in this wire's format. In an `output` its id and name are for a client, which accepts any."""
    if field == "input":
        call_id, name = item.call_id, sent_name(item.name, item.namespace)
        if not (item.leftovers and came_from(item.leftovers, dialect.issuer)):  # else the host's own id
            call_id = fit_call_id(item.call_id, dialect)
        if call_id != item.call_id:
            lost.changed(f"input[{i}].call_id", f"an id this host does not support, sent as {call_id}")
    else:
        call_id, name = item.call_id, qualified(item.name, item.namespace)
    if item.namespace or item.caller or item.async_:
        report_unsaid(item, f"{field}[{i}]", lost)
    if isinstance(item, ours.CustomToolCall) and dialect.custom_tools:
        made = types.ToolCall(id=call_id, type="custom", custom=types.CustomBody(name=name, input=item.input))
    else:
        text = item.arguments if isinstance(item, ours.FunctionCall) else call_arguments(item, f"{field}[{i}]", lost)
        made = types.ToolCall(id=call_id, type="function", function=types.FunctionBody(name=name, arguments=text))
    if not item.leftovers:
        return made
    left = item_leftovers(item, WIRE)
    return patch(made, left if field == "output" else host_leftovers(left, dialect.issuer, f"input[{i}]", lost))


def decode_call(
    call: types.ToolCall,
    dialect: ChatDialect,
    origin: str,
    position: int,
    path: str,
    lost: Losses,
    *,
    legacy: bool = False,
) -> Call:
    """The call as an item. `origin` names the document and `position` the place in it, for an id if the call has none.

    `path` is that of the message.
    """
    body = call.function
    text = body.arguments if body and call.type == "function" else None
    call_id = call.id if isinstance(call.id, str) and call.id != "null" else ""
    if body and body.name and call_id and isinstance(text, str) and text not in EMPTY:
        item: Call = ours.FunctionCall(call_id=call_id, name=body.name, arguments=text)
    else:
        plain = _plain(call)
        if dialect.untyped_calls and call.type is UNSET:
            plain["type"] = "function"
        found = repair_call(plain, call_id=derived_call_id(origin, position), nested=True)
        for fault in found.faults[1:] if legacy else found.faults:  # a call in the legacy form has no id
            lost.changed(f"{path}.function_call" if legacy else f"{path}.tool_calls[{position}]", fault)
        item = found.item()
    has_more = type(call) is not types.ToolCall or type(body) is not types.FunctionBody
    left = unknown(call) if has_more else {}
    if left or fit_call_id(item.call_id, dialect) != item.call_id:
        item.leftovers = {WIRE: with_host(left, dialect.issuer)}
    return item


def add_call(
    msg: AssistantFields,
    item: Call,
    made: types.ToolCall,
    attached: dict[str, Json],
    missing: Json,
    *,
    legacy: bool = False,
) -> None:
    """Add the call `made` of `item` with the state its host `attached` to it; the first has that for a `missing` one.

    The first call of a `legacy` message is its `function_call`.
    """
    if legacy and given(made.function) and not (msg.function_call or msg.tool_calls):
        msg.function_call = made.function
        return
    if item.call_id in attached:
        made.extra_content = attached.pop(item.call_id)
    elif missing and not msg.tool_calls:
        made.extra_content = missing
    if isinstance(msg.tool_calls, list):
        msg.tool_calls.append(made)
    else:
        msg.tool_calls = [made]


def call_state(call: types.ToolCall, call_id: str, dialect: ChatDialect) -> list[ours.AnyItem]:
    """A carrier of the host's state of a call, before the call itself."""
    if not call.extra_content or call.extra_content == dialect.missing_call_state:
        return []
    return [carrier(CallState(call_id=call_id, extra_content=call.extra_content), WIRE, dialect.issuer)]


def json_text(value: types.JsonValue) -> str:
    """The JSON text of a value that a host sent in its place."""
    return msgspec.json.encode(value).decode()


def _plain(call: types.ToolCall) -> Json:
    """The call as plain values, with the arguments unchanged."""
    plain: Json = {}
    for name in ("id", "type", "name", "arguments"):
        if (value := getattr(call, name)) is not UNSET:
            plain[name] = value
    if given(call.function):
        plain["function"] = {"name": call.function.name, "arguments": call.function.arguments}
    if given(call.custom) and call.type != "function":
        plain["custom"] = {"name": call.custom.name, "input": call.custom.input}
    return plain


# --- streamed calls --------------------------------------------------------------------------------------------------


class MergedCall:
    """The merged pieces of a call."""

    __slots__ = ("arguments", "custom", "fields", "inner", "legacy", "name", "pieces")

    def __init__(self, *, legacy: bool = False) -> None:
        self.legacy = legacy
        self.fields: Json = {}
        self.inner: Json = {}  # of its function, or of its custom tool
        self.name = ""
        self.custom = False
        self.pieces: list[str] = []
        self.arguments: Any = UNSET  # sent whole and not as text

    def add(self, piece: types.ToolCall) -> str:
        """Add a piece; returns the text it adds to the arguments."""
        body = piece.custom if given(piece.custom) else piece.function if given(piece.function) else piece
        for name, value in present(piece, "function", "custom", "name", "arguments").items():
            if name not in types.ToolCall.__struct_fields__ or (
                given(value) and value != "" and not (name == "index" and name in self.fields)
            ):
                self.fields[name] = value
        self.custom = self.custom or given(piece.custom)
        if body is not piece:
            self.inner |= present(body, "name", "arguments", "input")
        # Some hosts send the name in pieces, most repeat it or send an empty one.
        if body.name and body.name != self.name:
            self.name = body.name if not self.name or body.name.startswith(self.name) else self.name + body.name
        text = body.input if isinstance(body, types.CustomBody) else body.arguments
        if isinstance(text, str):
            self.pieces.append(text)
            return text
        if given(text):
            self.arguments = text
        return ""

    @property
    def id(self) -> str | None:
        """Its id, if it has arrived."""
        found = self.fields.get("id")
        return None if found is None else str(found)

    @property
    def has_arguments(self) -> bool:
        """Whether any part of its arguments arrived."""
        return any(self.pieces) or self.arguments is not UNSET

    @property
    def is_complete(self) -> bool:
        """Whether its arguments are a whole JSON text."""
        try:
            msgspec.json.decode("".join(self.pieces))
        except msgspec.DecodeError:
            return False
        return True

    def whole(self) -> types.ToolCall:
        """The call as in an answer that is not streamed."""
        text = "".join(self.pieces) if self.arguments is UNSET else self.arguments
        call = built(types.ToolCall, self.fields)
        if self.custom:
            call.custom = built(types.CustomBody, {**self.inner, "name": self.name, "input": text})
        else:
            call.function = built(types.FunctionBody, {**self.inner, "name": self.name, "arguments": text})
        return call
