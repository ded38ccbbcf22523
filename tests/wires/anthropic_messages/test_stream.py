"""A streamed answer of the vendor: each thing is said when it is known, whatever the vendor or a host does to it."""

from __future__ import annotations

import copy
import tracemalloc

import msgspec
import pytest

from llm_rest.responses import CustomTool, FunctionCall, FunctionTool, Message, Request, Usage
from llm_rest.responses import events as ev
from llm_rest.unknown import Unknown
from llm_rest.wires import anthropic_messages as wire
from tests.support.facts import plain
from tests.support.legal import faults
from tests.wires.anthropic_messages.streamed import (
    Plain,
    assembled,
    between,
    block,
    call,
    decoded,
    ended,
    ends,
    outline,
    output,
    started,
    text,
    told,
    whole,
)

CITED = {
    "type": "char_location",
    "cited_text": "c",
    "document_index": 0,
    "document_title": None,
    "start_char_index": 0,
    "end_char_index": 1,
}
PAGE = {
    "type": "web_search_result_location",
    "url": "https://r.org",
    "title": "R",
    "encrypted_index": "i",
    "cited_text": "c",
}


def test_a_beginning_tells_what_was_counted_by_then() -> None:
    """anthropic.stream.1"""
    created, progress = decoded([started(usage={"input_tokens": 3, "output_tokens": 1, "service_tier": "priority"})])[0]
    assert outline([created, progress]) == ["created", "in_progress"]
    assert created.response == progress.response
    found = created.response
    assert (found.id, found.model, found.status) == ("msg_1", "m", "in_progress")
    assert found.usage == Usage(input_tokens=3, output_tokens=1, total_tokens=4)
    assert found.service_tier == "priority"


def test_texts_in_a_row_are_parts_of_one_message() -> None:
    """anthropic.stream.2, anthropic.stream.3, anthropic.stream.5, anthropic.stream.25 and BUGS 30"""
    events = told(text(0, "a", "", "a"), text(1))
    assert between(events) == [
        "output_item.added message",
        "content_part.added",
        "output_text.delta 'a'",
        "output_text.delta 'a'",
        "output_text.done 'aa'",
        "content_part.done",
        "content_part.added",
        "output_text.done ''",
        "content_part.done",
        "output_item.done message",
    ]
    assert outline(events)[-1] == "completed"
    assert events[-1].response.usage.total_tokens == 7


def test_sources_are_told_when_they_come_and_annotations_when_their_text_is_over() -> None:
    """anthropic.stream.4"""
    events = told(block(0, "text", {"citation": CITED}, {"citation": PAGE}, {"text": "Hi"}, text="", citations=[]))
    assert between(events)[2:7] == [
        "anthropic_messages:citation",
        "anthropic_messages:citation",
        "output_text.delta 'Hi'",
        "output_text.annotation.added",
        "output_text.done 'Hi'",
    ]
    assert events[4]["citation"] == CITED
    assert (events[4]["output_index"], events[4]["content_index"]) == (0, 0)
    assert events[7].annotation.end_index == 2


def test_an_item_is_over_when_the_next_one_begins() -> None:
    """anthropic.stream.6"""
    steps = between(told(text(0, "a"), redacted(1), call(2), text(3, "b")))
    assert [step for step in steps if step.startswith("output_item")] == [
        "output_item.added message",
        "output_item.done message",
        "output_item.added reasoning",
        "output_item.done reasoning",
        "output_item.added function_call",
        "output_item.done function_call",
        "output_item.added message",
        "output_item.done message",
    ]
    last_word = steps.index("content_part.done")
    assert steps[last_word + 1] == "output_item.done message"


def redacted(index: int) -> list[Plain]:
    """anthropic.stream.11"""
    return block(index, "redacted_thinking", data="ZGF0YQ==")


def test_a_thought_is_told_as_its_summary_and_signed_at_its_end() -> None:
    """BUGS 1 and 25. anthropic.stream.7, anthropic.stream.8, anthropic.stream.9 and anthropic.stream.10"""
    pieces: list[Plain] = [{"thinking": "H", "estimated_tokens": 4}, {"thinking": ""}, {"thinking": "m"}]
    signed = [{"signature": "half"}, {"signature": "whole=="}]
    events = told(block(0, "thinking", *pieces, *signed, thinking="", signature=""))
    assert between(events) == [
        "output_item.added reasoning",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta 'H'",
        "reasoning_summary_text.delta 'm'",
        "reasoning_summary_text.done 'Hm'",
        "reasoning_summary_part.done",
        "output_item.done reasoning",
    ]
    message, _ = wire.encode_response(assembled(events))
    assert plain(message)["content"] == [{"type": "thinking", "thinking": "Hm", "signature": "whole=="}]


def test_a_thought_that_is_not_shown_is_signed_all_the_same() -> None:
    """BUGS 6. anthropic.stream.9"""
    events = told(block(0, "thinking", {"signature": "s=="}, thinking="", signature=""))
    assert between(events) == ["output_item.added reasoning", "output_item.done reasoning"]
    message, _ = wire.encode_response(assembled(events))
    assert plain(message)["content"] == [{"type": "thinking", "thinking": "", "signature": "s=="}]


@pytest.mark.parametrize(
    ("pieces", "placeholder", "steps"),
    [
        pytest.param(
            ["", '{"a"', ": 1.0}"], {}, ["delta '{\"a\"'", "delta ': 1.0}'", "done '{\"a\": 1.0}'"], id="in pieces"
        ),
        pytest.param([""], {}, ["delta '{}'", "done '{}'"], id="without arguments"),
        pytest.param([], {"a": 1}, ["delta '{\"a\":1}'", "done '{\"a\":1}'"], id="whole at once"),
    ],
)
def test_arguments_are_told_as_the_model_writes_them(pieces: list[str], placeholder: Plain, steps: list[str]) -> None:
    """BUGS 15. anthropic.stream.12, anthropic.stream.13 and anthropic.stream.14"""
    events = told(call(0, *pieces, input=placeholder), end=ended("tool_use"))
    assert between(events)[1:-1] == [f"function_call_arguments.{step}" for step in steps]
    added, done = events[2].item, events[-2].item
    assert (added.call_id, added.name, added.arguments, added.status) == ("toolu_0", "f", "", "in_progress")
    assert (done.call_id, done.status) == ("toolu_0", "completed")


def test_calls_come_under_the_names_of_their_request() -> None:
    """anthropic.stream.15"""
    request = Request(model="m", input="Hi", tools=[CustomTool(name="text"), FunctionTool(name="a b", parameters={})])
    body, _ = wire.encode_request(request)
    (_, renamed) = [one["name"] for one in plain(body)["tools"]]
    free, function = call(0, '{"input": ', '"Hi"}', name="text"), call(1, name=renamed)
    events = told(free, function, request=request)
    assert between(events)[:4] == [
        "output_item.added custom_tool_call",
        "custom_tool_call_input.delta 'Hi'",
        "custom_tool_call_input.done 'Hi'",
        "output_item.done custom_tool_call",
    ]
    assert output(events)[1].name == "a b"


# --- ends -----------------------------------------------------------------------------------------------------------


def test_later_counts_replace_earlier_ones_and_null_and_absent_say_nothing() -> None:
    """BUGS 79. anthropic.stream.24"""
    begun = started(usage={"input_tokens": 3, "cache_read_input_tokens": 7, "output_tokens": 1, "speed": "fast"})
    first = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2, "x_new": 1}}
    used = {"output_tokens": 9, "input_tokens": 5, "cache_read_input_tokens": None}
    last = {"type": "message_delta", "delta": {"stop_reason": None, "x_new": 2}, "usage": used}
    events = [begun, first, last, {"type": "message_stop"}]
    response = assembled(decoded(events)[0])
    assert response == wire.decode_response(whole(events))[0]
    message, _ = wire.encode_response(response)
    assert plain(message)["usage"] == {
        "input_tokens": 5,
        "output_tokens": 9,
        "cache_read_input_tokens": 7,
        "speed": "fast",
        "x_new": 1,
    }
    assert (plain(message)["stop_reason"], plain(message)["x_new"]) == ("end_turn", 2)


def test_a_call_that_was_cut_is_incomplete() -> None:
    """BUGS 28 and 45. anthropic.stream.26"""
    found, machine = decoded([started(), *text(0, "a"), *call(1, '{"a": "b'), *ended("max_tokens")])
    assert faults(found) == []
    message, cut = output(found)
    assert isinstance(message, Message)
    assert isinstance(cut, FunctionCall)
    assert (message.status, cut.status, cut.arguments) == ("completed", "incomplete", '{"a": "b')
    assert found[-2].item is cut
    assert outline(found)[-1] == "incomplete"
    assert machine.losses == []


def test_a_refusal_makes_everything_before_it_incomplete() -> None:
    """anthropic.stream.27"""
    details = {"type": "refusal", "category": None, "explanation": "No."}
    events = told(call(0, "{}"), text(1, "a"), end=ended("refusal", stop_details=details))
    assert [plain(item)["status"] for item in events[-1].response.output] == ["incomplete"] * 3
    assert [item.status for item in ends(events).values()] == ["completed", "incomplete", "incomplete"]
    assert outline(events)[-6:-1] == [
        "content_part.added",
        "refusal.delta 'No.'",
        "refusal.done",
        "content_part.done",
        "output_item.done message",
    ]


def test_a_ping_says_nothing() -> None:
    """anthropic.stream.28"""
    assert decoded([{"type": "ping"}, started(), {"type": "ping"}])[0] == decoded([started()])[0]


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


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("overloaded_error", "server_overloaded"),
        ("api_error", "server_error"),
        ("rate_limit_error", "rate_limit_exceeded"),
    ],
)
def test_an_error_ends_the_answer_as_failed(kind: str, code: str) -> None:
    """anthropic.stream.30"""
    error = {"type": "error", "error": {"type": kind, "message": "no"}, "request_id": "req_1"}
    found, _ = decoded([started(), *call(0, "{}"), *text(1, "a")[:2], error, *ended()])
    assert faults(found) == []
    assert outline(found)[-2:] == ["error", "failed"]
    assert (found[-2].details.code, found[-2].details.type, found[-2].details.message) == (code, kind, "no")
    failed = found[-1].response
    assert (failed.id, failed.model, failed.status, failed.error.code) == ("msg_1", "m", "failed", code)
    assert failed.usage.input_tokens == 3
    assert failed.leftovers == {"anthropic_messages": {"request_id": "req_1"}}
    assert [plain(item)["status"] for item in output(found)] == ["completed", "incomplete"]


def test_an_error_may_say_more_than_its_type() -> None:
    """anthropic.stream.30: waiting does not help against a limit of spending."""
    details = {"error_code": "enforced_spend_limit_reached"}
    error = {"type": "rate_limit_error", "message": "no", "details": details}
    failed = decoded([started(), {"type": "error", "error": error}])[0][-1].response
    assert (failed.error.code, failed.error.type) == ("enforced_spend_limit_reached", "rate_limit_error")


def test_an_error_may_come_before_anything_else() -> None:
    """anthropic.stream.30"""
    found, _ = decoded([{"type": "error", "error": {"type": "overloaded_error", "message": "no"}}])
    assert outline(found) == ["error", "failed"]
    assert faults(found) == []


def test_an_answer_that_breaks_off_has_no_end_and_its_call_never_looks_whole() -> None:
    """BUGS 28. anthropic.stream.31"""
    for events in ([started(), *call(0, '{"a": 1}')], [started(), *call(0, '{"a"')[:-1]]):
        found, _ = decoded(events)
        assert not isinstance(found[-1], ev.TERMINAL)
        (cut,) = output(found)
        assert isinstance(cut, FunctionCall)
        assert cut.status == "incomplete"


def test_blocks_are_put_one_after_another() -> None:
    """BUGS 17, 18 and 23. anthropic.stream.32: side by side, counted from 1, and one without an end."""
    one, other = call(1, '{"a"', ":1}"), call(5, '{"b"', ":2}", id="toolu_1")
    mixed = [
        one[0],
        other[0],
        other[1],
        one[1],
        other[2],
        one[2],
        other[3],
        one[3],
        *text(6, "a")[:-1],
        *ended("tool_use"),
    ]
    found, machine = decoded([started(), *mixed])
    assert faults(found) == []
    assert machine.losses == []
    straight = [*call(0, '{"a"', ":1}", id="toolu_1"), *call(1, '{"b"', ":2}"), *text(2, "a"), *ended("tool_use")]
    assert found == decoded([started(), *straight])[0]
    assert [event.output_index for event in found if isinstance(event, ev.OutputItemAdded)] == [0, 1, 2]


def test_a_piece_of_nothing_is_a_loss() -> None:
    """anthropic.stream.32"""
    for piece, over in ((call(0, "{}")[1:2], []), (text(0, "late")[1:2], text(0, "a"))):
        found, machine = decoded([started(), *over, *piece, *text(1, "b"), *ended()])
        assert faults(found) == []
        assert [(loss.path, loss.kind) for loss in machine.losses] == [("content[0]", "dropped")]


def test_texts_and_thoughts_begin_with_their_first_piece_where_a_host_forgets_to() -> None:
    """anthropic.stream.32"""
    thought = block(0, "thinking", {"thinking": "t"}, {"signature": "s"}, thinking="", signature="")
    spoken = [*thought, *text(1, "a", "b")]
    events = decoded([started(), *spoken, *ended()])[0]
    assert decoded([started(), *thought[1:], *text(1, "a", "b")[1:], *ended()])[0] == events
    assert decoded([started(), *thought[1:-1], *text(1, "a", "b")[1:-1], *ended()])[0] == events


def test_an_end_without_any_reason_is_no_complete_answer() -> None:
    """anthropic.stream.25"""
    assert decoded([started(), {"type": "message_stop"}])[0][-1].response.status == "incomplete"


def test_what_is_fed_is_not_changed() -> None:
    events = [
        started(),
        *block(0, "text", {"citation": CITED}, {"text": "a"}, text="", citations=[PAGE]),
        *call(1, "{}"),
        *ended(),
    ]
    fed = [wire.EVENT.decode(msgspec.json.encode(event)) for event in events]
    twin = copy.deepcopy(fed)
    machine = wire.decode_stream()
    for event in fed:
        machine.feed(event)
    assert fed == twin


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
