"""Conversations that a server keeps go on from the response that is named, and from no other."""

from __future__ import annotations

from typing import Any

import pytest

from llm_rest.driving import drive
from llm_rest.responses import Request, Response
from llm_rest.responses.items import FunctionCall, FunctionCallOutput, Message
from llm_rest.server.handler import Refused
from llm_rest.server.kept import Kept, Session
from llm_rest.server.store import MemoryStore


def response(name: str, text: str) -> Response:
    return Response(id=name, status="completed", output=[Message(role="assistant", content=text)])


def said(request: Request) -> list[Any]:
    assert isinstance(request.input, list)
    return [item.content for item in request.input if isinstance(item, Message)]


def test_a_request_goes_on_from_the_turns_before() -> None:
    kept = Kept(MemoryStore())
    drive(kept.keep(Request(model="m", input="one"), response("r1", "first"), "s"))
    drive(kept.keep(Request(model="m", input="two", previous_response_id="r1"), response("r2", "second"), "s"))
    asked = drive(kept.continued(Request(model="m", input="three", previous_response_id="r2"), "s"))
    assert said(asked) == ["one", "first", "two", "second", "three"]
    assert not asked.previous_response_id


def test_instructions_are_not_carried_over() -> None:
    kept = Kept(MemoryStore())
    drive(kept.keep(Request(model="m", input="one", instructions="Be brief."), response("r1", "first"), "s"))
    assert not drive(kept.continued(Request(input="two", previous_response_id="r1"), "s")).instructions


def test_two_requests_go_on_from_one_response() -> None:
    kept = Kept(MemoryStore())
    drive(kept.keep(Request(input="one"), response("r1", "first"), "s"))
    for text in ("left", "right"):
        asked = drive(kept.continued(Request(input=text, previous_response_id="r1"), "s"))
        assert said(asked) == ["one", "first", text]


@pytest.mark.parametrize(("name", "scope"), [("r9", "s"), ("r1", "mallory")])
def test_what_is_not_there_is_not_found_and_neither_is_what_belongs_to_somebody_else(name: str, scope: str) -> None:
    kept = Kept(MemoryStore())
    drive(kept.keep(Request(input="one"), response("r1", "first"), "s"))
    with pytest.raises(Refused) as caught:
        drive(kept.continued(Request(input="two", previous_response_id=name), scope))
    assert (caught.value.facts.status, caught.value.facts.code) == (400, "previous_response_not_found")


def test_a_turn_whose_history_was_deleted_is_not_found() -> None:
    kept = Kept(MemoryStore())
    drive(kept.keep(Request(input="one"), response("r1", "first"), "s"))
    drive(kept.keep(Request(input="two", previous_response_id="r1"), response("r2", "second"), "s"))
    assert drive(kept.forget("r1", "s"))
    with pytest.raises(Refused, match="r2"):
        drive(kept.continued(Request(input="three", previous_response_id="r2"), "s"))


def test_a_kept_turn_is_read_back_by_its_own_scope() -> None:
    kept = Kept(MemoryStore())
    drive(kept.keep(Request(input="one"), response("r1", "first"), "s"))
    turn = drive(kept.turn("r1", "s"))
    assert turn is not None
    assert turn.response == response("r1", "first")
    assert turn.input == [Message(role="user", content="one")]
    assert drive(kept.turn("r1", "mallory")) is None


def test_a_result_needs_a_call_in_the_conversation() -> None:
    kept = Kept(MemoryStore())
    called = Response(id="r1", status="completed", output=[FunctionCall(call_id="c1", name="f", arguments="{}")])
    drive(kept.keep(Request(input="one"), called, "s"))
    for name in ("c1", "c2"):
        asked = Request(input=[FunctionCallOutput(call_id=name, output="1")], previous_response_id="r1")
        if name == "c1":
            assert len(drive(kept.continued(asked, "s")).input or ()) == 3
        else:
            with pytest.raises(Refused, match="No tool call found for function call output with call_id c2"):
                drive(kept.continued(asked, "s"))


def test_a_session_goes_on_from_its_own_turns_and_from_those_before_it() -> None:
    kept, session = Kept(MemoryStore()), Session(MemoryStore())
    drive(kept.keep(Request(input="one"), response("r1", "first"), "s"))
    drive(session.keep(Request(input="two", previous_response_id="r1"), response("r2", "second"), "s"))
    asked = Request(input="three", previous_response_id="r2")
    assert said(drive(kept.continued(asked, "s", session))) == ["one", "first", "two", "second", "three"]
    with pytest.raises(Refused):
        drive(kept.continued(asked, "s"))


def test_sessions_share_a_store_and_nothing_in_it_and_leave_nothing_behind() -> None:
    store = MemoryStore()
    kept, one, two = Kept(store), Session(store), Session(store)
    for session, text in ((one, "left"), (two, "right")):
        drive(session.keep(Request(input=text), response("r1", "answer"), "s"))
    for session, text in ((one, "left"), (two, "right")):
        asked = Request(input="on", previous_response_id="r1")
        assert said(drive(kept.continued(asked, "s", session))) == [text, "answer", "on"]
    drive(one.end())
    assert drive(one.turn("r1", "s")) is None
    assert drive(two.turn("r1", "s")) is not None
    drive(two.end())
    assert not store._kept


def test_what_a_conversation_is_put_together_from_is_told_before_it_is_read() -> None:
    kept = Kept(MemoryStore())
    drive(kept.keep(Request(input="x" * 1000), response("r1", "first"), "s"))
    drive(kept.keep(Request(input="two", previous_response_id="r1"), response("r2", "second"), "s"))
    held: list[int] = []
    drive(kept.continued(Request(input="three", previous_response_id="r2"), "s", hold=held.append))
    assert len(held) == 2
    assert sum(held) > 1000
