"""The calls of tools and their ids, both ways.

A well-formed call is translated as it stands; any other is read by `responses/repair.py`, and how it was spelled is kept so
that the same document comes out again. Before changing this file, know that a call and its output are tied by the id alone:
whatever is done to one is done to the other. Follows the Chat Completions reference (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import replace

from ...responses.carriers import digest
from ...responses.items import FunctionCall
from ...responses.leftovers import SPELLING
from ...responses.repair import derived_call_id, repair_call
from ...unknown import given
from .._left import absent, beyond, notes, put_back, sent
from .._renamed import Call, qualified, report_unsaid, sent_name
from . import types
from .types import Json

if TYPE_CHECKING:
    from ...losses import Losses
    from ...vendors.dialects import ChatDialect

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
