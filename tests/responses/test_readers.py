"""Readers of responses and messages, which the wire does not have."""

from __future__ import annotations

import msgspec

from llm_rest import Message, user
from llm_rest.responses import REQUEST, RESPONSE, InputImage, OutputText, RefusalPart, Response


def test_the_text_of_a_message_is_its_string_or_that_of_its_parts() -> None:
    picture = InputImage(image_url="https://example.com/a.png")
    assert Message(role="user", content="Hello").text == "Hello"
    assert user("What is ", picture, "this?").text == "What is this?"
    assert user(picture).text == ""
    said = [OutputText(text="It is ", annotations=[]), RefusalPart(refusal="No."), OutputText(text="a cat.")]
    assert Message(role="assistant", content=[*said]).text == "It is a cat."


def test_a_field_of_a_host_with_the_name_of_a_reader_is_kept_beside_it() -> None:
    document = b'{"type":"message","role":"user","content":"Hello","text":{"n":1}}'
    message = next(iter(REQUEST.decode(b'{"input":[' + document + b"]}").input or ()))
    assert isinstance(message, Message)
    assert message.text == "Hello"
    assert msgspec.json.decode(msgspec.json.encode(message)) == msgspec.json.decode(document)

    answer = b'{"id":"r","status":"completed","output":[],"output_text":"theirs"}'
    response = RESPONSE.decode(answer)
    assert response.output_text == ""
    assert msgspec.json.decode(msgspec.json.encode(response))["output_text"] == "theirs"


def test_a_decoded_response_has_the_readers_of_a_reply() -> None:
    response = Response(id="r", status="completed", output=[Message(role="assistant", content="Hello")])
    assert (response.output_text, response.stop_reason, response.function_calls, response.refusal) == (
        "Hello",
        "stop",
        [],
        None,
    )
