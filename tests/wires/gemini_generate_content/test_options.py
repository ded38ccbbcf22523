"""Options of a request on their way to the vendor: numbers, thinking, the form of the answer, and what stands beside."""

from __future__ import annotations

from typing import Any

from llm_rest.responses import (
    ReasoningOptions,
    TextOptions,
)
from tests.wires.gemini_generate_content import config, option

GEMINI = "gemini_generate_content"


# --- thinking -------------------------------------------------------------------------------------------------------


def thinking(model: str, **reasoning: Any) -> tuple[Any, list[str]]:
    found, lost = config(model, reasoning=ReasoningOptions(**reasoning))
    return found.get("thinkingConfig"), lost


# --- the form of the answer -----------------------------------------------------------------------------------------


def form(**text: Any) -> tuple[Any, list[str]]:
    return config(text=TextOptions(**text))


# --- what stands beside ---------------------------------------------------------------------------------------------


def test_leftovers_of_this_wire_return_and_those_of_others_are_told() -> None:
    """gemini.request.59"""
    leftovers = {
        GEMINI: {"safetySettings": [{"category": "c"}], "labels": {"a": "b"}},
        "openai_chat": {"logit_bias": {"1": 2}},
    }
    assert option(leftovers=leftovers) == (
        {"safetySettings": [{"category": "c"}]},
        ["logit_bias (dropped)", "labels (dropped)"],
    )
