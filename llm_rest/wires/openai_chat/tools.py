"""Tools, both ways.

Nested here, flat in Responses. Without `strict` a Responses host tries strict decoding and falls back where the schema does
not allow it; here it means loose: so a missing `strict` is decided by the schema on the way out and becomes false on the
way in. Before changing this file, know that tools of the vendor have no place on this wire, and that everything emulated
here has to be undone for the calls that come back (`_renamed.names_sent`). Follows the Chat Completions reference and OpenAI's
guide to structured outputs (read 2026-11-20).

The tools that a request offers and the choice among them, both ways; web search is an option here, a tool in Responses.

Where a host lacks a way of choosing, the tools are cut down to what was chosen: that is reported as emulated. Before
changing this file, know that a choice and a word about parallel calls are sent only where tools are, since hosts refuse them
alone, and that a choice of a tool of the vendor is refused, since sending none would run another. Follows the Chat
Completions reference and its legacy `functions` (read 2026-11-20).

The calls of tools and their ids, both ways.

A well-formed call is translated as it stands; any other is read by `responses/repair.py`, and how it was spelled is kept so
that the same document comes out again. Before changing this file, know that a call and its output are tied by the id alone:
whatever is done to one is done to the other. Follows the Chat Completions reference (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard, cast

import msgspec
from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import replace

from ...losses import Losses, no_such
from ...responses import tools as rt
from ...responses.carriers import digest
from ...responses.closed import doubtful, is_closed
from ...responses.items import AdditionalTools, AnyItem, FunctionCall
from ...responses.leftovers import SPELLING
from ...responses.repair import derived_call_id, repair_call
from ...unknown import Opt, Unknown, convert, given, or_none, or_unset
from ...vendors.dialects import ChatDialect
from .._left import absent, as_object, as_plain, beyond, notes, put_back, report_unknown, sent
from .._renamed import Call, qualified, report_unsaid, sent_name
from . import types

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...responses.request import Request
    from .types import Json

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


WORDS = {"any": "required"}
"""What some hosts say for a word of the tool choice; the way back prefers OpenAI's, except in the host's own document."""

_ANY = ChatDialect()
"""A host that takes every choice."""

PLACE = ("city", "country", "region", "timezone")
"""Where a search is made from: one object deeper here."""


class Chosen(NamedTuple):
    """The tool choice of a request, and the tools it leaves."""

    choice: Opt[str | types.ToolChoice]
    tools: list[types.Tool]


# --- Responses -> Chat ----------------------------------------------------------------------------------------------


def encode_offer(
    request: Request, items: Sequence[AnyItem], body: types.Request, left: Json, dialect: ChatDialect, lost: Losses
) -> None:
    """Set the tools, the choice among them and whether several may be called at once."""
    spelling = notes(left)
    offered = list(request.tools or ())
    for i, item in enumerate(items):
        if isinstance(item, AdditionalTools):
            lost.emulated(f"input[{i}]", "tools added later, offered from the beginning")
            offered += item.tools
    tools: list[types.Tool] = []
    if offered:
        tools = encode_tools(offered, as_object(left.get("tools")), dialect, lost)
        body.web_search_options = _encode_search(
            offered, or_unset(request.model), "web_search" in spelling, dialect, lost
        )
    elif "tools" in spelling:
        body.tools = spelling["tools"]
    if not tools:
        if given(request.tool_choice) and request.tool_choice != "auto":
            lost.dropped("tool_choice", "a choice among no tools")
        if given(request.parallel_tool_calls):
            lost.dropped("parallel_tool_calls", "a word about calls where there are no tools")
        return
    chosen, tools = _encode_choice(or_unset(request.tool_choice), tools, dialect, lost)
    if not tools:
        return
    came = spelling.get("tool_choice")
    body.tools = tools
    body.tool_choice = came if isinstance(came, str) and WORDS.get(came) == chosen else chosen
    body.parallel_tool_calls = or_unset(request.parallel_tool_calls)
    if "functions" in spelling:
        body.functions = [tool.function for tool in tools if given(tool.function)]
        choice = body.tool_choice
        body.function_call = choice.function if isinstance(choice, types.ToolChoice) else choice
        body.tools = body.tool_choice = UNSET


def _encode_choice(
    choice: Opt[rt.ToolChoice],
    tools: list[types.Tool],
    dialect: ChatDialect,
    lost: Losses,
    naming: Callable[[str], str] = sent_name,
) -> Chosen:
    """The tool choice as the host can take it; where it cannot, the tools are cut down to what was chosen."""
    match choice:
        case None | UnsetType():
            return Chosen(choice, tools)
        case str():
            return _encode_word(choice, tools, dialect, lost)
        case rt.ChooseFunction(name=name) | rt.ChooseCustom(name=name):
            kind = "custom" if isinstance(choice, rt.ChooseCustom) and dialect.custom_tools else "function"
            if kind == "function" and isinstance(choice, rt.ChooseCustom):
                lost.emulated("tool_choice", f"the custom tool {name!r}, chosen as the function it was sent as")
            if kind in dialect.tool_choices:
                named: Json = {kind: types.Named(name=naming(name))}
                return Chosen(types.ToolChoice(type=kind, **named), tools)
            lost.emulated("tool_choice", f"the tool {name!r} is the only one offered")
            return _encode_word("required", [tool for tool in tools if name_of(tool) == naming(name)], dialect, lost)
        case rt.ChooseAllowed():
            return _encode_allowed(choice, tools, dialect, lost, naming)
        case rt.ChooseMcp() | Unknown():
            lost.refused("tool_choice", "a tool of the vendor, which Chat Completions cannot choose")
            return Chosen(UNSET, tools)


def _encode_word(word: str, tools: list[types.Tool], dialect: ChatDialect, lost: Losses) -> Chosen:
    if word in dialect.tool_choices or word not in ("none", "auto", "required"):
        return Chosen(word, tools)
    if word == "none":
        lost.emulated("tool_choice", "no tools are offered, since this host knows no way to forbid them")
        return Chosen(UNSET, [])
    lost.dropped("tool_choice", f"{word!r}, which this host does not take")
    return Chosen(UNSET, tools)


def _encode_allowed(
    choice: rt.ChooseAllowed,
    tools: list[types.Tool],
    dialect: ChatDialect,
    lost: Losses,
    naming: Callable[[str], str],
) -> Chosen:
    mode = choice.mode or "auto"
    entries: list[Json] = []
    for j, entry in enumerate(choice.tools):
        kind, name = entry.get("type"), entry.get("name")
        if kind in ("function", "custom") and isinstance(name, str):
            entries.append({"type": kind, kind: {"name": naming(name)}})
        else:
            lost.dropped(f"tool_choice.tools[{j}]", "a tool of the vendor")
    if "allowed_tools" in dialect.tool_choices:
        allowed = types.AllowedTools(mode=mode, tools=entries)
        return Chosen(types.ToolChoice(type="allowed_tools", allowed_tools=allowed), tools)
    lost.emulated("tool_choice", "only the allowed tools are offered")
    names = {_flat(entry)["name"] for entry in entries}
    return _encode_word(mode, [tool for tool in tools if name_of(tool) in names], dialect, lost)


def _encode_search(
    tools: Sequence[rt.AnyTool], model: Opt[str], own_form: bool, dialect: ChatDialect, lost: Losses
) -> Opt[types.WebSearchOptions]:
    """The option that stands for a web search tool, on models that take it; `own_form` says that it came so."""
    options: Opt[types.WebSearchOptions] = UNSET
    for i, tool in enumerate(tools):
        if not is_search(tool):
            continue
        if not own_form and not (model and model.startswith(dialect.search_models)):
            lost.refused(f"tools[{i}]", "web search, which this model cannot be asked for in Chat Completions")
            continue
        for name in ("filters", "external_web_access", "search_content_types"):
            if given(getattr(tool, name)):
                lost.dropped(f"tools[{i}].{name}", no_such("option", "Chat Completions"))
        options = _search_options(tool)
    return options


def _search_options(tool: rt.WebSearchTool) -> types.WebSearchOptions:
    options = types.WebSearchOptions(search_context_size=or_unset(tool.search_context_size))
    if given(where := tool.user_location):
        place = types.Location(**{name: or_unset(getattr(where, name)) for name in PLACE})
        options.user_location = types.UserLocation(type=or_unset(where.type), approximate=place)
    return options


# --- Chat -> Responses ----------------------------------------------------------------------------------------------


def decode_offer(
    body: types.Request, request: Request, left: Json, spelling: Json, dialect: ChatDialect, lost: Losses
) -> None:
    """Read the tools in any of their forms, and the choice among them."""
    kept: Json = {}
    tools: list[rt.AnyTool] = []
    if body.tools:
        tools += decode_tools(body.tools, kept, dialect, lost)
    elif body.tools is not UNSET:
        spelling["tools"] = body.tools
    if body.functions:
        lost.emulated("functions", "legacy functions, read as tools")
        spelling["functions"] = True
        modern = [types.Tool(type="function", function=each) for each in body.functions]
        tools += decode_tools(modern, kept, dialect, lost)
    elif body.functions is not UNSET:
        left["functions"] = body.functions
    if given(body.web_search_options):
        spelling["web_search"] = True
        tools.append(tool := _decode_search(body.web_search_options))
        if rest := beyond(body.web_search_options, _search_options(tool)):
            left["web_search_options"] = rest
    elif body.web_search_options is None:
        left["web_search_options"] = None
    if kept:
        left["tools"] = kept
    named = "function_call" if body.functions else "tool_choice"
    choice: Opt[str | types.Named | types.ToolChoice] = getattr(body, named) if tools else UNSET
    if choice:
        _decode_chosen(choice, named, request, left, spelling, lost)
    taken = (named if choice else "", "parallel_tool_calls" if tools else "")
    for name in ("tool_choice", "function_call", "parallel_tool_calls"):
        if name not in taken and (value := getattr(body, name)) is not UNSET:
            left[name] = sent(value)
    if tools:
        request.tools = tools
        request.parallel_tool_calls = or_none(body.parallel_tool_calls)


def _decode_chosen(
    choice: str | types.Named | types.ToolChoice,
    field: str,
    request: Request,
    left: Json,
    spelling: Json,
    lost: Losses,
) -> None:
    """Read the choice that stands in this field."""
    modern = types.ToolChoice(type="function", function=choice) if isinstance(choice, types.Named) else choice
    request.tool_choice = _decode_choice(modern)
    if isinstance(request.tool_choice, Unknown) and request.tool_choice.kind in ("function", "custom", "allowed_tools"):
        lost.refused(field, f"a choice without its `{request.tool_choice.kind}` object")
        request.tool_choice = None
        return
    made = _encode_choice(request.tool_choice, [], _ANY, Losses(), str).choice
    if isinstance(choice, str):
        if choice != made:
            spelling["tool_choice"] = choice
    elif isinstance(made, types.ToolChoice):
        again = made.function if isinstance(choice, types.Named) else made
        if given(again) and (rest := beyond(choice, again)):
            left[field] = rest


def _decode_choice(choice: str | types.ToolChoice) -> rt.ToolChoice:
    """The tool choice as Responses spells it."""
    if isinstance(choice, str):
        return WORDS.get(choice, choice)
    if given(choice.function):
        return rt.ChooseFunction(name=choice.function.name)
    if given(choice.custom):
        return rt.ChooseCustom(name=choice.custom.name)
    if given(allowed := choice.allowed_tools) and given(allowed.tools):
        return rt.ChooseAllowed(tools=[_flat(entry) for entry in allowed.tools], mode=or_none(allowed.mode))
    return Unknown(msgspec.to_builtins(choice))


def _flat(entry: Json) -> Json:
    inner = entry.get(str(entry.get("type")))
    return {"type": entry["type"], **cast("Json", inner)} if isinstance(inner, dict) else entry


def _decode_search(options: types.WebSearchOptions) -> rt.WebSearchTool:
    """The web search tool that the option stands for."""
    tool = rt.WebSearchTool(search_context_size=or_none(options.search_context_size))
    if given(where := options.user_location):
        near = where.approximate
        place: Json = {name: or_none(getattr(near, name)) for name in PLACE} if given(near) else {}
        tool.user_location = rt.UserLocation(type=or_none(where.type), **place)
    return tool


_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
EMPTY = ("", "null")
"""What hosts write for no arguments, beside leaving them out."""

# A copy with other values costs a third of what making a struct costs.
_FUNCTION = FunctionCall(call_id="", name="", arguments="")
_CALL, _BODY = types.ToolCall(type="function"), types.FunctionBody()

_PLAIN = msgspec.json.Decoder(dict[str, Raw] | list[Raw])


def fit_call_id(call_id: str, dialect: ChatDialect) -> str:
    """The id of a call as the host can take it: the same where it fits, else the same other one every time."""
    if not dialect.exact_call_id:
        return call_id if 0 < len(call_id) <= dialect.longest_call_id else f"call_{digest(call_id)}"
    if len(call_id) == dialect.longest_call_id and call_id.isascii() and call_id.isalnum():
        return call_id
    number, short = int(digest(call_id), 16), ""
    for _ in range(dialect.longest_call_id):
        number, digit = divmod(number, len(_DIGITS))
        short += _DIGITS[digit]
    return short


# --- Responses -> Chat ----------------------------------------------------------------------------------------------


def encode_call(item: Call, dialect: ChatDialect, i: int, lost: Losses, *, answer: bool = False) -> types.ToolCall:
    """The call at place `i` as this wire spells it. In an `answer` its id goes to a client, which takes any."""
    call_id = item.call_id if answer else fit_call_id(item.call_id, dialect)
    name = qualified(item.name, item.namespace) if answer else sent_name(item.name, item.namespace)
    if call_id != item.call_id or item.namespace or item.caller or item.async_:
        path = f"output[{i}]" if answer else f"input[{i}]"
        if call_id != item.call_id:
            lost.changed(f"{path}.call_id", f"an id this host does not take, sent as {call_id}")
        report_unsaid(item, path, lost)
    if isinstance(item, FunctionCall):
        return replace(_CALL, id=call_id, function=replace(_BODY, name=name, arguments=item.arguments))
    if dialect.custom_tools:
        return types.ToolCall(id=call_id, type="custom", custom=types.CustomBody(name=name, input=item.input))
    lost.emulated(
        f"output[{i}]" if answer else f"input[{i}]", "a call with free text, sent as a function with one text"
    )
    text = msgspec.json.encode({"input": item.input}).decode()
    return types.ToolCall(id=call_id, type="function", function=types.FunctionBody(name=name, arguments=text))


def spell_call(call: types.ToolCall, left: Json) -> types.ToolCall:
    """The call written as its document had it; `left` is what `decode_call` kept."""
    spelling = notes(left)
    call = put_back(call, left)
    if "id" in spelling:
        call.id = absent(spelling["id"])
    if isinstance(body := call.function, types.FunctionBody):
        if "plain" in spelling and isinstance(body.arguments, str):
            body.arguments = json_value(body.arguments)
        if "flat" in spelling:
            call = replace(call, function=UNSET, name=body.name, arguments=body.arguments)
    return call


def json_text(value: types.JsonValue) -> str:
    """The JSON text of a value that a host sent in its place."""
    return msgspec.json.encode(value).decode()


def json_value(text: str) -> Any:
    """The value that a JSON text spells; the text itself where it is none."""
    try:
        return _PLAIN.decode(text)
    except msgspec.MsgspecError:
        return text


# --- Chat -> Responses ----------------------------------------------------------------------------------------------


def decode_call(
    call: types.ToolCall, dialect: ChatDialect, origin: str, position: int, path: str, lost: Losses
) -> tuple[Call, Json]:
    """The call as an item, and what the document said about it beyond that.

    `origin` names the document and `position` the place in it, for an id where the call has none.
    """
    body = call.function
    if (
        call.type == "function"
        and call.id
        and body
        and body.name
        and isinstance(body.arguments, str)
        and body.arguments not in EMPTY
        and call.id != "null"
    ):
        item: Call = replace(_FUNCTION, call_id=call.id, name=body.name, arguments=body.arguments)
        if type(call) is types.ToolCall and type(body) is types.FunctionBody and call.custom is UNSET:
            return item, {} if call.index is UNSET else {"index": call.index}
    else:
        plain = _plain(call)
        if dialect.untyped_calls and call.type is UNSET:
            plain["type"] = "function"
        found = repair_call(plain, call_id=derived_call_id(origin, position), nested=True)
        for fault in found.faults:
            lost.changed(path, fault)
        item = found.item()
    return item, _beyond(call, item)


def _beyond(call: types.ToolCall, item: Call) -> Json:
    """What a document said about a call beyond its item, and how it was spelled."""
    spelling: Json = {} if call.id == item.call_id else {"id": sent(call.id)}
    made = types.ToolCall(id=call.id, type="function", extra_content=call.extra_content)
    if isinstance(item, FunctionCall):
        if call.function is UNSET and call.custom is UNSET:
            spelling["flat"] = True
            nested = types.FunctionBody(name=call.name, arguments=call.arguments)
            call = replace(call, function=nested, name=UNSET, arguments=UNSET)
        made.function = types.FunctionBody(name=item.name, arguments=item.arguments)
        if given(body := call.function) and isinstance(body.arguments, dict | list):
            spelling["plain"] = True
            call = replace(call, function=replace(body, arguments=item.arguments))
    else:
        made.type, made.custom = "custom", types.CustomBody(name=item.name, input=item.input)
    left = beyond(call, made)
    return {**left, SPELLING: {**notes(left), **spelling}} if spelling else left


def _plain(call: types.ToolCall) -> Json:
    """The call as plain values, except that arguments keep their spelling."""
    plain: Json = {}
    for name in ("id", "type", "name", "arguments"):
        if (value := getattr(call, name)) is not UNSET:
            plain[name] = value
    if given(call.function):
        plain["function"] = {"name": call.function.name, "arguments": call.function.arguments}
    if given(call.custom) and call.type != "function":
        plain["custom"] = {"name": call.custom.name, "input": call.custom.input}
    return plain
