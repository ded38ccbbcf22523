"""Typed output at the end of a run: what was corrected on the way stays in the conversation."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import Struct

from llm_rest import Client, ConfigError, tool, wires
from llm_rest.responses.items import FunctionCall, Message


class Found(Struct):
    a: int


@tool
def look(c: str) -> str:
    """Look it up."""
    return f"found {c}"


def told(items: list[Any]) -> list[str]:
    return [
        item.name if isinstance(item, FunctionCall) else str(item.role)
        for item in items
        if isinstance(item, FunctionCall | Message)
    ]


@pytest.mark.parametrize("wire", wires.NAMES)
def test_what_was_wrong_with_an_answer_stays_before_the_call_that_corrects_it(wire: str) -> None:
    with Client("simulator/x", wire=wire) as llm:
        run = llm.run('json {"a": "q"}', [look], output=Found, strategy="native")
        reply = run.result()
    assert isinstance(reply.parsed, Found)
    assert told(run.state.items) == ["user", "assistant", "user", "look", "assistant"]


def test_a_state_is_taken_up_as_data_and_refused_as_anything_else() -> None:
    with Client("simulator/x") as llm:
        run = llm.run("say Hello.", [look])
        run.result()
        data = msgspec.to_builtins(run.state)
        assert llm.run(None, [look], state=data).state.items == run.state.items
        with pytest.raises(ConfigError, match="not a int"):
            llm.run(None, [look], state=5)  # type: ignore[arg-type]
