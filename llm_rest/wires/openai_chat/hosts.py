"""Whose document it was: fields that one host has in its documents go to that host again, and to no other.

Leftovers of this wire note the host (`issuer`) of their document. At another host, the fields of OpenAI's own reference stay,
since all hosts know them or list them among what they lack; any other is reported. Before changing this file, know that
leftovers without a note are those of the host they go to. The fields are those of `types.py` (read 2026-11-23).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ...responses.carriers import ENTRIES, GROUP, ORDER, SPELLING, WITHIN, own
from ...unknown import Model, as_object
from . import types
from .types import USED, WIRE, Json

if TYPE_CHECKING:
    from ...losses import Losses

ISSUER = "issuer"
"""Key in `spelling`: the host of the document."""

_REQUEST = types.Request.__struct_fields__
_MESSAGE = types.AssistantFields.__struct_fields__
_OF_HOSTS = frozenset(
    (
        *(_REQUEST[_REQUEST.index("top_k") + 1 : _REQUEST.index("messages")]),
        *(_MESSAGE[_MESSAGE.index("reasoning_content") :]),
        *("prefix", "partial", "stop_reason", "cache_control", "eager_input_streaming"),
    )
)
KNOWN = (
    frozenset(
        name
        for kind in vars(types).values()
        if isinstance(kind, type) and issubclass(kind, Model)
        for name in kind.__struct_encode_fields__
    )
    - _OF_HOSTS
)
"""The fields of OpenAI's own documents."""
FORMS = frozenset({"parts", "refusal", "web_search_options"})
"""The forms under `USED` that every host reads."""


def with_host(left: Json, issuer: str) -> Json:
    """Leftovers with a note of the host of their document."""
    return {**left, SPELLING: {**as_object(left.get(SPELLING)), ISSUER: issuer}}


def is_own(left: Json, issuer: str) -> bool:
    """Whether leftovers are those of a document of this host."""
    return bool(as_object(left.get(SPELLING)).get(ISSUER, issuer) == issuer)


def host_leftovers(left: Json, issuer: str, path: str, lost: Losses) -> Json:
    """Leftovers for a request to a host: without fields that only the host of their document has, which are reported."""
    if not left or is_own(left, issuer):
        return left
    return _without_host_fields(left, path, lost)


def came_from(leftovers: Any, issuer: str) -> bool:
    """Whether the leftovers of an item note this host."""
    return bool(as_object(own(leftovers, WIRE).get(SPELLING)).get(ISSUER) == issuer)


def _without_host_fields(left: Json, path: str, lost: Losses) -> Json:
    notes, kept = as_object(left.get(SPELLING)), cast("Json", {})
    for name, value in left.items():
        place = f"{path}.{name}" if path else name
        how = notes.get(name)
        if name == SPELLING:
            continue
        if name not in KNOWN:
            if value is not None and name not in ORDER:
                lost.dropped(place, "a field of another host's documents")
        elif how in (WITHIN, GROUP) and isinstance(value, dict):
            kept[name] = _without_host_fields(cast("Json", value), place, lost)
        elif how == ENTRIES and isinstance(value, dict):
            entries = cast("Json", value)
            kept[name] = {
                key: _without_host_fields(as_object(entry), f"{place}[{key}]", lost) if key else entry
                for key, entry in entries.items()
            }
        else:
            kept[name] = value
    words = " ".join(word for word in str(notes.get(USED, "")).split() if word in FORMS)
    stay = {name: note for name, note in notes.items() if name not in (USED, ISSUER) and set(name.split()) <= KNOWN}
    kept[SPELLING] = {**stay, USED: words} if words else stay
    return kept
