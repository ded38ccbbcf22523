"""One call through a client: what is sent, what comes back, and what a client holds. Sync, asyncio and trio alike."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pytest_httpx import HTTPXMock

from llm_rest.client.client import AsyncClient, Client
from llm_rest.client.reply import Reply
from llm_rest.errors import ConfigError, Failure, LLMError, RefusalError, TruncatedError
from llm_rest.responses import Message, Request, Response
from llm_rest.transport import Timeouts
from llm_rest.vendors.models import Capabilities
from tests.callers import NewClient, answer, frames

pytestmark = pytest.mark.anyio


def sent(httpx_mock: HTTPXMock, i: int = -1) -> dict[str, Any]:
    return json.loads(httpx_mock.get_requests()[i].content)


# --- one call ---------------------------------------------------------------------------------------------------------


async def test_a_text_is_sent_and_a_reply_returned(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(json=answer("Hello there"))
    async with new_client() as llm:
        reply = await llm.generate("Hi")
    assert isinstance(reply, Reply)
    assert isinstance(reply, Response)
    assert reply.output_text == "Hello there"
    request = httpx_mock.get_requests()[0]
    assert (request.method, str(request.url)) == ("POST", "https://api.openai.com/v1/responses")
    assert request.headers["authorization"] == "Bearer sk-test-0123456789"
    assert request.headers["content-type"] == "application/json"
    assert sent(httpx_mock)["model"] == "gpt-4o"
    assert sent(httpx_mock)["input"] == "Hi"


@pytest.mark.parametrize(
    ("made", "call", "expected"),
    [
        ({}, {}, {"store": False}),  # nothing is stored by the vendor unless requested
        ({}, {"store": True}, {"store": True}),
        ({}, {"extra": {"openai_responses": {"brand_new": 1}, "openai_chat": {"logit_bias": {}}}}, {"brand_new": 1}),
        ({"temperature": 0.1, "user": "u"}, {"temperature": 0.9}, {"temperature": 0.9, "user": "u"}),
        ({"temperature": 0.1}, {"temperature": None}, {"temperature": 0.1}),  # None is not given
        (
            {},
            {
                "input": Request(model="openai/gpt-4.1", input="Hi", temperature=0.1, top_p=0.2, stream=True),
                "top_p": 0.3,
            },
            {"model": "gpt-4.1", "temperature": 0.1, "top_p": 0.3},
        ),
    ],
)
async def test_what_is_sent_is_the_defaults_the_request_and_the_keywords_which_win(
    new_client: NewClient, httpx_mock: HTTPXMock, made: dict[str, Any], call: dict[str, Any], expected: dict[str, Any]
) -> None:
    httpx_mock.add_response(json=answer())
    async with new_client(defaults=made) as llm:
        await llm.generate(**{"input": "Hi", **call})
    assert sent(httpx_mock) == {"model": "gpt-4o", "input": "Hi", "store": False, **expected}


@pytest.mark.parametrize(
    ("model", "options", "asked"),
    [
        ("openai/gpt-5.2", {}, True),
        ("openai/gpt-6.2-sol", {}, True),
        ("openai/gpt-5.2", {"include": []}, False),
        ("openai/gpt-5.2", {"include": ["file_search_call.results"]}, True),
        ("openai/gpt-4.1", {}, False),
        ("openai/gpt-4o-mini", {}, False),
        ("openai/gpt-5-chat-latest", {}, False),
        ("openai/gpt-4.1", {"reasoning": {"summary": "auto"}}, False),
        ("openai/some-new-model", {}, False),
        ("openai/some-new-model", {"reasoning": {"effort": "low"}}, True),
        ("azure_openai/my-deployment", {}, False),
        ("azure_openai/my-deployment", {"reasoning": {"effort": "low"}}, True),
    ],
)
async def test_encrypted_reasoning_is_requested_where_the_model_reasons(
    new_client: NewClient, httpx_mock: HTTPXMock, model: str, options: dict[str, Any], asked: bool
) -> None:
    httpx_mock.add_response(json=answer())
    async with new_client(model, base_url="https://h.example/v1") as llm:
        await llm.generate("Hi", **options)
    assert ("reasoning.encrypted_content" in sent(httpx_mock).get("include", [])) is asked


NOT_ENCRYPTED = {
    "error": {
        "message": "Encrypted content is not supported with this model.",
        "type": "invalid_request_error",
        "param": "include",
        "code": None,
    }
}


@pytest.mark.parametrize("streamed", [False, True])
async def test_encrypted_reasoning_that_the_model_refuses_is_left_out_of_a_second_attempt(
    new_client: NewClient, httpx_mock: HTTPXMock, streamed: bool
) -> None:
    httpx_mock.add_response(status_code=400, json=NOT_ENCRYPTED)
    httpx_mock.add_response(content=b"".join(frames("There.")) if streamed else json.dumps(answer("There.")).encode())
    options: dict[str, Any] = {"reasoning": {"effort": "low"}, "include": ["a"]}
    async with new_client("azure_openai/mine", base_url="https://h.example/v1", on_loss="ignore") as llm:
        if streamed:
            async with llm.stream("Hi", **options) as stream:
                assert "".join([text async for text in stream.text]) == "There."
            reply = stream.response
        else:
            reply = await llm.generate("Hi", **options)
    assert reply.output_text == "There."
    assert [attempt.outcome for attempt in reply.info.attempts] == ["bad_request", "200"]
    assert [(loss.path, loss.kind) for loss in reply.info.losses] == [("include", "dropped")]
    first, second = sent(httpx_mock, 0), sent(httpx_mock, 1)
    assert first.pop("include") == ["a", "reasoning.encrypted_content"]
    assert second.pop("include") == ["a"]
    assert first == second


async def test_a_call_that_fails_without_encrypted_reasoning_too_is_not_sent_a_third_time(
    new_client: NewClient, httpx_mock: HTTPXMock
) -> None:
    httpx_mock.add_response(status_code=400, json=NOT_ENCRYPTED, is_reusable=True)
    async with new_client("openai/gpt-5.2") as llm:
        with pytest.raises(LLMError, match="not supported with this model") as caught:
            await llm.generate("Hi")
        assert len(caught.value.attempts) == len(httpx_mock.get_requests()) == 2
        with pytest.raises(LLMError, match="not supported with this model") as caught:
            await llm.generate("Hi", include=[])
        assert len(caught.value.attempts) == 1


REFUSAL = {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "I will not"}]}


async def test_generate_text_raises_where_the_text_is_no_whole_answer(
    new_client: NewClient, httpx_mock: HTTPXMock
) -> None:
    """BUGS 45."""
    httpx_mock.add_response(json=answer("Hel", status="incomplete", incomplete_details={"reason": "max_output_tokens"}))
    httpx_mock.add_response(json=answer(output=[REFUSAL]))
    httpx_mock.add_response(json=answer("Hello"))
    async with new_client() as llm:
        with pytest.raises(TruncatedError, match="max_output_tokens") as caught:
            await llm.generate_text("Hi")
        assert (caught.value.raw, caught.value.partial.id) == ("Hel", "resp_1")
        with pytest.raises(RefusalError, match="I will not"):
            await llm.generate_text("Hi")
        with pytest.raises(ConfigError, match="background=True"):
            await llm.generate_text("Hi", background=True)
        assert await llm.generate_text("Hi") == "Hello"


async def test_try_generate_returns_an_error_as_a_value(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(status_code=401, json={"error": {"message": "wrong key", "code": "invalid_api_key"}})
    httpx_mock.add_response(json=answer("Hello"))
    async with new_client() as llm:
        failed = await llm.try_generate("Hi")
        assert (type(failed), failed.description, bool(failed)) == (Failure, "wrong key", False)
        assert (await llm.try_generate("Hi")).output_text == "Hello"


async def test_the_info_of_a_reply_has_the_raw_answer_attempts_and_metadata(
    new_client: NewClient, httpx_mock: HTTPXMock
) -> None:
    document = answer(
        usage={
            "input_tokens": 7,
            "output_tokens": 3,
            "total_tokens": 10,
            "input_tokens_details": {"cached_tokens": 2},
            "output_tokens_details": {"reasoning_tokens": 1},
        }
    )
    httpx_mock.add_response(json=document)
    async with new_client() as llm:
        info = (await llm.generate("Hi")).info
    assert json.loads(info.raw) == document
    assert [attempt.outcome for attempt in info.attempts] == ["200"]
    latency = info.metadata.pop("latency_ms")
    assert int(latency) >= 0
    assert info.metadata == {
        "provider": "openai",
        "model": "gpt-4o",
        "input_tokens": "7",
        "output_tokens": "3",
        "total_tokens": "10",
        "cached_input_tokens": "2",
        "reasoning_tokens": "1",
        "api_calls": "1",
        "tool_rounds": "0",
        "response_id": "resp_1",
        "response_status": "completed",
    }


async def test_extra_headers_are_sent_and_win(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(json=answer(), is_reusable=True)
    async with new_client(defaults={"extra_headers": {"X-One": "1"}}) as llm:
        await llm.generate("Hi", extra_headers={"user-agent": "mine", "X-Two": "2"})
    headers = httpx_mock.get_requests()[0].headers
    assert headers.get_list("user-agent") == ["mine"]
    assert (headers["x-one"], headers["x-two"]) == ("1", "2")


# --- defaults ---------------------------------------------------------------------------------------------------------


async def test_options_of_a_derived_client_are_its_own(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(json=answer(), is_reusable=True)
    async with new_client(defaults={"user": "u"}) as llm:
        await llm.with_options(user="v", max_output_tokens=20).generate("Hi")
        await llm.generate("Hi")
    first, second = sent(httpx_mock, 0), sent(httpx_mock, 1)
    assert (first["user"], first["max_output_tokens"]) == ("v", 20)
    assert (second["user"], "max_output_tokens" in second) == ("u", False)


@pytest.mark.parametrize("defaults", [{"temprature": 1}, {"temperature": "hot"}, {"timeout": -1}, {"on_loss": "cry"}])
def test_wrong_defaults_are_refused_when_the_client_is_made(defaults: Any) -> None:
    with pytest.raises(ConfigError):
        Client("openai/gpt-4o", defaults=defaults)
    with Client("openai/gpt-4o") as llm, pytest.raises(ConfigError):
        llm.with_options(**defaults)


# --- vendors, models, keys --------------------------------------------------------------------------------------------


def test_a_client_names_its_vendor_model_and_endpoint() -> None:
    with Client("openai/gpt-4o", api_key="k") as llm:
        assert (llm.vendor, llm.model, llm.endpoint) == ("openai", "gpt-4o", "https://api.openai.com/v1")
        assert isinstance(llm.capabilities(), Capabilities)
        assert llm.capabilities("openai/gpt-5").sampling is False
    with Client() as llm, pytest.raises(ConfigError, match="no model"):
        llm.generate("Hi")


async def test_a_key_and_a_base_url_are_for_one_vendor_only(
    new_client: NewClient, httpx_mock: HTTPXMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XAI_API_KEY", "xai-0123456789")
    httpx_mock.add_response(json=answer(), is_reusable=True)
    async with new_client("openai/gpt-4o", base_url="https://mine.example/v1") as llm:
        await llm.generate("Hi")
        await llm.generate("Hi", model="xai/grok-4")
    first, second = httpx_mock.get_requests()
    assert first.url.host == "mine.example"
    assert second.url.host == "api.x.ai"
    assert second.headers["authorization"] == "Bearer xai-0123456789"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "openai/gpt-4o", "invalid_options": "keep"}, "invalid_options"),
        ({"model": "openai/gpt-4o", "on_event": 5}, "on_event"),
        ({"model": "openai/gpt-4o", "on_event": [5]}, "on_event"),
        ({"api_key": "sk-0123456789"}, "belong to one vendor"),
        ({"model": "simulator/x", "defaults": 5}, "defaults"),
        ({"model": "simulator/x", "credentials": 5}, "credentials"),
    ],
    ids=str,
)
def test_wrong_arguments_of_a_client_are_refused(arguments: dict[str, Any], message: str) -> None:
    """Others: cases H and M of the hostile table."""
    for kind in (Client, AsyncClient):
        with pytest.raises(ConfigError, match=message):
            kind(**arguments)


class Odd:
    pass


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stream": True}, "whole answer"),
        ({"stream_options": {"include_obfuscation": False}}, "gives the answer as it comes"),
        ({"max_output_tokens": 1.5}, "max_output_tokens"),
        ({"metadata": {"a": "\ud800"}}, "metadata.a"),
        ({"input": "a\udc00"}, "input"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_text", "text": "\ud83d"}]}]},
            r"input\[0\].content\[0\].text: .*surrogate",
        ),
        ({"input": " \n"}, "empty"),
        ({"input": []}, "empty"),
        ({"input": None}, "empty"),
        ({"input": 5}, "int"),
        ({"input": [{"role": "user", "content": 5}]}, r"input\[0\].content"),
        ({"input": [Message(role="user", content=5)]}, r"input\[0\].content"),  # type: ignore[arg-type]
        ({"tools": [{"type": "function", "name": "f", "parameters": {"x": float("inf")}}]}, r"tools\[0\].parameters.x"),
        ({"extra_headers": {"Content-Length": "0"}}, "Content-Length"),
        ({"timeout": 0}, "timeout"),
        ({"model": "gpt-4o"}, "vendor"),
        ({"user_token": "a\nb"}, "line break"),
        ({"background": object}, "background"),
        ({"moderation": {"a": [1, Odd()]}}, r"moderation\.a\[1\]: a Odd cannot be written as JSON"),
        ({"moderation": deep(5000)}, "nested too deeply"),
        ({"moderation": {1: float("nan")}}, r"moderation\.1"),
        ({"tools": "f"}, "tools"),
        ({"tools": [5]}, r"tools\[0\]"),
        ({"tools": [{"name": "f"}]}, r"tools\[0\]: expected an object with a type"),
        ({"metadata": {"a": 1}}, r"metadata\.a: .*str.*int"),
        ({"input": [{"content": "Hi"}]}, r"input\[0\]: expected an object with a type"),
        ({"input": [b"Hi"]}, r"input\[0\]"),
        ({"input": b"Hi"}, "bytes"),
        ({"input": Request(input="Hi", temperature=float("nan"))}, "temperature"),
        ({"input": Request(input="Hi", temperature="hot")}, "temperature"),  # type: ignore[arg-type]
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_what_cannot_be_sent_is_refused_by_its_place_before_a_request(
    new_client: NewClient, httpx_mock: HTTPXMock, options: dict[str, Any], message: str
) -> None:
    async with new_client() as llm:
        with pytest.raises(ConfigError, match=message):
            await llm.generate(**{"input": "Hi", **options})
    assert httpx_mock.get_requests() == []


async def test_a_timeout_is_seconds_or_each_limit(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(json=answer(), is_reusable=True)
    async with new_client(timeout=5) as llm:
        await llm.generate("Hi")
        await llm.generate("Hi", timeout=Timeouts(connect=1, first_byte=2, total=3))
        await llm.generate("Hi", timeout=Timeouts(connect="none", total="none"))
    limits = [request.extensions["timeout"] for request in httpx_mock.get_requests()]
    assert 4 < limits[0]["read"] <= 5
    assert limits[1]["connect"] == 1
    assert limits[1]["read"] == 2
    assert limits[2] == {"connect": None, "read": None, "write": None, "pool": None}
