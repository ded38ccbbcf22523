"""A streamed answer of the vendor: each thing is said when it is known, whatever the vendor or a host does to it."""

from __future__ import annotations

import tracemalloc

import msgspec

from llm_rest.unknown import Unknown
from llm_rest.wires import anthropic_messages as wire
from tests.support.legal import faults
from tests.wires.anthropic_messages.streamed import decoded, ended, started, text

# --- ends -----------------------------------------------------------------------------------------------------------


def test_what_nobody_knows_is_told_as_it_came() -> None:
    """BUGS 61. anthropic.stream.29"""
    new = {"type": "something_new", "a": 1}
    odd = {"type": "content_block_delta", "index": 0, "delta": {"type": "odd_delta", "b": 2}, "x_new": 3}
    begin, *rest = text(0, "a")
    found, machine = decoded([new, started(x_new=1), begin, odd, odd, *rest, *ended()])
    assert faults(found) == []
    unknown = [dict(event) for event in found if isinstance(event, Unknown)]
    assert [{name: value for name, value in event.items() if name != "sequence_number"} for event in unknown] == [
        new,
        odd,
        odd,
    ]
    assert [(loss.path, loss.kind) for loss in machine.losses] == [
        ("content_block_delta.x_new", "dropped"),
        ("content[0]", "dropped"),
    ]
    assert found[-1].response.id == "msg_1"
    assert found[-1].response.leftovers["anthropic_messages"]["x_new"] == 1


def test_only_the_open_block_is_kept_beside_the_answer() -> None:
    """A long text is joined once, when it is over, and its pieces are gone."""
    machine = wire.decode_stream()
    for event in [started(), *text(0, *["word "] * 1000)[:-1]]:
        machine.feed(wire.EVENT.decode(msgspec.json.encode(event)))
    tracemalloc.start()
    try:
        delta = wire.EVENT.decode(msgspec.json.encode(text(0, "x" * 1000)[1]))
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(200):
            machine.feed(delta)
        assert tracemalloc.get_traced_memory()[0] - before < 20_000
    finally:
        tracemalloc.stop()
