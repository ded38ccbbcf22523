"""What hosts really send, read as what the Responses format means: half a call, null counts, an id that is a number.

Applied only to a document that did not fit as it came, after which it either fits or is refused. Works on plain values,
returns new ones and never changes what it was given. Before changing this file, know that what already fits must come out
untouched, and that each repair of a call is noted in the call's own leftovers (`REPAIRED`), where the wire's decoder finds
and reports it.
"""

from __future__ import annotations

from typing import Any, cast

from .repair import derived_call_id, repair_call

Plain = dict[str, Any]

WIRE = "openai_responses"
REPAIRED = "repaired"

_TEXT_OF = {"function_call": "arguments", "custom_tool_call": "input"}
_COUNTS = ("input_tokens", "output_tokens", "total_tokens")


def lenient_response(document: Any) -> Any:
    """An answer with the calls, ids and token counts that hosts get wrong put right."""
    if not isinstance(document, dict):
        return document
    response = dict(cast("Plain", document))
    if not isinstance(response.get("id"), str):
        # Without an id of its own an answer gets one from its content; `decode_response` has both.
        response["id"] = str(response["id"]) if isinstance(response.get("id"), int) else ""
    if isinstance(response.get("output"), list):
        response["output"] = lenient_items(cast("list[Any]", response["output"]), response["id"])
    if isinstance(response.get("usage"), dict):
        response["usage"] = _usage(cast("Plain", response["usage"]))
    return response


def lenient_items(items: list[Any], origin: str) -> list[Any]:
    """Items whose calls have everything a call needs; `origin` names the document they stand in."""
    return [
        _item(cast("Plain", item), derived_call_id(origin, i)) if isinstance(item, dict) else item
        for i, item in enumerate(items)
    ]


def lenient_event(document: Any) -> Any:
    """A step of a stream: an error by its type, and the item or response inside put right."""
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
    typed = item if kind is None or kind == item.get("type") else {**item, "type": kind}
    if kind == "function_call_output" and "call_id" not in item:
        return {**typed, "call_id": None}
    if kind == "message" and item.get("content", "") is None:
        return {**typed, "content": []}
    text = _TEXT_OF.get(kind) if isinstance(kind, str) else None
    if text is None or (typed is item and all(isinstance(item.get(name), str) for name in ("call_id", "name", text))):
        return typed
    return _call(typed, call_id, ["it had no type"] if not item.get("type") else [])


def _call(item: Plain, call_id: str, faults: list[str]) -> Plain:
    """The call with everything a call needs, and with what had to be put right noted in its leftovers."""
    call = repair_call(item, call_id=call_id)
    faults += call.faults
    rest = {name: value for name, value in item.items() if name not in ("function", "custom", "arguments", "input")}
    kind, text = ("custom_tool_call", "input") if call.custom else ("function_call", "arguments")
    noted = {"leftovers": {WIRE: {REPAIRED: faults}}} if faults else {}
    return {**rest, "type": kind, "call_id": call.call_id, "name": call.name, text: call.text, **noted}


def _kind(item: Plain) -> str | None:
    """What an item without a type must be."""
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
    """Counts that are null or text as the numbers they mean."""
    found = {name: _count(usage.get(name)) for name in _COUNTS if name in usage}
    return {"input_tokens": 0, "output_tokens": 0, **usage, **found}


def _count(value: Any) -> Any:
    if value is None:
        return 0
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 20:
        return int(value)
    return value
