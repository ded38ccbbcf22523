"""The exchanges in `fixtures/ollama_chat`, which we wrote after Ollama's reference: each comes back as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from llm_rest.errors import (
    AuthenticationError,
    BadRequestError,
    ContextLengthError,
    InternalServerError,
    NotFoundError,
    OverloadedError,
    RateLimitError,
    api_error,
)
from llm_rest.responses.stream import Assembler
from llm_rest.transport.framing import NDJSON
from llm_rest.wires import ollama_chat as wire
from llm_rest.wires.ollama_chat import types
from tests.support.documents import differences
from tests.support.facts import plain
from tests.support.legal import faults

FIXTURES = Path(__file__).parents[3] / "fixtures" / "ollama_chat"


def fixtures(kind: str) -> Any:
    """Each written document of a kind."""
    found = sorted(FIXTURES.glob(f"*.{kind}"))
    assert found
    return pytest.mark.parametrize("path", found, ids=[path.name.removesuffix(f".{kind}") for path in found])


@fixtures("request.json")
def test_a_request_is_the_same_after_a_walk_through_responses(path: Path) -> None:
    document = json.loads(path.read_bytes())
    request, lost = wire.decode_request(wire.REQUEST.decode(path.read_bytes()))
    again, more = wire.encode_request(request)
    assert list(differences(document, plain(again))) == []
    assert (lost, more) == ([], [])


@fixtures("request.json")
def test_a_request_is_the_same_after_a_stay_in_a_file(path: Path) -> None:
    from llm_rest.responses import REQUEST

    request, _ = wire.decode_request(wire.REQUEST.decode(path.read_bytes()))
    again, _ = wire.encode_request(REQUEST.decode(msgspec.json.encode(request)))
    assert list(differences(json.loads(path.read_bytes()), plain(again))) == []


@fixtures("response.json")
def test_an_answer_is_the_same_after_a_walk_through_responses(path: Path) -> None:
    response, lost = wire.decode_response(wire.RESPONSE.decode(path.read_bytes()))
    again, more = wire.encode_response(response)
    assert list(differences(json.loads(path.read_bytes()), plain(again))) == []
    assert [loss for loss in [*lost, *more] if loss.kind != "changed"] == []


def lines_of(path: Path) -> list[types.Chunk]:
    machine = NDJSON()
    return [wire.EVENT.decode(frame.data) for frame in [*machine.feed(path.read_bytes()), *machine.close()]]


def whole(lines: list[types.Chunk]) -> dict[str, Any]:
    """The answer that the lines of a stream make up, as the server would have given it whole."""
    said = [plain(line.message) for line in lines if line.message]
    message: dict[str, Any] = {"role": "assistant", "content": "".join(one["content"] for one in said)}
    if thinking := "".join(one.get("thinking", "") for one in said):
        message["thinking"] = thinking
    if calls := [call for one in said for call in one.get("tool_calls", ())]:
        message["tool_calls"] = calls
    logprobs = [plain(entry) for line in lines for entry in line.logprobs or ()]
    document = {**plain(lines[-1]), "created_at": lines[0].created_at, "message": message}
    return document | ({"logprobs": logprobs} if logprobs else {})


@fixtures("stream.ndjson")
def test_a_stream_is_legal_and_assembles_to_the_whole_answer(path: Path) -> None:
    """ollama.stream.2, ollama.stream.3, ollama.stream.4, ollama.stream.5, ollama.stream.8, ollama.stream.13. BUGS 15"""
    lines = lines_of(path)
    machine = wire.decode_stream()
    events = [event for line in lines for event in machine.feed(line)] + machine.close()
    assert faults(events) == []
    assembler = Assembler()
    for event in events:
        assembler.feed(event)
    if lines[-1].error:
        assert assembler.response.status == "failed"
        return
    response, lost = wire.decode_response(wire.RESPONSE.decode(msgspec.json.encode(whole(lines))))
    assert list(differences(plain(response), plain(assembler.response))) == []
    assert machine.losses == lost


@fixtures("stream.ndjson")
def test_a_stream_told_again_makes_up_the_same_answer(path: Path) -> None:
    """ollama.stream_back.1, ollama.stream_back.5, ollama.stream_back.6"""
    lines = lines_of(path)
    decoder, encoder = wire.decode_stream(), wire.encode_stream()
    told = [line for one in lines for event in decoder.feed(one) for line in encoder.feed(event)] + encoder.close()
    if lines[-1].error:
        assert plain(told[-1]) == plain(lines[-1])
        return
    before, after = whole(lines), whole([wire.EVENT.decode(msgspec.json.encode(line)) for line in told])
    response, _ = wire.decode_response(wire.RESPONSE.decode(msgspec.json.encode(before)))
    expected, _ = wire.encode_response(response)
    assert list(differences(plain(expected), after)) == []


CLASSES: dict[str, type[Exception]] = {
    "model_not_found": NotFoundError,
    "not_pulled": NotFoundError,
    "no_tools": BadRequestError,
    "no_thinking": BadRequestError,
    "too_long": ContextLengthError,
    "busy": OverloadedError,
    "signed_out": AuthenticationError,
    "cloud_limit": RateLimitError,
    "crashed": InternalServerError,
}


@fixtures("error.json")
def test_an_error_is_typed_and_the_same_after_a_walk_through_its_facts(path: Path) -> None:
    """ollama.response.16, ollama.response_back.12. BUGS 48"""
    name, status, *_ = path.name.split(".")
    facts = wire.decode_error(int(status), {}, path.read_bytes())
    assert type(api_error(facts)) is CLASSES[name]
    assert wire.encode_error(facts) == (int(status), json.loads(path.read_bytes()))
