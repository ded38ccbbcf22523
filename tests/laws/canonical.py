"""What a wire may give back otherwise without having lost anything: a short table, each line with its reason.

Two requests (or responses) are equal in the laws when they are equal after these rewritings. Everything else that differs
must be a loss.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from llm_rest import wires
from tests.support.facts import plain

Plain = dict[str, Any]
Rewrite = Callable[[Plain, str], None]


@dataclass(frozen=True)
class Equivalence:
    """Why two documents say the same, on which wires, and how both become the same document."""

    why: str
    wires: tuple[str, ...]
    rewrite: Rewrite
    moves: bool = False
    """Whether it moves things to where no loss would look for them; what is missing is then sought without it."""


ALL = wires.NAMES
OTHERS = tuple(name for name in ALL if name != "openai_responses")


def items(document: Plain) -> Iterator[Plain]:
    """The items of a request's input or a response's output."""
    for field in ("input", "output"):
        if isinstance(document.get(field), list):
            yield from (item for item in document[field] if item is not None)


TEXT = {"user": "input_text", "system": "input_text", "developer": "input_text", "assistant": "output_text"}


def _parts(item: Plain, field: str) -> list[Plain]:
    return [part for part in item[field] if part] if isinstance(item.get(field), list) else []


def _says_nothing(item: Plain) -> bool:
    if item.get("type") != "message" or not isinstance(item.get("content"), list):
        return False
    item["content"] = [None if part.get("text") == "" else part for part in item["content"]]
    return not any(item["content"])


INCLUDED = ("reasoning.encrypted_content",)


DEFAULTS = {
    "truncation": "disabled",
    "store": False,
    "background": False,
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "top_logprobs": 0,
    "stream_options": {"include_obfuscation": False},
}


REWRITINGS: list[Equivalence] = []
"""All of them, in the order in which they are made."""


def rewriting(why: str, wires: tuple[str, ...], *, moves: bool = False) -> Callable[[Rewrite], Rewrite]:
    """Adds the function below to the rewritings."""

    def add(rewrite: Rewrite) -> Rewrite:
        REWRITINGS.append(Equivalence(why, wires, rewrite, moves))
        return rewrite

    return add


@rewriting("a document notes what only its own wire has and how it was written; another wire's notes are losses", ALL)
def _leftovers(value: Any, wire: str) -> None:
    if isinstance(value, dict):
        left = value.get("leftovers")
        if isinstance(left, dict):
            left.pop(wire, None)
            if not left:
                del value["leftovers"]
        for inner in value.values():
            _leftovers(inner, wire)
    elif isinstance(value, list):
        for inner in value:
            _leftovers(inner, wire)


@rewriting("ids and statuses of items are the bookkeeping of the server that made them", ALL)
def _bookkeeping(document: Plain, wire: str) -> None:
    for item in items(document):
        for name in ("id", "status", "created_by"):
            item.pop(name, None)


@rewriting("asking for what a host without the option does anyway needs no option", ALL)
def _defaults(document: Plain, wire: str) -> None:
    for name, value in DEFAULTS.items():
        if document.get(name, value) == value:
            document.pop(name, None)


@rewriting("an input that is a string is what a user says", OTHERS)
def _input_string(document: Plain, wire: str) -> None:
    if isinstance(document.get("input"), str):
        document["input"] = [{"type": "message", "role": "user", "content": document["input"]}]


@rewriting("a text is what it is, alone or as the only part of a list", OTHERS)
def _one_text(document: Plain, wire: str) -> None:
    for item in items(document):
        if item.get("type") == "message" and isinstance(item.get("content"), str):
            item["content"] = [{"type": TEXT.get(item["role"], "input_text"), "text": item["content"]}]
        elif item.get("type") == "function_call_output" and isinstance(item.get("output"), str):
            item["output"] = [{"type": "input_text", "text": item["output"]}]


@rewriting("a call without arguments has none, written or not", OTHERS)
def _empty_arguments(document: Plain, wire: str) -> None:
    for item in items(document):
        if item.get("type") == "function_call" and item["arguments"] in ("", "null"):
            item["arguments"] = "{}"


@rewriting("what is always sent along need not be asked for", OTHERS)
def _included(document: Plain, wire: str) -> None:
    asked = document.get("include")
    if isinstance(asked, list):
        rest = [None if name in INCLUDED else name for name in asked]  # positions stay, because losses name them
        document["include"] = rest
        if not any(rest):
            del document["include"]


@rewriting("when an answer was made is not on every wire, and zero where it must be there and nobody knows", OTHERS)
def _creation(document: Plain, wire: str) -> None:
    if document.get("created_at") == 0 or wire == "anthropic_messages":
        document.pop("created_at", None)


@rewriting("a text without sources has an empty list of them, written or not", OTHERS)
def _annotations(document: Plain, wire: str) -> None:
    for item in items(document):
        for part in _parts(item, "content"):
            if part.get("annotations") == []:
                del part["annotations"]


@rewriting(
    "a text without a character, a list of nothing, or what is so anyway (plain text, any detail) says nothing", OTHERS
)
def _nothing(document: Plain, wire: str) -> None:
    if (document.get("text") or {}).get("format") == {"type": "text"}:
        del document["text"]["format"]
    for tool in document.get("tools") or ():
        for name in [name for name, value in tool.items() if value is None]:
            del tool[name]
    for item in items(document):
        for part in [*_parts(item, "content"), *_parts(item, "output")]:
            if part.get("detail") == "auto":
                del part["detail"]
        if isinstance(item.get("output"), list):
            said = [None if part.get("text") == "" else part for part in item["output"]]
            item["output"] = said if any(said) else []
    for name in ("instructions", "tools", "metadata", "text", "reasoning"):
        if document.get(name) in ("", [], {}):
            del document[name]
    for field in ("input", "output"):
        if isinstance(document.get(field), list):
            document[field] = [None if _says_nothing(item) else item for item in document[field]]


@rewriting("a field of a request or response that is null says what an absent one says", OTHERS)
def _nulls(document: Plain, wire: str) -> None:
    for name in [name for name, value in document.items() if value is None]:
        del document[name]


@rewriting("a failed answer is an error, which has neither id nor model", OTHERS)
def _failed(document: Plain, wire: str) -> None:
    if document.get("status") == "failed":
        for name in ("id", "model"):
            document.pop(name, None)


@rewriting("an answer has no id on this wire, so its reader makes one", ("ollama_chat",))
def _answer_id(document: Plain, wire: str) -> None:
    document.pop("id", None)


@rewriting("this wire says whether to stream where nothing was said", ("ollama_chat",))
def _stream(document: Plain, wire: str) -> None:
    if document.get("stream") is False:
        del document["stream"]


@rewriting(
    "this wire does not count what was cached or thought; none of it is what a count of zero says", ("ollama_chat",)
)
def _zero_counts(document: Plain, wire: str) -> None:
    usage = document.get("usage") or {}
    for name in ("input_tokens_details", "output_tokens_details"):
        counts = {count: value for count, value in (usage.pop(name, None) or {}).items() if value}
        if counts:
            usage[name] = counts


@rewriting(
    "what is said to the model before anybody speaks is instructions, in whichever form and role", OTHERS, moves=True
)
def _preamble(document: Plain, wire: str) -> None:
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


@rewriting("the system and the developer are one voice above the user", ("anthropic_messages",))
def _above(document: Plain, wire: str) -> None:
    for item in items(document):
        if item.get("role") == "system":
            item["role"] = "developer"


@rewriting("`user` is the older name of `safety_identifier`", ("anthropic_messages",))
def _user(document: Plain, wire: str) -> None:
    if "user" in document and "safety_identifier" not in document:
        document["safety_identifier"] = document.pop("user")


@rewriting("a role that speaks twice in a row has said both", OTHERS, moves=True)
def _neighbours(document: Plain, wire: str) -> None:
    """Messages side by side become one; their items stay as nothing, which comparing skips."""
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


@rewriting("this wire shows one text of a thought, whether it was a summary or the thought itself", ("openai_chat",))
def _thoughts(document: Plain, wire: str) -> None:
    for item in items(document):
        if item.get("type") == "reasoning":
            said = [*(item.get("summary") or ()), *(item.get("content") or ())]
            item["summary"] = []
            item["content"] = [{"type": "reasoning_text", "text": "\n\n".join(part["text"] for part in said)}]


@rewriting("one stop sequence is a list of one", OTHERS)
def _stop(document: Plain, wire: str) -> None:
    if isinstance(document.get("stop"), str):
        document["stop"] = [document["stop"]]


@rewriting(
    "a call that came without an id is named by its place, and goes without an id again", ("gemini_generate_content",)
)
def _derived_ids(document: Plain, wire: str) -> None:
    named: dict[str, str] = {}
    for item in items(document):
        found = item.get("call_id")
        if isinstance(found, str) and re.fullmatch(r"call_.+_\d+", found):
            item["call_id"] = named.setdefault(found, f"derived_{len(named)}")


@rewriting("without a word the vendor chooses the tier, as with `auto`", ("gemini_generate_content",))
def _tier(document: Plain, wire: str) -> None:
    if document.get("service_tier") == "auto":
        del document["service_tier"]


@rewriting("streaming is asked for in the URL", ("gemini_generate_content",))
def _url(document: Plain, wire: str) -> None:
    document.pop("stream", None)


@rewriting(
    "text is the format there is anyway; a JSON schema is always strict on this wire, and its name is a label",
    ("anthropic_messages", "gemini_generate_content", "ollama_chat"),
)
def _format(document: Plain, wire: str) -> None:
    text = document.get("text") or {}
    if "format" in text and text["format"] == {"type": "text"}:
        del text["format"]
        if not text:
            del document["text"]
    asked = (document.get("text") or {}).get("format") or {}
    if asked.get("type") == "json_schema":
        asked.pop("name", None)
        if asked.get("strict") is True:
            del asked["strict"]


def canonical_document(model: Any, wire: str, *, moved: bool = True) -> Plain:
    """A request or response as plain JSON after every rewriting that holds on the wire; `moved` for those that move things."""
    document: Plain = plain(model)
    for rule in REWRITINGS:
        if wire in rule.wires and (moved or not rule.moves):
            rule.rewrite(document, wire)
    return document
