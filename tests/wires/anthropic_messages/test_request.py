"""The options and contents of a request on their way to the vendor."""

from __future__ import annotations

from typing import Any

import pytest

from llm_rest.responses import (
    FunctionTool,
    InputText,
    Message,
    ReasoningOptions,
)
from llm_rest.vendors.dialects import messages_model
from tests.wires.anthropic_messages.steps import NEWEST, Plain, kinds, sent


def test_nothing_is_cut_off_by_itself() -> None:
    """anthropic.request.48"""
    assert kinds(sent(truncation="auto")[1]) == [("truncation", "dropped")]
    assert sent(truncation="disabled")[1] == []


def test_the_callers_own_fields_come_last() -> None:
    """anthropic.request.60"""
    own = {"anthropic_messages": {"max_tokens": 7, "inference_geo": "eu", "new": [1.0], "betas": ["b"]}}
    body, lost = sent(extra={**own, "openai_chat": {"n": 2}}, max_output_tokens=9)
    assert (body["max_tokens"], body["inference_geo"], body["new"], lost) == (7, "eu", [1.0], [])
    assert "betas" not in body
    assert "n" not in body
    assert kinds(sent(extra={"anthropic_messages": {"messages": 7}})[1]) == [("extra.anthropic_messages", "dropped")]


@pytest.mark.parametrize(
    ("model", "facts"),
    [
        ("claude-sonnet-4-20250514", messages_model("claude-sonnet-4")),
        ("us.anthropic.claude-haiku-4-5-v1:0", messages_model("claude-haiku-4-5")),
        ("anthropic/claude-opus-4.6", messages_model("claude-opus-4-6")),
        ("claude-opus-4-6@20260101", messages_model("claude-opus-4-6")),
        ("claude-aria-7", messages_model(NEWEST.replace("opus-5-5", "fable-5-2"))),
    ],
)
def test_a_model_is_known_by_the_longest_prefix_of_its_name(model: str, facts: object) -> None:
    assert messages_model(model) == facts


def test_a_leftover_that_does_not_fit_is_left_out() -> None:
    body, lost = sent(leftovers={"anthropic_messages": {"service_tier": 7}, "openai_chat": {"logit_bias": {"1": 2}}})
    assert "service_tier" not in body
    assert kinds(lost) == [("logit_bias", "dropped")]


@pytest.mark.parametrize(
    "left",
    [
        {"tools": []},
        {"other_tools": {"a": 1}},
        {"spelling": 7},
        {"other_tools": [[2**63, {"type": "memory_20250818", "name": "memory"}]]},
        {"spelling": {"empty": [7], "reasoning": []}},
        {"spelling": {"messages": [[2**63, {"content": []}]]}},
        {"tools": {"f": {"spelling": {"allowed_callers": 7}}}},
        {"output_config": 7},
        {"message": 7},
        {"stop_details": []},
        {"block": 7, "spelling": {"asked": [7, 7], "lost": 7, "alone": [7], "empty": {"": 7}, "format": 7}},
        {"block": ["7", ""], "spelling": {"asked": ["7", ""], "lost": {"paths": 7}, "alone": {"servers": 7}}},
        {"messages": {"": [[0, 7], 7]}, "spelling": {"messages": "entries"}},
        {"model": 7, "messages": 7, "max_tokens": "x", "spelling": {"model": [None, ""], "max_tokens": ["7", ""]}},
    ],
)
def test_leftovers_that_this_wire_cannot_have_written_change_nothing_that_is_said(left: Plain) -> None:
    leftovers = {"anthropic_messages": left}
    options: Any = {"tools": [FunctionTool(name="f")], "reasoning": ReasoningOptions(effort="low")}
    body, lost = sent(Message(role="user", content=[InputText(text="Hi")]), **options)
    said = Message(role="user", content=[InputText(text="Hi", leftovers=leftovers)], leftovers=leftovers)
    forged, more = sent(said, **options, leftovers=leftovers)
    assert {name: forged[name] for name in body.keys() - {"messages"}} == {
        name: value for name, value in body.items() if name != "messages"
    }
    ((message,), (text,)) = forged["messages"], forged["messages"][0]["content"]
    assert (message["role"], text["type"], text["text"]) == ("user", "text", "Hi")
    assert {*kinds(lost)} <= {*kinds(more)}
