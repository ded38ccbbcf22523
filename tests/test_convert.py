"""`llm-rest convert` between every two wires: requests, answers and streams, each strictly what the target's API takes.

Each sample holds what all wires share (instructions, an image, a call with its output, counts) and one option that only its
own wire has, which has to be reported on stderr for any other.
"""

from __future__ import annotations

import io
import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest

from llm_rest import wires
from llm_rest.cli import main
from llm_rest.responses import FunctionCall, Message, Request, Response
from llm_rest.responses.parts import InputImage
from llm_rest.responses.stream import disassemble
from llm_rest.transport.framing import NDJSON, SSE
from llm_rest.unknown import given
from tests.support.legal import faults
from tests.support.streams import assembled, read, written

Document = dict[str, Any]

ARGUMENTS = {"city": "Oslo"}
DOCUMENTS = json.loads((Path(__file__).parent / "documents" / "convert.json").read_text())
REQUESTS: dict[str, Document] = DOCUMENTS["requests"]
RESPONSES: dict[str, Document] = DOCUMENTS["responses"]

ALONE = {
    "openai_responses": ("max_tool_calls", "output[0].phase"),
    "openai_chat": ("logit_bias", "system_fingerprint"),
    "anthropic_messages": ("inference_geo", "output[0]"),
    "ollama_chat": ("keep_alive", "total_duration"),
    "gemini_generate_content": ("safetySettings", "output[1]"),
}
"""What of a sample only its wire has, as the losses name it: of the request, of the answer."""


CARRIES = {"openai_responses", "openai_chat"}
"""Wires in whose answers another vendor's signatures travel to the client and back."""
SIGNS = {"anthropic_messages", "gemini_generate_content"}


class Convert:
    """Runs `llm-rest convert`: stdout, and the losses on stderr."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._patch, self._captured = monkeypatch, capsys

    def __call__(self, source: str, target: str, kind: str, stdin: bytes) -> tuple[bytes, list[str]]:
        self._patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        assert main(("convert", "--from", source, "--to", target, "--kind", kind)) == 0
        out, err = self._captured.readouterr()
        return out.encode(), err.splitlines()


@pytest.fixture
def convert(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Convert:
    return Convert(monkeypatch, capsys)


def strict(decoder: Any, document: bytes) -> Any:
    """The document as the structs alone describe it: no unknown kind, no unknown field."""
    return msgspec.json.Decoder(decoder._type).decode(document)


def said(response: Response) -> tuple[str, list[Any], Any]:
    """The content of an answer on any wire: its text, its calls, its counts."""
    parts = [part for item in response.output if isinstance(item, Message) for part in item.content]
    calls = [(c.call_id, c.name, json.loads(c.arguments)) for c in response.output if isinstance(c, FunctionCall)]
    usage = response.usage
    return "".join(getattr(part, "text", "") for part in parts), calls, given(usage) and usage.total_tokens


every_pair = pytest.mark.parametrize(("source", "target"), list(product(wires.NAMES, repeat=2)))


@every_pair
def test_a_request_has_the_same_content_on_every_other_wire(source: str, target: str, convert: Convert) -> None:
    out, lost = convert(source, target, "request", json.dumps(REQUESTS[source]).encode())
    wire = wires.load(target)
    request: Request
    request, _ = wire.decode_request(strict(wire.REQUEST, out), model="m")
    items = request.input if isinstance(request.input, list) else []
    first = next(item for item in items if isinstance(item, Message) and item.role == "user")
    assert any(isinstance(part, InputImage) for part in first.content)
    assert [item.name for item in items if isinstance(item, FunctionCall)] == ["weather"]
    assert [getattr(item, "output", None) for item in items][-1] in ("21", [{"type": "input_text", "text": "21"}])
    assert "Be brief." in out.decode()
    assert request.max_output_tokens == 99
    if source == target:
        assert (json.loads(out), lost) == (REQUESTS[source], [])
    else:
        assert any(ALONE[source][0] in line for line in lost)


@every_pair
def test_an_answer_has_the_same_content_on_every_other_wire(source: str, target: str, convert: Convert) -> None:
    out, lost = convert(source, target, "response", json.dumps(RESPONSES[source]).encode())
    wire = wires.load(target)
    response, _ = wire.decode_response(strict(wire.RESPONSE, out))
    assert said(response) == ("I look.", [("call_1", "weather", ARGUMENTS)], 17)
    if source == target:
        assert (json.loads(out), lost) == (RESPONSES[source], [])
    elif source not in SIGNS or target not in CARRIES:
        assert any(ALONE[source][1] in line for line in lost)


@every_pair
def test_a_stream_has_the_same_content_on_every_other_wire(source: str, target: str, convert: Convert) -> None:
    here = wires.load(source)
    told, _ = here.decode_response(here.RESPONSE.decode(json.dumps(RESPONSES[source]).encode()))
    out, _ = convert(source, target, "stream", b"".join(written(source, disassemble(told))[0]))
    wire = wires.load(target)
    cut = SSE() if wire.FRAMING == "sse" else NDJSON()
    for frame in [*cut.feed(out), *cut.close()]:
        assert frame.data == wire.END or strict(wire.EVENT, frame.data)
    events = read(target, [out])
    assert faults(events) == []
    assert said(assembled(events)) == ("I look.", [("call_1", "weather", ARGUMENTS)], 17)
