"""Places that few documents have: a change there shows on another wire, or a loss names it."""

from __future__ import annotations

import copy
import json
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from llm_rest import wires

Plain = dict[str, Any]

MODELS = {"anthropic_messages": "claude-opus-5", "gemini_generate_content": "gemini-3-flash-preview"}
ASKED: Plain = {"model": "claude-opus-5", "max_tokens": 100}
USED: Plain = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]}
FOUND: Plain = {
    "type": "search_result",
    "source": "https://a.b",
    "title": "T",
    "content": [{"type": "text", "text": "x"}],
}
DOCUMENT: Plain = {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "D"}]}}
THOUGHT: list[Plain] = [{"type": "thinking", "thinking": "Hm", "signature": "s"}, {"type": "text", "text": "x"}]
SEARCHED: list[Plain] = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
    {"type": "text", "text": "x"},
]
CALLED: list[Plain] = [
    {"role": "user", "content": "q"},
    {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": "x"},
]


def talk(*contents: Any) -> Plain:
    roles = ("user", "assistant", "user")
    return {**ASKED, "messages": [{"role": role, "content": each} for role, each in zip(roles, contents, strict=False)]}


def after_call(block: Plain) -> Plain:
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [block]}
    return {**ASKED, "messages": [{"role": "user", "content": "q"}, USED, {"role": "user", "content": [result]}]}


def custom(kind: Plain) -> Plain:
    return {"model": "m", "input": "hi", "tools": [{"type": "custom", "name": "c", "format": kind}]}


RESPONSES, ANTHROPIC, GEMINI = "openai_responses", "anthropic_messages", "gemini_generate_content"
GRAMMAR: Plain = {"type": "grammar", "syntax": "lark", "definition": "x"}
SAID: list[Plain] = [
    {"role": "user", "parts": [{"text": "q"}]},
    {"role": "model", "parts": [{"text": "Hm", "thought": True, "thoughtSignature": "c2ln"}, {"text": "x"}]},
    {"role": "user", "parts": [{"text": "r"}]},
]
WORDS: Plain = {"type": "STRING", "enum": ["a", "b"]}

PLACES: dict[str, tuple[str, Plain, tuple[Any, ...], Any]] = {
    "a text of a search result": (ANTHROPIC, talk([FOUND]), ("messages", 0, "content", 0, "content", 0, "new"), 1),
    "that in an output": (
        ANTHROPIC,
        after_call(FOUND),
        ("messages", 2, "content", 0, "content", 0, "content", 0, "new"),
        1,
    ),
    "a text of a document": (
        ANTHROPIC,
        talk([DOCUMENT]),
        ("messages", 0, "content", 0, "source", "content", 0, "new"),
        1,
    ),
    "the source of a document": (ANTHROPIC, talk([DOCUMENT]), ("messages", 0, "content", 0, "source", "new"), 1),
    "a message with a thought": (ANTHROPIC, talk("q", THOUGHT, "r"), ("messages", 1, "new"), 1),
    "a message with a search": (ANTHROPIC, talk("q", SEARCHED, "r"), ("messages", 1, "new"), 1),
    "a content with a thought": (GEMINI, {"contents": SAID}, ("contents", 1, "new"), 1),
    "words without quotes": (
        GEMINI,
        {"contents": SAID[:1], "generationConfig": {"responseMimeType": "application/json", "responseSchema": WORDS}},
        ("generationConfig", "responseMimeType"),
        "text/x.enum",
    ),
    "a grammar": (RESPONSES, custom(GRAMMAR), ("tools", 0, "format", "new"), 1),
    "a text format": (RESPONSES, custom({"type": "text"}), ("tools", 0, "format", "new"), 1),
    "no tool calls": (RESPONSES, {"model": "m", "input": "hi"}, ("max_tool_calls",), 0),
    "the name of an output": (RESPONSES, {"model": "m", "input": CALLED}, ("input", 2, "name"), "other"),
    "a tool's own field": (GEMINI, {"contents": SAID[:1], "tools": [{"googleSearch": {}}]}, ("tools", 0, "new"), 1),
    "a filter": (
        GEMINI,
        {"contents": SAID[:1], "tools": [{"googleSearch": {}}]},
        ("tools", 0, "googleSearch", "timeRangeFilter"),
        {"startTime": "a"},
    ),
    "a stored answer": (
        "openai_chat",
        {"model": "m", "messages": [{"role": "user", "content": "q"}]},
        ("store",),
        True,
    ),
}


def sent(source: str, document: Plain, target: str) -> tuple[bytes, list[str]]:
    wire = wires.load(source)
    body = wire.REQUEST.decode(json.dumps(document).encode())
    request, lost = wire.decode_request(body, model=document.get("model", MODELS[GEMINI]))
    made, more = wires.load(target).encode_request(replace(request, model=MODELS.get(target, "gpt-4.1")))
    return msgspec.json.encode(made), [str(loss) for loss in (*lost, *more)]


@pytest.mark.parametrize("target", wires.NAMES)
@pytest.mark.parametrize("name", PLACES)
def test_a_change_shows_or_is_told(name: str, target: str) -> None:
    source, before, place, value = PLACES[name]
    after: Any = copy.deepcopy(before)
    inner = after
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    assert sent(source, before, target) != sent(source, after, target)
