"""Streams as a server of this wire gives them."""

from __future__ import annotations

from typing import Any

import pytest

from llm_rest.responses import (
    Response,
)
from llm_rest.responses.stream import disassemble
from llm_rest.wires import gemini_generate_content as wire
from tests.support.facts import plain
from tests.wires.gemini_generate_content import (
    END,
    SIGNATURE,
    answered,
    called,
    chunk,
    named,
    parts_of,
    told,
)


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
