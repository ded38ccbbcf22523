"""Requests from clients of this wire, and the answers they get: other vendors behind a gateway included."""

from __future__ import annotations

from llm_rest.responses import (
    InputText,
    Message,
)
from tests.wires.anthropic_messages.steps import heard, sent, text

# --- requests -------------------------------------------------------------------------------------------------------


def test_a_search_result_is_shown_and_returns_until_its_text_is_changed() -> None:
    """anthropic.request_back.7"""
    block = {
        "type": "search_result",
        "title": "T",
        "source": "S",
        "content": [text("a")],
        "citations": {"enabled": True},
    }
    (message,) = heard(block)
    assert isinstance(message, Message)
    part = message.content[0]
    assert isinstance(part, InputText)
    assert part.text == "T\nS\n\na"
    part.text = "Other."
    assert sent(message)[0]["messages"][0]["content"] == [text("Other.")]
