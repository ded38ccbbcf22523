"""Streams of this wire: what each chunk tells."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import msgspec
import pytest

from llm_rest import wires
from llm_rest.client.events import StreamReader
from llm_rest.responses import (
    ErrorEvent,
    FunctionCallArgumentsDelta,
    OutputItemAdded,
    OutputItemDone,
    OutputTextAnnotationAdded,
    OutputTextDelta,
    ReasoningSummaryTextDelta,
    Request,
    ResponseCompleted,
    ResponseCreated,
    ResponseError,
    ResponseFailed,
    ResponseIncomplete,
    ResponseInProgress,
)
from llm_rest.responses.stream import Assembler
from llm_rest.wires import gemini_generate_content as wire
from tests.support.documents import differences
from tests.support.facts import plain
from tests.support.legal import faults
from tests.wires.gemini_generate_content import (
    DEVELOPER,
    END,
    OTHER,
    SIGNATURE,
    answer,
    called,
    chunk,
    kinds,
    read,
    told,
)

HM, YO = {"text": "Hm.", "thought": True}, {"text": "Yo"}
ERROR = {"error": {"code": 503, "message": "Busy.", "status": "UNAVAILABLE"}}


def assembled(events: list[Any]) -> Any:
    assert faults(events) == []
    assembler = Assembler()
    for event in events:
        assembler.feed(event)
    return assembler.response


@pytest.mark.parametrize(
    "parts",
    [
        [{"text": "Yo", "thoughtSignature": SIGNATURE}],
        [YO, {"text": "", "thoughtSignature": SIGNATURE}],
        [HM, YO, {"text": "", "thoughtSignature": SIGNATURE}],
        [YO, {"text": "", "thoughtSignature": SIGNATURE}, called("c1")],
    ],
)
def test_the_message_is_last_in_a_streamed_answer_as_in_a_whole_one(parts: Any) -> None:
    """gemini.stream.8: its signature comes behind it and stands before it in the response"""
    events = told(*[chunk(part) for part in parts], END)
    response = assembled(events)
    assert plain(response.output) == plain(read(answer(*parts))[0].output)
    said = [item for item in response.output if kinds([item]) != ["reasoning"]]
    assert response.output[-1] is said[-1]
    machine = wire.encode_stream()
    back = [plain(one) for event in events for one in machine.feed(event)]
    there = [part for one in back for part in one["candidates"][0].get("content", {}).get("parts", [])]
    assert [part.get("thoughtSignature") for part in there if "thoughtSignature" in part] == [SIGNATURE]


def output(*chunks: Any, **options: Any) -> list[Any]:
    """The output of a stream with these chunks before its end."""
    return assembled(told(*chunks, END, **options)).output


def deltas(events: list[Any], kind: Any) -> list[str]:
    return [event.delta for event in events if isinstance(event, kind)]


def same(document: Any, *chunks: Any) -> None:
    """The stream tells the very response that the whole answer is."""
    whole, _ = read(document)
    assert list(differences(plain(whole), plain(assembled(told(*chunks))))) == []


def partial(*pieces: Any, more: bool = True) -> Any:
    """A chunk with pieces of arguments, each a path, a value, and whether its text goes on."""
    names = {str: "stringValue", bool: "boolValue", int: "numberValue", float: "numberValue", type(None): "nullValue"}
    found = [
        {"jsonPath": path, names[type(value)]: "NULL_VALUE" if value is None else value}
        | ({"willContinue": True} if goes_on else {})
        for path, value, goes_on in pieces
    ]
    return chunk({"functionCall": {"partialArgs": found, **({"willContinue": True} if more else {})}})


BEGUN = chunk({"functionCall": {"name": "f", "willContinue": True}, "thoughtSignature": SIGNATURE})
OVER = chunk({"functionCall": {}})

# --- parts ----------------------------------------------------------------------------------------------------------


def test_the_first_chunk_begins_the_answer() -> None:
    """gemini.stream.1"""
    machine = wire.decode_stream(request=Request(model="x", instructions="a"), now=7)
    created, going = machine.feed(wire.EVENT.decode(b'{"responseId":"r","modelVersion":"m"}'))
    assert isinstance(created, ResponseCreated)
    assert isinstance(going, ResponseInProgress)
    found = created.response
    assert (found.id, found.model, found.created_at, found.instructions) == ("r", "m", 7, "a")


def test_pieces_of_a_thought_and_of_a_text_are_told_as_they_come() -> None:
    """gemini.stream.2"""
    machine = wire.decode_stream()
    events = [machine.feed(wire.EVENT.decode(json.dumps(chunk(part)).encode())) for part in (HM, HM, YO, YO)]
    assert [deltas(found, ReasoningSummaryTextDelta) for found in events] == [["Hm."], ["Hm."], [], []]
    assert [deltas(found, OutputTextDelta) for found in events] == [[], [], ["Yo"], ["Yo"]]


def test_pieces_are_one_text_and_a_change_of_kind_is_a_new_item() -> None:
    """gemini.stream.3"""
    found = output(chunk(HM), chunk(HM), chunk(YO), chunk(YO), chunk(HM))
    assert kinds(found) == ["reasoning", "message", "reasoning"]
    assert ([part.text for part in found[0].summary], [part.text for part in found[1].content]) == (
        ["Hm.Hm."],
        ["YoYo"],
    )


def test_empty_texts_say_nothing() -> None:
    """gemini.stream.3, BUGS 47"""
    assert output(chunk({"text": ""}), chunk({"text": "", "thought": True})) == []


def test_a_call_comes_whole_in_one_chunk() -> None:
    """gemini.stream.4, BUGS 15"""
    events = told(chunk(YO), chunk(called("c1", "f", {"a": 1})), END)
    assert deltas(events, FunctionCallArgumentsDelta) == ['{"a":1}']
    call = assembled(events).output[1]
    assert (call.call_id, call.name, call.arguments, call.status) == ("c1", "f", '{"a":1}', "completed")


def test_a_chunk_may_hold_several_calls() -> None:
    """gemini.stream.5, BUGS 20, BUGS 21"""
    found = output(chunk(called(None, "f", {"a": 1}), called(None, "f", {"a": 2})), chunk(called(None, "g")))
    assert [(item.call_id, item.name, item.arguments) for item in found] == [
        ("call_r_0", "f", '{"a":1}'),
        ("call_r_1", "f", '{"a":2}'),
        ("call_r_2", "g", "{}"),
    ]


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_signature_and_the_like_may_come_with_any_piece_of_a_call(at: int) -> None:
    """gemini.stream.6"""
    beside = {"thoughtSignature": SIGNATURE, "partMetadata": {"b": 1}, "mood": "glad"}
    calls = [
        {"name": "f", "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.a", "numberValue": 1}], "willContinue": True},
        {},
    ]
    calls[at] |= {"later": 1}
    pieces = [{"functionCall": call, **(beside if i == at else {})} for i, call in enumerate(calls)]
    whole = {"functionCall": {"name": "f", "args": {"a": 1}, "later": 1}, **beside}
    same(answer(whole), *map(chunk, pieces), END)


def test_arguments_that_are_whole_need_no_pieces() -> None:
    """gemini.stream.6"""
    begun = chunk({"functionCall": {"name": "f", "args": {"a": 1}, "willContinue": True}})
    same(answer(called(None, "f", {"a": 1})), begun, OVER, END)


def test_what_nobody_knows_of_grounding_is_kept_from_every_chunk() -> None:
    """gemini.stream.12"""
    grounding = [{"webSearchQueries": ["q"], "mood": "glad"}, {"retrievalQueries": ["r"], "sky": "blue"}]
    pieces = [chunk({"text": "Yo"}, groundingMetadata=grounding[0]), chunk(groundingMetadata=grounding[1])]
    same(answer({"text": "Yo"}, groundingMetadata=grounding[0] | grounding[1]), *pieces, END)


def test_arguments_of_vertex_come_in_pieces() -> None:
    """gemini.stream.6: BUGS 17, BUGS 27"""
    pieces = [
        partial(("$.a.city", "Os", True)),
        partial(("$.a.city", "lo", False), ("$.n", 2, False), ("$.list[0]", True, False), ("$.list[1]", None, False)),
    ]
    found = output(BEGUN, *pieces, OVER, chunk(called(None, "g")))
    carrier, call, other = found
    assert json.loads(call.arguments) == {"a": {"city": "Oslo"}, "n": 2, "list": [True, None]}
    assert (call.name, call.status, other.name, carrier.summary) == ("f", "completed", "g", [])
    assert output(BEGUN, partial(("$.a", 1, False), more=False))[1].arguments == '{"a":1}'
    assert output(BEGUN, OVER)[1].arguments == "{}"


@pytest.mark.parametrize("path", ["$", "$.a[999999999].b", "a", "$..", "$[0]", "$" + ".a" * 5000, ""])
def test_no_path_of_a_piece_does_harm(path: str) -> None:
    """gemini.stream.6"""
    call = output(BEGUN, partial((path, "x", False)), OVER)[1]
    assert isinstance(json.loads(call.arguments), dict)
    assert len(call.arguments) < 1000


@pytest.mark.parametrize("cut", [chunk(content=None, finishReason="MAX_TOKENS"), ERROR])
def test_a_call_that_was_cut_is_incomplete(cut: Any) -> None:
    """gemini.stream.7, BUGS 28"""
    call = assembled(told(BEGUN, partial(("$.a", "Os", True)), cut)).output[1]
    assert (call.status, call.arguments) == ("incomplete", '{"a":"Os"}')


def test_a_signature_may_come_last_and_alone() -> None:
    """gemini.stream.8, BUGS 10"""
    end = {"text": "", "thoughtSignature": SIGNATURE}
    same(answer(YO, end), chunk(YO), chunk(end, finishReason="STOP"))


def test_a_signed_piece_is_a_part_of_its_own() -> None:
    """gemini.stream.9"""
    parts = [YO, {"text": "a", "thoughtSignature": SIGNATURE}, {"text": "b"}]
    same(answer(*parts), *map(chunk, parts), END)


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([HM, called("c1", thoughtSignature=SIGNATURE), called("c2")], id="calls"),
        pytest.param([{**HM, "thoughtSignature": OTHER}, YO], id="a signed thought"),
        pytest.param(
            [
                {"executableCode": {"language": "PYTHON", "code": "1"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
                YO,
            ],
            id="code",
        ),
        pytest.param(
            [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}, "thoughtSignature": OTHER}, YO], id="an image"
        ),
        pytest.param([{"text": "Yo", "mood": "glad"}, {"hologram": {}}], id="unknown"),
    ],
)
def test_a_stream_tells_what_the_whole_answer_is(parts: list[Any]) -> None:
    """gemini.stream.10"""
    same(answer(*parts), *map(chunk, parts), END)
    same(answer(*parts), chunk(*parts, finishReason="STOP"))


def test_code_is_told_as_a_run_of_code() -> None:
    """gemini.stream.11"""
    code = chunk({"executableCode": {"language": "PYTHON", "code": "1"}})
    result = chunk({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "x"}})
    names = [plain(event)["type"] for event in told(code, result, chunk(YO), END)]
    run = [name.removeprefix("response.") for name in names if "code_interpreter" in name]
    assert run == [
        "code_interpreter_call.in_progress",
        "code_interpreter_call_code.delta",
        "code_interpreter_call_code.done",
        "code_interpreter_call.interpreting",
        "code_interpreter_call.completed",
    ]


# --- what comes late ------------------------------------------------------------------------------------------------


def test_sources_come_with_the_last_chunk() -> None:
    """gemini.stream.12"""
    found = {
        "groundingChunks": [{"web": {"uri": "https://a.test"}}],
        "groundingSupports": [{"segment": {"endIndex": 4, "text": "YoYo"}, "groundingChunkIndices": [0]}],
        "webSearchQueries": ["q"],
    }
    end = chunk(content=None, finishReason="STOP", groundingMetadata=found)
    events = told(chunk(YO), chunk(YO), end)
    sources = [event.annotation for event in events if isinstance(event, OutputTextAnnotationAdded)]
    assert [(source["url"], source["end_index"]) for source in map(plain, sources)] == [("https://a.test", 4)]
    same(answer({"text": "YoYo"}, groundingMetadata=found), chunk(YO), chunk(YO), end)


@pytest.mark.parametrize(
    ("name", "pieces", "whole"),
    [
        (
            "citationMetadata",
            [
                {"citationSources": [{"endIndex": 1, "uri": "https://a"}]},
                {"citationSources": [{"endIndex": 1, "uri": "https://a"}, {"endIndex": 2, "uri": "https://b"}]},
            ],
            {"citationSources": [{"endIndex": 1, "uri": "https://a"}, {"endIndex": 2, "uri": "https://b"}]},
        ),
        (
            "logprobsResult",
            [{"chosenCandidates": [{"token": "Yo", "logProbability": -1}]}] * 2,
            {"chosenCandidates": [{"token": "Yo", "logProbability": -1}] * 2},
        ),
        (
            "groundingMetadata",
            [{"webSearchQueries": ["q"]}, {"groundingChunks": [{"web": {"uri": "https://a"}}]}],
            {"webSearchQueries": ["q"], "groundingChunks": [{"web": {"uri": "https://a"}}]},
        ),
        ("urlContextMetadata", [{"a": 1}, {"b": 2}], {"a": 1, "b": 2}),
        ("mood", ["glad", "sad"], "sad"),
        ("safetyRatings", [[{"probability": "LOW"}], [{"probability": "HIGH"}]], [{"probability": "HIGH"}]),
    ],
)
def test_what_is_told_beside_the_parts_adds_up(name: str, pieces: list[Any], whole: Any) -> None:
    """gemini.stream.12"""
    chunks = [chunk(YO, **{name: piece}) for piece in pieces]
    same(answer({"text": "YoYo"}, **{name: whole}), *chunks, END)


def test_counts_are_cumulative_and_may_come_after_the_end() -> None:
    """gemini.stream.13, BUGS 59, BUGS 79"""
    counts = [{"promptTokenCount": 4, "candidatesTokenCount": n, "totalTokenCount": 4 + n} for n in (1, 2)]
    traffic = {"trafficType": "ON_DEMAND"}
    chunks = [
        {**chunk(YO), "usageMetadata": counts[0]},
        {**END, "usageMetadata": traffic},
        {"usageMetadata": counts[1], "responseId": "r", "modelVersion": "m"},
    ]
    events = told(*chunks)
    usage: Any = assembled(events).usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (4, 2, 6)
    assert isinstance(events[-1], ResponseCompleted)


def test_the_end_of_the_answer_is_the_end_of_the_body() -> None:
    """gemini.stream.14"""
    machine = wire.decode_stream()
    for each in (chunk(YO), END):
        found = machine.feed(wire.EVENT.decode(json.dumps(each).encode()))
        assert not any(isinstance(event, OutputItemDone | ResponseCompleted) for event in found)
    assert [type(event) for event in machine.close()][-2:] == [OutputItemDone, ResponseCompleted]
    assert machine.close() == []


def test_a_last_chunk_that_is_repeated_is_told_once() -> None:
    """gemini.stream.22"""
    end = chunk(YO, finishReason="STOP")
    same(answer(YO), end, end)


def test_a_stream_without_a_reason_was_cut() -> None:
    """gemini.stream.15"""
    events = told(chunk(YO))
    assert isinstance(events[-1], OutputTextDelta)
    assert told() == []


@pytest.mark.parametrize(
    ("finish", "kind"),
    [("MAX_TOKENS", ResponseIncomplete), ("MALFORMED_FUNCTION_CALL", ResponseFailed), ("BORED", ResponseIncomplete)],
)
def test_an_answer_that_is_not_complete_says_so(finish: str, kind: type) -> None:
    """gemini.stream.16"""
    end = chunk(content=None, finishReason=finish)
    assert isinstance(told(chunk(YO), end)[-1], kind)
    same(answer(YO, finishReason=finish), chunk(YO), end)


def test_a_blocked_prompt_is_a_stream_of_one_chunk() -> None:
    """gemini.stream.17"""
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "responseId": "r", "modelVersion": "m"}
    same(blocked, blocked)
    assert isinstance(told(blocked)[-1], ResponseIncomplete)


def test_other_candidates_are_told_once() -> None:
    """gemini.stream.18"""
    both = chunk(YO)
    both["candidates"].append({"content": {"parts": [{"text": "Hey"}]}, "index": 1})
    machine = wire.decode_stream()
    events = [event for _ in range(2) for event in machine.feed(wire.EVENT.decode(json.dumps(both).encode()))]
    assert deltas(events, OutputTextDelta) == ["Yo", "Yo"]
    assert [(loss.path, loss.kind) for loss in machine.losses] == [("candidates[1]", "dropped")]


# --- errors ---------------------------------------------------------------------------------------------------------


def test_an_error_ends_the_answer() -> None:
    """gemini.stream.19"""
    events = told(chunk(HM), chunk(YO), ERROR, chunk(YO), END)
    error, failed = events[-2:]
    output: Any = failed.response.output
    assert isinstance(error, ErrorEvent)
    assert isinstance(failed, ResponseFailed)
    assert (error.details.code, failed.response.error) == ("server_overloaded", failed.response.error)
    assert [item.status for item in output][1:] == ["incomplete"]
    assert faults(events) == []


@pytest.mark.parametrize("form", [b"data: %s\n\n", b"data: [%s]\n\n", b"%s", b"[%s]"])
def test_an_error_is_read_with_and_without_a_frame(form: bytes) -> None:
    """gemini.stream.20: raw and over several lines, too"""
    body = json.dumps(ERROR, indent=None if form.startswith(b"data") else 2).encode()
    reader = StreamReader(wires.load("gemini_generate_content"), dialect=DEVELOPER)
    stream = b"data: " + json.dumps(chunk(YO)).encode() + b"\n\n" + form % body
    events = [*reader.feed(stream), *reader.close()]
    assert isinstance(events[-1], ResponseFailed)
    assert events[-1].response.error == ResponseError(code="server_overloaded", type="UNAVAILABLE", message="Busy.")


def test_items_are_added_when_they_begin() -> None:
    """gemini.stream.3"""
    events = told(chunk(HM), chunk(called("c1", thoughtSignature=SIGNATURE)), END)
    order = [type(event).__name__ for event in events if isinstance(event, OutputItemAdded | OutputItemDone)]
    assert order == ["OutputItemAdded", "OutputItemDone"] * 2
    thought: Any = next(event for event in events if isinstance(event, OutputItemDone))
    assert thought.item.encrypted_content  # the signature came with the call, and the thought waited for it


def test_a_converter_loads_event_structs_only_when_it_streams() -> None:
    """gemini.stream.21"""
    code = (
        "import sys, llm_rest.wires.gemini_generate_content as wire\n"
        "print('llm_rest.responses.events' in sys.modules, wire.decode_stream() is not None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_the_details_of_counts_are_those_of_all_hops() -> None:
    """gemini.long.3"""
    machine = wire.decode_stream()
    for number, (tokens, finish) in enumerate(((10, "CONTINUATION"), (110, "CONTINUATION"), (160, "STOP"))):
        if number:
            machine.resume()
        counts = {"promptTokenCount": tokens, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": tokens}]}
        hop = chunk({"text": "Yo"}, finishReason=finish, continuationToken=f"T{number}")
        machine.feed(wire.EVENT.decode(msgspec.json.encode({**hop, "usageMetadata": counts})))
    response: Any = machine.close()[-1]
    usage = plain(wire.encode_response(response.response)[0])["usageMetadata"]
    assert usage["promptTokensDetails"] == [{"modality": "TEXT", "tokenCount": 280}]
