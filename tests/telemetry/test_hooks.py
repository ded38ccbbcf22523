"""Event hooks: what a client's callbacks get about every call and every request, on every way to call and however it ends."""

from __future__ import annotations

import gc
import json
from typing import Any, NamedTuple

import anyio
import msgspec
import pytest

from llm_rest import ClientCallStart, ClientEvent, LLMError, RetryPolicy
from tests.callers import BEGIN, NewClient, answer, completed, delta
from tests.conversation.support import done
from tests.loopback import END, STREAM, Act, chunks, http, loopback, send, send_and_close, send_and_stall

pytestmark = pytest.mark.anyio

ID = "x-request-id: req_"
WHOLE = send(http(json.dumps(answer("secret answer", service_tier="flex")).encode(), "200 OK", f"{ID}good"))
HEAD = STREAM.replace(b"\r\n\r\n", f"\r\n{ID}good\r\n\r\n".encode())
STREAMED = send(HEAD + chunks(BEGIN, delta("secret "), completed("secret answer")) + END)
CUT = send_and_close(HEAD + chunks(BEGIN, delta("secret ")))
STALLED = send_and_stall(HEAD + chunks(BEGIN, delta("secret ")))
BUSY = send(http(b'{"error": {"message": "secret"}}', "503 Busy", f"{ID}busy", "retry-after-ms: 20"))
WRONG = send(http(b'{"error": {"message": "secret"}}', "400 Bad", f"{ID}wrong"))
IDS = {"request_id": "req_good", "response_id": "resp_1"}
GOOD = {"outcome": "completed", "error": None, "status": 200, **IDS}
TOKENS = {"input_tokens": 7, "output_tokens": 3, "cached_input_tokens": None, "reasoning_tokens": None}


class Case(NamedTuple):
    """The answers of a server, how the call is made, fields of the last event, and the types of all events."""

    acts: list[Act]
    how: str
    end: dict[str, Any]
    events: str = "call:start request:start request:end call:end"


FAILED: dict[str, Any] = {"outcome": "failed", "error": "bad_request", "status": 400}
LISTED = {"outcome": "completed", "operation": "list_models", "response_id": None, "input_tokens": None}
RETRIED = "call:start request:start request:end request:retry request:start request:end call:end"
CANCELLED = "call:start request:start request:cancelled call:end"

CASES = {
    "whole": Case([WHOLE], "whole", {**GOOD, **TOKENS, "attempts": 1, "first_event": None}),
    "streamed": Case([STREAMED], "streamed", {**GOOD, **TOKENS, "attempts": 1}),
    "retried": Case([BUSY, WHOLE], "whole", {**GOOD, **TOKENS, "attempts": 2}, RETRIED),
    "stream retried": Case([BUSY, STREAMED], "streamed", {**GOOD, **TOKENS, "attempts": 2}, RETRIED),
    "failed": Case([WRONG], "whole", {**FAILED, "request_id": "req_wrong", "input_tokens": None}),
    "stream failed": Case([WRONG], "streamed", FAILED),
    "stream cut": Case([CUT], "streamed", {"outcome": "failed", "error": "stream_interrupted", **IDS}),
    "stream closed": Case([STALLED], "left", {"outcome": "closed", "error": None, "status": 200, **IDS}),
    "stream collected": Case([STALLED], "collected", {"outcome": "closed", "error": None, "attempts": 1}),
    "cancelled by the client": Case([STALLED], "cancelled", {"outcome": "cancelled", "error": None}, CANCELLED),
    "losses": Case([WHOLE], "lossy", {"losses": 1, "loss_kinds": ("dropped",)}),
    "never sent": Case(
        [WHOLE], "refused", {"outcome": "failed", "error": "loss", "attempts": 0, "status": None}, "call:start call:end"
    ),
    "beside generating": Case([send(http(b'{"object": "list", "data": []}'))], "listed", LISTED),
}


async def call(llm: Any, how: str) -> None:
    """One call with a secret prompt."""
    prompt = "secret prompt"
    if how == "whole":
        await llm.generate(prompt)
    elif how in ("lossy", "refused"):
        await llm.with_options(on_loss="raise" if how == "refused" else "ignore").generate(prompt, seed=1)
    elif how == "listed":
        await llm.models.list()
    elif how == "collected":
        stream = await llm.stream(prompt).__aenter__()
        await stream.__anext__()
        del stream
        gc.collect()
    else:
        async with llm.stream(prompt) as stream:
            async for event in stream:
                if how == "left" and event.type == "response.output_text.delta":
                    break
                if how == "cancelled":
                    await llm.cancel()


async def heard_of(new_client: NewClient, case: Case) -> list[Any]:
    heard: list[Any] = []
    with loopback(*case.acts) as server:
        async with new_client(base_url=server.url, retry=RetryPolicy(jitter="none"), on_event=heard.append) as llm:
            try:
                await call(llm, case.how)
            except LLMError:
                assert case.end["outcome"] == "failed"
    return heard


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_every_call_has_one_start_and_one_end(new_client: NewClient, case: Case) -> None:
    heard = await heard_of(new_client, case)
    assert " ".join(event.type for event in heard) == case.events
    first, last = heard[0], heard[-1]
    assert {name: getattr(last, name) for name in case.end} == case.end
    assert len({event.call for event in heard}) == 1
    assert (first.operation, first.stream) == (last.operation, case.how not in ("whole", "lossy", "refused", "listed"))
    requests = [event for event in heard if event.type.startswith("request:")]
    assert [event.attempt for event in requests if event.type == "request:start"] == [*range(1, last.attempts + 1)]
    ends = [event.attempt for event in requests if event.type in ("request:end", "request:cancelled")]
    assert ends == [*range(1, last.attempts + 1)]
    if first.stream and last.outcome == "completed":
        assert 0 < requests[-1].first_event <= last.first_event <= last.seconds
    shown = msgspec.json.encode(heard).decode() + repr(heard)
    assert "secret" not in shown
    assert "sk-test" not in shown


async def test_a_retry_names_the_request_that_failed_and_the_wait(new_client: NewClient) -> None:
    heard = await heard_of(new_client, CASES["retried"])
    retry = heard[3]
    assert (retry.attempt, retry.wait, retry.reason) == (1, 0.02, "internal_server")
    ends = [(end.status, end.error, end.request_id) for end in heard if end.type == "request:end"]
    assert ends == [(503, "internal_server", "req_busy"), (200, None, "req_good")]


async def test_every_call_has_an_id_of_its_own(new_client: NewClient) -> None:
    heard: list[Any] = []
    with loopback(WHOLE) as server:
        async with new_client(base_url=server.url, on_event=heard.append) as llm, anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(llm.generate, "Hi")
    calls = {event.call: "" for event in heard}
    for event in heard:
        calls[event.call] += f" {event.type}"
    assert [types.strip() for types in calls.values()] == [CASES["whole"].events] * 3


async def test_a_call_of_a_run_and_of_a_conversation_names_them(new_client: NewClient) -> None:
    heard: list[Any] = []
    with loopback(WHOLE) as server:
        async with new_client(base_url=server.url, on_event=heard.append) as llm:
            inner = getattr(llm, "_inner", llm)
            run, chat = inner.run("Hi"), inner.chat()
            for work in (run.result(), chat.ask("Hi"), inner.generate("Hi")):
                await done(work)
    starts = [(event.run, event.conversation) for event in heard if isinstance(event, ClientCallStart)]
    assert starts[0] == (run.state.id, None)
    assert starts[1][0] is not None
    assert starts[1][1] == chat.conversation.id
    assert starts[2] == (None, None)


async def test_an_event_hook_that_fails_breaks_nothing(new_client: NewClient, caplog: pytest.LogCaptureFixture) -> None:
    def fails(event: ClientEvent) -> None:
        raise RuntimeError("the event hook's own fault")

    heard: list[Any] = []
    with loopback(WHOLE) as server:
        async with new_client(base_url=server.url, on_event=[fails, heard.append]) as llm:
            await llm.generate("Hi")
    assert heard[-1].type == "call:end"
    assert "an event hook failed on RequestStart" in caplog.text
