"""Requests to and from servers of Ollama: what the rows of the mapping tables do not show."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llm_rest.errors import DecodeError
from llm_rest.responses import FunctionCall, FunctionCallOutput, FunctionTool, Request
from llm_rest.wires import ollama_chat as wire
from tests.support.facts import plain


@pytest.mark.parametrize("text", ["[1]", '"x"', '{"a":', "not json", '{"a":1}x', "[" * 100_000])
def test_arguments_that_are_no_object_are_sent_as_the_text_of_one(text: str) -> None:
    """ollama.request.16"""
    call = FunctionCall(call_id="a", name="f", arguments=text)
    body, lost = wire.encode_request(Request(input=[call, FunctionCallOutput(call_id="a", output="4")]))
    assert plain(body)["messages"][0]["tool_calls"][0]["function"]["arguments"] == {"INVALID_JSON": text}
    assert [(loss.path, loss.kind) for loss in lost] == [("input[0].arguments", "changed")]


def test_references_that_double_at_every_step_come_to_an_end() -> None:
    """ollama.request.35. BUGS 49"""
    two = lambda i: {"properties": {x: {"$ref": f"#/$defs/d{i + 1}"} for x in "ab"}}  # noqa: E731
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/d0"}},
        "$defs": {f"d{i}": two(i) for i in range(60)},
    }
    body, _ = wire.encode_request(Request(input="Hi", tools=[FunctionTool(name="f", parameters=schema)]))
    assert len(json.dumps(plain(body))) < 200_000


@pytest.mark.parametrize("messages", [[{"role": "user", "content": [{"type": "text"}]}], [{"content": "Hi"}], {}])
def test_what_the_server_would_not_read_is_no_request(messages: Any) -> None:
    with pytest.raises(DecodeError):
        wire.REQUEST.decode(json.dumps({"model": "m", "messages": messages}).encode())
