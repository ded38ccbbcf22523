"""Thought signatures: they return on the very part they came on, in one piece or not at all."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from llm_rest.responses import RESPONSE, FunctionCall, FunctionTool, Request
from llm_rest.responses.carriers import digest
from tests.wires.gemini_generate_content import OTHER, SIGNATURE, THREE, answer, called, contents, output, read, user

SIGNED: dict[str, Any] = {"thoughtSignature": SIGNATURE}
CODE = {"executableCode": {"language": "PYTHON", "code": "1"}, **SIGNED}
RESULT = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}, "thoughtSignature": OTHER}
DRAWN = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}, **SIGNED}
THOUGHT = {"text": "Hm.", "thought": True}


def again(*items: Any) -> tuple[list[Any], list[str]]:
    """The parts of the model's turn when items are sent back; calls in it are answered."""
    answers = [output(item) for item in items if isinstance(item, FunctionCall)]
    found, lost = contents(user("Hi"), *items, *answers, user("So?"))
    return found[1]["parts"] if found[1]["role"] == "model" else [], lost


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([called("c1", **SIGNED)], id="gemini.signature.1"),
        pytest.param([called(None, **SIGNED), called(None)], id="gemini.signature.2"),
        pytest.param([THOUGHT, called("c1", **SIGNED)], id="gemini.signature.3"),
        pytest.param([{"text": "Yo", **SIGNED}], id="gemini.signature.4"),
        pytest.param([{"text": "a"}, {"text": "b", **SIGNED}, {"text": "c"}], id="gemini.signature.4 amid texts"),
        pytest.param([{"text": "Yo"}, {"text": "", **SIGNED}], id="gemini.signature.5"),
        pytest.param([{"text": "", **SIGNED}], id="gemini.signature.5 alone"),
        pytest.param([{**THOUGHT, **SIGNED}, {"text": "Yo"}], id="gemini.signature.6"),
        pytest.param([DRAWN, {"text": "There.", "thoughtSignature": OTHER}], id="gemini.signature.7"),
        pytest.param([CODE, RESULT, {"text": "1"}], id="gemini.signature.8"),
    ],
)
def test_a_signature_returns_on_its_part(parts: list[Any]) -> None:
    """A stay in a file or with a client changes nothing: gemini.signature.9, gemini.hard.1, gemini.hard.3. BUGS 10, BUGS 11"""
    response, _ = read(answer(*parts))
    assert again(*response.output) == (parts, [])
    stored: Any = RESPONSE.decode(msgspec.json.encode(response))
    for item in stored.output:
        item.id = item.status = None  # which clients drop
    assert again(*stored.output) == (parts, [])


def test_a_call_without_an_id_is_known_by_what_it_asks_for() -> None:
    """gemini.signature.15: however a client spells its arguments"""
    carrier, item = read(answer(called(None, "f", {"a": 1, "b": [2]}, **SIGNED)))[0].output
    assert isinstance(item, FunctionCall)
    item.arguments = '{"b": [ 2 ], "a": 1}'
    found, lost = again(carrier, item)
    assert (found[0]["thoughtSignature"], lost) == (SIGNATURE, [])


def test_names_and_kinds_that_were_changed_on_the_way_do_not_part_a_call_from_its_signature() -> None:
    """gemini.signature.21"""
    tool = FunctionTool(name="look up")
    sent_as = "look_up_" + digest("look up")
    response, _ = read(answer(called(None, sent_as, {"a": 1}, **SIGNED)), request=Request(model=THREE, tools=[tool]))
    assert getattr(response.output[1], "name", None) == "look up"
    found, lost = again(*response.output)
    assert found == [called(None, sent_as, {"a": 1}, **SIGNED)]
    assert lost == ["input[2].name (changed)"]
