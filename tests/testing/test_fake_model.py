"""`FakeModel`: what a script may hold, on every wire, whole and streamed, for sync and async callers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from llm_rest import (
    AuthenticationError,
    ConfigError,
    ConnectError,
    LLMError,
    OverloadedError,
    RateLimitError,
    RetryPolicy,
    wires,
)
from llm_rest.testing import Broken, FakeModel, Refusal, Streamed, Thinking, ToolCall

SOON = RetryPolicy(attempts=2, base_delay=0.0)


class City(msgspec.Struct):
    name: str


@dataclass
class Land:
    name: str


@pytest.mark.parametrize("wire", wires.NAMES)
@pytest.mark.parametrize(
    ("entry", "text", "calls"),
    [
        ("Hello", "Hello", []),
        (City("Oslo"), '{"name":"Oslo"}', []),
        (Land("Norge"), '{"name":"Norge"}', []),
        ({"a": [1]}, '{"a":[1]}', []),
        (ToolCall("f", {"x": 1}), "", [("f", '{"x": 1}')]),
        (["Wait.", ToolCall("f"), ToolCall("g", '{"broken')], "Wait.", [("f", "{}"), ("g", '{"broken')]),
        ([Thinking("hm"), "So."], "So.", []),
        (Streamed("Hello", size=2), "Hello", []),
        (lambda request: request.model, "model", []),
    ],
    ids=repr,
)
def test_an_answer_arrives_whole_and_streamed(wire: str, entry: Any, text: str, calls: list[tuple[str, str]]) -> None:
    if wire not in ("openai_responses", "openai_chat") and any("broken" in arguments for _, arguments in calls):
        pytest.skip("arguments are JSON objects on that wire")
    with FakeModel([entry, entry]) as model, model.client(wire=wire, on_loss="ignore") as llm:
        whole = llm.generate("hi")
        with llm.stream("hi") as events:
            streamed = "".join(events.text)
        for reply in (whole, events.response):
            assert reply.output_text == text
            assert [
                (call.name, call.arguments if "broken" in call.arguments else msgspec.json.decode(call.arguments))
                for call in reply.function_calls
            ] == [(name, one if "broken" in one else msgspec.json.decode(one)) for name, one in calls]
        assert streamed == text
        assert len(model.requests) == 2


def test_a_refusal_and_a_limit() -> None:
    with FakeModel([Refusal("No."), ["Half", Broken()]]) as model, model.client() as llm:
        assert llm.generate("hi").refusal == "No."
        assert llm.generate("hi").status == "incomplete"


@pytest.mark.parametrize("error", [RateLimitError("slow"), AuthenticationError("no"), ConnectError("gone")])
def test_an_error_is_raised_as_it_is_and_retried_as_any_other(error: LLMError) -> None:
    with FakeModel([error, "then"]) as model, model.client(retry=SOON) as llm:
        if error.retryable:
            assert llm.generate("hi").output_text == "then"
            return
        with pytest.raises(type(error)) as raised:
            llm.generate("hi")
        assert raised.value is error
        assert model.unused == 1
        llm.generate("again")


def test_what_breaks_nowhere_is_refused() -> None:
    with pytest.raises(ConfigError, match="Broken: at is limit or connection, not 'limits'"):
        Broken(at="limits")


def test_a_stream_breaks_with_an_error_after_its_text() -> None:
    script = [Streamed("Hello", error=OverloadedError("busy")), ["Half", Broken("connection")]]
    with FakeModel(script) as model, model.client(retry=1) as llm:
        for kind in (OverloadedError, LLMError):
            seen: list[str] = []
            with llm.stream("hi") as events, pytest.raises(kind):
                seen.extend(events.text)
            assert "".join(seen) in ("Hello", "Half")


def test_the_script_is_strict_about_its_ends() -> None:
    with pytest.raises(
        AssertionError,
        match=r"2 of 3 answers of the fake model made at .*test_fake_model.py:\d+ were not used: 'b', ToolCall",
    ):
        with FakeModel(["a", "b", ToolCall("f")]) as model:
            model.client().generate("hi")
    with FakeModel(["a"]) as model:
        model.client().generate("hi")
        with pytest.raises(
            ConfigError, match=r"made at .*test_fake_model.py:\d+ has no answer for request 2: its script has 1"
        ):
            model.client().generate("hi")
    with pytest.raises(ConfigError, match="cannot answer with <object"):
        FakeModel([object()]).client().generate("hi")


def test_the_requests_are_recorded_as_the_vendor_would_read_them() -> None:
    with FakeModel("ok") as model, model.client("anthropic/claude-haiku-4-5") as llm:
        llm.generate("hi", instructions="Be brief.", temperature=0.5)
    (request,) = model.requests
    assert (request.model, request.instructions, request.temperature) == ("claude-haiku-4-5", "Be brief.", 0.5)


def test_a_run_with_tools_needs_two_entries() -> None:
    def weather(city: str) -> str:
        return f"rain in {city}"

    with FakeModel([ToolCall("weather", {"city": "Oslo"}), "It rains."]) as model, model.client() as llm:
        assert llm.run("hi", tools=[weather]).result().output_text == "It rains."
    assert "rain in Oslo" in str(model.requests[1].input)


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
@pytest.mark.anyio
async def test_async_clients_too() -> None:
    with FakeModel([City("Oslo"), Streamed("Hello", delay=0.001)]) as model:
        async with model.async_client() as llm:
            assert (await llm.generate("hi", output=City)).parsed == City("Oslo")
            async with llm.stream("hi") as events:
                assert "".join([piece async for piece in events.text]) == "Hello"
