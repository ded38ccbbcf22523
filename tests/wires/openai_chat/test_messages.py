"""Items on their way into messages: content, calls and outputs, and the order this wire demands."""

from __future__ import annotations

from typing import Any

from llm_rest.responses import (
    ContentPart,
    InputText,
    Message,
)
from llm_rest.vendors.dialects import CHAT_HOSTS
from llm_rest.wires.openai_chat.tools import fit_call_id
from tests.wires.openai_chat import HI, OPENAI, messages


def user(*parts: ContentPart) -> Message:
    return Message(role="user", content=list(parts))


def assistant(*parts: ContentPart) -> Message:
    return Message(role="assistant", content=list(parts))


def content(*parts: ContentPart, dialect: Any = OPENAI) -> tuple[Any, list[str]]:
    """The content of a user message of these parts, and the losses."""
    found, lost = messages(user(*parts), dialect=dialect)
    return found[0]["content"], lost


# --- calls ----------------------------------------------------------------------------------------------------------


def test_mistral_takes_nine_letters_and_digits() -> None:
    """chat.request.48 and BUGS 34"""
    mistral = CHAT_HOSTS["mistral"]
    fitted = fit_call_id("call_x|fc_y", mistral)
    assert len(fitted) == 9
    assert fitted.isalnum()
    assert fit_call_id(fitted, mistral) == fitted
    assert fit_call_id("call_x|fc_z", mistral) != fitted


# --- the rest -------------------------------------------------------------------------------------------------------


def test_leftovers_of_items_and_parts_come_back_and_those_of_others_are_told() -> None:
    """chat.request.51"""
    part = InputText(text="a", leftovers={"openai_chat": {"tone": "calm"}, "anthropic_messages": {"citations": [1]}})
    item = Message(role="user", content=[part], leftovers={"openai_chat": {"name": "ada"}, "other": {"mood": 1}})
    found, lost = messages(item)
    assert found == [{"role": "user", "name": "ada", "content": [{"type": "text", "text": "a", "tone": "calm"}]}]
    assert lost == [
        "input[0].content[0].citations (dropped)",
        "input[0].mood (dropped)",
    ]


def test_a_name_stays_behind_where_the_host_refuses_it() -> None:
    """chat.request.56"""
    item = Message(role="user", content="Hi", leftovers={"openai_chat": {"name": "ada"}})
    assert messages(item, dialect=CHAT_HOSTS["groq"]) == ([HI], ["input[0].name (dropped)"])
