"""Functions that the model calls and what they gave, both ways, and the names they have on this wire.

Arguments and outputs are objects here: a text goes out as `{"output": text}`, a failure as `{"error": text}`, and any other
object comes back as its JSON text. Before changing this file, know that names must be the same every time, since histories
already sent hold them, and that an output finds its call by id, else by name, else by order. Follows Google's guide to function
calling and the references of `FunctionDeclaration` and `FunctionResponse` (read 2026-11-20); of the two lengths of names given
there the shorter one holds everywhere.
"""

from __future__ import annotations

import re
from collections import deque
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import replace

from ...responses.items import CustomToolCall, CustomToolCallOutput, Direct, FunctionCall, FunctionCallOutput
from ...responses.leftovers import own
from ...responses.parts import InputText
from ...responses.tools import CustomTool, FunctionTool, NamespaceTool
from ...unknown import given
from .._left import report_unknown
from .._renamed import fitted_name
from . import types
from .carried import (
    document_fields,
    encode,
    left,
    merged,
    own_fields,
    rest,
    spelling,
    text_of,
    unsaid,
    unsay,
)
from .media import decode_parts, encode_parts
from .types import WIRE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ...responses.parts import ContentPart
    from ...responses.tools import AnyTool
    from .media import Context

Call = FunctionCall | CustomToolCall
Output = FunctionCallOutput | CustomToolCallOutput

_CALL = ("id", "name", "args")
_RESPONSE = ("id", "name", "response")

_json = msgspec.json.Decoder(Raw)
_object = msgspec.json.Decoder(dict[str, Raw])

# --- names ----------------------------------------------------------------------------------------------------------

_legal = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}").fullmatch
_illegal = re.compile(r"[^A-Za-z0-9_.:-]")


@lru_cache(maxsize=1024)
def wire_name(name: str, namespace: str = "") -> str:
    """A tool's name as this wire takes it, never the same for two; tools of a namespace are called `namespace__name`."""
    return fitted_name(f"{namespace}__{name}" if namespace else name, _legal, _illegal)


class Named(NamedTuple):
    """What a tool is called in Responses."""

    name: str
    namespace: str
    custom: bool


def renamed(tools: Iterable[AnyTool]) -> dict[str, Named]:
    """The tools whose calls come back under another name, or as functions although they are custom tools."""
    found: dict[str, Named] = {}
    for tool in tools:
        space = tool.name if isinstance(tool, NamespaceTool) else ""
        for one in tool.tools if isinstance(tool, NamespaceTool) else (tool,):
            if isinstance(one, FunctionTool | CustomTool):
                custom, wire = isinstance(one, CustomTool), wire_name(one.name, space)
                if custom or wire != one.name:
                    found[wire] = Named(one.name, space, custom)
    return found


# --- calls ----------------------------------------------------------------------------------------------------------


def encode_call(item: Call, path: str, context: Context) -> types.Part:
    """The part of a call, without its signature."""
    lost = context.lost
    call = types.FunctionCall(id=item.call_id, name=wire_name(item.name, item.namespace or ""))
    if isinstance(item, CustomToolCall):
        lost.emulated(path, "a custom tool's call is sent as a function's")
        call.args = Raw(encode({"input": item.input}))
    else:
        value = _value(item.arguments) if item.arguments.strip() else Raw(b"{}")
        if value is None or bytes(value)[:1] != b"{":
            lost.changed(f"{path}.arguments", "arguments that are no JSON object, sent as the text of one")
            value = Raw(encode({"arguments": item.arguments}))
        call.args = value
    if given(item.caller) and not isinstance(item.caller, Direct):
        lost.dropped(f"{path}.caller", "which program made the call")
    if item.async_:
        lost.dropped(f"{path}.async", "that the call runs in the background")
    kept = own_fields(item.leftovers, path, lost)
    if spelled := spelling(kept):
        args = () if bytes(call.args) != b"{}" else ("args",)
        unsay(call, ("id", *args, *(() if item.name else ("name",))), spelled)
    if call.name and call.name != item.name:
        lost.changed(f"{path}.name", f"a name Gemini does not take, sent as {call.name}")
    return merged(types.Part(function_call=call), document_fields(kept), path, lost)


def _value(text: str) -> Raw | None:
    try:
        return _json.decode(text.strip().encode("utf-8", "replace"))
    except msgspec.MsgspecError:
        return None


def decode_call(part: types.Part, call: types.FunctionCall, origin: str) -> FunctionCall:
    """The call in a part; `origin` is its id where it came without one."""
    item = FunctionCall(
        call_id=call.id or origin,
        name=call.name or "",
        arguments="{}" if call.args is UNSET else text_of(call.args),
    )
    if not (call.id and call.name and call.args) or _says_more(part, call):
        fields = rest(part, ("functionCall", "thoughtSignature") if part.thought_signature else ("functionCall",))
        more = rest(call, _CALL)
        item.leftovers = left({**fields, "functionCall": more} if more else fields, unsaid(call, _CALL))
    return item


def _says_more(part: types.Part, call: types.FunctionCall) -> bool:
    declared = type(part) is types.Part and type(call) is types.FunctionCall
    plain = declared and call.partial_args is call.will_continue is part.thought is part.part_metadata is UNSET
    return not plain or part.thought_signature == ""


def called_as(call: FunctionCall, named: Mapping[str, Named]) -> Call:
    """The call under the name, and of the kind, that its tool has in the request."""
    tool = named.get(call.name)
    if tool is None:
        return call
    call.name = tool.name
    if tool.namespace:
        call.namespace = tool.namespace
    if not tool.custom:
        return call
    return CustomToolCall(
        id=call.id,
        call_id=call.call_id,
        name=tool.name,
        namespace=call.namespace,
        input=_free_text(call.arguments),
        status=call.status,
        leftovers=call.leftovers,
    )


def _free_text(arguments: str) -> str:
    """The text of a custom tool's call, which went out as `{"input": "..."}`."""
    try:
        found: Any = msgspec.json.decode(arguments)
    except msgspec.MsgspecError:
        return arguments
    match found:
        case {"input": str(text), **others} if not others:
            return text
        case _:
            return arguments


# --- outputs --------------------------------------------------------------------------------------------------------


def encode_output(item: Output, call: Call | None, path: str, context: Context) -> tuple[types.Part, list[types.Part]]:
    """The part with the output of `call`, and the media that have to stand beside it."""
    lost = context.lost
    report_unknown(item, path, lost)
    kept = own_fields(item.leftovers, path, lost)
    name = wire_name(call.name, call.namespace or "") if call else item.call_id or ""
    if isinstance(item, CustomToolCallOutput):
        lost.emulated(path, "a custom tool's output is sent as a function's")
    if given(item.caller) and not isinstance(item.caller, Direct):
        lost.dropped(f"{path}.caller", "which program made the call")
    text, inside, beside = _content(item, path, context)
    if text is None and item.is_error:
        lost.changed(f"{path}.output", "an error is told in words, of which there are none")
        text = ""
    spelled = spelling(kept)
    response = Raw(b"{}") if text is None else _object_of(text, spelled.get("response"), item.is_error)
    encoded = types.FunctionResponse(id=item.call_id or "", name=name, response=response, parts=inside or UNSET)
    if call:
        unsay(encoded, ("id", "name"), spelling(own(call.leftovers, WIRE)))
    unsay(encoded, _RESPONSE if text is None else ("id", "name"), spelled)
    if isinstance(item, FunctionCallOutput) and given(item.name):
        encoded.name = item.name
    return merged(types.Part(function_response=encoded), document_fields(kept), path, lost), beside


def _content(item: Output, path: str, context: Context) -> tuple[str | None, list[types.Part], list[types.Part]]:
    """The text of an output (`None` where it has none), its media inside, and its media beside."""
    if isinstance(item.output, str):
        return item.output, [], []
    lost = context.lost
    texts: list[str] = []
    inside: list[types.Part] = []
    beside: list[types.Part] = []
    for j, ours in enumerate(item.output):
        for part in encode_parts([ours], f"{path}.output", context, j):
            media = part.inline_data or part.file_data
            if given(part.text):
                texts.append(part.text)
            elif isinstance(ours, InputText):
                inside.append(part)  # which came as a part of an output, and says nothing we know
            elif media and media.mime_type in context.model.media_in_outputs:
                if given(part.media_resolution):
                    lost.dropped(f"{path}.output", "how closely a function's image is looked at")
                    part = replace(part, media_resolution=UNSET)
                inside.append(part)
            else:
                lost.changed(f"{path}.output", "media that cannot stand in an output here, sent beside it")
                beside.append(part)
    if len(texts) > 1:
        lost.changed(f"{path}.output", "texts of an output, sent as one")
    said = texts or beside or (item.output and not inside)
    return "\n".join(texts) if said else None, inside, beside


def _object_of(text: str, form: Any, failed: Any) -> Raw:
    """`response`: in the form it had, where the text still fits it, else the text under its usual key."""
    key = "error" if failed else "output"
    value = _value(text) if form in ("whole", "value") else None
    if value is not None and form == "value":
        return Raw(encode({key: value}))
    return value if value is not None and bytes(value)[:1] == b"{" else Raw(encode({key: text}))


class Asked:
    """Calls that wait for their outputs, in their order."""

    def __init__(self) -> None:
        self._open: dict[int, FunctionCall] = {}
        self._ids: dict[str, deque[int]] = {}
        self._names: dict[str, deque[int]] = {}
        self._count = 0
        self._next = 0

    def add(self, call: FunctionCall) -> None:
        """Wait for the output of one more call."""
        number, self._count = self._count, self._count + 1
        self._open[number] = call
        self._ids.setdefault(call.call_id, deque()).append(number)
        self._names.setdefault(call.name, deque()).append(number)

    def take(self, response: types.FunctionResponse) -> FunctionCall | None:
        """The call that an output answers, which then waits no longer: the one with its id, else of its name, else the next."""
        if response.id:
            return self._first(self._ids.get(response.id))
        found = self._first(self._names.get(response.name or ""))
        if found is None and self._open:
            while self._next not in self._open:
                self._next += 1
            found = self._open.pop(self._next)
        return found

    def _first(self, numbers: deque[int] | None) -> FunctionCall | None:
        while numbers:
            found = self._open.pop(numbers.popleft(), None)
            if found is not None:
                return found
        return None


def decode_output(
    part: types.Part, response: types.FunctionResponse, asked: Asked, fallback: str
) -> FunctionCallOutput:
    """The output in a part, for the call among those `asked` that it answers."""
    found = asked.take(response)
    item = FunctionCallOutput(call_id=found.call_id if found else response.id or fallback, output="")
    spelled = unsaid(response, _RESPONSE)
    if response.name and response.name != (found.name if found else item.call_id):
        item.name = response.name
    text = _text_of(item, response, spelled)
    item.output = [] if text is None else text
    if response.parts:
        texts: list[ContentPart] = [] if text is None else [InputText(text=text)]
        item.output = [*texts, *decode_parts(response.parts)]
    fields = rest(part, ("functionResponse",))
    more = rest(response, (*_RESPONSE, "parts"))
    item.leftovers = left({**fields, "functionResponse": more} if more else fields, spelled)
    return item


def _text_of(item: FunctionCallOutput, response: types.FunctionResponse, spelled: types.Json) -> str | None:
    """The text in `response`, and how it stands there; `None` where it says nothing."""
    if response.response is UNSET:
        return None
    try:
        found = _object.decode(response.response)
    except (msgspec.MsgspecError, UnicodeError):
        spelled["response"] = "whole"
        return text_of(response.response)
    match [*found]:
        case []:
            return None
        case ["output" | "error" as key]:
            item.is_error = key == "error" or item.is_error
            if bytes(found[key])[:1] == b'"':
                return str(msgspec.json.decode(found[key]))
            spelled["response"] = "value"
            return text_of(found[key])
        case _:
            spelled["response"] = "whole"
            return text_of(response.response)
