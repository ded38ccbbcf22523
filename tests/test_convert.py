"""`llm-rest convert` between every two wires: requests, answers and streams, each strictly what the target's API takes.

Each sample holds what all wires share (instructions, an image, a call with its output, counts) and one thing that only its
own wire knows, which has to be told on stderr on the way to any other.
"""

from __future__ import annotations

import io
import json
import sys
from itertools import product
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from llm_rest import wires
from llm_rest.cli import LOST, main
from llm_rest.responses import FunctionCall, Message, Request, Response
from llm_rest.responses.parts import InputImage
from llm_rest.responses.stream import disassemble
from llm_rest.transport.framing import NDJSON, SSE
from llm_rest.unknown import given
from tests.support.legal import faults
from tests.support.streams import assembled, read, written

Document = dict[str, Any]

PIXEL = "iVBORw0KGgo="
SCHEMA: Document = {"type": "object", "properties": {"city": {"type": "string"}}}
ARGUMENTS = {"city": "Oslo"}

REQUESTS: dict[str, Document] = {
    "openai_responses": {
        "model": "m",
        "instructions": "Be brief.",
        "max_output_tokens": 99,
        "input": [
            {
                "type": "message",
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "How warm is it here?"},
                    {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"},
                ],
            },
            {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": '{"city":"Oslo"}'},
            {"type": "function_call_output", "call_id": "call_1", "output": "21"},
        ],
        "tools": [{"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}],
        "max_tool_calls": 3,
    },
    "openai_chat": {
        "model": "m",
        "max_completion_tokens": 99,
        "messages": [
            {"role": "developer", "content": "Be brief."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "How warm is it here?"},
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
                ],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "weather", "arguments": '{"city":"Oslo"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": "21"},
        ],
        "tools": [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}],
        "logit_bias": {"50256": -100},
    },
    "anthropic_messages": {
        "model": "m",
        "max_tokens": 99,
        "system": "Be brief.",
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "How warm is it here?"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
                ],
            },
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "call_1", "name": "weather", "input": ARGUMENTS}],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "21"}]},
        ],
        "tools": [{"name": "weather", "input_schema": SCHEMA}],
        "inference_geo": "eu",
    },
    "ollama_chat": {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "How warm is it here?", "images": [PIXEL]},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "call_1", "function": {"name": "weather", "arguments": ARGUMENTS}}],
            },
            {"role": "tool", "content": "21", "tool_name": "weather", "tool_call_id": "call_1"},
        ],
        "tools": [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}],
        "stream": False,
        "options": {"num_predict": 99},
        "keep_alive": "5m",
    },
    "gemini_generate_content": {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {
                "role": "user",
                "parts": [
                    {"text": "How warm is it here?"},
                    {"inlineData": {"mimeType": "image/png", "data": PIXEL}},
                ],
            },
            {
                "role": "model",
                "parts": [
                    {
                        "functionCall": {"id": "call_1", "name": "weather", "args": ARGUMENTS},
                        "thoughtSignature": "c2ln",
                    }
                ],
            },
            {
                "role": "user",
                "parts": [{"functionResponse": {"id": "call_1", "name": "weather", "response": {"output": "21"}}}],
            },
        ],
        "tools": [{"functionDeclarations": [{"name": "weather", "parametersJsonSchema": SCHEMA}]}],
        "generationConfig": {"maxOutputTokens": 99},
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
    },
}

RESPONSES: dict[str, Document] = {
    "openai_responses": {
        "id": "resp_1",
        "object": "response",
        "created_at": 1790000000,
        "status": "completed",
        "model": "m",
        "output": [
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "phase": "commentary",
                "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
            },
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "call_1",
                "name": "weather",
                "arguments": '{"city":"Oslo"}',
                "status": "completed",
            },
        ],
        "usage": {
            "input_tokens": 12,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 17,
        },
    },
    "openai_chat": {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1790000000,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "content": "I look.",
                    "tool_calls": [
                        {
                            "id": "call_1",
                            "type": "function",
                            "function": {"name": "weather", "arguments": '{"city":"Oslo"}'},
                        }
                    ],
                },
            }
        ],
        "usage": {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17},
        "system_fingerprint": "fp_1",
    },
    "anthropic_messages": {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "model": "m",
        "content": [
            {"type": "thinking", "thinking": "Where is here?", "signature": "c2ln"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "call_1", "name": "weather", "input": ARGUMENTS},
        ],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 12, "output_tokens": 5},
    },
    "ollama_chat": {
        "model": "m",
        "created_at": "2026-11-20T10:00:00Z",
        "message": {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [{"id": "call_1", "function": {"name": "weather", "arguments": ARGUMENTS}}],
        },
        "done": True,
        "done_reason": "stop",
        "total_duration": 4242,
        "prompt_eval_count": 12,
        "eval_count": 5,
    },
    "gemini_generate_content": {
        "responseId": "r1",
        "modelVersion": "m",
        "candidates": [
            {
                "index": 0,
                "finishReason": "STOP",
                "content": {
                    "role": "model",
                    "parts": [
                        {"text": "I look."},
                        {
                            "functionCall": {"id": "call_1", "name": "weather", "args": ARGUMENTS},
                            "thoughtSignature": "c2ln",
                        },
                    ],
                },
            }
        ],
        "usageMetadata": {"promptTokenCount": 12, "candidatesTokenCount": 5, "totalTokenCount": 17},
    },
}

ALONE = {
    "openai_responses": ("max_tool_calls", "output[0].phase"),
    "openai_chat": ("logit_bias", "system_fingerprint"),
    "anthropic_messages": ("inference_geo", "output[0]"),
    "ollama_chat": ("keep_alive", "total_duration"),
    "gemini_generate_content": ("safetySettings", "output[1]"),
}
"""What of a sample only its wire knows, as the losses name it: of the request, of the answer."""


CARRIES = {"openai_responses", "openai_chat"}
"""Wires in whose answers another vendor's signatures travel to the client and back."""
SIGNS = {"anthropic_messages", "gemini_generate_content"}


def convert(
    source: str, target: str, kind: str, stdin: bytes, monkeypatch: pytest.MonkeyPatch, capsys: Any, *more: str
) -> tuple[int, bytes, list[str]]:
    """The exit code, stdout, and the losses on stderr."""
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(stdin), isatty=lambda: False))
    code = main(("convert", "--from", source, "--to", target, "--kind", kind, *more))
    out, err = capsys.readouterr()
    return code, out.encode(), err.splitlines()


def strict(decoder: Any, document: bytes) -> Any:
    """The document as the structs alone describe it: no unknown kind, no unknown field."""
    return msgspec.json.Decoder(decoder._type).decode(document)


def said(response: Response) -> tuple[str, list[Any], Any]:
    """What an answer says, whatever the wire: its text, its calls, its counts."""
    parts = [part for item in response.output if isinstance(item, Message) for part in item.content]
    calls = [(c.call_id, c.name, json.loads(c.arguments)) for c in response.output if isinstance(c, FunctionCall)]
    usage = response.usage
    return "".join(getattr(part, "text", "") for part in parts), calls, given(usage) and usage.total_tokens


every_pair = pytest.mark.parametrize(("source", "target"), list(product(wires.NAMES, repeat=2)))


@every_pair
def test_a_request_says_the_same_on_every_other_wire(
    source: str, target: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stdin = json.dumps(REQUESTS[source]).encode()
    code, out, lost = convert(source, target, "request", stdin, monkeypatch, capsys)
    assert code == 0
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
def test_an_answer_says_the_same_on_every_other_wire(
    source: str, target: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stdin = json.dumps(RESPONSES[source]).encode()
    code, out, lost = convert(source, target, "response", stdin, monkeypatch, capsys)
    assert code == 0
    wire = wires.load(target)
    response, _ = wire.decode_response(strict(wire.RESPONSE, out))
    assert said(response) == ("I look.", [("call_1", "weather", ARGUMENTS)], 17)
    if source == target:
        assert (json.loads(out), lost) == (RESPONSES[source], [])
    elif source not in SIGNS or target not in CARRIES:
        assert any(ALONE[source][1] in line for line in lost)


@every_pair
def test_a_stream_says_the_same_on_every_other_wire(
    source: str, target: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = wires.load(source)
    told, _ = here.decode_response(here.RESPONSE.decode(json.dumps(RESPONSES[source]).encode()))
    stdin = b"".join(written(source, disassemble(told))[0])
    code, out, _ = convert(source, target, "stream", stdin, monkeypatch, capsys)
    assert code == 0
    wire = wires.load(target)
    cut = SSE() if wire.FRAMING == "sse" else NDJSON()
    frames = [frame.data for frame in [*cut.feed(out), *cut.close()] if frame.data != wire.END]
    for frame in frames:
        strict(wire.EVENT, frame)
    events = read(target, [out])
    assert faults(events) == []
    assert said(assembled(events)) == ("I look.", [("call_1", "weather", ARGUMENTS)], 17)


@pytest.mark.parametrize("source", wires.NAMES)
def test_what_is_lost_makes_a_strict_conversion_fail(
    source: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stdin = json.dumps(REQUESTS[source]).encode()
    target = next(name for name in wires.NAMES if name != source)
    assert convert(source, target, "request", stdin, monkeypatch, capsys, "--strict")[0] == LOST
    assert convert(source, source, "request", stdin, monkeypatch, capsys, "--strict")[0] == 0
