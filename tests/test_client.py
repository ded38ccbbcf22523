"""One call through a client: what is sent, what comes back, and what a client holds. Sync, asyncio and trio alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import httpx
import msgspec
import pytest
from pytest_httpx import HTTPXMock

from llm_rest.client.client import AsyncClient, Client
from llm_rest.client.reply import Reply
from llm_rest.errors import (
    AuthenticationError,
    CapabilityError,
    ConfigError,
    Failure,
    LLMError,
    RefusalError,
    TruncatedError,
)
from llm_rest.responses import FunctionTool, InputText, Message, OutputText, Request, Response
from llm_rest.transport import Timeouts
from llm_rest.vendors.models import Capabilities
from llm_rest.vendors.rows import Bearer, Vendor
from tests.callers import NewClient, answer, frames

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[1]


def sent(httpx_mock: HTTPXMock, i: int = -1) -> dict[str, Any]:
    return json.loads(httpx_mock.get_requests()[i].content)


# --- one call -------------------------------------------------------------------------------------------------------


async def test_a_text_goes_out_and_a_reply_comes_back(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
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


async def test_nothing_is_kept_by_the_vendor_unless_asked_for(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(json=answer(), is_reusable=True)
    async with new_client() as llm:
        await llm.generate("Hi")
        await llm.generate("Hi", store=True)
    assert sent(httpx_mock, 0)["store"] is False
    assert sent(httpx_mock, 1)["store"] is True
    assert "include" not in sent(httpx_mock, 1)


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
async def test_encrypted_reasoning_is_asked_for_where_the_model_is_known_or_told_to_reason(
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


async def test_encrypted_reasoning_that_the_model_refuses_is_left_out_and_the_call_sent_once_more(
    new_client: NewClient, httpx_mock: HTTPXMock
) -> None:
    httpx_mock.add_response(status_code=400, json=NOT_ENCRYPTED)
    httpx_mock.add_response(json=answer("There."))
    async with new_client("azure_openai/mine", base_url="https://h.example/v1", on_loss="ignore") as llm:
        reply = await llm.generate("Hi", reasoning={"effort": "low"}, include=["a"])
    assert reply.output_text == "There."
    assert [attempt.outcome for attempt in reply.info.attempts] == ["bad_request", "200"]
    assert [(loss.path, loss.kind) for loss in reply.info.losses] == [("include", "dropped")]
    first, second = sent(httpx_mock, 0), sent(httpx_mock, 1)
    assert first.pop("include") == ["a", "reasoning.encrypted_content"]
    assert second.pop("include") == ["a"]
    assert first == second


async def test_a_stream_is_sent_once_more_without_the_encrypted_reasoning_that_the_model_refuses(
    new_client: NewClient, httpx_mock: HTTPXMock
) -> None:
    httpx_mock.add_response(status_code=400, json=NOT_ENCRYPTED)
    httpx_mock.add_response(content=b"".join(frames("There.")), headers={"content-type": "text/event-stream"})
    async with (
        new_client("azure_openai/mine", base_url="https://h.example/v1", on_loss="ignore") as llm,
        llm.stream("Hi", reasoning={"effort": "low"}) as stream,
    ):
        assert "".join([text async for text in stream.text]) == "There."
        reply = stream.response
    assert "include" not in sent(httpx_mock, 1)
    assert [attempt.outcome for attempt in reply.info.attempts] == ["bad_request", "200"]
    assert [(loss.path, loss.kind) for loss in reply.info.losses] == [("include", "dropped")]


async def test_a_call_that_is_refused_without_encrypted_reasoning_too_is_not_sent_a_third_time(
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


async def test_every_field_of_a_request_is_a_keyword(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(json=answer())
    tool = FunctionTool(name="f", parameters={"type": "object"}, strict=False)
    options: dict[str, Any] = {
        "instructions": "Be brief",
        "temperature": 0.5,
        "max_output_tokens": 20,
        "tools": [tool, {"type": "function", "name": "g", "parameters": {"type": "object"}, "strict": True}],
        "tool_choice": "auto",
        "text": {"verbosity": "low"},
        "metadata": {"a": "b"},
        "prompt_cache_key": "key",
        "service_tier": "flex",
        "background_options": {"completion_window": "2h", "continuation_id": "job-1"},
    }
    async with new_client() as llm:
        await llm.generate("Hi", **options)
    body = sent(httpx_mock)
    assert body.items() >= {**options, "tools": json.loads(msgspec.json.encode(options["tools"]))}.items()


@pytest.mark.parametrize(
    "input",
    [
        Message(role="user", content="Hi"),
        {"role": "user", "content": "Hi"},
        [{"role": "user", "content": "Hi"}],
        (Message(role="user", content="Hi"),),
        Request(input=[Message(role="user", content="Hi")]),
    ],
    ids=["struct", "dict", "list", "tuple", "request"],
)
async def test_input_is_written_in_many_ways(new_client: NewClient, httpx_mock: HTTPXMock, input: Any) -> None:
    httpx_mock.add_response(json=answer())
    async with new_client() as llm:
        await llm.generate(input)
    assert sent(httpx_mock)["input"] == [{"type": "message", "role": "user", "content": "Hi"}]


async def test_a_whole_request_keeps_its_options_and_a_keyword_wins(
    new_client: NewClient, httpx_mock: HTTPXMock
) -> None:
    httpx_mock.add_response(json=answer())
    async with new_client(None, vendor="openai") as llm:
        request = Request(model="openai/gpt-4.1", input="Hi", temperature=0.1, top_p=0.2, stream=True)
        await llm.generate(request, top_p=0.3)
    body = sent(httpx_mock)
    assert (body["model"], body["temperature"], body["top_p"]) == ("gpt-4.1", 0.1, 0.3)
    assert "stream" not in body
    assert request.top_p == 0.2


async def test_the_output_of_a_reply_is_input_of_the_next_call(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(json=answer("One"), is_reusable=True)
    async with new_client() as llm:
        first = await llm.generate("Hi")
        await llm.generate([Message(role="user", content="Hi"), *first.output, Message(role="user", content="And?")])
    assert [item["role"] for item in sent(httpx_mock)["input"]] == ["user", "assistant", "user"]


async def test_the_generation_says_how_the_reply_came_about(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
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


async def test_generate_text_gives_the_bare_text(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(json=answer("Hello"))
    async with new_client() as llm:
        assert await llm.generate_text("Hi") == "Hello"


async def test_generate_text_does_not_pass_a_cut_answer_off_as_whole(
    new_client: NewClient, httpx_mock: HTTPXMock
) -> None:
    """BUGS 45."""
    httpx_mock.add_response(
        json=answer("Hel", status="incomplete", incomplete_details={"reason": "max_output_tokens"}), is_reusable=True
    )
    async with new_client() as llm:
        with pytest.raises(TruncatedError, match="max_output_tokens") as caught:
            await llm.generate_text("Hi")
        assert (await llm.generate("Hi")).stop_reason == "max_output_tokens"
    assert caught.value.raw == "Hel"
    assert caught.value.partial.id == "resp_1"


async def test_generate_text_raises_a_refusal(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    refusal = {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "I will not"}]}
    httpx_mock.add_response(json=answer(output=[refusal]))
    async with new_client() as llm:
        with pytest.raises(RefusalError, match="I will not"):
            await llm.generate_text("Hi")


async def test_try_generate_gives_an_error_as_a_value(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(status_code=401, json={"error": {"message": "wrong key", "code": "invalid_api_key"}})
    httpx_mock.add_response(json=answer("Hello"))
    async with new_client() as llm:
        failed = await llm.try_generate("Hi")
        good = await llm.try_generate("Hi")
    assert isinstance(failed, Failure)
    assert (failed.description, failed.suggestions, bool(failed)) == ("wrong key", failed.error.suggestions, False)
    assert isinstance(failed.error, AuthenticationError)
    assert failed.error.to_response() == {
        "error": True,
        "description": failed.description,
        "suggestions": [*failed.suggestions],
    }
    assert "OPENAI_API_KEY" in failed.suggestions[0]
    assert good
    assert good.output_text == "Hello"


async def test_extra_fields_reach_their_own_wire_only(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(json=answer())
    async with new_client() as llm:
        await llm.generate("Hi", extra={"openai_responses": {"brand_new": 1}, "openai_chat": {"logit_bias": {}}})
    assert sent(httpx_mock)["brand_new"] == 1
    assert "logit_bias" not in httpx_mock.get_requests()[0].content.decode()


async def test_extra_headers_are_sent_and_win(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(json=answer(), is_reusable=True)
    async with new_client(defaults={"extra_headers": {"X-One": "1"}}) as llm:
        await llm.generate("Hi", extra_headers={"user-agent": "mine", "X-Two": "2"})
    headers = httpx_mock.get_requests()[0].headers
    assert headers.get_list("user-agent") == ["mine"]
    assert (headers["x-one"], headers["x-two"]) == ("1", "2")


# --- defaults -------------------------------------------------------------------------------------------------------


async def test_defaults_hold_for_every_call_and_a_call_overrides_them(
    new_client: NewClient, httpx_mock: HTTPXMock
) -> None:
    httpx_mock.add_response(json=answer(), is_reusable=True)
    async with new_client(defaults={"temperature": 0.1, "user": "u"}) as llm:
        await llm.generate("Hi", temperature=0.9)
        await llm.generate("Hi", temperature=None)
        await llm.with_options(user="v", max_output_tokens=20).generate("Hi")
        await llm.generate("Hi")
    bodies = [sent(httpx_mock, i) for i in range(4)]
    assert [body.get("temperature") for body in bodies] == [0.9, 0.1, 0.1, 0.1], "None is not given"
    assert [body["user"] for body in bodies] == ["u", "u", "v", "u"]
    assert "max_output_tokens" not in bodies[3]


@pytest.mark.parametrize("defaults", [{"temprature": 1}, {"temperature": "hot"}, {"timeout": -1}, {"on_loss": "cry"}])
def test_wrong_defaults_are_refused_when_the_client_is_made(defaults: Any) -> None:
    with pytest.raises(ConfigError):
        Client("openai/gpt-4o", defaults=defaults)
    with Client("openai/gpt-4o") as llm, pytest.raises(ConfigError):
        llm.with_options(**defaults)


# --- who is asked ---------------------------------------------------------------------------------------------------


def test_a_client_says_what_is_behind_it() -> None:
    with Client("openai/gpt-4o", api_key="k") as llm:
        assert (llm.vendor, llm.model, llm.endpoint) == ("openai", "gpt-4o", "https://api.openai.com/v1")
        assert repr(llm).startswith("<Client for openai/gpt-4o at https://api.openai.com/v1 (openai_responses);")
        assert isinstance(llm.capabilities(), Capabilities)
        assert llm.capabilities("openai/gpt-5").sampling is False


async def test_a_call_may_name_another_model(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(json=answer())
    async with new_client() as llm:
        await llm.generate("Hi", model="openai/gpt-4.1")
    assert sent(httpx_mock)["model"] == "gpt-4.1"


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


async def test_a_host_of_ones_own_is_a_row(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(json=answer())
    mine = Vendor(name="mine", wire="openai_responses", base_url="https://mine.example/v1", auth=Bearer())
    async with new_client("some/model", vendor=mine) as llm:
        await llm.generate("Hi")
    assert sent(httpx_mock)["model"] == "some/model"
    assert httpx_mock.get_requests()[0].url.host == "mine.example"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "gpt-4o"}, "openai/gpt-4o"),
        ({"model": "opnai/gpt-4o"}, "openai"),
        ({"model": "openai/../admin?key=x#y"}, "cannot be sent"),
        ({"model": "openai/gpt-4o", "base_url": "api.openai.com"}, "https://"),
        ({"model": "openai/gpt-4o", "base_url": "https://user:pw@host/v1"}, "user name"),
        ({"model": "openai/gpt-4o", "wire": "anthropic_messages"}, "does not speak"),
        ({"model": "openai/gpt-4o", "timeout": -1}, "timeout"),
        ({"model": "openai/gpt-4o", "timeout": float("nan")}, "timeout"),
        ({"model": "openai/gpt-4o", "on_loss": "cry"}, "on_loss"),
        ({"model": "openai/gpt-4o", "invalid_options": "keep"}, "invalid_options"),
        ({"model": "openai/gpt-4o", "http": object()}, "http="),
        ({"model": "openai/gpt-4o", "on_event": 5}, "on_event"),
        ({"model": "openai/gpt-4o", "on_event": [5]}, "on_event"),
        ({"model": "openai/gpt-4o", "max_connections": 0}, "max_connections"),
        ({"api_key": "sk-0123456789"}, "belong to one vendor"),
        ({"vendor": "nobody"}, "nobody"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_client_that_cannot_work_is_not_made(arguments: dict[str, Any], message: str) -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(ConfigError, match=message):
            kind(**arguments)


async def test_a_call_without_a_model_is_refused(new_client: NewClient) -> None:
    async with new_client(None, api_key=None) as llm:
        with pytest.raises(ConfigError, match="no model"):
            await llm.generate("Hi")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temprature": 1}, "temperature"),
        ({"stream": True}, "whole answer"),
        ({"temperature": float("nan")}, "temperature: expected a number"),
        ({"temperature": "hot"}, "temperature: .*str"),
        ({"max_output_tokens": 1.5}, "max_output_tokens"),
        ({"metadata": {"a": "\ud800"}}, "metadata.a"),
        ({"input": "a\udc00"}, "input"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_text", "text": "\ud83d"}]}]},
            r"input\[0\].content\[0\].text: .*surrogate",
        ),
        ({"input": ""}, "empty"),
        ({"input": " \n"}, "empty"),
        ({"input": []}, "empty"),
        ({"input": None}, "empty"),
        ({"input": 5}, "int"),
        ({"input": [{"role": "user", "content": 5}]}, r"input\[0\].content"),
        ({"input": [Message(role="user", content=5)]}, r"input\[0\].content"),  # type: ignore[arg-type]
        ({"tools": [{"type": "function", "name": "f", "parameters": {"x": float("inf")}}]}, r"tools\[0\].parameters.x"),
        ({"extra_headers": {"X": "a\r\nY: b"}}, "X"),
        ({"extra_headers": {"a b": "c"}}, "a b"),
        ({"extra_headers": {"Content-Length": "0"}}, "Content-Length"),
        ({"timeout": 0}, "timeout"),
        ({"on_loss": "cry"}, "on_loss"),
        ({"model": "gpt-4o"}, "vendor"),
        ({"user_token": "a\nb"}, "line break"),
        ({"background": object}, "background"),
    ],
    ids=lambda value: str(value)[:40].encode("ascii", "replace").decode(),
)
async def test_what_cannot_be_sent_is_refused_by_name_before_a_byte_goes_out(
    new_client: NewClient, httpx_mock: HTTPXMock, options: dict[str, Any], message: str
) -> None:
    async with new_client() as llm:
        with pytest.raises(ConfigError, match=message) as caught:
            await llm.generate(**{"input": "Hi", **options})
    assert caught.value.code == "invalid_request"
    assert not caught.value.retryable
    assert httpx_mock.get_requests() == []


# --- what a model does not take -------------------------------------------------------------------------------------


async def test_an_option_the_model_does_not_take_follows_the_policy(
    new_client: NewClient, httpx_mock: HTTPXMock
) -> None:
    httpx_mock.add_response(json=answer(), is_reusable=True)
    async with new_client("openai/o3") as llm:
        with pytest.raises(CapabilityError, match="temperature"):
            await llm.generate("Hi", temperature=0.1)
        assert httpx_mock.get_requests() == []
        dropped = await llm.generate("Hi", temperature=0.1, invalid_options="drop", on_loss="ignore")
        await llm.generate("Hi", temperature=0.1, invalid_options="send")
    assert [loss.path for loss in dropped.info.losses] == ["temperature"]
    assert "temperature" not in sent(httpx_mock, 0)
    assert sent(httpx_mock, 1)["temperature"] == 0.1


# --- who is calling -------------------------------------------------------------------------------------------------


async def test_a_token_provider_is_asked_for_every_request(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(json=answer(), is_reusable=True)
    asked: list[tuple[str, str | None]] = []

    def provider(vendor: str, account: str | None) -> str:
        asked.append((vendor, account))
        return f"token-{len(asked)}-0123456789"

    async with new_client(api_key=None, credentials=provider) as llm:
        await llm.generate("Hi", account="u42")
        await llm.generate("Hi")
        await llm.generate("Hi", user_token="own-token-0123456789")
    assert asked == [("openai", "u42"), ("openai", None)]
    tokens = [request.headers["authorization"] for request in httpx_mock.get_requests()]
    assert tokens == ["Bearer token-1-0123456789", "Bearer token-2-0123456789", "Bearer own-token-0123456789"]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_token_provider_may_wait_in_an_async_client_only(backend: str, httpx_mock: HTTPXMock) -> None:
    async def provider(vendor: str, account: str | None) -> str:
        await anyio.lowlevel.checkpoint()
        return "token-0123456789"

    async def main() -> None:
        async with AsyncClient("openai/gpt-4o", credentials=provider) as llm:
            await llm.generate("Hi")

    httpx_mock.add_response(json=answer())
    anyio.run(main, backend=backend)
    assert httpx_mock.get_requests()[0].headers["authorization"] == "Bearer token-0123456789"
    with Client("openai/gpt-4o", credentials=provider) as llm, pytest.raises(ConfigError, match="AsyncClient"):
        llm.generate("Hi")


# --- clients as objects ---------------------------------------------------------------------------------------------


async def test_a_client_of_the_callers_is_sent_through(new_client: NewClient, way: str) -> None:
    seen: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=answer("Hello"))

    mock = httpx.MockTransport(handle)
    http = httpx.Client(transport=mock) if way == "sync" else httpx.AsyncClient(transport=mock)
    async with new_client(http=http) as llm:
        assert await llm.generate_text("Hi") == "Hello"
    assert seen[0].headers["authorization"] == "Bearer sk-test-0123456789"
    assert not http.is_closed


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


def test_a_message_of_many_parts_is_sent_as_parts(httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(json=answer())
    with Client("openai/gpt-4o", api_key="sk-0123456789") as llm:
        said = OutputText(text="Yes?")
        llm.generate([Message(role="user", content=[InputText(text="Hi")]), Message(role="assistant", content=[said])])
    kinds = [item["content"][0]["type"] for item in sent(httpx_mock)["input"]]
    assert kinds == ["input_text", "output_text"]


@pytest.mark.parametrize("wrong", [{"defaults": 5}, {"credentials": 5}, {"http": 5}, {"max_connections": 0}])
def test_what_a_client_is_made_of_is_checked(wrong: dict[str, Any]) -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            kind("simulator/x", **wrong)
