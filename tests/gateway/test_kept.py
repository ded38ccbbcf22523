"""Conversations that a server keeps go on from the response that is named, and from no other."""

from __future__ import annotations

from typing import Any

import pytest

from llm_rest.responses import Request, Response
from llm_rest.responses.items import Message
from llm_rest.server.handler import Refused
from llm_rest.server.kept import Kept
from llm_rest.server.store import MemoryStore
from llm_rest.transport import drive


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


def test_a_kept_response_and_its_own_input_are_read_back() -> None:
    kept = Kept(MemoryStore())
    drive(kept.keep(Request(input="one"), response("r1", "first"), "s"))
    assert drive(kept.response("r1", "s")) == response("r1", "first")
    assert drive(kept.input("r1", "s")) == [Message(role="user", content="one")]
    assert drive(kept.response("r1", "mallory")) is None
