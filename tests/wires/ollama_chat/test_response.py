"""Whole answers: conversations that were cut, and fields that nobody knows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llm_rest.responses import FunctionCall, FunctionCallOutput, Message, OutputText, Request, WebSearchCall
from llm_rest.wires import ollama_chat as wire
from tests.support.facts import plain


def answer(content: str = "Hi.", *, message: Any = None, **fields: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": content, **(message or {})}
    created = "2026-09-21T14:13:20.123456789Z"
    return {"model": "m", "created_at": created, "message": said, "done": True, "done_reason": "stop", **fields}


def read(document: dict[str, Any], **options: Any) -> Any:
    return wire.decode_response(wire.RESPONSE.decode(json.dumps(document).encode()), **options)


LONG = "word " * 8000


@pytest.mark.parametrize(
    ("request_", "counted", "cut"),
    [
        pytest.param(Request(input=LONG), 4096, True, id="ollama.response.14"),
        pytest.param(Request(input=[Message(role="user", content=LONG)]), 4096, True, id="items"),
        pytest.param(Request(input=[Message(role="user", content=[OutputText(text=LONG)])]), 4096, True, id="parts"),
        pytest.param(
            Request(input=[FunctionCall(call_id="a", name="f", arguments=LONG), WebSearchCall()]), 4096, True, id="call"
        ),
        pytest.param(Request(input="Hi", instructions=LONG), 4096, True, id="instructions"),
        pytest.param(Request(input=LONG), 8000, False, id="read"),
        pytest.param(Request(input=LONG), 0, False, id="not-counted"),
        pytest.param(Request(input="word " * 1000), 5, False, id="short"),
        pytest.param(Request(input="Hi", extra={"ollama_chat": {"options": {"num_ctx": 64}}}), 63, True, id="full"),
        pytest.param(
            wire.decode_request(wire.REQUEST.decode(b'{"messages":[],"options":{"num_ctx":64}}'))[0],
            64,
            True,
            id="full-too",
        ),
        pytest.param(
            Request(input="Hi", extra={"ollama_chat": {"options": {"num_ctx": 64}}}), 62, False, id="not-full"
        ),
    ],
)
def test_a_conversation_that_was_cut_is_reported(request_: Request, counted: int, cut: bool) -> None:
    """ollama.hard.10. BUGS 82"""
    _, lost = read(answer(prompt_eval_count=counted, eval_count=1), request=request_)
    assert [(loss.path, loss.kind) for loss in lost] == ([("input", "changed")] if cut else [])
    assert not cut or "num_ctx" in lost[0].what
    assert read(answer(prompt_eval_count=counted, eval_count=1))[1] == []


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("streamed", [True, False])
def test_fields_nobody_knows_of_what_was_said_go_back_on_the_next_turn(keep: bool, streamed: bool) -> None:
    """A new vendor's signature is such a field."""
    call = {"id": "a", "new": 1, "function": {"name": "f", "arguments": {}, "x": 2}}
    document = answer(message={"thinking": "Hm.", "signature": "s", "tool_calls": [call]}, odd=3)
    if streamed:
        machine = wire.decode_stream(keep=keep)
        last: Any = machine.feed(wire.EVENT.decode(json.dumps(document).encode()))[-1]
        response = last.response
    else:
        response, _ = read(document, keep=keep)
    assert bool(response.leftovers) is keep
    turn = [*response.output, FunctionCallOutput(call_id="a", output="4"), Message(role="user", content="And now?")]
    body, lost = wire.encode_request(Request(input=turn))
    assert (plain(body)["messages"][0], lost) == (document["message"], [])
