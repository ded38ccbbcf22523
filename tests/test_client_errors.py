"""What a client raises: one typed error with the facts of the call, whatever came back."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import re
import traceback
from typing import Any

import httpx
import pytest
from pytest_httpx import HTTPXMock

from llm_rest.client.client import AsyncClient, Client
from llm_rest.client.content import MCP
from llm_rest.errors import (
    APIStatusError,
    AuthenticationError,
    ContextLengthError,
    InternalServerError,
    LLMError,
    MalformedResponseError,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    QuotaError,
    RateLimitError,
    ResponseTooLargeError,
)
from tests.callers import NewClient, answer

pytestmark = pytest.mark.anyio


async def failing(new_client: NewClient, **options: Any) -> LLMError:
    async with new_client(**options) as llm:
        with pytest.raises(LLMError) as caught:
            await llm.generate("Hi")
    return caught.value


# --- the vendor says no ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (401, {"code": "invalid_api_key"}, AuthenticationError),
        (403, {}, PermissionDeniedError),
        (404, {"code": "model_not_found"}, NotFoundError),
        (400, {"code": "context_length_exceeded"}, ContextLengthError),
        (429, {"code": "rate_limit_exceeded"}, RateLimitError),
        (429, {"code": "insufficient_quota"}, QuotaError),
        (500, {}, InternalServerError),
        (529, {}, OverloadedError),
    ],
)
async def test_an_error_of_the_vendor_is_typed_and_knows_the_call(
    new_client: NewClient, httpx_mock: HTTPXMock, status: int, error: dict[str, str], kind: type[APIStatusError]
) -> None:
    httpx_mock.add_response(
        status_code=status, json={"error": {"message": "no", **error}}, headers={"x-request-id": "req_1"}
    )
    raised = await failing(new_client)
    assert type(raised) is kind
    assert (raised.status, raised.vendor, raised.model, raised.request_id) == (status, "openai", "gpt-4o", "req_1")
    assert raised.message == "no"
    assert [attempt.outcome for attempt in raised.attempts] == [raised.kind]


async def test_what_the_server_asks_for_is_on_the_error(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    headers = {"retry-after": "7", "x-should-retry": "false"}
    httpx_mock.add_response(status_code=429, json={"error": {"message": "slow"}}, headers=headers)
    raised = await failing(new_client)
    assert (raised.retry_after, raised.retryable) == (7.0, False)


# --- 200, and yet no answer -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        ({"error": {"message": "Overloaded", "type": "overloaded_error"}}, OverloadedError, 200),
        ({"error": {"message": "slow down", "code": 429}}, RateLimitError, 429),
        ({"error": "no model"}, APIStatusError, 200),
        ({"code": "server_error", "error": "broken"}, InternalServerError, 200),
        (
            {**answer(), "status": "failed", "error": {"code": "server_error", "message": "broken"}},
            InternalServerError,
            200,
        ),
        ({**answer(), "status": "failed", "error": {"code": "rate_limit_exceeded"}}, RateLimitError, 200),
        ({**answer(), "status": "failed", "error": {"code": "new_word", "message": "x"}}, InternalServerError, 200),
        ({**answer(), "status": "failed"}, InternalServerError, 200),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
async def test_an_error_inside_a_good_status_is_raised(
    new_client: NewClient, httpx_mock: HTTPXMock, body: dict[str, Any], kind: type[LLMError], status: int
) -> None:
    """BUGS 48."""
    httpx_mock.add_response(json=body)
    raised = await failing(new_client)
    assert type(raised) is kind
    assert (raised.status, raised.vendor) == (status, "openai")
    assert len(raised.attempts) == 1


async def test_a_failed_generation_keeps_what_was_made(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(json=answer("so far", status="failed", error={"code": "server_error", "message": "broken"}))
    raised = await failing(new_client)
    assert raised.message == "broken"
    assert raised.partial.output_text == "so far"


@pytest.mark.parametrize(
    ("body", "content_type", "shown"),
    [
        (b"", "application/json", "an empty answer"),
        (b"<html><title>Log in</title></html>", "text/html", "text/html.*Log in"),
        (b'{"id": "resp_1", "status"', "application/json", "not valid JSON"),
        (b"{}", "application/json", "application/json"),
        (b"null", "application/json", ""),
        (b'"text"', "application/json", ""),
        (b'{"id": "r", "status": "completed", "output": null}', "application/json", "output"),
        (b'{"id": "r", "status": "completed", "output": [1, null, "x"]}', "application/json", "output"),
        (b'{"id": "r", "status": "completed", "output": []} {}', "application/json", ""),
        (b'{"x":' + b"[" * 100_000, "application/json", "nested"),
        (json.dumps(answer()).encode("utf-16"), "application/json", ""),
        (b'{"id": "r", "status": "completed", "output": [], "x": "\xc0\xaf"}', "application/json", ""),
    ],
    ids=["empty", "html", "cut", "object", "null", "string", "no-output", "items", "two", "deep", "utf-16", "overlong"],
)
async def test_an_answer_that_is_none_is_a_malformed_response(
    new_client: NewClient, httpx_mock: HTTPXMock, body: bytes, content_type: str, shown: str
) -> None:
    """BUGS 48."""
    httpx_mock.add_response(content=body, headers={"content-type": content_type, "x-request-id": "req_1"})
    raised = await failing(new_client)
    assert type(raised) is MalformedResponseError
    assert (raised.status, raised.request_id, raised.vendor) == (200, "req_1", "openai")
    assert re.search(shown, raised.message)


# --- secrets --------------------------------------------------------------------------------------------------------


def shown_everywhere(error: BaseException) -> str:
    """What a log, a traceback with the local variables of our frames, or a pickle shows of an error."""
    parts = [str(error), repr(error), repr(vars(error)), "".join(traceback.format_exception(error))]
    frame = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_globals.get("__name__", "").startswith("llm_rest"):
            parts.append(repr({name: deep(value) for name, value in frame.tb_frame.f_locals.items()}))
        frame = frame.tb_next
    parts.append(repr(pickle.dumps(error)))
    return "\n".join(parts)


def deep(value: Any, depth: int = 4) -> Any:
    """A value as an error reporter unfolds it."""
    if isinstance(value, MCP):
        return repr(value)
    if depth and isinstance(value, dict):
        return {name: deep(inner, depth - 1) for name, inner in value.items()}
    if depth and hasattr(value, "__dict__") and not isinstance(value, type):
        return deep(vars(value), depth - 1)
    return repr(value)


@pytest.mark.parametrize("how", ["argument", "environment", "provider", "call", "header", "default", "mcp"])
@pytest.mark.parametrize("what", ["connect", "status", "html", "loss", "option"])
async def test_the_key_is_shown_nowhere(
    new_client: NewClient,
    httpx_mock: HTTPXMock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    how: str,
    what: str,
) -> None:
    """BUGS 84."""
    secret = "verysecret-4711-0815"
    caplog.set_level(logging.DEBUG)
    made: dict[str, Any] = {"api_key": None}
    call: dict[str, Any] = {}
    match how:
        case "argument":
            made["api_key"] = secret
        case "environment":
            monkeypatch.setenv("OPENAI_API_KEY", secret)
        case "provider":
            made["credentials"] = lambda vendor, account: secret
        case "call":
            call["user_token"] = secret
        case "header":
            made["api_key"], call["extra_headers"] = "sk-0123456789", {"X-Other": secret}
        case "default":
            made["api_key"], made["defaults"] = "sk-0123456789", {"extra_headers": {"X-Other": secret}}
        case _:
            headers = {"Authorization": f"Bearer {secret}"}
            made["api_key"], call["tools"] = "sk-0123456789", [MCP("wiki", "https://host/mcp", headers=headers)]
    match what:
        case "connect":
            httpx_mock.add_exception(httpx.ConnectError("no"))
        case "status":
            httpx_mock.add_response(
                status_code=401, json={"error": {"message": f"wrong key {secret}"}}, is_reusable=True
            )
        case "html":
            httpx_mock.add_response(text=f"<html>{secret}</html>")
        case "loss":
            call |= {"seed": 1, "on_loss": "raise"}
        case _:
            call["temperature"] = "hot"
    heard: list[Any] = []
    async with new_client(on_event=heard.append, **made) as llm:
        with pytest.raises(LLMError) as caught:
            await llm.generate("Hi", **call)
        inner = getattr(llm, "_inner", llm)
        assert secret not in repr(inner) + str(inner) + repr(deep(inner))
        with pytest.raises(TypeError, match="key"):
            pickle.dumps(inner)
    raised = caught.value
    assert secret not in shown_everywhere(raised)
    assert secret not in caplog.text + repr(heard)
    assert copy.copy(raised).kind == raised.kind


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_the_key_is_not_shown_by_a_client_that_could_not_be_made(kind: type[Client | AsyncClient]) -> None:
    """BUGS 84."""
    secret = "verysecret-4711-0815"
    with pytest.raises(LLMError) as caught:
        kind("nobody/model", api_key=secret)
    assert secret not in shown_everywhere(caught.value)


MODELS = ("openai/gpt-4o", "groq/x", "anthropic/claude-haiku-4-5", "google/gemini-2.5-flash", "ollama/x")
"""One on each wire."""


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("model", MODELS)
async def test_an_answer_of_more_entries_than_any_has_is_not_decoded(
    new_client: NewClient, httpx_mock: HTTPXMock, model: str, streamed: bool
) -> None:
    many = b'{"id":"x","many":[' + b"{}," * 600_000  # decoding would find that it has no end
    whole = many if not streamed else many + b"\n" if model.startswith("ollama") else b"data: %s\n\n" % many
    httpx_mock.add_response(content=whole)
    async with new_client(model=model) as llm:

        async def ask() -> None:
            if not streamed:
                await llm.generate("Hi")
                return
            async with llm.stream("Hi") as stream:
                async for _ in stream:
                    pass

        with pytest.raises(ResponseTooLargeError, match="250,000 JSON objects") as caught:
            await ask()
    assert (caught.value.status, caught.value.retryable, len(caught.value.attempts)) == (200, False, 1)
    assert caught.value.vendor == model.partition("/")[0]
