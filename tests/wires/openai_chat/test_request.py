"""Requests on their way to a host of the Chat wire: options, tools and formats. Messages are in test_messages.py."""

from __future__ import annotations

from typing import Any

import pytest

from llm_rest.responses import (
    ContextManagement,
    FunctionTool,
    Request,
)
from llm_rest.vendors.dialects import CHAT_HOSTS, ChatDialect
from llm_rest.wires import openai_chat as wire
from tests.wires.openai_chat import HI, OPENAI, plain, sent

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER = FunctionTool(name="weather", parameters=SCHEMA, strict=False)
NOW = FunctionTool(name="now", strict=False)


def option(dialect: ChatDialect = OPENAI, /, **fields: Any) -> tuple[dict[str, Any], list[str]]:
    """What a request with these fields adds to the body, and the losses."""
    body, lost = sent(Request(**fields), dialect)
    body.pop("messages")
    return body, lost


# --- the conversation -----------------------------------------------------------------------------------------------


def test_messages_come_last_in_the_body_so_that_a_longer_conversation_begins_with_the_same_bytes() -> None:
    """BUGS 81"""
    body, _ = sent(Request(model="m", input="Hi", tools=[WEATHER], temperature=0.5, max_output_tokens=9))
    assert list(body)[-1] == "messages"


# --- options --------------------------------------------------------------------------------------------------------


def test_nothing_is_cut_unless_it_is_asked_for_and_then_it_cannot_be_sent() -> None:
    """chat.request.42 and chat.request.43"""
    assert option(truncation="disabled") == ({}, [])
    assert option(truncation="auto") == ({}, ["truncation (refused)"])
    assert option(context_management=[ContextManagement()]) == ({}, ["context_management (refused)"])


# --- tools ----------------------------------------------------------------------------------------------------------


def tools(*given: Any, dialect: ChatDialect = OPENAI, **options: Any) -> tuple[list[Any], list[str]]:
    body, lost = sent(Request(tools=list(given), **options), dialect)
    return body.get("tools", []), lost


# --- tool choice ----------------------------------------------------------------------------------------------------


def choice(given: Any, dialect: ChatDialect = OPENAI, **options: Any) -> tuple[Any, list[str], list[str]]:
    """The choice, the names of the tools offered, and the losses."""
    body, lost = sent(Request(tools=[WEATHER, NOW], tool_choice=given, **options), dialect)
    return body.get("tool_choice"), [tool["function"]["name"] for tool in body.get("tools", [])], lost


# --- the caller's own -----------------------------------------------------------------------------------------------


def test_leftovers_of_this_wire_come_back_and_those_of_others_are_told() -> None:
    """chat.request.51"""
    left = {"openai_chat": {"logit_bias": {"1": 2}}, "anthropic_messages": {"container": "c"}}
    assert option(leftovers=left) == ({"logit_bias": {"1": 2}}, ["container (dropped)"])


def test_a_leftover_that_the_host_does_not_take_stays_behind_too() -> None:
    """chat.request.56"""
    left = {"openai_chat": {"logit_bias": {"1": 2}}}
    assert option(CHAT_HOSTS["groq"], leftovers=left) == ({}, ["logit_bias (dropped)"])


@pytest.mark.parametrize(
    "left",
    [
        {"spelling": 5, "tools": 5, "messages": 5, "reasoning": 5, "stream_options": 5},
        {"spelling": {"tool_choice": 5, "stream_options": 5, "max_output_tokens": 5, "seed": [], "effort": 5}},
        {"tools": {"now": 5}, 'a"b': 1},
    ],
)
def test_leftovers_from_anywhere_cannot_break_a_conversion(left: dict[str, Any]) -> None:
    request = Request(
        input="Hi",
        tools=[NOW],
        tool_choice="auto",
        max_output_tokens=5,
        seed=5,
        stream=True,
        leftovers={"openai_chat": left},
    )
    body, _ = wire.encode_request(request)
    assert plain(body)["messages"] == [HI]


@pytest.mark.parametrize(
    ("dialect", "path"),
    [
        (OPENAI, "/chat/completions"),
        (CHAT_HOSTS["ollama"], "/v1/chat/completions"),
        (ChatDialect(path="/d/{model}"), "/d/a%2Fb"),
    ],
)
def test_the_route_is_a_fact_of_the_host(dialect: ChatDialect, path: str) -> None:
    assert wire.route(Request(model="a/b"), dialect=dialect, stream=True).path == path
