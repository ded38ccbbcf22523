"""Counting tokens, and lists of models."""

from __future__ import annotations

import msgspec

from llm_rest.responses import FunctionTool, Request
from llm_rest.wires import anthropic_messages as endpoints
from tests.support.facts import plain
from tests.wires.anthropic_messages.steps import NEW


def test_counting_asks_without_what_only_matters_for_generating() -> None:
    request = Request(
        model=NEW, input="Hi", max_output_tokens=9, stop="END", stream=True, tools=[FunctionTool(name="f")]
    )
    body, lost = endpoints.encode_count(request)
    assert plain(body) == {
        "model": NEW,
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": [{"name": "f", "input_schema": {"type": "object", "properties": {}}}],
    }
    assert lost == []
    assert endpoints.count_route(request).path == "/v1/messages/count_tokens"


def test_a_request_to_count_is_read_and_goes_back_as_it_came() -> None:
    document = (
        b'{"model":"m","messages":[{"role":"user","content":"Hi"}],"system":"s","thinking":{"type":"disabled"},"new":1}'
    )
    request, lost = endpoints.decode_count(endpoints.COUNT_REQUEST.decode(document))
    assert (request.instructions, request.max_output_tokens, lost) == ("s", None, [])
    back, _ = endpoints.encode_count(request)
    assert plain(back) == {name: value for name, value in msgspec.json.decode(document).items() if name != "new"}


def test_a_count_is_read() -> None:
    assert endpoints.COUNT.decode(b'{"input_tokens": 7}').input_tokens == 7


def test_a_list_of_models_is_read() -> None:
    page = endpoints.MODELS.decode(
        b'{"data":[{"type":"model","id":"claude-opus-5","display_name":"Opus","created_at":"2026-07-01T00:00:00Z",'
        b'"capabilities":{"batch":{"supported":true}},"new":1}],"first_id":"a","last_id":"b","has_more":true}'
    )
    assert ([model.id for model in page.data], page.has_more) == (["claude-opus-5"], True)
