"""What one wire's document said and Responses cannot, told to the other wires.

A wire keeps under its own name what it will put back itself. Another wire reports it, unless it is mere spelling: a field
that was null, empty or zero, and everything under the name `spelling`, where a wire notes how its document was written
(what was absent, which of two equal forms was used) so that it can write it the same way again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from msgspec import UNSET, UnsetType

if TYPE_CHECKING:
    from ..losses import Losses
    from .parts import Leftovers

SPELLING = "spelling"

NEAR = "near"
"""In the spelling: fields that Responses says only nearly, each with what other wires get in their place."""


def own(leftovers: Leftovers | UnsetType, wire: str) -> dict[str, Any]:
    """What `wire` itself left; empty where it left nothing."""
    return {} if leftovers is UNSET else leftovers.get(wire, {})


def report_foreign(leftovers: Leftovers | UnsetType, wire: str, path: str, lost: Losses) -> None:
    """Report as dropped what other wires left at `path`, which is empty for the document itself."""
    if leftovers is UNSET:
        return
    for other, fields in leftovers.items():
        if other == wire:
            continue
        _report_near(fields, path, lost)
        for name, value in fields.items():
            if name != SPELLING and _says_something(value):
                lost.dropped(f"{path}{'.' if path else ''}leftovers.{other}.{name}", f"{name} of a document of {other}")


def _says_something(value: Any) -> bool:
    if isinstance(value, dict):
        return any(name != SPELLING and _says_something(inner) for name, inner in cast("dict[str, Any]", value).items())
    if isinstance(value, list):
        return any(_says_something(inner) for inner in cast("Any", value))
    return bool(value)


def _report_near(fields: dict[str, Any], path: str, lost: Losses) -> None:
    notes: Any = fields.get(SPELLING)
    near: Any = cast("dict[str, Any]", notes).get(NEAR) if isinstance(notes, dict) else None
    for name, what in cast("dict[str, Any]", near).items() if isinstance(near, dict) else ():
        lost.changed(f"{path}.{name}" if path else name, str(what))
