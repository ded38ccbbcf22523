"""Any streamed answer, both ways: legal events, and in the end the very same response, or the very same message."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from llm_rest.errors import DecodeError
from llm_rest.responses import CustomToolCall, Response
from llm_rest.responses import events as ev
from llm_rest.responses.stream import Assembler, disassemble
from llm_rest.transport.framing import SSE
from llm_rest.wires import anthropic_messages as wire
from tests.laws.growth import Move, stream
from tests.laws.rows import ROWS, thoughts
from tests.laws.strategies import responses
from tests.support.documents import damaged, differences
from tests.support.facts import plain
from tests.support.legal import faults
from tests.support.streams import assembled, slices
from tests.wires.anthropic_messages.answers import answers
from tests.wires.anthropic_messages.streamed import (
    Plain,
    decoded,
    encoded,
    ends,
    recorded_streams,
    streams,
    unlawful,
    whole,
)

NAME = "anthropic_messages"


@given(st.data())
def test_the_events_of_an_answer_make_the_response_of_the_whole_answer(data: st.DataObject) -> None:
    events = data.draw(streams(data.draw(answers())))
    found, machine = decoded(events, now=5)
    want, _ = wire.decode_response(whole(events), now=5)
    assert faults(found) == []
    assert list(differences(plain(want), plain(assembled(found)))) == []
    assert assembled(found) == want
    assert machine.losses == []
    # What came before a refusal was over before anybody knew of it.
    if not want.incomplete_details or want.incomplete_details.reason != "content_filter":
        assert [*ends(found).values()] == want.output


@given(st.data())
def test_what_is_told_in_pieces_is_what_is_told_at_the_end(data: st.DataObject) -> None:
    found, _ = decoded(data.draw(streams(data.draw(answers()))))
    grown: dict[Any, str] = {}
    for event in found:
        place = tuple(getattr(event, name, None) for name in ("output_index", "content_index", "summary_index"))
        if isinstance(event, ev.OfItem):
            grown[place] = grown.get(place, "") + getattr(event, "delta", "")
            for name in ("text", "arguments", "code"):
                assert getattr(event, name, grown[place]) == grown[place]


@given(st.data())
def test_an_answer_goes_through_events_and_back_without_a_loss(data: st.DataObject) -> None:
    """anthropic.stream_back.3: sources too"""
    events = data.draw(streams(data.draw(answers())))
    sent, machine = encoded(decoded(events)[0])
    assert list(unlawful(sent)) == []
    assert list(differences(plain(whole(events)), plain(whole(sent)))) == []
    assert machine.losses == []


def disturbed(data: st.DataObject, events: list[Any]) -> list[Any]:
    """The events in another order, or with some of them missing or doubled, or as they were."""
    match data.draw(st.sampled_from(["any order", "missing", "doubled", "none of these"])):
        case "any order":
            return data.draw(st.permutations(events))
        case "missing":
            return [event for event in events if data.draw(st.integers(0, 4))]
        case "doubled":
            return [twin for event in events for twin in [event] * data.draw(st.sampled_from([1, 1, 2]))]
        case _:
            return events


@given(st.data())
def test_nothing_a_host_does_to_a_stream_makes_it_unlawful(data: st.DataObject) -> None:
    """BUGS 17 and 23. Events in any order, missing, doubled or damaged: legal events, and legal again on their way out."""
    events = disturbed(data, data.draw(streams(data.draw(answers()))))
    if data.draw(st.booleans()):
        events = [data.draw(damaged(st.just(e), most=1)) if data.draw(st.integers(0, 5)) == 0 else e for e in events]
    machine = wire.decode_stream()
    found: list[Any] = []
    for event in events:
        with suppress(DecodeError):
            found += machine.feed(wire.EVENT.decode(msgspec.json.encode(event)))
    assert [fault for fault in faults(found) if "no terminal event" not in fault] == []
    sent, _ = encoded(found)
    assert not sent or list(unlawful(sent)) == []


@pytest.mark.parametrize("exchange", recorded_streams(), ids=lambda exchange: exchange.id[-40:])
def test_a_recorded_stream_makes_the_response_of_its_message_and_goes_back(exchange: Any) -> None:
    text = (exchange.response.stream_text or "").encode()
    events = [json.loads(data) for data in exchange.events()]
    chance = random.Random(len(text))
    frames = SSE()
    decoder, encoder = wire.decode_stream(), wire.encode_stream()
    assembler = Assembler()
    found: list[Any] = []
    sent: list[Plain] = []
    for piece in slices(text, [chance.randrange(len(text)) for _ in range(50)]):
        for frame in frames.feed(piece):
            for event in decoder.feed(wire.EVENT.decode(frame.data)):
                found.append(event)
                assembler.feed(event)
                sent += [plain(out) for out in encoder.feed(event)]
    assert faults(found) == []
    assert assembler.response == wire.decode_response(whole(events))[0]
    assert [*ends(found).values()] == assembler.response.output
    assert list(unlawful(sent)) == []
    assert list(differences(plain(whole(events)), plain(whole(sent)))) == []
    assert decoder.losses == encoder.losses == []


# --- to a client -----------------------------------------------------------------------------------------------------


@st.composite
def side_by_side(draw: st.DrawFn, events: list[Any]) -> list[Any]:
    """The events with those of different items mixed."""
    items: dict[int, list[Any]] = {}
    around = [event for event in events if isinstance(event, ev.OfResponse)]
    for event in events:
        if not isinstance(event, ev.OfResponse):
            items.setdefault(event.output_index, []).append(event)
    mixed: list[Any] = []
    while items:
        index = draw(st.sampled_from(sorted(items)))
        mixed.append(items[index].pop(0))
        if not items[index]:
            del items[index]
    return [*around[:2], *mixed, around[2]]


@given(st.data())
def test_a_streamed_answer_is_the_answer_told_whole_however_its_items_interleave(data: st.DataObject) -> None:
    """BUGS 17 and 20. anthropic.stream_back.12 and anthropic.stream_back.13"""
    rich = data.draw(st.booleans())
    response = data.draw(responses(ROWS[NAME].models, thoughts(NAME, "anthropic"), rich=rich))
    found, machine = encoded(data.draw(side_by_side(disassemble(response))))
    body, lost = wire.encode_response(response)
    assert list(unlawful(found)) == []
    if response.status == "failed":
        assert found[-1] == plain(body)
    else:
        assert list(differences(plain(body), plain(whole(found)))) == []
        assert [(loss.path, loss.kind) for loss in machine.losses] == [(loss.path, loss.kind) for loss in lost]


@given(st.data())
def test_no_order_of_events_makes_an_unlawful_stream(data: st.DataObject) -> None:
    events = disassemble(data.draw(responses(ROWS[NAME].models, thoughts(NAME, "anthropic"), rich=True)))
    found, _ = encoded(disturbed(data, events))
    assert not found or list(unlawful(found)) == []


def test_an_empty_piece_of_a_custom_call_begins_nothing() -> None:
    call = CustomToolCall(call_id="c1", name="t", input="say")
    begin, progress, added, delta, *rest = disassemble(Response(id="r", status="completed", output=[call]))
    found, _ = encoded([begin, progress, added, replace(delta, delta=""), delta, *rest])  # type: ignore[type-var]
    pieces = [event["delta"]["partial_json"] for event in found if event["type"] == "content_block_delta"]
    assert json.loads("".join(pieces)) == {"input": "say"}


def test_an_error_comes_back_as_it_came() -> None:
    """anthropic.stream_back.14"""
    error = {"type": "overloaded_error", "message": "no", "details": {"a": 1}}
    events = stream(NAME, [Move("text begins"), Move("text piece")])[:3]
    events.append({"type": "error", "error": error, "request_id": "req_1"})
    found, machine = encoded(decoded(events)[0])
    assert found[1:] == events[1:]
    assert [(loss.path, loss.kind) for loss in machine.losses] == [("usage", "dropped")]
