"""Whole answers, both ways."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from llm_rest.losses import Loss
from llm_rest.responses import (
    FunctionCall,
    FunctionCallOutput,
    Message,
    OutputText,
    Request,
    Response,
    Usage,
    WebSearchCall,
)
from llm_rest.wires import ollama_chat as wire
from tests.support.facts import plain
from tests.support.ollama import thought

CREATED = "2026-09-21T14:13:20.123456789Z"
SECONDS = 1790000000


def answer(content: str | None = "Hi.", *, message: Any = None, **fields: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": content, **(message or {})}
    usual = {"model": "m", "created_at": CREATED, "message": said, "done": True, "done_reason": "stop"}
    return {name: value for name, value in {**usual, **fields}.items() if value is not UNSET}


def read(document: dict[str, Any], **options: Any) -> tuple[Response, list[Loss]]:
    return wire.decode_response(wire.RESPONSE.decode(json.dumps(document).encode()), **options)


def told(lost: list[Loss]) -> list[str]:
    return [f"{loss.path} ({loss.kind})" for loss in lost]


def call(name: str = "f", arguments: Any = None, **more: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments or {}}, **more}


# --- Ollama -> Responses --------------------------------------------------------------------------------------------


def test_an_answer_becomes_items_in_order() -> None:
    """ollama.response.1, ollama.response.2, ollama.response.4, ollama.response.5, ollama.response.6, ollama.response.9"""
    said = {"thinking": "Hm.", "tool_calls": [call("f", {"b": 1.0, "a": 2}, id="c1"), call("now")]}
    document = answer("Let me see.", message=said, prompt_eval_count=3, eval_count=4)
    response, lost = read(document)
    assert (response.status, response.model, response.created_at) == ("completed", "m", SECONDS)
    assert response.usage == Usage(input_tokens=3, output_tokens=4, total_tokens=7)
    thinking, text, first, second = response.output
    origin = response.id.removeprefix("resp_")
    assert thinking == replace(thought("Hm.", "ollama"), id=f"rs_{origin}_0", status="completed")
    assert text == Message(
        id=f"msg_{origin}_1",
        status="completed",
        role="assistant",
        content=[OutputText(text="Let me see.", annotations=[])],
    )
    assert first == FunctionCall(
        id=f"fc_{origin}_2", status="completed", call_id="c1", name="f", arguments='{"b": 1.0, "a": 2}'
    )
    assert isinstance(second, FunctionCall)
    assert second.call_id.startswith("call_")
    assert lost == []
    assert read(document)[0] == response, "the same every time"


def test_answers_of_other_moments_have_other_ids() -> None:
    """ollama.response.1"""
    ids = {read(answer(created_at=f"2026-09-21T14:13:20.{i}Z"))[0].id for i in range(9)}
    assert len(ids) == 9
    assert read(answer("a", created_at=UNSET))[0].id != read(answer("b", created_at=UNSET))[0].id


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
    assert told(lost) == (["input (changed)"] if cut else [])
    assert not cut or "num_ctx" in lost[0].what
    assert told(read(answer(prompt_eval_count=counted, eval_count=1))[1]) == []


# --- Responses -> Ollama --------------------------------------------------------------------------------------------


def said(*parts: Any, **more: Any) -> Message:
    return Message(role="assistant", content=list(parts), **more)


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("streamed", [True, False])
def test_fields_nobody_knows_of_what_was_said_go_back_on_the_next_turn(keep: bool, streamed: bool) -> None:
    """A new vendor's signature is such a field."""
    said = {
        "signature": "s",
        "tool_calls": [call(id="a", new=1) | {"function": {"name": "f", "arguments": {}, "x": 2}}],
    }
    document = answer("Hi.", message={"thinking": "Hm.", **said}, odd=3)
    if streamed:
        machine = wire.decode_stream(keep=keep)
        (*_, last) = machine.feed(wire.EVENT.decode(json.dumps(document).encode()))
        response = last.response  # type: ignore[union-attr]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    else:
        response, _ = read(document, keep=keep)
    assert bool(response.leftovers) is keep
    turn = [*response.output, FunctionCallOutput(call_id="a", output="4"), Message(role="user", content="And now?")]
    body, lost = wire.encode_request(Request(input=turn))
    assert lost == []
    assert body.messages
    assert plain(body.messages[0]) == document["message"]
