"""Streams of the Responses wire: what hosts leave out is put in, what is in order passes, nothing of ours goes out."""

from __future__ import annotations

from typing import Any

from llm_rest.responses import events as ev
from llm_rest.responses.stream import disassemble
from llm_rest.vendors.dialects import ResponsesDialect
from llm_rest.wires import openai_responses as wire
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
