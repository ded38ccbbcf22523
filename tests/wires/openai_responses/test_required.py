"""Keys that must be there and may be null: the generated table, and the documents that are written by it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from llm_rest import Reply
from llm_rest.responses import (
    ErrorEvent,
    FunctionTool,
    InputImage,
    JsonSchemaFormat,
    Message,
    ReasoningOptions,
    Request,
    Response,
    StreamError,
    TextOptions,
)
from llm_rest.wires import openai_responses as wire
from tests.wires.openai_responses.core import SPEC

GENERATOR = Path(__file__).parents[3] / "schemas/required_nullable.py"


def test_the_table_is_what_the_specification_says() -> None:
    if not SPEC.exists():
        pytest.skip(f"the Open Responses document is not here: {SPEC} (set LLM_REST_OPEN_RESPONSES to its path)")
    command = [sys.executable, str(GENERATOR), str(SPEC), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", [Response, Reply])
def test_a_served_answer_has_every_required_key_though_it_is_null(kind: type[Response]) -> None:
    image = Message(role="assistant", content=[InputImage(file_id="f")])
    request = Request(
        tools=[FunctionTool(name="f")],
        text=TextOptions(format=JsonSchemaFormat(name="n")),
        reasoning=ReasoningOptions(effort="low"),
    )
    served, _ = wire.encode_response(kind(id="r", status="completed", output=[image]), request=request)
    found = msgspec.to_builtins(served)
    keys = """
        completed_at incomplete_details previous_response_id instructions error usage max_output_tokens
        max_tool_calls safety_identifier prompt_cache_key
    """
    assert {name: found[name] for name in keys.split()} == dict.fromkeys(keys.split())
    assert found["model"] == ""
    assert found["reasoning"] == {"effort": "low", "summary": None}
    (tool,) = found["tools"]
    assert tool == {"type": "function", "name": "f", "description": None, "parameters": None, "strict": None}
    form = {"type": "json_schema", "name": "n", "description": None, "schema": None, "strict": False}
    assert found["text"] == {"format": form}
    (part,) = found["output"][0]["content"]
    assert part == {"type": "input_image", "file_id": "f", "image_url": None}


@pytest.mark.parametrize("nested", [True, False])
def test_a_served_error_event_has_its_keys_though_they_are_null(nested: bool) -> None:
    said = ErrorEvent(error=StreamError(message="m")) if nested else ErrorEvent(message="m")
    (event,) = wire.encode_stream().feed(said)
    found = msgspec.to_builtins(event)
    error = found["error"] if nested else found
    assert (error["code"], error["param"], error["message"]) == (None, None, "m")


def test_a_request_to_a_host_has_no_null() -> None:
    """responses.canonical.2"""
    raw = b'{"model":"m","input":"Hi","store":true,"tools":[{"type":"function","name":"f","description":null}],"top_p":null}'
    request, _ = wire.decode_request(wire.REQUEST.decode(raw))
    assert request.top_p is None
    assert b"null" not in msgspec.json.encode(wire.encode_request(request)[0])
