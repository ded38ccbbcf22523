"""Thinking: what a request asks for, what its model takes, and thoughts that go back unchanged or not at all."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from llm_rest import wires
from llm_rest.responses import (
    FunctionCall,
    FunctionCallOutput,
    FunctionTool,
    Message,
    Reasoning,
    ReasoningOptions,
    Request,
    SummaryText,
)
from llm_rest.responses.carriers import seal
from llm_rest.vendors.dialects import MessagesDialect
from llm_rest.wires import anthropic_messages as wire
from tests.support.facts import plain
from tests.wires.anthropic_messages.steps import (
    ADAPTIVE,
    NEW,
    NEWEST,
    OLD,
    Plain,
    answered,
    heard,
    kinds,
    read,
    replayed,
    sent,
    text,
    user,
)

ALWAYS, BETWEEN, EFFORT = NEWEST, "claude-sonnet-5-5", "claude-opus-4-5"


def asked(model: str, effort: str, max_tokens: int = 10_000) -> tuple[Any, Any, list[tuple[str, str]]]:
    body, lost = sent(model=model, reasoning=ReasoningOptions(effort=effort), max_output_tokens=max_tokens)
    return body.get("thinking"), body.get("output_config", {}).get("effort"), kinds(lost)


A = {"type": "adaptive"}
CHANGED = [("reasoning.effort", "changed")]


@pytest.mark.parametrize(
    ("model", "effort", "thinking", "sent_effort", "lost"),
    [
        pytest.param(NEW, "none", {"type": "disabled"}, None, [], id="anthropic.effort.1-disabled"),
        pytest.param(BETWEEN, "none", {"type": "between_tools"}, None, [], id="anthropic.effort.1-between"),
        pytest.param(ALWAYS, "none", None, "low", CHANGED, id="anthropic.effort.1-always"),
        pytest.param(OLD, "none", {"type": "disabled"}, None, [], id="anthropic.effort.1-budget"),
        pytest.param(NEW, "minimal", A, "low", CHANGED, id="anthropic.effort.2-minimal"),
        pytest.param(NEW, "low", A, "low", [], id="anthropic.effort.2-low"),
        pytest.param(OLD, "low", {"type": "enabled", "budget_tokens": 1024}, None, [], id="anthropic.effort.2-budget"),
        pytest.param(NEW, "medium", A, "medium", [], id="anthropic.effort.3-medium"),
        pytest.param(
            OLD, "medium", {"type": "enabled", "budget_tokens": 4000}, None, [], id="anthropic.effort.3-budget"
        ),
        pytest.param(OLD, "high", {"type": "enabled", "budget_tokens": 7000}, None, [], id="anthropic.effort.3-high"),
        pytest.param(
            EFFORT, "high", {"type": "enabled", "budget_tokens": 7000}, "high", [], id="anthropic.effort.3-both"
        ),
        pytest.param(NEW, "xhigh", A, "xhigh", [], id="anthropic.effort.4"),
        pytest.param(ADAPTIVE, "xhigh", A, "high", CHANGED, id="anthropic.effort.4-nearest"),
        pytest.param(NEW, "max", A, "max", [], id="anthropic.effort.5"),
        pytest.param(ADAPTIVE, "max", A, "max", [], id="anthropic.effort.5-family"),
        pytest.param(NEW, "extreme", A, "extreme", [], id="a word nobody knows passes"),
    ],
)
def test_efforts(model: str, effort: str, thinking: Any, sent_effort: Any, lost: list[tuple[str, str]]) -> None:
    """anthropic.request.29, BUGS 13"""
    assert asked(model, effort) == (thinking, sent_effort, lost)


def test_the_highest_efforts_are_larger_budgets() -> None:
    """anthropic.request.29"""
    assert asked(OLD, "xhigh")[0] == {"type": "enabled", "budget_tokens": 9000}
    assert asked(OLD, "max")[0] == {"type": "enabled", "budget_tokens": 9500}


def test_an_answer_too_short_to_think_is_not_thought_about() -> None:
    """anthropic.request.29"""
    assert asked(OLD, "high", 1000) == ({"type": "disabled"}, None, CHANGED)


def test_a_model_that_cannot_think_is_not_asked_to() -> None:
    assert asked("claude-3-5-haiku-latest", "high") == (None, None, [("reasoning.effort", "dropped")])


def test_a_summary_is_thinking_that_is_shown() -> None:
    """anthropic.request.30"""
    body, lost = sent(reasoning=ReasoningOptions(effort="high", summary="auto"))
    assert (body["thinking"], lost) == ({"type": "adaptive", "display": "summarized"}, [])
    body, lost = sent(model=ALWAYS, reasoning=ReasoningOptions(summary="detailed"))
    assert (body["thinking"], kinds(lost)) == (
        {"type": "adaptive", "display": "summarized"},
        [("reasoning.summary", "changed")],
    )
    assert kinds(sent(reasoning=ReasoningOptions(summary="auto"))[1]) == [("reasoning.summary", "dropped")]
    assert kinds(sent(reasoning=ReasoningOptions(mode="pro"))[1]) == [("reasoning.mode", "dropped")]


def test_a_forced_call_is_made_without_a_thinking_budget() -> None:
    body, lost = sent(
        model=OLD, reasoning=ReasoningOptions(effort="high"), tools=[FunctionTool(name="f")], tool_choice="required"
    )
    assert (body["thinking"], kinds(lost)) == ({"type": "disabled"}, [("reasoning", "changed")])


def test_a_turn_whose_thoughts_went_missing_goes_on_without_thinking() -> None:
    """BUGS 14"""
    called = [FunctionCall(call_id="a", name="f", arguments="{}"), FunctionCallOutput(call_id="a", output="4")]
    body, lost = sent(user(), *called, model=OLD, reasoning=ReasoningOptions(effort="high"))
    assert (body["thinking"], kinds(lost)) == ({"type": "disabled"}, [("reasoning", "changed")])
    (thought,) = heard({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, role="assistant")
    body, lost = sent(user(), thought, *called, *called, model=OLD, reasoning=ReasoningOptions(effort="high"))
    assert (body["thinking"]["type"], lost) == ("enabled", [])


def test_sampling_is_not_for_a_model_that_thinks() -> None:
    """anthropic.request.24"""
    think = ReasoningOptions(effort="high")
    body, lost = sent(model=OLD, temperature=1, reasoning=think)
    assert (body["temperature"], lost) == (1, []), "it says what thinking means anyway"
    body, lost = sent(model=OLD, temperature=0.5, top_p=0.97, top_k=3, reasoning=think)
    assert (body["top_p"], kinds(lost)) == (0.97, [("temperature", "dropped"), ("top_k", "dropped")])
    assert kinds(sent(model=OLD, top_p=0.5, reasoning=think)[1]) == [("top_p", "dropped")]


# --- thoughts that return -------------------------------------------------------------------------------------------

THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln+/="}
SECRET = {"type": "redacted_thinking", "data": "opaque=="}
HIDDEN = {"type": "thinking", "thinking": "", "signature": "x"}
CALL = {"type": "tool_use", "id": "a", "name": "f", "input": {"b": 1, "a": 2}}
RESULT = FunctionCallOutput(call_id="a", output="4")


@pytest.mark.parametrize(
    "blocks",
    [
        [THOUGHT, SECRET, text("I look."), CALL],
        [HIDDEN, CALL],
        [THOUGHT, CALL, HIDDEN, {**CALL, "id": "b"}],
        [{**THOUGHT, "new": [1.0]}, {**SECRET, "new": {"a": None}}, CALL],
    ],
)
def test_thoughts_return_in_their_place_as_they_came(blocks: list[Plain]) -> None:
    """anthropic.response.5, anthropic.response.6, anthropic.request.16, BUGS 1 and 8"""
    response = answered(*blocks, stop_reason="tool_use")
    outputs = [FunctionCallOutput(call_id=block["id"], output="4") for block in blocks if block["type"] == "tool_use"]
    assert replayed(response, *outputs) == blocks


def test_a_thought_shows_its_text_and_seals_its_signature() -> None:
    """anthropic.response.5"""
    (item,) = answered(THOUGHT).output
    assert isinstance(item, Reasoning)
    assert item.summary == [SummaryText(text="Hm.")]
    assert isinstance(item.encrypted_content, str)
    assert item.encrypted_content.startswith("llm_rest.1.anthropic_messages.anthropic.")
    (item,) = answered(HIDDEN).output
    assert isinstance(item, Reasoning)
    assert item.summary == []


def thought(**changes: Any) -> Reasoning:
    (item,) = answered(THOUGHT).output
    assert isinstance(item, Reasoning)
    for name, value in changes.items():
        setattr(item, name, value)
    return item


@pytest.mark.parametrize(
    ("item", "kind"),
    [
        (thought(summary=[SummaryText(text="Hm!")]), "dropped"),
        (thought(summary=[]), "dropped"),
        (thought(encrypted_content=f"{thought().encrypted_content}AA"), "dropped"),
        (thought(encrypted_content="llm_rest.1.anthropic_messages.anthropic.e30"), "dropped"),
        (thought(encrypted_content=seal("anthropic_messages", "kimi", {"kind": "thinking"})), "withheld"),
        (thought(encrypted_content="gAAAA"), "withheld"),
        (thought(encrypted_content=None), "dropped"),
    ],
)
def test_a_thought_that_was_touched_does_not_return(item: Reasoning, kind: str) -> None:
    """anthropic.request.16"""
    body, lost = sent(user(), item, Message(role="assistant", content="Hello."), user())
    assert body["messages"][1] == {"role": "assistant", "content": "Hello."}
    assert kinds(lost) == [("input[1]", kind)]


def test_a_reasoning_item_that_holds_nothing_is_nothing() -> None:
    assert sent(user(), Reasoning(summary=[]), user())[1] == []


def test_a_thought_of_another_host_of_this_wire_waits_for_it() -> None:
    """anthropic.request.16"""
    kimi = MessagesDialect(issuer="kimi")
    body = {
        "id": "m",
        "type": "message",
        "model": "k",
        "content": [THOUGHT],
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    response, _ = wire.decode_response(wire.RESPONSE.decode(msgspec.json.encode(body)), dialect=kimi)
    request = Request(model=NEW, input=[user(), *response.output, user()])
    assert kinds(wire.encode_request(request)[1]) == [("input[1]", "withheld")]
    back, lost = wire.encode_request(request, dialect=kimi)
    assert (plain(back)["messages"][1]["content"], lost) == ([THOUGHT], [])


def test_the_order_of_thoughts_of_another_model_is_kept() -> None:
    """anthropic.hard.13"""
    response = answered(THOUGHT, text("Hello."), model="claude-opus-4-6")
    assert replayed(response, user(), model=NEWEST) == [THOUGHT, text("Hello.")]


# --- documents of this wire -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "fields", "effort", "summary"),
    [
        pytest.param(
            OLD,
            {"thinking": {"type": "enabled", "budget_tokens": 24}},
            "low",
            None,
            id="anthropic.request_back.10-low",
        ),
        pytest.param(
            OLD,
            {"thinking": {"type": "enabled", "budget_tokens": 50}},
            "medium",
            None,
            id="anthropic.request_back.10-m",
        ),
        pytest.param(
            OLD,
            {"thinking": {"type": "enabled", "budget_tokens": 60}},
            "high",
            None,
            id="anthropic.request_back.10-high",
        ),
        pytest.param(NEW, {"output_config": {"effort": "low"}}, "low", None, id="anthropic.request_back.10-effort"),
        pytest.param(NEW, {"thinking": {"type": "disabled"}}, "none", None, id="anthropic.request_back.11"),
        pytest.param(
            NEW, {"thinking": {"type": "adaptive", "display": "summarized"}}, "high", "auto", id="adaptive, shown"
        ),
        pytest.param(
            NEW, {"thinking": {"type": "adaptive", "display": "omitted", "new": 1}}, "high", None, id="hidden"
        ),
        pytest.param(
            NEW, {"thinking": {"type": "adaptive"}, "output_config": {"effort": None}}, "high", None, id="null"
        ),
    ],
)
def test_thinking_of_a_document(model: str, fields: Plain, effort: Any, summary: Any) -> None:
    """anthropic.request_back.10 and anthropic.request_back.11"""
    reasoning = read(model=model, **fields).reasoning
    assert reasoning == ReasoningOptions(effort=effort, summary=summary)


def test_a_spelling_is_used_only_while_it_says_the_same() -> None:
    request = read(model=OLD, max_tokens=8000, thinking={"type": "enabled", "budget_tokens": 2222})
    assert request.reasoning
    request.reasoning.effort = "high"
    body, _ = wire.encode_request(request)
    assert plain(body)["thinking"]["budget_tokens"] == 5600


@pytest.mark.parametrize("name", [name for name in wires.NAMES if name != "anthropic_messages"])
def test_a_budget_and_a_cache_lifetime_that_are_near_something_are_reported_as_changed(name: str) -> None:
    lasting = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    document = {
        "model": OLD,
        "max_tokens": 20_000,
        "thinking": {"type": "enabled", "budget_tokens": 5000},
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi", **lasting}]}],
        **lasting,
    }
    request, lost = wire.decode_request(wire.REQUEST.decode(json.dumps(document).encode()))
    assert lost == []
    _, lost = wires.load(name).encode_request(request)
    changed = {loss.path: loss.what for loss in lost if loss.kind == "changed"}
    assert "5000 tokens" in changed["thinking.budget_tokens"]
    assert "1h" in changed["cache_control.ttl"]
    assert "1h" in changed["input[0].content[0].cache_control.ttl"]
    again, lost = wire.encode_request(request)
    assert (plain(again), lost) == (document, [])
