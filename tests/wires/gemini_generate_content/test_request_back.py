"""Requests from a client of this wire: what they are in Responses, and that they go back as they came."""

from __future__ import annotations

from tests.support.facts import plain
from tests.wires.gemini_generate_content import (
    decoded,
    theirs,
)

# --- other spellings ------------------------------------------------------------------------------------------------


def test_snake_case_is_read_and_answered_in_camel_case() -> None:
    """gemini.request_back.26, gemini.canonical.1: what a caller chose himself is left alone"""
    snake = {
        "contents": [
            theirs("Hi"),
            {"role": "model", "parts": [{"function_call": {"name": "f", "args": {"a_b": 1}}}]},
            {"parts": [{"function_response": {"name": "f", "response": {"c_d": 2}}}]},
        ],
        "system_instruction": {"parts": [{"text": "a"}]},
        "generation_config": {"max_output_tokens": 9, "thinking_config": {"thinking_budget": "0"}},
        "tools": [{"function_declarations": [{"name": "f", "parameters_json_schema": {"x_y": {}}}]}],
    }
    body = plain(decoded(snake))
    assert body["contents"][1]["parts"][0] == {"functionCall": {"name": "f", "args": {"a_b": 1}}}
    assert body["contents"][2]["parts"][0] == {"functionResponse": {"name": "f", "response": {"c_d": 2}}}
    assert body["systemInstruction"] == {"parts": [{"text": "a"}]}
    assert body["generationConfig"] == {"maxOutputTokens": 9, "thinkingConfig": {"thinkingBudget": 0}}
    assert body["tools"] == [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": {"x_y": {}}}]}]


def test_one_may_stand_for_a_list_of_one() -> None:
    """gemini.request_back.28, gemini.canonical.2"""
    one = {"contents": {"parts": {"text": "Hi"}}, "tools": {"functionDeclarations": {"name": "f"}}}
    assert plain(decoded(one)) == {
        "contents": [{"parts": [{"text": "Hi"}]}],
        "tools": [{"functionDeclarations": [{"name": "f"}]}],
    }
