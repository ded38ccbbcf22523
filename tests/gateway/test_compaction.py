"""A conversation is compacted by asking for a summary, which only the server opens again."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from llm_rest.client.reply import Reply
from llm_rest.conversation.limits import summary_request
from llm_rest.responses import Request
from llm_rest.responses.items import Compaction, Message
from llm_rest.server.history import compacted_by_summary, with_open_summaries

ASKED = Request(
    model="m",
    input=[
        Message(role="user", content="The code word is slate."),
        Message(role="assistant", content="OK."),
        Message(role="user", content="Compress this."),
    ],
)
ANSWER = Reply(id="resp_1", status="completed", output=[Message(role="assistant", content="The word: slate.")])


def texts(items: Any) -> list[Any]:
    return [item.content for item in items if isinstance(item, Message)]


def test_the_model_is_asked_after_all_that_was_said() -> None:
    asked = summary_request(replace(ASKED, instructions="Be kind."))
    assert isinstance(asked.input, list)
    assert asked.input[:3] == ASKED.input
    assert "summary" in texts(asked.input)[3]
    assert asked.instructions == "Be kind."
    assert asked.store is False


def test_what_the_user_said_stays_and_the_summary_is_sealed() -> None:
    found = compacted_by_summary(ASKED, ANSWER)
    *users, last = found.output
    assert texts(users) == ["The code word is slate.", "Compress this."]
    assert isinstance(last, Compaction)
    assert "slate" not in last.encrypted_content
    assert found.object == "response.compaction"


def test_the_summary_is_told_to_the_model_when_it_returns() -> None:
    found = compacted_by_summary(ASKED, ANSWER)
    again = with_open_summaries(Request(model="m", input=[*found.output, Message(role="user", content="Go on.")]))
    assert isinstance(again.input, list)
    assert texts(again.input)[2].endswith("The word: slate.")
    assert {item.role for item in again.input if isinstance(item, Message)} == {"user"}


def test_the_compaction_of_a_vendor_is_left_for_the_vendor() -> None:
    request = Request(model="m", input=[Compaction(encrypted_content="gAAAA")])
    assert with_open_summaries(request) == request
