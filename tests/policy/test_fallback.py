"""`Fallback`: which model answers, for every method, wire and kind of client, and what the reply and the error tell of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import pytest

from llm_rest import Client, ClientCallStart, Fallback, FallbackModel, Reply, Timeouts, errors, wires
from llm_rest.testing import Broken, FakeModel, Streamed, Thinking, ToolCall
from tests.callers import NewClient
from tests.conversation.support import done

pytestmark = pytest.mark.anyio

ANY: Callable[[Any], Any] = lambda value: value  # noqa: E731 - hides a type from the checkers


class Pair:
    """Two fake models behind one fallback, and its clock."""

    def __init__(self, first: Sequence[Any], second: Sequence[Any], wire: str | None = None, **options: Any) -> None:
        self.first, self.second, self.now = FakeModel(first), FakeModel(second), 1000.0
        self.models = [
            FallbackModel("a/one", vendor=self.first.vendor("a"), wire=wire),
            FallbackModel("b/two", vendor=self.second.vendor("b"), max_output_tokens=50),
        ]
        self.fallback = Fallback(self.models, clock=lambda: self.now, **options)

    @property
    def requests(self) -> tuple[int, int]:
        return len(self.first.requests), len(self.second.requests)


async def streamed(llm: Any) -> Reply:
    async with llm.stream("hi") as stream:
        async for _ in stream:
            pass
    return stream.response


async def chatted(llm: Any) -> Reply:
    return await done((await done(llm.chat())).ask("hi"))


METHODS: dict[str, Callable[[Any], Any]] = {
    "generate": lambda llm: llm.generate("hi"),
    "generate_text": lambda llm: llm.generate_text("hi"),
    "try_generate": lambda llm: llm.try_generate("hi"),
    "generate_json": lambda llm: llm.generate_json("hi", int),
    "output": lambda llm: llm.generate("hi", output=int),
    "stream": streamed,
    "run": lambda llm: llm.generate_with_tools("hi", []),
    "chat": chatted,
}


@pytest.mark.parametrize("method", METHODS)
async def test_another_model_answers(method: str, new_client: NewClient) -> None:
    pair = Pair([errors.OverloadedError("busy")], ["5"])
    async with new_client(pair.fallback, api_key=None) as llm:
        found = await METHODS[method](llm)
    if method in ("generate_text", "generate_json"):
        assert found == ("5" if method == "generate_text" else 5)
    else:
        assert found.output_text == "5"
        assert [(one.vendor, one.model, one.outcome) for one in found.info.attempts] == [
            ("a", "one", "overloaded"),
            ("b", "two", "200"),
        ]
        assert found.info.metadata["provider"] == "b"
    assert pair.requests == (1, 1)
    assert pair.second.requests[0].max_output_tokens == 50


@pytest.mark.parametrize("wire", wires.NAMES)
async def test_a_stream_goes_elsewhere_before_its_first_event(wire: str, new_client: NewClient) -> None:
    pair = Pair([Streamed("", error=errors.ConnectError("reset"))], ["Hello"], wire=wire)
    async with new_client(pair.fallback, api_key=None) as llm:
        assert (await streamed(llm)).output_text == "Hello"


async def test_a_stream_that_was_handed_out_stays_with_its_model(new_client: NewClient) -> None:
    pair = Pair([["Hello", Broken("connection")]], [])
    async with new_client(pair.fallback, api_key=None) as llm:
        with pytest.raises(errors.LLMError) as caught:
            await streamed(llm)
    assert (caught.value.kind, caught.value.partial.output_text) == ("stream_interrupted", "Hello")


@pytest.mark.parametrize("method", ["generate", "stream", "generate_json"])
async def test_the_calls_of_one_fallback_are_joined_by_their_events(method: str, new_client: NewClient) -> None:
    pair, heard = Pair([errors.OverloadedError("busy"), "4"], ["5", "6"]), list[Any]()
    async with new_client(pair.fallback, api_key=None, on_event=heard.append, retry=1) as llm:
        await METHODS[method](llm)
        pair.now += 60
        await METHODS[method](llm)
    starts = [event for event in heard if isinstance(event, ClientCallStart)]
    assert [(one.model, one.fallback_of) for one in starts] == [("one", None), ("two", starts[0].call), ("one", None)]


ERRORS: list[tuple[errors.LLMError, bool, bool]] = [
    (errors.ConnectError("refused"), True, True),
    (errors.APITimeoutError("slow", phase="read"), True, True),
    (errors.RateLimitError("slow down"), True, True),
    (errors.QuotaError("no credit"), True, True),
    (errors.MalformedResponseError("html"), True, True),
    (errors.ContextLengthError("too long"), True, False),
    (errors.AuthenticationError("key"), False, False),
    (errors.BadRequestError("no"), False, False),
    (errors.UnprocessableEntityError("no"), False, False),
    (errors.LossError("no"), False, False),
    (errors.ConfigError("no"), False, False),
]


@pytest.mark.parametrize(("error", "goes_on", "pauses"), ERRORS, ids=lambda value: getattr(value, "kind", ""))
def test_which_errors_lead_to_the_next_model(error: errors.LLMError, goes_on: bool, pauses: bool) -> None:
    pair = Pair([copy(error), "first"], ["second", "second"])
    llm = Client(pair.fallback, retry=1)
    if goes_on:
        assert llm.generate_text("hi") == "second"
    else:
        with pytest.raises(type(error)):
            llm.generate_text("hi")
    assert llm.generate_text("hi") == ("second" if pauses else "first")


def test_errors_are_chosen_by_kind_or_class() -> None:
    pair = Pair(
        [errors.AuthenticationError("key"), errors.RateLimitError("slow")],
        ["second"],
        on=[errors.AuthenticationError, "quota"],
        pause=0,
    )
    llm = Client(pair.fallback, retry=1)
    assert llm.generate_text("hi") == "second"
    with pytest.raises(errors.RateLimitError):
        llm.generate_text("hi")


def test_a_model_that_cannot_take_the_request_is_passed_over() -> None:
    with FakeModel("4") as model:
        vendor = model.vendor("openai")
        models = [FallbackModel(f"openai/{name}", vendor=vendor) for name in ("gpt-3.5-turbo", "gpt-5.2")]
        llm = Client(models)
        assert llm.generate("hi", reasoning={"effort": "low"}).info.metadata["model"] == "gpt-5.2"
        with llm.stream("hi", reasoning={"effort": "low"}) as stream:
            assert "".join(stream.text) == "4"
        assert llm.generate("hi").info.metadata["model"] == "gpt-3.5-turbo"
        with pytest.raises(errors.CapabilityError):
            Client(Fallback(models, on="rate_limit")).generate("hi", reasoning={"effort": "low"})


def test_a_model_that_failed_is_left_alone_for_the_pause_and_is_the_last_resort() -> None:
    script = ["2", "3", errors.RateLimitError("slow")]
    pair = Pair([errors.OverloadedError("busy"), "back", errors.OverloadedError("busy"), "still"], script)
    llm = Client(pair.fallback, retry=1)
    assert [llm.generate_text("hi") for _ in range(2)] == ["2", "3"]
    pair.now += 59.0
    assert pair.requests == (1, 2)
    pair.now += 1.0
    assert llm.generate_text("hi") == "back"
    with pytest.raises(errors.RateLimitError):
        llm.generate_text("hi")
    assert llm.generate_text("hi") == "still", "both pause"


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        (errors.OverloadedError, errors.RateLimitError, "rate_limit"),
        (errors.OverloadedError, errors.ContextLengthError, "overloaded"),
        (errors.ContextLengthError, errors.ContextLengthError, "context_length"),
        (errors.OverloadedError, errors.BadRequestError, "bad_request"),
        (errors.QuotaError, errors.ConnectError, "quota"),
        (errors.ContextLengthError, errors.ConnectError, "connect"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_the_error_where_all_fail_says_who_was_tried(
    first: type[errors.LLMError], second: type[errors.LLMError], kind: str, stream: bool
) -> None:
    llm = Client(Pair([first("no")], [second("no")]).fallback, retry=1)
    with pytest.raises(errors.LLMError) as caught:
        llm.stream("hi").__enter__() if stream else llm.generate("hi")
    error = caught.value
    assert error.kind == kind
    assert [one.vendor for one in error.attempts] == ["a", "b"]
    assert error.message == f"tried a/one ({first.kind}), b/two ({second.kind}): no"


def test_a_run_continues_with_another_model_and_withholds_opaque_state() -> None:
    def weather(city: str) -> str:
        """The weather in a city."""
        return f"rain in {city}"

    one = FakeModel([[Thinking("hm"), ToolCall("weather", {"city": "Oslo"})], errors.OverloadedError("busy")])
    two = FakeModel(["It rains."])
    models = [
        FallbackModel("google/gemini-3-pro-preview", vendor=one.vendor("google")),
        FallbackModel("openai/gpt-5.2", vendor=two.vendor("openai")),
    ]
    reply = Client(models, retry=1, on_loss="ignore").generate_with_tools("hi", [weather])
    assert reply.output_text == "It rains."
    sent: Any = two.requests[0].input
    assert [item.type for item in sent] == ["message", "function_call", "function_call_output"]
    assert [one.vendor for one in reply.info.attempts] == ["google", "google", "openai"]
    assert any(loss.kind == "withheld" for loss in reply.losses)


@pytest.mark.parametrize(
    "options",
    [{"model": "a/one"}, {"previous_response_id": "resp_1"}, {"conversation": "conv_1"}, {"background": True}],
    ids=lambda options: next(iter(options)),
)
def test_a_call_that_is_tied_to_a_model_stays_there(options: Any) -> None:
    pair = Pair([errors.OverloadedError("busy")], ["second"])
    with pytest.raises(errors.OverloadedError, match=r"^busy"):
        Client(pair.fallback, retry=1).generate("hi", **options)
    assert pair.requests == (1, 0)


def test_a_model_may_be_named_and_keeps_its_place_and_options() -> None:
    pair = Pair([], ["x", "y", "z"])
    llm = Client(pair.fallback)
    assert llm.generate_text("hi", model="b/two") == "x"
    assert llm.with_options(model="b/two").generate_text("hi") == "y"
    assert llm.generate_text("hi", model="b/other") == "z"
    sent = [(one.model, one.max_output_tokens) for one in pair.second.requests]
    assert sent == [("two", 50), ("two", 50), ("other", None)]
    assert (llm.model, llm.vendor, llm.with_options(model="b/two").model) == ("one", "a", "two")
    assert llm.estimate_tokens("hello") == Client("a/one", vendor=pair.first.vendor("a")).estimate_tokens("hello")
    assert repr(pair.fallback) == "<Fallback a/one -> b/two>"


def test_options_of_the_client_hold_for_every_model() -> None:
    pair = Pair([errors.OverloadedError("busy")], ["two"])
    llm = Client(pair.fallback, retry=1, defaults={"instructions": "Be brief."}).with_options(temperature=0.5)
    assert llm.generate_text("hi", metadata={"a": "b"}) == "two"
    for sent in (pair.first.requests[0], pair.second.requests[0]):
        assert (sent.instructions, sent.temperature) == ("Be brief.", 0.5)


def test_the_time_of_the_call_covers_all_models() -> None:
    def slow(request: Any) -> errors.LLMError:
        time.sleep(0.06)
        return errors.OverloadedError("busy")

    pair = Pair([slow], ["too late"])
    with pytest.raises(errors.OverloadedError):
        Client(pair.fallback, retry=1).generate("hi", timeout=Timeouts(total=0.05))
    assert pair.requests == (1, 0)


def test_the_same_model_may_be_there_with_two_keys() -> None:
    models = [FallbackModel("openai/gpt-5", api_key=key) for key in ("sk-one-1234567890", "sk-two-1234567890")]
    assert "sk-" not in repr(Fallback(models)) + repr(models) + repr(Client(models))
