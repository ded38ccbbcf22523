"""Responses events as a stream of this wire: one block after another, each piece when it is known to be right."""

from __future__ import annotations

import json

from msgspec.structs import replace

from llm_rest.responses import CustomToolCall, Response
from llm_rest.responses.stream import disassemble
from llm_rest.wires import anthropic_messages as wire
from tests.support.facts import plain
from tests.wires.anthropic_messages.streamed import call, decoded, encoded, ended, started, text


def test_every_part_of_text_is_a_block_and_every_piece_goes_out_at_once() -> None:
    """BUGS 30. anthropic.stream_back.2"""
    machine = wire.encode_stream()
    events = [started(), *text(0, *["a"] * 120), *text(1), *ended()]
    pieces = [[plain(out) for out in machine.feed(event)] for event in decoded(events)[0]]
    assert sum(len(one) == 1 and one[0]["type"] == "content_block_delta" for one in pieces) == 120
    (last,) = [one for one in pieces if one and one[0]["type"] == "content_block_stop"][-1:]
    assert [event["type"] for event in last] == ["content_block_stop", "message_delta", "message_stop"]


# --- calls ----------------------------------------------------------------------------------------------------------


def test_the_first_piece_of_a_call_does_not_wait_for_the_last() -> None:
    """BUGS 26 and 27. anthropic.stream_back.6"""
    machine = wire.encode_stream()
    events = decoded([started(), *call(0, '{"a": "', *["x" * 1000] * 1000, '"}'), *ended("tool_use")])[0]
    pieces = [[plain(out) for out in machine.feed(event)] for event in events]
    assert [
        event["content_block"] for piece in pieces for event in piece if event["type"] == "content_block_start"
    ] == [{"type": "tool_use", "id": "toolu_0", "name": "f", "input": {}}]
    assert pieces[3][0]["delta"]["partial_json"] == '{"a": "'
    assert all(len(piece) == 1 for piece in pieces[3:1005])


def test_an_empty_piece_of_a_custom_call_begins_nothing() -> None:
    call = CustomToolCall(call_id="c1", name="t", input="say")
    answer = Response(id="r", status="completed", output=[call])
    begin, progress, added, delta, *rest = disassemble(answer)
    empty = replace(delta, delta="")  # type: ignore[type-var]
    machine = wire.encode_stream()
    found = [plain(out) for event in (begin, progress, added, empty, delta, *rest) for out in machine.feed(event)]
    pieces = [event["delta"]["partial_json"] for event in found if event["type"] == "content_block_delta"]
    assert json.loads("".join(pieces)) == {"input": "say"}


# --- ends -----------------------------------------------------------------------------------------------------------


def test_an_error_comes_back_as_it_came() -> None:
    """anthropic.stream_back.14"""
    error = {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "no", "details": {"a": 1}},
        "request_id": "req_1",
    }
    events = [started(), *text(0, "a")[:2], error]
    found, machine = encoded(decoded(events)[0])
    assert found[1:] == events[1:]
    assert [(loss.path, loss.kind) for loss in machine.losses] == [("usage", "dropped")]
