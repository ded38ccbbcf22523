"""What somebody from outside may say in a Responses body: everything that travels as Responses, and no more.

`Request` and its items have fields of ours, which a client of this library fills and a client of a server must not: `extra`
goes into an upstream's body as it is, whatever it names there, and so do the leftovers of another wire. `stop`, `seed` and
`top_k` are ours too, do what they do on every other wire, and may be set: several hosts of this API take them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from ..responses.lenient import REPAIRED, WIRE

if TYPE_CHECKING:
    from ..responses import Request


def public(request: Request, body: bytes) -> Request:
    """The request in that body, which is changed, without what is ours alone."""
    request.extra = None
    # A name in JSON may be spelled with escapes.
    if b"leftovers" in body or b"\\u00" in body:
        _strip(request)
    return request


def _strip(value: Any) -> None:
    if isinstance(value, list):
        for inner in cast("Any", value):
            _strip(inner)
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            if name != "leftovers":
                _strip(getattr(value, name))
            elif value.leftovers is not None:  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
                value.leftovers = _repairs(value.leftovers)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def _repairs(leftovers: Any) -> Any:
    """What our own decoder noted about a call; the caller may forge it, and then reads it in the losses."""
    noted = cast("object", leftovers.get(WIRE, {}).get(REPAIRED))
    if not isinstance(noted, list) or not all(isinstance(fault, str) for fault in cast("list[object]", noted)):
        return None
    return cast("object", {WIRE: {REPAIRED: noted}})
