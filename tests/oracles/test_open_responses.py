"""What we send and serve as Responses validates against the Open Responses document, where that covers it.

The document is read from `../shared/open-responses` beside the project or from `LLM_REST_OPEN_RESPONSES`.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_rest import wires
from llm_rest.responses import Request, Response
from tests.laws.rows import ROWS, thoughts
from tests.laws.strategies import requests, responses
from tests.support import WIRES
from tests.support.facts import plain

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is a development-only peer")

HERE = Path(__file__).parents[2]
DOCUMENT = Path(os.environ.get("LLM_REST_OPEN_RESPONSES") or HERE.parent / "shared" / "open-responses" / "openapi.json")
WIRE = wires.load("openai_responses")
NAME = "openai_responses"


@cache
def validator(schema: str) -> Any:
    if not DOCUMENT.exists():
        pytest.skip(f"the Open Responses document is not here: {DOCUMENT} (set LLM_REST_OPEN_RESPONSES)")
    document = json.loads(DOCUMENT.read_text())
    # The document types the echoed schema of an answer's format as null, although servers repeat the schema they were given.
    document["components"]["schemas"]["JsonSchemaResponseFormat"]["properties"]["schema"] = {}
    return jsonschema.Draft202012Validator({**document, "$ref": f"#/components/schemas/{schema}"})


def faults(document: Any, schema: str) -> list[str]:
    return [f"{error.json_path}: {error.message:.200}" for error in validator(schema).iter_errors(document)]


@given(st.data())
def test_a_request_within_the_core_validates(data: st.DataObject) -> None:
    request = data.draw(requests(ROWS[NAME].models, thoughts(NAME, "openai")))
    request.truncation = data.draw(st.sampled_from(["auto", "disabled"]))
    assert faults(plain(WIRE.encode_request(request)[0]), "CreateResponseBody") == []


def served(response: Response, request: Request) -> list[str]:
    return faults(plain(WIRE.encode_response(response, request=request)[0]), "ResponseResource")


@given(st.data())
def test_an_answer_we_serve_validates(data: st.DataObject) -> None:
    request = data.draw(requests(ROWS[NAME].models))
    assert served(data.draw(responses(ROWS[NAME].models)), request) == []


@pytest.mark.parametrize("name", [name for name in WIRES if name != NAME])
def test_an_answer_of_another_wire_is_served_as_the_document_asks(name: str) -> None:
    wire = wires.load(name)
    request = Request(model="m", input="Hi", instructions="Be brief.")
    for answer in ROWS[name].answers:
        response, _ = wire.decode_response(wire.RESPONSE.decode(json.dumps(answer).encode()), request=request)
        assert served(response, request) == []


def test_citations_of_documents_are_served_as_the_document_asks() -> None:
    places: list[Any] = [
        {"type": "char_location", "start_char_index": 0, "end_char_index": 1},
        {"type": "page_location", "start_page_number": 1, "end_page_number": 2},
        {"type": "content_block_location", "start_block_index": 0, "end_block_index": 1},
    ]
    cited = [{"cited_text": "c", "document_index": 0, "document_title": None, **place} for place in places]
    found = {"type": "search_result_location", "search_result_index": 0, "source": "kb/7", "title": None}
    cited.append({**found, "start_block_index": 0, "end_block_index": 1, "cited_text": "c"})
    answer = {"id": "msg_1", "content": [{"type": "text", "text": "At twelve.", "citations": cited}], "model": "m"}
    answer |= {"type": "message", "role": "assistant", "stop_reason": "end_turn", "usage": {}}
    wire = wires.load("anthropic_messages")
    request = Request(model="m", input="Hi")
    response, _ = wire.decode_response(wire.RESPONSE.decode(json.dumps(answer).encode()), request=request)
    assert served(response, request) == []
    assert [one.cited_text for one in response.citations] == ["c"] * 4


def test_the_document_is_strict_enough_to_object() -> None:
    assert faults({"id": "r", "object": "response", "status": "completed", "output": []}, "ResponseResource") != []
    assert faults({"model": 5}, "CreateResponseBody") != []
