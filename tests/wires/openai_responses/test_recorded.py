"""Recorded traffic: what is specific to this wire. That documents come back is checked for every wire in `tests/corpus`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from openai.types.responses import Response as SdkResponse

from llm_rest.responses import Request
from llm_rest.wires import openai_responses as wire
from tests.corpus import Exchange, exchanges
from tests.corpus.canonical import without_nulls
from tests.oracles.test_open_responses import DOCUMENT, faults
from tests.support.facts import plain

WIRE = "openai_responses"
GENERATOR = Path(__file__).parents[3] / "schemas/required_nullable.py"

CORE_ITEMS = {"message", "function_call", "function_call_output", "reasoning", "compaction"}


def answered() -> list[Exchange]:
    return [exchange for exchange in exchanges(WIRE) if exchange.answer and not exchange.streaming]


def served(exchange: Exchange) -> Any:
    assert exchange.answer
    response, _ = wire.decode_response(wire.RESPONSE.decode(exchange.answer), dialect=exchange.dialect)
    request = wire.REQUEST.decode(exchange.question) if exchange.question else Request()
    return plain(wire.encode_response(response, request=request)[0])


def in_core(document: Any) -> Any:
    """The document without what the core does not have: other items and tools, and sources other than URLs."""
    document["output"] = [item for item in document["output"] if item["type"] in CORE_ITEMS]
    document["tools"] = [tool for tool in document["tools"] if tool["type"] == "function"]
    for item in document["output"]:
        for part in item.get("content") or []:
            if "annotations" in part:
                part["annotations"] = [note for note in part["annotations"] if note["type"] == "url_citation"]
    return document


def test_every_recorded_answer_is_served_as_the_core_asks() -> None:
    """responses.response_back.3"""
    found = {exchange.id: faults(in_core(served(exchange)), "ResponseResource") for exchange in answered()}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}
    assert len(found) > 190


def test_the_vendors_own_client_reads_every_answer_we_serve() -> None:
    # Its types are stricter than the vendor where items of the vendor's own tools are concerned.
    documents = [in_core(served(exchange)) for exchange in answered()]
    assert all(SdkResponse.model_validate(document).id == document["id"] for document in documents)


def beside(endpoint: str) -> list[tuple[Any, Any]]:
    """The requests and answers of a neighbouring endpoint."""
    found = [exchange for exchange in exchanges("misc") if exchange.wire == f"{WIRE}_{endpoint}" and exchange.answer]
    assert found
    return [(exchange.question, exchange.answer) for exchange in found]


def with_types(document: Any) -> Any:
    """The canonical spelling of easy messages."""
    if isinstance(document.get("input"), list):
        document["input"] = [{"type": "message", **item} for item in document["input"]]
    return document


def test_recorded_counts_come_back() -> None:
    for question, answer in beside("input_tokens"):
        body, lost = wire.encode_count(wire.decode_request(wire.REQUEST.decode(question))[0])
        assert lost == []
        assert plain(body) == with_types(msgspec.json.decode(question))
        assert plain(wire.COUNT.decode(answer)) == msgspec.json.decode(answer)


def test_recorded_compactions_come_back() -> None:
    for question, answer in beside("compact"):
        body, lost = wire.encode_compact(wire.decode_request(wire.REQUEST.decode(question))[0])
        assert lost == []
        assert plain(body) == with_types(msgspec.json.decode(question))
        compacted, _ = wire.decode_compacted(wire.COMPACTION.decode(answer))
        assert plain(compacted) == msgspec.json.decode(answer)
        # What comes back is the head of the next input, unchanged.
        request = Request(model="m", input=compacted.output)
        assert wire.encode_request(request) == (request, [])


def test_recorded_answers_that_were_kept_come_back() -> None:
    for _, answer in beside("retrieve"):
        response, lost = wire.decode_response(wire.RESPONSE.decode(answer))
        assert plain(wire.encode_response(response)[0]) == without_nulls(msgspec.json.decode(answer))
        assert lost == []


@pytest.mark.parametrize("vendor", ["openai", "azure", "deepseek"])
def test_answers_fed_back_as_input_lose_nothing(vendor: str) -> None:
    """responses.request.1, responses.request.24"""
    for exchange in answered():
        if exchange.vendor != vendor:
            continue
        assert exchange.answer
        response, _ = wire.decode_response(wire.RESPONSE.decode(exchange.answer), dialect=exchange.dialect)
        body, lost = wire.encode_request(Request(model="m", input=response.output), dialect=exchange.dialect)
        assert lost == [], exchange.id
        assert isinstance(body.input, list)
        given = msgspec.json.decode(exchange.answer)["output"]
        for item in given if vendor != "deepseek" else ():
            if item["type"] == "reasoning" and item.get("content"):
                del item["content"]  # given out as an empty list, and refused with anything in it
        assert [plain(item) for item in body.input] == without_nulls(given), exchange.id


def test_the_table_of_keys_that_must_be_there_is_what_the_specification_says() -> None:
    if not DOCUMENT.exists():
        pytest.skip(f"the Open Responses document is not here: {DOCUMENT} (set LLM_REST_OPEN_RESPONSES to its path)")
    command = [sys.executable, str(GENERATOR), str(DOCUMENT), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
