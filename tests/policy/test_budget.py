"""Budgets: what is spent and reserved never exceeds them when a request is sent; clients of every kind stop there."""

from __future__ import annotations

import contextlib
import json
import random
import time
from pathlib import Path

import anyio
import pytest

from llm_rest import AsyncClient, Budget, BudgetError, Client, InternalServerError
from tests.callers import NewClient, answer, frames
from tests.loopback import END, STREAM, chunks, http, loopback, send
from tests.support import WHOLE

pytestmark = pytest.mark.anyio

FILE = Path(__file__).parents[2] / "fixtures/prices/prices.json"
GOOD = send(http(json.dumps(answer()).encode()))


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_tasks_on_the_simulator_exceed_a_budget_by_no_more_than_their_requests_in_flight() -> None:
    for seed in range(500 if WHOLE else 8):
        chance, most, sizes = random.Random(seed), 5, list[int]()
        budget = Budget(tokens=chance.randint(100, 1500))

        async def calls(llm: AsyncClient, chance: random.Random, budget: Budget, sizes: list[int]) -> None:
            with contextlib.suppress(BudgetError):
                for _ in range(20):
                    text = f"say {'word ' * chance.randint(1, 40)}"
                    reply = await llm.generate(text, budget=budget, max_output_tokens=chance.choice([16, 60, None]))
                    sizes.append(int(reply.info.metadata["total_tokens"]))

        async with AsyncClient("simulator/x") as llm, anyio.create_task_group() as tasks:
            for _ in range(most):
                tasks.start_soon(calls, llm, chance, budget, sizes)
        assert budget.spent("tokens") == sum(sizes) <= budget.limits["tokens"] + most * max(sizes, default=0)
        assert budget._reserved["tokens"] == 0


async def test_calls_stop_at_the_budget_and_failed_ones_count_nothing(new_client: NewClient) -> None:
    budget, failed = Budget(tokens=40), send(http(b"{}", "500 No"))
    with loopback(GOOD, failed, GOOD) as server:
        async with new_client(base_url=server.url, budget=budget) as llm:
            await llm.generate("Hi", max_output_tokens=16)
            with pytest.raises(InternalServerError):
                await llm.generate("Hi", max_output_tokens=16)
            for _ in range(2):
                await llm.generate("Hi", max_output_tokens=16)
            with pytest.raises(BudgetError, match="of 40 tokens does not allow a request that may take") as caught:
                await llm.generate("Hi", max_output_tokens=16)
    assert len(server.heads) == 4
    error = caught.value
    assert (error.limit_name, error.spent, error.reserved, error.limit) == ("tokens", 30, 0, 40)
    assert repr(budget) == "<Budget: spent 30 tokens of 40 tokens>"


async def test_dollars_are_counted_by_the_price_file(new_client: NewClient) -> None:
    budget = Budget(usd=0.0003)
    with loopback(GOOD) as server:
        async with new_client(base_url=server.url, budget=budget, prices=FILE) as llm:
            reply = await llm.generate("Hi", max_output_tokens=16)
            assert budget.spent() == reply.cost == 47_500
            with pytest.raises(BudgetError, match=r"one request may take \$0\.01\d*, more than the whole budget"):
                await llm.generate("Hi", max_output_tokens=1000)
            with pytest.raises(
                BudgetError, match=r"cannot count calls of openai/o1: it has no price in .*prices\.json"
            ):
                await llm.generate("Hi", model="openai/o1")
    assert len(server.heads) == 1


async def test_a_stream_counts_at_its_end_or_what_came_when_it_is_left(new_client: NewClient) -> None:
    budget = Budget(tokens=1000)
    with loopback(send(STREAM + chunks(*frames("a" * 40, "b")) + END)) as server:
        async with new_client(base_url=server.url, budget=budget) as llm:
            async with llm.stream("Hi", max_output_tokens=16) as stream:
                async for _ in stream:
                    assert budget.spent("tokens") == 0
            assert budget.spent("tokens") == 10
            async with llm.stream("Hi", max_output_tokens=16) as stream:
                assert await anext(stream.text) == "a" * 40
            assert 20 < budget.spent("tokens") < 40


async def test_seconds_count_from_the_first_call(new_client: NewClient) -> None:
    budget = Budget(seconds=0.3)
    with loopback(GOOD) as server:
        async with new_client(base_url=server.url, budget=budget) as llm:
            assert budget.spent("seconds") == 0
            await llm.generate("Hi")
            time.sleep(0.4)  # noqa: ASYNC251
            with pytest.raises(BudgetError, match=r"the budget of 0\.3 seconds is used up: .* have passed"):
                await llm.generate("Hi")


def test_runs_chats_and_calls_share_a_budget() -> None:
    budget, spent = Budget(tokens=100_000), [0.0]
    with Client("simulator/x") as llm:
        for work in (
            lambda: llm.generate("Hi", budget=budget),
            lambda: llm.run("Hi", budget=budget).result(),
            lambda: llm.chat(budget=budget).ask("Hi"),
            lambda: llm.with_options(budget=budget).generate_text("Hi"),
        ):
            work()
            spent.append(budget.spent("tokens"))
        with llm.chat(budget=budget).stream("Hi") as stream:
            list(stream)
        spent.append(budget.spent("tokens"))
        assert spent == sorted(set(spent))
        with pytest.raises(BudgetError, match="it has no price") as caught:
            llm.generate("Hi", budget=Budget(usd=1))
        assert caught.value.suggestions
