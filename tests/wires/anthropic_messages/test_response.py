"""An answer of the vendor as a Response: blocks, how it ended, what it cost; and what returns with the next turn."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llm_rest.errors import DecodeError
from llm_rest.responses import (
    FileCitation,
    FunctionCallOutput,
    Message,
    OutputText,
    Reasoning,
    UrlCitation,
)
from llm_rest.wires import anthropic_messages as wire
from tests.wires.anthropic_messages.steps import NEW, answered, kinds, read, replayed, sent, text, user
from tests.wires.anthropic_messages.streamed import decoded

CITED = {
    "type": "web_search_result_location",
    "url": "https://r.org",
    "title": "R",
    "encrypted_index": "i==",
    "cited_text": "c",
}


def test_citations_are_annotations_and_return_whole() -> None:
    """anthropic.response.4, anthropic.request.59 and BUGS 89"""
    page = {"type": "page_location", "document_index": 0, "document_title": "D", "start_page_number": 1}
    page |= {"end_page_number": 2, "cited_text": "c", "file_id": "file_1"}
    found = {"type": "search_result_location", "search_result_index": 0, "source": "https://s.org", "title": None}
    found |= {"start_block_index": 0, "end_block_index": 1, "cited_text": "c"}
    blocks = [text("By sea. "), text("Rivers.", citations=[CITED, page, found]), text("Plain.", citations=[])]
    response = answered(*blocks)
    message, carrier = response.output
    assert isinstance(message, Message)
    assert isinstance(carrier, Reasoning)
    cited = message.content[1]
    assert isinstance(cited, OutputText)
    whole: Any = {"start_index": 0, "end_index": 7}
    first: Any = {"cited_text": "c", "document_index": 0, **whole}
    assert cited.annotations == [
        UrlCitation(url="https://r.org", title="R", cited_text="c", **whole),
        FileCitation(file_id="file_1", filename="D", index=7, unit="pages", start=1, end=2, **first),
        UrlCitation(url="https://s.org", title=None, unit="blocks", start=0, end=1, **first),
    ]
    # Sent back, the name of the file is refused.
    blocks[1]["citations"][1].pop("file_id")
    assert replayed(response, user()) == blocks


BLANK: Any = {
    "between cited texts": [text("Paris is", citations=[CITED]), text(" "), text("old.", citations=[CITED])],
    "between plain texts": [text("Paris is"), text("\n"), text("old.")],
    "before a thought": [text("\n\n"), {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, text("Old.")],
    "after a thought": [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, text("\n\n")],
    "before a call": [text("\n\n"), {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}],
}


@pytest.mark.parametrize("blocks", BLANK.values(), ids=BLANK)
def test_blank_text_of_the_vendor_stays_in_the_history(blocks: list[Any]) -> None:
    call = blocks[-1].get("id")
    more = [FunctionCallOutput(call_id=call, output="4")] if call else []
    response = answered(*blocks)
    assert replayed(response, *more, user()) == blocks
    # Also in a request that a client of this wire sends, and after a stream.
    turns = [{"role": "assistant", "content": blocks}, {"role": "user", "content": "Go on."}]
    if not call:
        read(messages=[{"role": "user", "content": "Hi"}, *turns])
    started = {"id": "msg_1", "type": "message", "role": "assistant", "model": NEW, "content": [], "usage": {}}
    events: list[Any] = [{"type": "message_start", "message": started}]
    for index, block in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events.append({"type": "content_block_stop", "index": index})
    events += [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}}, {"type": "message_stop"}]
    made, _ = decoded(events)
    assert replayed(made[-1].response, *more, user()) == blocks


@pytest.mark.parametrize(
    "item",
    [
        user(" "),
        Message(role="assistant", content=[OutputText(text="Hi"), OutputText(text=" ")]),
        Message(role="assistant", content=" "),
    ],
    ids=["of a user", "of another vendor", "alone"],
)
def test_other_blank_text_is_not_sent(item: Message) -> None:
    body, lost = sent(user(), item, user())
    assert " " not in [
        block["text"] for each in body["messages"] if not isinstance(each["content"], str) for block in each["content"]
    ]
    assert any(loss.path.startswith("input[1]") for loss in lost)


def test_an_answer_of_blank_text_alone_is_not_sent() -> None:
    """The vendor rejects such a message."""
    body, lost = sent(user(), *answered(text(" ")).output, user())
    assert [each["role"] for each in body["messages"]] == ["user", "user"]
    assert kinds(lost) == [("input[1].content[0]", "dropped")]


# --- what it cost and how it ended ----------------------------------------------------------------------------------


def test_an_answer_without_a_type_is_an_answer() -> None:
    """Some hosts leave it out, and the answer is paid for."""
    said = {"id": "msg_1", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "Hi"}]}
    document = {**said, "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}
    response, lost = wire.decode_response(wire.RESPONSE.decode(json.dumps(document).encode()))
    assert (response.status, lost) == ("completed", [])
    (message,) = response.output
    assert isinstance(message, Message)
    assert isinstance(message.content[0], OutputText)
    assert message.content[0].text == "Hi"
    with pytest.raises(DecodeError):
        wire.RESPONSE.decode(b'{"id": "msg_1"}')
