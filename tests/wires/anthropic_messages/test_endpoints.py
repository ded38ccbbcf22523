"""Counting tokens, and lists of models."""

from __future__ import annotations

import gzip
import json

import msgspec
import pytest

from llm_rest.responses import FunctionTool, Request
from llm_rest.wires import anthropic_messages as wire
from tests.corpus import CORPUS
from tests.support.facts import plain
from tests.wires.anthropic_messages.steps import NEW


def test_counting_asks_without_what_only_matters_for_generating() -> None:
    request = Request(
        model=NEW, input="Hi", max_output_tokens=9, stop="END", stream=True, tools=[FunctionTool(name="f")]
    )
    body, lost = wire.encode_count(request)
    assert plain(body) == {
        "model": NEW,
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": [{"name": "f", "input_schema": {"type": "object", "properties": {}}}],
    }
    assert lost == []
    assert wire.count_route(request).path == "/v1/messages/count_tokens"


def test_a_request_to_count_is_read_and_goes_back_as_it_came() -> None:
    document = (
        b'{"model":"m","messages":[{"role":"user","content":"Hi"}],"system":"s","thinking":{"type":"disabled"},"new":1}'
    )
    request, lost = wire.decode_count(wire.COUNT_REQUEST.decode(document))
    assert (request.instructions, request.max_output_tokens, lost) == ("s", None, [])
    back, _ = wire.encode_count(request)
    assert plain(back) == {name: value for name, value in msgspec.json.decode(document).items() if name != "new"}


def test_recorded_token_counts_are_read_and_asked_again() -> None:
    path = CORPUS / "misc.jsonl.gz"
    if not path.exists():
        pytest.skip(f"recorded traffic is not here: {path} (set LLM_REST_CORPUS to its directory)")
    with gzip.open(path) as lines:
        recorded = [one for one in map(json.loads, lines) if one["wire"] == "anthropic_count_tokens"]
    counts: list[int] = []
    for one in recorded:
        question, answer = one["request"]["body"], one["response"]
        request, lost = wire.decode_count(wire.COUNT_REQUEST.decode(json.dumps(question)))
        back, more = wire.encode_count(request)
        assert (plain(back), lost, more) == (question, [], [])
        if answer["status"] == 200:
            counts.append(wire.COUNT.decode(json.dumps(answer["body"])).input_tokens)
            assert counts[-1] == answer["body"]["input_tokens"]
    assert len(counts) > 3


def test_a_list_of_models_is_read() -> None:
    page = wire.MODELS.decode(
        b'{"data":[{"type":"model","id":"claude-opus-5","display_name":"Opus","created_at":"2026-07-01T00:00:00Z",'
        b'"capabilities":{"batch":{"supported":true}},"new":1}],"first_id":"a","last_id":"b","has_more":true}'
    )
    assert ([model.id for model in page.data], page.has_more) == (["claude-opus-5"], True)
