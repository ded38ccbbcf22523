"""Changes of recorded documents that are lost without a word, and why that is right: data, one line a kind of place."""

from __future__ import annotations

import re
from typing import NamedTuple


class Excuse(NamedTuple):
    """Documents of a kind, changed in one of these ways at places whose way matches the pattern."""

    kind: str
    changes: str
    places: str
    why: str


ONE_WORD = "the format knows one word for this place, so that writing it and leaving it out mean the same"

TABLE: dict[str, tuple[Excuse, ...]] = {
    "openai_responses": (
        Excuse("request", "drop", r"(content|summary|context_management)\[\]\.type$|breakpoint\.mode$", ONE_WORD),
        Excuse("request", "empty", r"context_management\[\]$|breakpoint$", ONE_WORD),
        Excuse("response", "drop", r"^\.object$|\.(content|summary)\[\]\.type$", ONE_WORD),
        Excuse(
            "request", "drop", r"^\.input\[\]\.type$", "the vendor's document makes the type of a reference optional"
        ),
        Excuse("request", "empty", r"^\.input\[\]\.id$", "an empty id names no item"),
        Excuse("request", "drop null", r"\.encrypted_content$", "the item after it goes without its id: bookkeeping"),
    ),
    "gemini_generate_content": (
        Excuse(
            "request",
            "drop null empty",
            r"\.thought_?[sS]ignature$",
            "models refuse a call without one: the documented stand-in is sent, which a loss at the call's item says",
        ),
        Excuse(
            "request",
            "empty",
            r"\.function_?[rR]esponse\.parts$",
            "an empty list is a list that is not set (ProtoJSON)",
        ),
    ),
    "anthropic_messages": (
        Excuse("request", "drop", r"^\.system\[\]\.type$|\.content\[\]\.content\.?\w*(\[\])?\.type$", ONE_WORD),
        Excuse("request", "drop empty", r"(cache_control|caching)(\.type)?$", ONE_WORD),
        Excuse("response", "drop", r"^\.role$|^\.content\[\]\.content\.?\w*(\[\])?\.type$", ONE_WORD),
        Excuse("request", "empty", r"\.text$", "an empty text says nothing, and the vendor refuses it"),
        Excuse("request", "empty", r"^\.stop_sequences\[\]$", "a loss names it, at the field of Responses: `stop`"),
        Excuse("request", "empty", r"\.name$", "a call of no tool: the vendor refuses it, and any name does as well"),
        Excuse("response", "empty", r"^\.content\[\]\.(id|name)$", "a call of no tool, or nobody can answer: as above"),
    ),
}


def excuse(wire: str, kind: str, change: str, way: str) -> Excuse | None:
    """The excuse for a change at a place, if there is one."""
    for one in TABLE.get(wire, ()):
        if one.kind == kind and change in one.changes.split() and re.search(one.places, way):
            return one
    return None
