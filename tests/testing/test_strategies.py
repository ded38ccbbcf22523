"""The published strategies for Hypothesis make documents that every wire takes, and streams that assemble."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given

from llm_rest import Request, Response, wires
from llm_rest.responses import AnyEvent, Message
from llm_rest.responses.stream import Assembler
from llm_rest.testing import strategies
from llm_rest.vendors.rows import DIALECTS


@pytest.mark.parametrize("wire", wires.NAMES)
@given(request=strategies.requests(), response=strategies.responses())
def test_every_wire_carries_them(wire: str, request: Request, response: Response) -> None:
    dialect = DIALECTS[wire]()
    _, lost = wires.load(wire).encode_request(request, dialect=dialect)
    assert not [loss for loss in lost if loss.kind == "refused"]
    made, _ = wires.load(wire).encode_response(response, dialect=dialect)
    assert made is not None


@given(events=strategies.event_streams())
def test_the_events_tell_a_whole_answer(events: list[AnyEvent]) -> None:
    seen = Assembler()
    for event in events:
        seen.feed(event)
    assert seen.finished
    assert seen.response.output


@given(items=strategies.items())
def test_a_conversation_ends_with_something_to_answer(items: list[object]) -> None:
    last = items[-1]
    assert isinstance(last, Message)
    assert last.role == "user"


def test_without_hypothesis_the_error_says_what_to_install() -> None:
    code = "import sys; sys.modules['hypothesis'] = None\nimport llm_rest.testing.strategies"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "llm_rest.testing.strategies needs hypothesis (pip install hypothesis)" in done.stderr
