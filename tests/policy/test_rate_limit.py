"""Rate limits: every form of headers, a hidden limit on a virtual clock, and clients of every kind that wait."""

from __future__ import annotations

import pickle
import threading
import time
from typing import Any

import anyio
import pytest

from llm_rest import Client, ConfigError, RateLimit, RateLimitError, RateLimitWait
from llm_rest.policy.limiter import quota_readings, readings
from tests.callers import NewClient, frames
from tests.loopback import END, STREAM, Loopback, chunks, http, loopback, send
from tests.policy.hidden import FORMS, simulate
from tests.support import WHOLE
from tests.test_client_retries import GOOD, outcomes, refused

pytestmark = pytest.mark.anyio

NOW = 1_790_000_000.0
DAY = 86400.0

HEADERS: list[tuple[str, dict[str, str], dict[str, tuple[Any, ...]]]] = [
    # vendor, headers -> name: (what, window, limit, remaining, reset)
    (
        "openai",
        {
            "x-ratelimit-limit-requests": "60",
            "x-ratelimit-remaining-requests": "59",
            "x-ratelimit-reset-requests": "1s",
            "x-ratelimit-limit-tokens": "150000",
            "x-ratelimit-remaining-tokens": "149984",
            "x-ratelimit-reset-tokens": "6m0s",
            "x-ratelimit-remaining-tokens_usage_based": "90",
            "x-ratelimit-remaining-input-tokens": "80",
        },
        {
            "requests": ("requests", 60, 60, 59, 1),
            "tokens": ("tokens", 60, 150000, 149984, 360),
            "tokens usage based": ("tokens", 60, None, 90, None),
            "input tokens": ("input", 60, None, 80, None),
        },
    ),
    (
        "azure_openai",
        {"x-ratelimit-remaining-tokens": "10", "x-ratelimit-reset-tokens": "25"},
        {"tokens": ("tokens", 60, None, 10, 25)},
    ),
    (
        "groq",
        {
            "x-ratelimit-limit-requests": "14400",
            "x-ratelimit-remaining-requests": "14370",
            "x-ratelimit-reset-requests": "2m59.56s",
            "x-ratelimit-limit-tokens": "18000",
            "x-ratelimit-reset-tokens": "7.66s",
        },
        {"requests": ("requests", DAY, 14400, 14370, 179.56), "tokens": ("tokens", 60, 18000, None, 7.66)},
    ),
    (
        "anthropic",
        {
            "anthropic-ratelimit-requests-limit": "50",
            "anthropic-ratelimit-requests-remaining": "49",
            "anthropic-ratelimit-requests-reset": "2026-09-21T14:13:50Z",
            "anthropic-ratelimit-input-tokens-limit": "40000",
            "anthropic-ratelimit-output-tokens-remaining": "8000",
            "anthropic-priority-input-tokens-limit": "10000",
            "anthropic-ratelimit-unified-5h-utilization": "0.75",
            "anthropic-ratelimit-unified-5h-reset": str(int(NOW) + 90),
            "anthropic-ratelimit-unified-status": "allowed",
            "anthropic-ratelimit-unified-representative-claim": "five_hour",
        },
        {
            "requests": ("requests", 60, 50, 49, 30),
            "input tokens": ("input", 60, 40000, None, None),
            "output tokens": ("output", 60, None, 8000, None),
            "priority input tokens": ("input", 60, 10000, None, None),
            "unified 5h": ("share", 18000, 1, 0.25, 90),
        },
    ),
    (
        "mistral",
        {
            "x-ratelimit-limit-req-minute": "0",
            "x-ratelimit-remaining-tokens-minute": "5",
            "x-ratelimit-limit-tokens-month": "1000000",
            "x-ratelimit-tokens-query-cost": "31",
        },
        {
            "req minute": ("requests", 60, 0, None, None),
            "tokens minute": ("tokens", 60, None, 5, None),
            "tokens month": ("tokens", 30 * DAY, 1000000, None, None),
        },
    ),
    (
        "cerebras",
        {"x-ratelimit-limit-requests-day": "14400", "x-ratelimit-reset-tokens-minute": "11.38"},
        {"requests day": ("requests", DAY, 14400, None, None), "tokens minute": ("tokens", 60, None, None, 11.38)},
    ),
    (
        "together",
        {
            "x-ratelimit-limit": "10",
            "x-ratelimit-reset": "1",
            "x-ratelimit-limit-dynamic": "15",
            "x-ratelimit-remaining-dynamic": "14",
            "x-tokenlimit-limit": "9000",
            "x-tokenlimit-remaining": "8000",
        },
        {"requests dynamic": ("requests", 1, 15, 14, None), "tokens": ("tokens", 1, 9000, 8000, None)},
    ),
    (
        "fireworks",
        {
            "x-ratelimit-limit-requests": "600",
            "x-ratelimit-remaining-tokens-prompt": "100",
            "x-ratelimit-remaining-tokens-cache-adjusted-prompt": "150",
            "x-ratelimit-remaining-tokens-generated": "50",
            "x-ratelimit-over-limit": "no",
        },
        {
            "requests": ("requests", 60, 600, None, None),
            "tokens prompt": ("input", 60, None, 100, None),
            "tokens cache adjusted prompt": ("input", 60, None, 150, None),
            "tokens generated": ("output", 60, None, 50, None),
        },
    ),
    (
        "sambanova",
        {"x-ratelimit-reset-requests": str(NOW + 7), "x-ratelimit-limit-requests-day": "100"},
        {"requests": ("requests", 60, None, None, 7), "requests day": ("requests", DAY, 100, None, None)},
    ),
    (
        "openrouter",
        {"x-ratelimit-limit": "20", "x-ratelimit-remaining": "0", "x-ratelimit-reset": f"{(NOW + 5) * 1000:.0f}"},
        {"requests": ("requests", 60, 20, 0, 5)},
    ),
    (
        "cohere",
        {"x-trial-endpoint-call-limit": "20", "x-trial-endpoint-call-remaining": "19", "x-ratelimit-reset": str(NOW)},
        {"requests": ("requests", 60, 20, 19, 0)},
    ),
    (
        "huggingface",
        {"ratelimit": '"default";r=50;t=30', "ratelimit-policy": '"burst";q=100;w=10, "default";q=500;w=300'},
        {"requests default": ("requests", 300, 500, 50, 30), "requests burst": ("requests", 10, 100, None, None)},
    ),
    (
        "compatible",
        {"ratelimit-limit": "100, 100;w=60", "ratelimit-remaining": "99", "ratelimit-reset": "12"},
        {"requests": ("requests", 60, 100, 99, 12)},
    ),
    (
        "compatible",
        {
            "x-ratelimit-limit-oxen": "3",
            "x-ratelimit-limit-requests": "many",
            "x-ratelimit-reset": "later",
            "ratelimit": '"content";q=5;qu="content-bytes"',
            "retry-after": "3",
            "x-rate": "1",
        },
        {},
    ),
]


@pytest.mark.parametrize(("vendor", "headers", "expected"), HEADERS)
def test_headers_of_every_vendor_are_read(vendor: str, headers: dict[str, str], expected: dict[str, Any]) -> None:
    from llm_rest.vendors.rows import VENDORS

    found = readings(headers, NOW, VENDORS[vendor].limits.windows if vendor in VENDORS else {})
    assert {one[0]: tuple(one[1:]) for one in found} == {
        name: tuple(pytest.approx(value) if value is not None and i else value for i, value in enumerate(facts))
        for name, facts in expected.items()
    }


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
    return send(
        http(
            GOOD.partition(b"\r\n\r\n")[2],
            "HTTP/1.1 200 OK",
            *(f"{k.replace('_', '-')}: {v}" for k, v in headers.items()),
        )
    )


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
    from llm_rest import AsyncClient

    shared, running, most = RateLimit(concurrency=1), [0], [0]

    def act(connection: Any, server: Loopback) -> bool:
        running[0] += 1
        most[0] = max(most[0], running[0])
        time.sleep(0.02)
        running[0] -= 1
        return send(GOOD)(connection, server)

    def call(url: str) -> None:
        with Client("openai/gpt-4o", api_key="sk-test-0123456789", base_url=url, rate_limit=shared) as llm:
            llm.generate("Hi")

    async def tasks(url: str) -> None:
        async with AsyncClient("openai/gpt-4o", api_key="sk-test-0123456789", base_url=url, rate_limit=shared) as llm:
            async with anyio.create_task_group() as group:
                for _ in range(3):
                    group.start_soon(llm.generate, "Hi")

    with loopback(*[act] * 9) as server:
        threads = [threading.Thread(target=call, args=(server.url,)) for _ in range(3)]
        threads += [
            threading.Thread(target=anyio.run, args=(tasks, server.url), kwargs={"backend": name})
            for name in ("asyncio", "trio")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert (len(server.heads), most[0]) == (9, 1)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"rpm": 0}, "rpm is a positive number, not 0"),
        ({"tpm": "60k"}, "tpm is a positive number, not '60k'"),
        ({"rpm": float("inf")}, "not inf"),
        ({"tpm": 1000, "input_tpm": 2000}, "input_tpm=2000 is more than tpm=1000"),
        ({"concurrency": 0.5}, "concurrency is a positive number, not 0.5"),
        ({"share": 2}, "from 0 to 1, not 2"),
        ({"learn": False}, "limits nothing"),
    ],
)
def test_limits_that_cannot_be_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        RateLimit(**options)


def test_a_client_refuses_what_is_no_rate_limit() -> None:
    with pytest.raises(ConfigError, match='rate_limit is "learn" or RateLimit'):
        Client("simulator/x", rate_limit="fast")  # type: ignore[arg-type]
    with Client("simulator/x") as llm, pytest.raises(ConfigError, match="rate_limit"):
        llm.generate("Hi", rate_limit=5)  # type: ignore[arg-type]


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
