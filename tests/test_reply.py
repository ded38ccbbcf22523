"""A reply is a response with readers, and the info of its call that travels with it."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from llm_rest.client.reply import CallInfo, Reply, metadata, reply
from llm_rest.errors import Attempt, ToolArgumentsError
from llm_rest.losses import Loss
from llm_rest.responses import (
    FunctionCall,
    IncompleteDetails,
    Message,
    OutputText,
    Reasoning,
    ReasoningText,
    RefusalPart,
    Response,
    SummaryText,
    Usage,
)
from llm_rest.responses.response import RESPONSE
from llm_rest.unknown import Unknown, extras, with_extras

INFO = CallInfo(
    losses=[Loss("seed", "gone", "dropped")],
    attempts=(Attempt(1.0, 2.0, "200"),),
    raw=b"{}",
    duration=2.0,
    metadata={"provider": "openai"},
)


def made(*output: Any, **fields: Any) -> Reply:
    response = Response(**{"id": "r", "status": "completed", "output": list(output), **fields})
    return reply(response, INFO)


def said(*parts: Any, role: str = "assistant") -> Message:
    return Message(role=role, content=list(parts))


# --- readers --------------------------------------------------------------------------------------------------------


def test_the_text_is_that_of_all_messages_of_the_assistant() -> None:
    found = made(
        Reasoning(summary=[SummaryText(text="hm")]),
        said(OutputText(text="Hel"), RefusalPart(refusal="no"), Unknown(type="new")),
        Unknown(type="new"),
        Message(role="assistant", content="lo"),
        said(OutputText(text="never"), role="user"),
    )
    assert (found.output_text, made().output_text) == ("Hello", "")
    assert (found.refusal, made().refusal) == ("no", None)


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ('{"city": "Oslo", "days": [1, 2]}', {"city": "Oslo", "days": [1, 2]}),
        *((empty, {}) for empty in ("{}", "", " \n", "null")),
        ("[1]", r"weather: the arguments must be a JSON object, not \[1\]"),
        ('"Oslo"', "must be a JSON object"),
        ('{"city": "Os', "weather: the arguments are no valid JSON: they end too early"),
        ('{"city": Oslo}', "no valid JSON: .* at byte 9"),
        ("[" * 100_000, "nested deeper"),
    ],
    ids=range(10),
)
def test_the_arguments_of_a_call_are_a_dict_or_a_typed_error(arguments: str, value: Any) -> None:
    (call,) = made(FunctionCall(call_id="c", name="weather", arguments=arguments)).function_calls
    if isinstance(value, dict):
        assert call.parsed_arguments == value
    else:
        with pytest.raises(ToolArgumentsError, match=value):
            _ = call.parsed_arguments
    assert call.arguments == arguments


def test_the_reasoning_is_the_text_itself_else_its_summary() -> None:
    """BUGS 7."""
    found = made(
        Reasoning(summary=[SummaryText(text="short")], content=[ReasoningText(text="long")]),
        Reasoning(summary=[SummaryText(text="a"), SummaryText(text="b")]),
        Reasoning(encrypted_content="x"),
    )
    assert (found.reasoning_text, made().reasoning_text) == ("long\n\na\n\nb", "")


LIMITED = IncompleteDetails(reason="max_output_tokens")


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (made(said(OutputText(text="x"))), "stop"),
        (made(FunctionCall(call_id="c", name="f", arguments="")), "tool_calls"),
        (made(said(RefusalPart(refusal="no"))), "refusal"),
        (made(status="incomplete", incomplete_details=LIMITED), "max_output_tokens"),
        (made(status="incomplete"), "incomplete"),
        (made(status="queued"), "queued"),
    ],
)
def test_why_it_ends_is_one_word(found: Reply, reason: str) -> None:
    assert found.stop_reason == reason


# --- a response like any other --------------------------------------------------------------------------------------


def test_the_generation_is_never_encoded() -> None:
    found = made(said(OutputText(text="x")))
    assert RESPONSE.decode(msgspec.json.encode(found)) == found
    assert b"info" not in msgspec.json.encode(found)
    assert "info" not in msgspec.to_builtins(found)
    assert "info" not in found.to_dict()


def test_equality_looks_at_the_response_only() -> None:
    found = made(said(OutputText(text="x")))
    plain = Response(id="r", status="completed", output=[said(OutputText(text="x"))])
    assert found == plain
    assert plain == found
    assert found == reply(plain, CallInfo())
    assert found != made()
    assert not found != plain  # noqa: SIM202 - it is the operator that is tested
    assert found != "r"


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
@pytest.mark.parametrize("unknown", [{}, {"brand_new": [1]}])
def test_copies_and_pickles_keep_the_generation(again: Callable[[Reply], Reply], unknown: dict[str, Any]) -> None:
    found = reply(with_extras(Response(id="r", status="completed", output=[]), unknown), INFO)
    twin = again(found)
    assert isinstance(twin, Reply)
    assert twin == found
    assert twin.info == INFO
    assert msgspec.structs.replace(twin, id="other").info == CallInfo()
    assert extras(twin) == extras(found) == unknown


@pytest.mark.parametrize(("usage", "total"), [(None, "0"), (Usage(input_tokens=7, output_tokens=3), "10")])
def test_counts_that_are_missing_are_zero_or_the_sum(usage: Usage | None, total: str) -> None:
    found = metadata(made(usage=usage), vendor="p", model="m", seconds=0.0126)
    assert (found["latency_ms"], found["total_tokens"]) == ("13", total)
