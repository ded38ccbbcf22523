"""What hosts, proxies and newer clients leave out, send as null or add returns as it came, and is told to other wires."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from llm_rest.responses import InputText, Message, OutputText, Request
from llm_rest.wires import anthropic_messages as wire
from llm_rest.wires import openai_chat
from tests.support.facts import plain
from tests.wires.anthropic_messages.steps import NEW, Plain, answered, kinds, read, sent, text

CALL = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "4"}
MARK = {"type": "ephemeral", "scope": "team"}
URL = {"type": "url", "url": "https://example.com/a.png"}
DATA = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
SERVER = {"type": "url", "url": "https://example.com/mcp", "name": "s"}


def said(*blocks: Plain) -> Plain:
    return {"messages": [{"role": "user", "content": [text("Look."), *blocks]}]}


def called(call: Plain, result: Plain, **message: Any) -> Plain:
    asked = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [call], **message}]
    return {"messages": [*asked, {"role": "user", "content": [result]}]}


REQUESTS: dict[str, Plain] = {
    "a source with a field nobody knows": said({"type": "image", "source": {**URL, "headers": {"a": 1}}}),
    "a document's source with one": said({"type": "document", "source": {**DATA, "pages": [1]}}),
    "a source in a result": called(CALL, {**RESULT, "content": [{"type": "image", "source": {**URL, "x": 1}}]}),
    "a block without a type": said({"text": "Hi"}, {}),
    "a block without a type in a result": called(CALL, {**RESULT, "content": [text("4"), {"tool_name": "g"}]}),
    "a block without a type of the model": {
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [{"text": "Hi"}]},
            {"role": "user", "content": "Go"},
        ]
    },
    "a mark of an unknown kind": said(text("Hi", cache_control={"type": "lasting"})),
    "a mark with a field nobody knows": said(text("Hi", cache_control=MARK)),
    "a mark of the whole request": {"cache_control": {"type": "lasting", "ttl": "1h"}},
    "a role nobody knows": {"messages": [{"role": "reviewer", "content": "Hi"}, {"role": "", "content": [text("Hi")]}]},
    "messages that say nothing": {
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": []},
            {"role": "user", "content": ""},
            {"role": "assistant", "content": None},
            {"role": "user"},
            {"role": "user", "content": "Go"},
        ]
    },
    "a message that only sets an effort": {
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "system", "output_config": {"effort": "low"}},
            {"role": "assistant", "content": ""},
            {"role": "user", "content": "Go"},
        ]
    },
    "an input that is null": called({**CALL, "input": None}, RESULT),
    "a result that is null": called(CALL, {**RESULT, "content": None, "is_error": None}),
    "a toolset nobody knows": called({**CALL, "toolset_name": "robot"}, {**RESULT, "toolset_name": "robot"}),
    "a toolset that is null": called({**CALL, "toolset_name": None}, {**RESULT, "toolset_name": None}),
    "an unknown field of a message that a search begins": called(
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}, text("Go"), x_new=1
    ),
    "a choice without tools": {"tool_choice": {"type": "auto"}},
    "a choice that is forced without tools": {"tool_choice": {"type": "any"}},
    "a choice with a null": {
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": None},
    },
    "a tool without a schema": {"tools": [{"name": "f"}]},
    "a tool with nulls": {"tools": [{"type": "custom", "name": "f", "description": None, "input_schema": None}]},
    "a search without a type": {"tools": [{"name": "web_search", "max_uses": 3}]},
    "a search without a name": {"tools": [{"type": "web_search_20260318", "max_uses": 3}]},
    "a search over tools under no name": {"tools": [{"type": "tool_search_tool_regex_20251119", "name": None}]},
    "servers of an unknown kind": {"mcp_servers": [{**SERVER, "type": "socket"}]},
    "a server with a null": {"mcp_servers": [{**SERVER, "tool_configuration": None, "authorization_token": None}]},
    "a server that chooses nothing": {"mcp_servers": [{**SERVER, "tool_configuration": {}}]},
    "fields that are empty": {"system": [], "mcp_servers": [], "stop_sequences": [], "metadata": None, "speed": ""},
    "instructions that are empty": {"system": ""},
}


def items(request: Request) -> Any:
    return request.input


def change(request: Request, **fields: Any) -> None:
    """Edit the second part of what the user says."""
    content = items(request)[0].content
    content[1] = msgspec.structs.replace(content[1], **fields)


@pytest.mark.parametrize("body", REQUESTS.values(), ids=REQUESTS)
def test_what_a_request_says_otherwise_returns_as_it_came(body: Plain) -> None:
    """anthropic.request_back.15, anthropic.request_back.16, anthropic.request_back.17, BUGS 4, 61 and 87"""
    read(**body)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (REQUESTS["a source with a field nobody knows"], "input[0].content[1].source.headers"),
        (REQUESTS["a block without a type"], "input[0].content[1].type"),
        (REQUESTS["a mark of an unknown kind"], "input[0].content[1].cache_control.type"),
        (REQUESTS["a mark of the whole request"], "cache_control.type"),
        (REQUESTS["a role nobody knows"], "input[0].role"),
        (REQUESTS["a message that only sets an effort"], "messages[1]"),
        (REQUESTS["a toolset nobody knows"], "input[1].toolset_name"),
        (REQUESTS["a choice that is forced without tools"], "tool_choice"),
        (REQUESTS["servers of an unknown kind"], f"mcp_servers[{SERVER['name']}].type"),
    ],
)
def test_what_only_this_wire_can_put_back_is_a_loss_on_another(body: Plain, path: str) -> None:
    _, lost = openai_chat.encode_request(read(**body))
    assert {(path, "dropped"), (path, "changed")} & {*kinds(lost)}


def test_what_says_nothing_is_no_loss_on_another_wire() -> None:
    for name in (
        "messages that say nothing",
        "an input that is null",
        "a result that is null",
    ):
        _, lost = openai_chat.encode_request(read(**REQUESTS[name]))
        assert lost == []
    _, lost = openai_chat.encode_request(read(**REQUESTS["fields that are empty"]))
    assert kinds(lost) == [("speed", "dropped")]


def test_an_input_that_is_null_is_an_empty_object_and_a_new_one_wins() -> None:
    """A call's null never becomes the text null."""
    request = read(**REQUESTS["an input that is null"])
    call = items(request)[1]
    assert call.arguments == "{}"
    call.arguments = '{"a": 1}'
    body, _ = wire.encode_request(request)
    assert plain(body)["messages"][1]["content"][0]["input"] == {"a": 1}


def test_a_result_that_was_empty_can_be_given_a_content() -> None:
    request = read(**REQUESTS["a result that is null"])
    items(request)[2].output = "5"
    body, _ = wire.encode_request(request)
    assert plain(body)["messages"][2]["content"][0]["content"] == "5"


def test_a_part_that_was_changed_is_sent_without_the_block_it_was() -> None:
    request = read(**said({"type": "search_result", "source": "s", "title": "t", "content": [text("Found.")]}))
    change(request, text="Other.")
    body, lost = wire.encode_request(request)
    assert plain(body)["messages"][0]["content"][1] == text("Other.")
    assert kinds(lost) == [("input[0].content[1]", "dropped")]


def test_a_mark_that_was_taken_away_stays_away() -> None:
    request = read(**REQUESTS["a mark with a field nobody knows"])
    change(request, prompt_cache_breakpoint=None)
    body, _ = wire.encode_request(request)
    assert plain(body)["messages"][0]["content"][1] == text("Hi")


def test_what_hangs_on_an_empty_text_is_told() -> None:
    request = read(**said(text("Hi", cache_control=MARK)))
    change(request, text="")
    _, lost = wire.encode_request(request)
    assert kinds(lost) == [("input[0].content[1]", "dropped")]
    assert sent(Message(role="user", content=[InputText(text="Hi"), InputText(text="")]))[1] == []


def test_a_tool_that_cannot_be_strict_is_otherwise_written_as_it_was() -> None:
    tool = {"type": "custom", "name": "f", "input_schema": {"type": "object", "minProperties": 1}}
    body = {"model": NEW, "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    raw = msgspec.json.encode({**body, "tools": [{**tool, "strict": True}]})
    again, lost = wire.encode_request(wire.decode_request(wire.REQUEST.decode(raw))[0])
    assert plain(again)["tools"] == [tool]
    assert kinds(lost) == [("tools[0].strict", "changed")]


# --- answers --------------------------------------------------------------------------------------------------------


def back(body: Plain, request: Request | None = None) -> Plain:
    """What an answer is when it comes back from Responses."""
    response, lost = wire.decode_response(wire.RESPONSE.decode(msgspec.json.encode(body)))
    assert lost == []
    again, lost = wire.encode_response(response, request=request)
    assert lost == []
    return plain(again)


ANSWER: Plain = {"type": "message", "role": "assistant", "content": [text("Hi")], "stop_reason": "end_turn"}
ANSWERS: dict[str, Plain] = {
    "nothing but content": ANSWER,
    "nulls": {**ANSWER, "id": None, "model": None, "usage": None, "stop_sequence": None},
    "a number for an id": {**ANSWER, "id": 7, "model": "m", "usage": {"input_tokens": 1, "output_tokens": 0}},
    "no counts": {**ANSWER, "usage": {}},
    "a count that is null": {**ANSWER, "usage": {"input_tokens": None, "output_tokens": 3}},
    "a cache that counted nothing": {**ANSWER, "usage": {"output_tokens": 3, "cache_read_input_tokens": None}},
    "an empty stop sequence": {**ANSWER, "stop_sequence": ""},
    "an input that is null": {**ANSWER, "content": [{**CALL, "input": None}], "stop_reason": "tool_use"},
    "an MCP call without an input": {
        **ANSWER,
        "content": [{"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "f", "server_name": "s", "input": None}],
    },
}


@pytest.mark.parametrize("body", ANSWERS.values(), ids=ANSWERS)
def test_what_an_answer_leaves_out_is_left_out_again(body: Plain) -> None:
    """anthropic.response.23"""
    assert back(body) == body


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


def test_what_an_answer_left_out_and_was_filled_in_since_is_sent() -> None:
    body = {**ANSWER, "usage": {"input_tokens": 3}}
    response, _ = wire.decode_response(wire.RESPONSE.decode(msgspec.json.encode(body)))
    assert response.usage
    response.usage.output_tokens = 4
    again = plain(wire.encode_response(response, request=Request(model="m", input="Hi"))[0])
    assert (again["model"], again["usage"]) == ("m", {"input_tokens": 3, "output_tokens": 4})


def test_the_arguments_of_an_mcp_call_without_an_input_are_an_empty_object() -> None:
    call = answered(*ANSWERS["an MCP call without an input"]["content"]).output[0]
    assert plain(call)["arguments"] == "{}"


@pytest.mark.parametrize("message", [{}, {"id": None, "model": None, "usage": None}])
def test_a_stream_that_tells_neither_id_nor_counts_is_read(message: Plain) -> None:
    machine = wire.decode_stream()
    steps: list[Plain] = [
        {"type": "message_start", "message": {"type": "message", "role": "assistant", "content": [], **message}},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"input_tokens": None, "output_tokens": 4},
        },
        {"type": "message_stop"},
    ]
    events = [event for step in steps for event in machine.feed(wire.EVENT.decode(msgspec.json.encode(step)))]
    response = plain(events[-1])["response"]
    assert response["id"].startswith("msg_")
    assert (response["usage"]["input_tokens"], response["usage"]["output_tokens"]) == (0, 4)
