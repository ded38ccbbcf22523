"""What is null, left out or empty: a null is a field that is not set, and everything else comes back as it was, or is told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import Raw

from llm_rest.errors import DecodeError
from llm_rest.responses import FunctionCall, FunctionTool, InputText, Message, Request
from llm_rest.responses.carriers import seal
from llm_rest.responses.stream import Assembler
from llm_rest.wires import gemini_generate_content as wire
from llm_rest.wires.gemini_generate_content.reasoning import Whole
from tests.support.documents import Place, places, replaced, without
from tests.support.facts import plain
from tests.wires.gemini_generate_content import (
    BUDGETED,
    END,
    SCHEMA,
    SIGNATURE,
    THREE,
    answer,
    answered,
    asked,
    back,
    call,
    called,
    chunk,
    decoded,
    gave,
    model,
    named,
    option,
    parts_of,
    read,
    sealed,
    sent,
    theirs,
    told,
    user,
    written,
)

HI = {"contents": [theirs("Hi")]}
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
RESULT: Any = gave("c1", {"output": "4"})

QUESTION = {
    "systemInstruction": {"role": "user", "parts": [{"text": "Be kind."}]},
    "contents": [
        theirs("Hi", IMAGE, {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://b/a.mp4"}}),
        model({"text": "Hm.", "thought": True}, called("c1", args={"a": 1}, thoughtSignature=SIGNATURE)),
        theirs({"functionResponse": {**RESULT["functionResponse"], "parts": [IMAGE], "willContinue": False}}),
    ],
    "tools": [{"functionDeclarations": [{"name": "f", "description": "d", "parametersJsonSchema": SCHEMA}]}],
    "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
    "generationConfig": {
        "temperature": 0.5,
        "topK": 4,
        "maxOutputTokens": 9,
        "stopSequences": ["END"],
        "candidateCount": 1,
        "responseMimeType": "application/json",
        "responseJsonSchema": SCHEMA,
        "thinkingConfig": {"thinkingBudget": 600, "includeThoughts": True},
    },
    "serviceTier": "flex",
    "cachedContent": "cachedContents/1",
}

ANSWER = {
    **answer(
        {"text": "Hm.", "thought": True, "thoughtSignature": SIGNATURE},
        {"text": "Yo", "thoughtSignature": SIGNATURE},
        called("c1", args={"a": 1}, thoughtSignature=SIGNATURE),
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        IMAGE,
        finishMessage="Done.",
        avgLogprobs=-1.5,
        groundingMetadata={
            "webSearchQueries": ["q"],
            "groundingChunks": [{"web": {"uri": "https://a.test", "title": "A"}}],
            "groundingSupports": [{"segment": {"endIndex": 2, "text": "Yo"}, "groundingChunkIndices": [0]}],
        },
    ),
    "promptFeedback": {"blockReasonMessage": "No."},
    "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2, "totalTokenCount": 7, "serviceTier": "flex"},
    "createTime": "2026-11-20T10:00:00Z",
}

CALLERS = ("args", "response", "parametersJsonSchema", "responseJsonSchema")
"""Fields whose values are the caller's own JSON, where a null is a value."""


def unset(document: Any) -> Iterator[tuple[Place, Any, Any]]:
    """Each field of a document: the document with null there, and without it."""
    for place in places(document):
        if place and isinstance(place[-1], str) and not set(place[:-1]) & set(CALLERS):
            yield place, replaced(document, place, None), without(document, place)


# --- null -----------------------------------------------------------------------------------------------------------


def test_a_null_in_a_request_is_a_field_left_out() -> None:
    """gemini.canonical.3"""
    for place, null, bare in unset(QUESTION):
        if place != ("contents",):
            assert wire.decode_request(decoded(null)) == wire.decode_request(decoded(bare)), place


def test_a_null_in_an_answer_is_a_field_left_out() -> None:
    """gemini.canonical.3"""
    for place, null, bare in unset(ANSWER):
        assert read(null) == read(bare), place


def test_a_null_in_a_chunk_is_a_field_left_out() -> None:
    """gemini.canonical.3"""
    for place, null, bare in unset(ANSWER):
        assert told(null) == told(bare), place


def test_arguments_that_are_null_are_none() -> None:
    """gemini.request_back.12, gemini.canonical.3"""
    document = answer({"functionCall": {"name": "f", "args": None}, "thoughtSignature": SIGNATURE})
    response, _ = read(document)
    assert response.output[1].arguments == "{}"
    assert parts_of(written(response)[0]) == [{"functionCall": {"name": "f"}, "thoughtSignature": SIGNATURE}]


def test_an_output_that_is_null_says_nothing() -> None:
    """gemini.request_back.29, gemini.canonical.3"""
    request = asked({"contents": [theirs("Hi"), model(called("c1")), theirs(gave("c1", None))]}, model=BUDGETED)
    assert request.input[-1].output == []
    assert back(request)["contents"][2] == theirs({"functionResponse": {"id": "c1", "name": "f"}})


def arguments_of(items: Any) -> list[str]:
    return [item.arguments for item in items if isinstance(item, FunctionCall)]


def test_a_null_changes_no_other_value() -> None:
    """gemini.canonical.3: also not how a number is written"""
    numbers = b'{"a": 1E5, "b": 123456789012345678901234567890, "c": 1.10, "d": null}'
    raw = b'{"candidates": [{"content": {"parts": [{"text": null, "functionCall": {"args": %b}}]}}]}' % numbers
    response, _ = wire.decode_response(wire.RESPONSE.decode(raw))
    assert arguments_of(response.output) == [numbers.decode()]
    snake = b'{"contents": [{"role": "model", "parts": [{"function_call": {"args": %b}}]}]}' % numbers
    request, _ = wire.decode_request(wire.REQUEST.decode(snake))
    assert arguments_of(request.input) == [numbers.decode()]


def test_no_null_of_a_request_is_sent() -> None:
    """gemini.request.70"""
    request = Request(model=THREE, input="Hi", tools=[FunctionTool(name="f", description=None)])
    assert sent(request)[0]["tools"] == [{"functionDeclarations": [{"name": "f"}]}]


def test_a_null_in_extra_takes_a_field_out() -> None:
    """gemini.request.57"""
    extra = {"gemini_generate_content": {"generationConfig": {"temperature": None, "mediaResolution": "LOW"}}}
    assert option(temperature=0.5, extra=extra) == ({"generationConfig": {"mediaResolution": "LOW"}}, [])


@pytest.mark.parametrize("raw", [b"null", b"[null]", b"[]", b'{"contents": [null]}', b'{"contents": null}', b"[[1]]"])
def test_a_null_in_the_place_of_an_object_is_no_document(raw: bytes) -> None:
    """gemini.canonical.3"""
    with pytest.raises(ValueError, match=r"expected|Expected|required"):
        wire.REQUEST.decode(raw)


# --- left out or empty ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("id", [{"id": "c1"}, {"id": ""}, {}])
@pytest.mark.parametrize("name", [{"name": ""}, {}])
@pytest.mark.parametrize("args", [{"args": {}}, {}])
def test_a_call_without_a_name_keeps_its_signature(id: Any, name: Any, args: Any) -> None:
    """gemini.request_back.12, gemini.signature.15"""
    part = {"functionCall": {**id, **name, **args}, "thoughtSignature": SIGNATURE}
    document = answer(part)
    response, lost = read(document)
    assert (written(response), lost) == ((document, []), [])
    body = {"contents": [theirs("Hi"), model(part), theirs({"functionResponse": {**id, **name}})]}
    assert back(asked(body, model=THREE)) == body


def test_a_call_that_was_given_a_name_has_it() -> None:
    """gemini.request_back.12"""
    response, _ = read(answer({"functionCall": {"id": "c1"}}))
    response.output[0].name = "f"
    response.output[0].arguments = '{"a": 1}'
    assert parts_of(written(response)[0]) == [called("c1", "f", {"a": 1})]


def test_a_call_of_ours_without_a_name_is_told() -> None:
    """gemini.response_back.3"""
    assert written(answered(call("c1", "")))[1] == ["output[0].name (changed)"]


def test_a_signature_that_is_empty_comes_back() -> None:
    """gemini.response.13"""
    document = answer(called("c1", thoughtSignature=""))
    assert written(read(document)[0])[0] == document


@pytest.mark.parametrize(
    "part",
    [
        {},
        {"inlineData": {}},
        {"inlineData": {"data": "AAAA"}},
        {"inlineData": {"mimeType": "", "data": "AAAA"}},
        {"fileData": {"fileUri": "", "mimeType": "image/png"}},
        {"fileData": {"fileUri": "https://x.test/a.png"}},
    ],
)
@pytest.mark.parametrize("name", [BUDGETED, THREE])
def test_a_part_that_lacks_something_comes_back(part: Any, name: str) -> None:
    """gemini.request_back.7, gemini.request_back.11"""
    result = {"functionResponse": {"id": "c1", "name": "f", "response": {"output": "4"}, "parts": [part]}}
    signed = called("c1", thoughtSignature=SIGNATURE)
    body = {"contents": [theirs("Hi", part), model(signed), theirs(result)], "systemInstruction": {"parts": [{}]}}
    assert back(asked(body, model=name)) == body


def test_a_part_that_says_nothing_stays_so_where_the_system_speaks_later() -> None:
    """gemini.request.5"""
    request = asked({**HI, "systemInstruction": {"parts": [{}]}}, model=BUDGETED)
    assert isinstance(request.input[0], Message)
    request.input = [user("Hi"), Message(role="developer", content=[*request.input[0].content, InputText(text="a")])]
    assert sent(request)[0]["contents"][1]["parts"] == [{}, {"text": "<system>\na\n</system>"}]


@pytest.mark.parametrize("bare", [{}, {"role": "user"}, {"role": "user", "parts": []}])
def test_what_has_no_parts_is_told(bare: Any) -> None:
    """gemini.request_back.5"""
    body = {"contents": [theirs("Hi"), bare], "systemInstruction": bare}
    request, lost = wire.decode_request(decoded(body), model=BUDGETED)
    assert (back(request), named(lost)) == (HI, ["systemInstruction (dropped)", "contents[1] (dropped)"])


def test_what_stands_around_parts_of_a_tool_is_kept() -> None:
    """gemini.request_back.4"""
    ran = [{"executableCode": {"code": "1"}}, {"codeExecutionResult": {"outcome": "OUTCOME_OK"}}]
    body = {"contents": [theirs("Hi"), {**model(*ran), "mood": "glad"}, theirs("So?")]}
    assert back(asked(body, model=THREE)) == body


@pytest.mark.parametrize(
    "document", [{}, {"responseId": "r"}, {"error": {}}, {"error": {"code": 503}}, {"candidates": []}]
)
def test_an_answer_that_lacks_everything_comes_back(document: Any) -> None:
    """gemini.finish.13, gemini.finish.14"""
    response, lost = read(document)
    assert (response.status, written(response), lost) == ("failed", (document, []), [])


def test_an_error_that_was_put_into_other_words_says_those() -> None:
    """gemini.finish.14"""
    response, _ = read({"error": {"code": 503, "details": [{"a": 1}]}})
    response.error.message = "Later."
    assert written(response)[0] == {"error": {"code": 503, "message": "Later.", "details": [{"a": 1}]}}


@pytest.mark.parametrize("about", [{}, {"thought": True}])
def test_an_empty_text_with_a_signature_keeps_what_is_said_of_it(about: Any) -> None:
    """gemini.signature.5, gemini.response.13"""
    document = answer({"text": "", "thoughtSignature": SIGNATURE, "partMetadata": {"a": 1}, **about}, {"text": "Yo"})
    assert written(read(document)[0]) == (document, [])


def test_tools_beside_an_mcp_server_come_back_as_they_were() -> None:
    """gemini.request_back.21, gemini.request_back.24"""
    transport = {"url": "https://m.test/?key=hush", "headers": {"A": "hush"}, "timeout": "5s"}
    old = {"name": "f", "parameters": {"type": "OBJECT"}, "behavior": "BLOCKING"}
    servers = [{"name": "s", "streamableHttpTransport": transport, "mood": "glad"}, {"name": "t"}]
    body = {**HI, "tools": [{"functionDeclarations": [old]}, {"mcpServers": servers}]}
    request = asked(body, model=THREE)
    assert back(request) == body
    assert "hush" not in str(request.leftovers)


def test_an_empty_finish_reason_is_none() -> None:
    """gemini.finish.11, gemini.stream.15"""
    document = answer({"text": "Yo"}, finishReason="")
    response, _ = read(document)
    assert (response.status, written(response)) == ("failed", (document, []))
    pieces = [chunk({"text": "Yo"}, finishReason=""), chunk({"text": "!"}, finishReason="")]
    assert told(*pieces)[-1].type == "response.output_text.delta"
    assert told(*pieces, END, chunk(finishReason=""))[-1].type == "response.completed"


def test_what_nobody_knows_of_a_content_is_kept_in_a_stream() -> None:
    """gemini.stream.10"""
    piece = chunk({"text": "Yo"})
    piece["candidates"][0]["content"]["mood"] = "glad"
    assembler = Assembler()
    for event in told(piece, END):
        assembler.feed(event)
    assert plain(wire.encode_response(assembler.response)[0])["candidates"][0]["content"]["mood"] == "glad"


def test_a_null_in_an_envelope_is_a_field_left_out() -> None:
    """gemini.response.12"""
    response, _ = read(answer({"executableCode": {"code": "1"}}))
    code, carrier = response.output
    old = Whole(digest=sealed(carrier).digest, parts=Raw(b'[{"text": null, "executableCode": {"code": "1"}}]'))
    carrier.encrypted_content = seal("gemini_generate_content", "google", old)
    assert parts_of(written(answered(code, carrier))[0]) == [{"executableCode": {"code": "1"}}]


def test_an_answer_with_a_null_for_its_candidates_is_one_only_where_it_says_why() -> None:
    with pytest.raises(DecodeError, match="candidates"):
        wire.RESPONSE.decode(b'{"candidates":null,"modelVersion":"m"}')
    blocked = wire.RESPONSE.decode(b'{"candidates":null,"promptFeedback":{"blockReason":"SAFETY"}}')
    assert wire.decode_response(blocked)[0].status == "incomplete"
    wire.EVENT.decode(b'{"candidates":null,"usageMetadata":{"totalTokenCount":3}}')
