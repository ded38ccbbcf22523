"""From the bytes of a stream to events: end marks, frames that are no events, and characters cut in two."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_rest.client.events import SplitSurrogates, StreamReader
from llm_rest.errors import DecodeError, ResponseTooLargeError
from llm_rest.responses import OutputTextDelta, ResponseCompleted
from llm_rest.transport.framing import LIMIT
from llm_rest.vendors.dialects import ChatDialect, ResponsesDialect
from llm_rest.wires import load
from tests.callers import BEGIN, completed, delta


def reader(wire: str = "openai_responses", limit: int = LIMIT) -> StreamReader:
    dialect = ChatDialect() if wire == "openai_chat" else ResponsesDialect()
    return StreamReader(load(wire), dialect=dialect, limit=limit)


def texts(events: Sequence[object]) -> list[str]:
    return [event.delta for event in events if isinstance(event, OutputTextDelta)]


# --- the end --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", [b"data: [DONE]\n\n", b"data:[DONE] \r\n\r\n"])
def test_the_end_mark_ends_a_stream_before_its_bytes_end(mark: bytes) -> None:
    """Hosts hold connections open behind it."""
    chunk = {"id": "c", "choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    machine = reader("openai_chat")
    events = machine.feed(b"data: " + json.dumps(chunk).encode() + b"\n\n" + mark)
    assert isinstance(events[-1], ResponseCompleted)
    assert machine.feed(b"data: " + json.dumps(chunk).encode() + b"\n\n") == []
    assert machine.close() == []


# --- what is no event -----------------------------------------------------------------------------------------------


def test_what_came_before_a_bad_frame_is_given_first_and_the_next_call_raises() -> None:
    machine = reader()
    assert texts(machine.feed(BEGIN + delta("one") + b"data: {\n\n" + delta("two"))) == ["one"]
    for _ in range(2):
        with pytest.raises(DecodeError):
            machine.feed(delta("three"))
    with pytest.raises(DecodeError):
        machine.close()


NESTED = b'data: {"type":"x","y":' + b"[" * 50_000 + b"\n\n"
ENTRIES = b'data: {"type":"x","y":[' + b"0," * 250_000 + b"0]}\n\n"


def test_a_bad_frame_alone_raises_at_once_and_after_others_when_they_were_given() -> None:
    with pytest.raises(DecodeError, match="nested"):
        reader().feed(NESTED)
    with pytest.raises(ResponseTooLargeError):
        reader(limit=100).feed(b"data: " + b"x" * 101)
    with pytest.raises(ResponseTooLargeError, match="entries"):
        reader().feed(ENTRIES)
    machine = reader()
    assert texts(machine.feed(BEGIN + delta("one") + ENTRIES)) == ["one"]
    with pytest.raises(ResponseTooLargeError, match="entries"):
        machine.close()


# --- halves of characters -------------------------------------------------------------------------------------------


def said(escaped: str) -> bytes:
    """A delta whose text is spelled so in JSON."""
    return delta("?").replace(b'"?"', f'"{escaped}"'.encode())


@given(st.text(alphabet='aé"\\/\n😀🎉\U0010ffff', max_size=12), st.lists(st.integers(0, 40), max_size=4))
def test_a_text_cut_between_the_halves_of_its_characters_comes_whole(text: str, cuts: list[int]) -> None:
    units = [json.dumps(chr(u), ensure_ascii=True)[1:-1] for u in memoryview(text.encode("utf-16-le")).cast("H")]
    ends = sorted({min(cut, len(units)) for cut in cuts} | {len(units)})
    pieces = ["".join(units[a:b]) for a, b in zip([0, *ends], ends, strict=False)]
    machine = reader()
    machine.feed(BEGIN)
    events = [event for piece in pieces for event in machine.feed(said(piece))]
    assert "".join(texts(events)) == text
    assert isinstance(machine.feed(completed(text))[-1], ResponseCompleted)


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([r"a\ud83d", r"b"], "ab"),
        ([r"a\ud83d", r"b", r"\ude00c"], "ab😀c"),
        ([r"\ude00a"], "\ufffda"),
        ([r"\ud83da"], "\ufffda"),
        ([r"a\ud83d\ud83d", r"\ude00"], "a\ufffd😀"),
        ([r"\\ud83d", r"\\ude00"], r"\ud83d\ude00"),
        ([r"a\ud83d", r"\uDE00\ud83d", r"\ude00"], "a😀😀"),
    ],
    ids=["never", "later", "second-alone", "first-alone", "two-firsts", "escaped-backslash", "twice"],
)
def test_half_a_character_never_ends_a_stream(pieces: list[str], text: str) -> None:
    machine = reader()
    machine.feed(BEGIN)
    assert "".join(texts([event for piece in pieces for event in machine.feed(said(piece))])) == text


def test_what_is_joined_is_json() -> None:
    halves = SplitSurrogates()
    joined = [halves.joined(d) for d in (rb'{"a":"x\ud83d","b":"\ud83d"}', rb'{"a":"\ude00","b":"\ude00"}')]
    assert [msgspec.json.decode(data) for data in joined] == [{"a": "x", "b": ""}, {"a": "😀", "b": "😀"}]
