"""Recorded documents with one thing changed; and the changes that are lost without a word, and why that is right."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Raw

from tests.corpus import Answer, Exchange, Sent, recorded
from tests.laws.rows import ROWS
from tests.support.documents import Place, at, places, replaced, without


class Excuse(NamedTuple):
    """Documents of a kind, changed in one of these ways at places whose way matches the pattern."""

    kind: str
    changes: str
    places: str
    why: str


ONE_WORD = "the format knows one word for this place, so that writing it and leaving it out mean the same"

TABLE: dict[str, tuple[Excuse, ...]] = {
    "openai_responses": (
        Excuse("request", "drop null", r"(content|summary|context_management)\[\]\.type$|breakpoint\.mode$", ONE_WORD),
        Excuse("request", "empty", r"context_management\[\]$|breakpoint$", ONE_WORD),
        Excuse("response", "drop null", r"^\.object$", ONE_WORD),
        Excuse("response", "empty", r"^\.model$", "an empty name names no model"),
        Excuse(
            "response", "drop null", r"^\.usage\.total_tokens$", "a total that is missing is the sum, and is written"
        ),
        Excuse("response", "drop", r"\.(content|summary)\[\]\.type$", ONE_WORD),
        Excuse(
            "request", "drop null empty", r"\.output\[\](\.type)?$", "a list of data, not of parts, is its JSON text"
        ),
        Excuse(
            "request", "drop", r"^\.input\[\]\.type$", "the vendor's document makes the type of a reference optional"
        ),
        Excuse("request", "empty", r"^\.input\[\]\.id$", "an empty id names no item"),
        Excuse("request", "drop null", r"\.encrypted_content$", "the item after it goes without its id: bookkeeping"),
    ),
    "ollama_chat": (
        Excuse("response", "null", r"\.(bytes|top_logprobs)$", "null and absent are the same list that is not there"),
    ),
    "gemini_generate_content": (
        Excuse(
            "request",
            "drop null empty",
            r"\.thought_?[sS]ignature$",
            "models refuse a call without one: the documented stand-in is sent, which a loss at the call's item says",
        ),
    ),
    "anthropic_messages": (
        Excuse("request", "drop", r"^\.system\[\]\.type$|\.content\[\]\.content\.?\w*(\[\])?\.type$", ONE_WORD),
        Excuse("request", "drop empty", r"(cache_control|caching)(\.type)?$", ONE_WORD),
        Excuse("response", "drop", r"^\.(role|type)$|^\.content\[\]\.content\.?\w*(\[\])?\.type$", ONE_WORD),
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


NEW = "brand_new"
"""The name of a field that nobody knows."""

KINDS = ("type", "role", "status", "object", "mode", "format", "effort", "detail", "service_tier", "tool_choice")
KINDS += ("finish_reason", "stop_reason", "finishReason", "done_reason")
"""Names of fields that hold one of several words, of which there may be more tomorrow."""

WRITTEN = "written"
"""The vendor of exchanges that we wrote: no host in particular."""

NOTHING = Answer(200, {})
FIXTURES = Path(__file__).parents[2] / "fixtures"


def written(name: str) -> list[Exchange]:
    """The small documents of the laws and the fixtures as exchanges, for outsiders and for wires that are recorded little."""
    row, files = ROWS[name], sorted((FIXTURES / name).glob("*.json"))
    questions = {f"request-{i}": json.dumps(document).encode() for i, document in enumerate(row.requests)}
    questions |= {file.name: file.read_bytes() for file in files if file.name.endswith(".request.json")}
    answers = {f"answer-{i}": json.dumps(document).encode() for i, document in enumerate(row.answers)}
    answers |= {file.name: file.read_bytes() for file in files if file.name.endswith(".response.json")}
    asked = [Exchange(id, WRITTEN, name, False, NOTHING, Sent("", {}, Raw(body))) for id, body in questions.items()]
    return asked + [Exchange(id, WRITTEN, name, False, Answer(200, {}, Raw(body))) for id, body in answers.items()]


def of(name: str, vendor: str) -> list[Exchange]:
    """The exchanges of one vendor on one wire, recorded or written, with the streams among the fixtures."""
    if vendor != WRITTEN:
        return recorded(name, vendor)
    told = [(file.name, file.read_text()) for file in sorted((FIXTURES / name).glob("*.stream.ndjson"))]
    return written(name) + [Exchange(id, WRITTEN, name, True, Answer(200, {}, stream_text=s)) for id, s in told]


DROP: Any = object()
"""Stands for the value of a field that is taken out."""


def edits(document: Any) -> Iterator[tuple[str, Place, Any]]:
    """Single changes of a document: what is done, where, and the value that stands there then, or `DROP`."""
    for place in places(document):
        value = at(document, place)
        if isinstance(value, dict):
            yield "add", (*place, NEW), {"deep": [1, "two"]}
        if not place:
            continue
        if isinstance(place[-1], str):
            yield "drop", place, DROP
        if value is not None:
            yield "null", place, None
        if value and isinstance(value, str | list | dict):
            yield "empty", place, type(value)()
        if place[-1] in KINDS and isinstance(value, str):
            yield "kind", place, NEW


def applied(document: Any, place: Place, value: Any) -> Any:
    """A copy of the document with one change."""
    return without(document, place) if value is DROP else replaced(document, place, value)


def changes(document: Any) -> Iterator[tuple[str, Place, Any]]:
    """The document with one change each: what was done, where, and what it is then."""
    for change, place, value in edits(document):
        yield change, place[:-1] if change == "add" else place, applied(document, place, value)


def shape(document: Any, place: Place) -> tuple[str, ...]:
    """What a place is like: its way there without positions, and the kinds of what stands there and around it."""
    way = "".join("[]" if isinstance(step, int) else f".{step}" for step in place)
    around = [at(document, place), at(document, place[:-1])]
    return (way, *(str(one.get("type", one.get("role"))) if isinstance(one, dict) else "" for one in around))


SET: dict[str, Any] = {"false": False, "zero": 0, "text": "", "list": [], "object": {}}
"""Values that say something although they are empty."""


def all_edits(document: Any) -> Iterator[tuple[str, Place, Any]]:
    """Single changes as the law of leaves wants them: with more values, and without nulls, which mean absent."""
    yield from (one for one in edits(document) if one[0] != "null")
    for place in places(document):
        value = at(document, place)
        if isinstance(value, dict):
            for change, empty in SET.items():
                yield f"add {change}", (*place, NEW), empty
        elif not isinstance(value, list) and place:
            yield "other", place, otherwise(value)
            for change, empty in SET.items():
                if type(value) is not type(empty) or value != empty:
                    yield change, place, empty


def otherwise(value: Any) -> Any:
    """Another value of the same type."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return f"{value}x"
        case _:
            return "x"
