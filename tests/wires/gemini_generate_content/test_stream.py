"""Streams of this wire, both ways: what the rows of the mapping tables do not show."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from llm_rest.responses.events import OutputItemDone
from llm_rest.wires import gemini_generate_content as wire
from tests.support.facts import plain
from tests.support.legal import faults
from tests.support.streams import assembled
from tests.wires.gemini_generate_content import END, SIGNATURE, answer, called, chunk, named, read, told

HM, YO = {"text": "Hm.", "thought": True}, {"text": "Yo"}
SIGNED = {"text": "", "thoughtSignature": SIGNATURE}
CODE = {"executableCode": {"language": "PYTHON", "code": "1"}}
RESULT = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}, "thoughtSignature": SIGNATURE}


def again(events: list[Any]) -> tuple[list[Any], list[str]]:
    """The chunks that events become, with the losses."""
    machine = wire.encode_stream()
    chunks = [made for event in events for made in machine.feed(event)] + machine.close()
    return [plain(made) for made in chunks], named(machine.losses)


def parts_of(*chunks: Any) -> list[Any]:
    return [part for each in chunks for part in each["candidates"][0].get("content", {}).get("parts", [])]


@pytest.mark.parametrize(
    "parts",
    [[{**YO, "thoughtSignature": SIGNATURE}], [YO, SIGNED], [HM, YO, SIGNED], [YO, SIGNED, called("c1")]],
)
def test_a_signature_follows_its_message_in_a_streamed_answer_as_in_a_whole_one(parts: Any) -> None:
    """gemini.stream.8, BUGS 10: a stream has sent the text before its signature, so no other order is possible in both"""
    events = told(*map(chunk, parts), END)
    response = assembled(events)
    assert faults(events) == []
    assert plain(response.output) == plain(read(answer(*parts))[0].output)
    assert assembled(told(*map(chunk, parts[:-1]), chunk(parts[-1], finishReason="STOP"))).output == response.output
    done = [event.item for event in events if isinstance(event, OutputItemDone)]
    assert plain(done) == plain(response.output), "the items at the end are those that the events have told"
    signatures = [part.get("thoughtSignature") for part in parts_of(*again(events)[0])]
    assert [signature for signature in signatures if signature] == [SIGNATURE]


@pytest.mark.parametrize("path", ["$", "$.a[999999999].b", "a", "$..", "$[0]", "$" + ".a" * 5000, ""])
def test_no_path_of_a_piece_does_harm(path: str) -> None:
    """gemini.stream.6"""
    begun = chunk({"functionCall": {"name": "f", "willContinue": True}, "thoughtSignature": SIGNATURE})
    pieces = [{"jsonPath": path, "stringValue": "x"}]
    more = chunk({"functionCall": {"partialArgs": pieces, "willContinue": True}})
    call: Any = assembled(told(begun, more, chunk({"functionCall": {}}), END)).output[1]
    assert isinstance(json.loads(call.arguments), dict)
    assert len(call.arguments) < 1000


def test_the_details_of_counts_are_those_of_all_hops() -> None:
    """gemini.long.3"""
    machine = wire.decode_stream()
    for number, (tokens, finish) in enumerate(((10, "CONTINUATION"), (110, "CONTINUATION"), (160, "STOP"))):
        if number:
            machine.resume()
        counts = {"promptTokenCount": tokens, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": tokens}]}
        hop = chunk(YO, finishReason=finish, continuationToken=f"T{number}")
        machine.feed(wire.EVENT.decode(msgspec.json.encode({**hop, "usageMetadata": counts})))
    response: Any = machine.close()[-1]
    usage = plain(wire.encode_response(response.response)[0])["usageMetadata"]
    assert usage["promptTokensDetails"] == [{"modality": "TEXT", "tokenCount": 280}]


# --- to a client of this wire ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parts",
    [[HM, YO, SIGNED], [called(None, thoughtSignature=SIGNATURE), called(None)], [CODE, RESULT, {"text": "1"}]],
)
def test_a_stream_of_this_wire_is_told_again(parts: list[Any]) -> None:
    """gemini.stream_back.14"""
    chunks, lost = again(told(*map(chunk, parts), END))
    assert (parts_of(*chunks[:-1]), chunks[-1], lost) == (parts, END, [])


@pytest.mark.parametrize("part", [YO, HM])
def test_an_unknown_field_of_a_text_that_was_sent_is_a_loss(part: Any) -> None:
    """gemini.stream_back.16"""
    chunks, lost = again(told(chunk({**part, "mood": "glad"}), END))
    assert (parts_of(chunks[0]), lost) == ([part], ["output (dropped)"])


def test_an_unknown_field_of_a_content_is_kept_and_comes_with_the_end() -> None:
    """gemini.stream.10, gemini.stream_back.16"""
    piece = chunk(YO)
    piece["candidates"][0]["content"]["mood"] = "glad"
    events = told(piece, END)
    assert plain(wire.encode_response(assembled(events))[0])["candidates"][0]["content"]["mood"] == "glad"
    chunks, lost = again(events)
    assert (chunks[-1]["candidates"][0]["content"], lost) == ({"role": "model", "mood": "glad"}, [])
