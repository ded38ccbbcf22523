"""What hosts that speak this wire spell otherwise, where it would not fit: the errors of routers.

Applied only to a document that did not fit as it came, after which it either fits or is refused. Works on plain values and
never changes what it was given.
"""

from __future__ import annotations

from typing import Any, cast

Plain = dict[str, Any]


def lenient_event(document: Any) -> Any:
    """A step of a stream; an error of a router is this wire's."""
    event = cast("Plain", document if isinstance(document, dict) else {})
    said = event.get("error")
    if not said or "type" in event:
        return cast("Any", document)
    inside = cast("Plain", said) if isinstance(said, dict) else {"message": str(said)}
    return {**event, "type": "error", "error": {"type": "api_error", "message": "", **inside}}
