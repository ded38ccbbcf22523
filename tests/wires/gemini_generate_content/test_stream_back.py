"""Streams as a server of this wire gives them."""

from __future__ import annotations

from typing import Any

import pytest

from llm_rest.responses import (
    CustomToolCall,
    ErrorEvent,
    ImageGenerationCall,
    IncompleteDetails,
    Message,
    OutputItemDone,
    OutputText,
    OutputTextDelta,
    Reasoning,
    ReasoningText,
    RefusalDelta,
    RefusalPart,
    Response,
    ResponseCompleted,
    ResponseCreated,
    ResponseError,
    StreamError,
    SummaryText,
    Usage,
)
from llm_rest.responses.stream import disassemble
from llm_rest.wires import gemini_generate_content as wire
from tests.support.facts import plain
from tests.support.streams import written
from tests.wires.gemini_generate_content import (
    END,
    SIGNATURE,
    answer,
    answered,
    call,
    called,
    chunk,
    model,
    named,
    parts_of,
    read,
    said,
    told,
)

BEGUN = ResponseCreated(sequence_number=0, response=Response(id="r", model="m", status="in_progress", output=[]))


def sent(*events: Any) -> tuple[list[Any], list[str]]:
    """The chunks of a whole stream, with its losses."""
    machine = wire.encode_stream()
    chunks = [made for event in events for made in machine.feed(event)] + machine.close()
    return [plain(made) for made in chunks], named(machine.losses)


def stream(response: Response) -> tuple[list[Any], list[str]]:
    return sent(*disassemble(response))


def parts(*output: Any, **fields: Any) -> tuple[list[Any], list[str]]:
    """All parts of the stream of a response."""
    chunks, lost = stream(answered(*output, **fields))
    found = [part for each in chunks for part in each["candidates"][0].get("content", {}).get("parts", [])]
    return found, lost


def delta(text: str, item: int = 0, part: int = 0) -> OutputTextDelta:
    return OutputTextDelta(
        sequence_number=1, item_id="i", output_index=item, content_index=part, delta=text, logprobs=[]
    )


def done(item: Any, index: int = 0) -> OutputItemDone:
    return OutputItemDone(sequence_number=1, output_index=index, item=item)


def over(*output: Any) -> ResponseCompleted:
    return ResponseCompleted(sequence_number=1, response=answered(*output))


def test_a_piece_of_text_leaves_at_once() -> None:
    """gemini.stream_back.1, BUGS 26, BUGS 30"""
    machine = wire.encode_stream()
    assert machine.feed(BEGUN) == []
    for _ in range(3):
        assert list(map(plain, machine.feed(delta("a")))) == [chunk({"text": "a"})]


def test_thoughts_are_marked() -> None:
    """gemini.stream_back.2"""
    thought = Reasoning(id="rs", summary=[SummaryText(text="Hm.")])
    assert parts(thought, said("Yo")) == ([{"text": "Hm.", "thought": True}, {"text": "Yo"}], [])
    words = Reasoning(id="rs", summary=[], content=[ReasoningText(text="Hm.")])
    assert parts(words)[0] == [{"text": "Hm.", "thought": True}]


def test_a_call_leaves_whole() -> None:
    """gemini.stream_back.3"""
    found, lost = parts(call("c1", "f", '{"a":1}'), CustomToolCall(id="x", call_id="c2", name="g", input="x"))
    assert found == [called("c1", "f", {"a": 1}), called("c2", "g", {"input": "x"})]
    assert lost == ["output[1] (emulated)"]


def test_an_image_leaves_whole() -> None:
    """gemini.stream_back.3"""
    image = ImageGenerationCall(id="i", status="completed", result="AAAA", output_format="png")
    assert parts(image)[0] == [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]


def test_a_signature_stands_on_its_call() -> None:
    """gemini.stream_back.4"""
    document = answer({"text": "Hm.", "thought": True}, called("c1", thoughtSignature=SIGNATURE), called("c2"))
    response, _ = read(document)
    found, lost = stream(response)
    assert [part for each in found for part in each["candidates"][0].get("content", {}).get("parts", [])] == parts_of(
        document
    )
    assert lost == []


def test_a_signature_that_comes_after_its_text_stands_behind_it() -> None:
    """gemini.stream_back.5"""
    late = {"text": "", "thoughtSignature": SIGNATURE}
    signed, _ = read(answer({"text": "Yo", "thoughtSignature": SIGNATURE}))
    assert parts(*signed.output) == ([{"text": "Yo"}, late], ["output (changed)"])
    alone, _ = read(answer({"text": "Yo"}, late))
    assert parts(*alone.output) == ([{"text": "Yo"}, late], [])


def test_the_last_chunk_says_how_it_ended_and_what_it_took() -> None:
    """gemini.stream_back.6"""
    response = answered(said("Yo"), usage=Usage(input_tokens=1, output_tokens=2, total_tokens=3))
    chunks, lost = stream(response)
    assert (chunks[-1], lost) == (
        {
            "candidates": [{"finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3},
            "modelVersion": "m",
            "responseId": "r",
        },
        [],
    )


def test_an_answer_without_a_word_is_one_chunk() -> None:
    """gemini.stream_back.6"""
    chunks, _ = stream(answered())
    assert [each["candidates"][0]["finishReason"] for each in chunks] == ["STOP"]


def test_a_failure_is_an_error_at_the_end() -> None:
    """gemini.stream_back.7"""
    chunks, _ = stream(answered(said("Yo"), status="failed", error=ResponseError(code="server_error", message="Oops.")))
    assert parts_of(chunks[0]) == [{"text": "Yo"}]
    assert chunks[-1]["error"] == {"code": 500, "message": "Oops.", "status": "INTERNAL"}
    assert next(iter(chunks[-1])) == "error", "Google's own Python client looks at nothing but the first field"


def test_an_error_that_nothing_follows_is_the_end() -> None:
    """gemini.stream_back.8"""
    error = ErrorEvent(sequence_number=1, error=StreamError(code="rate_limit_exceeded", message="Slowly."))
    assert sent(BEGUN, error)[0] == [{"error": {"code": 429, "message": "Slowly.", "status": "RESOURCE_EXHAUSTED"}}]
    assert sent(BEGUN, delta("a"))[0] == [chunk({"text": "a"})]  # a body that just ends without a reason was cut


def test_a_refusal_is_a_text_or_the_reason_why_it_ended() -> None:
    """gemini.stream_back.9"""
    refusal = Message(id="m", role="assistant", content=[RefusalPart(refusal="No.")])
    assert parts(refusal) == ([{"text": "No."}], ["output[0].content[0] (changed)"])
    assert parts(refusal, said("Yo"))[0] == [{"text": "No."}, {"text": "Yo"}]
    details = IncompleteDetails(reason="content_filter")
    chunks, lost = stream(answered(said("Yo"), refusal, status="incomplete", incomplete_details=details))
    assert chunks[-1]["candidates"] == [{"finishReason": "SAFETY", "finishMessage": "No.", "index": 0}]
    assert lost == []


def test_items_that_are_told_side_by_side_leave_in_their_order() -> None:
    """gemini.stream_back.10"""
    events = [delta("B", 1), delta("A", 0), done(said("B"), 1), delta("A", 0), done(said("AA"), 0)]
    found, lost = sent(BEGUN, *events, over(said("AA"), said("B")))
    assert [each["candidates"][0].get("content") for each in found] == [
        model({"text": "A"}),
        model({"text": "A"}),
        model({"text": "B"}),
        None,
    ]
    assert lost == []


def test_what_still_waited_leaves_at_the_end() -> None:
    """gemini.stream_back.10"""
    found, _ = sent(BEGUN, delta("B", 1), over(said("B")))
    assert parts_of(found[0]) == [{"text": "B"}]


def test_texts_side_by_side_are_told_as_one() -> None:
    """gemini.stream_back.11"""
    both = Message(
        id="m", role="assistant", content=[OutputText(text="a", annotations=[]), OutputText(text="b", annotations=[])]
    )
    assert parts(both) == ([{"text": "a"}, {"text": "b"}], ["output (changed)"])


def test_what_the_deltas_did_not_tell_leaves_with_the_item() -> None:
    """gemini.stream_back.12: also text that no delta brought"""
    found, _ = sent(BEGUN, done(said("Yo")), over(said("Yo")))
    assert parts_of(found[0]) == [{"text": "Yo"}]


def test_an_item_may_end_with_fewer_texts_than_were_told() -> None:
    """gemini.stream_back.12"""
    found, _ = sent(BEGUN, delta("a"), delta("b", 0, 7), done(said("a")), over(said("a")))
    assert [part for each in found[:-1] for part in parts_of(each)] == [{"text": "a"}, {"text": "b"}]


def test_nothing_follows_the_end() -> None:
    """gemini.stream_back.13"""
    machine = wire.encode_stream()
    assert len(machine.feed(over(said("Yo")))) == 1
    assert (machine.feed(delta("a")), machine.close()) == ([], [])


@pytest.mark.parametrize(
    "parts",
    [
        [{"text": "Hm.", "thought": True}, {"text": "Yo"}, {"text": "", "thoughtSignature": SIGNATURE}],
        [called(None, "f", thoughtSignature=SIGNATURE), called(None, "f")],
        [
            {"executableCode": {"language": "PYTHON", "code": "1"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}, "thoughtSignature": SIGNATURE},
            {"text": "1"},
        ],
    ],
)
def test_a_stream_of_this_wire_is_told_again(parts: list[Any]) -> None:
    """gemini.stream_back.14"""
    chunks = [*map(chunk, parts), chunk(content=None, finishReason="STOP")]
    again, lost = sent(*told(*chunks))
    assert [part for each in again[:-1] for part in parts_of(each)] == parts
    assert (again[-1], lost) == (chunks[-1], [])


def test_a_delta_of_a_refusal_waits_for_the_end() -> None:
    """gemini.stream_back.9"""
    event = RefusalDelta(sequence_number=1, item_id="i", output_index=0, content_index=0, delta="No")
    assert sent(BEGUN, event)[0] == []


@pytest.mark.parametrize("part", [{"text": "Yo"}, {"text": "Hm.", "thought": True}])
def test_what_nobody_knows_of_a_text_that_has_left_is_told(part: Any) -> None:
    """gemini.stream_back.16"""
    again, lost = sent(*told(chunk({**part, "mood": "glad"}), END))
    assert (parts_of(again[0]), lost) == ([part], ["output (dropped)"])


def test_what_nobody_knows_of_a_content_comes_with_the_end() -> None:
    """gemini.stream_back.16"""
    piece = chunk({"text": "Yo"})
    piece["candidates"][0]["content"]["mood"] = "glad"
    again, lost = sent(*told(piece, END))
    assert (again[-1]["candidates"][0]["content"], lost) == ({"role": "model", "mood": "glad"}, [])


def test_a_chunk_is_a_frame_without_a_name() -> None:
    """gemini.stream_back.15"""
    pieces, _ = written("gemini_generate_content", [BEGUN, delta("a"), over(said("a"))])
    assert [piece[:8] for piece in pieces] == [b"", b'data: {"', b'data: {"', b""]
    assert (wire.FRAMING, wire.END, wire.NAMED_EVENTS) == ("sse", None, False)
