"""Answers of this wire: what they are in Responses, how they ended, what they took."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from llm_rest.responses import (
    CodeInterpreterCall,
    CodeLogs,
    CustomTool,
    CustomToolCall,
    FileSearchCall,
    FunctionTool,
    IncompleteDetails,
    InputTokensDetails,
    Logprob,
    Message,
    NamespaceTool,
    OpenPage,
    OutputText,
    OutputTokensDetails,
    RefusalPart,
    Request,
    ResponseError,
    Search,
    SummaryText,
    TopLogprob,
    Usage,
    WebSearchCall,
)
from llm_rest.wires import gemini_generate_content as wire
from llm_rest.wires.gemini_generate_content.response import FINISH_REASONS
from tests.support.facts import plain
from tests.wires.gemini_generate_content import (
    OTHER,
    SIGNATURE,
    THREE,
    abroad,
    answer,
    answered,
    called,
    items,
    kinds,
    named,
    read,
    sealed,
    written,
)

GEMINI = "gemini_generate_content"
YO = {"text": "Yo"}


def returns(document: Any, **options: Any) -> Any:
    """The response of an answer, which must become that answer again."""
    response, _ = read(document, **options)
    assert written(response)[0] == document
    return response


# --- the answer -----------------------------------------------------------------------------------------------------


def test_an_answer_has_the_vendors_id_and_its_items_are_named_after_it() -> None:
    """gemini.response.1"""
    response = returns(answer(YO, called("c1")))
    assert (response.id, [item.id for item in response.output]) == ("r", ["msg_r_0", "fc_r_1"])


def test_an_answer_without_an_id_is_named_after_what_it_says() -> None:
    """gemini.response.1"""
    document = answer(YO)
    del document["responseId"]
    response = returns(document)
    assert response.id.startswith("resp_")
    assert response.id == read(document)[0].id
    assert response.id != read({**document, "modelVersion": "n"})[0].id


def test_the_model_and_the_time() -> None:
    """gemini.response.2"""
    assert returns(answer(YO)).model == "m"
    document = {**answer(YO), "createTime": "2026-11-20T10:00:00.123456789Z"}
    assert returns(document).created_at == 1795168800.123456
    assert read(answer(YO), now=7)[0].created_at == 7
    assert read({**answer(YO), "createTime": "soon"}, now=7)[0].created_at == 7
    assert read({**answer(YO), "createTime": "2026-11-20T10:00:00"})[0].created_at == 1795168800


def test_what_was_asked_is_echoed() -> None:
    """gemini.response.3"""
    response, _ = read(answer(YO), request=Request(model=THREE, input="Hi", temperature=0.5, instructions="a"))
    assert (response.temperature, response.instructions, response.model) == (0.5, "a", "m")


# --- parts ----------------------------------------------------------------------------------------------------------


def test_thoughts_are_a_summary() -> None:
    """gemini.response.4"""
    reasoning, message = items({"text": "Hm.", "thought": True}, {"text": "So.", "thought": True}, YO)
    assert reasoning.summary == [SummaryText(text="Hm."), SummaryText(text="So.")]
    assert kinds([message]) == ["message"]


def test_texts_in_a_row_are_one_message() -> None:
    """gemini.response.5, gemini.hard.8"""
    (message,) = items({"text": "a"}, {"text": "b"})
    assert message == Message(
        id="msg_r_0",
        role="assistant",
        status="completed",
        content=[OutputText(text="a", annotations=[]), OutputText(text="b", annotations=[])],
    )


def test_a_call_keeps_its_id_and_the_text_of_its_arguments() -> None:
    """gemini.response.6, gemini.hard.4"""
    body = b'{"candidates":[{"content":{"parts":[{"functionCall":{"id":"c1","name":"f","args":{"b": 1.0,"a":[ ]}}}]}}]}'
    response, _ = wire.decode_response(wire.RESPONSE.decode(body))
    call: Any = response.output[0]
    assert (call.call_id, call.name, call.arguments) == ("c1", "f", '{"b": 1.0,"a":[ ]}')


def test_calls_without_ids_are_numbered() -> None:
    """gemini.response.7: the same function twice, once without arguments"""
    one, other = items(called(None, "f", {"a": 1}), {"functionCall": {"name": "f"}})
    assert (one.call_id, one.arguments) == ("call_r_0", '{"a":1}')
    assert (other.call_id, other.arguments) == ("call_r_1", "{}")


def test_calls_come_back_under_the_names_of_their_tools() -> None:
    """gemini.response.8"""
    tools: Any = [
        FunctionTool(name="look up"),
        CustomTool(name="sh"),
        NamespaceTool(name="crm", description="d", tools=[FunctionTool(name="find")]),
    ]
    sent_as = wire.encode_request(Request(model=THREE, input="Hi", tools=tools))[0].tools
    assert sent_as
    assert sent_as[0].function_declarations
    names: Any = [function.name for function in sent_as[0].function_declarations]
    document = answer(called("1", names[0]), called("2", names[1], {"input": "ls"}), called("3", names[2]))
    response, _ = read(document, request=Request(model=THREE, tools=tools))
    one, two, three = response.output
    assert (one.name, three.name, three.namespace) == ("look up", "find", "crm")
    assert isinstance(two, CustomToolCall)
    assert (two.name, two.input) == ("sh", "ls")


def test_code_that_ran_is_shown() -> None:
    """gemini.response.9"""
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    for outcome, status in (("OK", "completed"), ("FAILED", "completed"), ("DEADLINE_EXCEEDED", "incomplete")):
        result = {"codeExecutionResult": {"outcome": f"OUTCOME_{outcome}", "output": "x"}}
        shown, carrier = items(code, result)
        assert shown == CodeInterpreterCall(id="ci_r_0", status=status, code="1", outputs=[CodeLogs(logs="x")])
        assert sealed(carrier)


def test_tools_the_vendor_ran_are_shown_as_far_as_responses_knows_them() -> None:
    """gemini.response.10, BUGS 37"""
    parts = [
        {"toolCall": {"id": "1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["q"]}}},
        {"toolResponse": {"id": "1", "toolType": "GOOGLE_SEARCH_WEB", "response": {"x": 1}}},
        {"toolCall": {"id": "2", "toolType": "URL_CONTEXT", "args": {"urls": ["https://a"]}}},
        {"toolResponse": {"id": "2", "toolType": "URL_CONTEXT", "response": {}}},
        {"toolCall": {"id": "3", "toolType": "FILE_SEARCH", "args": {"queries": ["p"]}}},
        {"toolResponse": {"id": "3", "toolType": "FILE_SEARCH", "response": {}}},
        {"toolCall": {"id": "4", "toolType": "GOOGLE_MAPS", "args": {}}},
    ]
    search, page, files, carrier = items(*parts)
    assert search == WebSearchCall(id="ws_r_0", status="completed", action=Search(queries=["q"]))
    assert page == WebSearchCall(id="ws_r_1", status="completed", action=OpenPage(url="https://a"))
    assert files == FileSearchCall(id="fs_r_2", status="completed", queries=["p"])
    assert msgspec.json.decode(sealed(carrier).parts) == parts


def test_a_picture_is_an_image_that_was_generated() -> None:
    """gemini.response.11"""
    (image,) = items({"inlineData": {"mimeType": "image/jpeg", "data": "AAAA"}})
    assert (image.id, image.result, image.output_format, image.status) == ("ig_r_0", "AAAA", "jpeg", "completed")
    items({"inlineData": {"mimeType": "image/avif", "data": "AAAA", "displayName": "a"}})  # which returns


@pytest.mark.parametrize(
    ("part", "hidden"),
    [
        ({"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}}, True),
        ({"inlineData": {"mimeType": "image/png", "data": "AAAA"}, "thought": True}, False),
        ({"fileData": {"mimeType": "video/mp4", "fileUri": "gs://b/a"}}, True),
        ({"hologram": {"depth": 3}, "thoughtSignature": SIGNATURE}, False),
    ],
)
def test_what_responses_cannot_show_is_carried_whole(part: Any, hidden: bool) -> None:
    """gemini.response.12: sound and video that were asked for are missed, so they are a loss"""
    lost = ["candidates[0].content.parts[0] (dropped)"] if hidden else []
    machine = wire.decode_stream()
    machine.feed(wire.EVENT.decode(msgspec.json.encode(answer(part))))
    assert named(machine.losses) == lost
    (carrier,) = items(part, lost=lost)
    assert (carrier.summary, msgspec.json.decode(sealed(carrier).parts)) == ([], [part])


def test_what_a_part_says_beyond_ours_waits_in_leftovers() -> None:
    """gemini.response.13"""
    (message,) = items({"text": "Yo", "partMetadata": {"k": 1}, "mood": "glad"})
    assert {"output[0].content[0].partMetadata", "output[0].content[0].mood"} <= abroad(answered(message))
    (call,) = items({"functionCall": {"id": "c", "name": "f", "args": {}, "mood": "glad"}})
    assert "output[0].functionCall.mood" in abroad(answered(call))


# --- what stands beside ---------------------------------------------------------------------------------------------


def test_only_the_first_candidate_is_output_and_the_others_wait() -> None:
    """gemini.response.14, gemini.hard.12"""
    document = answer(YO)
    document["candidates"].append({"content": {"role": "model", "parts": [{"text": "Hey"}]}, "index": 1})
    response, lost = read(document)
    assert (len(response.output), lost) == (1, ["candidates[1] (dropped)"])
    assert written(response) == (document, [])


@pytest.mark.parametrize(
    "fields",
    [
        {"safetyRatings": [{"category": "c", "probability": "LOW"}]},
        {"avgLogprobs": -0.5},
        {"urlContextMetadata": {"urlMetadata": [{"retrievedUrl": "https://a"}]}},
        {"finishMessage": "why"},
        {"tokenCount": 3, "mood": "glad"},
    ],
)
def test_what_describes_one_answer_waits_in_leftovers(fields: Any) -> None:
    """gemini.response.15"""
    assert {f"candidates[0].{name}" for name in fields} <= abroad(returns(answer(YO, **fields)))


@pytest.mark.parametrize("fields", [{"modelStatus": {"modelStage": "STABLE"}}, {"mood": "glad"}])
def test_what_describes_one_document_waits_in_leftovers(fields: Any) -> None:
    """gemini.response.15"""
    assert set(fields) <= abroad(returns({**answer(YO), **fields}))


def test_probabilities_belong_to_an_answer_of_one_text() -> None:
    """gemini.response.16"""
    scored = {
        "chosenCandidates": [{"token": "Yo", "tokenId": 5, "logProbability": -0.1}],
        "topCandidates": [{"candidates": [{"token": "Hé", "logProbability": -3}]}],
    }
    response = returns(answer(YO, logprobsResult=scored))
    other = TopLogprob(token="Hé", logprob=-3, bytes=[72, 195, 169])
    assert response.output[0].content[0].logprobs == [
        Logprob(token="Yo", logprob=-0.1, bytes=[89, 111], top_logprobs=[other])
    ]
    split = returns(answer(YO, {"text": "!"}, logprobsResult=scored))
    assert all(part.logprobs is None for part in split.output[0].content)


# --- what it took ---------------------------------------------------------------------------------------------------


def usage(**counts: Any) -> Any:
    return returns({**answer(YO), "usageMetadata": counts}).usage


def test_tokens_are_counted_as_responses_counts_them() -> None:
    """gemini.response.17: thoughts are output, and what tools gave is input"""
    assert usage(
        promptTokenCount=10,
        cachedContentTokenCount=4,
        toolUsePromptTokenCount=5,
        candidatesTokenCount=3,
        thoughtsTokenCount=2,
        totalTokenCount=20,
    ) == Usage(
        input_tokens=15,
        output_tokens=5,
        total_tokens=20,
        input_tokens_details=InputTokensDetails(cached_tokens=4, cache_write_tokens=0),
        output_tokens_details=OutputTokensDetails(reasoning_tokens=2),
        leftovers={GEMINI: {"toolUsePromptTokenCount": 5}},
    )


def test_where_nothing_is_counted_there_are_no_counts() -> None:
    """gemini.response.18: chunks of Vertex and blocked prompts tell the kind of traffic alone"""
    document = {**answer(YO), "usageMetadata": {"trafficType": "ON_DEMAND", "serviceTier": "flex"}}
    response, lost = read(document)
    assert (response.usage, response.service_tier, lost) == (None, "flex", [])
    assert written(response) == (document, [])


def test_counts_that_are_left_out_are_zero() -> None:
    """gemini.response.18"""
    counted = usage(promptTokenCount=10)
    assert (counted.input_tokens, counted.output_tokens, counted.total_tokens) == (10, 0, 10)
    assert usage(promptTokenCount=10, candidatesTokenCount=0, totalTokenCount=10).output_tokens == 0


def test_details_of_counts_wait_in_leftovers() -> None:
    """gemini.response.19"""
    details = [{"modality": "TEXT", "tokenCount": 10}]
    kept = usage(promptTokenCount=10, totalTokenCount=10, promptTokensDetails=details, trafficType="ON_DEMAND")
    assert kept.leftovers[GEMINI] == {"promptTokensDetails": details, "trafficType": "ON_DEMAND"}


def test_the_tier_that_served_it() -> None:
    """gemini.response.20"""
    document = {**answer(YO), "usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 1, "serviceTier": "standard"}}
    assert returns(document).service_tier == "default"


# --- how it ended ---------------------------------------------------------------------------------------------------

FILTERED = "content_filter"
MESSAGE = "The model said no."


def ended(finish: str | None, *parts: Any, **candidate: Any) -> Any:
    return returns(answer(*parts, finishReason=finish, **({} if parts else {"content": None}), **candidate))


def test_every_reason_that_is_documented_has_a_row() -> None:
    """gemini.finish.1"""
    assert FINISH_REASONS["STOP"] == ("completed", None)
    for finish, (status, why) in FINISH_REASONS.items():
        response = ended(finish, YO)
        told = response.incomplete_details.reason if status == "incomplete" else None
        assert (response.status, told or (response.error.code if status == "failed" else None)) == (status, why)


def test_calls_end_like_texts_do() -> None:
    """gemini.finish.1"""
    assert ended("STOP", called("c1")).status == "completed"


def test_nobody_tells_which_stop_sequence_was_hit() -> None:
    """gemini.hard.11"""
    asked = Request(model=THREE, input="Hi", stop=["END", "."])
    assert plain(read(answer(YO), request=asked)[0].output) == plain(read(answer(YO))[0].output)


def test_nothing_may_be_said_and_the_answer_still_be_over() -> None:
    """gemini.finish.2, gemini.hard.7"""
    response = ended("STOP")
    assert (response.status, response.output) == ("completed", [])


@pytest.mark.parametrize("parts", [[YO], []])
def test_the_limit_of_tokens(parts: Any) -> None:
    """gemini.finish.3, BUGS 45"""
    response = ended("MAX_TOKENS", *parts)
    assert (response.status, response.incomplete_details) == (
        "incomplete",
        IncompleteDetails(reason="max_output_tokens"),
    )
    assert [item.status for item in response.output] == ["incomplete"] * len(parts)


@pytest.mark.parametrize(
    "finish",
    (
        "SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR LANGUAGE ESCALATION PUP_LIMITED_DISABLED "
        "IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION"
    ).split(),
)
def test_what_was_held_back_is_incomplete(finish: str) -> None:
    """gemini.finish.4, gemini.hard.6"""
    response = ended(finish)
    assert (response.status, response.incomplete_details.reason, response.output) == ("incomplete", FILTERED, [])


def test_why_it_was_held_back_is_a_refusal() -> None:
    """gemini.finish.5"""
    said, refusal = ended("SAFETY", YO, finishMessage=MESSAGE).output
    assert refusal.content == [RefusalPart(refusal=MESSAGE)]
    assert said.status == refusal.status == "incomplete"


@pytest.mark.parametrize(
    "finish", "MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL MALFORMED_RESPONSE TOO_MANY_TOOL_CALLS".split()
)
@pytest.mark.parametrize("parts", [[], [YO], [called("c1")]])
def test_a_call_the_model_got_wrong_is_never_completed(finish: str, parts: Any) -> None:
    """gemini.finish.6"""
    response = ended(finish, *parts, finishMessage=MESSAGE)
    assert (response.status, response.error) == ("failed", ResponseError(code="server_error", message=MESSAGE))
    assert len(response.output) == len(parts)


def test_a_missing_signature_has_its_own_code() -> None:
    """gemini.finish.7, BUGS 14"""
    assert ended("MISSING_THOUGHT_SIGNATURE").error.code == "invalid_encrypted_content"


def test_an_answer_that_would_go_on_keeps_its_token() -> None:
    """gemini.finish.8"""
    response = ended("CONTINUATION", YO, continuationToken="AAAA")
    assert response.incomplete_details.reason == "max_output_tokens"
    assert "candidates[0].continuationToken" in abroad(response)


@pytest.mark.parametrize("finish", ["OTHER", "IMAGE_OTHER", "NO_IMAGE", "FINISH_REASON_UNSPECIFIED"])
def test_other_ends_depend_on_whether_anything_was_said(finish: str) -> None:
    """gemini.finish.9"""
    assert ended(finish).status == "failed"
    response = ended(finish, YO)
    assert (response.status, response.incomplete_details.reason) == ("incomplete", finish)


def test_a_reason_nobody_knows_is_an_incomplete_answer() -> None:
    """gemini.finish.10, BUGS 44"""
    for parts in ([], [YO]):
        response = ended("BORED", *parts)
        assert (response.status, response.incomplete_details.reason) == ("incomplete", "BORED")


def test_an_answer_that_just_ends_failed() -> None:
    """gemini.finish.11"""
    response = ended(None, YO)
    assert (response.status, response.error.code) == ("failed", "server_error")


@pytest.mark.parametrize("reason", ["SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY", "JAILBREAK"])
def test_a_blocked_prompt_is_an_answer_held_back(reason: str) -> None:
    """gemini.finish.12"""
    document: Any = {"promptFeedback": {"blockReason": reason}, "responseId": "r", "modelVersion": "m"}
    response = returns(document)
    assert (response.status, response.incomplete_details.reason, response.output) == ("incomplete", FILTERED, [])
    document["promptFeedback"]["blockReasonMessage"] = MESSAGE
    assert returns(document).output[0].content == [RefusalPart(refusal=MESSAGE)]


@pytest.mark.parametrize("nothing", [{}, {"candidates": []}])
def test_no_answer_at_all_failed(nothing: Any) -> None:
    """gemini.finish.13"""
    response = returns(
        {
            **nothing,
            "usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 1},
            "responseId": "r",
            "modelVersion": "m",
        }
    )
    assert (response.status, response.error.code, response.usage.input_tokens) == ("failed", "server_error", 1)


def test_an_error_in_the_place_of_an_answer_failed() -> None:
    """gemini.finish.14, BUGS 48"""
    response = returns({"error": {"code": 503, "message": MESSAGE, "status": "UNAVAILABLE"}})
    assert (response.status, response.error) == (
        "failed",
        ResponseError(code="server_overloaded", type="UNAVAILABLE", message=MESSAGE),
    )


@pytest.mark.parametrize("content", [None, {}, {"role": "model"}, {"role": "model", "parts": []}, {"parts": [YO]}])
def test_a_content_comes_back_as_it_was(content: Any) -> None:
    """gemini.response.21"""
    returns(answer(content=content))


def test_a_number_may_be_a_text() -> None:
    """gemini.response.22: as protobuf writes large ones"""
    body = msgspec.json.encode({**answer(YO), "usageMetadata": {"promptTokenCount": "10", "totalTokenCount": "10"}})
    assert plain(wire.RESPONSE.decode(body))["usageMetadata"] == {"promptTokenCount": 10, "totalTokenCount": 10}


def test_an_enum_given_as_a_number_is_read_like_its_word() -> None:
    """gemini.response.24: protobuf lets a server write the number of any enum"""
    candidate = {**answer(YO)["candidates"][0], "finishReason": 1, "safetyRatings": [{"category": 7}]}
    usage = {"promptTokenCount": 1, "trafficType": 1, "serviceTier": 2}
    body = {**answer(YO), "candidates": [candidate], "usageMetadata": usage, "promptFeedback": {"blockReason": 1}}
    found = plain(wire.RESPONSE.decode(msgspec.json.encode(body)))
    assert found["usageMetadata"] == {"promptTokenCount": 1, "trafficType": "1", "serviceTier": "standard"}
    assert (found["candidates"][0]["finishReason"], found["promptFeedback"]) == ("STOP", {"blockReason": "1"})
    response, lost = read(body)
    assert (response.status, response.output[0].content[0].text, lost) == ("completed", "Yo", [])
    assert plain(wire.EVENT.decode(msgspec.json.encode(body))) == found


def test_signatures_and_visible_output_stand_side_by_side() -> None:
    """gemini.response.23"""
    found = items(
        {"text": "Hm.", "thought": True},
        {"text": "Yo", "thoughtSignature": OTHER},
        called("c1", thoughtSignature=SIGNATURE),
        called("c2"),
    )
    assert kinds(found) == ["reasoning", "reasoning", "message", "reasoning", "function_call", "function_call"]
