"""`Conversation`: what goes in and out, what is refused, and what is left without carriers."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_rest import (
    ConfigError,
    Conversation,
    DecodeError,
    FunctionCall,
    FunctionCallOutput,
    MemoryConversationStore,
    Message,
    wires,
)
from llm_rest.conversation import conversation
from llm_rest.responses import Compaction, InputImage, InputText, Reasoning, Request
from llm_rest.unknown import Unknown
from tests.laws.harness import every_wire
from tests.laws.rows import dialects, thoughts, vendors
from tests.laws.strategies import conversations
from tests.support import WIRES


def flat(turns: list[list[Any]]) -> list[Any]:
    return [item for turn in turns for item in turn]


@given(data=st.data())
def test_what_was_saved_or_stored_is_loaded_as_it_was(data: st.DataObject) -> None:
    turns = data.draw(conversations(thoughts(data.draw(st.sampled_from(WIRES))), rich=True))
    talk = Conversation(instructions="Be brief.")
    talk.set_context([("system", "Today is Monday."), ("agent", "Hello.")])
    with MemoryConversationStore() as store:
        store.create(talk)
        for items in turns:
            position = len(talk.items)
            talk.items += items
            talk.set_waiting("Which city?", "msg-7", tool_calls_completed=["search"])
            store.append(talk, position)
        assert store.get(talk.id) == talk
    back = Conversation.load(talk.save())
    assert back == talk
    assert back.save() == talk.save()
    assert Conversation.load(talk.save().decode()) == talk


@pytest.mark.parametrize(
    ("entry", "place"),
    [
        (3, "input[1]"),
        ({"role": "user"}, "input[1]"),
        ({}, "input[1]"),
        ({"type": "message", "role": "user", "content": 4}, "input[1].content"),
        ("half a character: \ud800", "input[1].content"),
    ],
)
def test_an_invalid_item_is_refused_and_nothing_is_added(entry: Any, place: str) -> None:
    talk = Conversation()
    with pytest.raises(ConfigError) as caught:
        talk.add("Hi", entry)
    assert place in str(caught.value)
    assert talk.items == []


def test_later_changes_of_an_added_item_change_nothing() -> None:
    said = Message(role="user", content=[InputText(text="Hi")])
    talk = Conversation()
    talk.add(said)
    said.content = "changed"
    note = Message(role="system", content="Monday")
    talk.set_context([note])
    note.content = "changed"
    other, saved = talk.fork(), talk.save()
    for item in (*other.items, *other.context):
        cast("Any", item).content = "changed"
    assert talk.items == [Message(role="user", content=[InputText(text="Hi")])]
    assert talk.context == [Message(role="system", content="Monday")]
    assert talk.save() == saved


SAVED = Conversation(items=[Message(role="user", content="Hi")]).save()


@pytest.mark.parametrize(
    ("data", "path", "words"),
    [
        (b"", "$", "saved conversation"),
        (b"{}", "$", "version"),
        (b"\xff\xfe", "$", ""),
        (SAVED[:-20], "$", ""),
        (SAVED.replace(b'"version":1', b'"version":2'), "$.version", "version 2"),
        (SAVED.replace(b'"version":1', b'"version":0'), "$.version", "version 0"),
        (SAVED.replace(b'"version":1', b'"version":2,"shape":{"of":"tomorrow"}'), "$.version", "update llm_rest"),
        (SAVED.replace(b'"type":"message"', b'"kind":"message"'), "$.items[0]", "type"),
        (SAVED.replace(b'"content":"Hi"', b'"content":7'), "$.items[0].content", ""),
        (SAVED.replace(b'"items":[', b'"items":[3,'), "$.items[0]", "object"),
        (SAVED.replace(b'"compacted":null', b'"compacted":{"count":9,"items":[]}'), "$.compacted.count", "up to 1"),
        (SAVED.replace(b'"context":[]', b'"context":[{"a":' + b"[" * 500 + b"]" * 500 + b"}]"), "$", "deep"),
    ],
)
def test_a_damaged_or_newer_save_is_refused_at_its_place(data: bytes, path: str, words: str) -> None:
    with pytest.raises(DecodeError) as caught:
        Conversation.load(data)
    assert caught.value.path == path
    assert words in str(caught.value)


def test_a_save_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "MAX_SIZE", 40)
    with pytest.raises(DecodeError) as caught:
        Conversation.load(SAVED)
    assert caught.value.limited


@given(cut=st.integers(0, len(SAVED) - 1), byte=st.integers(0, 255))
def test_any_damaged_byte_gives_a_conversation_or_a_decode_error(cut: int, byte: int) -> None:
    with suppress(DecodeError):  # and no other error
        assert Conversation.load(SAVED[:cut] + bytes([byte]) + SAVED[cut + 1 :]).version == 1


def test_a_fork_goes_its_own_way_and_clear_keeps_the_prompt() -> None:
    talk = Conversation(instructions="Be brief.")
    talk.set_context([("system", "Today is Monday.")])
    talk.add("Hi")
    other = talk.fork()
    other.add("there")
    other.set_system_prompt("Be long.")
    assert (len(talk.items), len(other.items)) == (1, 2)
    assert talk.instructions == "Be brief."
    assert other.id != talk.id
    before = talk.id
    talk.set_waiting("What?")
    talk.clear()
    assert (talk.items, talk.is_waiting_for_response, talk.instructions) == ([], False, "Be brief.")
    assert len(talk.context) == 1
    assert talk.id != before


def test_waiting_for_the_user_is_saved_and_ends() -> None:
    talk = Conversation()
    talk.set_waiting("Which city?", "msg-7", tool_calls_completed=["search", "f"])
    other = Conversation.load(Conversation(state=talk.state).save())
    pending = other.pending_context
    assert pending is not None
    assert pending.original_message_id == "msg-7"
    assert pending.tool_calls_completed == ["search", "f"]
    assert pending.last_agent_message == "Which city?"
    assert pending.created_at > 1_700_000_000
    other.clear_waiting()
    assert (other.is_waiting_for_response, talk.is_waiting_for_response) == (False, True)


ROWS = [
    {"role": "human", "content": "Weather in Oslo?"},
    {"role": "agent", "toolId": "a", "toolName": "weather", "toolInput": '{"city": "Oslo"}', "reasoning": "look"},
    {"role": "tool", "toolId": "a", "toolResult": "4 degrees"},
    {"role": "agent", "content": "Cold."},
]


def test_flat_rows_come_in_and_go_out_with_the_roles_agent_and_human() -> None:
    talk = Conversation.from_messages(ROWS, "rows")
    assert [type(item).__name__ for item in talk.items] == [
        *("Message", "Reasoning", "FunctionCall", "FunctionCallOutput", "Message")
    ]
    assert talk.to_messages("rows", agent_roles=True) == ROWS
    assert {row["role"] for row in talk.to_messages("rows")} == {"user", "assistant", "tool"}


def test_messages_of_a_wire_come_in_and_go_out() -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    talk = Conversation.from_messages(messages)
    assert talk.instructions == "Be brief."
    assert talk.to_messages() == messages
    assert talk.to_messages(agent_roles=True)[1]["role"] == "human"


@every_wire
@given(data=st.data())
def test_without_carriers_every_wire_takes_a_conversation_and_no_word_of_a_vendor_is_left(
    name: str, data: st.DataObject
) -> None:
    issued = data.draw(st.sampled_from(WIRES))
    talk = Conversation(items=flat(data.draw(conversations(thoughts(issued)))))
    plain = talk.without_carriers()
    text = plain.save().decode()
    assert re.findall(r'"(?:encrypted_content|phase)":|"leftovers":{|"(?:id|call_id)":"(?:fc|toolu|msg)_', text) == []
    dialect = dialects(name)[data.draw(vendors(name))]
    asked = [*plain.items, Message(role="user", content="Go on.")]
    _, lost = wires.load(name).encode_request(Request(model="m", input=asked), dialect=dialect)
    # Whether a host takes images, and by URL, is no matter of carriers.
    assert [loss for loss in lost if loss.kind == "refused" and "content" not in loss.path] == []


def test_without_carriers_drops_opaque_items_and_numbers_calls() -> None:
    talk = Conversation(
        items=[
            Message(role="user", content=[InputImage(file_id="file_1"), InputText(text="this?")], id="msg_1"),
            Reasoning(encrypted_content="gAAAA", summary=[]),
            FunctionCall(call_id="toolu_1", name="f", arguments="{}", id="fc_1", status="completed"),
            FunctionCallOutput(call_id="toolu_1", output="x"),
            Compaction(encrypted_content="abc"),
            Unknown({"type": "vendor:item"}),
        ]
    )
    assert talk.without_carriers().items == [
        Message(role="user", content=[InputText(text="[image]"), InputText(text="this?")]),
        FunctionCall(call_id="call_1", name="f", arguments="{}"),
        FunctionCallOutput(call_id="call_1", output="x"),
    ]
