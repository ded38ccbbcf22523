"""Answers of the Chat wire on their way into responses; every one of them also comes back as it came."""

from __future__ import annotations

import json

import pytest

from llm_rest.errors import DecodeError
from llm_rest.responses import (
    FunctionCallOutput,
    Request,
)
from llm_rest.wires import openai_chat as wire
from llm_rest.wires.openai_chat import types
from tests.wires.openai_chat import CALL, answered, plain, said

# --- the document ---------------------------------------------------------------------------------------------------


def test_an_answer_without_an_id_gets_the_same_one_every_time() -> None:
    """chat.response.1"""
    document = {**said(content="Hi"), "id": ""}
    assert answered(document)[0].id == answered(document)[0].id != ""


# --- content --------------------------------------------------------------------------------------------------------


def test_unknown_fields_of_a_message_and_its_calls_return_to_their_host_in_a_client_too() -> None:
    """chat.response.18"""
    call = {**CALL, "later": 1, "function": {**CALL["function"], "mood": 2}}
    document = said(content="a", tool_calls=[call], tone="calm", finish_reason="tool_calls")
    response, _ = wire.decode_response(wire.RESPONSE.decode(json.dumps(document)), keep=False)
    output = FunctionCallOutput(call_id="c1", output="4")
    body, _ = wire.encode_request(Request(input=[*response.output, output]))
    (message, _) = plain(body)["messages"]
    assert (message["tone"], message["tool_calls"]) == ("calm", [call])


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


def test_the_decoder_is_typed_for_the_whole_answer() -> None:
    assert isinstance(wire.RESPONSE.decode(json.dumps(said(content="a"))), types.Completion)
