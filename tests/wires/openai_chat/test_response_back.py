"""Responses on their way to a client of the Chat wire."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from llm_rest.responses import (
    CustomToolCall,
    FilePath,
    FunctionCall,
    IncompleteDetails,
    Message,
    OutputText,
    Reasoning,
    ReasoningText,
    RefusalPart,
    Response,
    ResponseError,
    SummaryText,
    UrlCitation,
    WebSearchCall,
)
from llm_rest.responses.stream import disassemble
from llm_rest.unknown import Unknown, with_extras
from llm_rest.vendors.dialects import CHAT_HOSTS
from llm_rest.wires import openai_chat as wire
from tests.wires.openai_chat import CALL, answered, asked, output, plain, said, shown

ASK = FunctionCall(call_id="c1", name="weather", arguments='{"city":"Oslo"}')


def text(words: str, **fields: Any) -> Message:
    return Message(role="assistant", content=[OutputText(text=words, **fields)])


def message(*items: Any, **options: Any) -> tuple[dict[str, Any], list[str]]:
    """The message of the answer, and the losses."""
    body, lost = shown(output(*items), **options)
    return body["choices"][0]["message"], lost


def test_an_answer_from_elsewhere_is_written_as_openai_writes_its_own() -> None:
    """chat.response_back.11"""
    assert shown(output(text("Hi"))) == (
        {
            "id": "resp_1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "logprobs": None,
                    "message": {"role": "assistant", "content": "Hi", "refusal": None, "annotations": []},
                }
            ],
        },
        [],
    )


def test_texts_are_joined_and_told() -> None:
    """chat.response_back.1"""
    found, lost = message(text("a"), text("b"))
    assert found["content"] == "a\n\nb"
    assert lost == ["output[0] (changed)", "output[1] (changed)"]
    two = Message(role="assistant", content=[OutputText(text="a"), OutputText(text="b")])
    assert message(two)[0]["content"] == "ab"


def test_both_phases_of_a_text_are_kept() -> None:
    """chat.response_back.1"""
    first = Message(role="assistant", phase="commentary", content=[OutputText(text="a")])
    assert message(first, text("b"))[0]["content"] == "a\n\nb"


def test_without_a_text_the_content_is_null() -> None:
    """chat.response_back.2"""
    assert message(ASK)[0]["content"] is None
    found, _ = message(Message(role="assistant", content=[RefusalPart(refusal="No.")]))
    assert (found["content"], found["refusal"]) == (None, "No.")


def test_what_was_thought_is_shown_where_most_hosts_show_it() -> None:
    """chat.response_back.3 and BUGS 7"""
    thought = Reasoning(summary=[], content=[ReasoningText(text="Hm.")])
    found, lost = message(thought, text("a"))
    assert (found["reasoning_content"], lost) == ("Hm.", [])
    found, lost = message(Reasoning(summary=[SummaryText(text="Hm.")]), text("a"))
    assert (found["reasoning_content"], lost) == ("Hm.", ["output[0] (changed)"])
    assert message(thought, text("a"), dialect=CHAT_HOSTS["groq"])[0]["reasoning"] == "Hm."
    assert message(thought, text("a"), dialect=CHAT_HOSTS["openrouter"])[0]["reasoning_details"] == [
        {"type": "reasoning.text", "text": "Hm."}
    ]
    assert message(thought, text("a"), dialect=CHAT_HOSTS["mistral"])[0]["content"] == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
        {"type": "text", "text": "a"},
    ]


def test_calls_go_by_their_call_id_whatever_its_length() -> None:
    """chat.response_back.4 and BUGS 20"""
    long = CustomToolCall(call_id="c" * 70, name="run", input="1")
    found, lost = message(ASK, long)
    assert found["tool_calls"] == [CALL, {"id": "c" * 70, "type": "custom", "custom": {"name": "run", "input": "1"}}]
    assert lost == []


@pytest.mark.parametrize("item", [WebSearchCall(), Unknown({"type": "later"})])
def test_what_has_no_place_is_told(item: Any) -> None:
    """chat.response_back.5"""
    assert message(text("a"), item)[1] == ["output[1] (dropped)"]
    assert message(with_extras(text("a"), {"later": 1}))[1] == ["output[0].later (dropped)"]


@pytest.mark.parametrize(
    ("response", "reason", "lost"),
    [
        (output(text("a")), "stop", []),
        (output(ASK), "tool_calls", []),
        (
            output(text("a"), status="incomplete", incomplete_details=IncompleteDetails(reason="max_output_tokens")),
            "length",
            [],
        ),
        (
            output(text("a"), status="incomplete", incomplete_details=IncompleteDetails(reason="content_filter")),
            "content_filter",
            [],
        ),
        (
            output(text("a"), status="incomplete", incomplete_details=IncompleteDetails(reason="steered")),
            "length",
            ["incomplete_details.reason (changed)"],
        ),
        (
            output(status="failed", error=ResponseError(code="server_error", message="no")),
            "error",
            ["status (refused)", "error (dropped)"],
        ),
        (output(status="in_progress"), "stop", ["status (refused)"]),
        (output(status="cancelled"), "stop", ["status (refused)"]),
    ],
)
def test_how_it_ended_is_the_finish_reason(response: Response, reason: str, lost: list[str]) -> None:
    """chat.response_back.6, chat.response_back.7, chat.response_back.8 and chat.response_back.9"""
    body, told = shown(response)
    assert body["choices"][0]["finish_reason"] == reason
    assert told == lost


def test_the_order_of_texts_calls_and_thoughts_is_lost_and_told() -> None:
    """chat.response_back.10"""
    thought = Reasoning(summary=[], content=[ReasoningText(text="Hm.")])
    assert message(ASK, text("a"))[1] == ["output[1] (changed)"]
    assert message(ASK, thought)[1] == ["output[1] (changed)"]


def test_opaque_reasoning_of_others_comes_back_through_a_client() -> None:
    """chat.response_back.12, BUGS 1 and 11"""
    items = [
        Reasoning(summary=[SummaryText(text="Hm.")], encrypted_content="gAAAA-openai"),
        Reasoning(summary=[], encrypted_content="llm_rest.1.anthropic_messages.anthropic.e30"),
    ]
    found, lost = message(*items, text("a"))
    assert found["reasoning_content"] == "Hm."
    assert [detail["type"] for detail in found["reasoning_details"]] == [
        "reasoning.summary",
        "reasoning.encrypted",
        "reasoning.encrypted",
    ]
    assert lost == []
    # A client that sends back the messages it got, as they are.
    request, _ = wire.decode_request(wire.REQUEST.decode(json.dumps({"messages": [found]})))
    assert isinstance(request.input, list)
    thoughts = [item for item in request.input if isinstance(item, Reasoning)]
    assert [(item.summary, item.encrypted_content) for item in thoughts] == [
        (item.summary, item.encrypted_content) for item in items
    ]


def test_sources_are_nested_and_move_with_their_text() -> None:
    """chat.response_back.13 and BUGS 89"""
    cited = text("b", annotations=[UrlCitation(url="https://a", title="A", start_index=0, end_index=1)])
    found, _ = message(text("a"), cited)
    inner = {"url": "https://a", "title": "A", "start_index": 3, "end_index": 4}
    assert found["annotations"] == [{"type": "url_citation", "url_citation": inner}]
    assert message(text("b", annotations=[FilePath(file_id="f")]))[1] == [
        "output[0].content[0].annotations[0] (dropped)"
    ]


def test_log_probabilities_stand_beside_the_message() -> None:
    """chat.response_back.13"""
    body, _ = shown(output(text("a", logprobs=[])))
    assert body["choices"][0]["logprobs"] is None


def test_a_client_of_legacy_functions_gets_a_legacy_call() -> None:
    """chat.response_back.14"""
    request, _ = asked(functions=[{"name": "weather"}])
    found, _ = message(ASK, request=request)
    assert found["function_call"] == CALL["function"]
    assert "tool_calls" not in found


def test_leftovers_of_others_are_told() -> None:
    """chat.response_back.16"""
    response = output(text("a"), leftovers={"anthropic_messages": {"stop_sequence": "END"}})
    assert shown(response)[1] == ["stop_sequence (dropped)"]


def test_moderation_is_told_as_it_is() -> None:
    """chat.response_back.17"""
    moderation = {"input": {"type": "moderation_result", "flagged": False}, "output": {"type": "error"}}
    assert shown(output(text("a"), moderation=moderation))[0]["moderation"] == moderation


def test_an_edited_answer_says_what_it_says_now() -> None:
    response, _ = answered(said(content="a", refusal=None, finish_reason="tool_calls", tool_calls=[CALL]))
    response.output = [text("b")]
    body, _ = wire.encode_response(response)
    choice = plain(body)["choices"][0]
    assert choice["message"] == {"role": "assistant", "content": "b", "refusal": None}
    assert choice["finish_reason"] == "stop"


@pytest.mark.parametrize(
    "left",
    [
        {"choices[0]": 5, "choices[0].message": 5, "choices[0].message.tool_calls": 5, "choices[1:]": 5, "spelling": 5},
        {"choices[0]": {"finish_reason": {}}, "choices[0].message": {"spelling": {"reasoning": 5, "parts": 1}}},
        {"choices[0].message.tool_calls": {"c1": 5}, "choices[1:]": [5], "spelling": {"message": 5, "id": []}},
        {"choices[0].message": {"tool_calls": "x", "reasoning_details": 5}},
    ],
)
def test_leftovers_from_anywhere_cannot_break_a_conversion(left: dict[str, Any]) -> None:
    thought = Reasoning(summary=[], content=[ReasoningText(text="Hm.")])
    shown(output(thought, text("a"), ASK, leftovers={"openai_chat": left}))
    machine = wire.encode_stream()
    for event in disassemble(output(thought, text("a"), leftovers={"openai_chat": left})):
        machine.feed(event)
    machine.close()


def test_log_probabilities_cover_all_texts() -> None:
    """chat.response_back.1"""
    one, other = ({"token": name, "logprob": -0.5, "bytes": [65], "top_logprobs": []} for name in "ab")
    items: list[Any] = [
        Message(role="assistant", content=[msgspec.convert({**TEXT, "logprobs": [each]}, OutputText)])
        for each in (one, other)
    ]
    body, _ = shown(output(*items))
    assert body["choices"][0]["logprobs"] == {"content": [one, other], "refusal": None}


TEXT: dict[str, Any] = {"type": "output_text", "text": "x", "annotations": []}
