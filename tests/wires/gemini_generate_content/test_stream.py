"""Streams of this wire: what each chunk tells."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import msgspec
import pytest

from llm_rest.responses.stream import Assembler
from llm_rest.wires import gemini_generate_content as wire
from tests.support.documents import differences
from tests.support.facts import plain
from tests.support.legal import faults
from tests.wires.gemini_generate_content import (
    END,
    SIGNATURE,
    answer,
    called,
    chunk,
    kinds,
    read,
    told,
)

HM, YO = {"text": "Hm.", "thought": True}, {"text": "Yo"}


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


@pytest.mark.parametrize("path", ["$", "$.a[999999999].b", "a", "$..", "$[0]", "$" + ".a" * 5000, ""])
def test_no_path_of_a_piece_does_harm(path: str) -> None:
    """gemini.stream.6"""
    call = output(BEGUN, partial((path, "x", False)), OVER)[1]
    assert isinstance(json.loads(call.arguments), dict)
    assert len(call.arguments) < 1000


def test_a_signature_may_come_last_and_alone() -> None:
    """gemini.stream.8, BUGS 10"""
    end = {"text": "", "thoughtSignature": SIGNATURE}
    same(answer(YO, end), chunk(YO), chunk(end, finishReason="STOP"))


# --- errors ---------------------------------------------------------------------------------------------------------


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
