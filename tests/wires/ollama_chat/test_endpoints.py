"""Errors, and the endpoints beside answering; through the client, and through the client of the vendor."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import ollama
import pytest
from pytest_httpx import HTTPXMock

from llm_rest import Client
from llm_rest.errors import (
    APIStatusError,
    AuthenticationError,
    BadRequestError,
    ContextLengthError,
    ErrorFacts,
    LossError,
    MalformedResponseError,
    NotFoundError,
    api_error,
)
from llm_rest.responses import InputImage, InputText, Message, Request
from llm_rest.server.app import serve_in_thread
from llm_rest.server.handler import Context
from llm_rest.simulator.refusals import problems
from llm_rest.vendors.dialects import OllamaDialect
from llm_rest.wires import ollama_chat as wire
from tests.corpus import exchanges
from tests.support.facts import plain

# --- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "body", "message", "code"),
    [
        (200, b'{"error":"model \'x\' not found"}', "model 'x' not found", "model_not_found"),
        (200, b'{"error":"boom","StatusCode":502}', "boom", None),
        (400, b'{"error":"\\"m\\" does not support thinking"}', '"m" does not support thinking', "invalid_argument"),
        (404, b"404 page not found", "404 page not found", None),
        (403, b"", "", None),
        (502, b"<html><title>Bad Gateway</title></html>", "Bad Gateway", None),
        (500, b'{"error":{"message":"m","type":"t","code":5}}', "m", "5"),
    ],
)
def test_an_error_of_any_shape_says_what_it_says(status: int, body: bytes, message: str, code: str | None) -> None:
    """ollama.response.16, ollama.hard.8. BUGS 48"""
    facts = wire.decode_error(status, {"retry-after": "3"}, body)
    assert (facts.message, facts.code, facts.retry_after) == (message, code, 3)
    assert facts.status == (502 if b"StatusCode" in body else status)


def test_an_error_is_told_with_a_status_that_fits() -> None:
    """ollama.response_back.12"""
    assert wire.encode_error(ErrorFacts(status=529, message="m", code="x")) == (529, {"error": "m"})
    assert wire.encode_error(ErrorFacts(status=200, message="m", code="model_not_found"))[0] == 404
    assert wire.encode_error(ErrorFacts(status=0, message="m"))[0] == 502


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("input length exceeds the context length", ContextLengthError),
        ("unauthorized", AuthenticationError),
        ("model 'x' not found", NotFoundError),
        ("model is required", BadRequestError),
        ("something new", APIStatusError),
    ],
)
def test_an_error_under_status_200_is_typed_by_its_text(text: str, kind: type[Exception]) -> None:
    assert type(api_error(wire.decode_error(200, {}, f'{{"error":"{text}"}}'.encode()))) is kind


# --- beside answering -----------------------------------------------------------------------------------------------


def test_models_are_listed_and_shown() -> None:
    listed = wire.MODELS.decode(
        b'{"models":[{"name":"a:latest","model":"a:latest","size":5,"details":{"family":"llama","new":1},"new":2}]}'
    )
    assert listed.models[0].name == "a:latest"
    shown = wire.SHOWN.decode(
        b'{"capabilities":["tools","dreams"],"model_info":{"general.architecture":"llama","llama.context_length":8192}}'
    )
    assert (shown.capabilities, shown.context_length) == (["tools", "dreams"], 8192)
    assert wire.SHOWN.decode(b"{}").context_length is None
    assert (wire.models_route().method, wire.models_route().path) == ("GET", "/api/tags")
    dialect = OllamaDialect(path="/ollama/api/chat")
    assert wire.show_route(dialect=dialect).path == "/ollama/api/show"
    assert plain(wire.ShowRequest(model="m")) == {"model": "m"}
    assert wire.route(Request(model="m"), dialect=dialect, stream=True).path == "/ollama/api/chat"


# --- through our client ---------------------------------------------------------------------------------------------


def test_a_server_at_home_is_asked_at_its_own_path_and_without_a_key(httpx_mock: HTTPXMock) -> None:
    said = {"role": "assistant", "content": "Hi."}
    httpx_mock.add_response(json={"model": "m", "message": said, "done": True, "done_reason": "stop"})
    httpx_mock.add_response(json={"models": []})
    with Client("ollama/qwen3:8b") as llm:
        assert llm.generate("Hi").output_text == "Hi."
        llm.validate_access()
    asked, listed = httpx_mock.get_requests()
    assert (str(asked.url), "authorization" in asked.headers) == ("http://localhost:11434/api/chat", False)
    assert (listed.method, str(listed.url)) == ("GET", "http://localhost:11434/api/tags")


@pytest.mark.parametrize("streamed", [False, True])
def test_a_field_nobody_knows_goes_back_on_the_next_turn_and_what_describes_an_answer_does_not(
    httpx_mock: HTTPXMock, streamed: bool
) -> None:
    said = {"role": "assistant", "content": "Hi.", "signature": "s"}
    document = {"model": "m", "message": said, "done": True, "done_reason": "stop", "total_duration": 5}
    httpx_mock.add_response(json=document, is_reusable=True)
    with Client("ollama/qwen3:8b") as llm:
        if streamed:
            with llm.stream("Hi") as stream:
                assert [event.type for event in stream][-1] == "response.completed"
                first = stream.response
        else:
            first = llm.generate("Hi")
        assert first.leftovers is None
        llm.generate([Message(role="user", content="Hi"), *first.output, Message(role="user", content="More?")])
    sent = json.loads(httpx_mock.get_requests()[-1].content)
    assert sent["messages"][1] == said


def test_an_image_by_url_is_refused_before_anything_is_sent() -> None:
    """BUGS 77"""
    image = InputImage(image_url="https://a.b/c.png")
    with Client("ollama/llava") as llm, pytest.raises(LossError, match="fetch_image"):
        llm.generate([Message(role="user", content=[InputText(text="What?"), image])])


def test_an_error_inside_a_good_answer_is_raised(httpx_mock: HTTPXMock) -> None:
    """BUGS 48"""
    httpx_mock.add_response(json={"error": "model 'x' not found"})
    httpx_mock.add_response(json={"model": "m"}, is_reusable=True)
    with Client("ollama/x") as llm:
        with pytest.raises(NotFoundError, match="model 'x' not found"):
            llm.generate("Hi")
        with pytest.raises(MalformedResponseError):
            llm.generate("Hi")


# --- the simulated server -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[ollama.Client]:
    with serve_in_thread() as url:
        client = ollama.Client(host=url)
        yield client
        client._client.close()


TOOL: Any = {
    "type": "function",
    "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}


def test_the_vendors_own_client_has_a_tool_conversation_with_the_simulator(server: ollama.Client) -> None:
    said: list[Any] = [{"role": "user", "content": 'reason Hm.\ncall get_weather {"city": "Oslo"}\nsay Four degrees.'}]
    first = server.chat("m", messages=said, tools=[TOOL])
    assert first.message.thinking == "Hm."
    assert first.message.tool_calls
    (call,) = first.message.tool_calls
    assert (call.function.name, call.function.arguments) == ("get_weather", {"city": "Oslo"})
    said += [first.message, {"role": "tool", "content": "4", "tool_name": "get_weather"}]
    second = server.chat("m", messages=said, tools=[TOOL])
    assert (second.message.content, second.done_reason) == ("Four degrees.", "stop")
    assert second.prompt_eval_count


def test_the_vendors_own_client_finds_models_formats_and_errors(server: ollama.Client) -> None:
    assert [model.model for model in server.list().models] == ["simulator"]
    said: list[Any] = [{"role": "user", "content": "Who?"}]
    format = {"type": "object", "properties": {"born": {"type": "integer"}}, "required": ["born"]}
    assert server.chat("m", messages=said, format=format).message.content == '{"born":1}'
    with pytest.raises(ollama.ResponseError, match="not found") as caught:
        server.chat("missing", messages=said)
    assert caught.value.status_code == 404


def test_the_vendors_own_client_reads_a_stream_of_the_simulator(server: ollama.Client) -> None:
    said: list[Any] = [{"role": "user", "content": "reason Hm.\npieces 3\nsay Hello."}]
    parts = list(server.chat("m", messages=said, stream=True))
    assert [part.message.thinking for part in parts if part.message.thinking] == ["Hm."]
    assert [part.message.content for part in parts if part.message.content] == ["Hel", "lo."]
    assert [part.done for part in parts] == [False] * (len(parts) - 1) + [True]
    assert parts[-1].eval_count


def context() -> Context:
    return Context(wire="ollama_chat", dialect=OllamaDialect(), vendor=None, headers={}, body=b"")


def chat(*messages: Any, **fields: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages), **fields}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"messages": []}, "model is required"),
        (chat(think="extreme"), 'invalid think value: "extreme"'),
        (chat(format="xml"), 'invalid format: "xml"'),
        (chat(top_logprobs=21), "between 0 and 20"),
        (chat(options={"stop": "END"}), 'option "stop" must be of type array'),
        (chat(options={"temperature": "hot"}), 'option "temperature" must be of type number'),
        (chat({"role": "user", "content": [{"type": "text"}]}), "cannot unmarshal array"),
        (chat({"role": "user", "images": ["data:image/png;base64,AAAA"]}), "illegal base64 data"),
        (chat({"role": "user", "images": ["https://a.b/c.png"]}), "illegal base64 data"),
        (
            chat({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}),
            "cannot unmarshal string",
        ),
        (chat(tools=[{"function": {"name": "f", "parameters": []}}]), "cannot unmarshal array"),
        (chat(tools=[{"function": {"name": "f", "parameters": {"required": "a"}}}]), "parameters.required"),
        (chat(tools=[{"function": {"parameters": {"properties": {"a": {"type": 5}}}}}]), "properties.type"),
        (chat(tools=[{"function": {"parameters": {"anyOf": [{"enum": 5}]}}}]), "anyOf.enum"),
    ],
)
def test_the_simulator_refuses_what_the_server_would(document: dict[str, Any], message: str) -> None:
    facts = next(problems(document, context()))
    assert message in facts.message


def test_the_simulator_accepts_every_recorded_request() -> None:
    accepted = [one for one in exchanges("ollama_chat") if one.question and one.response.status == 200]
    assert len(accepted) >= 5
    for one in accepted:
        assert list(problems(plain(wire.REQUEST.decode(one.question or b"")), context())) == []
    usual = chat(options={"num_ctx": None, "stop": ["a"], "new": 1}, format="", think="max", top_logprobs=0)
    assert list(problems(usual, context())) == []
