"""Budgets, caches, fallbacks, prices and rate limits that make no sense are refused where they are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from llm_rest import AnswerCache, BadRequestError, Budget, Client, ConfigError, Fallback, FallbackModel, RateLimit

ANY: Callable[[Any], Any] = lambda value: value  # noqa: E731 - hides a type from the checkers
MODEL = "openai/gpt-5"
RATE = 'rate_limit is "learn" or RateLimit'


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Budget(), "limits nothing"),
        (lambda: Budget(usd=0), "usd is a positive number, not 0"),
        (lambda: Budget(tokens=ANY("5")), "not '5'"),
        (lambda: Budget(seconds=True), "True"),
        (lambda: Client("simulator/x", budget=ANY(5)), "budget is Budget"),
        (lambda: AnswerCache(max_bytes=5), "max_bytes is a number from 65536"),
        (lambda: AnswerCache(max_age=0), "max_age is a positive number"),
        (lambda: Client(MODEL, cache=ANY("x.sqlite")), "cache= takes an AnswerCache"),
        (lambda: Client("simulator/x", prices="there/is/none.json"), "cannot read there/is/none.json"),
        (lambda: Client("simulator/x", prices=ANY(5)), "prices= takes the path of a file or Prices"),
        (lambda: RateLimit(rpm=0), "rpm is a positive number, not 0"),
        (lambda: RateLimit(tpm=ANY("60k")), "tpm is a positive number, not '60k'"),
        (lambda: RateLimit(rpm=float("inf")), "not inf"),
        (lambda: RateLimit(tpm=1000, input_tpm=2000), "input_tpm=2000 is more than tpm=1000"),
        (lambda: RateLimit(concurrency=ANY(0.5)), "concurrency is a positive number, not 0.5"),
        (lambda: RateLimit(share=2), "from 0 to 1, not 2"),
        (lambda: RateLimit(learn=False), "limits nothing"),
        (lambda: Client("simulator/x", rate_limit=ANY("fast")), RATE),
        (lambda: Client("simulator/x").generate("Hi", rate_limit=ANY(5)), RATE),
        (lambda: Client([]), "list of models"),
        (lambda: Client(ANY(5)), "list of models"),
        (lambda: Fallback(MODEL), "list of models"),
        (lambda: Fallback([MODEL, MODEL]), "openai/gpt-5 is in the Fallback twice"),
        (lambda: Fallback(ANY([MODEL, 3])), "a model of a Fallback is a text"),
        (lambda: Client([MODEL, "nowhere/x"]), "nowhere"),
        (lambda: Fallback([MODEL], on="rate-limit"), "on= has no error 'rate-limit'"),
        (lambda: Fallback([MODEL], on=[BadRequestError]), "on= has no error 'BadRequestError'"),
        (lambda: Fallback([MODEL], on=["config"]), "on= has no error 'config'"),
        (lambda: Fallback([MODEL], pause=-1), "pause is a number of seconds"),
        (lambda: Client([MODEL], api_key="sk-secret-1234567"), "api_key= belongs to one model"),
        (lambda: Client([MODEL], base_url="https://x.example"), "base_url= belongs to one model"),
        (lambda: FallbackModel(MODEL, **ANY({"max_tokens": 5})), "there is no option max_tokens"),
        (lambda: FallbackModel(MODEL, tools=[]), "tools is no option of one model"),
    ],
)
def test_options_that_make_no_sense_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make()
    assert message in caught.value.message
    assert "sk-secret" not in str(caught.value)
