"""Typed output from end to end: every wire against the simulator, every way to ask, sync, asyncio and trio."""

from __future__ import annotations

import copy
import json
import pickle
import time
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import pytest
from pytest_httpx import HTTPXMock

from llm_rest import Timeouts
from llm_rest.client.options import settings_of, with_time_left
from llm_rest.errors import (
    BadRequestError,
    CallCancelledError,
    CapabilityError,
    ConfigError,
    LossError,
    OutputError,
    RefusalError,
    SchemaMismatchError,
    TruncatedError,
)
from llm_rest.responses import FunctionTool
from tests.callers import NewClient, answer, frames
from tests.laws.harness import every_wire

pytestmark = pytest.mark.anyio


class Person(msgspec.Struct):
    name: str
    born: Annotated[int, msgspec.Meta(ge=2)] = 3


ADA = '{"name":"Ada","born":1815}'
NEVER = {"type": "object", "properties": {"a": {"type": "string", "not": {"const": "a"}}}, "required": ["a"]}
"""What the simulated model never gets right."""

every_strategy = pytest.mark.parametrize("strategy", ["native", "tool", "instructions"])


def simulator(new_client: NewClient, wire: str, **options: Any) -> Any:
    return new_client("simulator/simulator", wire=wire, **options)


def script(strategy: str, text: str = ADA) -> str:
    """What makes the simulated model give this answer."""
    return f"call answer {text}" if strategy == "tool" else f"say {text}"


def notes(reply: Any) -> list[tuple[str, str]]:
    return [(loss.path, loss.kind) for loss in reply.info.losses]


@every_wire
@every_strategy
async def test_the_reply_looks_the_same_with_every_strategy(name: str, strategy: Any, new_client: NewClient) -> None:
    async with simulator(new_client, name) as llm:
        assert await llm.generate_json(script(strategy), Person, strategy=strategy) == Person("Ada", 1815)
        reply = await llm.generate(script(strategy), output=Person, strategy=strategy)
    assert (reply.parsed, reply.output_text, reply.stop_reason) == (Person("Ada", 1815), ADA, "stop")
    assert reply.info.metadata["api_calls"] == "1"
    assert (("text.format", "emulated") in notes(reply)) == (strategy != "native")
    assert pickle.loads(pickle.dumps(reply)).parsed == copy.copy(reply).parsed == reply.parsed


@every_wire
@every_strategy
async def test_the_reply_can_be_sent_back(name: str, strategy: Any, new_client: NewClient) -> None:
    async with simulator(new_client, name, on_loss="ignore") as llm:
        question = {"role": "user", "content": script(strategy)}
        reply = await llm.generate(question, output=Person, strategy=strategy)
        reply = await llm.generate([question, *reply.output, {"role": "user", "content": "say Yes."}])
    assert (reply.output_text, notes(reply)) == ("Yes.", [])


@every_wire
@every_strategy
async def test_a_stream_shows_the_value_as_it_grows(name: str, strategy: Any, new_client: NewClient) -> None:
    asked = f"pieces 3\n{script(strategy)}"
    async with simulator(new_client, name) as llm, llm.stream_json(asked, Person, strategy=strategy) as stream:
        steps = [step async for step in stream]
        assert stream.value == stream.response.parsed == Person("Ada", 1815)
    assert stream.response.output_text == ADA
    assert len({json.dumps(step) for step in steps}) == len(steps), "no step is handed out twice"
    whole = strategy == "tool" and name in ("ollama_chat", "gemini_generate_content")  # where arguments come whole
    assert (len(steps) > 1) is not whole
    assert steps[-1] == {"name": "Ada", "born": 1815}


# --- what goes wrong ------------------------------------------------------------------------------------------------


@every_wire
@pytest.mark.parametrize("strategy", ["native", "instructions"])
@pytest.mark.parametrize("wrong", ['{"name": 3}', "I would rather not.", '{"name":"Ada","born":1}', '{"name":"Ada",}'])
async def test_an_answer_that_does_not_fit_is_re_prompted(
    name: str, strategy: Any, wrong: str, new_client: NewClient
) -> None:
    async with simulator(new_client, name) as llm:
        asked = f"say {wrong}"
        if strategy == "native":
            reply = await llm.generate(asked, output=Person)
            assert isinstance(reply.parsed, Person)
            assert reply.info.metadata["api_calls"] == "2"
            assert len(reply.info.attempts) == 2
            assert ("output_text", "changed") in notes(reply)
        with pytest.raises(SchemaMismatchError) as caught:
            await llm.generate_json(asked, Person, strategy=strategy, max_repairs=0)
    assert caught.value.raw == wrong
    assert caught.value.partial.output_text == wrong
    assert caught.value.problems


async def test_the_feedback_is_a_numbered_list_after_the_answer(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(json=answer('{"born": 1}'))
    httpx_mock.add_response(json=answer('{"name": "Ada", "born": null}'))
    async with new_client() as llm:
        reply = await llm.generate("Who?", output=Person)
    first, second = (json.loads(request.content) for request in httpx_mock.get_requests())
    assert {**first, "input": None} == {**second, "input": None}
    question, said, feedback = second["input"]
    assert (question["content"], said["content"][0]["text"]) == ("Who?", '{"born": 1}')
    assert feedback["content"].splitlines()[1:3] == [
        "1. $.name: missing, and required",
        "2. $.born: expected at least 2, got 1",
    ]
    assert reply.parsed == Person("Ada", 3)
    assert reply.info.metadata["input_tokens"] == "14"
    assert first["text"]["format"]["strict"] is True
    assert first["text"]["format"]["schema"]["required"] == ["name", "born"]


async def test_the_feedback_on_a_call_is_its_output(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    for arguments in ('{"name": 1}', ADA):
        call = {"type": "function_call", "call_id": "call_1", "name": "answer", "arguments": arguments}
        httpx_mock.add_response(json={**answer(), "output": [call]})
    async with new_client() as llm:
        assert await llm.generate_json("Who?", Person, strategy="tool") == Person("Ada", 1815)
    second = json.loads(httpx_mock.get_requests()[1].content)
    assert [item["type"] for item in second["input"]] == ["message", "function_call", "function_call_output"]
    assert "1. $.name: expected a string, got 1" in second["input"][2]["output"]
    assert second["tool_choice"] == {"type": "function", "name": "answer"}


@pytest.mark.parametrize("repairs", [0, 1, 3])
async def test_repairs_are_bounded_and_counted(repairs: int, new_client: NewClient) -> None:
    async with simulator(new_client, "openai_responses") as llm:
        with pytest.raises(SchemaMismatchError, match=r"\$\.a: .* is not allowed here") as caught:
            await llm.generate_json("Something", NEVER, max_repairs=repairs)
    error = caught.value
    assert error.partial.info.metadata["api_calls"] == str(repairs + 1)
    assert len(error.attempts) == repairs + 1
    assert (error.vendor, error.raw) == ("simulator", '{"a":"a"}')


def test_the_time_for_a_call_is_shared_by_its_repairs() -> None:
    def left(spent: float, **options: Any) -> Any:
        return with_time_left(settings_of(options), time.monotonic() - spent).timeouts.total

    assert 2 < left(2, timeout=5) <= 3
    assert left(7, timeout=5) == 0.001
    assert left(7, timeout=Timeouts(total="none")) == "none"
    assert 500 < left(7) <= 593  # the time of a call by default


@pytest.mark.parametrize("wire", ["openai_responses", "openai_chat", "anthropic_messages"])
async def test_a_refusal_is_an_error_of_its_own_and_never_repaired(wire: str, new_client: NewClient) -> None:
    async with simulator(new_client, wire) as llm:
        with pytest.raises(RefusalError, match="refused: No") as caught:
            await llm.generate_json("refuse No.", Person)
        assert caught.value.partial.info.metadata["api_calls"] == "1"
        async with llm.stream_json("refuse No.", Person) as partials:
            with pytest.raises(RefusalError):
                assert [partial async for partial in partials] == "never"


@every_wire
@every_strategy
async def test_a_truncated_answer_is_an_error_of_its_own_and_never_repaired(
    name: str, strategy: Any, new_client: NewClient
) -> None:
    cut = f"{script(strategy)}\nlength"
    async with simulator(new_client, name) as llm:
        with pytest.raises(TruncatedError) as caught:
            await llm.generate_json(cut, Person, strategy=strategy)
        assert isinstance(caught.value, OutputError)
        assert "Ada" in caught.value.raw
        assert caught.value.partial.info.metadata["api_calls"] == "1"
        async with llm.stream_json(cut, Person, strategy=strategy) as partials:
            with pytest.raises(TruncatedError):
                assert [partial async for partial in partials] == "never"


async def test_a_stream_is_not_repaired_and_says_what_is_wrong(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(content=b"".join(frames('{"name"', ": 3}")))
    async with new_client() as llm, llm.stream_json("Who?", Person) as partials:
        with pytest.raises(ConfigError, match="end"):
            _ = partials.value
        with pytest.raises(SchemaMismatchError, match=r"\$\.name"):
            assert [partial async for partial in partials] == "never"
        with pytest.raises(SchemaMismatchError):
            _ = partials.value
        assert partials.response.output_text == '{"name": 3}'
    assert len(httpx_mock.get_requests()) == 1


# --- streamed lists -------------------------------------------------------------------------------------------------

PEOPLE = [Person("Ada", 1815), Person("Grace \u00e9", 1906), Person("Barbara")]
WRAPPED = '{"value":[{"name":"Ada","born":1815},{"name":"Grace \\u00e9","born":1906},{"name":"Barbara"}]}'


@pytest.mark.sample(2)
@every_wire
@every_strategy
@pytest.mark.parametrize("type", [list[Person], Sequence[Person], tuple[Person, ...]])
async def test_a_list_streams_element_by_element(name: str, strategy: Any, type: Any, new_client: NewClient) -> None:
    asked = f"pieces 7\n{script(strategy, WRAPPED)}"
    async with simulator(new_client, name) as llm:
        async with llm.stream_json(asked, type, strategy=strategy) as stream:
            elements = [element async for element in stream.elements()]
            assert [element async for element in stream.elements()] == elements
        assert elements == PEOPLE
        assert stream.value == await llm.generate_json(asked, type, strategy=strategy)
        assert [*stream.value] == elements
        assert stream.response.parsed == stream.value


async def test_an_element_is_there_as_soon_as_all_of_it_came(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(content=b"".join(frames('{"value": [', "1", "2, 3", ", ", "4", "]}")))
    async with new_client() as llm, llm.stream_json("Count", list[int]) as stream:
        seen = [(n, stream.response.output_text) async for n in stream.elements()]
    assert seen == [
        (12, '{"value": [12, 3'),
        (3, '{"value": [12, 3, '),
        (4, '{"value": [12, 3, 4]}'),
    ]


async def test_snapshots_and_elements_may_be_mixed(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(content=b"".join(frames('{"value": [1', ", 2, ", "3]}")))
    async with new_client() as llm, llm.stream_json("Count", list[int]) as stream:
        snapshots = stream.__aiter__()
        assert await anext(snapshots) == []
        assert await anext(snapshots) == [1, 2]
        elements = stream.elements()
        assert [await anext(elements) for _ in range(3)] == [1, 2, 3]
        assert [snapshot async for snapshot in snapshots] == [[1, 2, 3]]
        assert stream.value == [1, 2, 3]


@pytest.mark.parametrize(
    "text",
    ["[1, 2]", 'Here [they] are:\n```json\n{"value": [1, 2]}\n```', 'Of [0, "x"] these: {"value": [1, 2]}'],
)
async def test_elements_come_at_the_end_where_they_stand_among_prose(
    text: str, new_client: NewClient, httpx_mock: HTTPXMock
) -> None:
    httpx_mock.add_response(content=b"".join(frames(text[:10], text[10:])))
    async with (
        new_client() as llm,
        llm.stream_json("Count", Annotated[list[int], msgspec.Meta(min_length=2)]) as stream,
    ):
        if text.startswith("Of"):
            with pytest.raises(SchemaMismatchError, match="handed out"):
                assert [element async for element in stream.elements()] == "never"
        else:
            assert [element async for element in stream.elements()] == [1, 2]
        assert stream.value == [1, 2]


async def test_elements_of_a_schema_are_plain_data(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(content=b"".join(frames('{"value": [{"a": 1}, {"a"', ": 2}]}")))
    schema = {"type": "array", "items": {"$ref": "#/$defs/A"}, "$defs": {"A": {"type": "object"}}, "minItems": 2}
    async with new_client() as llm, llm.stream_json("Count", schema) as stream:
        assert [element async for element in stream.elements()] == [{"a": 1}, {"a": 2}] == stream.value


async def test_an_element_that_does_not_fit_ends_the_elements_with_an_error(
    new_client: NewClient, httpx_mock: HTTPXMock
) -> None:
    text = '{"value": [{"name": "Ada"}, {"name": 3}, {"name": "Eve"}]}'
    httpx_mock.add_response(content=b"".join(frames(text[:40], text[40:])))
    async with new_client() as llm, llm.stream_json("Who?", list[Person]) as stream:
        elements = stream.elements()
        assert await anext(elements) == Person("Ada")
        with pytest.raises(SchemaMismatchError, match=r"\[1\]\.name") as caught:
            await anext(elements)
    assert (caught.value.raw, caught.value.partial.output_text) == (text, text)


@pytest.mark.parametrize(
    "type", [Person, dict[str, int], tuple[int, str], list[int] | None, set[int], {"type": "object"}]
)
async def test_only_a_list_has_elements(type: Any, new_client: NewClient) -> None:
    async with new_client() as llm:
        with pytest.raises(ConfigError, match="needs a list"):
            llm.stream_json("Who?", type).elements()


async def test_a_stream_that_was_cancelled_has_no_value_and_says_why(new_client: NewClient) -> None:
    async with simulator(new_client, "openai_responses") as llm:
        async with llm.stream_json(f"pieces 4\nsay {WRAPPED}", list[Person]) as stream:
            elements = stream.elements()
            assert await anext(elements) == PEOPLE[0]
            await llm.cancel()
            with pytest.raises(CallCancelledError):
                assert [element async for element in elements] == "never"


# --- which way ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "form", "options", "way"),
    [
        ("openai/gpt-5", Person, {}, "native"),
        ("anthropic/claude-haiku-4-5", Person, {}, "native"),
        ("anthropic/claude-haiku-4-5", dict[str, int], {}, "tool"),
        # A model that thinks cannot be forced to call a tool.
        ("anthropic/claude-haiku-4-5", dict[str, int], {"reasoning": {"effort": "high"}}, "instructions"),
        ("anthropic/claude-3-5-sonnet", Person, {}, "tool"),
        ("google/gemini-2.5-flash", Person, {}, "native"),
        ("ollama/llama3", Person, {}, "native"),
        ("deepseek/deepseek-chat", Person, {}, "tool"),
    ],
)
async def test_the_best_strategy_of_model_wire_and_type_is_taken(
    model: str, form: Any, options: Any, way: str, new_client: NewClient, httpx_mock: HTTPXMock
) -> None:
    httpx_mock.add_response(status_code=400, json={})
    async with new_client(model, on_loss="ignore") as llm:
        with pytest.raises(Exception, match="400"):
            await llm.generate_json("Who?", form, **options)
    body = json.loads(httpx_mock.get_requests()[0].content)
    assert ("tools" in body) == (way == "tool")
    assert ("It has to fit this JSON Schema" in str(body)) == (way == "instructions")


async def test_a_strategy_that_the_model_is_known_not_to_have_is_refused(
    new_client: NewClient, httpx_mock: HTTPXMock
) -> None:
    httpx_mock.add_response(status_code=400, json={})
    async with new_client("anthropic/claude-3-5-sonnet", on_loss="ignore") as llm:
        with pytest.raises(CapabilityError, match="JSON schema"):
            await llm.generate_json("Who?", Person, strategy="native")
        with pytest.raises(BadRequestError):
            await llm.generate_json("Who?", Person, strategy="native", invalid_options="send")
    assert "output_config" in json.loads(httpx_mock.get_requests()[0].content)


@every_wire
async def test_a_loss_that_the_validation_recovers_is_recorded_and_raises_nothing(
    name: str, new_client: NewClient
) -> None:
    async with simulator(new_client, name, on_loss="raise") as llm:
        lengthy = {"type": "object", "properties": {"a": {"type": "string", "minLength": 1}}, "required": ["a"]}
        reply = await llm.generate("Who?", output=lengthy)
    assert reply.parsed == {"a": "a"}
    changed = [path for path, _ in notes(reply) if path.endswith("minLength")]
    assert len(changed) == (name in ("openai_responses", "openai_chat", "anthropic_messages"))


async def test_other_losses_still_raise(new_client: NewClient) -> None:
    async with simulator(new_client, "anthropic_messages", on_loss="raise") as llm:
        with pytest.raises(LossError, match="seed"):
            await llm.generate_json("Who?", Person, seed=1)


# --- with tools -----------------------------------------------------------------------------------------------------

WEATHER = FunctionTool(name="answer", parameters={"type": "object", "properties": {}}, strict=False)


@every_wire
@pytest.mark.parametrize("strategy", [None, "tool"])
async def test_a_call_of_another_tool_comes_first(name: str, strategy: Any, new_client: NewClient) -> None:
    options = {"tools": [WEATHER], "strategy": strategy, "on_loss": "ignore"}
    async with simulator(new_client, name) as llm:
        reply = await llm.generate("call answer {}", output=Person, **options)
        assert (reply.parsed, [call.name for call in reply.function_calls]) == (None, ["answer"])
        with pytest.raises(OutputError, match="the model calls answer first"):
            await llm.generate_json("call answer {}", Person, **options)
        reply = await llm.generate("call final_answer {}", output=dict[str, int], **{**options, "strategy": "tool"})
        assert (reply.parsed, reply.function_calls) == ({}, [])


async def test_options_are_checked(new_client: NewClient) -> None:
    async with simulator(new_client, "openai_responses") as llm:
        for wrong in ({"strategy": "magic"}, {"max_repairs": -1}, {"background": True}):
            with pytest.raises(ConfigError):
                await llm.generate_json("Who?", Person, **wrong)
        with pytest.raises(ConfigError, match="no option output"):
            llm.stream("Who?", output=Person)
