"""Streams, both ways."""

from __future__ import annotations

import tracemalloc
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_rest.responses import (
    CustomTool,
    CustomToolCall,
    ErrorEvent,
    FunctionCall,
    FunctionCallArgumentsDelta,
    Message,
    OutputItemAdded,
    OutputItemDone,
    OutputText,
    OutputTextDelta,
    OutputTextDone,
    Reasoning,
    ReasoningSummaryTextDelta,
    ReasoningText,
    ReasoningTextDelta,
    RefusalDelta,
    RefusalPart,
    Request,
    Response,
    ResponseCompleted,
    ResponseCreated,
    ResponseError,
    ResponseFailed,
    ResponseIncomplete,
    ResponseInProgress,
    StreamError,
    SummaryText,
)
from llm_rest.responses.stream import Assembler, disassemble
from llm_rest.unknown import Unknown
from llm_rest.wires import ollama_chat as wire
from tests.support.documents import differences
from tests.support.facts import plain
from tests.support.legal import faults
from tests.support.ollama import thought

META = ("done_reason", "logprobs", "eval_count", "prompt_eval_count", "new")


def line(content: str = "", *, done: bool = False, **more: Any) -> dict[str, Any]:
    fields = {name: more.pop(name) for name in list(more) if name in META}
    said = {"role": "assistant", "content": content, **more}
    return {"model": "m", "created_at": "2026-09-21T14:13:20Z", "message": said, "done": done, **fields}


END = line(done=True, done_reason="stop")
CALL = {"function": {"name": "f", "arguments": {"a": 1}}}


def read(*lines: Any, **options: Any) -> list[Any]:
    """The events of a whole stream."""
    machine = wire.decode_stream(**options)
    events = [event for each in lines for event in machine.feed(wire.EVENT.decode(msgspec.json.encode(each)))]
    return events + machine.close()


def assembled(events: list[Any]) -> Response:
    assembler = Assembler()
    for event in events:
        assembler.feed(event)
    return assembler.response


def output(*lines: Any, **options: Any) -> list[Any]:
    events = read(*lines, END, **options)
    assert faults(events) == []
    return assembled(events).output


def shapes(items: list[Any]) -> list[Any]:
    """Each item by its text, or by what it calls."""
    found: list[Any] = []
    for item in items:
        match item:
            case Message(content=[OutputText(text=text)]):
                found.append(text)
            case Reasoning(content=[ReasoningText(text=text)]):
                found.append({"thought": text})
            case FunctionCall() | CustomToolCall():
                found.append([item.name])
            case _:
                found.append(item)
    return found


# --- Ollama -> Responses --------------------------------------------------------------------------------------------


def test_the_first_line_begins_and_each_piece_is_told_at_once() -> None:
    """ollama.stream.1, ollama.stream.3. BUGS 30: pieces that repeat themselves are pieces."""
    machine = wire.decode_stream()
    first, *others = [machine.feed(wire.EVENT.decode(msgspec.json.encode(line("ha ")))) for _ in range(120)]
    assert [type(event) for event in first[:2]] == [ResponseCreated, ResponseInProgress]
    assert [event.delta for events in others for event in events if isinstance(event, OutputTextDelta)] == ["ha "] * 119
    assert {len(events) for events in others} == {1}


def test_a_thought_and_a_text_in_one_line_are_told_in_this_order() -> None:
    """ollama.stream.2, ollama.stream.4. BUGS 25"""
    assert shapes(output(line(thinking="Hm"), line("Four", thinking="."))) == [{"thought": "Hm."}, "Four"]
    deltas = [type(e) for e in read(line("Four", thinking="Hm.")) if "Delta" in type(e).__name__]
    assert deltas == [ReasoningTextDelta, OutputTextDelta]


def test_calls_come_whole_from_any_line() -> None:
    """ollama.stream.5. BUGS 15, 18 and 20"""
    events = read(
        line("See:", tool_calls=[CALL, CALL]), line(), {**END, "message": {**END["message"], "tool_calls": [CALL]}}
    )
    assert faults(events) == []
    items = assembled(events).output
    assert shapes(items) == ["See:", ["f"], ["f"], ["f"]]
    assert len({item.call_id for item in items[1:] if isinstance(item, FunctionCall)}) == 3
    assert [e.delta for e in events if isinstance(e, FunctionCallArgumentsDelta)] == ['{"a":1}'] * 3


def test_a_text_after_calls_and_a_thought_after_a_text_are_new_items() -> None:
    """ollama.stream.6, ollama.stream.7"""
    lines = (line("A"), line(thinking="B"), line(tool_calls=[CALL]), line("C"), line(thinking="D"), line("E"))
    assert shapes(output(*lines)) == ["A", {"thought": "B"}, ["f"], "C", {"thought": "D"}, "E"]


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ((line("\n"), line(" "), line("Hi")), ["\n Hi"]),
        ((line("\n"), line(thinking="Hm."), line("\n\n"), line("Hi"), line(" ")), [{"thought": "Hm."}, "\n\n\nHi "]),
        ((line("\n"), line(tool_calls=[CALL])), [["f"]]),
        ((line(tool_calls=[CALL]), line("\n")), [["f"]]),
        ((line("\n"),), ["\n"]),
        ((line("Hi"), line(tool_calls=[CALL]), line("\n")), ["Hi", ["f"]]),
    ],
    ids=range(6),
)
def test_space_waits_for_what_follows(lines: Any, found: list[Any]) -> None:
    """ollama.stream.11"""
    assert shapes(output(*lines)) == found


def test_the_last_line_ends_it() -> None:
    """ollama.stream.8. BUGS 45"""
    completed = read(line("Hi"), END)[-1]
    assert isinstance(completed, ResponseCompleted)
    cut = read(line(thinking="Hm"), line(done=True, done_reason="length"))
    assert isinstance(cut[-1], ResponseIncomplete)
    (item,) = cut[-1].response.output
    assert item.status == "incomplete"  # pyright: ignore[reportAttributeAccessIssue]
    assert faults(cut) == []
    assert [type(event).__name__ for event in read(line(), END)] == [
        "ResponseCreated",
        "ResponseInProgress",
        "ResponseCompleted",
    ]
    machine = wire.decode_stream()
    end = wire.EVENT.decode(msgspec.json.encode(END))
    assert machine.feed(end)
    assert machine.feed(end) == [], "nothing comes after the end"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("an error was encountered while running the model: unexpected EOF", "server_error"),
        ("model 'x' not found", "model_not_found"),
        ({"message": "the prompt is longer than the context length", "type": "api_error"}, "context_length_exceeded"),
        (["?"], "server_error"),
        (True, "server_error"),
    ],
)
def test_an_error_fails_the_answer_and_keeps_what_there_was(error: Any, code: str) -> None:
    """ollama.stream.9, ollama.hard.16. BUGS 48"""
    machine = wire.decode_stream()
    lines = [line(thinking="Hm.", tool_calls=[CALL]), line("cut"), {"error": error}, END]
    events = [event for each in lines for event in machine.feed(wire.EVENT.decode(msgspec.json.encode(each)))]
    assert faults(events) == []
    told, failed = events[-2:]
    assert isinstance(told, ErrorEvent)
    assert isinstance(failed, ResponseFailed)
    assert failed.response.error
    assert (told.details.code, failed.response.error.code) == (code, code)
    assert failed.response.error.message
    assert shapes(failed.response.output) == [{"thought": "Hm."}, ["f"], "cut"]
    assert [item.status for item in failed.response.output if not isinstance(item, Unknown)] == [
        "completed",
        "completed",
        "incomplete",
    ]


def test_a_stream_that_begins_with_an_error_is_nothing_else() -> None:
    """ollama.stream.9"""
    events = read({"error": "model 'x' not found"})
    assert [type(event) for event in events] == [ErrorEvent, ResponseFailed]
    assert faults(events) == []


def test_a_stream_that_was_cut_has_no_end() -> None:
    """ollama.stream.10. BUGS 28"""
    events = read(line("Hi"))
    (message,) = assembled(events).output
    assert isinstance(message, Message)
    assert message.status == "incomplete"
    assert not any(isinstance(event, ResponseCompleted | ResponseIncomplete | ResponseFailed) for event in events)


def test_lines_that_say_nothing_tell_nothing_and_others_are_surfaced() -> None:
    """ollama.stream.12. BUGS 61"""
    events = read(line("Hi"), line(), {"model": "m", "done": False}, {"status": "pulling", "completed": 5}, END)
    assert faults(events) == []
    assert [dict(event) for event in events if isinstance(event, Unknown)] == [
        {"status": "pulling", "completed": 5, "sequence_number": 5}
    ]
    response = assembled(read(line("Hi", new=1), line("Ho", images=["AAAA"], x=2), END))
    assert response.leftovers
    assert response.leftovers["ollama_chat"]["new"] == 1
    said = plain(wire.encode_response(response)[0].message)
    assert said == {"role": "assistant", "content": "HiHo", "images": ["AAAA"], "x": 2}


def test_log_probabilities_come_with_their_text() -> None:
    """ollama.stream.13"""
    tokens = [[{"token": "H", "logprob": -0.5}], [{"token": "i", "logprob": -0.25}]]
    events = read(line("H", logprobs=tokens[0]), line("i", logprobs=tokens[1]), END)
    assert [plain(e.logprobs) for e in events if isinstance(e, OutputTextDelta)] == tokens
    (done,) = [e for e in events if isinstance(e, OutputTextDone)]
    assert plain(done.logprobs) == [*tokens[0], *tokens[1]]


def test_what_encoding_emulated_is_undone() -> None:
    """ollama.response.15"""
    asked = Request(input="Hi", tools=[CustomTool(name="sh")], temperature=0.5)
    call = {"function": {"name": "sh", "arguments": {"input": "ls"}}}
    events = read(line(tool_calls=[call]), END, request=asked)
    response = assembled(events)
    assert isinstance(response.output[0], CustomToolCall)
    assert (response.output[0].input, response.temperature) == ("ls", 0.5)


def test_what_was_handed_over_does_not_change_later() -> None:
    events = read(line("Hi"), END)
    created = events[0]
    assert isinstance(created, ResponseCreated)
    assert (created.response.status, created.response.output) == ("in_progress", [])
    assert wire.encode_response(created.response)[0].created_at == "2026-09-21T14:13:20Z"


def test_a_long_answer_takes_the_memory_of_its_text() -> None:
    piece = wire.EVENT.decode(msgspec.json.encode(line("x" * 100)))
    machine = wire.decode_stream()
    machine.feed(piece)
    tracemalloc.start()
    for _ in range(10_000):
        machine.feed(piece)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used < 400_000, "the pieces are kept as they came, and nothing else"


PIECES = st.lists(st.sampled_from(["", " ", "\n", "a", "b c", "\U0001f30a"]), max_size=4)
REASONS = st.sampled_from(["stop", "length", "load", "bored", "", None])


@given(PIECES, PIECES, st.lists(st.sampled_from(["f", "g"]), max_size=3), st.booleans(), REASONS)
def test_an_answer_cut_into_lines_anywhere_is_the_whole_answer(
    thoughts: list[str], texts: list[str], names: list[str], last: bool, reason: str | None
) -> None:
    """ollama.stream.8. BUGS 79: the counts are those of the whole answer too."""
    calls = [{"function": {"name": name, "arguments": {"i": i}}} for i, name in enumerate(names)]
    end = {"done_reason": reason, "eval_count": 3, "prompt_eval_count": 4}
    lines = [line(thinking=piece) for piece in thoughts] + [line(piece) for piece in texts]
    lines += [line(tool_calls=[call]) for call in calls if not last]
    late: dict[str, Any] = {"tool_calls": calls} if last and calls else {}
    lines.append(line(done=True, **end, **late))
    said: dict[str, Any] = {"thinking": "".join(thoughts)} if any(thoughts) else {}
    said |= {"tool_calls": calls} if calls else {}
    events = read(*lines)
    document = line("".join(texts), done=True, **end, **said)
    response, _ = wire.decode_response(wire.RESPONSE.decode(msgspec.json.encode(document)))
    assert faults(events) == []
    assert list(differences(plain(response), plain(assembled(events)))) == []


# --- Responses -> Ollama --------------------------------------------------------------------------------------------


def written(*events: Any) -> list[list[dict[str, Any]]]:
    """The lines that each event makes, and those of the end."""
    machine = wire.encode_stream(request=Request(model="asked"))
    return [plain(machine.feed(event)) for event in events] + [plain(machine.close())]


def message(text: str) -> Message:
    return Message(role="assistant", content=[OutputText(text=text, annotations=[])])


def completed(*items: Any, **fields: Any) -> ResponseCompleted:
    return ResponseCompleted(response=Response(id="resp_1", status="completed", output=list(items), **fields))


def contents(lines: list[list[dict[str, Any]]]) -> list[Any]:
    found: list[Any] = []
    for one in (one for each in lines for one in each):
        said = one.get("message", {})
        found += [{"thinking": said["thinking"]}] if said.get("thinking") else []
        found += [said["content"]] if said.get("content") else []
        found += [[call["function"]["name"]] for call in said.get("tool_calls", ())]
        found += [one["error"]] if "error" in one else []
    return found


def test_each_piece_is_a_line_at_once() -> None:
    """ollama.stream_back.1, ollama.stream_back.2. BUGS 26"""
    lines = written(
        ResponseCreated(response=Response(id="resp_1", status="in_progress", output=[])),
        ReasoningTextDelta(delta="Hm."),
        OutputTextDelta(delta="Hi", output_index=0),
        RefusalDelta(delta=" No.", output_index=0),
    )
    assert [len(each) for each in lines[:4]] == [0, 1, 1, 1]
    assert contents(lines[:4]) == [{"thinking": "Hm."}, "Hi", " No."]
    first = lines[1][0]
    assert (first["model"], first["done"], first["created_at"][:10]) == ("asked", False, "1970-01-01")


def test_a_summary_beside_the_words_is_told_once() -> None:
    """ollama.stream_back.3. BUGS 7"""
    lines = written(
        ReasoningSummaryTextDelta(delta="A", summary_index=0),
        ReasoningSummaryTextDelta(delta="B", summary_index=1),
        ReasoningTextDelta(delta="the words"),
        completed(Reasoning(summary=[SummaryText(text="A"), SummaryText(text="B")])),
    )
    assert contents(lines) == [{"thinking": "A"}, {"thinking": "\n\nB"}]


def test_a_call_is_one_line_once_it_is_complete() -> None:
    """ollama.stream_back.4. BUGS 27"""
    call = FunctionCall(call_id="c", name="f", arguments='{"a":1}')
    lines = written(
        OutputItemAdded(item=FunctionCall(call_id="c", name="f", arguments="")),
        FunctionCallArgumentsDelta(delta='{"a":1}'),
        OutputItemDone(item=call),
        OutputItemDone(item=CustomToolCall(call_id="d", name="sh", input="ls"), output_index=1),
        completed(call, CustomToolCall(call_id="d", name="sh", input="ls")),
    )
    assert [len(each) for each in lines] == [0, 0, 1, 1, 1, 0]
    assert contents(lines) == [["f"], ["sh"]]


def test_what_the_events_did_not_tell_the_end_does() -> None:
    """ollama.stream_back.5"""
    call = FunctionCall(call_id="c", name="f", arguments="{}")
    answer = completed(thought("Hm.", "ollama"), message("Hi there"), call)
    assert contents(written(answer)) == [{"thinking": "Hm."}, "Hi there", ["f"]]
    assert contents(written(OutputTextDelta(delta="Hi", output_index=0), answer))[0:2] == ["Hi", {"thinking": "Hm."}]
    assert contents(written(OutputTextDelta(delta="otherwise"), answer)) == ["otherwise", {"thinking": "Hm."}, ["f"]]
    last = written(answer)[0][0]
    assert (last["done"], last["done_reason"], last["model"]) == (True, "stop", "asked")


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (
            ResponseFailed(response=Response(id="r", status="failed", output=[], error=ResponseError(message="No."))),
            "No.",
        ),
        (ResponseFailed(response=Response(id="r", status="failed", output=[])), "the answer failed"),
        (ErrorEvent(error=StreamError(message="No.")), "No."),
        (ErrorEvent(), "the answer failed"),
    ],
)
def test_a_failure_is_a_line_with_an_error_and_the_last(event: Any, message: str) -> None:
    """ollama.stream_back.6"""
    lines = written(OutputTextDelta(delta="Hi"), event, completed())
    assert [line for made in lines[1:] for line in made] == [{"error": message}]


def test_items_side_by_side_are_told_one_after_another() -> None:
    """ollama.stream_back.7. BUGS 17"""
    call = FunctionCall(call_id="c", name="f", arguments="{}")
    lines = written(
        OutputTextDelta(delta="A", output_index=0),
        OutputTextDelta(delta="C", output_index=2),
        OutputItemDone(item=message("C"), output_index=2),
        OutputItemDone(item=call, output_index=1),
        OutputTextDelta(delta="B", output_index=0),
        OutputItemDone(item=message("AB"), output_index=0),
        OutputTextDelta(delta="D", output_index=3),
    )
    assert [contents([each]) for each in lines[:7]] == [["A"], [], [], [], ["B"], [["f"], "\n\nC"], ["\n\nD"]]


def test_a_stream_that_broke_off_ends_with_an_error() -> None:
    """ollama.stream_back.8"""
    assert written(OutputTextDelta(delta="Hi"))[1] == [{"error": "the answer broke off"}]


def test_the_stream_of_an_answer_makes_up_what_the_whole_answer_says() -> None:
    """ollama.stream_back.5"""
    call = FunctionCall(call_id="c", name="f", arguments="{}")
    refusal = Message(role="assistant", content=[RefusalPart(refusal="No.")])
    items = [thought("A", "ollama"), thought("B", "ollama"), message("Hi"), call, refusal]
    response = Response(id="resp_1", status="completed", model="m", created_at=5, output=list(items))
    machine = wire.encode_stream()
    lines = [each for event in disassemble(response) for each in machine.feed(event)]
    whole, lost = wire.encode_response(response)
    said = [each.message for each in lines if each.message]
    assert "".join(one.content or "" for one in said) == whole.message.content
    assert "".join(one.thinking or "" for one in said) == whole.message.thinking
    assert plain([made for one in said for made in one.tool_calls or ()]) == plain(whole.message.tool_calls)
    assert machine.losses == lost
