"""What hosts really send, read as what the Responses format means: half a call, null counts, an id that is a number.

Applied only to a document that did not fit as it came, after which it either fits or is refused. Works on plain values,
returns new ones and never changes what it was given. Before changing this file, know that what already fits must come out
untouched, and that each repair is noted in the leftovers of what it was done to (`REPAIRED`), where the wire's converters
find and report it.
"""

from __future__ import annotations

from typing import Any, cast

from ..unknown import MOST_IN_ANSWER
from .repair import derived_call_id, repair_call

Plain = dict[str, Any]

WIRE = "openai_responses"
REPAIRED = "repaired"

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
"""Fields that are read here and in `normalize.py` also where the struct does not declare them: whether one is kept there depends
on its value."""

_TEXT_OF = {"function_call": "arguments", "custom_tool_call": "input"}
_COUNTS = ("input_tokens", "output_tokens")


def lenient_response(document: Any) -> Any:
    """An answer with the calls, ids and token counts that hosts get wrong put right."""
    if not isinstance(document, dict):
        return document
    response = dict(cast("Plain", document))
    found = response.get("id")
    if isinstance(found, int):
        response = _noted({**response, "id": str(found)}, ["it was a number"])
    elif not isinstance(found, str):
        # Without an id of its own an answer gets one from its content; `decode_response` has both, and says so.
        response["id"] = ""
    if not isinstance(response.get("object", ""), str):
        del response["object"]  # it says the same in every answer
    items: list[Any] | None = response["output"] if isinstance(response.get("output"), list) else None
    if items is not None and len(items) <= MOST_IN_ANSWER:  # more are refused
        response["output"] = lenient_items(items, response["id"])
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
    """The call with everything a call needs."""
    call = repair_call(item, call_id=call_id)
    rest = {name: value for name, value in item.items() if name not in ("function", "custom", "arguments", "input")}
    kind, text = ("custom_tool_call", "input") if call.custom else ("function_call", "arguments")
    repaired = {**rest, "type": kind, "call_id": call.call_id, "name": call.name, text: call.text}
    return _noted(repaired, [*faults, *call.faults])


def _noted(repaired: Plain, faults: list[str]) -> Plain:
    """What was repaired, with what had to be put right in its leftovers."""
    if not faults:
        return repaired
    others = repaired.get("leftovers")
    left = cast("Plain", others) if isinstance(others, dict) else {}
    return {**repaired, "leftovers": {**left, WIRE: {REPAIRED: faults}}}


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
    """Counts that are missing or null as none."""
    missing = [name for name in _COUNTS if usage.get(name) is None]
    return _noted({**usage, **dict.fromkeys(missing, 0)}, [f"it had no {name}, read as 0" for name in missing])
