"""The short road for ordinary conversations and answers goes where the long one goes."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from llm_rest.responses import AnyItem, FunctionCall, FunctionCallOutput, Message, OutputText, Request
from llm_rest.unknown import Unknown
from llm_rest.wires import anthropic_messages as wire

NOTHING: dict[str, dict[str, Any]] = {"openai_chat": {"spelling": {}}}
"""Leftovers that say nothing, and have a conversation looked at item by item."""

texts = st.sampled_from(["Hi", "", " ", "Hello\nthere"])
ids = st.sampled_from(["call_1", "call_2", "not.legal", "to-olu"])


def said(text: str) -> OutputText:
    return OutputText(text=text, annotations=[])


items: st.SearchStrategy[AnyItem] = st.one_of(
    st.builds(Message, role=st.sampled_from(["user", "assistant", "system"]), content=texts),
    st.builds(Message, role=st.just("assistant"), content=st.lists(st.builds(said, texts), max_size=2)),
    st.builds(FunctionCall, call_id=ids, name=st.just("f"), arguments=st.sampled_from(["{}", '{"a": 1}', "", "[1]"])),
    st.builds(FunctionCallOutput, call_id=ids, output=texts),
)


@settings(max_examples=300)
@given(st.lists(items, max_size=8))
def test_a_conversation_is_the_same_on_both_roads(conversation: list[AnyItem]) -> None:
    looked_at = [item if isinstance(item, Unknown) else replace(item, leftovers=NOTHING) for item in conversation]
    short, lost = wire.encode_request(Request(model="claude-haiku-4-5", input=conversation))
    long, lost_too = wire.encode_request(Request(model="claude-haiku-4-5", input=looked_at))
    assert msgspec.json.encode(short) == msgspec.json.encode(long)
    assert lost == lost_too


@given(st.lists(st.sampled_from(["text", "tool_use"]), max_size=4), st.sampled_from(["end_turn", "tool_use"]))
def test_an_answer_is_the_same_on_both_roads(kinds: list[str], stop: str) -> None:
    """The long road also keeps what only some answers say."""
    content = [
        {"type": "text", "text": "Hi"}
        if kind == "text"
        else {"type": "tool_use", "id": f"t{i}", "name": "f", "input": {}}
        for i, kind in enumerate(kinds)
    ]
    usage = {"input_tokens": 3, "output_tokens": 4, "service_tier": "standard"}
    answer = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content}
    answer |= {"stop_reason": stop, "stop_sequence": None, "stop_details": None, "usage": usage}
    short, _ = wire.decode_response(wire.RESPONSE.decode(msgspec.json.encode(answer)))
    long, _ = wire.decode_response(wire.RESPONSE.decode(msgspec.json.encode({**answer, "diagnostics": {"a": 1}})))
    own = long.leftovers["anthropic_messages"] if long.leftovers else {}
    assert own.pop("diagnostics") == {"a": 1}
    assert replace(short, leftovers={"anthropic_messages": {}}) == replace(long, leftovers={"anthropic_messages": {}})
    assert (short.leftovers or {"anthropic_messages": {}})["anthropic_messages"] == own
