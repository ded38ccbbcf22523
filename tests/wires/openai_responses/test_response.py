"""Answers of a host, and answers as a server of ours gives them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from llm_rest.losses import Loss
from llm_rest.responses import (
    ChooseAllowed,
    Compaction,
    FunctionCall,
    FunctionCallOutput,
    FunctionTool,
    IncompleteDetails,
    InputTokensDetails,
    JsonSchemaFormat,
    Logprob,
    McpTool,
    Message,
    OutputText,
    Reasoning,
    ReasoningOptions,
    Request,
    Response,
    ResponseError,
    TextOptions,
    TopLogprob,
    UrlCitation,
    Usage,
)
from llm_rest.responses.carriers import seal
from llm_rest.unknown import Unknown
from llm_rest.vendors.dialects import ResponsesDialect
from llm_rest.wires import openai_responses as wire
from llm_rest.wires.openai_responses.reasoning import Held
from tests.wires.openai_responses.core import core_schema


def document(model: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(model))


def answer(*output: Any, **fields: Any) -> Response:
    return Response(**{"id": "resp_1", "status": "completed", "output": list(output), **fields})


def served(response: Response, request: Request | None = None) -> Any:
    return document(wire.encode_response(response, request=request or Request())[0])


# --- from a host ----------------------------------------------------------------------------------------------------


def test_an_answer_is_passed_through_as_the_same_object() -> None:
    """responses.response.1"""
    response = answer(Message(id="msg_1", role="assistant", content=[OutputText(text="Hi", annotations=[])]))
    assert wire.decode_response(response)[0] is response
    assert wire.encode_response(response)[0] is response


def test_a_short_object_is_an_answer() -> None:
    """responses.response.7"""
    response = wire.RESPONSE.decode(b'{"id":"r","status":"completed","output":[]}')
    assert document(wire.decode_response(response)[0]) == {
        "id": "r",
        "object": "response",
        "status": "completed",
        "output": [],
    }


@pytest.mark.parametrize("given", ["", '"id":null,', '"id":"",'])
def test_an_answer_without_an_id_gets_the_same_one_every_time(given: str) -> None:
    """responses.response.3"""
    item = '{"type":"message","role":"assistant","content":"%s"}'
    raw = "{%s" + f'"status":"completed","output":[{item}]}}'
    first, again, other = (
        wire.decode_response(wire.RESPONSE.decode((raw % (given, text)).encode()))[0] for text in ("a", "a", "b")
    )
    assert first.id.startswith("resp_")
    assert first.id == again.id != other.id


def test_an_id_that_is_a_number_is_text() -> None:
    """responses.response.3"""
    assert wire.RESPONSE.decode(b'{"id":7,"status":"completed","output":[]}').id == "7"


@pytest.mark.parametrize(
    ("counts", "found"),
    [
        ('{"input_tokens":null,"output_tokens":2,"total_tokens":null}', (0, 2, 2)),
        ('{"input_tokens":"11","output_tokens":"2","total_tokens":"13"}', (11, 2, 13)),
        ('{"input_tokens":1.1e1,"output_tokens":2,"total_tokens":13}', (11, 2, 13)),
        ('{"input_tokens":18446744073709551616,"output_tokens":-1,"total_tokens":0}', (2**64, -1, 0)),
    ],
)
def test_token_counts_are_numbers_however_they_come(counts: str, found: tuple[int, ...]) -> None:
    """responses.response.4"""
    usage = wire.RESPONSE.decode(f'{{"id":"r","status":"completed","output":[],"usage":{counts}}}'.encode()).usage
    assert isinstance(usage, Usage)
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == found


@pytest.mark.parametrize(
    ("said", "path", "what"),
    [
        ('"output":[]', "id", "it was missing; one was made from the output"),
        ('"id":7,"output":[]', "id", "it was a number"),
        ('"id":"r","output":[],"usage":{"output_tokens":2}', "usage", "it had no input_tokens, read as 0"),
        ('"id":"r","output":[{"role":"assistant","content":[]}]', "output[0]", "it had no type"),
        (
            '"id":"r","output":[{"type":"message","role":"assistant","content":null}]',
            "output[0]",
            "its content was null",
        ),
        ('"id":"r","output":[{"type":"function_call_output","output":"4"}]', "output[0]", "it had no call_id"),
    ],
)
def test_what_had_to_be_put_right_in_an_answer_is_told(said: str, path: str, what: str) -> None:
    """responses.response.12, BUGS 87"""
    response, lost = wire.decode_response(wire.RESPONSE.decode(f'{{"status":"completed",{said}}}'))
    assert lost == [Loss(path, what, "changed")]
    assert "leftovers" not in json.dumps(document(response))


def test_what_is_null_in_an_answer_that_does_not_fit_is_absent() -> None:
    usage = '{"input_tokens":1,"output_tokens":2,"total_tokens":null}'
    raw = f'{{"id":"r","object":"response","status":"completed","output":[],"usage":{usage},"new":1}}'
    response, lost = wire.decode_response(wire.RESPONSE.decode(raw))
    counts = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    assert (document(wire.encode_response(response)[0]), lost) == ({**json.loads(raw), "usage": counts}, [])


def test_an_unknown_end_is_kept_as_it_came() -> None:
    """responses.response.6, BUGS 44"""
    raw = b'{"id":"r","object":"response","status":"paused","output":[],"incomplete_details":{"reason":"lunch"}}'
    response = wire.decode_response(wire.RESPONSE.decode(raw))[0]
    assert (response.status, document(response.incomplete_details)) == ("paused", {"reason": "lunch"})
    assert document(wire.encode_response(response)[0]) == json.loads(raw)


def test_an_answer_cut_before_its_first_word_can_be_sent_back() -> None:
    """BUGS 45"""
    raw = b'{"id":"r","status":"incomplete","output":[],"incomplete_details":{"reason":"max_output_tokens"}}'
    response = wire.decode_response(wire.RESPONSE.decode(raw))[0]
    assert response.incomplete_details == IncompleteDetails(reason="max_output_tokens")
    assert wire.encode_request(Request(input=[Message(role="user", content="Hi"), *response.output]))[1] == []


def test_a_malformed_call_is_put_right_and_told() -> None:
    """responses.response.5"""
    raw = (
        b'{"id":"r","status":"completed","output":[{"type":"function_call","id":"fc_1","status":"completed",'
        b'"function":{"name":"f","arguments":{"a":1}}}]}'
    )
    response, lost = wire.decode_response(wire.RESPONSE.decode(raw))
    assert response.output == [
        FunctionCall(id="fc_1", status="completed", call_id="fc_1", name="f", arguments='{"a":1}')
    ]
    assert lost == [
        Loss("output[0]", "it had no call_id, read as its other id", "changed"),
        Loss("output[0]", "name and arguments stood one level down", "changed"),
        Loss("output[0]", "its arguments were an object instead of text", "changed"),
    ]


def test_empty_arguments_are_left_for_the_tool_loop() -> None:
    raw = b'{"id":"r","status":"completed","new":1,"output":[{"type":"function_call","call_id":"c","name":"f","arguments":""}]}'
    response, lost = wire.decode_response(wire.RESPONSE.decode(raw))
    assert response.output == [FunctionCall(call_id="c", name="f", arguments="")]
    assert lost == []


# --- from a server --------------------------------------------------------------------------------------------------


def test_what_another_wire_left_over_in_an_answer_is_a_loss_by_name() -> None:
    """responses.response_back.2"""
    chat = {"openai_chat": {"system_fingerprint": "fp"}}
    response = answer(
        Message(role="assistant", content="Hi", leftovers=chat),
        leftovers=chat,
        usage=Usage(input_tokens=1, output_tokens=1, leftovers=chat),
    )
    body, lost = wire.encode_response(response)
    assert b"leftovers" not in msgspec.json.encode(body)
    assert [loss.path for loss in lost] == [
        "output[0].system_fingerprint",
        "system_fingerprint",
        "usage.system_fingerprint",
    ]


def test_an_answer_without_its_request_is_sent_as_it_is() -> None:
    """responses.response_back.1"""
    assert document(wire.encode_response(answer(Unknown({"type": "x"})))[0]) == {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "output": [{"type": "x"}],
    }


SHORTEST = answer()
RICHEST = answer(
    Reasoning(summary=None, content=None, encrypted_content=None),
    Message(
        role="assistant",
        phase=None,
        content=[
            OutputText(
                text="Hi",
                annotations=[UrlCitation(url="https://a.b")],
                logprobs=[Logprob(token="Hi", logprob=-0.1, top_logprobs=[TopLogprob(token="Hi", logprob=-0.1)])],
            )
        ],
    ),
    Message(role="assistant", content="Hi"),
    FunctionCall(call_id="c", name="f", arguments="{}"),
    FunctionCallOutput(call_id="c", output="4"),
    Compaction(encrypted_content="gAAA", created_by=None),
    created_at=1.5,
    completed_at=2.5,
    model=None,
    usage=Usage(input_tokens=1, output_tokens=2),
    temperature=None,
    tools=[FunctionTool(name="f")],
    tool_choice=ChooseAllowed(tools=[{"type": "function", "name": "f"}]),
    reasoning=ReasoningOptions(),
    text=TextOptions(verbosity=None),
    metadata=None,
)
FAILED = answer(status="failed", error=ResponseError(code=500), incomplete_details=IncompleteDetails())


@pytest.mark.parametrize("response", [SHORTEST, RICHEST, FAILED], ids=["shortest", "richest", "failed"])
@pytest.mark.parametrize(
    "request_",
    [Request(), Request(model="m", temperature=0, top_p=None, metadata={"a": "b"}, service_tier="auto", store=True)],
    ids=["nothing asked", "much asked"],
)
def test_a_served_answer_has_every_key_of_the_core(response: Response, request_: Request) -> None:
    """responses.response_back.3, responses.response_back.6, responses.response_back.7"""
    schema = core_schema("ResponseResource")
    found = [error.message for error in Draft202012Validator(schema).iter_errors(served(response, request_))]
    assert found == []


def test_the_echo_comes_from_the_answer_then_the_request_then_the_format() -> None:
    """responses.response_back.3"""
    found = served(answer(temperature=0.1, top_p=None), Request(temperature=0.2, top_p=0.3, model="m"))
    assert (found["temperature"], found["top_p"], found["presence_penalty"]) == (0.1, 0.3, 0.0)
    assert (found["model"], found["truncation"], found["text"]) == ("m", "disabled", {"format": {"type": "text"}})


def test_missing_ids_are_made_from_the_answer_and_the_place() -> None:
    """responses.response_back.4"""
    found = served(
        answer(Message(role="assistant", content=[]), Reasoning(summary=[]), Message(id="x", role="user", content=[]))
    )
    assert [item["id"] for item in found["output"]] == ["msg_1_0", "rs_1_1", "x"]


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ("completed", ["completed", "completed"]),
        ("incomplete", ["completed", "incomplete"]),
        ("in_progress", ["completed", "in_progress"]),
        ("failed", ["completed", "incomplete"]),
    ],
)
def test_the_last_item_of_a_cut_answer_is_the_cut_one(status: str, found: list[str]) -> None:
    """responses.response_back.4"""
    items = [Message(role="assistant", content=[]), FunctionCall(call_id="c", name="f", arguments="")]
    assert [item["status"] for item in served(answer(*items, status=status))["output"]] == found


def test_a_message_that_is_a_string_is_served_as_a_part() -> None:
    """responses.response_back.5"""
    (item,) = served(answer(Message(role="assistant", content="Hi")))["output"]
    assert item["content"] == [{"type": "output_text", "text": "Hi", "annotations": []}]


def test_token_counts_are_served_whole() -> None:
    """responses.response_back.8, BUGS 78"""
    usage = Usage(
        input_tokens=12307, output_tokens=4, input_tokens_details=InputTokensDetails(cache_write_tokens=12304)
    )
    assert served(answer(usage=usage))["usage"] == {
        "input_tokens": 12307,
        "output_tokens": 4,
        "total_tokens": 12311,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 12304},
        "output_tokens_details": {"reasoning_tokens": 0},
    }


def test_a_schema_that_was_asked_for_is_repeated() -> None:
    """responses.response_back.3"""
    asked = TextOptions(format=JsonSchemaFormat(name="w", schema={"type": "object"}))
    assert served(SHORTEST, Request(text=asked))["text"]["format"] == {
        "type": "json_schema",
        "name": "w",
        "schema": {"type": "object"},
        "description": None,
        "strict": False,
    }


def test_an_envelope_of_another_issuer_is_left_for_the_client_to_carry() -> None:
    """responses.response_back.9"""
    thought = Reasoning(id="rs_1", summary=[], encrypted_content=seal("openai_responses", "xai", Held()))
    assert wire.encode_response(answer(thought))[0].output == [thought]


def test_an_envelope_of_this_host_is_opened() -> None:
    """responses.response_back.10"""
    envelope = seal("openai_responses", "xai", Held(encrypted_content="opaque"))
    body, _ = wire.encode_response(
        answer(Reasoning(id="rs_1", summary=[], encrypted_content=envelope)), dialect=ResponsesDialect(issuer="xai")
    )
    assert body.output == [Reasoning(id="rs_1", summary=[], encrypted_content="opaque")]


def test_the_secrets_of_mcp_servers_are_not_repeated() -> None:
    """responses.response_back.11"""
    tool = McpTool(
        server_label="s", server_url="https://a.b/secret/mcp", authorization="secret", headers={"x-key": "secret"}
    )
    (found,) = served(SHORTEST, Request(tools=[tool]))["tools"]
    assert "secret" not in json.dumps(found)
    assert found["server_url"] == "https://a.b/<redacted>"
    assert tool.authorization == "secret"


def test_a_citation_without_title_or_place_is_read_and_served_with_empty_ones() -> None:
    """responses.response_back.6, BUGS 89"""
    note = '{"type":"url_citation","url":"https://a.b"}'
    part = f'{{"type":"output_text","text":"Hi","annotations":[{note}]}}'
    item = f'{{"type":"message","role":"assistant","content":[{part}]}}'
    response = wire.RESPONSE.decode(f'{{"id":"r","status":"completed","output":[{item}]}}')
    (found,) = served(wire.decode_response(response)[0])["output"][0]["content"][0]["annotations"]
    assert found == {"type": "url_citation", "url": "https://a.b", "title": "", "start_index": 0, "end_index": 0}
