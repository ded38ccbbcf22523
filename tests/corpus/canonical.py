"""Where we write a recorded document otherwise than it came, without changing what it says: data, with the reason.

Each line names a rewriting after which the recorded document and ours are equal; `docs/wires/<wire>.md` lists the same ids.
A line is about a shape, never about one recording.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

Plain = dict[str, Any]


@dataclass(frozen=True)
class Canonical:
    """One rewriting of documents of a kind: `struct` where the structs alone cause it, `both` ways to write are equal."""

    id: str
    why: str
    rewrite: Callable[[Any], None]
    kinds: tuple[str, ...] = ("request", "response", "event")
    struct: bool = False


def objects(value: Any) -> Iterator[Plain]:
    """Every object in a document, outside in."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from objects(inner)


# --- openai_responses -----------------------------------------------------------------------------------------------


def _message_type(request: Plain) -> None:
    for item in request["input"] if isinstance(request.get("input"), list) else ():
        if "role" in item:
            item.setdefault("type", "message")


CALLERS = frozenset("parameters schema input_schema output_schema metadata".split())
"""Fields whose values are the caller's own JSON."""


def without_nulls(value: Any, callers: frozenset[str] = CALLERS) -> Any:
    """A document without the fields that are null."""
    if isinstance(value, list):
        return [without_nulls(inner, callers) for inner in value]
    if not isinstance(value, dict):
        return value
    fields = value.items()
    return {n: inner if n in callers else without_nulls(inner, callers) for n, inner in fields if inner is not None}


def _null_is_absent(document: Plain, callers: frozenset[str] = CALLERS) -> None:
    fields = without_nulls(document, callers)
    document.clear()
    document.update(fields)


# --- openai_chat ----------------------------------------------------------------------------------------------------


def _code_text(document: Plain) -> None:
    for value in objects(document):
        if isinstance(value.get("code"), int):
            value["code"] = str(value["code"])


def _required_reasoning(request: Plain) -> None:
    """DeepSeek and Moonshot reject calls without the reasoning before them, and accept an empty one."""
    for message in request["messages"] if isinstance(request.get("messages"), list) else ():
        if isinstance(message, dict) and message.get("tool_calls") and message.get("reasoning_content") in ("", None):
            message.pop("reasoning_content", None)


# --- gemini_generate_content ----------------------------------------------------------------------------------------

CHOSEN = frozenset(
    """
    args response parameters parametersJsonSchema responseSchema responseJsonSchema labels safetySettings
    """.split()
)
"""Fields whose values are the caller's own JSON, or plain objects we only pass on."""


def _camel_case(value: Any) -> None:
    if isinstance(value, list):
        for inner in value:
            _camel_case(inner)
    elif isinstance(value, dict):
        for name in list(value):
            inner = value.pop(name)
            name = re.sub(r"_([a-z])", lambda found: found[1].upper(), name)
            value[name] = inner
            if name not in CHOSEN:
                _camel_case(inner)


def _one_for_a_list(request: Plain) -> None:
    if isinstance(request.get("tools"), dict):
        request["tools"] = [request["tools"]]


TABLE: dict[str, tuple[Canonical, ...]] = {
    "openai_responses": (
        Canonical(
            "responses.canonical.1", "a message is written with its type", _message_type, ("request",), struct=True
        ),
        Canonical("responses.canonical.2", "what is null is left out", _null_is_absent, struct=True),
    ),
    "openai_chat": (
        Canonical(
            "chat.canonical.1", "the code of an error is a word, also where it is a number", _code_text, ("error",)
        ),
        Canonical("chat.canonical.2", "calls without reasoning have an empty one", _required_reasoning, ("request",)),
    ),
    "anthropic_messages": (),
    "ollama_chat": (),
    "gemini_generate_content": (
        Canonical("gemini.canonical.1", "names are written in camelCase", _camel_case, ("request",), struct=True),
        Canonical(
            "gemini.canonical.2", "a list of one is written as a list", _one_for_a_list, ("request",), struct=True
        ),
        Canonical(
            "gemini.canonical.3", "what is null is left out", partial(_null_is_absent, callers=CHOSEN), struct=True
        ),
    ),
}


def canonical(document: Any, wire: str, kind: str, *, struct: bool = False) -> Any:
    """The document after every rewriting for its kind; changes it in place. `struct` leaves those of the converters out."""
    for rule in TABLE[wire]:
        if kind in rule.kinds and (rule.struct or not struct) and isinstance(document, dict):
            rule.rewrite(document)
    return document
