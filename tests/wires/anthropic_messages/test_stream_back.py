"""Responses events as a stream of this wire: one block after another, each piece when it is known to be right."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from llm_rest.responses import (
    Compaction,
    CustomToolCall,
    FunctionCall,
    Message,
    OutputText,
    Reasoning,
    ReasoningText,
    RefusalPart,
    Request,
    Response,
    ResponseError,
    SummaryText,
    UrlCitation,
    Usage,
    WebSearchCall,
)
from llm_rest.responses import events as ev
from llm_rest.responses.carriers import seal
from llm_rest.responses.stream import disassemble
from llm_rest.unknown import Unknown, with_extras
from llm_rest.wires import anthropic_messages as wire
from tests.support.facts import plain
from tests.support.legal import faults
from tests.wires.anthropic_messages.streamed import (
    Plain,
    accumulated,
    assembled,
    block,
    call,
    decoded,
    encoded,
    ended,
    output,
    result,
    started,
    text,
    tool,
    unlawful,
)

NAME = "anthropic_messages"
CITED = {
    "type": "char_location",
    "cited_text": "c",
    "document_index": 0,
    "document_title": None,
    "start_char_index": 0,
    "end_char_index": 1,
}


def answer(*items: Any, **fields: Any) -> Response:
    known = {"id": "r", "model": "m", "status": "completed", "usage": Usage(input_tokens=1, output_tokens=1)}
    return Response(**{**known, "output": [*items], **fields})


def sent(*items: Any, **fields: Any) -> tuple[list[Plain], list[tuple[str, str]]]:
    """The events of the wire for a response with these items, and where something was lost, and how."""
    found, machine = encoded(disassemble(answer(*items, **fields)))
    assert list(unlawful(found)) == []
    return found, [(loss.path, loss.kind) for loss in machine.losses]


def steps(events: list[Plain]) -> list[str]:
    """What each event between the beginning and the end says, in a few words."""
    found: list[str] = []
    for event in events[1:-2]:
        if event["type"] == "content_block_start":
            found.append(f"{event['index']} {event['content_block']['type']}")
        elif event["type"] == "content_block_delta":
            found.append(repr(next(value for name, value in event["delta"].items() if name != "type")))
        else:
            found.append("stop")
    return found


def said(*texts: str, **fields: Any) -> Message:
    parts: Any = [OutputText(text=one, annotations=[]) for one in texts]
    return Message(**{"id": "msg", "status": "completed", "role": "assistant", "content": parts, **fields})


def function(arguments: str = "{}", call_id: str = "c1", **fields: Any) -> FunctionCall:
    return FunctionCall(call_id=call_id, name="f", arguments=arguments, **fields)


def test_a_beginning_tells_the_counts_that_are_known() -> None:
    """anthropic.stream_back.1"""
    created = answer(status="in_progress", usage=Usage(input_tokens=5, output_tokens=1), service_tier="default")
    machine = wire.encode_stream(request=Request(model="asked", input="Hi"))
    (begun,) = machine.feed(ev.ResponseCreated(response=replace(created, model=None)))
    assert machine.feed(ev.ResponseInProgress(response=created)) == []
    assert plain(begun)["message"] == {
        "id": "r",
        "type": "message",
        "role": "assistant",
        "model": "asked",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 5, "output_tokens": 1, "service_tier": "standard"},
    }


def test_every_part_of_text_is_a_block_and_every_piece_goes_out_at_once() -> None:
    """BUGS 30. anthropic.stream_back.2"""
    machine = wire.encode_stream()
    events = [started(), *text(0, *["a"] * 120), *text(1), *ended()]
    pieces = [[plain(out) for out in machine.feed(event)] for event in decoded(events)[0]]
    assert sum(len(one) == 1 and one[0]["type"] == "content_block_delta" for one in pieces) == 120
    (last,) = [one for one in pieces if one and one[0]["type"] == "content_block_stop"][-1:]
    assert [event["type"] for event in last] == ["content_block_stop", "message_delta", "message_stop"]


def test_sources_reach_the_client_with_their_texts() -> None:
    """anthropic.stream_back.3"""
    cited = block(0, "text", {"citation": CITED}, {"text": "a"}, {"citation": CITED}, text="", citations=[])
    events = [started(), *cited, *text(1, "b"), *ended()]
    found, machine = encoded(decoded(events)[0])
    assert accumulated(found) == accumulated(events)
    assert [event["delta"]["type"] for event in found if event["type"] == "content_block_delta"] == [
        "citations_delta",
        "text_delta",
        "citations_delta",
        "text_delta",
    ]
    assert machine.losses == []


def test_sources_that_come_behind_their_message_reach_its_last_text_only() -> None:
    """anthropic.stream_back.3"""
    cited = block(0, "text", {"citation": CITED}, {"text": "a"}, text="", citations=[])
    for last, lost in ((cited, []), ([*cited, *text(1, "b")], [("output[1]", "dropped")])):
        response = assembled(decoded([started(), *last, *ended()])[0])
        found, losses = sent(*response.output)
        assert (accumulated(found)["content"][0].get("citations") == [CITED]) == (not lost)
        assert losses == lost
    page = UrlCitation(url="https://r.org", title="R", start_index=0, end_index=1)
    assert sent(said(content=[OutputText(text="a", annotations=[page])]))[1] == [
        ("output[0].content[0].annotations", "dropped")
    ]


def test_a_citation_that_is_none_is_left_out() -> None:
    events = disassemble(answer(said("a")))
    odd = Unknown(
        type="anthropic_messages:citation", output_index=0, content_index=0, citation={"type": "char_location"}
    )
    found, _ = encoded([*events[:5], odd, *events[5:]])
    assert steps(found) == ["0 text", "'a'", "stop"]


# --- reasoning ------------------------------------------------------------------------------------------------------


def thought(**fields: Any) -> list[Plain]:
    return block(
        0, "thinking", {"thinking": "H"}, {"thinking": "m"}, {"signature": "s=="}, thinking="", signature="", **fields
    )


def test_a_thought_goes_out_as_it_comes_and_its_own_signature_at_its_end() -> None:
    """BUGS 1 and 25. anthropic.stream_back.4 and anthropic.stream_back.5"""
    found, machine = encoded(decoded([started(), *thought(), *text(1, "a"), *ended()])[0])
    assert steps(found) == ["0 thinking", "'H'", "'m'", "'s=='", "stop", "1 text", "'a'", "stop"]
    assert [event["type"] for event in found].count("message_start") == 1
    assert machine.losses == []


SHAPES: dict[str, Plain] = {
    "a summary": {"summary": [SummaryText(text="One."), SummaryText(text="Two.")], "encrypted_content": "gAAA"},
    "raw": {"summary": [], "content": [ReasoningText(text="One.\n\nTwo.")]},
    "both": {"summary": [SummaryText(text="One."), SummaryText(text="Two.")], "content": [ReasoningText(text="raw")]},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_reasoning_of_another_vendor_is_shown_and_comes_back(shape: str) -> None:
    """BUGS 7. anthropic.stream_back.4 and anthropic.stream_back.5"""
    item = Reasoning(id="rs_1", **SHAPES[shape])
    found, lost = sent(item, said("a"))
    assert accumulated(found)["content"][0]["thinking"] == "One.\n\nTwo."
    assert lost == [("output[0]", "withheld")]
    assert output(decoded(found)[0])[0] == item


def test_what_comes_first_of_reasoning_is_shown() -> None:
    """anthropic.stream_back.4: raw text, and a summary that only its end tells."""
    item = Reasoning(id="rs_1", summary=[SummaryText(text="S")], content=[ReasoningText(text="raw")])
    begin, progress, *_, end = disassemble(answer(item))
    raw = disassemble(answer(replace(item, summary=[])))[2:-2]
    found, _ = encoded([begin, progress, *raw, ev.OutputItemDone(output_index=0, item=item), end])
    assert accumulated(found)["content"][0]["thinking"] == "raw"
    assert output(decoded(found)[0]) == [item]


def test_a_thought_that_was_changed_has_no_signature_of_the_vendor() -> None:
    """BUGS 3. anthropic.stream_back.5"""
    (own,) = output(decoded([started(), *thought(), *ended()])[0])
    found, lost = sent(replace(own, summary=[SummaryText(text="other")]), said("a"))
    assert "s==" not in json.dumps(found)
    assert lost == [("output[0]", "dropped")]
    back, _ = wire.encode_request(Request(model="m", input=[said("q", role="user"), *output(decoded(found)[0])]))
    assert "thinking" not in json.dumps(plain(back)["messages"])


def test_what_is_known_whole_goes_out_whole() -> None:
    """BUGS 8. anthropic.stream_back.11"""
    events = [
        started(),
        *block(0, "redacted_thinking", data="ZGF0YQ=="),
        *block(1, "compaction", {"content": "Before.", "encrypted_content": "e"}, content=None),
        *block(2, "thinking", {"signature": "s=="}, thinking="", signature=""),
        *ended(),
    ]
    found, _ = encoded(decoded(events)[0])
    assert accumulated(found) == accumulated(events)
    assert steps(found) == [
        "0 redacted_thinking",
        "stop",
        "1 compaction",
        "'Before.'",
        "stop",
        "2 thinking",
        "'s=='",
        "stop",
    ]
    foreign, lost = sent(WebSearchCall(id="ws_1", status="completed"), Compaction(encrypted_content="gAAA"))
    assert steps(foreign) == ["0 redacted_thinking", "stop", "1 redacted_thinking", "stop"]
    assert lost == [("output[0]", "withheld"), ("output[1]", "withheld")]


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


def test_calls_are_numbered_by_their_blocks() -> None:
    """BUGS 20 and 23. anthropic.stream_back.6"""
    events = [started(), *text(0, "a"), *text(1, "b"), *call(2, "{}"), *call(3), *ended("tool_use")]
    found, _ = encoded(decoded(events)[0])
    assert [event["index"] for event in found if event["type"] == "content_block_start"] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("arguments", "input", "lost"),
    [
        (' {"a": 1.0}', ' {"a": 1.0}', []),
        ("", "", []),
        ("  ", "", []),
        ("[1]", '{"INVALID_JSON":"[1]"}', [("output[0].arguments", "changed")]),
        ("not json", '{"INVALID_JSON":"not json"}', [("output[0].arguments", "changed")]),
        ('{"city":', '{"city":', [("output[0].arguments", "changed")]),
    ],
)
def test_arguments_that_are_no_object_wait_and_are_mended(arguments: str, input: str, lost: list[Any]) -> None:
    """BUGS 15. anthropic.stream_back.7"""
    for events in (disassemble(answer(function(arguments))), list(in_small_pieces(function(arguments)))):
        found, machine = encoded(events)
        assert list(unlawful(found)) == []
        assert (
            "".join(event["delta"]["partial_json"] for event in found if "delta" in event and "index" in event) == input
        )
        assert [(loss.path, loss.kind) for loss in machine.losses] == lost


def in_small_pieces(item: FunctionCall) -> Iterator[Any]:
    for event in disassemble(answer(item)):
        if isinstance(event, ev.FunctionCallArgumentsDelta):
            yield from (replace(event, delta=letter) for letter in event.delta)
        else:
            yield event


def test_a_custom_call_goes_out_as_the_argument_of_a_function() -> None:
    """anthropic.stream_back.8"""
    item = CustomToolCall(call_id="c1", name="t", input='say "é"\n')
    begin, progress, added, delta, *rest = disassemble(answer(item))
    letters = [replace(delta, delta=letter) for letter in item.input]  # type: ignore[type-var]
    found, machine = encoded([begin, progress, added, *letters, *rest])
    assert accumulated(found) == accumulated(sent(item)[0])
    assert json.loads(bytes(accumulated(found)["content"][0]["input"])) == {"input": item.input}
    assert [(loss.path, loss.kind) for loss in machine.losses] == [("output[0]", "emulated")]
    assert json.loads(bytes(accumulated(sent(replace(item, input=""))[0])["content"][0]["input"])) == {"input": ""}


def test_an_empty_piece_of_a_custom_call_begins_nothing() -> None:
    item = CustomToolCall(call_id="c1", name="t", input="say")
    begin, progress, added, delta, *rest = disassemble(answer(item))
    empty = replace(delta, delta="")  # type: ignore[type-var]
    found, _ = encoded([begin, progress, added, empty, delta, *rest])
    assert json.loads(bytes(accumulated(found)["content"][0]["input"])) == {"input": "say"}


def test_what_becomes_known_of_a_block_at_its_end_is_a_loss() -> None:
    """anthropic.stream_back.17"""
    events = disassemble(answer(function()))
    late = replace(function(), namespace="computer")
    found, machine = encoded([*events[:-2], ev.OutputItemDone(output_index=0, item=late), events[-1]])
    assert "toolset_name" not in accumulated(found)["content"][0]
    assert [(loss.path, loss.kind) for loss in machine.losses] == [("output[0]", "changed")]
    new = with_extras(function(), {"x_new": 1})
    assert sent(new)[1] == [("output[0].x_new", "dropped")]


# --- tools of the vendor, and what waits ----------------------------------------------------------------------------


def test_a_tool_of_the_vendor_goes_out_when_its_blocks_are_there_even_if_it_is_not_over() -> None:
    """anthropic.stream_back.10"""
    ran = {"type": "code_execution_result", "stdout": "2", "stderr": "", "return_code": 0, "content": []}
    code = [*tool(0, "code_execution", '{"code": "1+1"}'), *result(1, "code_execution_tool_result", 0, ran)]
    search = [*tool(2, "web_search", '{"query":"q"}'), *result(3, "web_search_tool_result", 2, [])]
    events = [started(), *code, *search, *text(4, "a", "b"), *ended()]
    decoder, encoder = wire.decode_stream(), wire.encode_stream()
    seen: list[Plain] = []
    for event in events[:-2]:
        told = decoder.feed(wire.EVENT.decode(json.dumps(event).encode()))
        seen += [plain(out) for one in told for out in encoder.feed(one)]
    assert steps([*seen, {}, {}]) == [
        *("0 server_tool_use", repr('{"code": "1+1"}'), "stop", "1 code_execution_tool_result", "stop"),
        *("2 server_tool_use", repr('{"query":"q"}'), "stop", "3 web_search_tool_result", "stop"),
        *("4 text", "'a'", "'b'"),
    ]


def test_a_damaged_run_is_a_loss() -> None:
    (search, carrier, message) = output(
        decoded([started(), *tool(0, "web_search", '{"query":"q"}'), *text(1, "a"), *ended()])[0]
    )
    broken = replace(carrier, encrypted_content=f"{carrier.encrypted_content[:-6]}AAAAAA")
    found, lost = sent(search, broken, message)
    assert "server_tool_use" not in json.dumps(found)
    assert {kind for _, kind in lost} & {"withheld", "dropped"}


def test_later_items_wait_for_those_before_them() -> None:
    """anthropic.stream_back.12"""
    begin, progress, *events = disassemble(answer(said("a"), function('{"b":1}')))
    message, calls = [e for e in events[:-1] if e.output_index == 0], [e for e in events[:-1] if e.output_index == 1]  # type: ignore[union-attr]
    machine = wire.encode_stream()
    for event in (begin, progress, *calls):
        out = machine.feed(event)
        assert isinstance(event, ev.ResponseCreated) or out == []
    found = [plain(out) for event in message for out in machine.feed(event)]
    assert [event["type"] for event in found][-3:] == [
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
    ]


# --- ends -----------------------------------------------------------------------------------------------------------


def test_a_refusal_is_the_reason_and_not_a_text() -> None:
    """anthropic.stream_back.9"""
    found, lost = sent(said(content=[RefusalPart(refusal="No.")]))
    assert steps(found) == []
    assert found[-2]["delta"]["stop_reason"] == "refusal"
    assert found[-2]["delta"]["stop_details"]["explanation"] == "No."
    assert lost == [("status", "changed")]


def test_an_end_tells_what_became_known() -> None:
    """anthropic.stream_back.13"""
    end = ended("max_tokens", container={"id": "c", "expires_at": "later"})
    end[0] |= {"context_management": {"applied_edits": []}, "input_transformations": []}
    end[0]["usage"] |= {"input_tokens": 3, "cache_read_input_tokens": 7, "x_new": 1}
    found, machine = encoded(decoded([started(), *text(0, "a"), *end])[0])
    assert found[-2:] == end
    assert machine.losses == []


def test_an_answer_that_only_its_end_tells_is_told_all_the_same() -> None:
    """anthropic.stream_back.13: a server that sends the terminal event alone, and one that begins without a model."""
    response = answer(said("a"), function())
    found, machine = encoded([ev.ResponseCompleted(response=response)])
    assert accumulated(found) == accumulated(sent(*response.output)[0])
    begun = ev.ResponseCreated(response=Response(id="r", status="in_progress", output=[]))
    found, machine = encoded([begun, ev.ResponseCompleted(response=response)])
    assert [(loss.path, loss.kind) for loss in machine.losses] == [("model", "changed")]


@pytest.mark.parametrize("told", ["error and failed", "failed", "error"])
def test_a_failure_is_an_error_event(told: str) -> None:
    """anthropic.stream_back.14"""
    failed = answer(
        status="failed", error=ResponseError(code="server_overloaded", type="overloaded_error", message="no")
    )
    begin, progress, end = disassemble(failed)
    error = ev.ErrorEvent(error=ev.StreamError(code="server_overloaded", type="overloaded_error", message="no"))
    choices: dict[str, list[Any]] = {"error and failed": [error, end], "failed": [end], "error": [error]}
    found, _ = encoded([begin, progress, *choices[told]])
    assert list(unlawful(found)) == []
    assert found[1:] == [{"type": "error", "error": {"type": "overloaded_error", "message": "no"}}]
    back, _ = decoded(found)
    assert faults(back) == []
    assert (back[-1].response.status, back[-1].response.error.code) == ("failed", "server_overloaded")


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


def test_an_answer_that_broke_off_ends_in_an_error() -> None:
    """BUGS 28. anthropic.stream_back.15"""
    found, _ = encoded(disassemble(answer(said("a")))[:5])
    assert list(unlawful(found)) == []
    assert found[-1]["error"] == {"type": "api_error", "message": "the answer broke off"}
    assert encoded([])[0] == []


def test_events_this_wire_does_not_have_are_losses() -> None:
    """anthropic.stream_back.16"""
    events = disassemble(answer(said("a")))
    found, machine = encoded([*events[:-1], Unknown(type="something.new"), ev.AudioDelta(delta="AA"), events[-1]])
    assert steps(found) == ["0 text", "'a'", "stop"]
    assert [(loss.path, loss.kind) for loss in machine.losses] == [
        ("something.new", "dropped"),
        ("response.audio.delta", "dropped"),
    ]


def test_an_envelope_that_was_forged_is_no_signature() -> None:
    """anthropic.stream_back.5"""
    forged = Reasoning(
        summary=[SummaryText(text="Hm")], encrypted_content=seal(NAME, "anthropic", {"kind": "thinking"})
    )
    found, lost = sent(forged, said("a"))
    assert accumulated(found)["content"][0]["thinking"] == "Hm"
    assert [kind for _, kind in lost] == ["withheld"]
