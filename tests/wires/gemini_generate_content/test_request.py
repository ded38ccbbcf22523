"""Requests of this wire, to count and to answer: what the rows of the mapping tables do not show."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from llm_rest import ConfigError
from llm_rest.responses import FunctionTool, Request
from llm_rest.vendors.dialects import VERTEX
from llm_rest.wires import gemini_generate_content as wire
from tests.support.facts import plain
from tests.wires.gemini_generate_content import THREE, decoded, named, theirs


@pytest.mark.parametrize(
    ("name", "there", "on_vertex"),
    [
        ("gemini-3-flash", "/v1beta/models/gemini-3-flash", "/publishers/google/models/gemini-3-flash"),
        ("models/gemini-3-flash", "/v1beta/models/gemini-3-flash", "/publishers/google/models/gemini-3-flash"),
        ("tunedModels/mine", "/v1beta/tunedModels/mine", "/tunedModels/mine"),
        ("publishers/meta/models/x", "/v1beta/publishers/meta/models/x", "/publishers/meta/models/x"),
        ("a b?", "/v1beta/models/a%20b%3F", "/publishers/google/models/a%20b%3F"),
        ("v1/files", "/v1beta/models/v1%2Ffiles", "/publishers/google/models/v1%2Ffiles"),
    ],
)
def test_the_model_and_whether_to_stream_stand_in_the_url(name: str, there: str, on_vertex: str) -> None:
    """gemini.request.1, gemini.request.2"""
    request = Request(model=name, input="Hi", stream=True)
    assert wire.route(request).path == f"{there}:generateContent"
    assert wire.route(request, dialect=VERTEX).path == f"{on_vertex}:generateContent"
    streamed = wire.route(request, stream=True)
    assert (streamed.path, streamed.query) == (f"{there}:streamGenerateContent", {"alt": "sse"})
    assert plain(wire.encode_request(request)[0]) == {"contents": [theirs("Hi")]}


@pytest.mark.parametrize(
    "name", ["../../v1/files", "..", "a/../b", "%2E%2E/x", "%252e%252e%2Fx", "tunedModels/../x", "a\\..\\b", "a\n"]
)
def test_a_name_that_leads_to_another_path_is_refused(name: str) -> None:
    """Not even escaped: many proxies read `%2E%2E` as `..`."""
    for dialect in (VERTEX, type(VERTEX)()):
        with pytest.raises(ConfigError, match="another path"):
            wire.route(Request(model=name, input="Hi"), dialect=dialect)


# --- requests to count, and models ----------------------------------------------------------------------------------

REQUEST: Any = Request(model=THREE, input="Hi", instructions="a", tools=[FunctionTool(name="f")])
BODY = {
    "contents": [theirs("Hi")],
    "systemInstruction": {"parts": [{"text": "a"}]},
    "tools": [{"functionDeclarations": [{"name": "f"}]}],
}


def test_a_whole_request_is_counted() -> None:
    """gemini.count.1, gemini.count.2: on Vertex the fields of one"""
    body, lost = wire.encode_count(REQUEST)
    assert (plain(body), lost) == ({"generateContentRequest": {**BODY, "model": f"models/{THREE}"}}, [])
    assert plain(wire.encode_count(REQUEST, dialect=VERTEX)[0]) == BODY
    assert wire.count_route(REQUEST).path == f"/v1beta/models/{THREE}:countTokens"


@pytest.mark.parametrize(
    ("body", "model", "lost"),
    [
        (BODY, THREE, []),
        ({"generate_content_request": {**BODY, "model": "models/x"}}, None, []),
        ({**BODY, "instances": [{"prompt": "Hi"}], "mood": "glad"}, THREE, ["mood (dropped)", "instances (dropped)"]),
    ],
)
def test_a_request_to_count_is_read(body: Any, model: str | None, lost: list[str]) -> None:
    """gemini.count.3, gemini.request_back.1"""
    request, found = wire.decode_count(wire.COUNT_REQUEST.decode(msgspec.json.encode(body)), model=model)
    assert (request.model, request.instructions, named(found)) == (model or "x", "a", lost)


def test_counts_and_lists_of_models_are_read() -> None:
    """gemini.count.4, gemini.count.5"""
    assert wire.COUNT.decode(b'{"totalTokens":7,"promptTokensDetails":[]}').input_tokens == 7
    there = wire.models_route()
    assert (there.method, there.path, there.query) == ("GET", "/v1beta/models", {"pageSize": "1000"})
    listed = wire.MODELS.decode(b'{"models":[{"name":"models/m","inputTokenLimit":9}],"nextPageToken":"x"}')
    assert listed.models
    assert listed.models[0].input_token_limit == 9


# --- other spellings ------------------------------------------------------------------------------------------------


def test_snake_case_is_read_and_answered_in_camel_case() -> None:
    """gemini.request_back.26, gemini.canonical.1: what a caller chose himself is left alone"""
    signed = {"text": "Hi", "thought_signature": "a", "thoughtSignature": "b"}
    snake = {
        "contents": [
            {"role": "model", "parts": [signed, {"function_call": {"name": "f", "args": {"a_b": 1}}}]},
            {"parts": [{"function_response": {"name": "f", "response": {"c_d": 2}}}]},
        ],
        "system_instruction": {"parts": [{"text": "a"}]},
        "generation_config": {"max_output_tokens": 9, "thinking_config": {"thinking_budget": "0"}},
        "tools": [{"function_declarations": [{"name": "f", "parameters_json_schema": {"x_y": {}}}]}],
    }
    said = {"text": "Hi", "thoughtSignature": "b", "thought_signature": "a"}
    assert plain(decoded(snake)) == {
        "contents": [
            {"role": "model", "parts": [said, {"functionCall": {"name": "f", "args": {"a_b": 1}}}]},
            {"parts": [{"functionResponse": {"name": "f", "response": {"c_d": 2}}}]},
        ],
        "systemInstruction": {"parts": [{"text": "a"}]},
        "generationConfig": {"maxOutputTokens": 9, "thinkingConfig": {"thinkingBudget": 0}},
        "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": {"x_y": {}}}]}],
    }


def test_one_may_stand_for_a_list_of_one() -> None:
    """gemini.request_back.28, gemini.canonical.2"""
    one = {"contents": {"parts": {"text": "Hi"}}, "tools": {"functionDeclarations": {"name": "f"}}}
    assert plain(decoded(one)) == {
        "contents": [{"parts": [{"text": "Hi"}]}],
        "tools": [{"functionDeclarations": [{"name": "f"}]}],
    }
