"""Rate limits: every form of headers, a hidden limit on a virtual clock, and clients of every kind that wait."""

from __future__ import annotations

import pickle
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pytest

from llm_rest import AsyncClient, Client, RateLimit, RateLimitError, RateLimitWait
from llm_rest.policy.limiter import quota_readings, readings
from llm_rest.vendors.rows import VENDORS
from tests.callers import NewClient, frames
from tests.loopback import END, STREAM, Loopback, chunks, http, loopback, send
from tests.policy.hidden import FORMS, simulate
from tests.support import WHOLE
from tests.test_client_retries import GOOD, outcomes, refused

pytestmark = pytest.mark.anyio

NOW = 1_790_000_000.0
DAY = 86400.0

HEADERS = """
openai
    x-ratelimit-limit-requests: 60
    x-ratelimit-remaining-requests: 59
    x-ratelimit-reset-requests: 1s
    x-ratelimit-limit-tokens: 150000
    x-ratelimit-remaining-tokens: 149984
    x-ratelimit-reset-tokens: 6m0s
    x-ratelimit-remaining-tokens_usage_based: 90
    x-ratelimit-remaining-input-tokens: 80
    = requests: requests 60 60 59 1
    = tokens: tokens 60 150000 149984 360
    = tokens usage based: tokens 60 - 90 -
    = input tokens: input 60 - 80 -
azure_openai
    x-ratelimit-remaining-tokens: 10
    x-ratelimit-reset-tokens: 25
    = tokens: tokens 60 - 10 25
groq
    x-ratelimit-limit-requests: 14400
    x-ratelimit-remaining-requests: 14370
    x-ratelimit-reset-requests: 2m59.56s
    x-ratelimit-limit-tokens: 18000
    x-ratelimit-reset-tokens: 7.66s
    = requests: requests 86400 14400 14370 179.56
    = tokens: tokens 60 18000 - 7.66
anthropic
    anthropic-ratelimit-requests-limit: 50
    anthropic-ratelimit-requests-remaining: 49
    anthropic-ratelimit-requests-reset: 2026-09-21T14:13:50Z
    anthropic-ratelimit-input-tokens-limit: 40000
    anthropic-ratelimit-output-tokens-remaining: 8000
    anthropic-priority-input-tokens-limit: 10000
    anthropic-ratelimit-unified-5h-utilization: 0.75
    anthropic-ratelimit-unified-5h-reset: 1790000090
    anthropic-ratelimit-unified-status: allowed
    anthropic-ratelimit-unified-representative-claim: five_hour
    = requests: requests 60 50 49 30
    = input tokens: input 60 40000 - -
    = output tokens: output 60 - 8000 -
    = priority input tokens: input 60 10000 - -
    = unified 5h: share 18000 1 0.25 90
mistral
    x-ratelimit-limit-req-minute: 0
    x-ratelimit-remaining-tokens-minute: 5
    x-ratelimit-limit-tokens-month: 1000000
    x-ratelimit-tokens-query-cost: 31
    = req minute: requests 60 0 - -
    = tokens minute: tokens 60 - 5 -
    = tokens month: tokens 2592000 1000000 - -
cerebras
    x-ratelimit-limit-requests-day: 14400
    x-ratelimit-reset-tokens-minute: 11.38
    = requests day: requests 86400 14400 - -
    = tokens minute: tokens 60 - - 11.38
together
    x-ratelimit-limit: 10
    x-ratelimit-reset: 1
    x-ratelimit-limit-dynamic: 15
    x-ratelimit-remaining-dynamic: 14
    x-tokenlimit-limit: 9000
    x-tokenlimit-remaining: 8000
    = requests dynamic: requests 1 15 14 -
    = tokens: tokens 1 9000 8000 -
fireworks
    x-ratelimit-limit-requests: 600
    x-ratelimit-remaining-tokens-prompt: 100
    x-ratelimit-remaining-tokens-cache-adjusted-prompt: 150
    x-ratelimit-remaining-tokens-generated: 50
    x-ratelimit-over-limit: no
    = requests: requests 60 600 - -
    = tokens prompt: input 60 - 100 -
    = tokens cache adjusted prompt: input 60 - 150 -
    = tokens generated: output 60 - 50 -
sambanova
    x-ratelimit-reset-requests: 1790000007
    x-ratelimit-limit-requests-day: 100
    = requests: requests 60 - - 7
    = requests day: requests 86400 100 - -
openrouter
    x-ratelimit-limit: 20
    x-ratelimit-remaining: 0
    x-ratelimit-reset: 1790000005000
    = requests: requests 60 20 0 5
cohere
    x-trial-endpoint-call-limit: 20
    x-trial-endpoint-call-remaining: 19
    x-ratelimit-reset: 1790000000
    = requests: requests 60 20 19 0
huggingface
    ratelimit: "default";r=50;t=30
    ratelimit-policy: "burst";q=100;w=10, "default";q=500;w=300
    = requests default: requests 300 500 50 30
    = requests burst: requests 10 100 - -
compatible
    ratelimit-limit: 100, 100;w=60
    ratelimit-remaining: 99
    ratelimit-reset: 12
    = requests: requests 60 100 99 12
compatible
    x-ratelimit-limit-oxen: 3
    x-ratelimit-limit-requests: many
    x-ratelimit-reset: later
    ratelimit: "content";q=5;qu="content-bytes"
    retry-after: 3
    x-rate: 1
"""
"""Vendors with their headers at `NOW`, and the name, kind, window, limit, remaining and reset of each limit in them."""


@pytest.mark.parametrize("block", re.split(r"\n(?=\w)", HEADERS.strip()), ids=lambda block: block.split()[0])
def test_headers_of_every_vendor_are_read(block: str) -> None:
    vendor, *lines = (line.strip() for line in block.splitlines())
    headers = dict(line.split(": ", 1) for line in lines if not line.startswith("= "))
    expected = dict(line[2:].split(": ", 1) for line in lines if line.startswith("= "))
    found = readings(headers, NOW, VENDORS[vendor].limits.windows if vendor in VENDORS else {})
    shown = [
        ["-" if fact is None else fact if isinstance(fact, str) else f"{fact:.10g}" for fact in one] for one in found
    ]
    assert {name: " ".join(facts) for name, *facts in shown} == expected


def test_the_quota_in_a_body_of_google_is_read() -> None:
    violation = {"quotaId": "GenerateContentInputTokensPerModelPerDay-FreeTier", "quotaValue": "250000"}
    body = {
        "error": {"details": [{"violations": [violation, {"quotaId": "RequestsPerMinute", "quotaValue": "10"}, 3]}, 4]}
    }
    assert [tuple(one[1:]) for one in quota_readings(body)] == [
        ("input", DAY, 250000, 0, None),
        ("requests", 60, 10, 0, None),
    ]
    assert [quota_readings(odd) for odd in ({"error": 3}, {"error": {"details": 3}}, [], None)] == [[], [], [], []]


SAMPLE = {"openai tokens": 64, "groq": 256, "anthropic output": 64, "google": 64, "mistral": 64, "sambanova": 256}
CASES = (
    [(name, each, seed) for name in FORMS for each in (64, 128, 256) for seed in range(3)]
    if WHOLE
    else [(name, concurrency, 0) for name, concurrency in SAMPLE.items()]
)


@pytest.mark.parametrize(("name", "concurrency", "seed"), CASES)
def test_a_hidden_limit_is_used_and_hardly_ever_exceeded(name: str, concurrency: int, seed: int) -> None:
    """At least 95 % of the limit, with answers out of order, and below 1 % of 429s."""
    used, refusals = simulate(FORMS[name], concurrency=concurrency, seconds=600 if WHOLE else 240, seed=seed)
    assert used >= 0.95
    assert refusals < 0.01


# --- clients --------------------------------------------------------------------------------------------------------


def limited(**headers: str) -> Any:
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return send(http(GOOD.partition(b"\r\n\r\n")[2], "200 OK", *lines))


async def test_a_call_waits_for_its_limit_instead_of_failing(new_client: NewClient) -> None:
    events: list[Any] = []
    with loopback(refused(429, "retry-after-ms: 80"), refused(429, "retry-after-ms: 80"), send(GOOD)) as server:
        async with new_client(base_url=server.url, rate_limit="learn", retry=2, on_event=events.append) as llm:
            reply = await llm.generate("Hi")
    assert outcomes(reply.info) == ["rate_limit", "rate_limit", "200"]  # more than the attempts of a call
    waits = [event for event in events if isinstance(event, RateLimitWait)]
    assert [(event.vendor, event.model, event.reason) for event in waits] == [
        ("openai", "gpt-4o", "the pause that the vendor asked for")
    ] * 2
    assert all(0.03 < event.wait <= 0.08 for event in waits)


async def test_one_attempt_is_one_attempt(new_client: NewClient) -> None:
    with loopback(refused(429), send(GOOD)) as server:
        async with new_client(base_url=server.url, rate_limit="learn", retry=1) as llm:
            with pytest.raises(RateLimitError):
                await llm.generate("Hi")
    assert len(server.heads) == 1


@pytest.mark.parametrize(
    ("headers", "text"),
    [
        (
            {"x_ratelimit_limit_requests_day": "5", "x_ratelimit_remaining_requests_day": "0"},
            "5 requests per day, allows .* in",
        ),
        ({"x_ratelimit_limit_tokens_minute": "0"}, "0 tokens per minute, allows the request never"),
    ],
)
async def test_a_wait_beyond_the_time_of_the_call_is_an_error_that_names_the_limit(
    new_client: NewClient, headers: dict[str, str], text: str
) -> None:
    with loopback(limited(**headers)) as server:
        async with new_client(base_url=server.url, rate_limit=RateLimit()) as llm:
            await llm.generate("Hi")
            begun = time.monotonic()
            with pytest.raises(RateLimitError, match=text) as caught:
                await llm.generate("Hi", timeout=5)
    assert time.monotonic() - begun < 2
    assert len(server.heads) == 1
    assert (caught.value.vendor, caught.value.model, caught.value.status) == ("openai", "gpt-4o", None)
    assert (caught.value.retry_after or 6) > 5


async def test_a_stream_holds_its_place_until_it_ends_or_is_left(new_client: NewClient) -> None:
    shared = RateLimit(concurrency=1)
    with loopback(send(STREAM + chunks(*frames("a", "b")) + END)) as server:
        async with new_client(base_url=server.url, rate_limit=shared) as llm:
            async with llm.stream("Hi") as stream:
                await anext(stream)
                assert [one.in_flight for one in shared.status()] == [1]
            async with llm.stream("Hi") as stream:
                async for _ in stream:
                    pass
    assert [(one.in_flight, one.waiting, one.vendor) for one in shared.status()] == [(0, 0, "openai")]


async def test_a_wait_is_ended_by_cancel(new_client: NewClient) -> None:
    pause = {"x_ratelimit_limit_requests_hour": "5", "x_ratelimit_remaining_requests_hour": "0"}
    with loopback(limited(**pause)) as server:
        shared = RateLimit()
        async with new_client(base_url=server.url, rate_limit=shared, timeout=9000) as llm:
            await llm.generate("Hi")
            threading.Timer(0.2, getattr(llm, "_inner", llm).cancel).start()
            assert (await llm.generate("Hi")).interrupted
        assert [(one.waiting, one.in_flight) for one in shared.status()] == [(0, 0)]
        assert len(server.heads) == 1


def test_threads_and_loops_share_a_limit_first_come_first_served() -> None:
    """One request at a time, of three threads and two event loops."""
    running, most = [0], [0]

    def act(connection: Any, server: Loopback) -> bool:
        running[0] += 1
        most[0] = max(most[0], running[0])
        time.sleep(0.02)
        running[0] -= 1
        return send(GOOD)(connection, server)

    with loopback(*[act] * 9) as server:
        options: dict[str, Any] = {"base_url": server.url, "api_key": "sk-test", "rate_limit": RateLimit(concurrency=1)}

        def call() -> None:
            with Client("openai/gpt-4o", **options) as llm:
                llm.generate("Hi")

        async def tasks() -> None:
            async with AsyncClient("openai/gpt-4o", **options) as llm, anyio.create_task_group() as group:
                for _ in range(3):
                    group.start_soon(llm.generate, "Hi")

        with ThreadPoolExecutor(5) as threads:
            for name in ("asyncio", "trio"):
                threads.submit(anyio.run, tasks, backend=name)
            for _ in range(3):
                threads.submit(call)
    assert (len(server.heads), most[0]) == (9, 1)


def test_a_limit_is_divided_among_processes_and_pickled_without_what_it_learned() -> None:
    part = pickle.loads(pickle.dumps(RateLimit(rpm=600, tpm=8000).divided(4)))
    assert repr(part) == "RateLimit(rpm=600, tpm=8000, share=0.25)"
    with Client("simulator/x", rate_limit=part) as llm:
        llm.generate("Hi")
        llm.run("Hi").result()
        llm.chat().ask("Hi")
        llm.with_options(rate_limit=None).generate("Hi")
    (status,) = part.status()
    assert status.limits["given requests"][1] == 150
    assert status.limits["given requests"][0] < 149
