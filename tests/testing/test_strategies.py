"""The published strategies for Hypothesis make documents that every wire takes, and streams that assemble."""

from __future__ import annotations

import importlib
import sys

import pytest
from hypothesis import given

from llm_rest import ConfigError, Request, Response, wires
from llm_rest.responses import AnyEvent, Message
from llm_rest.testing import strategies
from llm_rest.vendors.rows import DIALECTS
from tests.support.streams import assembled


@pytest.mark.parametrize("wire", wires.NAMES)
@given(request=strategies.requests(), response=strategies.responses())
def test_every_wire_carries_them(wire: str, request: Request, response: Response) -> None:
    dialect = DIALECTS[wire]()
    _, lost = wires.load(wire).encode_request(request, dialect=dialect)
    assert not [loss for loss in lost if loss.kind == "refused"]
    made, _ = wires.load(wire).encode_response(response, dialect=dialect)
    assert made is not None


@given(events=strategies.event_streams(), items=strategies.items())
def test_streams_are_whole_and_conversations_end_with_the_user(events: list[AnyEvent], items: list[object]) -> None:
    found = assembled(events)
    assert found.status != "in_progress"
    assert found.output
    assert isinstance(items[-1], Message)
    assert items[-1].role == "user"


def test_without_hypothesis_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.delitem(sys.modules, strategies.__name__)
    with pytest.raises(ConfigError, match=r"llm_rest.testing.strategies needs hypothesis \(pip install hypothesis\)"):
        importlib.import_module(strategies.__name__)
