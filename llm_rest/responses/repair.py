"""Calls of tools as hosts really send them, read as the Responses format means them.

Hosts leave out the id or the type of a call, send arguments as an object instead of text, or null, nest what should be flat
and the other way round. Lenient decoders of every wire call `repair_call`, and record each of its `faults` as a `changed`
loss at the path of the call. Before changing this file, know that the same call must come out the same on every decoding:
an id is derived from where the call stands, never made up. Bad JSON inside the text is left to the tool loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec
from msgspec import UNSET

from .carriers import digest
from .items import CustomToolCall, FunctionCall

if TYPE_CHECKING:
    from collections.abc import Mapping

Plain = dict[str, Any]


class RepairedCall(NamedTuple):
    """A call with everything a call needs. `text` is JSON for a function and free text for a custom tool."""

    call_id: str
    name: str
    text: str
    custom: bool
    faults: tuple[str, ...]

    def item(self) -> FunctionCall | CustomToolCall:
        """The call as an item of the Responses format."""
        if self.custom:
            return CustomToolCall(call_id=self.call_id, name=self.name, input=self.text)
        return FunctionCall(call_id=self.call_id, name=self.name, arguments=self.text)


def derived_call_id(origin: str, position: int) -> str:
    """An id for the call that stands at `position` in the document named `origin`, the same every time."""
    return f"call_{digest(f'{origin}/{position}')}"


def arguments_text(value: Any) -> tuple[str, str]:
    """The JSON text of a function's arguments, and what was wrong with them: an empty string where nothing was."""
    if isinstance(value, str):
        if value not in ("", "null"):
            return value, ""
        return "{}", "its arguments were empty, read as {}"
    if value is None or value is UNSET:
        return "{}", "it had no arguments, read as {}"
    kind = "an object" if isinstance(value, dict) else "a list" if isinstance(value, list) else "a bare value"
    return msgspec.json.encode(value).decode(), f"its arguments were {kind} instead of text"


def input_text(value: Any) -> tuple[str, str]:
    """The free text of a custom tool's input, and what was wrong with it: an empty string where nothing was."""
    if isinstance(value, str):
        return value, ""
    if value is None or value is UNSET:
        return "", "it had no input"
    return msgspec.json.encode(value).decode(), "its input was JSON instead of text"


def repair_call(call: Mapping[str, Any], *, call_id: str, nested: bool = False) -> RepairedCall:
    """What `call` asks for, however it is spelled; `faults` says in words what had to be put right.

    `call` is the plain object a host sent, `call_id` the id to use where it has none (`derived_call_id`), and `nested` tells
    whether its wire puts name and arguments below `function` or `custom` (Chat) or beside the id (Responses).
    """
    faults: list[str] = []
    found = _id(call)
    if not found:
        faults.append("it had no id")
    elif not nested and found != call.get("call_id"):
        faults.append("it had no call_id, read as its other id")
    kind = call.get("type")
    inner, custom = _inner(call, kind)
    if not isinstance(kind, str) or not kind:
        faults.append(f"it had no type, read as a {'custom tool' if custom else 'function'}")
    if (inner is not None) is not nested:
        faults.append("name and arguments stood beside the id" if nested else "name and arguments stood one level down")
    body = call if inner is None else inner
    name = body.get("name")
    if not isinstance(name, str) or not name:
        faults.append("it had no name")
    text, fault = input_text(body.get("input")) if custom else arguments_text(body.get("arguments", body.get("input")))
    if fault:
        faults.append(fault)
    return RepairedCall(found or call_id, name if isinstance(name, str) else "", text, custom, tuple(faults))


def _id(call: Mapping[str, Any]) -> str:
    for field in ("call_id", "id", "tool_call_id"):
        found = call.get(field)
        # Some hosts write the word null where they have no id.
        if isinstance(found, str) and found not in ("", "null"):
            return found
    return ""


def _inner(call: Mapping[str, Any], kind: Any) -> tuple[Mapping[str, Any] | None, bool]:
    """The nested part of the call, if it has one, and whether it is a custom tool's."""
    function, custom = call.get("function"), call.get("custom")
    if isinstance(custom, dict) and (kind == "custom" or not isinstance(function, dict)):
        return cast("Plain", custom), True
    if isinstance(function, dict):
        return cast("Plain", function), False
    return None, kind in ("custom", "custom_tool_call")
