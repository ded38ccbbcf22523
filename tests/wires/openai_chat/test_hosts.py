"""What one Chat host's document says goes to that host again, and to another it is a loss."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from llm_rest.losses import Loss
from llm_rest.responses import FunctionCallOutput, Message, Request
from llm_rest.vendors.dialects import CHAT_HOSTS
from llm_rest.wires import openai_chat as wire

USER = {"role": "user", "content": "Hi"}
DOCUMENTS: dict[str, dict[str, Any]] = {
    "openrouter": {
        "provider": {"order": ["a"]},
        "models": ["a"],
        "route": "fallback",
        "transforms": [],
        "plugins": [{"id": "web"}],
        "usage": {"include": True},
    },
    "vllm": {"guided_json": {}, "min_p": 0.1, "repetition_penalty": 1.1, "chat_template_kwargs": {"a": 1}},
    "groq": {"search_settings": {"include_domains": ["a"]}},
    "alibaba": {"enable_search": True},
}
HOSTS = ["openai", "groq", "mistral", "deepseek", "openrouter", "vllm", "alibaba"]


def decoded(document: dict[str, Any], host: str) -> Request:
    body = wire.REQUEST.decode(json.dumps({"model": "m", "messages": [USER], **document}))
    return wire.decode_request(body, dialect=CHAT_HOSTS[host])[0]


def encoded(request: Request, host: str) -> tuple[Any, list[Loss]]:
    body, lost = wire.encode_request(request, dialect=CHAT_HOSTS[host])
    return json.loads(msgspec.json.encode(body)), lost


@pytest.mark.parametrize("source", DOCUMENTS)
@pytest.mark.parametrize("target", HOSTS)
def test_fields_of_one_host_go_to_that_host_and_are_told_for_another(source: str, target: str) -> None:
    sent, lost = encoded(decoded(DOCUMENTS[source], source), target)
    fields = DOCUMENTS[source]
    if source == target:
        assert {name: sent[name] for name in fields} == fields
        assert not lost
    else:
        assert not fields.keys() & sent.keys()
        assert {(loss.path, loss.kind) for loss in lost} >= {(name, "dropped") for name in fields}


def test_a_request_goes_through_its_own_json_to_the_same_host() -> None:
    request = decoded(DOCUMENTS["openrouter"], "openrouter")
    again = msgspec.json.decode(msgspec.json.encode(request), type=Request)
    assert encoded(again, "openrouter") == encoded(request, "openrouter")


def test_options_of_openai_go_to_every_host_that_has_them() -> None:
    sent, lost = encoded(decoded({"logit_bias": {"1": 2}, "n": 1}, "openai"), "vllm")
    assert sent["logit_bias"] == {"1": 2}
    assert not lost


def test_fields_of_a_message_and_its_parts_and_calls_go_to_their_host_alone() -> None:
    part = {"type": "text", "text": "Hi", "mood": 1}
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}, "later": 1}
    messages = [
        {"role": "user", "content": [part], "tone": 1},
        {"role": "assistant", "content": "a", "tool_calls": [call], "channel": "final"},
        {"role": "tool", "content": "b", "tool_call_id": "c", "cached": True},
    ]
    request = decoded({"messages": messages}, "groq")
    assert encoded(request, "groq") == ({"model": "m", "messages": messages}, [])
    sent, lost = encoded(request, "openai")
    paths = ["input[0].tone", "input[0].content[0].mood", "input[1].channel", "input[2].later", "input[3].cached"]
    assert sorted(loss.path for loss in lost) == sorted(paths)
    assert "mood" not in str(sent)


def test_what_an_answer_of_one_host_says_beside_its_text_goes_to_no_other() -> None:
    message = {"role": "assistant", "content": "a", "mood": 1}
    document = {"id": "c", "choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
    body = wire.RESPONSE.decode(json.dumps(document))
    response, _ = wire.decode_response(body, dialect=CHAT_HOSTS["openrouter"], keep=False)
    request = Request(model="m", input=[Message(role="user", content="Hi"), *response.output])
    assert encoded(request, "openrouter")[0]["messages"][1] == message
    sent, lost = encoded(request, "openai")
    assert sent["messages"][1] == {"role": "assistant", "content": "a"}
    assert [(loss.path, loss.kind) for loss in lost] == [("input[1].mood", "dropped")]


@pytest.mark.parametrize("streams", [False, True])
def test_the_id_of_a_call_returns_to_its_host_as_it_came_however_long(streams: bool) -> None:
    """A proxy in front of Gemini puts its signature there."""
    long = "call_abc__thought__" + "x" * 100
    call = {"index": 0, "id": long, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    head = {"id": "c", "created": 1, "model": "m"}
    if streams:
        decoder = wire.decode_stream(keep=False)
        chunk = {**head, "choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
        events: list[Any] = [*decoder.feed(wire.EVENT.decode(json.dumps(chunk))), *decoder.end()]
        output = events[-1].response.output
    else:
        choice = {"index": 0, "finish_reason": "tool_calls", "message": {"tool_calls": [call]}}
        output = wire.decode_response(wire.RESPONSE.decode(json.dumps({**head, "choices": [choice]})), keep=False)[
            0
        ].output
    request = Request(model="m", input=[*output, FunctionCallOutput(call_id=long, output="1")])
    sent, lost = encoded(request, "openai")
    assert (sent["messages"][0]["tool_calls"][0]["id"], sent["messages"][1]["tool_call_id"]) == (long, long)
    assert not lost
    sent, lost = encoded(request, "azure_openai")
    assert len(sent["messages"][1]["tool_call_id"]) <= 40
    assert sent["messages"][0]["tool_calls"][0]["id"] == sent["messages"][1]["tool_call_id"]
    assert [loss.kind for loss in lost] == ["changed", "changed"]


@pytest.mark.parametrize("reasoning", [{}, {"reasoning_content": None}])
def test_a_call_without_its_thought_gets_an_empty_one_where_the_host_requires_it(reasoning: dict[str, Any]) -> None:
    """DeepSeek rejects the request without it, also that of a client of its own wire, which may have dropped it."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    called = {"role": "assistant", "content": None, "tool_calls": [call], **reasoning}
    messages = [
        USER,
        called,
        {"role": "tool", "content": "b", "tool_call_id": "c"},
        {"role": "assistant", "content": "Done."},
    ]
    sent, _ = encoded(decoded({"messages": messages}, "deepseek"), "deepseek")
    assert sent["messages"][1] == {**called, "reasoning_content": ""}
    assert "reasoning_content" not in sent["messages"][3]
    sent, _ = encoded(decoded({"messages": messages}, "vllm"), "vllm")
    assert sent["messages"] == messages
