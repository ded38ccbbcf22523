"""Streams of Chat Completions: chunks as hosts really send them become events, and events become chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from llm_rest.losses import Loss
from llm_rest.responses import events as ev
from llm_rest.responses.events import TERMINAL
from llm_rest.responses.items import CustomToolCall, FunctionCall, Message, Reasoning
from llm_rest.responses.parts import OutputText, ReasoningText
from llm_rest.responses.request import REQUEST
from llm_rest.responses.response import Response
from llm_rest.responses.stream import disassemble
from llm_rest.unknown import Unknown, given
from llm_rest.vendors.dialects import ChatDialect
from llm_rest.wires import openai_chat as wire
from llm_rest.wires.openai_chat.reasoning import ThinkTags
from tests.support.legal import faults
from tests.support.streams import assembled, read

OPENAI = ChatDialect()
STOP = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
CALLS = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}


def piece(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta}]}


def call(**fields: Any) -> dict[str, Any]:
    return piece(tool_calls=[fields])


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


def test_a_stream_ends_under_the_id_it_began_with() -> None:
    events = decoded(piece(content="a"), {"id": "late", "model": "m", **STOP})
    assert len({event.response.id for event in events if hasattr(event, "response")}) == 1
    events = decoded({"id": "one", **piece(content="a")}, {"id": "two", **STOP})
    assert {event.response.id for event in events if hasattr(event, "response")} == {"one"}


def test_text_is_told_as_it_comes_and_once_more_at_the_end() -> None:
    """chat.stream.1 chat.stream.3 chat.stream.7 chat.stream.9"""
    events = decoded(piece(role="assistant", content=""), piece(content="Hel"), piece(content="lo"), STOP)
    assert deltas(events) == ["Hel", "lo"]
    (message,) = output(events)
    assert message.content == [OutputText(text="Hello", annotations=[])]
    assert assembled(events).status == "completed"


@pytest.mark.parametrize(
    "more",
    [
        {"annotations": [{"type": "file"}]},
        {"refusal": "!"},
        {"brand_new": 1},
        {"reasoning": "!"},
        {
            "tool_calls": [
                {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            ]
        },
    ],
)
def test_what_a_piece_of_text_says_beside_the_text_is_heard_among_many_that_say_no_more(more: dict[str, Any]) -> None:
    """chat.stream.3 chat.stream.14"""
    plain = [piece(content=text) for text in "abcd"]
    whole = assembled(decoded(*plain, STOP))
    told = decoded(*plain[:3], piece(content="d", **more), STOP)
    found = assembled(told)
    assert deltas(told) == ["a", "b", "c", "d"]
    assert (found.output, found.leftovers) != (whole.output, whole.leftovers)
    assert faults(told) == []


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_is_ended_when_text_begins(field: str) -> None:
    """chat.stream.2 BUGS 25"""
    events = decoded(piece(**{field: "Hm"}), piece(**{field: "."}), piece(content="Hi"), STOP)
    thought, message = output(events)
    assert thought.content == [ReasoningText(text="Hm.")]
    assert message.content[0].text == "Hi"
    ended = next(i for i, event in enumerate(events) if isinstance(event, ev.OutputItemDone))
    begun = next(i for i, event in enumerate(events) if isinstance(event, ev.OutputTextDelta))
    assert ended < begun


def test_a_refusal_is_a_part_of_its_own() -> None:
    """chat.stream.4"""
    events = decoded(piece(content="So. "), piece(refusal="No"), piece(refusal=" way"), STOP)
    (message,) = output(events)
    assert [type(part).__name__ for part in message.content] == ["OutputText", "RefusalPart"]
    assert deltas(events, ev.RefusalDelta) == ["No", " way"]


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(
            [
                call(index=0, id="a", type="function", function={"name": "f", "arguments": ""}),
                call(index=0, function={"arguments": '{"x":'}),
                call(index=1, id="b", type="function", function={"name": "g", "arguments": ""}),
                call(index=0, function={"arguments": "1}"}),
                call(index=1, function={"arguments": '{"y":2}'}),
            ],
            id="interleaved by index, the id only on the first (BUGS 17)",
        ),
        pytest.param(
            [
                call(id="a", function={"name": "f", "arguments": '{"x":1}'}),
                call(id="b", function={"name": "g", "arguments": '{"y":'}),
                call(function={"arguments": "2}"}),
            ],
            id="no index: pieces without an id belong to the call opened last (BUGS 18)",
        ),
        pytest.param(
            [
                call(index=0, id="a", function={"name": "f", "arguments": '{"x":1}'}),
                call(index=0, id="b", function={"name": "g", "arguments": '{"y":2}'}),
            ],
            id="always index 0, told apart by the id",
        ),
        pytest.param(
            [
                call(index=1.0, id="a", function={"name": "f", "arguments": '{"x":1}'}),
                call(index=2.0, id="b", function={"name": "g", "arguments": '{"y":2}'}),
            ],
            id="an index that is a float and starts at 1 (BUGS 23)",
        ),
        pytest.param(
            [
                call(index=0, id="a", function={"name": "f", "arguments": '{"x":'}),
                call(index=0, id="", function={"name": "", "arguments": "1}"}),
                call(index=1, id="b", function={"name": "g", "arguments": '{"y":2}'}),
                call(index=1, id="b", function={"name": "g", "arguments": ""}),
            ],
            id="empty and repeated ids and names (BUGS 27)",
        ),
        pytest.param(
            [
                piece(
                    tool_calls=[
                        {"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x":1}'}},
                        {"index": 1, "id": "b", "function": {"name": "g", "arguments": '{"y":2}'}},
                    ]
                )
            ],
            id="both calls whole in one chunk (BUGS 15)",
        ),
        pytest.param(
            [
                call(index=0, id="a"),
                call(index=0, function={"name": "f"}),
                call(index=0, function={"arguments": '{"x":1}'}),
                call(index=1, id="b", function={"arguments": ""}),
                call(index=1, function={"name": "g", "arguments": '{"y":2}'}),
            ],
            id="the name after the id",
        ),
    ],
)
def test_calls_are_told_apart_however_their_pieces_come(pieces: list[dict[str, Any]]) -> None:
    """chat.stream.5 chat.stream.6 BUGS 15 BUGS 17 BUGS 18 BUGS 23 BUGS 27"""
    first, second = output(decoded(piece(role="assistant", content=None), *pieces, CALLS))
    assert (first.call_id, first.name, first.arguments) == ("a", "f", '{"x":1}')
    assert (second.call_id, second.name, second.arguments) == ("b", "g", '{"y":2}')


def test_a_name_in_pieces_is_one_name() -> None:
    """BUGS 27"""
    pieces = [call(index=0, id="a", function={"name": "get_"}), call(index=0, function={"name": "weather"})]
    events = decoded(*pieces, call(index=0, function={"arguments": "{}"}), CALLS)
    assert assembled(events).output[0] == output(events)[0]
    told: Any = assembled(events).output[0]
    assert told.name == "get_weather"


def test_a_call_without_arguments_has_an_empty_object() -> None:
    (made,) = output(decoded(call(index=0, id="a", function={"name": "f", "arguments": ""}), CALLS))
    assert made.arguments == "{}"


def test_text_after_a_call_is_a_second_message() -> None:
    """chat.stream.8"""
    one = call(index=0, id="a", function={"name": "f", "arguments": "{}"})
    events = decoded(piece(content="One"), one, piece(content="Two"), CALLS)
    assert [type(item).__name__ for item in output(events)] == ["Message", "FunctionCall", "Message"]


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param([STOP, {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}], id="a chunk of its own"),
        pytest.param([{**STOP, "usage": {"prompt_tokens": 3, "completion_tokens": 2}}], id="with the finish reason"),
        pytest.param(
            [
                {**piece(content=""), "usage": {"prompt_tokens": 3, "completion_tokens": 1}},
                {**STOP, "usage": {"prompt_tokens": 3, "completion_tokens": 2}},
            ],
            id="on every chunk, growing",
        ),
        pytest.param([{**STOP, "x_groq": {"usage": {"prompt_tokens": 3, "completion_tokens": 2}}}], id="only in x_groq"),
        pytest.param(
            [{**STOP, "x_groq": {"usage": {"prompt_tokens": 3, "completion_tokens": 2, "new_time": 0.1}}}],
            id="in x_groq beside a count nobody knows",
        ),
        pytest.param(
            [{"choices": [{"delta": {}, "finish_reason": "stop", "usage": {"prompt_tokens": 3, "completion_tokens": 2}}]}],
            id="inside the choice",
        ),
        pytest.param(
            [
                {"choices": None},
                {"choices": [{"delta": None, "finish_reason": "stop"}]},
                {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}},
            ],
            id="beside choices and deltas that are null",
        ),
    ],
)  # fmt: skip
def test_counts_are_found_where_hosts_put_them(chunks: list[dict[str, Any]]) -> None:
    """chat.stream.10 BUGS 59"""
    usage = assembled(decoded(piece(content="Hi"), *chunks)).usage
    assert usage
    assert (usage.input_tokens, usage.output_tokens) == (3, 2)


@pytest.mark.parametrize("told", [None, [], {"prompt_tokens": "three"}])
def test_what_is_no_count_is_none(told: Any) -> None:
    """chat.stream.10"""
    response = assembled(decoded(piece(content="Hi"), {**STOP, "x_groq": {"usage": told}}))
    assert (response.status, response.usage) == ("completed", None)


def test_an_empty_chunk_before_the_first_says_nothing_yet() -> None:
    """chat.stream.1"""
    empty = {"id": "", "model": "", "object": "", "choices": [], "prompt_filter_results": []}
    events = decoded(empty, piece(content="Hi"), STOP)
    assert events[0].response.id == "c1"


@pytest.mark.parametrize(
    ("chunk", "code"),
    [
        (
            {
                "error": {"code": 502, "message": "gone"},
                "choices": [{"delta": {"content": ""}, "finish_reason": "error"}],
            },
            "502",
        ),
        ({"error": {"message": "no", "type": "t", "code": "overloaded"}, "status_code": 503}, "overloaded"),
        ({"error": {"message": "no"}, "status_code": 400}, "400"),
        ({"error": "plain text"}, "server_error"),
        ({"choices": None, "base_resp": {"status_code": 1002, "status_msg": "rate limit"}}, "1002"),
    ],
)
def test_an_error_among_the_chunks_ends_the_answer(chunk: dict[str, Any], code: str) -> None:
    """chat.stream.12"""
    events = decoded(piece(content="Hi"), chunk, piece(content="more"))
    assert [type(event).__name__ for event in events[-2:]] == ["ErrorEvent", "ResponseFailed"]
    response = assembled(events)
    assert response.error
    assert response.error.code == code
    assert isinstance(response.output[0], Message)


def test_a_stream_that_was_cut_has_no_end() -> None:
    """chat.stream.11 BUGS 28"""
    events = decoded(call(index=0, id="a", function={"name": "f", "arguments": '{"x'}))
    assert not any(isinstance(event, TERMINAL) for event in events)
    made: Any = assembled(events).output[0]
    assert (made.status, made.arguments) == ("incomplete", '{"x')


def test_a_call_cut_by_the_token_limit_is_incomplete() -> None:
    """BUGS 28"""
    length = {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}
    (made,) = output(decoded(call(index=0, id="a", function={"name": "f", "arguments": '{"x'}), length))
    assert made.status == "incomplete"


def test_further_choices_are_not_mixed_in() -> None:
    """chat.stream.13"""
    other = {"choices": [{"index": 1, "delta": {"content": "other"}}]}
    (message,) = output(decoded(piece(content="Hi"), other, STOP))
    assert message.content[0].text == "Hi"


def test_equal_pieces_are_as_many_events() -> None:
    """BUGS 30"""
    assert len(deltas(decoded(*[piece(content="x")] * 120, STOP))) == 120


def test_thinking_parts_and_text_of_mistral_are_items() -> None:
    dialect = ChatDialect(reasoning_field="thinking", replay_reasoning="always", issuer="mistral")
    think = piece(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}])
    events = decoded(think, piece(content="Hi"), STOP, dialect=dialect)
    thought, message = output(events)
    assert thought.content[0].text == "Hm"
    assert message.content[0].text == "Hi"


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


def test_what_encoding_emulated_is_undone() -> None:
    request = REQUEST.decode(b'{"input":"x","tools":[{"type":"custom","name":"shell"}]}')
    dialect = ChatDialect(custom_tools=False)
    pieces = [call(index=0, id="a", function={"name": "shell", "arguments": '{"inp'})]
    pieces.append(call(index=0, function={"arguments": 'ut":"ls"}'}))
    events = decoded(*pieces, CALLS, dialect=dialect, request=request)
    (made,) = output(events)
    assert made == CustomToolCall(id=made.id, status="completed", call_id="a", name="shell", input="ls")
    assert deltas(events, ev.CustomToolCallInputDelta) == ["ls"]


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


def said(chunks: list[dict[str, Any]], field: str) -> str:
    return "".join(choice["delta"].get(field) or "" for chunk in chunks for choice in chunk["choices"])


def test_an_answer_leaves_as_legal_chunks() -> None:
    """chat.stream_back.1 chat.stream_back.2 chat.stream_back.3 chat.stream_back.9"""
    chunks, _ = encoded(ANSWER)
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert said(chunks, "content") == "Hi."
    assert said(chunks, "reasoning_content") == "Hm."
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"
    assert [choice["finish_reason"] for chunk in chunks[:-1] for choice in chunk["choices"]] == [None] * (
        len(chunks) - 1
    )


def test_calls_are_counted_from_0_whatever_their_place() -> None:
    """chat.stream_back.4 chat.stream_back.5 BUGS 20 BUGS 23"""
    chunks, _ = encoded(ANSWER)
    pieces = [made for chunk in chunks for choice in chunk["choices"] for made in choice["delta"].get("tool_calls", ())]
    assert [made["index"] for made in pieces if "id" in made] == [0, 1]
    assert "".join(made["function"]["arguments"] for made in pieces if made["index"] == 0) == '{"x":1}'


def test_arguments_that_came_without_deltas_leave_with_their_end() -> None:
    """chat.stream_back.6"""
    machine = wire.encode_stream()
    events = [e for e in disassemble(ANSWER) if not isinstance(e, ev.FunctionCallArgumentsDelta)]
    chunks = [msgspec.to_builtins(chunk) for event in events for chunk in machine.feed(event)]
    pieces = [made for chunk in chunks for choice in chunk["choices"] for made in choice["delta"].get("tool_calls", ())]
    assert "".join(made["function"]["arguments"] for made in pieces if made["index"] == 0) == '{"x":1}'


def test_free_text_leaves_as_the_string_of_an_object_where_there_are_no_custom_tools() -> None:
    """chat.stream_back.7"""
    made = CustomToolCall(id="ctc_1", call_id="a", name="shell", input='say "hi"\n')
    response = Response(id="r", model="m", status="completed", output=[made])
    chunks, lost = encoded(response, dialect=ChatDialect(custom_tools=False))
    pieces = [made for chunk in chunks for choice in chunk["choices"] for made in choice["delta"].get("tool_calls", ())]
    text = "".join(made["function"]["arguments"] for made in pieces)
    assert msgspec.json.decode(text) == {"input": 'say "hi"\n'}
    assert [loss.kind for loss in lost] == ["emulated"]


def test_sources_leave_with_the_end() -> None:
    """chat.stream_back.8"""
    cited: Any = {"type": "url_citation", "url": "https://a", "title": "A", "start_index": 0, "end_index": 2}
    text = msgspec.convert({"type": "output_text", "text": "Hi", "annotations": [cited]}, OutputText)
    response = Response(id="r", model="m", status="completed", output=[Message(role="assistant", content=[text])])
    chunks, _ = encoded(response)
    told = [
        choice["delta"]["annotations"] for c in chunks for choice in c["choices"] if "annotations" in choice["delta"]
    ]
    assert told == [[{"type": "url_citation", "url_citation": {k: v for k, v in cited.items() if k != "type"}}]]


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


def test_a_failure_leaves_as_an_error() -> None:
    """chat.stream_back.11"""
    failed: Any = {"id": "r", "status": "failed", "output": [], "error": {"code": "server_error", "message": "no"}}
    chunks, _ = encoded(msgspec.convert(failed, Response))
    error = {"message": "no", "type": "server_error", "param": None, "code": "server_error"}
    assert chunks[-1] == {"error": error}


@pytest.mark.parametrize("beside", [{}, {"choices": []}, {"choices": None}, {"id": "c1", "choices": []}])
@pytest.mark.parametrize("before", [[], [piece(content="Hi")]])
def test_an_error_is_read_alone_and_beside_choices(beside: dict[str, Any], before: list[dict[str, Any]]) -> None:
    """chat.stream.12"""
    error = {"message": "no", "type": "server_error", "param": None, "code": "server_error"}
    frame = b"data: %s\n\n" % msgspec.json.encode({**beside, "error": error})
    events = told_bytes(*before, end=frame + b"data: [DONE]\n\n")
    assert faults(events) == []
    assert isinstance(events[-1], ev.ResponseFailed)
    assert given(told := events[-1].response.error)
    assert told.message == "no"


def test_what_has_no_place_in_a_chunk_leaves_nothing() -> None:
    """chat.stream_back.12"""
    machine = wire.encode_stream()
    machine.feed(disassemble(ANSWER)[0])
    assert machine.feed(ev.WebSearchSearching(item_id="ws_1", output_index=0)) == []
    assert machine.feed(Unknown({"type": "response.surprise"})) == []


def told_bytes(*chunks: dict[str, Any], end: bytes = b"data: [DONE]\n\n") -> list[Any]:
    documents = [{"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", **each} for each in chunks]
    frames = [b"data: %s\n\n" % msgspec.json.encode(each) for each in documents]
    return read("openai_chat", [*frames, end])


BEGUN = {"id": "a", "index": 0, "type": "function", "function": {"name": "f", "arguments": ""}}


@pytest.mark.parametrize(
    ("chunks", "status"),
    [
        ([piece(content="Hi.")], "completed"),
        ([piece(reasoning="Hm.")], "completed"),
        ([call(**{**BEGUN, "function": {"name": "f", "arguments": '{"x": 1}'}})], "completed"),
        ([piece(content="Hi."), call(**{**BEGUN, "function": {"name": "f", "arguments": '{"x"'}})], "incomplete"),
        ([call(**BEGUN)], "incomplete"),
    ],
)
def test_an_end_mark_without_a_finish_reason_ends_the_answer(chunks: list[dict[str, Any]], status: str) -> None:
    """chat.stream.9"""
    events = told_bytes(*chunks)
    assert faults(events) == []
    answer = events[-1].response
    assert (answer.status, answer.output[-1].status) == (status, status)


@pytest.mark.parametrize("end", [b"", b"data: [DONE]\n\n"])
def test_counts_beside_an_empty_choice_end_the_answer(end: bytes) -> None:
    """chat.stream.9"""
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    events = told_bytes(piece(content="Hi."), {**piece(role="assistant", content=""), "usage": usage}, end=end)
    assert faults(events) == []
    assert (events[-1].response.status, events[-1].response.usage.output_tokens) == ("completed", 2)


def test_counts_that_text_follows_end_nothing() -> None:
    """chat.stream.11"""
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    counted = {**piece(role="assistant", content=""), "usage": usage}
    events = told_bytes(counted, piece(content="H"), piece(content="i"), piece(content="!"), end=b"")
    assert not isinstance(events[-1], TERMINAL)


def test_a_further_choice_of_a_stream_is_a_loss() -> None:
    """chat.stream.13"""
    machine = wire.decode_stream()
    for text, index in (("A", 0), ("B", 1), ("b", 1), ("C", 2)):
        document = {"id": "c", "model": "m", "choices": [{"index": index, "delta": {"content": text}}]}
        machine.feed(wire.EVENT.decode(msgspec.json.encode(document)))
    assert any(isinstance(event, TERMINAL) for event in machine.end())
    assert [f"{loss.path} ({loss.kind})" for loss in machine.losses] == ["choices[1] (dropped)", "choices[2] (dropped)"]
