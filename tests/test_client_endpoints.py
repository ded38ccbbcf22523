"""What a vendor offers beside answering: counting, compaction, stored responses, models, and whether a key is good."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pytest_httpx import HTTPXMock

from llm_rest import Access, ModelInfo
from llm_rest.errors import (
    APITimeoutError,
    AuthenticationError,
    ClientClosedError,
    ConfigError,
    ConnectError,
    InternalServerError,
    LLMError,
    NotFoundError,
    PermissionDeniedError,
)
from llm_rest.responses import Compaction, Message
from tests.callers import NewClient, answer
from tests.transport.support import nobody

pytestmark = pytest.mark.anyio

V1 = "https://api.openai.com/v1"


def asked(httpx_mock: HTTPXMock) -> list[tuple[str, str]]:
    return [(request.method, str(request.url).removeprefix(V1)) for request in httpx_mock.get_requests()]


ITEMS = [{"type": "message", "role": "user", "content": "Hi"}, {"type": "compaction", "encrypted_content": "opaque"}]


async def test_each_endpoint_has_a_method(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    kept = {"include": ["message.output_text.logprobs"]}
    for document in (
        {"object": "response.input_tokens", "input_tokens": 11},
        {"id": "c_1", "object": "response.compaction", "output": ITEMS},
        answer("kept"),
        answer(status="cancelled"),
        {"id": "resp_1", "object": "response", "deleted": True},
    ):
        httpx_mock.add_response(json=document)
    httpx_mock.add_response(status_code=404, json={"error": {"message": "no such response"}})
    async with new_client() as llm:
        assert await llm.count_tokens("Hi", instructions="Be brief", temperature=0.5) == 11
        compacted = await llm.responses.compact([Message(role="user", content="Hi")], instructions="Be brief")
        assert compacted.output == [Message(role="user", content="Hi"), Compaction(encrypted_content="opaque")]
        assert (await llm.responses.retrieve("resp_1", **kept)).output_text == "kept"
        assert (await llm.responses.cancel("resp_1")).status == "cancelled"
        assert await llm.responses.delete("resp_1") is None
        with pytest.raises(NotFoundError, match="no such response"):
            await llm.responses.delete("resp_1")
    assert asked(httpx_mock) == [
        ("POST", "/responses/input_tokens"),
        ("POST", "/responses/compact"),
        ("GET", "/responses/resp_1?include%5B%5D=message.output_text.logprobs"),
        ("POST", "/responses/resp_1/cancel"),
        ("DELETE", "/responses/resp_1"),
        ("DELETE", "/responses/resp_1"),
    ]
    counted, _, retrieved, *_ = httpx_mock.get_requests()
    assert json.loads(counted.content) == {"model": "gpt-4o", "input": "Hi", "instructions": "Be brief"}
    assert retrieved.content == b""


CHAT = {"wire": "openai_chat"}


@pytest.mark.parametrize(
    ("made", "method", "arguments", "words"),
    [
        (CHAT, "compact", {"input": "Hi"}, "openai_chat"),
        (CHAT, "retrieve", {"response_id": "resp_1"}, "openai_chat"),
        # An id that would change the path.
        *(({}, "retrieve", {"response_id": wrong}, "id") for wrong in ("", "..", ".")),
        ({}, "retrieve", {"response_id": "resp_1", "zzz": 1}, "no option"),
        ({}, "poll", {"response": "resp_1", "interval": 0}, "interval"),
        ({}, "poll", {"response": "resp_1", "interval": -1}, "interval"),
        ({}, "poll", {"response": "resp_1", "timeout": float("nan")}, "timeout"),
        # Methods of the package of OpenAI.
        ({}, "create", {"model": "gpt-5", "input": "Hi"}, "generate"),
        ({}, "parse", {"model": "gpt-5", "input": "Hi"}, "generate_json"),
        ({}, "stream", {"model": "gpt-5", "input": "Hi"}, "client.stream"),
    ],
)
async def test_a_wrong_call_of_an_endpoint_is_refused_before_a_request(
    new_client: NewClient,
    httpx_mock: HTTPXMock,
    made: dict[str, Any],
    method: str,
    arguments: dict[str, Any],
    words: str,
) -> None:
    async with new_client(**made) as llm:
        with pytest.raises(ConfigError, match=words):
            await getattr(llm.responses, method)(**arguments)
    assert httpx_mock.get_requests() == []


async def test_all_input_items_are_listed(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    def page(text: str, **rest: Any) -> dict[str, Any]:
        item = {"type": "message", "role": "user", "content": text, "id": f"msg_{text}"}
        return {"object": "list", "data": [item], "last_id": f"msg_{text}", **rest}

    httpx_mock.add_response(json=page("1", has_more=True))
    httpx_mock.add_response(json=page("2", has_more=False))
    async with new_client() as llm:
        items = await llm.responses.input_items("resp_1")
    assert [item.content for item in items] == ["1", "2"]
    assert asked(httpx_mock) == [
        ("GET", "/responses/resp_1/input_items?limit=100&order=asc"),
        ("GET", "/responses/resp_1/input_items?after=msg_1&limit=100&order=asc"),
    ]


async def test_a_background_response_is_polled_until_it_is_finished(
    new_client: NewClient, httpx_mock: HTTPXMock
) -> None:
    for status in ("queued", "in_progress", "completed", "completed"):
        httpx_mock.add_response(json=answer("done", status=status))
    async with new_client() as llm:
        started = await llm.generate("Hi", background=True)
        assert started.status == "queued"
        reply = await llm.responses.poll(started, interval=0.001)
        assert (reply.status, reply.output_text) == ("completed", "done")
        assert (await llm.responses.poll("resp_1")).output_text == "done"
    assert asked(httpx_mock) == [("POST", "/responses"), *[("GET", "/responses/resp_1")] * 3]
    assert "store" not in json.loads(httpx_mock.get_requests()[0].content)


async def test_a_background_response_that_failed_is_an_error(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(json=answer(status="failed", error={"code": "server_error", "message": "broken"}))
    async with new_client() as llm:
        with pytest.raises(InternalServerError, match="broken") as caught:
            await llm.responses.poll("resp_1")
    assert caught.value.partial.id == "resp_1"


async def test_polling_ends_in_time(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(json=answer(status="in_progress"), is_reusable=True)
    async with new_client() as llm:
        with pytest.raises(APITimeoutError, match="in_progress") as caught:
            await llm.responses.poll("resp_1", interval=0.01, timeout=0.03)
    assert caught.value.partial.id == "resp_1"


async def test_settings_hold_for_every_endpoint(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(json=answer(), is_reusable=True)
    async with new_client() as llm:
        await llm.responses.retrieve("resp_1", user_token="own-token-0123456789", extra_headers={"X-One": "1"})
    headers = httpx_mock.get_requests()[0].headers
    assert (headers["authorization"], headers["x-one"]) == ("Bearer own-token-0123456789", "1")


# --- access ---------------------------------------------------------------------------------------------------------

MODELS = ("openai/gpt-4o", "groq/x", "anthropic/claude-haiku-4-5", "google/gemini-2.5-flash", "ollama/qwen3:8b")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("statuses", "kind"),
    [
        ([401], AuthenticationError),
        ([403], PermissionDeniedError),
        # Where models are not listed, the smallest request is sent.
        ([404, 404], NotFoundError),
        ([404, 401], AuthenticationError),
    ],
)
async def test_a_key_that_is_refused_has_no_valid_access(
    new_client: NewClient, httpx_mock: HTTPXMock, model: str, statuses: list[int], kind: type[LLMError]
) -> None:
    for status in statuses:
        httpx_mock.add_response(status_code=status, json={"error": {"message": "wrong key"}})
    async with new_client(model) as llm:
        found = await llm.validate_access()
    assert (type(found.error), bool(found), found.valid) == (kind, False, False)
    assert (found.error.message, found.error.status) == ("wrong key", statuses[-1])
    assert [request.method for request in httpx_mock.get_requests()] == ["GET", "POST"][: len(statuses)]


async def test_access_is_valid_where_models_are_listed_or_the_smallest_request_is_answered(
    new_client: NewClient, httpx_mock: HTTPXMock
) -> None:
    httpx_mock.add_response(json={"object": "list", "data": []})
    httpx_mock.add_response(status_code=404)
    httpx_mock.add_response(json=answer())
    async with new_client() as llm:
        assert await llm.validate_access() == Access(True)
        assert await llm.validate_access()
    assert asked(httpx_mock) == [("GET", "/models"), ("GET", "/models"), ("POST", "/responses")]


@pytest.mark.parametrize("model", MODELS)
async def test_a_network_that_is_down_is_no_valid_access(new_client: NewClient, model: str) -> None:
    async with new_client(model, base_url=nobody()) as llm:
        found = await llm.validate_access()
    assert isinstance(found.error, ConnectError)
    assert (found.valid, found.error.code, found.error.reason) == (False, "network_error", "refused")


async def test_a_missing_key_is_no_valid_access(new_client: NewClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    async with new_client(api_key=None) as llm:
        found = await llm.validate_access()
        assert (found.valid, found.error.kind, found.error.no_key) == (False, "config", True)
        assert "OPENAI_API_KEY" in found.error.suggestions[0]


async def test_wrong_arguments_of_validate_access_raise(new_client: NewClient) -> None:
    llm = new_client()
    async with llm:
        for options, words in (
            ({"zzz": 1}, "no option zzz"),
            ({"timeout": -1}, "timeout"),
            ({"account": "u"}, "account="),
        ):
            with pytest.raises(ConfigError, match=words):
                await llm.validate_access(**options)
    with pytest.raises(ClientClosedError):
        await llm.validate_access()


# --- models ---------------------------------------------------------------------------------------------------------

RETIRES = {"lifecycle": "deprecated", "deprecated_at": "2026-06-01T00:00:00Z", "retires_at": "2026-12-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("model", "entry", "expected"),
    [
        ("openai/gpt-4o", {"id": "gpt-5", "object": "model", "created": 1, "owned_by": "openai"}, {"id": "gpt-5"}),
        ("groq/x", {"id": "llama-4", "context_window": 131072}, {"id": "llama-4"}),
        (
            "anthropic/claude-haiku-4-5",
            {"type": "model", "id": "c", "display_name": "C", "max_input_tokens": 9, "max_tokens": 5, **RETIRES},
            {"id": "c", "display_name": "C", "max_input_tokens": 9, "max_output_tokens": 5, **RETIRES},
        ),
        (
            "google/gemini-2.5-flash",
            {"name": "models/gemini-3-pro", "displayName": "Gemini 3 Pro", "inputTokenLimit": 9, "outputTokenLimit": 5},
            {"id": "gemini-3-pro", "display_name": "Gemini 3 Pro", "max_input_tokens": 9, "max_output_tokens": 5},
        ),
        ("ollama/x", {"name": "llama3:8b", "model": "llama3:8b", "size": 7}, {"id": "llama3:8b"}),
    ],
    ids=["openai", "chat", "anthropic", "gemini", "ollama"],
)
async def test_models_are_listed_as_the_vendor_lists_them(
    new_client: NewClient, httpx_mock: HTTPXMock, model: str, entry: dict[str, Any], expected: dict[str, Any]
) -> None:
    listed = "models" if model.partition("/")[0] in ("google", "ollama") else "data"
    httpx_mock.add_response(json={listed: [entry]})
    async with new_client(model) as llm:
        assert await llm.models.list() == [ModelInfo(raw=entry, **expected)]
    (request,) = httpx_mock.get_requests()
    assert (request.method, request.content) == ("GET", b"")


async def test_a_list_of_models_is_read_to_its_last_page(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    def page(name: str, **more: Any) -> dict[str, Any]:
        return {"data": [{"type": "model", "id": name}], "first_id": name, "last_id": name, **more}

    httpx_mock.add_response(json=page("one", has_more=True))
    httpx_mock.add_response(json=page("two", has_more=False))
    httpx_mock.add_response(json={"models": [{"name": "models/one"}], "nextPageToken": "t"})
    httpx_mock.add_response(json={"models": [{"name": "models/two"}]})
    for model in ("anthropic/claude-haiku-4-5", "google/gemini-2.5-flash"):
        async with new_client(model) as llm:
            assert [one.id for one in await llm.models.list()] == ["one", "two"]
    queries = [dict(request.url.params) for request in httpx_mock.get_requests()]
    assert queries == [{}, {"after_id": "one"}, {"pageSize": "1000"}, {"pageSize": "1000", "pageToken": "t"}]


async def test_a_list_of_which_each_page_is_the_same_ends(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(json={"data": [], "last_id": "one", "has_more": True}, is_reusable=True)
    async with new_client("anthropic/claude-haiku-4-5") as llm:
        assert await llm.models.list() == []
    async with new_client() as llm:
        assert await llm.responses.input_items("resp_1") == []
    assert len(httpx_mock.get_requests()) == 4


async def test_tokens_are_estimated_without_a_request(new_client: NewClient) -> None:
    async with new_client(defaults={"instructions": "Be brief."}) as llm:
        text = llm.estimate_tokens("x" * 400)
        with_image = llm.estimate_tokens(["x" * 400, {"type": "input_image", "image_url": "https://x.test/p.png"}])
        with_tool = llm.estimate_tokens("x" * 400, tools=[{"type": "function", "name": "weather", "parameters": {}}])
    assert text == 100 + 3
    assert 250 < with_image - text < 260
    assert 0 < with_tool - text < 10
