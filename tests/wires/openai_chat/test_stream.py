"""Streams of Chat Completions: chunks as hosts really send them become events, and events become chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from llm_rest.losses import Loss
from llm_rest.responses import events as ev
from llm_rest.responses.items import FunctionCall, Message, Reasoning
from llm_rest.responses.parts import OutputText, ReasoningText
from llm_rest.responses.response import Response
from llm_rest.responses.stream import disassemble
from llm_rest.vendors.dialects import ChatDialect
from llm_rest.wires import openai_chat as wire
from llm_rest.wires.openai_chat.reasoning import ThinkTags
from tests.support.legal import faults
from tests.support.streams import assembled

OPENAI = ChatDialect()
STOP = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def piece(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta}]}


def decoded(*chunks: dict[str, Any], dialect: ChatDialect = OPENAI, close: bool = True, **options: Any) -> list[Any]:
    machine = wire.decode_stream(dialect=dialect, **options)
    events: list[Any] = []
    for chunk in chunks:
        document = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", **chunk}
        events += machine.feed(wire.EVENT.decode(msgspec.json.encode(document)))
    return events + (machine.close() if close else [])


def encoded(response: Response, **options: Any) -> tuple[list[dict[str, Any]], list[Loss]]:
    machine = wire.encode_stream(**options)
    chunks = [chunk for event in disassemble(response) for chunk in machine.feed(event)] + machine.close()
    return [msgspec.to_builtins(chunk) for chunk in chunks], machine.losses


def deltas(events: Sequence[Any], kind: type = ev.OutputTextDelta) -> list[str]:
    return [event.delta for event in events if isinstance(event, kind)]


def output(events: Sequence[Any]) -> list[Any]:
    assert faults(events) == []
    return assembled(events).output


# --- chunks to events -----------------------------------------------------------------------------------------------


def test_an_empty_chunk_before_the_first_says_nothing_yet() -> None:
    """chat.stream.1"""
    empty = {"id": "", "model": "", "object": "", "choices": [], "prompt_filter_results": []}
    events = decoded(empty, piece(content="Hi"), STOP)
    assert events[0].response.id == "c1"


def test_equal_pieces_are_as_many_events() -> None:
    """BUGS 30"""
    assert len(deltas(decoded(*[piece(content="x")] * 120, STOP))) == 120


@pytest.mark.parametrize("cut", range(1, 30))
def test_tags_around_a_thought_are_found_wherever_they_are_cut(cut: int) -> None:
    text = "<think>Hm <b></think>\n\nHi </think>"
    tags = ThinkTags()
    pieces = [*tags.feed(text[:cut]), *tags.feed(text[cut:]), *tags.close()]
    assert "".join(piece for thought, piece in pieces if thought) == "Hm <b>"
    assert "".join(piece for thought, piece in pieces if not thought) == "Hi </think>"


def test_text_that_only_begins_like_a_tag_is_text() -> None:
    tags = ThinkTags()
    assert [*tags.feed("<thi"), *tags.feed("ng>"), *tags.close()] == [(False, "<thing>")]
    assert [*(held := ThinkTags()).feed("<th"), *held.close()] == [(False, "<th")]


# --- events to chunks -----------------------------------------------------------------------------------------------

ANSWER = Response(
    id="resp_1",
    model="m",
    status="completed",
    output=[
        Reasoning(id="rs_1", summary=[], content=[ReasoningText(text="Hm.")]),
        Message(id="msg_1", role="assistant", content=[OutputText(text="Hi.", annotations=[])]),
        FunctionCall(id="fc_1", call_id="a", name="f", arguments='{"x":1}'),
        FunctionCall(id="fc_2", call_id="b", name="g", arguments="{}"),
    ],
)


@pytest.mark.parametrize(("asked", "counted"), [({"include_usage": True}, True), (None, False), ({}, False)])
def test_counts_leave_where_the_client_asked_for_them(asked: Any, counted: bool) -> None:
    """chat.stream_back.10"""
    body = {"model": "m", "messages": [], "stream": True} | ({} if asked is None else {"stream_options": asked})
    request, _ = wire.decode_request(wire.REQUEST.decode(msgspec.json.encode(body)))
    response = msgspec.structs.replace(ANSWER)
    response.usage = msgspec.convert({"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}, type=_usage())
    chunks, _ = encoded(response, request=request)
    assert any("usage" in chunk and chunk["choices"] == [] for chunk in chunks) is counted


def _usage() -> Any:
    from llm_rest.responses.response import Usage

    return Usage
