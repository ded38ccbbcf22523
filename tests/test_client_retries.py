"""Retries, counted by a server: how often, after how long. Sync, asyncio and trio alike.

Which errors are retried: `test_retry.py`, and the cases E, J, S and T of the hostile table.
"""

from __future__ import annotations

import json
import socket
import time
from email.utils import formatdate
from typing import Any

import pytest

from llm_rest import RetryPolicy
from llm_rest.errors import APITimeoutError, LLMError, MalformedResponseError
from llm_rest.transport.asynchronous import AsyncTransport
from llm_rest.transport.blocking import SyncTransport
from tests.callers import NewClient, answer
from tests.loopback import Act, Loopback, http, loopback, send, send_and_stall

pytestmark = pytest.mark.anyio

AT_ONCE = RetryPolicy(base_delay=0)
GOOD = http(json.dumps(answer()).encode())


def refused(status: int, *headers: str, body: bytes = b'{"error": {"message": "no"}}') -> Act:
    return send(http(body, f"{status} No", *headers))


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


# --- how often ------------------------------------------------------------------------------------------------------


async def test_the_same_bytes_are_sent_again(new_client: NewClient) -> None:
    """BUGS 69: no vendor here takes an idempotency key; what can be promised is that all attempts ask the same."""
    with loopback(refused(503), refused(429), send(GOOD)) as server:
        async with new_client(base_url=server.url, retry=AT_ONCE) as llm:
            reply = await llm.generate("Hi", temperature=0.5, stop=None)
    assert reply.output_text == "Hello"
    assert outcomes(reply.info) == ["internal_server", "rate_limit", "200"]
    assert len({*server.heads}) == len({*server.bodies}) == 1


async def test_the_number_of_attempts_is_that_of_the_call_or_of_the_client(new_client: NewClient) -> None:
    with loopback(refused(500)) as server:
        async with new_client(base_url=server.url, retry=AT_ONCE) as llm:
            once = llm.with_options(retry=1)
            twice = RetryPolicy(base_delay=0, attempts=2)
            assert [
                len((await failing(llm)).attempts),
                len((await failing(llm, retry=1)).attempts),
                len((await failing(once)).attempts),
                len((await failing(once, retry=twice)).attempts),
            ] == [3, 1, 1, 2]
    assert len(server.heads) == 7


# --- after how long -------------------------------------------------------------------------------------------------


async def test_a_date_to_wait_for_counts_from_the_receipt_of_an_answer_without_a_date(
    new_client: NewClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    async def sleep(self: object, seconds: float) -> None:
        waits.append(seconds)

    for kind in (SyncTransport, AsyncTransport):
        monkeypatch.setattr(kind, "sleep", sleep)

    def act(connection: socket.socket, server: Loopback) -> bool:
        return refused(429, f"retry-after: {formatdate(time.time() + 9.5, usegmt=True)}")(connection, server)

    with loopback(act, send(GOOD)) as server:
        async with new_client(base_url=server.url, retry=RetryPolicy(jitter="none")) as llm:
            await llm.generate("Hi")
    assert len(waits) == 1
    assert 7 <= waits[0] <= 10


async def test_the_deadline_is_for_all_attempts(new_client: NewClient) -> None:
    with loopback(refused(500), send_and_stall(b"")) as server:
        async with new_client(base_url=server.url, retry=AT_ONCE, timeout=1) as llm:
            error = await failing(llm)
    assert isinstance(error, APITimeoutError)
    assert (error.phase, len(server.heads), outcomes(error)) == ("total", 2, ["internal_server", error.kind])


# --- malformed answers -----------------------------------------------------------------------------------------


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
