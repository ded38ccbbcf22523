"""What type checkers say about retries."""

from __future__ import annotations

from typing import assert_type

from llm_rest import AsyncClient, Client, RequestRetry, RetryPolicy


def a_policy_or_a_number_is_taken_everywhere(llm: Client, later: AsyncClient) -> None:
    assert_type(Client("openai/gpt-4o", retry=1), Client)
    assert_type(AsyncClient("openai/gpt-4o", retry=RetryPolicy(attempts=5, jitter="none")), AsyncClient)
    assert_type(llm.with_options(retry=None), Client)
    llm.generate("Hi", retry=2)
    later.stream("Hi", retry=RetryPolicy(retry_after_timeout=False))


def what_is_no_policy_is_refused(llm: Client) -> None:
    Client("openai/gpt-4o", retry="often")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    llm.generate("Hi", retry="often")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    RetryPolicy(3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    RetryPolicy(jitter="some")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def an_event_hook_gets_the_wait_and_the_reason(event: RequestRetry) -> None:
    assert_type(event.wait, float)
    assert_type(event.reason, str)
