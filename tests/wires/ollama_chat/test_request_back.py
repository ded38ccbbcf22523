"""Documents of Ollama's clients as requests."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from llm_rest.errors import DecodeError
from llm_rest.responses import (
    FunctionCall,
    FunctionCallOutput,
    FunctionTool,
    Request,
)
from llm_rest.wires import ollama_chat as wire

# --- options --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("messages", [[{"role": "user", "content": [{"type": "text"}]}], [{"content": "Hi"}], {}])
def test_what_the_server_would_not_read_is_no_request(messages: Any) -> None:
    with pytest.raises(DecodeError):
        wire.REQUEST.decode(json.dumps({"model": "m", "messages": messages}).encode())


@pytest.mark.parametrize(
    "left",
    [
        {"spelling": 5, "tools": [], "options": "x", "num_ctx": "many", "stream": {}},
        {
            "tools": {"f": {"function": {"parameters": 5, "spelling": {"parameters": ["5", ""]}}}},
            "spelling": {"tools": "entries"},
        },
        {"messages": [], "model": 5, "spelling": {"messages": [None, ""], "options": "group", "done reason": [1, 2]}},
        5,
    ],
)
def test_leftovers_of_any_shape_do_no_harm(left: Any) -> None:
    left = {"ollama_chat": left}
    body, _ = wire.encode_request(Request(input="Hi", tools=[FunctionTool(name="f")], leftovers=left))
    assert body.messages
    wire.REQUEST.decode(msgspec.json.encode(body))
    bads: tuple[Any, ...] = (
        {"spelling": []},
        {"message": 5},
        {"function": 5, "spelling": "x"},
        {"id": 5, "message": {"role": 5}},
        5,
    )
    for bad in bads:
        item = FunctionCall(call_id="a", name="f", arguments="{}", leftovers={"ollama_chat": bad})
        out = FunctionCallOutput(call_id="a", output="4", leftovers={"ollama_chat": bad})
        made, _ = wire.encode_request(Request(input=[item, out]))
        assert made.messages
        wire.REQUEST.decode(msgspec.json.encode(made))
