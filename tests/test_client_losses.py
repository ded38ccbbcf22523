"""What a client does about losses: warned once per line, raised, or silent; and what is refused in any case."""

from __future__ import annotations

import warnings
from typing import Any

import anyio
import pytest
from pytest_httpx import HTTPXMock

from llm_rest.client.client import AsyncClient, Client
from llm_rest.client.events import StreamReader
from llm_rest.errors import LossError
from llm_rest.losses import Loss, LossWarning
from llm_rest.responses import Message, Reasoning, ResponseCompleted
from llm_rest.responses.carriers import seal
from tests.callers import NewClient, answer

pytestmark = pytest.mark.anyio

KEY = "sk-test-0123456789"
DROPPED = Loss("seed", "the host has no such option", "dropped")


@pytest.fixture(autouse=True)
def answers(httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(json=answer(), is_reusable=True, is_optional=True)


async def test_losses_are_in_the_info_or_raised_before_a_request(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    async with new_client(on_loss="raise") as llm:
        with pytest.raises(LossError, match="seed: the host has no such option") as caught:
            await llm.generate("Hi", seed=1)
        assert caught.value.losses == (DROPPED,)
        assert httpx_mock.get_requests() == []
        assert (await llm.generate("Hi", seed=1, on_loss="ignore")).info.losses == [DROPPED]


every_policy = pytest.mark.parametrize("policy", ["warn", "raise", "ignore"])


@every_policy
async def test_what_is_refused_always_raises(new_client: NewClient, httpx_mock: HTTPXMock, policy: str) -> None:
    tool = {"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": False}
    async with new_client(on_loss=policy) as llm:
        with pytest.raises(LossError, match="a second tool named f"):
            await llm.generate("Hi", tools=[tool, tool])
    assert httpx_mock.get_requests() == []


@every_policy
async def test_withheld_state_is_recorded_and_never_reported(new_client: NewClient, policy: str) -> None:
    """BUGS 4."""
    foreign = Reasoning(summary=[], encrypted_content=seal("openai_responses", "somebody", {"encrypted_content": "x"}))
    async with new_client(on_loss=policy) as llm:
        reply = await llm.generate([foreign, Message(role="user", content="Hi")])
    assert [loss.kind for loss in reply.info.losses] == ["withheld"]


def test_a_warning_points_to_the_line_of_a_sync_caller() -> None:
    def calls(llm: Client) -> None:
        llm.generate("Hi", seed=1)
        llm.generate_text("Hi", seed=1)
        llm.try_generate("Hi", seed=1)

    with Client("openai/gpt-4o", api_key=KEY) as llm, pytest.warns(LossWarning, match="seed") as caught:
        calls(llm)
    assert {warning.filename for warning in caught} == {__file__}
    lines = [warning.lineno for warning in caught]
    assert [line - lines[0] for line in lines] == [0, 1, 2]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_warning_points_to_the_line_of_an_async_caller_in_tasks_too(backend: str) -> None:
    async def main() -> None:
        async with AsyncClient("openai/gpt-4o", api_key=KEY) as llm, anyio.create_task_group() as tasks:

            async def keep(work: Any) -> None:
                await work

            await llm.generate("Hi", seed=1)
            tasks.start_soon(keep, llm.generate("Hi", seed=1))

    with pytest.warns(LossWarning, match="seed") as caught:
        anyio.run(main, backend=backend)
    assert {warning.filename for warning in caught} == {__file__}
    assert caught[1].lineno == caught[0].lineno + 1


def test_a_line_warns_once_even_where_positions_move() -> None:
    with warnings.catch_warnings(record=True) as caught, Client("openai/gpt-4o", api_key=KEY) as llm:
        warnings.simplefilter("default")
        history: list[Any] = []
        for turn in range(3):
            item = {"type": "function_call_output", "call_id": f"c{turn}", "output": "x", "is_error": True}
            call = {"type": "function_call", "call_id": f"c{turn}", "name": "f", "arguments": "{}"}
            history += [call, item]
            llm.generate([*history], seed=1)
    assert len(caught) == 1


async def test_a_filter_that_makes_errors_stops_the_request(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    async with new_client() as llm:
        with pytest.raises(LossWarning):
            await llm.generate("Hi", seed=1)
    assert httpx_mock.get_requests() == []


# --- streams ----------------------------------------------------------------------------------------------------------


async def test_losses_of_a_streamed_request_are_reported_before_it_is_sent(
    new_client: NewClient, httpx_mock: HTTPXMock
) -> None:
    async with new_client() as llm:
        with pytest.raises(LossError, match="seed"):
            llm.stream("Hi", seed=1, on_loss="raise")
        assert httpx_mock.get_requests() == []
        with pytest.warns(LossWarning, match="seed") as warned:
            stream = llm.stream("Hi", seed=1)
        assert [event async for event in stream]
    assert warned[0].filename == __file__ or llm.__class__.__name__ == "Awaited"
    assert [loss.path for loss in stream.response.info.losses] == ["seed"]


@every_policy
async def test_losses_of_a_stream_are_reported_at_its_end(
    new_client: NewClient, httpx_mock: HTTPXMock, monkeypatch: pytest.MonkeyPatch, policy: Any
) -> None:
    monkeypatch.setattr(StreamReader, "losses", [Loss("output[0]", "half of it", "dropped")])
    async with new_client(on_loss=policy) as llm, llm.stream("Hi") as stream:
        async for event in stream:
            if isinstance(event, ResponseCompleted):
                break
        rest = anext(aiter(stream), None)
        if policy == "warn":
            with pytest.warns(LossWarning, match="half of it"):
                assert await rest is None
        elif policy == "raise":
            with pytest.raises(LossError, match="half of it") as caught:
                await rest
            assert caught.value.partial.output_text == "Hello"
        else:
            assert await rest is None
    assert [loss.what for loss in stream.response.info.losses] == ["half of it"]
