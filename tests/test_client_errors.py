"""What a client raises: one typed error with the facts of the call, whatever came back."""

from __future__ import annotations

import copy
import logging
import pickle
import traceback
from typing import Any

import httpx
import pytest
from pytest_httpx import HTTPXMock

from llm_rest import MCP, AsyncClient, Client
from llm_rest.errors import (
    APIStatusError,
    InternalServerError,
    LLMError,
    OverloadedError,
    RateLimitError,
    ResponseTooLargeError,
)
from tests.callers import NewClient, answer

pytestmark = pytest.mark.anyio


# --- errors in answers of status 200 ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        ({"error": {"message": "Overloaded", "type": "overloaded_error"}}, OverloadedError, 200),
        ({"error": {"message": "slow down", "code": 429}}, RateLimitError, 429),
        ({"error": "no model"}, APIStatusError, 200),
        ({"code": "server_error", "error": "broken"}, InternalServerError, 200),
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
    async with new_client() as llm:
        with pytest.raises(LLMError) as caught:
            await llm.generate("Hi")
    assert type(caught.value) is kind
    assert (caught.value.status, caught.value.vendor, len(caught.value.attempts)) == (status, "openai", 1)
    assert "output" not in body or caught.value.partial.output_text == "Hello"


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
    """A value with its attributes and entries, as an error reporter records it."""
    if isinstance(value, MCP):
        return repr(value)
    if depth and isinstance(value, dict):
        return {name: deep(inner, depth - 1) for name, inner in value.items()}
    if depth and hasattr(value, "__dict__") and not isinstance(value, type):
        return deep(vars(value), depth - 1)
    return repr(value)


SECRET = "verysecret-4711-0815"
MCP_TOOL = MCP("wiki", "https://host/mcp", headers={"Authorization": f"Bearer {SECRET}"})
HEADER = {"extra_headers": {"X-Other": SECRET}}
HOW: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "argument": ({"api_key": SECRET}, {}),
    "environment": ({"api_key": None}, {}),
    "provider": ({"api_key": None, "credentials": lambda vendor, account: SECRET}, {}),
    "call": ({"api_key": None}, {"user_token": SECRET}),
    "header": ({}, HEADER),
    "default": ({"defaults": HEADER}, {}),
    "mcp": ({}, {"tools": [MCP_TOOL]}),
}
"""How a client gets a secret: its arguments, and those of its call."""


@pytest.mark.parametrize("how", HOW)
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
    caplog.set_level(logging.DEBUG)
    made, call = HOW[how]
    if how == "environment":
        monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    match what:
        case "connect":
            httpx_mock.add_exception(httpx.ConnectError("no"))
        case "status":
            error = {"error": {"message": f"wrong key {SECRET}"}}
            httpx_mock.add_response(status_code=401, json=error, is_reusable=True)
        case "html":
            httpx_mock.add_response(text=f"<html>{SECRET}</html>")
        case "loss":
            call = {**call, "seed": 1, "on_loss": "raise"}
        case _:
            call = {**call, "temperature": "hot"}
    seen: list[Any] = []
    async with new_client(on_event=seen.append, **made) as llm:
        with pytest.raises(LLMError) as caught:
            await llm.generate("Hi", **call)
        inner = getattr(llm, "_inner", llm)
        assert SECRET not in repr(inner) + str(inner) + repr(deep(inner))
        with pytest.raises(TypeError, match="key"):
            pickle.dumps(inner)
    raised = caught.value
    assert SECRET not in shown_everywhere(raised)
    assert SECRET not in caplog.text + repr(seen)
    assert copy.copy(raised).kind == raised.kind


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_the_key_is_not_shown_by_a_client_that_could_not_be_made(kind: type[Client | AsyncClient]) -> None:
    """BUGS 84."""
    with pytest.raises(LLMError) as caught:
        kind("nobody/model", api_key=SECRET)
    assert SECRET not in shown_everywhere(caught.value)


MODELS = ("openai/gpt-4o", "groq/x", "anthropic/claude-haiku-4-5", "google/gemini-2.5-flash", "ollama/x")
"""One on each wire."""


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("model", MODELS)
async def test_an_answer_of_too_many_entries_is_not_decoded(
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
