"""The policy, the decision and the budget, without a clock, a socket or chance."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from llm_rest import errors
from llm_rest.errors import APITimeoutError, ConfigError, ErrorFacts, LLMError
from llm_rest.transport.retry import CAPACITY, Failed, RetryBudget, RetryPolicy, decide, policy_of
from llm_rest.vendor_errors import api_error

EXACT = RetryPolicy(jitter="none", attempts=9)
FIRST = Failed(1)

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, LLMError)]

seconds = st.floats(0, 1e6)
policies = st.builds(
    RetryPolicy,
    attempts=st.integers(1, 10),
    base_delay=seconds,
    max_delay=seconds,
    jitter=st.sampled_from(["full", "none"]),
    max_malformed=st.integers(0, 5),
    max_retry_after=seconds,
    retry_after_timeout=st.booleans(),
)
failures = st.builds(
    lambda kind, retryable, asked: kind("no", retryable=retryable, retry_after=asked),
    st.sampled_from(KINDS),
    st.sampled_from([None, True, False]),
    st.none() | st.floats(),
)


def decided(error: LLMError, failed: Failed = FIRST, policy: RetryPolicy = EXACT, **more: Any) -> float | str:
    return decide(error, failed, policy, **{"left": None, "chance": 0.5, **more})


# --- what is asked for again ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (api_error(ErrorFacts(status=503, message="")), 1.0),
        (api_error(ErrorFacts(status=400, message="")), "final"),
        (api_error(ErrorFacts(status=400, message="", should_retry=True)), 1.0),
        (api_error(ErrorFacts(status=503, message="", should_retry=False)), "final"),
        (errors.ConnectError("refused"), 1.0),
        (errors.ProtocolError("cut"), 1.0),
        (errors.TLSError("unknown authority"), "final"),
        (errors.ProtocolError("the server redirects", retryable=False), "final"),
        (ConfigError("no key"), "final"),
        (errors.QuotaError("no credit", status=429), "final"),
        *((APITimeoutError("late", phase=phase), 1.0) for phase in ("connect", "first_byte", "read", "stall")),
        *((APITimeoutError("late", phase=phase), "final") for phase in ("pool", "total")),
    ],
    ids=lambda value: f"{value.kind}-{getattr(value, 'phase', value.retryable)}" if isinstance(value, LLMError) else "",
)
def test_which_errors_are_retried(error: LLMError, expected: float | str) -> None:
    assert decided(error) == expected


def test_without_retry_after_timeout_a_request_is_retried_only_if_it_was_not_sent() -> None:
    careful = RetryPolicy(jitter="none", retry_after_timeout=False)
    assert decided(APITimeoutError("late", phase="first_byte"), policy=careful) == "final"
    assert decided(APITimeoutError("late", phase="connect"), policy=careful) == 1.0


# --- how long ------------------------------------------------------------------------------------------------------


def test_without_jitter_waits_double_up_to_the_longest() -> None:
    assert [decided(errors.InternalServerError("no"), Failed(n)) for n in range(1, 7)] == [1, 2, 4, 8, 8, 8]


def test_malformed_answers_are_retried_once_or_up_to_max_malformed_with_linear_delays() -> None:
    policy = RetryPolicy(jitter="none", attempts=9, max_malformed=5)
    assert [decided(errors.MalformedResponseError("?"), Failed(n, n), policy) for n in range(1, 4)] == [1, 2, 3]
    assert decided(errors.MalformedResponseError("?"), Failed(2, malformed=1)) == 1.0
    assert decided(errors.MalformedResponseError("?"), Failed(2, malformed=2)) == "attempts"


def test_retry_after_is_followed_up_to_a_minute_and_ignored_where_it_is_no_delay() -> None:
    """BUGS 65"""
    assert decided(errors.RateLimitError("slow", retry_after=2.5)) == 2.5
    assert decided(errors.RateLimitError("slow", retry_after=60)) == 60
    assert decided(errors.RateLimitError("slow", retry_after=60.1)) == "retry-after too long"
    assert {
        decided(errors.RateLimitError("slow", retry_after=n)) for n in (0.0, -3.0, math.nan, math.inf, -math.inf)
    } == {1.0}


def test_there_is_no_wait_that_the_deadline_would_end() -> None:
    assert decided(errors.InternalServerError("no"), left=1.1) == 1.0
    assert decided(errors.InternalServerError("no"), left=1.0) == "deadline"


@settings(max_examples=300)
@given(failures, st.integers(1, 100), st.integers(0, 100), policies, st.none() | seconds, st.floats(0, 1))
def test_a_decision_keeps_every_promise(
    error: LLMError, attempts: int, malformed: int, policy: RetryPolicy, left: float | None, chance: float
) -> None:
    found = decide(error, Failed(attempts, malformed), policy, left=left, chance=chance)
    if isinstance(found, str):
        return
    assert error.retryable
    assert attempts < policy.attempts
    assert 0 <= found < math.inf
    assert left is None or found < left
    asked = error.retry_after
    if asked is not None and 0 < asked < math.inf:
        assert asked <= found <= policy.max_retry_after * 1.1
    else:
        exact = decide(error, Failed(attempts, malformed), replace(policy, jitter="none"), left=None, chance=chance)
        assert found <= float(exact) <= policy.max_delay, "jitter makes a delay shorter"


# --- what retry= means ----------------------------------------------------------------------------------------------


def test_retry_takes_a_number_of_attempts_or_a_policy() -> None:
    assert policy_of(5) == RetryPolicy(attempts=5)
    assert policy_of(None) == RetryPolicy()
    assert policy_of(EXACT) is EXACT
    for value in (0, -1, True, 1.5, "3", {}):
        with pytest.raises(ConfigError, match="retry"):
            policy_of(value)


@pytest.mark.parametrize(
    "fields",
    [
        {"attempts": 0},
        {"attempts": True},
        {"max_malformed": -1},
        {"base_delay": -1},
        {"base_delay": math.nan},
        {"max_delay": math.inf},
        {"max_retry_after": "60"},
        {"jitter": "some"},
    ],
    ids=str,
)
def test_a_policy_that_makes_no_sense_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(fields))):
        RetryPolicy(**fields)


# --- the budget -----------------------------------------------------------------------------------------------------

HERE, ELSEWHERE, THERE = "https://one.example/v1", "https://one.example/another/path", "https://two.example/v1"


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0, 1, 5, 10, 15, 100, 200]))))
@example([(True, 100), (False, 0), (True, 1), (True, 1)])
def test_a_budget_of_an_origin_is_never_negative_and_never_above_its_capacity(steps: list[tuple[bool, int]]) -> None:
    budget, level = RetryBudget(), CAPACITY
    for taking, amount in steps:
        if taking:
            assert budget.take(HERE, amount) == (amount <= level)
            level -= amount if amount <= level else 0
        else:
            budget.give(ELSEWHERE, amount)
            level = min(CAPACITY, level + max(amount, 1))
        assert 0 <= budget.level(HERE) == level <= CAPACITY
    assert budget.level(THERE) == CAPACITY


def test_threads_share_a_budget_without_losing_a_token() -> None:
    budget = RetryBudget()
    with ThreadPoolExecutor(16) as threads:
        paid = list(threads.map(lambda _: budget.take(HERE, 1), range(500)))
    assert paid.count(True) == CAPACITY
    assert budget.level(HERE) == 0
