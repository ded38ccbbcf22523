"""Who spoke when: calls and their results, system messages in the middle, and what a longer conversation leaves alone."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from llm_rest.responses import (
    FunctionCall,
    FunctionCallOutput,
    Request,
)
from llm_rest.wires import anthropic_messages as wire
from tests.wires.anthropic_messages.steps import (
    NEW,
    user,
)


def call(id: str, arguments: str = "{}", **more: Any) -> FunctionCall:
    return FunctionCall(call_id=id, name="f", arguments=arguments, **more)


def output(id: str, said: Any = "4", **more: Any) -> FunctionCallOutput:
    return FunctionCallOutput(call_id=id, output=said, **more)


# --- calls and results ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", ['{"b": 1.0, "a": [1e3], "c": 12345678901234567890}', '{ "a" : 1 }', ' {"a":1}'])
def test_the_text_of_arguments_is_sent_as_it_is(arguments: str) -> None:
    """anthropic.request.17 and anthropic.hard.6"""
    body, lost = wire.encode_request(Request(model=NEW, input=[user(), call("a", arguments), output("a")]))
    assert (arguments.strip().encode() in msgspec.json.encode(body), lost) == (True, [])
