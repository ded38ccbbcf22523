"""What hosts, proxies and newer clients leave out, send as null or add returns as it came, and is told to other wires."""

from __future__ import annotations

import msgspec

from llm_rest.responses import Message, OutputText
from llm_rest.wires import anthropic_messages as wire
from tests.wires.anthropic_messages.steps import Plain, text

# --- answers --------------------------------------------------------------------------------------------------------


ANSWER: Plain = {"type": "message", "role": "assistant", "content": [text("Hi")], "stop_reason": "end_turn"}


def test_an_answer_without_an_id_has_one_in_responses_and_the_same_each_time() -> None:
    """anthropic.response.23"""
    response, again = (wire.decode_response(wire.RESPONSE.decode(msgspec.json.encode(ANSWER)))[0] for _ in range(2))
    assert response == again
    assert response.id.startswith("msg_")
    assert (response.model, response.usage) == ("", None)
    (message,) = response.output
    assert message == Message(
        id=f"msg_{response.id}_0",
        role="assistant",
        status="completed",
        content=[OutputText(text="Hi", annotations=[])],
    )
