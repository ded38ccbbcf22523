"""What the decoders of answers bound: how much of an answer costs more than its bytes do."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from pytest_httpx import HTTPXMock

from llm_rest import wires
from llm_rest.errors import DecodeError, MalformedResponseError
from llm_rest.unknown import MOST_IN_ANSWER
from llm_rest.vendors.rows import DIALECTS
from tests.callers import NewClient
from tests.laws.growth import whole
from tests.support import WIRES

pytestmark = pytest.mark.anyio

CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
LISTED: dict[str, dict[str, Callable[[int], Any]]] = {
    "openai_responses": {
        "calls": lambda n: [CALL] * n,
        "calls without an id": lambda n: [{"name": "f", "arguments": {}}] * n,
        "items of an unknown kind": lambda n: [{"type": "new"}] * n,
        "parts of an unknown kind": lambda n: [
            {"type": "message", "role": "assistant", "content": [{"type": "new"}] * n}
        ],
    },
    "openai_chat": {
        "calls": lambda n: [{"message": {"tool_calls": [{"id": "c", "type": "new"}] * n}}],
        "calls without an id": lambda n: [{"message": {"tool_calls": [{"function": {"name": "f"}}] * n}}],
        "parts": lambda n: [{"message": {"content": [{"type": "thinking", "thinking": []}] * n}}],
        "choices with an unknown field": lambda n: [{"new": 1}] * n,
    },
    "anthropic_messages": {
        "calls": lambda n: [{"type": "tool_use", "id": "c", "name": "f", "input": {}}] * n,
        "blocks of an unknown kind": lambda n: [{"type": "new"}] * n,
        "citations of an unknown kind": lambda n: [{"type": "text", "text": "a", "citations": [{"type": "new"}] * n}],
    },
    "gemini_generate_content": {
        "calls": lambda n: [{"functionCall": {"name": "f"}}] * n,
        "calls in snake case": lambda n: [{"function_call": {"name": "f"}}] * n,
        "texts": lambda n: [{"text": ""}] * n,
        "sources with an unknown field": lambda n: {
            "candidates": [{"groundingMetadata": {"groundingChunks": [{"new": 1}] * n}}]
        },
    },
    "ollama_chat": {
        "calls": lambda n: {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {}}}] * n},
        "calls with an unknown field": lambda n: {
            "role": "assistant",
            "tool_calls": [{"function": {"name": "f"}, "new": 1}] * n,
        },
    },
}
"""What answers of n things say, each of which is converted by itself."""

every_list = pytest.mark.parametrize(("name", "shape"), [(name, shape) for name in WIRES for shape in LISTED[name]])


def document(name: str, shape: str, n: int) -> bytes:
    said = LISTED[name][shape](n)
    return json.dumps(said if "candidates" in said else whole(name, said)).encode()


@pytest.mark.sample(4)
@every_list
def test_an_answer_of_too_many_calls_parts_or_unknown_objects_is_refused_before_it_is_converted(
    name: str, shape: str
) -> None:
    wire = wires.load(name)
    for decoder in (wire.RESPONSE, wire.EVENT):
        body = document(name, shape, MOST_IN_ANSWER + 1)
        if decoder is wire.EVENT and name in ("openai_responses", "anthropic_messages"):
            kind = ("response.completed", "response") if name == "openai_responses" else ("message_start", "message")
            body = b'{"type":"%s","%s":%s}' % (kind[0].encode(), kind[1].encode(), body)
        elif decoder is wire.EVENT and name == "openai_chat":
            body = body.replace(b'"message"', b'"delta"')
        with pytest.raises(DecodeError, match=r"more than 20,000 entries|too many objects of unknown kinds") as caught:
            decoder.decode(body)
        assert caught.value.limited


@pytest.mark.sample(4)
@every_list
def test_an_answer_of_10_000_calls_or_parts_is_taken(name: str, shape: str) -> None:
    wire = wires.load(name)
    wire.decode_response(wire.RESPONSE.decode(document(name, shape, 10_000)), dialect=DIALECTS[name]())


MODELS = {
    "openai_responses": "openai/gpt-4o",
    "openai_chat": "groq/m",
    "anthropic_messages": "anthropic/claude-haiku-4-5",
    "gemini_generate_content": "google/gemini-2.5-flash",
    "ollama_chat": "ollama/m",
}


@pytest.mark.sample(4)
@pytest.mark.parametrize(("name", "shape"), [(name, next(iter(LISTED[name]))) for name in WIRES])
async def test_it_is_a_typed_error_and_not_retried(
    name: str, shape: str, new_client: NewClient, httpx_mock: HTTPXMock
) -> None:
    httpx_mock.add_response(content=document(name, shape, MOST_IN_ANSWER + 1))
    async with new_client(MODELS[name]) as llm:
        with pytest.raises(MalformedResponseError, match=r"20,000|too many") as caught:
            await llm.generate("Hi")
    assert not caught.value.retryable
    assert len(caught.value.attempts) == 1
