"""Tokens that expire: a provider is asked once for all calls that were refused, for threads, on asyncio and trio alike."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from llm_rest import APITimeoutError, AsyncClient, AuthenticationError, ConfigError, LLMError, RetryPolicy
from tests.callers import NewClient, answer, together
from tests.loopback import Act, Loopback, http, loopback, send

pytestmark = pytest.mark.anyio

MANY = 48
GOOD = send(http(json.dumps(answer()).encode()))
EXPIRED = http(b'{"error": {"message": "expired"}}', "401 Unauthorized")
BUSY = send(http(b'{"error": {"message": "later"}}', "503 Busy"))


class Provider:
    """Returns old tokens until `expired` is set, then new ones; it records its calls."""

    def __init__(self, way: str, *, slow: float = 0.02, fails: Exception | None = None) -> None:
        self.expired = threading.Event()
        self.asked: list[tuple[str | None, str]] = []
        self._way, self._slow, self._fails = way, slow, fails

    def __call__(self, vendor: str, account: str | None) -> Any:
        if self._way == "sync":
            time.sleep(self._slow)
            return self._token(account)
        return self._later(account)

    async def _later(self, account: str | None) -> str:
        await anyio.sleep(self._slow)
        return self._token(account)

    def _token(self, account: str | None) -> str:
        token = f"{'new' if self.expired.is_set() else 'old'}-token-of-{account}"
        self.asked.append((account, token))
        if self._fails:
            raise self._fails
        return token

    @property
    def renewed(self) -> list[str | None]:
        """The accounts for which new tokens were requested."""
        return sorted((account for account, token in self.asked if token.startswith("new")), key=str)


def refusing_old(provider: Provider, count: int) -> Callable[[bytes], Act]:
    """Rejects old tokens, once so many of them were received: then all of these calls are in progress."""
    all_came = threading.Event()
    waiting = [0]
    lock = threading.Lock()

    def by_head(head: bytes) -> Act:
        if b"old-token" not in head:
            return GOOD

        def act(connection: Any, server: Loopback) -> bool:
            with lock:
                waiting[0] += 1
                if waiting[0] == count:
                    provider.expired.set()
                    all_came.set()
            all_came.wait(10)
            connection.sendall(EXPIRED)
            return True

        return act

    return by_head


async def test_many_calls_ask_once_when_their_token_has_expired(new_client: NewClient, way: str) -> None:
    """Once for each account."""
    provider = Provider(way)
    with loopback(by_head=refusing_old(provider, MANY)) as server:
        async with new_client(base_url=server.url, api_key=None, credentials=provider, retry=1) as llm:

            async def streamed() -> Any:
                async with llm.stream("Hi", account="ada") as stream:
                    async for _ in stream:
                        pass
                return stream.response

            whole = [lambda: llm.generate("Hi"), lambda: llm.generate("Hi", account="bob")]
            replies = await together(way, [streamed, *whole] * (MANY // 3))
    assert provider.renewed == [None, "ada", "bob"]
    assert [reply.output_text for reply in replies] == ["Hello"] * MANY
    assert len(server.heads) == 2 * MANY
    assert all([one.outcome for one in reply.info.attempts] == ["authentication", "200"] for reply in replies)


@pytest.mark.parametrize(("token", "requests"), [({}, 2), ({"user_token": "token-of-the-user"}, 1)])
async def test_a_token_is_renewed_once_and_that_of_one_call_never(
    new_client: NewClient, way: str, token: dict[str, str], requests: int
) -> None:
    provider = Provider(way, slow=0)
    with loopback(send(EXPIRED)) as server:
        async with new_client(base_url=server.url, api_key=None, credentials=provider, retry=None) as llm:
            with pytest.raises(AuthenticationError) as caught:
                await llm.generate("Hi", **token)
    assert len(server.heads) == len(caught.value.attempts) == requests
    assert len(provider.asked) == (0 if token else 2)


async def test_calls_whose_new_token_is_rejected_too_share_that_error(new_client: NewClient, way: str) -> None:
    provider = Provider(way)
    with loopback(by_head=refusing_old(provider, 10)) as server:
        provider.expired.set = lambda: None  # type: ignore[method-assign]
        async with new_client(base_url=server.url, api_key=None, credentials=provider, retry=1) as llm:

            async def failing() -> int:
                with pytest.raises(AuthenticationError):
                    await llm.generate("Hi")
                return len(provider.asked)

            await together(way, [failing] * 10)
    assert len(provider.asked) < 10


async def test_the_new_attempt_is_not_one_of_the_retries(new_client: NewClient, way: str) -> None:
    provider = Provider(way, slow=0)
    policy = RetryPolicy(attempts=3, base_delay=0)
    with loopback(send(EXPIRED), BUSY, BUSY, GOOD) as server:
        async with new_client(base_url=server.url, api_key=None, credentials=provider, retry=policy) as llm:
            reply = await llm.generate("Hi")
    outcomes = [attempt.outcome for attempt in reply.info.attempts]
    assert outcomes == ["authentication", "internal_server", "internal_server", "200"]


async def test_an_error_of_the_provider_is_raised_by_all_calls_that_wait_for_it(
    new_client: NewClient, way: str
) -> None:
    provider = Provider(way, slow=0.05, fails=LookupError("no such account"))
    async with new_client(base_url="http://127.0.0.1:9", api_key=None, credentials=provider) as llm:

        async def failing() -> None:
            words = "the token provider for openai failed: LookupError: no such account"
            with pytest.raises(ConfigError, match=words) as caught:
                await llm.generate("Hi")
            assert isinstance(caught.value.__cause__, LookupError)

        await together(way, [failing] * 10)
    assert len(provider.asked) < 10


async def test_where_the_call_that_renews_is_cancelled_another_one_renews(new_client: NewClient, way: str) -> None:
    if way == "sync":
        pytest.skip("a thread is not cancelled")
    asked: list[str] = []
    first = anyio.Event()

    async def provider(vendor: str, account: str | None) -> str:
        asked.append("")
        first.set()
        await anyio.sleep(60 if len(asked) == 1 else 0)
        return "a-token-of-somebody"

    with loopback(GOOD) as server:
        async with new_client(base_url=server.url, api_key=None, credentials=provider) as llm:
            async with anyio.create_task_group() as group, anyio.create_task_group() as given_up:
                given_up.start_soon(llm.generate, "Hi")
                await first.wait()
                group.start_soon(llm.generate, "Hi")
                await anyio.sleep(0.05)
                given_up.cancel_scope.cancel()
    assert (len(asked), len(server.heads)) == (2, 1)


@pytest.mark.parametrize("way", ["asyncio", "trio"])
async def test_the_time_of_a_call_ends_a_provider_that_does_not_answer(way: str) -> None:
    async def provider(vendor: str, account: str | None) -> str:
        await anyio.sleep(60)
        return ""

    async with AsyncClient("openai/gpt-4o", credentials=provider, timeout=0.1) as llm:
        with pytest.raises(APITimeoutError) as caught:
            await llm.generate("Hi")
    assert isinstance(caught.value, LLMError)
    assert caught.value.phase == "total"
