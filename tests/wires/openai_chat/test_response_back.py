"""Responses on their way to a client of the Chat wire."""

from __future__ import annotations

from typing import Any

import pytest

from llm_rest.responses import (
    FunctionCall,
    Message,
    OutputText,
    Reasoning,
    ReasoningText,
)
from llm_rest.responses.stream import disassemble
from llm_rest.wires import openai_chat as wire
from tests.wires.openai_chat import output, shown

ASK = FunctionCall(call_id="c1", name="weather", arguments='{"city":"Oslo"}')


def text(words: str, **fields: Any) -> Message:
    return Message(role="assistant", content=[OutputText(text=words, **fields)])


def message(*items: Any, **options: Any) -> tuple[dict[str, Any], list[str]]:
    """The message of the answer, and the losses."""
    body, lost = shown(output(*items), **options)
    return body["choices"][0]["message"], lost


@pytest.mark.parametrize(
    "left",
    [
        {"choices[0]": 5, "choices[0].message": 5, "choices[0].message.tool_calls": 5, "choices[1:]": 5, "spelling": 5},
        {"choices[0]": {"finish_reason": {}}, "choices[0].message": {"spelling": {"reasoning": 5, "parts": 1}}},
        {"choices[0].message.tool_calls": {"c1": 5}, "choices[1:]": [5], "spelling": {"message": 5, "id": []}},
        {"choices[0].message": {"tool_calls": "x", "reasoning_details": 5}},
    ],
)
def test_leftovers_from_anywhere_cannot_break_a_conversion(left: dict[str, Any]) -> None:
    thought = Reasoning(summary=[], content=[ReasoningText(text="Hm.")])
    shown(output(thought, text("a"), ASK, leftovers={"openai_chat": left}))
    machine = wire.encode_stream()
    for event in disassemble(output(thought, text("a"), leftovers={"openai_chat": left})):
        machine.feed(event)
    machine.close()
