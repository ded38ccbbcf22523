"""Requests on their way to a server of Ollama."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llm_rest.responses import (
    FunctionCall,
    FunctionCallOutput,
    FunctionTool,
    Message,
    OutputText,
    Request,
)
from llm_rest.vendors.dialects import OllamaDialect
from llm_rest.wires import ollama_chat as wire
from tests.support.facts import plain


def sent(request: Request, dialect: OllamaDialect | None = None) -> tuple[dict[str, Any], list[str]]:
    """The body as plain values, and every loss as `path (kind)`."""
    body, lost = wire.encode_request(request, dialect=dialect or OllamaDialect())
    return plain(body), [f"{loss.path} ({loss.kind})" for loss in lost]


def messages(*items: Any, dialect: OllamaDialect | None = None, **options: Any) -> tuple[list[Any], list[str]]:
    body, lost = sent(Request(input=list(items), **options), dialect)
    return body["messages"], lost


def user(*parts: Any) -> Message:
    return Message(role="user", content=list(parts))


def said(text: str) -> Message:
    return Message(role="assistant", content=[OutputText(text=text, annotations=[])])


def call(call_id: str, name: str = "f", arguments: str = "{}") -> FunctionCall:
    return FunctionCall(call_id=call_id, name=name, arguments=arguments)


def output(call_id: str, text: Any = "4", **more: Any) -> FunctionCallOutput:
    return FunctionCallOutput(call_id=call_id, output=text, **more)


# --- calls and their outputs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["[1]", '"x"', '{"a":', "not json", '{"a":1}x', "[" * 100_000])
def test_arguments_that_are_no_object_are_sent_as_the_text_of_one(text: str) -> None:
    """ollama.request.16"""
    found, lost = messages(call("a", arguments=text), output("a"))
    assert found[0]["tool_calls"][0]["function"]["arguments"] == {"INVALID_JSON": text}
    assert lost == ["input[0].arguments (changed)"]


# --- options --------------------------------------------------------------------------------------------------------


def came(fields: dict[str, Any]) -> Request:
    """A request as it came from a client of this wire."""
    document = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], **fields}
    return wire.decode_request(wire.REQUEST.decode(json.dumps(document).encode()))[0]


def test_leftovers_return_to_this_wire_and_are_reported_otherwise() -> None:
    """ollama.request.45"""
    request = came({"options": {"num_ctx": 9000}, "keep_alive": 5, "shift": False})
    request.leftovers = {**(request.leftovers or {}), "openai_chat": {"logit_bias": {"1": 2}}}
    body, lost = sent(request)
    assert (body["options"], body["keep_alive"], body["shift"]) == ({"num_ctx": 9000}, 5, False)
    assert lost == ["logit_bias (dropped)"]


# --- tools ----------------------------------------------------------------------------------------------------------


def function(name: str, schema: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": name, **more, "parameters": schema or {"type": "object", "properties": {}}},
    }


# --- schemas --------------------------------------------------------------------------------------------------------


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
