"""What is rare: documents and conversations that somebody once sent, and that must not be lost or do harm."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llm_rest.responses import (
    ByProgram,
    CodeInterpreterCall,
    CustomTool,
    CustomToolCall,
    FunctionTool,
    IncompleteDetails,
    InputFile,
    InputText,
    Message,
    OutputText,
    ReasoningText,
    RefusalPart,
    Request,
    ResponseError,
    UrlCitation,
)
from llm_rest.responses.stream import Assembler
from llm_rest.wires import gemini_generate_content as wire
from llm_rest.wires.gemini_generate_content.types import from_openapi
from tests.support.facts import plain
from tests.support.legal import faults
from tests.wires.gemini_generate_content import (
    BUDGETED,
    END,
    SIGNATURE,
    THREE,
    abroad,
    answer,
    answered,
    asked,
    back,
    call,
    called,
    chunk,
    contents,
    decoded,
    gave,
    items,
    model,
    option,
    output,
    parts_of,
    read,
    said,
    shown,
    theirs,
    told,
    user,
    written,
)

HI = {"contents": [theirs("Hi")]}


def assembled(*chunks: Any) -> Any:
    events = told(*chunks)
    assert faults(events) == []
    assembler = Assembler()
    for event in events:
        assembler.feed(event)
    return assembler.response


# --- calls and outputs ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [{"input": "ls", "more": 1}, {"input": 1}, {}])
def test_a_call_of_a_custom_tool_with_other_arguments_shows_them(arguments: Any) -> None:
    """gemini.response.8"""
    request = Request(model=THREE, input="Hi", tools=[CustomTool(name="sh"), FunctionTool(name="f")])
    document = answer(called("1", "sh", arguments), called("2", "f"))
    custom, plain_call = read(document, request=request)[0].output
    assert isinstance(custom, CustomToolCall)
    assert json.loads(custom.input) == arguments
    assert plain_call.name == "f"


def test_an_output_that_names_another_function_keeps_its_name() -> None:
    """gemini.request_back.10"""
    body = {"contents": [theirs("Hi"), model(called("c1", "f")), theirs(gave("c1", {"output": "4"}, "g"))]}
    request = asked(body, model=BUDGETED)
    assert request.input[-1].name == "g"
    assert back(request) == body


def test_an_output_without_a_response_comes_back_without_one() -> None:
    """gemini.request_back.29"""
    body = {"contents": [theirs("Hi"), model(called("c1")), theirs({"functionResponse": {"id": "c1"}})]}
    assert back(asked(body, model=BUDGETED)) == body


def test_who_made_the_call_of_an_output_is_not_told() -> None:
    """gemini.request.28"""
    item = output("c1")
    item.caller = ByProgram(caller_id="p")
    assert contents(user("Hi"), call("c1"), item)[1] == ["input[2].caller (dropped)"]


def test_parts_of_an_output_keep_what_nobody_knows() -> None:
    """gemini.request_back.11"""
    part = gave("c1", {"output": "4"})
    strange = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}, "mood": "glad"}
    part["functionResponse"] |= {"parts": [strange], "scheduling": "SILENT"}
    body = {"contents": [theirs("Hi"), model(called("c1", thoughtSignature=SIGNATURE)), theirs(part)]}
    assert back(asked(body, model=THREE)) == body


# --- texts and media ------------------------------------------------------------------------------------------------


def test_a_file_that_is_given_twice_is_sent_once() -> None:
    """gemini.request.17"""
    file = InputFile(file_data="data:application/pdf;base64,AAAA", file_url="https://x.test/a.pdf", detail="high")
    assert shown(file) == (
        [{"inlineData": {"mimeType": "application/pdf", "data": "AAAA"}}],
        ["input[0].content[0].file_url (dropped)", "input[0].content[0].detail (dropped)"],
    )


def test_a_part_of_another_kind_is_dropped() -> None:
    """gemini.request.20"""
    assert shown(ReasoningText(text="Hm."), InputText(text="Hi")) == (
        [{"text": "Hi"}],
        ["input[0].content[0] (dropped)"],
    )


def test_a_url_that_is_none_does_no_harm() -> None:
    """gemini.request.14"""
    assert shown(InputFile(file_url="https://[half"))[0] == [
        {"fileData": {"fileUri": "https://[half", "mimeType": "application/pdf"}}
    ]


def test_a_thought_keeps_what_nobody_knows() -> None:
    """gemini.response.13"""
    (thought,) = items({"text": "Hm.", "thought": True, "mood": "glad"})
    assert thought.summary[0].leftovers == {"gemini_generate_content": {"mood": "glad"}}


def test_a_result_without_its_code_is_shown() -> None:
    """gemini.response.9"""
    shown_item, _ = items({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}})
    assert isinstance(shown_item, CodeInterpreterCall)
    assert (shown_item.code, shown_item.status) == ("", "completed")


def test_signatures_between_texts_return_between_them() -> None:
    """gemini.signature.5"""
    parts = [{"text": "a"}, {"text": "", "thoughtSignature": SIGNATURE}, {"text": "b"}]
    carrier, message = items(*parts)
    assert [part.text for part in message.content] == ["a", "b"]
    assert contents(user("Hi"), carrier, message, user("So?"))[0][1] == model(*parts)


def test_a_signature_on_nothing_stays_on_nothing() -> None:
    """gemini.signature.5"""
    (carrier,) = items({"text": "", "thoughtSignature": SIGNATURE})
    found, lost = contents(user("Hi"), said("Yo"), carrier, user("So?"))
    assert (found[1], lost) == (model({"text": "Yo"}, {"text": "", "thoughtSignature": SIGNATURE}), [])


# --- answers --------------------------------------------------------------------------------------------------------


def test_a_time_nobody_can_write_is_left_out() -> None:
    """gemini.response_back.1"""
    assert "createTime" not in written(answered(said("Yo"), created_at=1e300))[0]


def test_a_tier_nobody_knows_is_kept() -> None:
    """gemini.response.20"""
    document = {
        **answer({"text": "Yo"}),
        "usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 1, "serviceTier": "x"},
    }
    response, _ = read(document)
    assert (response.service_tier, written(response)) == ("x", (document, []))


def test_a_signed_text_that_was_cut_is_incomplete() -> None:
    """gemini.finish.3"""
    _, message = read(answer({"text": "Yo", "thoughtSignature": SIGNATURE}, finishReason="MAX_TOKENS"))[0].output
    assert message.status == "incomplete"


def test_what_else_an_error_says_is_dropped() -> None:
    """gemini.response_back.12"""
    error = ResponseError(code="server_error", message="Oops.", param="input")
    assert written(answered(status="failed", error=error))[1] == ["error (dropped)"]


def test_a_reason_that_was_changed_is_told_as_it_is_now() -> None:
    """gemini.response_back.4"""
    response, _ = read(answer({"text": "Yo"}, finishReason="SAFETY", finishMessage="No."))
    response.output[1].content = [RefusalPart(refusal="Not today.")]
    assert written(response)[0]["candidates"][0]["finishMessage"] == "Not today."


def test_an_end_that_was_changed_is_told_as_it_is_now() -> None:
    """gemini.response_back.11"""
    response, _ = read(answer({"text": "Yo"}, finishReason="CONTINUATION"))
    response.incomplete_details = IncompleteDetails(reason="content_filter")
    assert written(response)[0]["candidates"][0]["finishReason"] == "SAFETY"


def test_texts_that_were_cut_otherwise_keep_their_sources() -> None:
    """gemini.response.31: the answer was streamed in two pieces with a signature between them"""
    grounding = {
        "groundingChunks": [{"web": {"uri": "https://a.test"}}],
        "groundingSupports": [
            {"segment": {"startIndex": 4, "endIndex": 12, "text": "two thre"}, "groundingChunkIndices": [0]}
        ],
    }
    parts = [{"text": "one ", "thoughtSignature": SIGNATURE}, {"text": "two "}, {"text": "three"}]
    response, _ = read(answer(*parts, groundingMetadata=grounding))
    first, second, third = response.output[1].content
    assert (first.annotations, third.annotations) == ([], [])
    assert second.annotations == [UrlCitation(url="https://a.test", start_index=0, end_index=4)]


# --- schemas and tools ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inner", [True, False, {}])
def test_a_schema_may_be_anything_or_nothing(inner: Any) -> None:
    """gemini.schema.1"""
    schema = {"type": "object", "properties": {"a": inner}}
    body, lost = option(THREE, tools=[FunctionTool(name="f", parameters=schema)])
    assert (body["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"], lost) == (schema, [])


@pytest.mark.parametrize(("enum", "read_as"), [(["1.5", "x"], [1.5, "x"]), ([1], [1])])
def test_enums_of_the_older_dialect_are_numbers_where_they_can_be(enum: Any, read_as: Any) -> None:
    """gemini.schema.11"""
    assert from_openapi({"type": "NUMBER", "enum": enum})["enum"] == read_as


def test_an_older_schema_without_a_bottom_ends() -> None:
    """gemini.schema.11"""
    schema: Any = {"type": "STRING"}
    for _ in range(300):
        schema = {"items": schema}
    assert json.dumps(from_openapi(schema)).count("items") == 201


def test_tools_nobody_knows_wait_in_leftovers() -> None:
    """gemini.request_back.23"""
    tools = [{"telescope": {"zoom": 2}, "functionDeclarations": [{"name": "f", "response": {"type": "STRING"}}]}]
    request = asked({**HI, "tools": tools}, model=THREE)
    assert request.tools[0].output_schema == {"type": "string"}
    assert "tools[1]" in abroad(request)
    assert back(request)["tools"] == tools
    request.tools = [FunctionTool(name="g")]
    assert back(request)["tools"] == [{"functionDeclarations": [{"name": "g"}], "telescope": {"zoom": 2}}]
    request.tools = [FunctionTool(name="g"), FunctionTool(name="h")]
    assert back(request)["tools"][1] == {"telescope": {"zoom": 2}}


def test_a_field_in_both_spellings_is_the_wires_own() -> None:
    """gemini.request_back.26"""
    both = {"contents": [{"parts": [{"text": "Hi", "thought_signature": "a", "thoughtSignature": "b"}]}]}
    assert plain(decoded(both))["contents"][0]["parts"][0]["thoughtSignature"] == "b"


def test_a_count_names_its_model() -> None:
    """gemini.count.3, gemini.request_back.1"""
    body = {"generateContentRequest": {**HI, "model": "models/x"}}
    request, _ = wire.decode_count(wire.COUNT_REQUEST.decode(json.dumps(body).encode()))
    assert request.model == "x"


# --- streams --------------------------------------------------------------------------------------------------------


def test_parts_of_a_thought_are_told_one_after_another() -> None:
    """gemini.stream.9"""
    first = {"text": "Hm.", "thought": True, "thoughtSignature": SIGNATURE}
    second = {"text": "So.", "thought": True}
    reasoning, _ = assembled(chunk(first), chunk(second), chunk({"text": "Yo"}), END).output
    assert [part.text for part in reasoning.summary] == ["Hm.", "So."]


def test_a_call_that_was_never_ended_ends_with_the_next() -> None:
    """gemini.stream.6"""
    begun = [chunk({"functionCall": {"name": name, "willContinue": True}}) for name in "fg"]
    found = assembled(*begun, chunk({"functionCall": {}}), END).output
    assert [item.name for item in found] == ["f", "g"]


def test_a_call_that_was_never_ended_stands_before_what_follows() -> None:
    """gemini.stream.6"""
    begun = chunk({"functionCall": {"name": "f", "willContinue": True}})
    found = assembled(begun, chunk({"text": "Yo"}), END).output
    assert [item.__struct_config__.tag for item in found] == ["function_call", "message"]


def test_what_nobody_knows_of_a_stream_is_kept() -> None:
    """gemini.stream.12"""
    response = assembled({**chunk({"text": "Yo"}), "mood": "glad"}, END)
    assert response.leftovers["gemini_generate_content"] == {"mood": "glad"}


def test_a_value_where_there_is_no_place_is_passed_over() -> None:
    """gemini.stream.6"""
    piece = {"partialArgs": [{"jsonPath": "$.a[0]", "numberValue": 1}, {"jsonPath": "$.a.b", "numberValue": 2}]}
    found = assembled(chunk({"functionCall": {"name": "f", "willContinue": True}}), chunk({"functionCall": piece}), END)
    assert json.loads(found.output[0].arguments) in ({"a": [1]}, {"a": {"b": 2}})


def test_a_message_in_words_is_a_text() -> None:
    """gemini.response_back.1"""
    document, lost = written(answered(Message(role="assistant", content="Yo")))
    assert (parts_of(document), lost) == ([{"text": "Yo"}], [])
    assert isinstance(items({"text": "Yo"})[0].content[0], OutputText)
