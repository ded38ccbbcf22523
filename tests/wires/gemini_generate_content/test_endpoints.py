"""Counting tokens, and the list of models."""

from __future__ import annotations

from typing import Any

import msgspec

from llm_rest.responses import FunctionTool, Request
from llm_rest.vendors.dialects import VERTEX
from llm_rest.wires import gemini_generate_content as wire
from tests.support.facts import plain
from tests.wires.gemini_generate_content import THREE, named, theirs

REQUEST: Any = Request(model=THREE, input="Hi", instructions="a", tools=[FunctionTool(name="f")])
BODY = {
    "contents": [theirs("Hi")],
    "systemInstruction": {"parts": [{"text": "a"}]},
    "tools": [{"functionDeclarations": [{"name": "f"}]}],
}


def test_a_whole_request_is_counted() -> None:
    """gemini.count.1"""
    body, lost = wire.encode_count(REQUEST)
    assert (plain(body), lost) == ({"generateContentRequest": {**BODY, "model": f"models/{THREE}"}}, [])
    assert wire.count_route(REQUEST).path == f"/v1beta/models/{THREE}:countTokens"


def test_vertex_counts_its_fields() -> None:
    """gemini.count.2"""
    assert plain(wire.encode_count(REQUEST, dialect=VERTEX)[0]) == BODY


def test_a_request_to_count_is_read_in_both_forms() -> None:
    """gemini.count.3"""
    for body in (BODY, {"generate_content_request": {**BODY, "model": f"models/{THREE}"}}):
        request, _ = wire.decode_count(wire.COUNT_REQUEST.decode(msgspec.json.encode(body)), model=THREE)
        assert (request.model, request.instructions) == (THREE, "a")


def test_what_is_not_counted_is_told() -> None:
    """gemini.count.3"""
    body = {**BODY, "instances": [{"prompt": "Hi"}], "mood": "glad", "model": None}
    request, lost = wire.decode_count(wire.COUNT_REQUEST.decode(msgspec.json.encode(body)), model=THREE)
    assert (request.instructions, named(lost)) == ("a", ["mood (dropped)", "instances (dropped)"])


def test_the_count() -> None:
    """gemini.count.4"""
    assert wire.COUNT.decode(b'{"totalTokens":7,"promptTokensDetails":[]}').input_tokens == 7


def test_models_are_listed() -> None:
    """gemini.count.5"""
    there = wire.models_route()
    assert (there.method, there.path, there.query) == ("GET", "/v1beta/models", {"pageSize": "1000"})
    listed = wire.MODELS.decode(b'{"models":[{"name":"models/m","inputTokenLimit":9}],"nextPageToken":"x"}')
    assert listed.models
    assert listed.models[0].input_token_limit == 9
