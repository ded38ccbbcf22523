"""Requests on their way to the vendor: what the rows of the mapping tables do not show."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_rest.responses import AnyItem, FunctionCall, FunctionCallOutput, InputText, Message, Request
from llm_rest.vendors.dialects import messages_model
from llm_rest.wires import anthropic_messages as wire
from llm_rest.wires import load
from tests.support.facts import plain
from tests.wires.anthropic_messages.steps import NEW, NEWEST, kinds, read, sent, text, user


def test_the_callers_own_fields_come_last() -> None:
    """anthropic.request.60"""
    own = {"anthropic_messages": {"max_tokens": 7, "inference_geo": "eu", "new": [1.0], "betas": ["b"]}}
    body, lost = sent(extra={**own, "openai_chat": {"n": 2}}, max_output_tokens=9)
    assert (body["max_tokens"], body["inference_geo"], body["new"], lost) == (7, "eu", [1.0], [])
    assert {"betas", "n"} & body.keys() == set()
    assert kinds(sent(extra={"anthropic_messages": {"messages": 7}})[1]) == [("extra.anthropic_messages", "dropped")]


@pytest.mark.parametrize(
    ("model", "like"),
    [
        ("claude-sonnet-4-20250514", "claude-sonnet-4"),
        ("us.anthropic.claude-haiku-4-5-v1:0", "claude-haiku-4-5"),
        ("anthropic/claude-opus-4.6", "claude-opus-4-6"),
        ("claude-opus-4-6@20260101", "claude-opus-4-6"),
        ("claude-aria-7", NEWEST.replace("opus-5-5", "fable-5-2")),
    ],
)
def test_a_model_is_known_by_the_longest_prefix_of_its_name(model: str, like: str) -> None:
    assert messages_model(model) == messages_model(like)


def test_a_search_result_is_shown_and_returns_until_its_text_is_changed() -> None:
    """anthropic.request_back.7"""
    block = {"type": "search_result", "title": "T", "source": "S", "content": [text("a")]}
    request: Any = read(messages=[{"role": "user", "content": [{**block, "citations": {"enabled": True}}]}])
    (message,) = request.input
    part = message.content[0]
    assert isinstance(part, InputText)
    assert part.text == "T\nS\n\na"
    part.text = "Other."
    assert sent(message)[0]["messages"][0]["content"] == [text("Other.")]


# --- calls ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", ['{"b": 1.0, "a": [1e3], "c": 12345678901234567890}', '{ "a" : 1 }', ' {"a":1}'])
def test_the_text_of_arguments_is_sent_as_it_is(arguments: str) -> None:
    """anthropic.request.17 and anthropic.hard.6"""
    call = FunctionCall(call_id="a", name="f", arguments=arguments)
    items: list[AnyItem] = [user(), call, FunctionCallOutput(call_id="a", output="4")]
    body, lost = wire.encode_request(Request(model=NEW, input=items))
    assert (arguments.strip().encode() in msgspec.json.encode(body), lost) == (True, [])


def ids_of(body: Any) -> list[tuple[str, str]]:
    """The id of each call in a body with that of the output behind it."""
    blocks = [block for message in body["messages"] for block in message["content"]]
    calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    return list(zip(calls, [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"], strict=True))


def with_calls(*ids: str) -> Request:
    items: list[AnyItem] = []
    for id in ids:
        call = FunctionCall(call_id=id, name="f", arguments="{}")
        items += [
            Message(role="user", content=[InputText(text="Hi")]),
            call,
            FunctionCallOutput(call_id=id, output="4"),
        ]
    return Request(model=NEW, input=items)


IDS = st.text(max_size=12) | st.from_regex(r"[a-zA-Z0-9_-]{1,12}", fullmatch=True) | st.just("llmr-YQ")


@given(st.lists(IDS, min_size=1, max_size=4))
def test_ids_of_calls_are_legal_and_differ_and_are_read_back(given: list[str]) -> None:
    """anthropic.hard.5 and BUGS 34: also those that occur several times"""
    body, _ = wire.encode_request(with_calls(*given))
    found = ids_of(plain(body))
    assert [one for one, other in found if one != other or not re.fullmatch(r"[a-zA-Z0-9_-]+", one)] == []
    assert len(set(found)) == len(given)
    request, _ = wire.decode_request(body)
    assert isinstance(request.input, list)
    assert [item.call_id for item in request.input if isinstance(item, FunctionCall)] == given


@pytest.mark.parametrize("id", ["toolu_01A", "call-1", "a", "9"])
def test_a_legal_id_is_sent_as_it_is(id: str) -> None:
    assert ids_of(plain(wire.encode_request(with_calls(id))[0])) == [(id, id)]


@pytest.mark.parametrize("id", ["llmr-!", "llmr-gA", "llmr-YQ", "llmr-YQAw", f"llmr-YQAx{'MTEx' * 3000}"])
def test_an_id_that_only_looks_like_ours_is_read_as_it_is(id: str) -> None:
    call = {"type": "tool_use", "id": id, "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": id, "content": "4"}
    hello = {"role": "user", "content": "Hi"}
    said = [hello, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    request, _ = wire.decode_request(
        wire.REQUEST.decode(msgspec.json.encode({"model": NEW, "max_tokens": 9, "messages": said}))
    )
    assert isinstance(request.input, list)
    assert [item.call_id for item in request.input if isinstance(item, FunctionCall)] == [id]


@pytest.mark.parametrize("other", ["openai_responses", "openai_chat", "gemini_generate_content", "ollama_chat"])
def test_a_block_without_text_is_no_empty_text_at_another_vendor(other: str) -> None:
    """Some hosts reject an empty text. The block is reported, and a message of nothing else too."""
    block = {"type": "new_block", "x": 1}
    addition = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "unknown"}}
    request = read(
        messages=[
            {"role": "user", "content": [text("Hi"), block]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [text("4"), block]}]},
            {"role": "assistant", "content": "Good."},
            {"role": "user", "content": "And?"},
            {"role": "system", "content": [addition]},
            {"role": "assistant", "content": "Yes."},
            {"role": "user", "content": [block]},
            {"role": "assistant", "content": "No."},
            {"role": "user", "content": "Go on."},
        ]
    )
    body, lost = load(other).encode_request(request)
    sent_text = msgspec.json.encode(body).decode()
    assert '"text":""' not in sent_text.replace(" ", "")
    assert '"content":[]' not in sent_text
    told = {loss.path for loss in lost}
    assert {
        "input[0].content[1].x",
        "input[2].output[1].x",
        "input[5].content[0].tool",
        "input[7].content[0].x",
    } <= told
