"""What hosts that speak this wire leave out or spell otherwise: no id, no model, no count, or null in their place.

Applied only to a document that did not fit as it came, after which it either fits or is refused. Works on plain values and
never changes what it was given.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from ...responses.carriers import digest

Plain = dict[str, Any]

_COUNTS = ("input_tokens", "output_tokens")


def lenient_message(document: Any) -> Any:
    """An answer with an id, a model and token counts, where it has content at all."""
    if not isinstance(document, dict) or "content" not in document:
        return cast("Any", document)
    message: Plain = {**cast("Plain", document)}
    if not isinstance(message.get("id"), str):
        known = message.get("id")
        message["id"] = (
            str(known) if isinstance(known, int) else f"msg_{digest(msgspec.json.encode(document).decode())}"
        )
    if message.get("model") is None:
        message["model"] = ""
    message["usage"] = _counted(message.get("usage") or {})
    return message


def lenient_event(document: Any) -> Any:
    """A step of a stream whose message, or whose counts, are put right; an error of a router is this wire's."""
    if not isinstance(document, dict):
        return document
    event: Plain = {**cast("Plain", document)}
    if event.get("error") and "type" not in event:
        said: Any = event["error"]
        inside = cast("Plain", said) if isinstance(said, dict) else {"message": str(said)}
        event |= {"type": "error", "error": {"type": "api_error", "message": "", **inside}}
    if event.get("message") is not None:
        event["message"] = lenient_message(event["message"])
    if isinstance(event.get("usage"), dict):
        event["usage"] = {
            name: value for name, value in event["usage"].items() if name not in _COUNTS or value is not None
        }
    return event


def _counted(usage: Any) -> Any:
    if not isinstance(usage, dict):
        return usage
    counts: Plain = {**cast("Plain", usage)}
    return counts | {name: 0 for name in _COUNTS if counts.get(name) is None}
