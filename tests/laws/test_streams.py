"""An answer told in a stream is the answer told whole, on every wire, wherever the stream is cut."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_rest import wires
from llm_rest.responses import Response
from llm_rest.responses.emit import Emitter
from llm_rest.responses.events import TERMINAL, OutputTextDelta
from llm_rest.responses.items import FunctionCall, Message
from llm_rest.responses.parts import OutputText
from llm_rest.responses.stream import disassemble
from tests.laws.growth import OWN_STREAMS, stream
from tests.laws.harness import nulls, response_trip
from tests.laws.rows import ROWS, dialects, thoughts, vendors
from tests.laws.strategies import responses
from tests.laws.test_round_trips import same
from tests.support.legal import faults
from tests.support.streams import STREAMING, assembled, read, slices, written

every_wire = pytest.mark.parametrize("name", STREAMING)
CUTS = st.lists(st.integers(0, 100_000), max_size=20)


def test_every_wire_streams() -> None:
    assert set(STREAMING) == set(wires.NAMES)


@every_wire
def test_the_assembled_stream_is_the_whole_answer(name: str) -> None:
    """BUGS 79. The answer as the wire tells it whole, told in events, encoded, cut, decoded and assembled: its counts too."""

    @given(st.data())
    def law(data: st.DataObject) -> None:
        dialect = dialects(name)[data.draw(vendors(name))]
        answer = data.draw(responses(ROWS[name].models, thoughts(name, dialect.issuer)))
        whole: Response = response_trip(name, answer, dialect).back
        pieces, _ = written(name, disassemble(whole), dialect=dialect)
        stream = b"".join(pieces)
        events = read(name, slices(stream, data.draw(CUTS)), dialect=dialect)
        assert faults(events) == []
        assert same(whole, assembled(events), name) == []

    law()


@every_wire
def test_whatever_is_told_becomes_a_legal_stream(name: str) -> None:
    """Rich answers, which lose much: the stream is legal all the same, and its losses are those of the whole answer."""

    @given(st.data())
    def law(data: st.DataObject) -> None:
        dialect = dialects(name)[data.draw(vendors(name))]
        answer = data.draw(responses(ROWS[name].models, thoughts(name, dialect.issuer), rich=True))
        pieces, _ = written(name, disassemble(answer), dialect=dialect)
        lines = [line.removeprefix(b"data: ") for piece in pieces for line in piece.splitlines()]
        assert [found for line in lines if line.startswith(b"{") for found in nulls(name, line)] == []
        events = read(name, pieces, dialect=dialect)
        assert [fault for fault in faults(events) if "no terminal event" not in fault] == []

    law()


@every_wire
def test_the_first_output_leaves_before_the_last_input_came(name: str) -> None:
    """BUGS 26. A text of many pieces: what is written never waits for the end."""
    pieces, _ = written(name, list(_long_answer(50)))
    assert sum(map(bool, pieces[:-5])) >= 49


PIECES = [(name, shape) for name in OWN_STREAMS for shape in OWN_STREAMS[name] if shape.startswith("pieces of one")]


@pytest.mark.parametrize(("name", "shape"), PIECES)
def test_each_piece_is_passed_on_at_once_and_not_kept(name: str, shape: str) -> None:
    """BUGS 26, 27 and 30: equal pieces are as many events and chunks. Their texts are joined at the end.

    ollama.stream.1, ollama.stream.3, anthropic.stream_back.2, anthropic.stream_back.6
    """
    wire, count = wires.load(name), 1000
    documents = [wire.EVENT.decode(json.dumps(each)) for each in stream(name, OWN_STREAMS[name][shape](count))]
    decoder, encoder, passed = wire.decode_stream(), wire.encode_stream(), 0
    events = chunks = list[Any]()
    for i, document in enumerate(documents):
        if i == count // 2:
            tracemalloc.start()
        events = decoder.feed(document)
        chunks = [chunk for event in events for chunk in encoder.feed(event)]
        passed += [type(event).__name__.endswith("Delta") for event in events] == [True] and len(chunks) == 1
    del events, chunks
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert passed >= count - 1
    assert kept < 100 * count, "no more than the texts of the pieces"


@every_wire
def test_no_line_break_leaves_in_a_stream(name: str) -> None:
    """Models write arguments over several lines, and clients split lines at all that Unicode calls a line break."""
    text = OutputText(text="one\ntwo\r\u2028three\u2029four\x85", annotations=[])
    answer = Response(
        id="resp_1",
        model="m",
        status="completed",
        output=[
            Message(id="msg_1", role="assistant", status="completed", content=[text]),
            FunctionCall(id="fc_1", call_id="c1", name="f", arguments='{\n  "x":\r\n 1,\r"y": "\u2028\\n"\n}\n'),
        ],
    )
    stream = b"".join(written(name, disassemble(answer))[0])
    lines = [line for line in stream.decode().splitlines() if line and not line.startswith("event: ")]
    documents = [line.removeprefix("data: ") for line in lines]
    told = [json.loads(document) for document in documents if document != "[DONE]"]
    assert told, "nothing was told"
    message, call = assembled(read(name, [stream])).output
    assert isinstance(message, Message)
    assert isinstance(call, FunctionCall)
    assert message.content[0] == OutputText(text=text.text, annotations=[])
    assert json.loads(call.arguments) == {"x": 1, "y": "\u2028\n"}


@every_wire
def test_a_stream_that_was_cut_has_no_end(name: str) -> None:
    events = list(_long_answer(5))
    pieces, _ = written(name, events)
    cut = b"".join(pieces[: len(events) - 5])
    told = read(name, [cut])
    assert any(isinstance(event, OutputTextDelta) for event in told)
    assert not any(isinstance(event, TERMINAL) for event in told)
    (message,) = assembled(told).output
    assert isinstance(message, Message)
    assert message.status == "incomplete"


def _long_answer(pieces: int) -> Iterator[object]:
    emitter = Emitter()
    text = OutputText(text="word " * pieces, annotations=[])
    message = Message(id="msg_1", role="assistant", status="completed", content=[text])
    response = Response(id="resp_1", model="m", status="completed", output=[message])
    emitter.start(response)
    opened = emitter.add(Message(id="msg_1", role="assistant", status="in_progress", content=[]))
    opened.part(OutputText(text="", annotations=[]))
    for _ in range(pieces):
        opened.grow(OutputText, "word ")
    opened.end(text)
    opened.done(message)
    emitter.finish(response)
    yield from emitter.take()
