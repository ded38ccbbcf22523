"""`cache_prefix` predicts what a vendor's prompt cache holds; the simulated one reports it."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from llm_rest import AsyncClient, Client, ConfigError, DecodeError, Message, cache_prefix, tool, wires
from llm_rest.responses import CacheBreakpoint, FunctionTool, InputText, Request
from tests.conversation.support import RECORDED, asked, pieces, sent
from tests.support import WIRES

pytestmark = pytest.mark.anyio


@tool
def lookup(word: str) -> str:
    """Look a word up."""
    return f"{word} is a word. " * 100


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("wire", WIRES)
async def test_what_is_predicted_is_what_the_simulator_reports(way: str, wire: str, streams: bool) -> None:
    sent.clear()
    kind: Any = Client if way == "sync" else AsyncClient
    marks: Any = {"prompt_cache_options": {"mode": "implicit"}} if wire == "anthropic_messages" else {}
    chat = kind("any", vendor=RECORDED, wire=wire, on_loss="ignore").chat(
        system=f"{way} {wire} {streams}. " * 300, tools=[lookup], **marks
    )
    reported: list[int] = []
    for script in ("say one", 'call lookup {"word": "w"}\nsay two', "say three"):
        reply = (await pieces(chat, script))[1].reply if streams else await asked(chat, script)
        reported.append(int(reply.info.metadata["cached_input_tokens"]))
    chat.conversation.set_system_prompt(f"Another one, {way} {wire} {streams}. " * 200)
    changed = (await pieces(chat, "say four"))[1].reply if streams else await asked(chat, "say four")
    assert all(cache_prefix(*two, wire=wire).whole for two in pairwise(sent[:4]))
    predicted = [0, *(cache_prefix(*two, wire=wire).tokens for two in pairwise(sent[:4]))]
    last = cache_prefix(*sent[3:], wire=wire)
    assert not last.whole
    assert last.tokens < 1024
    assert min(predicted[1:]) > 1024
    # The second turn made two requests, and its reply counts both.
    expected = [0, predicted[1] + predicted[2], predicted[3]]
    # Ollama's wire has no word for tokens of a cache.
    assert reported == ([0, 0, 0] if wire == "ollama_chat" else expected)
    assert changed.info.metadata["cached_input_tokens"] == "0"


def test_short_prompts_and_unmarked_ones_of_anthropic_are_not_cached() -> None:
    for wire, text in (("openai_responses", "short"), ("anthropic_messages", "long " * 2000)):
        for _ in range(2):
            reply = Client("simulator/any", wire=wire, on_loss="ignore").generate(text)
            assert reply.info.metadata["cached_input_tokens"] == "0"


# --- where two requests differ --------------------------------------------------------------------------------------

TOOLS = [FunctionTool(name=name, parameters={"type": "object", "properties": {}}) for name in "fg"]
TALK = [Message(role="user", content="x" * 400), Message(role="assistant", content="y" * 400)]


def request(*texts: str, **fields: Any) -> Request:
    more = [Message(role="user", content=text) for text in texts]
    return Request(**{"model": "m", "instructions": "i" * 400, "input": [*TALK, *more], "tools": TOOLS, **fields})


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("change", "field", "tokens"),
    [
        ({}, None, 321),
        ({"input": [*TALK, Message(role="user", content="b")]}, "content", 320),
        ({"instructions": "other"}, "instructions", 20),
        ({"tools": TOOLS[:1]}, "tools", 10),
        ({"tools": None}, "tools", 0),
        ({"model": "another"}, "model", 0),
    ],
)
def test_it_names_the_place_and_counts_alike_on_every_wire(
    wire: str, change: dict[str, Any], field: str | None, tokens: int
) -> None:
    found = cache_prefix(request("a"), request("a", "more", **change), wire=wire)
    if field == "model" and wire == "gemini_generate_content":
        return  # it stands in the URL
    assert found.whole is (field is None)
    names = {
        "content": ("input[2].content", "messages[3].content", "messages[2].content", "contents[2].parts[0].text"),
        "instructions": ("instructions", "messages[0].content", "system", "systemInstruction.parts[0].text"),
        "tools": ("tools[",),
        "model": ("model",),
    }
    assert field is None or str(found.path).startswith(names[field]), found
    assert found.tokens == tokens
    assert found.byte >= 4 * tokens


def test_marks_and_the_spelling_of_a_text_or_a_body_are_no_difference() -> None:
    marked = InputText(text="x" * 400, prompt_cache_breakpoint=CacheBreakpoint(mode="explicit"))
    before, after = request(input=[TALK[0]]), request(input=[Message(role="user", content=[marked])])
    for wire in ("anthropic_messages", "openai_chat"):
        assert cache_prefix(before, after, wire=wire).whole
    body, _ = wires.load("openai_chat").encode_request(request())
    document = msgspec.json.decode(msgspec.json.encode(body))
    for one in (msgspec.json.encode(document), json.dumps(document), document, body):
        assert cache_prefix(one, request("more"), wire="openai_chat").whole


def test_a_setting_that_empties_the_cache_of_messages_counts() -> None:
    one = {"model": "m", "max_tokens": 9, "system": "s" * 400, "messages": [], "thinking": {"type": "a"}}
    assert cache_prefix(one, {**one, "max_tokens": 10}, wire="anthropic_messages").whole
    found = cache_prefix(one, {**one, "thinking": {"type": "b"}}, wire="anthropic_messages")
    assert (found.path, found.tokens) == ("thinking.type", 100)


def test_what_is_no_request_is_refused() -> None:
    with pytest.raises(ConfigError, match="openai_chat"):
        cache_prefix({}, {}, wire="smoke_signals")
    for body in (b"{", "[]", b"\xff"):
        with pytest.raises(DecodeError):
            cache_prefix(body, {})
