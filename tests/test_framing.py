"""Cutting streams: whatever the network does to the bytes, the frames are the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_rest.errors import ResponseTooLargeError
from llm_rest.transport.framing import NDJSON, SSE, EntryCounter, Frame, exceeds_entries
from tests.support.counting import steps
from tests.support.streams import slices


def run(machine: SSE | NDJSON, pieces: list[bytes]) -> list[Frame]:
    frames: list[Frame] = []
    for piece in pieces:
        frames += machine.feed(piece)
    return frames + machine.close()


FIELD = st.sampled_from(["data", "event", "id", "retry", ":", "", "dat", "data: [1", "{", "x"])
TEXT = st.text(st.characters(exclude_characters="\r\n"), max_size=12)
LINES = st.lists(
    st.tuples(FIELD, st.sampled_from([":", ": ", ""]), TEXT, st.sampled_from(["\n", "\r", "\r\n"])).map("".join)
    | st.sampled_from(["\n", "\r\n", "\r"]),
    max_size=30,
).map(lambda lines: "".join(lines).encode("utf-8", "replace"))
CUTS = st.lists(st.integers(0, 200), max_size=12)


@given(LINES, CUTS, st.booleans())
def test_cutting_the_bytes_elsewhere_changes_nothing(stream: bytes, cuts: list[int], marked: bool) -> None:
    """BUGS 56"""
    stream = b"\xef\xbb\xbf" * marked + stream
    whole = run(SSE(), [stream])
    assert run(SSE(), slices(stream, cuts)) == whole
    assert run(SSE(), slices(stream, [*range(len(stream))])) == whole, "every byte alone"


TRICKY = st.text('a{}[]," \\\r\n\v\f\x1c\x85\u2028\u2029\U0001f600', max_size=8)
JSON = st.recursive(
    TRICKY | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TRICKY, inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(st.tuples(st.text(st.characters(codec="utf-8")), JSON, st.sampled_from([None, 2]), st.booleans())))
def test_what_is_encoded_comes_back_in_one_line_each(events: list[tuple[str, Any, int | None, bool]]) -> None:
    """BUGS 55. Whatever the JSON looks like, and whatever a client takes for the end of a line."""
    for name, value, indent, crlf in events:
        text = json.dumps(value, indent=indent, ensure_ascii=False).encode()
        data = text.replace(b"\n", b"\r\n") if crlf else text
        name = name.strip()
        (frame,) = run(SSE(), [SSE.encode(data, name)])
        assert frame.event == name.replace("\r", " ").replace("\n", " ")
        assert json.loads(frame.data) == value
        assert SSE.encode(data).decode().splitlines() == [f"data: {frame.data.decode()}", ""]
        assert run(NDJSON(), [NDJSON.encode(data)]) == [Frame("", frame.data)]
        assert NDJSON.encode(data).decode().splitlines() == [frame.data.decode()]


# The examples of the WHATWG text, section "Interpreting an event stream" and "Parsing an event stream".
@pytest.mark.parametrize(
    ("stream", "data"),
    [
        pytest.param(b"data: YHOO\ndata: +2\ndata: 10\n\n", [b"YHOO\n+2\n10"], id="lines of data are joined"),
        pytest.param(
            b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
            [b"first event", b"second event", b" third event"],
            id="comments, ids, and exactly one space is removed",
        ),
        pytest.param(b"data:test\n\ndata: test\n\n", [b"test", b"test"], id="the space is optional"),
        pytest.param(b"data\n\ndata\ndata\n\ndata:\n\n", [b"", b"\n", b""], id="empty data is data"),
        pytest.param(b"event: x\n\ndata: a\n\n", [b"a"], id="an event without data does not fire"),
        pytest.param(b"\xef\xbb\xbfdata: a\n\n", [b"a"], id="a byte order mark is skipped"),
        pytest.param(b"data: \xef\xbb\xbf\n\n", [b"\xef\xbb\xbf"], id="elsewhere it is text"),
        pytest.param(b"nonsense\nretry: 10\nDATA: no\ndata: a\n\n", [b"a"], id="unknown fields are ignored"),
        pytest.param(b"data: a\rdata: b\r\rdata: c\r\n\r\n", [b"a\nb", b"c"], id="every kind of line end"),
        pytest.param(b"data: [DONE] \n\n", [b"[DONE] "], id="spaces at the end stay"),
        # beyond the standard
        pytest.param(b"data: 1\n\ndata: 2", [b"1", b"2"], id="the last event may lack its blank line"),
        pytest.param(b'{\n "a": 1\n}\n\n', [b'{\n "a": 1\n}'], id="JSON without a field name is an event"),
    ],
)
def test_the_examples_of_the_standard(stream: bytes, data: list[bytes]) -> None:
    """BUGS 56"""
    assert [frame.data for frame in run(SSE(), [stream])] == data
    named = run(SSE(), [b"event: add\n" + stream.removeprefix(b"\xef\xbb\xbf")])
    assert {frame.event for frame in named[1:]} <= {"", "x"}, "the name of an event is for that event alone"


def test_a_line_of_30_megabytes_is_looked_at_once() -> None:
    """BUGS 58. Counted in joins, not seconds: the pieces are kept apart until the event is complete."""
    piece = b"x" * 65536
    machine = SSE()
    assert machine.feed(b"data: ") == []
    for _ in range(480):
        assert machine.feed(piece) == []
    held = machine._pieces  # pyright: ignore[reportPrivateUsage]
    assert len(held) == 481, "the pieces were joined before the event was complete"
    (frame,) = machine.feed(b"\n\n")
    assert len(frame.data) == 480 * 65536


@pytest.mark.parametrize("machine", [SSE(limit=1000), NDJSON(limit=1000)])
def test_an_event_beyond_the_limit_is_refused(machine: SSE | NDJSON) -> None:
    chunks = iter([b"data: 0123456789abcdef0123456789abcdef0123456789"] * 30)
    with pytest.raises(ResponseTooLargeError, match="more than 1000 bytes"):
        list(map(machine.feed, chunks))
    assert sum(1 for _ in chunks) == 9, "refused at the limit, not at the end"


@given(st.lists(st.sampled_from([b'{"a":1}', b'{"b":"\xe2\x80\xa8"}', b"", b"  "]), max_size=8), CUTS, st.booleans())
def test_lines_of_json_are_the_same_wherever_they_are_cut(lines: list[bytes], cuts: list[int], ended: bool) -> None:
    stream = b"\r\n".join(lines) + b"\n" * ended
    whole = [Frame("", line) for line in lines if line.strip()]
    assert run(NDJSON(), slices(stream, cuts)) == whole


# --- how much a JSON text holds -------------------------------------------------------------------------------------


def entries(text: bytes) -> int:
    """Counted without the strings."""
    return len(re.findall(rb"[{\[,]", re.sub(rb'"(?:[^"\\]|\\.)*"', b"", text)))


@given(JSON, CUTS)
def test_entries_outside_strings_are_counted_wherever_the_text_is_cut(document: object, cuts: list[int]) -> None:
    text = json.dumps(document).encode()
    counter = EntryCounter()
    assert [counter.feed(piece) for piece in slices(text, cuts)][-1] == entries(text)
    assert exceeds_entries(text, entries(text)) is False
    assert entries(text) == 0 or exceeds_entries(text, entries(text) - 1)


@pytest.mark.parametrize("text", [b"A", b'\\"', b'"{","[",', b'"', b"{[,"])
def test_counting_entries_takes_as_many_steps_for_any_piece_of_a_size(text: bytes) -> None:
    def work(size: int) -> Callable[[], object]:
        return lambda: EntryCounter().feed(b'["' + text * size)

    assert steps(work(10_000)) <= steps(work(1)) + 2


def test_what_has_too_many_entries_is_not_counted_to_its_end() -> None:
    few, many = (b"[" + b"{}," * size for size in (100_000, 1_000_000))
    assert steps(lambda: exceeds_entries(many, 1000)) == steps(lambda: exceeds_entries(few, 1000))
    assert steps(lambda: exceeds_entries(many, 10_000_000)) <= steps(lambda: exceeds_entries(many, 1000))
