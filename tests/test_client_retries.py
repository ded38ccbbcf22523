"""Requests that are made again, counted by a server: what is, how often, after how long. Sync, asyncio and trio alike."""

from __future__ import annotations

import json
import socket
import time
from email.utils import formatdate
from typing import Any

import anyio
import pytest

from llm_rest import ConfigError, RequestEnd, RequestRetry, RequestStart, RetryPolicy
from llm_rest.errors import (
    APIConnectionError,
    APITimeoutError,
    ConnectError,
    InternalServerError,
    LLMError,
    MalformedResponseError,
    OverloadedError,
    QuotaError,
    RateLimitError,
    StreamInterruptedError,
)
from llm_rest.responses import OutputTextDelta, ResponseCreated
from llm_rest.transport import Timeouts
from llm_rest.transport.asynchronous import AsyncTransport
from llm_rest.transport.blocking import SyncTransport
from tests.callers import BEGIN, NewClient, answer, completed, delta, event, frames
from tests.loopback import (
    END,
    STREAM,
    Act,
    Loopback,
    chunks,
    gated,
    http,
    loopback,
    reset,
    send,
    send_and_close,
    send_and_stall,
)

pytestmark = pytest.mark.anyio

AT_ONCE = RetryPolicy(base_delay=0)
GOOD = http(json.dumps(answer()).encode())
TOO_MANY = "HTTP/1.1 429 Too Many Requests"


def refused(status: int, *headers: str, body: bytes = b'{"error": {"message": "no"}}') -> Act:
    return send(http(body, f"HTTP/1.1 {status} No", *headers))


async def failing(llm: Any, **options: Any) -> LLMError:
    with pytest.raises(LLMError) as caught:
        await llm.generate("Hi", **options)
    return caught.value


async def broken(llm: Any) -> LLMError:
    """The error of a stream."""
    with pytest.raises(LLMError) as caught:
        async with llm.stream("Hi") as stream:
            await anext(stream)
    return caught.value


def outcomes(known: Any) -> list[str]:
    return [attempt.outcome for attempt in known.attempts]


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long a client would have waited; it does not."""
    found: list[float] = []

    async def sleep(self: object, seconds: float) -> None:
        found.append(seconds)

    monkeypatch.setattr(SyncTransport, "sleep", sleep)
    monkeypatch.setattr(AsyncTransport, "sleep", sleep)
    return found


# --- how often ------------------------------------------------------------------------------------------------------


async def test_three_attempts_are_exactly_three_requests(new_client: NewClient, waits: list[float]) -> None:
    """BUGS 64"""
    with loopback(refused(429)) as server:
        async with new_client(base_url=server.url, retry=None) as llm:
            error = await failing(llm)
    assert len(server.heads) == 3
    assert outcomes(error) == ["rate_limit"] * 3
    assert len(waits) == 2
    assert all(wait <= ceiling for wait, ceiling in zip(waits, (1, 2), strict=True))


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 520, 524, 529])
async def test_what_may_pass_is_asked_for_again(new_client: NewClient, status: int) -> None:
    with loopback(refused(status)) as server:
        async with new_client(base_url=server.url, retry=AT_ONCE) as llm:
            error = await failing(llm)
    assert (len(server.heads), error.status, error.retryable) == (3, status, True)


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 409, 413, 422, 501])
async def test_what_stays_is_not(new_client: NewClient, status: int) -> None:
    with loopback(refused(status)) as server:
        async with new_client(base_url=server.url, retry=AT_ONCE) as llm:
            error = await failing(llm)
    assert (len(server.heads), error.retryable) == (1, False)


async def test_the_same_bytes_are_sent_again(new_client: NewClient) -> None:
    """BUGS 69: no vendor here takes an idempotency key; what can be promised is that all attempts ask the same."""
    with loopback(refused(503), refused(429), send(GOOD)) as server:
        async with new_client(base_url=server.url, retry=AT_ONCE) as llm:
            reply = await llm.generate("Hi", temperature=0.5, stop=None)
    assert reply.output_text == "Hello"
    assert outcomes(reply.info) == ["internal_server", "rate_limit", "200"]
    assert len({*server.heads}) == len({*server.bodies}) == 1


async def test_who_asks_for_one_attempt_gets_one(new_client: NewClient) -> None:
    with loopback(refused(500)) as server:
        async with new_client(base_url=server.url, retry=AT_ONCE) as llm:
            await failing(llm, retry=1)
            await failing(llm.with_options(retry=1))
            assert len(server.heads) == 2
            await failing(llm.with_options(retry=1), retry=RetryPolicy(base_delay=0, attempts=2))
            assert len(server.heads) == 4
        async with new_client(base_url=server.url, retry=1) as llm:
            await failing(llm)
    assert len(server.heads) == 5


@pytest.mark.parametrize("value", [0, -1, True, "3"])
async def test_a_retry_that_makes_no_sense_is_refused(new_client: NewClient, value: Any) -> None:
    with pytest.raises(ConfigError, match="retry"):
        new_client(retry=value)
    async with new_client() as llm:
        with pytest.raises(ConfigError, match="retry"):
            await llm.generate("Hi", retry=value)


async def test_waiting_does_not_help_a_quota(new_client: NewClient) -> None:
    body = b'{"error": {"message": "no credit", "code": "insufficient_quota"}}'
    with loopback(refused(429, body=body)) as server:
        async with new_client(base_url=server.url, retry=AT_ONCE) as llm:
            assert isinstance(await failing(llm), QuotaError)
    assert len(server.heads) == 1


@pytest.mark.parametrize(("status", "word", "requests"), [(429, "false", 1), (409, "true", 3), (400, "true", 3)])
async def test_a_server_that_says_whether_to_ask_again_is_obeyed(
    new_client: NewClient, status: int, word: str, requests: int
) -> None:
    with loopback(refused(status, f"x-should-retry: {word}")) as server:
        async with new_client(base_url=server.url, retry=AT_ONCE) as llm:
            await failing(llm)
    assert len(server.heads) == requests


async def test_a_refused_token_is_replaced_beside_the_attempts(new_client: NewClient) -> None:
    tokens = iter(["stale-0123456789", "fresh-0123456789", "third-0123456789"])
    with loopback(refused(401), refused(500), send(GOOD)) as server:
        async with new_client(
            base_url=server.url, api_key=None, credentials=lambda vendor, account: next(tokens), retry=2
        ) as llm:
            reply = await llm.generate("Hi", retry=RetryPolicy(base_delay=0, attempts=2))
    assert outcomes(reply.info) == ["authentication", "internal_server", "200"]


# --- after how long -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "least"),
    [
        ("retry-after: 3", 3.0),
        ("retry-after-ms: 2500", 2.5),
        ("date: Fri, 20 Nov 2026 12:00:00 GMT\r\nretry-after: Fri, 20 Nov 2026 12:00:07 GMT", 7.0),
        ("retry-after: 60", 60.0),
    ],
)
async def test_the_server_says_how_long(new_client: NewClient, waits: list[float], header: str, least: float) -> None:
    """BUGS 65"""
    with loopback(refused(429, header), send(GOOD)) as server:
        async with new_client(base_url=server.url, retry=3) as llm:
            await llm.generate("Hi")
    assert len(waits) == 1
    assert least <= waits[0] <= least * 1.1


async def test_a_date_to_wait_for_counts_from_the_receipt_of_an_answer_without_a_date(
    new_client: NewClient, waits: list[float]
) -> None:
    def act(connection: socket.socket, server: Loopback) -> bool:
        return refused(429, f"retry-after: {formatdate(time.time() + 9.5, usegmt=True)}")(connection, server)

    with loopback(act, send(GOOD)) as server:
        async with new_client(base_url=server.url, retry=RetryPolicy(jitter="none")) as llm:
            await llm.generate("Hi")
    assert len(waits) == 1
    assert 7 <= waits[0] <= 10


async def test_a_server_that_asks_for_too_long_is_not_asked_again(new_client: NewClient, waits: list[float]) -> None:
    """BUGS 65"""
    with loopback(refused(429, "retry-after: 999999")) as server:
        async with new_client(base_url=server.url, retry=3) as llm:
            error = await failing(llm)
    assert (len(server.heads), waits) == (1, [])
    assert (error.retry_after, error.retryable) == (999999, True)
    assert "longer wait" in str(error)


@pytest.mark.parametrize(
    "word", ["-3", "0", "inf", "nan", "soon", "", "9" * 1000, "Fri, 31 Dec 99999 23:59:59 GMT"], ids=lambda w: w[:9]
)
async def test_a_wait_that_makes_no_sense_is_as_good_as_none(
    new_client: NewClient, waits: list[float], word: str
) -> None:
    """BUGS 65"""
    with loopback(refused(429, f"retry-after: {word}")) as server:
        async with new_client(base_url=server.url, retry=RetryPolicy(jitter="none")) as llm:
            await failing(llm)
    assert waits == [1, 2]
    assert len(server.heads) == 3


async def test_a_wait_beyond_the_deadline_is_not_begun(new_client: NewClient) -> None:
    patient = RetryPolicy(base_delay=100, max_delay=100, jitter="none")
    with loopback(refused(500)) as server:
        async with new_client(base_url=server.url, retry=patient, timeout=20) as llm:
            error = await failing(llm)
    assert (len(server.heads), type(error)) == (1, InternalServerError)
    assert error.hint == "the time of the call does not allow another attempt"


async def test_the_deadline_is_for_all_attempts(new_client: NewClient) -> None:
    with loopback(refused(500), send_and_stall(b"")) as server:
        async with new_client(base_url=server.url, retry=AT_ONCE, timeout=1) as llm:
            error = await failing(llm)
    assert isinstance(error, APITimeoutError)
    assert (error.phase, len(server.heads), outcomes(error)) == ("total", 2, ["internal_server", error.kind])


async def test_a_wait_ends_when_the_caller_is_cancelled(new_client: NewClient, way: str) -> None:
    if way == "sync":
        pytest.skip("nobody cancels a synchronous call")
    with loopback(refused(500), send(GOOD)) as server:
        scope = anyio.CancelScope()

        def leave(seen: object) -> None:
            if isinstance(seen, RequestRetry):
                scope.cancel()

        patient = RetryPolicy(base_delay=8, jitter="none")
        async with new_client(base_url=server.url, retry=patient, on_event=leave) as llm:
            with scope:
                await llm.generate("Hi")
            assert scope.cancelled_caught
            assert len(server.heads) == 1
            assert (await llm.generate("Hi")).output_text == "Hello"


# --- failures on the way --------------------------------------------------------------------------------------------

CUT = http(b"{" + b" " * 90)[:-40]
CUT_CHUNKS = STREAM.replace(b"text/event-stream", b"application/json") + chunks(b'{"id": ')


@pytest.mark.parametrize(
    "act",
    [reset, send_and_close(b""), send_and_close(CUT), send_and_close(CUT_CHUNKS), send_and_close(b"SSH-2.0-x\r\n")],
    ids=["reset", "nothing", "cut", "cut chunks", "not HTTP"],
)
async def test_an_answer_that_does_not_come_through_is_asked_for_again(new_client: NewClient, act: Act) -> None:
    with loopback(act, send(GOOD)) as server:
        async with new_client(base_url=server.url, retry=AT_ONCE) as llm:
            reply = await llm.generate("Hi")
    assert (reply.output_text, len(server.heads)) == ("Hello", 2)


async def test_a_server_that_always_hangs_up_is_asked_three_times(new_client: NewClient) -> None:
    with loopback(send_and_close(b"")) as server:
        async with new_client(base_url=server.url, retry=AT_ONCE) as llm:
            error = await failing(llm)
    assert isinstance(error, APIConnectionError)
    assert (len(server.heads), len(error.attempts)) == (3, 3)


async def test_a_connection_that_is_refused_is_tried_again(new_client: NewClient, waits: list[float]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    async with new_client(base_url=f"http://127.0.0.1:{port}", retry=3) as llm:
        error = await failing(llm)
    assert isinstance(error, ConnectError)
    assert (len(error.attempts), len(waits)) == (3, 2)


@pytest.mark.parametrize(("again", "requests"), [(True, 2), (False, 1)])
async def test_silence_is_asked_again_unless_nothing_may_be_billed_twice(
    new_client: NewClient, again: bool, requests: int
) -> None:
    policy = RetryPolicy(base_delay=0, attempts=2, retry_after_timeout=again)
    with loopback(send_and_stall(b"")) as server:
        async with new_client(base_url=server.url, retry=policy, timeout=Timeouts(first_byte=0.1)) as llm:
            error = await failing(llm)
    assert isinstance(error, APITimeoutError)
    assert (error.phase, len(server.heads)) == ("first_byte", requests)


async def test_an_answer_that_stops_in_the_middle_is_asked_for_again(new_client: NewClient) -> None:
    with loopback(send_and_stall(GOOD[:-20]), send(GOOD)) as server:
        async with new_client(base_url=server.url, retry=AT_ONCE, timeout=Timeouts(read=0.1)) as llm:
            reply = await llm.generate("Hi")
    assert outcomes(reply.info) == ["api_timeout", "200"]


# --- 200, and yet no answer -----------------------------------------------------------------------------------------

OVERLOADED = b'{"error": {"type": "overloaded_error", "message": "later"}}'
FAILED = json.dumps({**answer(), "status": "failed", "error": {"code": "server_error", "message": "broken"}}).encode()


@pytest.mark.parametrize("body", [OVERLOADED, FAILED, b"<html>", b'{"id": "resp_1', b""], ids=lambda body: body[:9])
async def test_what_is_no_answer_is_asked_for_again(new_client: NewClient, body: bytes) -> None:
    with loopback(send(http(body)), send(GOOD)) as server:
        async with new_client(base_url=server.url, retry=AT_ONCE) as llm:
            reply = await llm.generate("Hi")
    assert (reply.output_text, len(server.heads)) == ("Hello", 2)
    assert outcomes(reply.info)[0] in ("overloaded", "internal_server", "malformed_response")


async def test_a_malformed_answer_is_paid_for_twice_at_most(new_client: NewClient) -> None:
    with loopback(send(http(b"<html>"))) as server:
        async with new_client(base_url=server.url, retry=AT_ONCE) as llm:
            assert isinstance(await failing(llm), MalformedResponseError)
            assert len(server.heads) == 2
            await failing(llm, retry=RetryPolicy(base_delay=0, max_malformed=0))
    assert len(server.heads) == 3


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("others", [[b"<html>1", b"<html>2", b"<html>3"], []], ids=["after others", "at once"])
async def test_the_same_malformed_answer_twice_is_not_retried(
    new_client: NewClient, streams: bool, others: list[bytes]
) -> None:
    policy = RetryPolicy(attempts=9, base_delay=0, max_malformed=8)
    with loopback(*[send(http(body)) for body in others], send(http(b"<html>4"))) as server:
        async with new_client(base_url=server.url, retry=policy) as llm:
            error = await (broken if streams else failing)(llm)
    assert isinstance(error, MalformedResponseError)
    assert len(server.heads) == len(others) + 2
    assert error.retryable is False


DEEP = b'{"id": "resp_1", "object": "response", "output": [], "x": ' + b"[" * 500 + b"]" * 500 + b"}"
LIMITS = {
    "depth": http(DEEP),
    "head": b"HTTP/1.1 200 OK\r\n" + b"x-a: b\r\n" * 20_000 + b"\r\n",
    "coding": http(b"{}", "HTTP/1.1 200 OK", "content-encoding: br"),
}


@pytest.mark.parametrize("limit", LIMITS)
async def test_what_a_limit_of_ours_refuses_is_not_retried(new_client: NewClient, limit: str) -> None:
    with loopback(send(LIMITS[limit])) as server:
        async with new_client(base_url=server.url, retry=AT_ONCE) as llm:
            assert not (await failing(llm)).retryable
            assert not (await broken(llm)).retryable
    assert len(server.heads) == 2


# --- the budget -----------------------------------------------------------------------------------------------------


async def test_a_client_whose_requests_all_fail_stops_asking_again(new_client: NewClient) -> None:
    with loopback(refused(500)) as server:
        async with new_client(base_url=server.url, retry=AT_ONCE) as llm:
            for _ in range(10):
                await failing(llm)
            assert len(server.heads) == 30
            error = await failing(llm.with_options(temperature=0))
            assert (len(server.heads), error.hint) == (31, "retry budget exhausted")
            server.acts[:] = [send(GOOD)] * 5 + [refused(500)]
            for _ in range(5):
                await llm.generate("Hi")
            await failing(llm)
    assert len(server.heads) == 31 + 5 + 2


# --- who is told ----------------------------------------------------------------------------------------------------


async def test_listeners_are_told_of_every_attempt_and_wait(new_client: NewClient) -> None:
    heard: list[Any] = []
    with loopback(refused(503, "retry-after-ms: 20"), send(GOOD)) as server:
        async with new_client(base_url=server.url, retry=RetryPolicy(jitter="none"), on_event=heard.append) as llm:
            await llm.generate("Hi")
    assert [type(seen) for seen in heard] == [RequestStart, RequestEnd, RequestRetry, RequestStart, RequestEnd]
    assert heard[2] == RequestRetry(
        vendor="openai", model="gpt-4o", wire="openai_responses", attempt=1, wait=0.02, reason="internal_server"
    )
    assert [(end.status, end.error) for end in (heard[1], heard[4])] == [(503, "internal_server"), (200, None)]


# --- streams --------------------------------------------------------------------------------------------------------


def streamed(*pieces: bytes) -> Act:
    return send(STREAM + chunks(*pieces) + END)


async def read(stream: Any) -> tuple[list[str], LLMError | None]:
    """The texts that were handed out, and the error that ended them."""
    found: list[str] = []
    try:
        async with stream:
            async for happened in stream:
                if isinstance(happened, OutputTextDelta):
                    found.append(happened.delta)
    except LLMError as error:
        return found, error
    return found, None


def requests(server: Loopback) -> int:
    return len(server.heads)


LATER = event("error", error={"type": "overloaded_error", "message": "later"})


@pytest.mark.parametrize(
    "act",
    [
        refused(429),
        reset,
        streamed(BEGIN, LATER),
        streamed(LATER),
        streamed(BEGIN),
        streamed(b""),
        send_and_close(STREAM + chunks(BEGIN)),
        send_and_close(STREAM),
        send(http(OVERLOADED)),
        send(http(b"<html>")),
    ],
    ids=["429", "reset", "error event", "only an error", "no end", "empty", "cut", "cut at once", "error", "page"],
)
async def test_a_stream_that_fails_before_anything_came_is_asked_for_again(new_client: NewClient, act: Act) -> None:
    with loopback(act, streamed(*frames("Hel", "lo"))) as server:
        async with new_client(base_url=server.url, retry=AT_ONCE) as llm:
            stream = llm.stream("Hi")
            assert await read(stream) == (["Hel", "lo"], None)
    assert requests(server) == 2
    assert (stream.response.output_text, len(stream.response.info.attempts)) == ("Hello", 2)


async def test_a_stream_that_always_fails_raises_what_the_last_attempt_says(new_client: NewClient) -> None:
    with loopback(streamed(BEGIN, LATER)) as server:
        async with new_client(base_url=server.url, retry=AT_ONCE) as llm:
            texts, error = await read(llm.stream("Hi"))
    assert (texts, type(error), requests(server)) == ([], OverloadedError, 3)
    assert error is not None
    assert outcomes(error) == ["overloaded"] * 3
    assert error.partial.id == "resp_1"


@pytest.mark.parametrize(
    ("act", "kind"),
    [
        (streamed(BEGIN, delta("one"), LATER), OverloadedError),
        (send_and_close(STREAM + chunks(BEGIN, delta("one"))), StreamInterruptedError),
        (streamed(BEGIN, delta("one")), StreamInterruptedError),
        (streamed(BEGIN + delta("one") + b"data: {\n\n"), MalformedResponseError),
    ],
    ids=["error event", "cut", "no end", "malformed"],
)
async def test_once_something_was_handed_out_nothing_is_asked_for_again(
    new_client: NewClient, act: Act, kind: type[LLMError]
) -> None:
    """BUGS 70"""
    with loopback(act, streamed(*frames("Hello"))) as server:
        async with new_client(base_url=server.url, retry=AT_ONCE) as llm:
            texts, error = await read(llm.stream("Hi"))
    assert (type(error), requests(server)) == (kind, 1)
    assert texts == ["one"][: len(texts)]


async def test_a_stream_is_handed_over_at_its_first_piece(new_client: NewClient) -> None:
    first, rest = STREAM + chunks(BEGIN, delta("Hel")), chunks(delta("lo"), completed("Hello")) + END
    with loopback(gated(first, rest)) as server:
        async with new_client(base_url=server.url, retry=AT_ONCE) as llm, llm.stream("Hi") as stream:
            texts = aiter(stream.text)
            assert await anext(texts) == "Hel"
            server.go.set()
            assert await anext(texts) == "lo"


async def test_who_never_asks_again_is_told_at_once_that_a_stream_begins(new_client: NewClient) -> None:
    with loopback(gated(STREAM + chunks(BEGIN), chunks(delta("Hello"), completed()) + END)) as server:
        async with new_client(base_url=server.url, retry=1) as llm, llm.stream("Hi") as stream:
            assert isinstance(await anext(aiter(stream)), ResponseCreated)
            server.go.set()


async def test_a_rate_limit_on_opening_a_stream_is_bounded(new_client: NewClient) -> None:
    with loopback(refused(429)) as server:
        async with new_client(base_url=server.url, retry=AT_ONCE) as llm:
            texts, error = await read(llm.stream("Hi"))
    assert (texts, type(error), requests(server)) == ([], RateLimitError, 3)
