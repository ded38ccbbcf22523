"""What a wire may give back otherwise without having lost anything: rewritings, each with its reason.

Two requests (or responses) are equal in the laws when they are equal after these rewritings. Everything else that differs
must be a loss.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from llm_rest import wires
from tests.support.facts import plain

Plain = dict[str, Any]
Rewrite = Callable[[Plain], None]

OLLAMA, GEMINI, ANTHROPIC = ("ollama_chat",), ("gemini_generate_content",), ("anthropic_messages",)
OTHERS = tuple(name for name in wires.NAMES if name != "openai_responses")

ANY: Any = object()
"""Stands for any value."""

ABSENT: list[tuple[str, tuple[str, ...], Plain]] = [
    (
        "asking for what a host without the option does anyway needs no option",
        wires.NAMES,
        {
            "truncation": "disabled",
            "store": False,
            "background": False,
            "tool_choice": "auto",
            "parallel_tool_calls": True,
            "presence_penalty": 0,
            "frequency_penalty": 0,
            "top_logprobs": 0,
            "stream_options": {"include_obfuscation": False},
        },
    ),
    ("the time of an answer is zero where it must be there and nobody knows", OTHERS, {"created_at": 0}),
    ("this wire has no time of an answer", ANTHROPIC, {"created_at": ANY}),
    ("an answer has no id on this wire, so its reader makes one", OLLAMA, {"id": ANY}),
    ("this wire says whether to stream where nothing was said", OLLAMA, {"stream": False}),
    ("without a word the vendor chooses the tier", GEMINI, {"service_tier": "auto"}),
    ("streaming is asked for in the URL", GEMINI, {"stream": ANY}),
]
"""Fields that say what an absent one says where they have this value: why, and on which wires."""


EMPTY = ("instructions", "tools", "metadata", "text", "reasoning", "stream_options", "prompt_cache_options")
"""Fields that say what an absent one says where there is nothing in them."""


class Equivalence(NamedTuple):
    """On which wires two documents say the same, and how both become the same document."""

    wires: tuple[str, ...]
    rewrite: Rewrite
    moves: bool = False
    """Whether it moves things to where no loss would look for them; what is missing is then sought without it."""


def items(document: Plain) -> Iterator[Plain]:
    """The items of a request's input or a response's output."""
    for field in ("input", "output"):
        if isinstance(document.get(field), list):
            yield from (item for item in document[field] if item is not None)


def parts(item: Plain) -> Iterator[Plain]:
    """The parts of an item's content and output."""
    for field in ("content", "output"):
        yield from (part for part in item[field] if part) if isinstance(item.get(field), list) else ()


REWRITINGS: list[Equivalence] = []
"""All of them, in the order in which they are made."""


def rewriting(wires: tuple[str, ...], *, moves: bool = False) -> Callable[[Rewrite], Rewrite]:
    """Adds the function below to the rewritings; its docstring says why they hold."""

    def add(rewrite: Rewrite) -> Rewrite:
        REWRITINGS.append(Equivalence(wires, rewrite, moves))
        return rewrite

    return add


@rewriting(wires.NAMES)
def _bookkeeping(document: Plain) -> None:
    """Ids and statuses of items are the bookkeeping of the server that made them."""
    for item in items(document):
        for name in ("id", "status", "created_by"):
            item.pop(name, None)


@rewriting(OTHERS)
def _lists_of_one(document: Plain) -> None:
    """One text, or one stop sequence, is a list of one; an input that is a string is what a user says."""
    if isinstance(document.get("stop"), str):
        document["stop"] = [document["stop"]]
    if isinstance(document.get("input"), str):
        document["input"] = [{"type": "message", "role": "user", "content": document["input"]}]
    for item in items(document):
        for field in ("content", "output"):
            if item.get("type") in ("message", "function_call_output") and isinstance(item.get(field), str):
                kind = "output_text" if item.get("role") == "assistant" else "input_text"
                item[field] = [{"type": kind, "text": item[field]}]


@rewriting(OTHERS)
def _included(document: Plain) -> None:
    """What is always sent along need not be asked for. Positions stay, because losses name them."""
    rest = [None if name == "reasoning.encrypted_content" else name for name in document.get("include") or ()]
    document["include"] = rest if any(rest) else None


@rewriting(OTHERS)
def _nothing(document: Plain) -> None:
    """A text without a character, an empty list, null, or what is so anyway (plain text, any detail) says nothing."""
    if (document.get("text") or {}).get("format") == {"type": "text"}:
        del document["text"]["format"]
    for tool in document.get("tools") or ():
        for name in [name for name, value in tool.items() if value is None]:
            del tool[name]
    for item in items(document):
        if item.get("type") == "function_call" and item["arguments"] in ("", "null"):
            item["arguments"] = "{}"
        for part in parts(item):
            if part.get("annotations") == []:
                del part["annotations"]
            if part.get("detail") == "auto":
                del part["detail"]
        for field in ("content", "output"):
            if item.get("type") != "reasoning" and isinstance(item.get(field), list):
                said = [None if part and part.get("text") == "" else part for part in item[field]]
                item[field] = said if any(said) else []
    for field in ("input", "output"):
        if isinstance(document.get(field), list):
            document[field] = [
                None if item and item.get("type") == "message" and item["content"] == [] else item
                for item in document[field]
            ]
    for name in [name for name, value in document.items() if value in (None, "", [], {})]:
        if document[name] is None or name in EMPTY:
            del document[name]


@rewriting(OTHERS)
def _failed(document: Plain) -> None:
    """A failed answer is an error, which has neither id nor model."""
    if document.get("status") == "failed":
        for name in ("id", "model"):
            document.pop(name, None)


@rewriting(OLLAMA)
def _zero_counts(document: Plain) -> None:
    """This wire does not count what was cached or thought; none of it is what a count of zero says."""
    usage = document.get("usage") or {}
    for name in ("input_tokens_details", "output_tokens_details"):
        counts = {count: value for count, value in (usage.pop(name, None) or {}).items() if value}
        if counts:
            usage[name] = counts


@rewriting(OTHERS, moves=True)
def _preamble(document: Plain) -> None:
    """What is said to the model before anybody speaks is instructions, in whichever form and role."""
    said: list[Plain] = []
    if isinstance(document.get("instructions"), str) and "input" in document:
        said.append({"text": document.pop("instructions")})
    found = document["input"] if isinstance(document.get("input"), list) else []
    for i, item in enumerate(found):
        if item is None:
            continue
        if item.get("type") != "message" or item["role"] not in ("system", "developer"):
            break
        parts = [part for part in item["content"] if part]
        said += [{name: value for name, value in part.items() if name != "type"} for part in parts]
        found[i] = None
    if said:
        document["preamble"] = said


@rewriting(ANTHROPIC)
def _above(document: Plain) -> None:
    """The system and the developer are one voice above the user."""
    for item in items(document):
        if item.get("role") == "system":
            item["role"] = "developer"


@rewriting(ANTHROPIC)
def _user(document: Plain) -> None:
    """`user` is the older name of `safety_identifier`."""
    if "user" in document and "safety_identifier" not in document:
        document["safety_identifier"] = document.pop("user")


@rewriting(OTHERS, moves=True)
def _neighbours(document: Plain) -> None:
    """A role that speaks twice in a row has said both; the second stays as nothing, which comparing skips."""
    for field in ("input", "output"):
        last: Plain | None = None
        for i, item in enumerate(document[field] if isinstance(document.get(field), list) else ()):
            if item is None:
                continue
            if last and item.get("type") == "message" == last["type"] and {**item, "content": last["content"]} == last:
                last["content"] = [*last["content"], *item["content"]]
                document[field][i] = None
            else:
                last = item


@rewriting(("openai_chat",))
def _thoughts(document: Plain) -> None:
    """This wire shows one text of a thought, whether it was a summary or the thought itself."""
    for item in items(document):
        if item.get("type") == "reasoning":
            said = [*(item.get("summary") or ()), *(item.get("content") or ())]
            item["summary"] = []
            item["content"] = [{"type": "reasoning_text", "text": "\n\n".join(part["text"] for part in said)}]


@rewriting(GEMINI)
def _derived_ids(document: Plain) -> None:
    """A call that came without an id is named by its place, and goes without an id again."""
    named: dict[str, str] = {}
    for item in items(document):
        found = item.get("call_id")
        if isinstance(found, str) and re.fullmatch(r"call_.+_\d+", found):
            item["call_id"] = named.setdefault(found, f"derived_{len(named)}")


@rewriting((*ANTHROPIC, *GEMINI, *OLLAMA))
def _format(document: Plain) -> None:
    """A JSON schema is always strict on this wire, and its name is a label."""
    asked = (document.get("text") or {}).get("format") or {}
    if asked.get("type") == "json_schema":
        asked.pop("name", None)
        if asked.get("strict") is True:
            del asked["strict"]


def without_leftovers(value: Any, wire: str) -> Any:
    """A document without what only its own wire has and how it was written; what another wire left there is a loss."""
    if isinstance(value, list):
        return [without_leftovers(inner, wire) for inner in value]
    if not isinstance(value, dict):
        return value
    fields = {name: without_leftovers(inner, wire) for name, inner in value.items()}
    if isinstance(left := fields.get("leftovers"), dict):
        left.pop(wire, None)
    return fields if fields.get("leftovers") != {} else {n: v for n, v in fields.items() if n != "leftovers"}


def canonical_document(model: Any, wire: str, *, moved: bool = True) -> Plain:
    """A request or response as plain JSON after every rewriting that holds on the wire; `moved` for those that move things."""
    document: Plain = without_leftovers(plain(model), wire)
    for _, names, values in ABSENT:
        for name, value in values.items() if wire in names else ():
            if value is ANY or document.get(name) == value:
                document.pop(name, None)
    for rule in REWRITINGS:
        if wire in rule.wires and (moved or not rule.moves):
            rule.rewrite(document)
    return document
