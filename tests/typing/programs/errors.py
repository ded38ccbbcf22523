"""Errors: what catches what, how long to wait, what was tried, what had come, and an error as a value.

Prints:

    wait 1 s, 2 attempts, rate_limit
    not_found 404 retryable=False
    overloaded 529 retryable=True
    only 'Hello.'
    Bad.
"""

from __future__ import annotations

from typing import assert_type

from llm_rest import (
    APIConnectionError,
    APIStatusError,
    Client,
    ConfigError,
    LLMError,
    RateLimitError,
    Reply,
    RetryPolicy,
    StreamInterruptedError,
)


def ask(llm: Client, question: str) -> str:
    try:
        with llm.stream(question) as stream:
            return "".join(stream.text)
    except RateLimitError as error:
        assert_type(error.retry_after, float | None)
        return f"wait {error.retry_after or 1.0:.0f} s, {len(error.attempts)} attempts, {error.attempts[-1].outcome}"
    except StreamInterruptedError as error:
        partial = error.partial
        return f"only {partial.output_text!r}" if isinstance(partial, Reply) else "nothing"
    except (APIStatusError, APIConnectionError) as error:
        return f"{error.kind} {error.status} retryable={error.retryable}"
    except ConfigError as error:
        return f"mend the call: {error.hint}"
    except LLMError as error:
        return error.message


def main() -> None:
    with Client("simulator/demo", retry=RetryPolicy(attempts=2, base_delay=0.01)) as llm:
        for end in ("429 rate_limit_exceeded Slow down.", "404 not_found Gone.", "529 Busy."):
            print(ask(llm, f"fail {end}"))
        print(ask(llm, "say Hello.\nbreak"))
        result = llm.try_generate("fail 400 Bad.")
        print(result.output_text if isinstance(result, Reply) else result.description)


if __name__ == "__main__":
    main()
