"""Calls of functions and their ids, both ways: an object of arguments here, JSON text in Responses.

Arguments are checked and never taken apart, so that the order of keys and the spelling of numbers survive. Before changing this
file, know that ids are random on newer servers and missing on older ones: a call without one gets one from where it stands,
and so does a second call of the same id. Follows Ollama's page on tool calling (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, Raw

from ...responses.items import CustomToolCall, FunctionCall
from ...responses.leftovers import SPELLING, own, report_foreign
from ...responses.repair import derived_call_id
from .._left import as_object, leftovers, notes, put_back, rest, sent, spell
from .._renamed import Call, qualified, report_unsaid
from . import types
from .types import WIRE, Json

if TYPE_CHECKING:
    from ...losses import Losses

CALL = "call"
"""Under this name a call's leftovers hold what the document said of the call; beside it stands what it said of the message."""

NOTHING = Raw(b"{}")

_objects = msgspec.json.Decoder(dict[str, Raw])
_strings = msgspec.json.Decoder(str)


# --- Responses -> Ollama --------------------------------------------------------------------------------------------


def encode_call(item: Call, path: str, lost: Losses) -> types.ToolCall:
    """The call as this wire spells it."""
    if isinstance(item, CustomToolCall):
        lost.emulated(path, "a call with free text, sent as a function with one text")
        arguments = Raw(msgspec.json.encode({"input": item.input}))
    else:
        arguments = _encode_arguments(item.arguments, path, lost)
    function = types.CallFunction(name=qualified(item.name, item.namespace), arguments=arguments)
    made = types.ToolCall(id=item.call_id, function=function)
    if not item.leftovers and not item.namespace and not item.caller and not item.async_:
        return made
    report_unsaid(item, path, lost)
    report_foreign(item.leftovers, WIRE, path, lost)
    return _spelled(made, as_object(own(item.leftovers, WIRE).get(CALL)))


def _encode_arguments(text: str, path: str, lost: Losses) -> Raw:
    if text.strip() in ("", "null"):
        return NOTHING
    try:
        _objects.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        lost.changed(f"{path}.arguments", "not a JSON object; sent as the text of INVALID_JSON")
        return Raw(msgspec.json.encode({"INVALID_JSON": text.encode("utf-8", "replace").decode()}))
    return Raw(text.encode())


def _spelled(made: types.ToolCall, left: Json) -> types.ToolCall:
    """The call with what its document said beyond Responses, written as it was."""
    inner = as_object(left.get("function"))
    spelling = as_object(notes(inner).get("arguments"))
    if "text" in spelling and made.function.arguments is not UNSET:
        made.function.arguments = Raw(msgspec.json.encode(bytes(made.function.arguments).decode()))
    elif "empty" in spelling and made.function.arguments == NOTHING:
        made.function.arguments = Raw(b"null") if spelling["empty"] == "null" else UNSET
    made.function = put_back(made.function, inner)
    made.function.index = notes(inner).get("index", UNSET)
    return spell(made, {name: value for name, value in left.items() if name != "function"})


# --- Ollama -> Responses --------------------------------------------------------------------------------------------


def decode_call(
    call: types.ToolCall, origin: str, position: int, taken: set[str], path: str, lost: Losses
) -> FunctionCall:
    """The call as an item. `origin` and `position` make the id of one whose own is missing or among those `taken`."""
    spelling: Json = {}
    call_id = call.id
    if not call_id or call_id in taken:
        if call_id:
            lost.changed(path, f"a second call of the id {call_id!r}")
        spelling["id"] = sent(call_id)
        call_id = derived_call_id(origin, position)
    taken.add(call_id)
    text, written = _decode_arguments(call.function.arguments, path, lost)
    item = FunctionCall(call_id=call_id, name=call.function.name, arguments=text)
    inner: Json = {"arguments": written} if written else {}
    if call.function.index is not UNSET:
        inner["index"] = call.function.index
    left = rest(call, "id", "function")
    function = rest(call.function, "name", "arguments", "index")
    if inner:
        function[SPELLING] = inner
    if function:
        left["function"] = function
    if spelling:
        left[SPELLING] = spelling
    if left:
        item.leftovers = leftovers(WIRE, {CALL: left}, {})
    return item


def _decode_arguments(raw: Raw | msgspec.UnsetType, path: str, lost: Losses) -> tuple[str, Json]:
    """The arguments as JSON text, and how they were written where that was no object."""
    text = "" if raw is UNSET else bytes(raw).decode("utf-8", "replace")
    if text[:1] == "{":
        return text, {}
    if text in ("", "null"):
        return "{}", {"empty": text}
    lost.changed(path, "its arguments were no object")
    try:
        return _strings.decode(text) or "{}", {"text": True}
    except msgspec.MsgspecError:
        return text, {}
