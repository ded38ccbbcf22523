"""`FakeModel`: what a script may hold, on every wire, whole and streamed, for sync and async callers."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from llm_rest import RetryPolicy, errors, wires
from llm_rest.testing import Broken, FakeModel, Refusal, Streamed, Thinking, ToolCall

SOON = RetryPolicy(attempts=2, base_delay=0.0)


class City(msgspec.Struct):
    name: str


@dataclass
class Land:
    name: str


ANSWERS: list[tuple[Any, str, list[tuple[str, Any]]]] = [
    ("Hello", "Hello", []),
    (City("Oslo"), '{"name":"Oslo"}', []),
    (Land("Norge"), '{"name":"Norge"}', []),
    ({"a": [1]}, '{"a":[1]}', []),
    (ToolCall("f", {"x": 1}), "", [("f", {"x": 1})]),
    (["Wait.", ToolCall("f"), ToolCall("g", {"y": 2})], "Wait.", [("f", {}), ("g", {"y": 2})]),
    ([Thinking("hm"), "So."], "So.", []),
    (Streamed("Hello", size=2), "Hello", []),
    (["Half", Broken()], "Half", []),
    (lambda request: request.model, "model", []),
]


@pytest.mark.parametrize("wire", wires.NAMES)
@pytest.mark.parametrize(("entry", "text", "calls"), ANSWERS, ids=repr)
def test_an_answer_arrives_whole_and_streamed(wire: str, entry: Any, text: str, calls: list[tuple[str, Any]]) -> None:
    with FakeModel([entry, entry]) as model, model.client(wire=wire, on_loss="ignore") as llm:
        whole = llm.generate("hi")
        with llm.stream("hi") as events:
            assert "".join(events.text) == text
        for reply in (whole, events.response):
            assert reply.output_text == text
            assert [(call.name, msgspec.json.decode(call.arguments)) for call in reply.function_calls] == calls
            assert reply.status == ("incomplete" if text == "Half" else "completed")
        assert len(model.requests) == 2


@pytest.mark.parametrize("wire", ["openai_responses", "openai_chat"])
def test_a_refusal_and_broken_arguments_arrive_where_the_wire_has_them(wire: str) -> None:
    with FakeModel([Refusal("No."), ToolCall("g", '{"broken')]) as model, model.client(wire=wire) as llm:
        assert llm.generate("hi").refusal == "No."
        assert llm.generate("hi").function_calls[0].arguments == '{"broken'


@pytest.mark.parametrize(
    "error", [errors.RateLimitError("slow"), errors.AuthenticationError("no"), errors.ConnectError("gone")]
)
def test_an_error_is_raised_as_it_is_and_retried_as_any_other(error: errors.LLMError) -> None:
    with FakeModel([error, "then"]) as model, model.client(retry=SOON) as llm:
        if error.retryable:
            assert llm.generate("hi").output_text == "then"
            return
        with pytest.raises(type(error)) as raised:
            llm.generate("hi")
        assert raised.value is error
        assert model.unused == 1
        llm.generate("again")


def test_a_stream_breaks_with_an_error_after_its_text() -> None:
    script = [Streamed("Hello", error=errors.OverloadedError("busy")), ["Half", Broken("connection")]]
    with FakeModel(script) as model, model.client(retry=1) as llm:
        for kind, text in ((errors.OverloadedError, "Hello"), (errors.StreamInterruptedError, "Half")):
            with llm.stream("hi") as events, pytest.raises(kind) as caught:
                list(events)
            assert caught.value.partial.output_text == text


def test_a_run_keeps_its_model_without_another_reference() -> None:
    run = FakeModel(["Hello"]).client().run("hi", [])
    gc.collect()
    assert run.result().output_text == "Hello"


def test_the_script_is_strict_about_its_ends() -> None:
    unused = r"2 of 3 answers of the fake model made at .*test_fake_model.py:\d+ were not used: 'b', ToolCall"
    with pytest.raises(AssertionError, match=unused):
        with FakeModel(["a", "b", ToolCall("f")]) as model:
            model.client().generate("hi")
    with FakeModel(["a"]) as model:
        model.client().generate("hi")
        too_many = r"made at .*test_fake_model.py:\d+ has no answer for request 2: its script has 1"
        with pytest.raises(errors.ConfigError, match=too_many):
            model.client().generate("hi")
    with pytest.raises(errors.ConfigError, match="cannot answer with <object"):
        FakeModel([object()]).client().generate("hi")
    with pytest.raises(errors.ConfigError, match="Broken: at is limit or connection, not 'limits'"):
        Broken(at="limits")


def test_a_run_with_tools_needs_two_entries_and_its_requests_are_recorded() -> None:
    def weather(city: str) -> str:
        return f"rain in {city}"

    script = [ToolCall("weather", {"city": "Oslo"}), "It rains."]
    with FakeModel(script) as model, model.client("anthropic/claude-haiku-4-5") as llm:
        found = llm.run("hi", tools=[weather], instructions="Be brief.", temperature=0.5).result()
    assert found.output_text == "It rains."
    first, second = model.requests
    assert (first.model, first.instructions, first.temperature) == ("claude-haiku-4-5", "Be brief.", 0.5)
    assert "rain in Oslo" in str(second.input)


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
@pytest.mark.anyio
async def test_async_clients_get_typed_output_and_streams() -> None:
    with FakeModel([City("Oslo"), Streamed("Hello", delay=0.001)]) as model:
        async with model.async_client() as llm:
            assert (await llm.generate("hi", output=City)).parsed == City("Oslo")
            async with llm.stream("hi") as events:
                assert "".join([piece async for piece in events.text]) == "Hello"
