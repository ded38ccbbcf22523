"""Answers of the Chat wire on their way into responses; every one of them also comes back as it came."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llm_rest.errors import DecodeError
from llm_rest.losses import Losses
from llm_rest.responses import (
    CustomTool,
    CustomToolCall,
    FunctionCall,
    FunctionCallOutput,
    FunctionTool,
    IncompleteDetails,
    Logprob,
    Message,
    NamespaceTool,
    OutputText,
    Reasoning,
    RefusalPart,
    Request,
    ResponseError,
    TopLogprob,
    UrlCitation,
)
from llm_rest.responses.carriers import report_foreign
from llm_rest.unknown import Unknown
from llm_rest.vendors.dialects import CHAT_HOSTS
from llm_rest.wires import openai_chat as wire
from llm_rest.wires.openai_chat import types
from llm_rest.wires.openai_chat.response import FINISH_REASONS
from tests.wires.openai_chat import CALL, answered, plain, said


def text_of(document: dict[str, Any], **options: Any) -> OutputText:
    """The text of an answer."""
    response, _ = answered(document, **options)
    (message,) = (item for item in response.output if isinstance(item, Message))
    assert isinstance(message.content, list)
    (part,) = message.content
    assert isinstance(part, OutputText)
    return part


def reported(document: dict[str, Any]) -> list[str]:
    """The fields that an answer loses on another wire."""
    response, _ = answered(document)
    lost = Losses()
    report_foreign(response.leftovers, "ollama_chat", "", lost)
    return sorted(loss.path for loss in lost)


# --- the document ---------------------------------------------------------------------------------------------------


def test_an_answer_keeps_its_id_its_model_and_its_date() -> None:
    """chat.response.1 and chat.response.2"""
    response, lost = answered(said(content="Hi"))
    assert (response.id, response.model, response.created_at, response.status) == ("chatcmpl-1", "m", 1, "completed")
    assert response.output == [
        Message(
            id="msg_chatcmpl-1_0",
            status="completed",
            role="assistant",
            content=[OutputText(text="Hi", annotations=[])],
        )
    ]
    assert lost == []


def test_an_answer_without_an_id_gets_the_same_one_every_time() -> None:
    """chat.response.1"""
    document = {**said(content="Hi"), "id": ""}
    assert answered(document)[0].id == answered(document)[0].id != ""


def test_an_answer_without_a_date_gets_the_callers() -> None:
    """chat.response.2"""
    document = said(content="Hi")
    del document["created"]
    assert answered(document, now=17.5)[0].created_at == 17


def test_further_choices_are_kept_for_this_wire() -> None:
    """chat.response.3"""
    document = said(content="a")
    document["choices"].append({"index": 1, "finish_reason": "stop", "message": {"role": "assistant", "content": "b"}})
    assert text_of(document).text == "a"
    assert reported(document) == ["choices[1:]"]


def test_what_describes_the_document_alone_is_kept_for_this_wire() -> None:
    """chat.response.17"""
    document = {**said(content="a"), "system_fingerprint": "fp", "x_groq": {"id": "r"}, "later": [1]}
    document["choices"][0]["seed"] = 7
    assert reported(document) == ["choices[0].seed", "later", "system_fingerprint", "x_groq"]
    response, _ = wire.decode_response(wire.RESPONSE.decode(json.dumps(document)), keep=False)
    assert response.leftovers is None, "a client has no use for them"


def test_the_answer_repeats_what_was_asked() -> None:
    """chat.response.21"""
    response, _ = answered(said(content="a"), request=Request(temperature=0.5, tools=[FunctionTool(name="now")]))
    assert response.temperature == 0.5
    assert response.tools == [FunctionTool(name="now")]


def test_the_service_tier_is_the_same() -> None:
    assert answered({**said(content="a"), "service_tier": "flex"})[0].service_tier == "flex"


# --- content --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["", None])
def test_an_empty_text_beside_calls_is_no_text(content: str | None) -> None:
    """chat.response.5 and BUGS 47"""
    response, _ = answered(said(content=content, tool_calls=[CALL], finish_reason="tool_calls"))
    assert [type(item) for item in response.output] == [FunctionCall]


def test_parts_of_a_thinking_answer_keep_their_order() -> None:
    """chat.response.6 and BUGS 8"""
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}], "closed": True}
    content = [thought, {"type": "text", "text": "a"}, {**thought, "signature": "s"}, {"type": "text", "text": "b"}]
    response, _ = answered(said(content=content), CHAT_HOSTS["mistral"])
    assert [type(item) for item in response.output] == [Reasoning, Message, Reasoning, Message]


def test_a_refusal_is_a_part() -> None:
    """chat.response.7"""
    response, _ = answered(said(content=None, refusal="No."))
    (message,) = response.output
    assert isinstance(message, Message)
    assert message.content == [RefusalPart(refusal="No.")]


def test_sources_lose_their_nesting() -> None:
    """chat.response.8 and BUGS 89"""
    inner = {"url": "https://a", "title": "A", "start_index": 0, "end_index": 1, "content": "quoted"}
    other = {"type": "file", "file": {"hash": "h"}}
    part = text_of(said(content="a", annotations=[{"type": "url_citation", "url_citation": inner}, other]))
    assert part.annotations == [
        UrlCitation(
            url="https://a",
            title="A",
            start_index=0,
            end_index=1,
            leftovers={"openai_chat": {"content": "quoted"}},
        ),
        Unknown({"type": "openai_chat:file", "file": {"hash": "h"}}),
    ]


def test_bare_sources_are_citations_without_a_place() -> None:
    """chat.response.8 and BUGS 89"""
    found = {"citations": ["https://a", "https://b"], "search_results": [{"url": "https://a", "title": "A"}]}
    part = text_of({**said(content="x"), **found})
    assert isinstance(part.annotations, list)
    assert [(note.url, note.title, note.start_index) for note in part.annotations] == [  # type: ignore[union-attr]
        ("https://a", "A", 0),
        ("https://b", "", 0),
    ]


def test_log_probabilities_hang_on_the_text() -> None:
    """chat.response.9"""
    top = {"token": "b", "logprob": -2.0, "bytes": None}
    document = said(content="a")
    document["choices"][0]["logprobs"] = {
        "content": [{"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": [top]}],
        "refusal": None,
    }
    assert text_of(document).logprobs == [
        Logprob(token="a", logprob=-0.5, bytes=[97], top_logprobs=[TopLogprob(token="b", logprob=-2.0, bytes=[])])
    ]


@pytest.mark.parametrize(
    "logprobs", [None, 5, {"content": {"tokens": []}}, {"content": [{"token": 1}]}, {"content": None}]
)
def test_log_probabilities_of_another_form_are_kept_for_this_wire(logprobs: Any) -> None:
    """chat.reader.23"""
    document = said(content="a")
    document["choices"][0]["logprobs"] = logprobs
    assert not text_of(document).logprobs


def test_calls_are_items_in_their_order() -> None:
    """chat.response.10"""
    second = {"id": "c2", "type": "custom", "custom": {"name": "run", "input": "1"}}
    response, lost = answered(said(content="I look.", tool_calls=[CALL, second], finish_reason="tool_calls"))
    assert response.output[1:] == [
        FunctionCall(
            id="fc_chatcmpl-1_1", status="completed", call_id="c1", name="weather", arguments='{"city":"Oslo"}'
        ),
        CustomToolCall(id="ctc_chatcmpl-1_2", status="completed", call_id="c2", name="run", input="1"),
    ]
    assert lost == []


@pytest.mark.parametrize(
    ("call", "problems"),
    [
        ({"type": "function", "function": {"name": "now", "arguments": "{}"}}, 1),
        ({"id": "", "type": "function", "function": {"name": "now", "arguments": "{}"}}, 1),
        ({"id": "null", "type": "function", "function": {"name": "now", "arguments": "{}"}}, 1),
        ({"id": "c1", "function": {"name": "now", "arguments": "{}"}}, 1),
        ({"id": "c1", "type": "function", "function": {"name": "now", "arguments": {}}}, 1),
        ({"id": "c1", "type": "function", "function": {"name": "now", "arguments": []}}, 1),
        ({"id": "c1", "type": "function", "function": {"name": "now", "arguments": None}}, 1),
        ({"id": "c1", "type": "function", "function": {"name": "now", "arguments": "null"}}, 1),
        ({"id": "c1", "type": "function", "function": {"name": "now", "arguments": ""}}, 1),
        ({"id": "c1", "type": "function", "function": {"name": "now"}}, 1),
        ({"name": "now", "arguments": {}}, 4),
    ],
)
def test_malformed_calls_are_repaired_and_told(call: dict[str, Any], problems: int) -> None:
    """chat.response.25, chat.reader.9, chat.reader.12 and chat.reader.13"""
    response, lost = answered(said(content=None, tool_calls=[call], finish_reason="tool_calls"))
    (item,) = response.output
    assert isinstance(item, FunctionCall)
    assert item.call_id
    assert item.name == "now"
    assert item.arguments == ("[]" if call.get("function", {}).get("arguments") == [] else "{}")
    assert lost == ["choices[0].message.tool_calls[0] (changed)"] * problems


def test_calls_of_a_host_whose_habit_it_is_to_leave_out_the_type_are_no_loss() -> None:
    """chat.reader.12"""
    call = {"id": "abcdefghi", "index": 0, "function": {"name": "now", "arguments": "{}"}}
    document = said(content="", tool_calls=[call], finish_reason="tool_calls")
    assert answered(document, CHAT_HOSTS["mistral"])[1] == []


def test_calls_of_the_same_id_are_told_apart() -> None:
    """chat.reader.9"""
    response, lost = answered(said(content=None, tool_calls=[CALL, CALL], finish_reason="tool_calls"))
    first, second = response.output
    assert isinstance(first, FunctionCall)
    assert isinstance(second, FunctionCall)
    assert first.call_id == "c1" != second.call_id
    assert lost == ["choices[0].message.tool_calls[1] (changed)"]


def test_the_spelling_of_arguments_survives() -> None:
    text = '{"n": 1.50, "big": 12345678901234567890123, "b": "\\u00e9", "a": 1}'
    body = wire.RESPONSE.decode(
        json.dumps(said(content=None, tool_calls=[{**CALL, "function": {"name": "now", "arguments": "@"}}])).replace(
            '"@"', text
        )
    )
    response, _ = wire.decode_response(body)
    (call,) = response.output
    assert isinstance(call, FunctionCall)
    assert json.loads(call.arguments) == json.loads(text)
    assert "1.50" in call.arguments
    assert "12345678901234567890123" in call.arguments


def test_a_legacy_call_is_a_call() -> None:
    """chat.response.22"""
    document = said(content=None, function_call={"name": "now", "arguments": "{}"}, finish_reason="function_call")
    response, _ = answered(document)
    (call,) = response.output
    assert isinstance(call, FunctionCall)
    assert call.call_id


@pytest.mark.parametrize(
    "message",
    [
        {"content": None, "audio": {"id": "a", "data": "AAAA", "expires_at": 1, "transcript": "Hi"}},
        {"content": "a", "images": [{"type": "image_url", "image_url": {"url": "data:a"}}]},
        {"content": "a", "executed_tools": [{"type": "search"}]},
        {"content": "a", "mood": 1},
    ],
)
def test_what_a_message_says_beyond_responses_is_kept(message: dict[str, Any]) -> None:
    """chat.response.18"""
    assert reported(said(**message)) == [f"choices[0].message.{name}" for name in message if name != "content"]


def test_unknown_fields_of_a_message_and_its_calls_return_to_their_host_in_a_client_too() -> None:
    """chat.response.18"""
    call = {**CALL, "later": 1, "function": {**CALL["function"], "mood": 2}}
    document = said(content="a", tool_calls=[call], tone="calm", finish_reason="tool_calls")
    response, _ = wire.decode_response(wire.RESPONSE.decode(json.dumps(document)), keep=False)
    output = FunctionCallOutput(call_id="c1", output="4")
    body, _ = wire.encode_request(Request(input=[*response.output, output]))
    (message, _) = plain(body)["messages"]
    assert (message["tone"], message["tool_calls"]) == ("calm", [call])


def test_moderation_is_as_the_host_sent_it() -> None:
    """chat.response.19"""
    result = {"type": "moderation_result", "model": "o", "flagged": False}
    around = {"type": "moderation_results", "model": "o", "results": [result]}
    error = {"type": "error", "code": "x", "message": "y"}
    document = {**said(content="a"), "moderation": {"input": around, "output": error}}
    assert answered(document)[0].moderation == document["moderation"]


# --- how it ended ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["stop", "tool_calls", "function_call", "eos"])
def test_an_answer_that_came_to_its_end_is_completed(reason: str) -> None:
    """chat.response.11"""
    response, lost = answered(said(content="a", finish_reason=reason))
    assert (response.status, response.incomplete_details, lost) == ("completed", None, [])


def test_a_forced_call_may_end_with_stop() -> None:
    """chat.response.11"""
    assert answered(said(content=None, tool_calls=[CALL], finish_reason="stop"))[0].status == "completed"


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("length", "max_output_tokens"),
        ("model_length", "max_output_tokens"),
        ("content_filter", "content_filter"),
        ("sensitive", "content_filter"),
    ],
)
def test_an_answer_that_was_cut_is_incomplete_and_so_is_its_last_item(reason: str, why: str) -> None:
    """chat.response.12 and chat.response.13"""
    response, lost = answered(said(content="a", tool_calls=[CALL], finish_reason=reason))
    assert response.incomplete_details == IncompleteDetails(reason=why)
    assert [item.status for item in response.output] == ["completed", "incomplete"]  # type: ignore[union-attr]
    assert lost == []


def test_an_answer_that_was_cut_before_its_first_word_can_be_replayed() -> None:
    """chat.response.12 and BUGS 45"""
    response, _ = answered(said(content="", finish_reason="length"))
    assert (response.status, response.output) == ("incomplete", [])
    body, lost = wire.encode_request(Request(input=[Message(role="user", content="Hi"), *response.output]))
    assert len(body.messages) == 1
    assert lost == []


@pytest.mark.parametrize("reason", ["error", "insufficient_system_resource", "network_error"])
def test_an_answer_that_broke_is_failed(reason: str) -> None:
    """chat.response.14"""
    response, _ = answered(said(content="a", finish_reason=reason))
    assert response.status == "failed"
    assert response.error == ResponseError(code="server_error", message=f"the answer ended with {reason!r}")


def test_an_unknown_reason_is_kept_and_nothing_is_relied_on() -> None:
    """chat.response.15, chat.reader.3 and BUGS 44"""
    response, lost = answered(said(content=None, tool_calls=[CALL], finish_reason="tired"))
    assert response.status == "incomplete"
    assert response.incomplete_details == IncompleteDetails(reason="tired")
    assert response.output[0].status == "incomplete"  # type: ignore[union-attr]
    assert lost == ["choices[0].finish_reason (changed)"]


@pytest.mark.parametrize("reason", [None, ""])
def test_without_a_reason_an_answer_is_complete_if_there_is_one(reason: str | None) -> None:
    """chat.response.15 and chat.reader.3"""
    assert answered(said(content="a", finish_reason=reason))[0].status == "completed"
    empty, lost = answered(said(content=None, finish_reason=reason))
    assert empty.status == "failed"
    assert lost == ["choices[0].finish_reason (changed)"]


def test_every_ending_that_openai_has_comes_back_as_itself() -> None:
    for reason in FINISH_REASONS:
        answered(said(content="a", finish_reason=reason))


# --- undoing what a request emulated --------------------------------------------------------------------------------


def called(name: str, arguments: str) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return said(content=None, tool_calls=[call], finish_reason="tool_calls")


def test_a_namespace_is_found_again_in_the_name() -> None:
    """chat.response.20 and BUGS 90"""
    request = Request(tools=[NamespaceTool(name="crm", tools=[FunctionTool(name="now")])])
    response, _ = answered(called("crm__now", "{}"), request=request)
    (call,) = response.output
    assert isinstance(call, FunctionCall)
    assert (call.name, call.namespace, call.id) == ("now", "crm", "fc_chatcmpl-1_0")


def test_a_custom_call_is_found_again_in_a_function() -> None:
    """chat.response.20 and BUGS 90"""
    request = Request(tools=[CustomTool(name="run")])
    groq = CHAT_HOSTS["groq"]
    response, lost = answered(called("run", '{"input":"print(1)"}'), groq, request=request)
    (call,) = response.output
    assert isinstance(call, CustomToolCall)
    assert (call.name, call.input, call.id, lost) == ("run", "print(1)", "ctc_chatcmpl-1_0", [])
    response, lost = answered(called("run", "print(1)"), groq, request=request)
    (call,) = response.output
    assert isinstance(call, CustomToolCall)
    assert (call.input, lost) == ("print(1)", ["output[0] (changed)"])


# --- the decoder ----------------------------------------------------------------------------------------------------


def test_a_document_without_choices_is_no_answer() -> None:
    """BUGS 48"""
    for document in (b"{}", b'{"error":{"message":"no"}}', b'{"choices":null}', b"<html>", b"", b"[]"):
        with pytest.raises(DecodeError):
            wire.RESPONSE.decode(document)


def test_an_error_beside_choices_is_an_error() -> None:
    """chat.reader.17"""
    with pytest.raises(DecodeError, match=r"\$\.error"):
        wire.RESPONSE.decode(json.dumps({**said(content=""), "error": {"code": 502, "message": "no"}}))
    assert answered({**said(content="a"), "error": None})[0].status == "completed"


def test_an_answer_without_any_choice_has_failed() -> None:
    """chat.reader.1"""
    response, _ = answered({**said(), "choices": []})
    assert (response.status, response.output) == ("failed", [])


def test_the_decoder_is_typed_for_the_whole_answer() -> None:
    assert isinstance(wire.RESPONSE.decode(json.dumps(said(content="a"))), types.Completion)
