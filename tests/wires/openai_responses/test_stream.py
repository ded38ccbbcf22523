"""Streams of the Responses wire: what hosts leave out is put in, what is in order passes, nothing of ours goes out."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from llm_rest import wires
from llm_rest.client.events import StreamReader, StreamWriter
from llm_rest.responses import Message, OutputText, Response
from llm_rest.responses import events as ev
from llm_rest.responses.stream import disassemble
from llm_rest.vendors.dialects import ResponsesDialect
from llm_rest.wires import openai_responses as wire
from tests.support import WIRES
from tests.support.legal import faults
from tests.test_assemble import EVERYTHING

BEGIN = b'{"type":"response.created","response":{"id":"r","status":"in_progress","output":[]}}'


def decoded(*lines: bytes, dialect: ResponsesDialect = wire.OPENAI) -> list[Any]:
    machine = wire.decode_stream(dialect=dialect)
    events = [event for line in lines for event in machine.feed(wire.EVENT.decode(line))]
    return events + machine.close()


def test_what_is_in_order_passes_as_it_came() -> None:
    machine = wire.decode_stream()
    events = disassemble(EVERYTHING)
    assert [event for told in events for event in machine.feed(told)] == disassemble(EVERYTHING)


def test_a_hundred_equal_pieces_are_a_hundred_events() -> None:
    """BUGS 30"""
    line = b'{"type":"response.output_text.delta","output_index":0,"item_id":"a","delta":"x"}'
    events = decoded(BEGIN, *[line] * 120)
    assert sum(isinstance(event, ev.OutputTextDelta) for event in events) == 120


def test_a_stream_of_ours_ends_as_the_core_asks() -> None:
    """responses.response_back.13"""
    assert (wire.FRAMING, wire.END) == ("sse", b"[DONE]")


# --- complete texts that say more than their deltas -----------------------------------------------------------------

AT = {"item_id": "msg_1", "output_index": 0, "content_index": 0}


def part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


def said(text: str) -> dict[str, Any]:
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part(text)]}


def stream_of(text: str | None, whole: str | None, item: str | None, final: str = "Hello") -> list[bytes]:
    """A stream with the one delta "Hel", and these texts in its end events."""
    about: dict[str, Any] = {"id": "resp_1", "model": "m"}
    told: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**about, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**said(""), "content": []}},
        {"type": "response.content_part.added", **AT, "part": part("")},
        {"type": "response.output_text.delta", **AT, "delta": "Hel"},
    ]
    told += [] if text is None else [{"type": "response.output_text.done", **AT, "text": text}]
    told += [] if whole is None else [{"type": "response.content_part.done", **AT, "part": part(whole)}]
    told += [] if item is None else [{"type": "response.output_item.done", "output_index": 0, "item": said(item)}]
    told += [{"type": "response.completed", "response": {**about, "status": "completed", "output": [said(final)]}}]
    return [json.dumps(one).encode() for one in told]


MORE = {
    "text": stream_of("Hello", "Hello", "Hello"),
    "part": stream_of(None, "Hello", "Hello"),
    "item": stream_of(None, None, "Hello"),
    "response": stream_of(None, None, None),
}


@pytest.mark.parametrize("target", WIRES)
@pytest.mark.parametrize("where", MORE)
def test_what_a_complete_text_says_beyond_its_deltas_is_one_more_delta_on_every_wire(where: str, target: str) -> None:
    events = decoded(*MORE[where])
    assert "".join(event.delta for event in events if isinstance(event, ev.OutputTextDelta)) == "Hello"
    assert faults(events) == []
    writer, reader = StreamWriter(wires.load(target)), StreamReader(wires.load(target), dialect=None)
    sent = b"".join([*map(writer.feed, events), writer.close()])
    back = [*reader.feed(sent), *reader.close()]
    assert "".join(event.delta for event in back if isinstance(event, ev.OutputTextDelta)) == "Hello"


@pytest.mark.parametrize("texts", [("Hel", "Hello", "Hello"), ("Bye", "Bye", "Bye", "Bye"), ("Hel", "Hel", "Hel")])
def test_a_complete_text_that_cannot_follow_its_deltas_is_reported(texts: tuple[str, ...]) -> None:
    machine = wire.decode_stream()
    events = [event for line in stream_of(*texts) for event in machine.feed(wire.EVENT.decode(line))]
    assert faults(events) == []
    assert [loss.kind for loss in machine.losses] == ["changed"]


def test_the_rest_of_the_arguments_of_a_call_is_one_more_delta() -> None:
    call = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "status": "completed"}
    about = {"output_index": 0, "item_id": "fc_1"}
    whole = {**call, "arguments": '{"a":1}'}
    told: list[dict[str, Any]] = [
        {"type": "response.output_item.added", "output_index": 0, "item": {**call, "arguments": ""}},
        {"type": "response.function_call_arguments.delta", **about, "delta": '{"a"'},
        {"type": "response.output_item.done", "output_index": 0, "item": whole},
        {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [whole]}},
    ]
    events = decoded(BEGIN, *(json.dumps(one).encode() for one in told))
    assert "".join(one.delta for one in events if isinstance(one, ev.FunctionCallArgumentsDelta)) == '{"a":1}'


def test_the_gemini_stream_sends_the_rest_of_a_complete_text_itself() -> None:
    machine = wires.load("gemini_generate_content").encode_stream()
    response = Response(
        id="r", status="completed", output=[Message(role="assistant", content=[OutputText(text="Hello")])]
    )
    sent: list[Any] = []
    for event in disassemble(response):
        told = replace(event, delta="Hel") if isinstance(event, ev.OutputTextDelta) else event
        sent += machine.feed(told)
    told_back = StreamReader(wires.load("gemini_generate_content"), dialect=None)
    events = [one for chunk in sent for one in told_back.frame(msgspec.json.encode(chunk))]
    assert "".join(one.delta for one in events if isinstance(one, ev.OutputTextDelta)) == "Hello"
