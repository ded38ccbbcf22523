"""Repair of malformed documents from hosts: incomplete calls, null token counts, ids that are numbers.

Applied only to a document that did not decode as it is; afterwards it either decodes or is rejected. Works on plain
values, returns new ones and never changes its input. Hosts leave out the id or the type of a call, send arguments as an
object instead of text, or null, nest flat fields and the other way round. Before changing this file, know that valid
values must be returned unchanged, that the same call must be repaired the same way on every decoding (an id is derived
from its position), and that each repair is noted in the leftovers (`REPAIRED`), which the wire's converters report as a
`changed` loss at the path of the call. Invalid JSON inside the text of the arguments is left to the tool loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import UNSET, Struct

from ..unknown import MOST_IN_ANSWER, as_object
from .carriers import digest
from .items import CustomToolCall, FunctionCall

if TYPE_CHECKING:
    from collections.abc import Mapping

Plain = dict[str, Any]

WIRE = "openai_responses"
REPAIRED = "repaired"
STRIPPED = "stripped"
"""Keys of our own leftovers: the repairs of a document, and the places of leftovers that came with it (`received.py`)."""

UNDECLARED = (
    "custom",
    "effort",
    "error",
    "function",
    "item",
    "json_schema",
    "response",
    "response_format",
    "tool_use_id",
    "type",
)
"""Fields that are read here and in `normalize.py` even where the struct does not declare them: whether one is preserved
depends on its value."""

_TEXT_OF = {"function_call": "arguments", "custom_tool_call": "input"}
_COUNTS = ("input_tokens", "output_tokens")


def lenient_response(document: Any) -> Any:
    """An answer with malformed calls, ids and token counts repaired."""
    if not isinstance(document, dict):
        return document
    response = dict(cast("Plain", document))
    found = response.get("id")
    if isinstance(found, int):
        response = _noted({**response, "id": str(found)}, ["it was a number"])
    elif not isinstance(found, str):
        # An answer without an id gets one derived from its content; `decode_response` has both, and reports it.
        response["id"] = ""
    if not isinstance(response.get("object", ""), str):
        del response["object"]  # the same value in every answer
    items: list[Any] | None = response["output"] if isinstance(response.get("output"), list) else None
    if items is not None and len(items) <= MOST_IN_ANSWER:  # more are rejected
        response["output"] = lenient_items(items, response["id"])
    if isinstance(response.get("usage"), dict):
        response["usage"] = _usage(cast("Plain", response["usage"]))
    return response


def lenient_items(items: list[Any], origin: str) -> list[Any]:
    """Items with complete calls; `origin` names the document that contains them."""
    return [
        _item(cast("Plain", item), derived_call_id(origin, i)) if isinstance(item, dict) else item
        for i, item in enumerate(items)
    ]


def lenient_event(document: Any) -> Any:
    """A stream event: an error by its type, and the item or response inside repaired."""
    if not isinstance(document, dict):
        return document
    event = dict(cast("Plain", document))
    error = event.get("error")
    if error and "type" not in event:
        event["type"] = "error"
    if event.get("type") == "error" and isinstance(error, str):
        del event["error"]
        event.setdefault("message", error)
    if isinstance(event.get("response"), dict):
        event["response"] = lenient_response(event["response"])
    if isinstance(event.get("item"), dict):
        position = event.get("output_index")
        event["item"] = _item(event["item"], derived_call_id("", position if isinstance(position, int) else 0))
    return event


def _item(item: Plain, call_id: str) -> Plain:
    kind = item.get("type") or _kind(item)
    if kind == "function" and isinstance(item.get("function"), dict):
        kind = "function_call"
    typed: Plain = item if kind is None or kind == item.get("type") else {**item, "type": kind}
    faults = [] if item.get("type") or typed is item else ["it had no type"]
    text = _TEXT_OF.get(kind) if isinstance(kind, str) else None
    if text is not None and not (
        typed is item and all(isinstance(item.get(name), str) for name in ("call_id", "name", text))
    ):
        return _call(typed, call_id, faults)
    if kind == "function_call_output" and "call_id" not in item:
        typed = {**typed, "call_id": None}
        faults.append("it had no call_id")
    if kind == "message" and item.get("content", "") is None:
        typed = {**typed, "content": list[Any]()}
        faults.append("its content was null")
    return _noted(typed, faults)


def _call(item: Plain, call_id: str, faults: list[str]) -> Plain:
    """The call with all required fields."""
    call = repair_call(item, call_id=call_id)
    rest = {name: value for name, value in item.items() if name not in ("function", "custom", "arguments", "input")}
    kind, text = ("custom_tool_call", "input") if call.custom else ("function_call", "arguments")
    repaired = {**rest, "type": kind, "call_id": call.call_id, "name": call.name, text: call.text}
    return _noted(repaired, [*faults, *call.faults])


def _noted(repaired: Plain, faults: list[str]) -> Plain:
    """The repaired call, with the repairs noted in its leftovers."""
    if not faults:
        return repaired
    others = repaired.get("leftovers")
    left = cast("Plain", others) if isinstance(others, dict) else {}
    return {**repaired, "leftovers": {**left, WIRE: {**as_object(left.get(WIRE)), REPAIRED: faults}}}


def _kind(item: Plain) -> str | None:
    """The inferred type of an item without one."""
    if "role" in item:
        return "message"
    if "name" in item and ("arguments" in item or "input" in item):
        return "function_call" if "arguments" in item else "custom_tool_call"
    if "call_id" in item and "output" in item:
        return "function_call_output"
    if isinstance(item.get("function"), dict):
        return "function_call"
    return None


def _usage(usage: Plain) -> Plain:
    """Token counts with missing or null ones as 0."""
    missing = [name for name in _COUNTS if usage.get(name) is None]
    return _noted({**usage, **dict.fromkeys(missing, 0)}, [f"it had no {name}, read as 0" for name in missing])


class RepairedCall(Struct, frozen=True):
    """A call with all required fields. `text` is JSON for a function and free text for a custom tool."""

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
    """An id for the call at `position` in the document named `origin`, the same every time."""
    return f"call_{digest(f'{origin}/{position}')}"


def arguments_text(value: Any) -> tuple[str, str]:
    """The JSON text of a function's arguments, and its defect in words; empty where there is none."""
    if isinstance(value, str):
        if value not in ("", "null"):
            return value, ""
        return "{}", "its arguments were empty, read as {}"
    if value is None or value is UNSET:
        return "{}", "it had no arguments, read as {}"
    kind = "an object" if isinstance(value, dict) else "a list" if isinstance(value, list) else "a bare value"
    return msgspec.json.encode(value).decode(), f"its arguments were {kind} instead of text"


def input_text(value: Any) -> tuple[str, str]:
    """The free text of a custom tool's input, and its defect in words; empty where there is none."""
    if isinstance(value, str):
        return value, ""
    if value is None or value is UNSET:
        return "", "it had no input"
    return msgspec.json.encode(value).decode(), "its input was JSON instead of text"


def repair_call(call: Mapping[str, Any], *, call_id: str, nested: bool = False) -> RepairedCall:
    """A complete call from `call` in any notation; `faults` describes each repair.

    `call` is the plain object a host sent, `call_id` the id to use where it has none (`derived_call_id`), and `nested`
    is whether its wire puts name and arguments below `function` or `custom` (Chat) or beside the id (Responses).
    """
    faults: list[str] = []
    found, is_number = _id(call)
    if is_number:
        faults.append("its id was a number")
    if not found:
        faults.append("it had no id")
    elif not nested and found != str(call.get("call_id")):
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


def _id(call: Mapping[str, Any]) -> tuple[str, bool]:
    """The id of a call, and whether it is a number."""
    for field in ("call_id", "id", "tool_call_id"):
        found = call.get(field)
        # Some hosts write the text "null" in place of an id.
        if isinstance(found, str) and found not in ("", "null"):
            return found, False
        if isinstance(found, int | float) and not isinstance(found, bool):
            return str(found), True
    return "", False


def _inner(call: Mapping[str, Any], kind: Any) -> tuple[Mapping[str, Any] | None, bool]:
    """The nested part of the call, if it has one, and whether it is a custom tool's."""
    function, custom = call.get("function"), call.get("custom")
    if isinstance(custom, dict) and (kind == "custom" or not isinstance(function, dict)):
        return cast("Plain", custom), True
    if isinstance(function, dict):
        return cast("Plain", function), False
    return None, kind in ("custom", "custom_tool_call")
