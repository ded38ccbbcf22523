"""Streams of the Responses wire: what hosts leave out is put in, what is in order passes, nothing of ours goes out."""

from __future__ import annotations

from typing import Any

import pytest

from llm_rest.losses import Loss
from llm_rest.responses import events as ev
from llm_rest.responses.carriers import PREFIX
from llm_rest.responses.events import TERMINAL
from llm_rest.responses.items import Message
from llm_rest.responses.parts import OutputText
from llm_rest.responses.response import Response
from llm_rest.responses.stream import Assembler, disassemble
from llm_rest.unknown import Unknown, extras
from llm_rest.vendors.dialects import ResponsesDialect
from llm_rest.wires import openai_responses as wire
from tests.support.legal import faults
from tests.test_assemble import EVERYTHING

BEGIN = b'{"type":"response.created","response":{"id":"r","status":"in_progress","output":[]}}'


def end(output: bytes) -> bytes:
    return b'{"type":"response.completed","response":{"id":"r","status":"completed","output":' + output + b"}}"


def decoded(*lines: bytes, dialect: ResponsesDialect = wire.OPENAI) -> list[Any]:
    machine = wire.decode_stream(dialect=dialect)
    events = [event for line in lines for event in machine.feed(wire.EVENT.decode(line))]
    return events + machine.close()


def assembled(events: list[Any]) -> Response:
    assembler = Assembler()
    for event in events:
        assembler.feed(event)
    return assembler.response


def names(events: list[Any]) -> list[str]:
    return [type(event).__name__ for event in events]


def test_unknown_fields_of_an_event_pass_wherever_they_stand() -> None:
    """BUGS 61"""
    item = b'{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}","status":"completed"}'
    added = b'{"type":"response.output_item.added","output_index":0,"item":' + item + b',"new":1}'
    delta = b'{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"fc_1","delta":"{}","new":2}'
    done = b'{"type":"response.output_item.done","output_index":0,"item":' + item + b',"new":3}'
    events = decoded(BEGIN, added, delta, done, end(b"[" + item + b"]"))
    assert [extras(event).get("new") for event in events] == [None, 1, 2, 3, None]
    assert faults(events) == []


def test_what_had_to_be_put_right_in_a_stream_is_told_with_its_end() -> None:
    """responses.response.12"""
    machine = wire.decode_stream()
    item = b'{"type":"message","id":"msg_1","role":"assistant","content":null}'
    for line in (BEGIN, b'{"type":"response.output_item.done","output_index":0,"item":' + item + b"}", end(b"[]")):
        machine.feed(wire.EVENT.decode(line))
    assert machine.losses == [Loss("output[0]", "its content was null", "changed")]


def test_what_is_in_order_passes_as_it_came() -> None:
    machine = wire.decode_stream()
    events = disassemble(EVERYTHING)
    assert [event for told in events for event in machine.feed(told)] == disassemble(EVERYTHING)


@pytest.mark.parametrize(
    ("lines", "output"),
    [
        pytest.param(
            [b'{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"c",'
             b'"name":"f","arguments":"{}"}}'],
            b'[{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"}]',
            id="only the end of an item",
        ),
        pytest.param(
            [b'{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1",'
             b'"call_id":"c","name":"f","arguments":""}}',
             b'{"type":"response.function_call_arguments.done","output_index":0,"item_id":"x","arguments":"{}"}'],
            b'[{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"}]',
            id="arguments without deltas, and no end of the item",
        ),
        pytest.param(
            [b'{"type":"response.output_text.delta","output_index":0,"item_id":"a","delta":"h"}',
             b'{"type":"response.output_text.delta","output_index":0,"item_id":"b","delta":"i"}'],
            b'[{"type":"message","id":"a","role":"assistant","content":[{"type":"output_text","text":"hi"}]}]',
            id="deltas alone, under a new id in every event",
        ),
        pytest.param(
            [b'{"type":"response.reasoning.delta","output_index":0,"item_id":"a","delta":"hm"}',
             b'{"type":"response.reasoning.done","output_index":0,"item_id":"a","text":"hm"}'],
            b'[{"type":"reasoning","id":"a","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}]',
            id="raw reasoning by its name in the core",
        ),
        pytest.param(
            [], b'[{"type":"message","id":"a","role":"assistant","content":[{"type":"output_text","text":"hi"}]}]',
            id="nothing but the terminal event",
        ),
    ],
)  # fmt: skip
def test_what_hosts_leave_out_is_put_in(lines: list[bytes], output: bytes) -> None:
    """BUGS 7. Legal order, and the very response that decoding the whole answer gives."""
    events = decoded(BEGIN, *lines, end(output))
    assert faults(events) == []
    whole = wire.RESPONSE.decode(b'{"id":"r","status":"completed","output":' + output + b"}")
    assert assembled(events) == wire.decode_response(whole)[0]


def test_the_text_of_an_item_is_streamed_even_where_only_its_end_came() -> None:
    events = decoded(
        BEGIN, end(b'[{"type":"message","id":"a","role":"assistant","content":[{"type":"output_text","text":"hi"}]}]')
    )
    assert [event.delta for event in events if isinstance(event, ev.OutputTextDelta)] == ["hi"]


def test_an_empty_terminal_event_is_filled_with_what_was_collected() -> None:
    item = b'{"type":"message","id":"a","role":"assistant","content":[{"type":"output_text","text":"hi"}]}'
    events = decoded(BEGIN, b'{"type":"response.output_item.done","output_index":0,"item":' + item + b"}", end(b"[]"))
    assert faults(events) == []
    assert (
        assembled(events).output
        == wire.RESPONSE.decode(b'{"id":"r","status":"completed","output":[' + item + b"]}").output
    )


def test_a_second_terminal_event_is_ignored() -> None:
    assert names(decoded(BEGIN, end(b"[]"), end(b"[]"))) == ["ResponseCreated", "ResponseCompleted"]


@pytest.mark.parametrize(
    "error",
    [
        b'{"type":"error","code":"server_error","message":"no"}',
        b'{"type":"error","error":{"type":"server_error","code":"server_error","message":"no"}}',
        b'{"error":{"code":"server_error","message":"no"}}',
    ],
)
def test_an_error_ends_the_stream_as_a_failed_response(error: bytes) -> None:
    failed = b'{"type":"response.failed","response":{"id":"r","status":"failed","output":[]}}'
    events = decoded(BEGIN, error, failed)
    assert names(events) == ["ResponseCreated", "ErrorEvent", "ResponseFailed"]
    response = assembled(events)
    assert response.status == "failed"
    assert response.error
    assert (response.error.code, response.error.message) == ("server_error", "no")


def test_a_stream_that_was_cut_has_no_terminal_event() -> None:
    """BUGS 28"""
    events = decoded(
        BEGIN,
        b'{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c","name":"f",'
        b'"arguments":""}}',
        b'{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\\"a"}',
    )
    assert not any(isinstance(event, TERMINAL) for event in events)
    call: Any = assembled(events).output[0]
    assert (call.status, call.arguments) == ("incomplete", '{"a')


def test_what_nobody_knows_passes() -> None:
    """BUGS 61"""
    events = decoded(BEGIN, b'{"type":"response.surprise","x":1}', end(b"[]"))
    assert isinstance(events[1], Unknown)
    assert events[1]["x"] == 1
    assert faults(events) == []


def test_a_hundred_equal_pieces_are_a_hundred_events() -> None:
    """BUGS 30"""
    line = b'{"type":"response.output_text.delta","output_index":0,"item_id":"a","delta":"x"}'
    events = decoded(BEGIN, *[line] * 120)
    assert sum(isinstance(event, ev.OutputTextDelta) for event in events) == 120


def test_opaque_state_of_another_issuer_is_sealed_in_the_stream_too() -> None:
    item = b'{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"secret"}'
    done = b'{"type":"response.output_item.done","output_index":0,"item":' + item + b"}"
    dialect = ResponsesDialect(issuer="xai")
    events = decoded(BEGIN, done, end(b"[" + item + b"]"), dialect=dialect)
    sealed: Any = next(event.item for event in events if isinstance(event, ev.OutputItemDone))
    assert sealed.encrypted_content.startswith(PREFIX)
    encoder = wire.encode_stream(dialect=dialect)
    sent: list[Any] = [out for event in events for out in encoder.feed(event)]
    item_sent: Any = next(event.item for event in sent if isinstance(event, ev.OutputItemDone))
    assert item_sent.encrypted_content == "secret"
    assert sent[-1].response.output[0].encrypted_content == "secret"


def test_nothing_of_ours_goes_out() -> None:
    left = {"openai_chat": {"system_fingerprint": "fp"}}
    part = OutputText(text="hi", annotations=[], leftovers={"openai_chat": {"x": 1}})
    item = Message(id="msg_1", role="assistant", content=[part], leftovers=left)
    response = Response(id="r", status="completed", output=[item], leftovers=left)
    encoder = wire.encode_stream()
    sent = b"".join(wire_bytes(out) for event in disassemble(response) for out in encoder.feed(event))
    assert b"leftovers" not in sent
    assert {loss.path.split(".")[0] for loss in encoder.losses} == {"system_fingerprint", "output[0]"}


def wire_bytes(event: Any) -> bytes:
    import msgspec

    return msgspec.json.encode(event)
