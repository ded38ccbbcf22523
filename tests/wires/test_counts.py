"""Token counts are integers on every wire, however the host writes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llm_rest import wires
from tests.support import WIRES

DOCUMENTS: dict[str, dict[str, Any]] = {
    "openai_responses": {
        "id": "r",
        "status": "completed",
        "output": [],
        "usage": {"input_tokens": 5.0, "output_tokens": 4.0, "input_tokens_details": {"cached_tokens": 2.0}},
    },
    "openai_chat": {
        "id": "c",
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5.0, "completion_tokens": 4.0, "prompt_cache_hit_tokens": 2.0},
    },
    "anthropic_messages": {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "x"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3.0, "output_tokens": 4.0, "cache_read_input_tokens": 2.0},
    },
    "ollama_chat": {
        "model": "m",
        "message": {"role": "assistant", "content": "x"},
        "done": True,
        "prompt_eval_count": 5.0,
        "eval_count": 4.0,
    },
    "gemini_generate_content": {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "x"}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 5.0, "candidatesTokenCount": 4.0, "cachedContentTokenCount": 2.0},
    },
}


@pytest.mark.parametrize("name", WIRES)
def test_a_whole_number_written_as_a_fraction_is_an_integer(name: str) -> None:
    wire = wires.load(name)
    usage = wire.decode_response(wire.RESPONSE.decode(json.dumps(DOCUMENTS[name]).encode()))[0].usage
    assert usage
    counts = [usage.input_tokens, usage.output_tokens, usage.total_tokens]
    if usage.input_tokens_details and usage.input_tokens_details.cached_tokens is not None:
        counts.append(usage.input_tokens_details.cached_tokens)
    assert counts == [5, 4, 9, 2][: len(counts)]
    assert {type(count) for count in counts} == {int}
    assert len(counts) == 4 or name == "ollama_chat"


@pytest.mark.parametrize("name", WIRES)
def test_a_count_that_is_a_fraction_is_rounded_and_the_answer_is_read(name: str) -> None:
    wire = wires.load(name)
    text = json.dumps(DOCUMENTS[name]).replace("4.0", "3.6")
    usage = wire.decode_response(wire.RESPONSE.decode(text.encode()))[0].usage
    assert usage
    assert (usage.output_tokens, usage.total_tokens) == (4, 9)
