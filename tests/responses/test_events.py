"""The steps of a stream, one by one."""

from __future__ import annotations

import json
from typing import Any, get_args

import msgspec
import pytest
from openai.types.responses import ResponseStreamEvent

from llm_rest.errors import DecodeError
from llm_rest.responses import EVENT, TERMINAL, ErrorEvent, FunctionCall, OutputItemDone
from llm_rest.responses import events as ev
from llm_rest.responses.events import AnyEvent, Event
from llm_rest.unknown import Unknown
from tests.corpus.canonical import without_nulls

BEYOND = {
    "response.reasoning.delta",  # as some hosts name them
    "response.reasoning.done",
    "response.apply_patch_call_operation_diff.delta",
    "response.apply_patch_call_operation_diff.done",
    "response.steer.accepted",
    "response.steer.pending",
    "response.steer.failed",
}
"""Events that the types of OpenAI's client do not have."""

RESPONSE = {"id": "r", "object": "response", "status": "in_progress", "output": []}
PART = {"type": "output_text", "text": "Hi", "annotations": []}
OUTPUT = [{"stdout": "", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]
REQUIRED: dict[str, Any] = {
    "response": RESPONSE,
    "item": {"type": "message", "id": "m", "role": "assistant", "content": []},
    "part": {"type": "summary_text", "text": "Hm."},
    "annotation": {"type": "url_citation", "url": "u"},
    "delta": "a",
    "text": "a",
    "refusal": "a",
    "arguments": "{}",
    "input": "a",
    "code": "a",
    "partial_image_b64": "AA==",
    "command": "ls",
    "output": OUTPUT,
    "diff": "+a",
}


def kinds() -> tuple[type[Event], ...]:
    return get_args(get_args(AnyEvent)[0])


def plain(event: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(event))


def test_every_kind_of_event_of_openais_client_has_a_struct() -> None:
    theirs: Any = get_args(get_args(ResponseStreamEvent)[0])
    names = {name for kind in theirs for name in get_args(kind.model_fields["type"].annotation)}
    assert {str(kind.__struct_config__.tag) for kind in kinds()} == names | BEYOND


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_every_kind_comes_back_as_it_was(kind: type[Event]) -> None:
    places = {f"{what}_index" for what in "output content summary command annotation partial_image".split()}
    required = [name for name in kind.__struct_fields__ if name in places]
    required += [f.name for f in msgspec.structs.fields(kind) if f.required]
    values = {name: 2 if name in places else REQUIRED[name] for name in required}
    document = {"type": kind.__struct_config__.tag, "sequence_number": 4, **values}
    if kind.__name__ == "ShellOutputDelta":
        document["delta"] = {"stdout": "a"}
    if "item_id" in kind.__struct_fields__:
        document["item_id"] = "m"
    event = EVENT.decode(json.dumps(document))
    assert type(event) is kind
    assert plain(event) == document


@pytest.mark.parametrize("name", ["response.reasoning.delta", "response.reasoning_text.delta"])
def test_raw_reasoning_is_read_by_either_name(name: str) -> None:
    """responses.response.9"""
    event = EVENT.decode(f'{{"type":"{name}","delta":"Hm","item_id":"rs","output_index":0,"content_index":0}}')
    assert (plain(event)["type"], plain(event)["delta"]) == (name, "Hm")


def test_a_place_the_host_leaves_out_is_the_first() -> None:
    """responses.response.10"""
    event: Any = EVENT.decode(b'{"type":"response.output_text.delta","delta":"a"}')
    assert (event.output_index, event.content_index) == (0, 0)


ERROR = {"type": "server_error", "code": "boom", "message": "It broke.", "param": None}
HEAD = {"type": "error", "sequence_number": 3}


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ({**HEAD, "error": ERROR}, "boom"),
        ({**HEAD, "code": "boom", "message": "It broke.", "param": None}, "boom"),
        ({"type": "error", "status": 400, "stream_id": "s", "error": {**ERROR, "headers": {"a": "b"}}}, "boom"),
        ({"error": ERROR}, "boom"),
        ({"error": "It broke."}, None),
        ({"type": "error", "error": "It broke."}, None),
    ],
)
def test_an_error_is_read_in_every_shape(document: Any, code: str | None) -> None:
    """responses.response.8"""
    event = EVENT.decode(json.dumps(document))
    assert isinstance(event, ErrorEvent)
    assert (event.details.code or None, event.details.message) == (code, "It broke.")
    if "type" in document and isinstance(document.get("error", {}), dict):
        assert plain(event) == without_nulls(document)


@pytest.mark.parametrize("document", ['{"error":null}', '{"error":{}}', '{"delta":"a"}', "[]", '"x"', "null", ""])
def test_what_has_neither_type_nor_error_is_no_known_event(document: str) -> None:
    try:
        event = EVENT.decode(document)
    except DecodeError:
        return
    assert isinstance(event, Unknown)
    assert plain(event) == json.loads(document)


@pytest.mark.parametrize(
    ("document", "kind"),
    [
        ({"type": "response.new_thing", "sequence_number": 1, "x": [1]}, Unknown),
        ({"type": "response.audio.done", "sequence_number": 1, "x": [1]}, ev.AudioDone),
        ({"type": "response.output_item.added", "output_index": 0, "item": None}, ev.OutputItemAdded),
        ({"type": "response.output_item.done", "output_index": 0, "item": None}, ev.OutputItemDone),
    ],
)
def test_unknown_events_unknown_fields_and_null_items_are_kept(document: Any, kind: type) -> None:
    """BUGS 61"""
    event = EVENT.decode(json.dumps(document))
    assert isinstance(event, kind)
    assert plain(event) == document


def test_a_malformed_call_in_an_event_is_repaired() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": {}}
    event = EVENT.decode(json.dumps({"type": "response.output_item.done", "output_index": 1, "item": call}))
    assert isinstance(event, OutputItemDone)
    assert isinstance(event.item, FunctionCall)
    assert event.item.arguments == "{}"


@pytest.mark.parametrize("name", ["completed", "incomplete", "failed"])
def test_three_events_end_a_stream(name: str) -> None:
    event = EVENT.decode(json.dumps({"type": f"response.{name}", "response": RESPONSE}))
    assert isinstance(event, TERMINAL)
