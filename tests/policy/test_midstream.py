"""`Fallback(midstream=True)`: a text stream that breaks off anywhere is continued by another model, as one stream."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from llm_rest import (
    Client,
    Fallback,
    FallbackModel,
    LossWarning,
    Message,
    OverloadedError,
    RateLimitError,
    Request,
    StreamInterruptedError,
    Vendor,
)
from llm_rest.policy.midstream import CONTINUE, Overlap
from llm_rest.testing import Broken, FakeModel, Refusal, Streamed, Thinking, ToolCall
from llm_rest.vendors.rows import NoAuth
from tests.corpus import Exchange, exchanges
from tests.corpus.test_streams import every_vendor
from tests.support import WHOLE
from tests.support.legal import faults
from tests.support.streams import assembled, read

PIECES: list[bytes] = []
"""What the vendor in this module answers with, before its connection breaks."""


def handle_stream(method: str, path: str, headers: Any, body: bytes) -> tuple[int, dict[str, str], Iterator[bytes]]:
    def pieces() -> Iterator[bytes]:
        yield from PIECES
        raise ConnectionResetError("cut")

    return 200, {"content-type": "text/event-stream"}, pieces()


def texts(request: Request) -> list[str]:
    """What the messages of a request say."""
    items: Any = (
        request.input if isinstance(request.input, list) else [Message(role="user", content=str(request.input))]
    )
    return [
        one.content if isinstance(one.content, str) else "".join(part.text for part in one.content) for one in items
    ]


CUT = Broken("connection")


class Continuing:
    """Continues a text: exactly, after the last words once more, or from the beginning."""

    def __init__(self, text: str = "", *, repeats: int = 0) -> None:
        self.text, self.repeats = text, repeats

    def answer(self, request: Request) -> Streamed:
        turns = texts(request)
        said = turns[-2] if turns[-1] == CONTINUE else ""
        assert self.text.startswith(said)
        return Streamed(self.text[max(0, len(said) - self.repeats) :], size=200 if WHOLE else 4)


def frames(exchange: Exchange) -> list[bytes]:
    stream = (exchange.response.stream_text or "").replace("\r\n", "\n").encode()
    end = b"\n\n" if b"\n\n" in stream else b"\n"
    return [piece + end for piece in stream.split(end) if piece.strip()]


def text_streams(name: str, vendor: str) -> Iterator[tuple[Exchange, str, list[bytes]]]:
    """The recorded streams that hold nothing but text and reasoning, with the text."""
    for exchange in exchanges(name):
        if exchange.vendor == vendor and exchange.response.stream_text is not None:
            pieces = frames(exchange)
            found = assembled(read(name, pieces, dialect=exchange.dialect))
            plain = {item.type for item in found.output} <= {"message", "reasoning"} and found.refusal is None
            if plain and found.status == "completed" and found.output_text:
                yield exchange, found.output_text, pieces


@pytest.mark.sample(4)
@every_vendor
def test_a_recorded_text_is_whole_wherever_its_stream_is_cut(name: str, vendor: str) -> None:
    found: list[str] = []
    recorded = [*text_streams(name, vendor)]
    for exchange, text, pieces in recorded if WHOLE else sorted(recorded, key=lambda one: len(one[2]))[:3]:
        chance = random.Random(len(text))
        cuts = range(1, len(pieces)) if WHOLE else sorted(chance.sample(range(1, len(pieces)), min(8, len(pieces) - 1)))
        for cut in cuts:
            continuing = Continuing(text, repeats=(0, 30, len(text))[cut % 3])
            found += [f"{exchange.id}, cut at {cut}: {fault}" for fault in cut_off(exchange, pieces[:cut], continuing)]
    assert found == []


def cut_off(exchange: Exchange, pieces: list[bytes], continuing: Continuing) -> Iterator[str]:
    """What is wrong with a stream of which only these pieces come."""
    PIECES[:] = pieces
    first = Vendor(
        name="recorded",
        wire=exchange.wire,
        base_url=f"inproc:{__name__}",
        dialect=exchange.dialect,
        auth=NoAuth(),
    )
    second = FakeModel(continuing.answer)
    models = [FallbackModel("recorded/m", vendor=first), FallbackModel("b/two", vendor=second.vendor("b"))]
    with Client(Fallback(models, midstream=True), retry=1, on_loss="ignore") as llm, llm.stream("hi") as stream:
        events = [*stream]
    reply = stream.response
    yield from faults(events, numbered=exchange.wire != "openai_responses")
    if reply.output_text != continuing.text:
        yield f"{reply.output_text!r} is not {continuing.text!r}"
    if assembled(events).output != reply.output:
        yield "the events tell something else than the reply"
    deltas = "".join(getattr(event, "delta", "") for event in events if event.type == "response.output_text.delta")
    if deltas != continuing.text:
        yield f"the deltas have {deltas!r}"
    if second.requests:
        if [one.vendor for one in reply.info.attempts] != ["recorded", "b"]:
            yield f"attempts {reply.info.attempts}"
        if texts(second.requests[0])[-1] == CONTINUE and not any(loss.kind == "emulated" for loss in reply.losses):
            yield "the loss is not recorded"


def continued(first: Any, *second: Any, **options: Any) -> tuple[Client, FakeModel]:
    one, two = FakeModel([first]), FakeModel([*second])
    KEPT[:] = [one, two]
    models = [FallbackModel("a/one", vendor=one.vendor("a")), FallbackModel("b/two", vendor=two.vendor("b"))]
    return Client(Fallback(models, midstream=True), retry=1, **options), two


KEPT: list[FakeModel] = []


def test_the_continuation_is_recorded_as_a_loss_and_warned_of() -> None:
    llm, two = continued(["Hello wo", CUT], "rld.")
    with (
        pytest.warns(LossWarning, match="a/one broke off after 8 characters, and b/two continued"),
        llm.stream("hi") as stream,
    ):
        assert "".join(stream.text) == "Hello world."
    assert [loss.kind for loss in stream.response.losses] == ["emulated"]
    assert [(one.vendor, one.outcome) for one in stream.response.info.attempts] == [
        ("a", "stream_interrupted"),
        ("b", "200"),
    ]
    assert (stream.response.status, len(stream.response.output)) == ("completed", 1)
    assert texts(two.requests[0]) == ["hi", "Hello wo", CONTINUE]


TOOLS: Any = [{"type": "function", "name": "f", "parameters": {"type": "object"}}]


@pytest.mark.parametrize(
    ("first", "second", "kinds"),
    [
        ([Thinking("hm"), "Hello wo", CUT], [Thinking("go on"), "rld."], ["reasoning", "message"]),
        (["Hello wo", CUT], ["rld.", ToolCall("f", {"x": 1})], ["message", "function_call"]),
        (Streamed("Hello wo", error=OverloadedError("busy")), "rld.", ["message"]),
    ],
)
def test_a_continuation_is_part_of_the_answer_but_for_its_reasoning(first: Any, second: Any, kinds: list[str]) -> None:
    llm, _ = continued(first, second, on_loss="ignore")
    with llm.stream("hi", tools=TOOLS) as stream:
        events = [*stream]
    assert faults(events) == []
    reply = stream.response
    assert [item.type for item in reply.output] == kinds
    assert (reply.reasoning_text, reply.output_text) == ("hm" if "reasoning" in kinds else "", "Hello world.")
    assert reply.info.attempts[0].outcome in ("stream_interrupted", "overloaded")


@pytest.mark.parametrize(
    ("first", "options"),
    [
        ([ToolCall("f", {"x": 1}), CUT], {"tools": [{"type": "function", "name": "f"}]}),
        ([Refusal("I cannot"), CUT], {}),
        (['{"a": ', CUT], {"text": {"format": {"type": "json_object"}}}),
    ],
)
def test_only_plain_text_is_continued(first: Any, options: Any) -> None:
    llm, two = continued(first)
    with pytest.raises(StreamInterruptedError) as caught, llm.stream("hi", **options) as stream:
        for _ in stream:
            pass
    assert (two.requests, [one.vendor for one in caught.value.attempts]) == ([], ["a"])
    assert caught.value.partial is not None


@pytest.mark.parametrize("strategy", ["native", "instructions", "tool"])
def test_typed_output_is_not_continued(strategy: Any) -> None:
    llm, two = continued(["12", CUT])
    with pytest.raises(StreamInterruptedError), llm.stream_json("hi", int, strategy=strategy) as stream:
        list(stream)
    assert two.requests == []


def test_where_the_others_fail_too_the_error_has_the_text_so_far() -> None:
    llm, _ = continued(["Hello wo", CUT], RateLimitError("slow"))
    with llm.stream("hi") as stream:
        assert next(stream.text) == "Hell"
        with pytest.raises(RateLimitError) as caught:
            list(stream)
    assert caught.value.partial.output_text == "Hello wo"
    assert [(one.vendor, one.outcome) for one in caught.value.attempts] == [
        ("a", "stream_interrupted"),
        ("b", "rate_limit"),
    ]


def test_a_continuation_that_breaks_off_is_continued_as_well() -> None:
    fakes = [FakeModel([[text, CUT]]) for text in ("One, ", "two, ")] + [FakeModel(["three."])]
    models = [FallbackModel(f"v{i}/m", vendor=fake.vendor(f"v{i}")) for i, fake in enumerate(fakes)]
    with Client(Fallback(models, midstream=True), retry=1, on_loss="ignore") as llm, llm.stream("hi") as stream:
        events = [*stream]
    assert faults(events) == []
    assert stream.response.output_text == "One, two, three."
    assert [loss.kind for loss in stream.response.losses] == ["emulated", "emulated"]
    assert [one.vendor for one in stream.response.info.attempts] == ["v0", "v1", "v2"]


@pytest.mark.parametrize(
    ("said", "pieces", "new"),
    [
        ("", ["Hel", "lo"], "Hello"),
        ("Hel", ["lo"], "lo"),
        ("The quick brown fox ", ["quick brown", " fox ", "jumps"], "jumps"),
        ("The quick brown fox ", ["The ", "quick brown fox jumps"], "jumps"),
        ("The quick brown fox ", ["The", " slow"], "The slow"),
        ("a, b, ", ["b, c"], "b, c"),
        ("The", ["The", " end"], " end"),
        ("The end.", ["The", " end."], ""),
        ("The quick brown fox ", [], ""),
    ],
)
def test_what_a_continuation_repeats_is_removed(said: str, pieces: list[str], new: str) -> None:
    overlap = Overlap(said)
    assert "".join([*(overlap.feed(piece) for piece in pieces), overlap.close()]) == new
