"""What a type checker sees of errors and losses. Checked by `make check`, never run."""

from __future__ import annotations

from typing import Any, Literal, assert_type

from llm_rest import (
    APIConnectionError,
    APIStatusError,
    DecodeError,
    LLMError,
    Loss,
    RateLimitError,
    StreamInterruptedError,
)


def every_failure_says_whether_to_try_again(error: LLMError) -> None:
    assert_type(error.code, Literal["auth_error", "rate_limit", "network_error", "invalid_request", "unknown"])
    assert_type(error.retryable, bool)
    assert_type(error.retry_after, float | None)
    assert_type(error.status, int | None)
    assert_type(error.to_dict(), dict[str, Any])


def errors_are_caught_by_family(error: Exception) -> str:
    match error:
        case RateLimitError(retry_after=seconds):
            assert_type(seconds, float | None)
            return "later"
        case StreamInterruptedError():
            return "partial"
        case APIStatusError() | APIConnectionError():
            return error.message
        case DecodeError(path=path):
            assert_type(path, str)
            as_builtin: ValueError = error
            return str(as_builtin)
        case _:
            return ""


def a_loss_names_its_place_and_kind(loss: Loss) -> None:
    assert_type(loss.path, str)
    assert_type(loss.kind, Literal["dropped", "changed", "emulated", "withheld", "refused"])
