"""Stored conversations: a request continues from the response that it names, and from no other.

Calls, references and connections are tested over HTTP and WebSockets, in `test_references.py` and `test_sockets.py`.
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from llm_rest.client.reply import Reply
from llm_rest.responses import Request, Response
from llm_rest.responses.items import Compaction, FunctionCall, ItemReference, Message
from llm_rest.server.handler import Context, Refused
from llm_rest.server.history import compacted_by_summary, with_open_summaries
from llm_rest.server.store import MemoryStore
from llm_rest.server.stored import Room, Session, StoredTurns, continued
from llm_rest.sync import drive


def response(name: str, text: str) -> Response:
    return Response(id=name, status="completed", output=[Message(role="assistant", content=text)])


def said(request: Request) -> list[Any]:
    assert isinstance(request.input, list)
    return [item.content for item in request.input if isinstance(item, Message)]


CONTEXT = Context(wire="openai_responses", dialect=None, vendor=None, headers={}, body=b"")


def two_turns() -> StoredTurns:
    """What is stored of a conversation of two turns."""
    kept = StoredTurns(MemoryStore(), "s")
    drive(kept.keep(Request(model="m", input="one", instructions="Be brief."), response("r1", "first")))
    drive(kept.keep(Request(model="m", input="two", previous_response_id="r1"), response("r2", "second")))
    return kept


def test_a_request_continues_from_any_turn_before_without_its_instructions() -> None:
    for name, before in {"r2": ["one", "first", "two", "second"], "r1": ["one", "first"]}.items():
        asked = drive(continued(Request(model="m", input="three", previous_response_id=name), two_turns()))
        assert said(asked) == [*before, "three"]
        assert not asked.previous_response_id
        assert not asked.instructions


def test_a_turn_whose_history_was_deleted_is_not_found() -> None:
    kept = two_turns()
    assert drive(kept.forget("r1"))
    with pytest.raises(Refused, match="r2"):
        drive(continued(Request(input="three", previous_response_id="r2"), kept))


def test_a_conversation_that_continues_itself_is_refused() -> None:
    kept = two_turns()
    drive(kept.keep(Request(input="one", previous_response_id="r2"), response("r1", "first")))
    for name in ("r1", "r2"):
        with pytest.raises(Refused, match=f"'{name}' continues itself"):
            drive(continued(Request(input="three", previous_response_id=name), kept))


def test_a_session_goes_on_from_its_own_turns_and_from_those_before_it() -> None:
    kept, session = StoredTurns(MemoryStore(), "s"), Session(MemoryStore())
    drive(kept.keep(Request(input="one"), response("r1", "first")))
    drive(session.keep(Request(input="two", previous_response_id="r1"), response("r2", "second")))
    asked = Request(input="three", previous_response_id="r2")
    assert said(drive(continued(asked, session, kept))) == ["one", "first", "two", "second", "three"]
    with pytest.raises(Refused):
        drive(continued(asked, kept))


def test_sessions_share_a_store_and_nothing_in_it_and_leave_nothing_behind() -> None:
    store = MemoryStore()
    kept, one, two = StoredTurns(store, "s"), Session(store), Session(store)
    for session, text in ((one, "left"), (two, "right")):
        drive(session.keep(Request(input=text), response("r1", "answer")))
    for session, text in ((one, "left"), (two, "right")):
        asked = Request(input="on", previous_response_id="r1")
        assert said(drive(continued(asked, session, kept))) == [text, "answer", "on"]
    drive(one.end())
    assert drive(one.turn("r1")) is None
    assert drive(two.turn("r1")) is not None
    drive(two.end())
    assert not store._kept


def test_what_a_conversation_is_made_of_is_measured_before_it_is_read() -> None:
    held: list[int] = []
    room = Room(replace(CONTEXT, hold=held.append))
    drive(continued(Request(input="three", previous_response_id="r2"), two_turns(), room=room))
    assert len(held) == 1
    assert sum(held) > 200


def named(*names: str, **fields: Any) -> Request:
    return Request(model="m", input=[*(ItemReference(id=name) for name in names), *fields.pop("more", [])], **fields)


def test_items_of_a_deleted_response_are_gone() -> None:
    store = MemoryStore()
    kept = StoredTurns(store, "s")
    for name in ("r1", "r2"):
        items: list[Any] = [
            Message(id=f"msg_{name}", role="assistant", content="first"),
            FunctionCall(id="same", call_id="c", name="f", arguments=f'"{name}"'),
        ]
        drive(kept.keep(Request(input="one"), Response(id=name, status="completed", output=items)))
    assert drive(kept.forget("r1"))
    with pytest.raises(Refused, match="Item with id 'msg_r1' not found"):
        drive(continued(named("msg_r1"), kept))
    assert drive(continued(named("msg_r2", "same"), kept)).input == items
    assert drive(kept.forget("r2"))
    assert not store._kept


def test_references_in_a_stored_turn_are_resolved_when_a_request_continues_it() -> None:
    kept = StoredTurns(MemoryStore(), "s")
    said = Message(id="msg_1", role="assistant", content="first")
    drive(kept.keep(Request(input="one"), Response(id="r1", status="completed", output=[said])))
    user = Message(role="user", content="two")
    drive(kept.keep(named("msg_1", more=[user]), response("r2", "second")))
    asked = drive(continued(Request(input="three", previous_response_id="r2"), kept))
    assert asked.input == [said, user, *response("", "second").output, Message(role="user", content="three")]


# --- compaction -----------------------------------------------------------------------------------------------------


def test_a_summary_is_sealed_and_opened_for_the_model_again() -> None:
    said = [Message(role=role, content=role) for role in ("user", "assistant", "user")]
    answer = Reply(id="r", status="completed", output=[Message(role="assistant", content="The word: slate.")])
    found = compacted_by_summary(Request(model="m", input=[*said]), answer)
    *users, last = found.output
    assert [item.content for item in users if isinstance(item, Message)] == ["user", "user"]
    assert isinstance(last, Compaction)
    assert "slate" not in last.encrypted_content
    opened = next(iter(with_open_summaries(Request(model="m", input=[last])).input or ()))
    assert isinstance(opened, Message)
    assert (opened.role, str(opened.content).endswith("The word: slate.")) == ("user", True)
    vendors = Request(model="m", input=[Compaction(encrypted_content="gAAAA")])
    assert with_open_summaries(vendors) == vendors, "what a vendor compacted is left for the vendor"
