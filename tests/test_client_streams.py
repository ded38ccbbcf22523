"""Streams through a client: what is sent, what is handed out, and how a stream may end. Sync, asyncio and trio alike."""

from __future__ import annotations

import gc
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_httpx import HTTPXMock, IteratorStream

from benchmarks import documents
from llm_rest.client.client import Client
from llm_rest.client.events import StreamReader, StreamWriter
from llm_rest.client.hooks import ClientCallEnd, ClientCallStart, RequestEnd, RequestStart
from llm_rest.client.reply import Reply
from llm_rest.errors import (
    ConfigError,
    ErrorRules,
    InternalServerError,
    LLMError,
    LossError,
    StreamInterruptedError,
)
from llm_rest.losses import Loss, LossWarning
from llm_rest.responses import OutputTextDelta, Response, ResponseCompleted
from llm_rest.responses.stream import disassemble
from llm_rest.transport import Timeouts
from llm_rest.unknown import Unknown
from llm_rest.vendors.rows import DIALECTS, VENDORS, Bearer, Vendor
from llm_rest.wires import load
from tests.callers import BEGIN, NewClient, answer, completed, delta, event, frames
from tests.loopback import (
    END,
    STREAM,
    chunks,
    gated,
    http,
    loopback,
    send,
    watched,
)
from tests.support.legal import faults
from tests.support.streams import STREAMING
from tests.test_assemble import EVERYTHING

pytestmark = pytest.mark.anyio

HELLO = frames("Hel", "lo ", "there")
TYPE = {"content-type": "text/event-stream"}


def sent(httpx_mock: HTTPXMock, i: int = -1) -> dict[str, Any]:
    return json.loads(httpx_mock.get_requests()[i].content)


def mocked(httpx_mock: HTTPXMock, *pieces: bytes, **options: Any) -> None:
    """Answer with a body in these pieces."""
    httpx_mock.add_response(stream=IteratorStream(pieces), headers=TYPE, **options)


async def told(stream: Any) -> list[Any]:
    """All events of a stream that comes to its end."""
    async with stream:
        return [event async for event in stream]


async def broken(stream: Any) -> tuple[list[Any], LLMError]:
    """The events that are handed out before the error, and the error."""
    events: list[Any] = []
    try:
        async with stream:
            async for event in stream:
                events.append(event)
    except LLMError as error:
        return events, error
    raise AssertionError("the stream came to its end")


def texts(events: list[Any]) -> list[str]:
    return [event.delta for event in events if isinstance(event, OutputTextDelta)]


# --- one stream -----------------------------------------------------------------------------------------------------


async def test_events_come_in_legal_order_and_tell_the_response(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    mocked(httpx_mock, *HELLO)
    async with new_client() as llm, llm.stream("Hi") as stream:
        events = [event async for event in stream]
        assert texts(events) == ["Hel", "lo ", "there"]
        assert faults(events) == []
        reply = stream.response
    assert isinstance(reply, Reply)
    assert (reply.output_text, reply.status, reply.id) == ("Hello there", "completed", "resp_1")
    assert stream.response is reply
    assert isinstance(events[-1], ResponseCompleted)
    assert type(events[-1].response) is Response


async def test_text_is_handed_out_alone(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    mocked(httpx_mock, *frames("Hel", "", "lo"))
    async with new_client() as llm, llm.stream("Hi") as stream:
        assert [piece async for piece in stream.text] == ["Hel", "lo"]
        assert stream.response.output_text == "Hello"


async def test_a_stream_needs_no_with_to_be_read_to_its_end(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    mocked(httpx_mock, *HELLO)
    async with new_client() as llm:
        assert [piece async for piece in llm.stream("Hi").text] == ["Hel", "lo ", "there"]


async def test_nothing_is_sent_before_the_stream_is_entered(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    async with new_client() as llm:
        stream = llm.stream("Hi")
        assert (stream.response.status, stream.response.output) == ("in_progress", [])
        await stream.aclose()
        assert [event async for event in stream] == []
        with pytest.raises(StreamInterruptedError):
            await stream.__aenter__()
    assert httpx_mock.get_requests() == []


async def test_what_is_sent_is_a_request_for_a_stream(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    mocked(httpx_mock, *HELLO, is_reusable=True)
    async with new_client(defaults={"temperature": 0.5}) as llm:
        await told(llm.stream("Hi", max_output_tokens=20, stream_options={"include_obfuscation": False}))
        await told(llm.stream("Hi", extra_headers={"Accept-Encoding": "gzip"}))
    body = sent(httpx_mock, 0)
    assert (body["stream"], body["stream_options"]) == (True, {"include_obfuscation": False})
    assert (body["temperature"], body["max_output_tokens"], body["input"]) == (0.5, 20, "Hi")
    headers = [request.headers for request in httpx_mock.get_requests()]
    # A server that compresses may hold events back.
    assert [found["accept-encoding"] for found in headers] == ["identity", "gzip"]
    assert headers[0]["authorization"] == "Bearer sk-test-0123456789"


async def test_a_whole_answer_is_not_asked_for_as_a_stream(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(json=answer())
    async with new_client() as llm:
        with pytest.raises(ConfigError, match="gives the answer as it comes"):
            await llm.generate("Hi", stream_options={"include_obfuscation": False})
        await llm.generate("Hi")
    assert "stream" not in sent(httpx_mock)


@pytest.mark.parametrize("options", [{"temprature": 1}, {"stream": True}, {"temperature": "hot"}, {"input": ""}])
async def test_wrong_options_are_refused_before_a_byte_is_sent(new_client: NewClient, options: dict[str, Any]) -> None:
    async with new_client() as llm:
        with pytest.raises(ConfigError):
            llm.stream(**{"input": "Hi", **options})


async def test_the_generation_says_how_the_reply_came_about(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    mocked(httpx_mock, *HELLO)
    heard: list[Any] = []
    async with new_client(on_event=heard.append) as llm, llm.stream("Hi") as stream:
        assert [type(seen) for seen in heard] == [ClientCallStart, RequestStart]
        async for _ in stream:
            assert stream.response.info.attempts[-1].outcome == "under way"
    info = stream.response.info
    assert [attempt.outcome for attempt in info.attempts] == ["200"]
    assert int(info.metadata.pop("latency_ms")) >= 0
    assert info.metadata == {
        "provider": "openai",
        "model": "gpt-4o",
        "input_tokens": "7",
        "output_tokens": "3",
        "total_tokens": "10",
        "cached_input_tokens": "0",
        "reasoning_tokens": "0",
        "api_calls": "1",
        "tool_rounds": "0",
        "response_id": "resp_1",
        "response_status": "completed",
    }
    request, call = heard[-2:]
    assert (type(request), type(call)) == (RequestEnd, ClientCallEnd)
    assert 0 < request.first_event <= request.seconds
    assert request.first_event <= call.first_event <= call.seconds


async def test_the_response_holds_what_was_handed_out_so_far(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    mocked(httpx_mock, b"".join(HELLO))
    seen: list[str] = []
    async with new_client() as llm, llm.stream("Hi") as stream:
        async for event in stream:
            if isinstance(event, OutputTextDelta):
                seen.append(stream.response.output_text)
                assert stream.response.status == "in_progress"
                if len(seen) == 2:
                    break
    assert seen == ["Hel", "Hello "]
    assert (stream.response.output_text, stream.response.status) == ("Hello ", "incomplete")


@pytest.mark.parametrize("name", STREAMING)
async def test_every_wire_streams(new_client: NewClient, httpx_mock: HTTPXMock, name: str) -> None:
    row = next(row for row in VENDORS.values() if row.wire == name and row.base_url.startswith("http"))
    mocked(httpx_mock, *documents.stream(name, 50))
    async with new_client(f"{row.name}/some-model") as llm:
        async with llm.stream("Hi", on_loss="ignore", invalid_options="send") as events:
            pieces = [piece async for piece in events.text]
    assert pieces == [f" word{i}" for i in range(50)]
    reply = events.response
    assert (reply.output_text, reply.status) == ("".join(pieces), "completed")
    assert reply.info.metadata["output_tokens"] == "50"


async def test_what_a_stream_tells_is_what_the_whole_answer_says(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    writer = StreamWriter(load("openai_responses"), dialect=DIALECTS["openai_responses"]())
    mocked(httpx_mock, *map(writer.feed, disassemble(EVERYTHING)), writer.close())
    async with new_client() as llm, llm.stream("Hi") as stream:
        events = [event async for event in stream]
    assert faults(events) == []
    assert stream.response == EVERYTHING


# --- losses ---------------------------------------------------------------------------------------------------------


async def test_losses_of_the_request_are_settled_before_it_is_sent(
    new_client: NewClient, httpx_mock: HTTPXMock
) -> None:
    mocked(httpx_mock, *HELLO)
    async with new_client() as llm:
        with pytest.raises(LossError, match="seed"):
            llm.stream("Hi", seed=1, on_loss="raise")
        assert httpx_mock.get_requests() == []
        with pytest.warns(LossWarning, match="seed") as warned:
            stream = llm.stream("Hi", seed=1)
        await told(stream)
    assert warned[0].filename == __file__ or llm.__class__.__name__ == "Awaited"
    assert [loss.path for loss in stream.response.info.losses] == ["seed"]


@pytest.mark.parametrize("policy", ["warn", "raise", "ignore"])
async def test_losses_of_the_stream_are_settled_at_its_end(
    new_client: NewClient, httpx_mock: HTTPXMock, monkeypatch: pytest.MonkeyPatch, policy: Any
) -> None:
    monkeypatch.setattr(StreamReader, "losses", [Loss("output[0]", "half of it", "dropped")])
    mocked(httpx_mock, *HELLO)
    events: list[Any] = []
    async with new_client(on_loss=policy) as llm, llm.stream("Hi") as stream:
        async for event in stream:
            events.append(event)
            if isinstance(event, ResponseCompleted):
                break
        rest = anext(aiter(stream), None)
        if policy == "warn":
            with pytest.warns(LossWarning, match="half of it"):
                assert await rest is None
        elif policy == "raise":
            with pytest.raises(LossError, match="half of it") as caught:
                await rest
            assert caught.value.partial.output_text == "Hello there"
        else:
            assert await rest is None
    assert len(texts(events)) == 3
    assert [loss.what for loss in stream.response.info.losses] == ["half of it"]


# --- the vendor says no ---------------------------------------------------------------------------------------------


async def test_the_rules_of_the_vendor_say_what_an_error_in_the_stream_is_worth(
    new_client: NewClient, httpx_mock: HTTPXMock
) -> None:
    rules = ErrorRules(final=("server_error",))
    mine = Vendor(name="mine", wire="openai_responses", base_url="https://mine.example/v1", auth=Bearer(), errors=rules)
    mocked(httpx_mock, BEGIN, event("error", code="server_error", message="broken"))
    async with new_client("m", vendor=mine) as llm:
        _, raised = await broken(llm.stream("Hi"))
    assert (type(raised), raised.retryable) == (InternalServerError, False)


# --- 200, and yet no stream -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream", ""])
@pytest.mark.parametrize("indent", [None, 2])
async def test_a_whole_answer_in_place_of_a_stream_is_handed_out_as_events(
    new_client: NewClient, httpx_mock: HTTPXMock, content_type: str, indent: int | None
) -> None:
    body = b" \n" + json.dumps(answer("Hello"), indent=indent).encode()
    pieces = [body[:1], body[1:20], body[20:]]
    httpx_mock.add_response(stream=IteratorStream(pieces), headers={"content-type": content_type})
    async with new_client() as llm, llm.stream("Hi") as stream:
        events = [event async for event in stream]
    assert faults(events) == []
    assert texts(events) == ["Hello"]
    assert stream.response.output_text == "Hello"
    assert json.loads(stream.response.info.raw) == answer("Hello")


# --- streams that do not come to their end --------------------------------------------------------------------------


async def test_a_stream_may_lack_what_does_not_matter(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    """The blank line of the last event, the end mark, a content type; and it may say its end twice, or go on behind it."""
    body = b": hi\r\n\r\n" + BEGIN + delta("one") + completed("one") + completed("one") + b"<html>\n\n"
    body += completed("two").rstrip(b"\n")
    httpx_mock.add_response(content=body)
    async with new_client() as llm, llm.stream("Hi") as stream:
        events = [event async for event in stream]
    assert faults(events) == []
    assert stream.response.output_text == "one"


async def test_a_kind_of_event_nobody_knows_is_handed_out(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    """BUGS 61."""
    mocked(httpx_mock, BEGIN, event("response.brand_new", x=1), completed())
    async with new_client() as llm:
        events = await told(llm.stream("Hi"))
    (unknown,) = [event for event in events if isinstance(event, Unknown)]
    assert (unknown.kind, unknown["x"]) == ("response.brand_new", 1)


def test_a_stream_waits_for_its_beginning_as_long_as_the_vendor_may_take(httpx_mock: HTTPXMock) -> None:
    mocked(httpx_mock, *HELLO, is_reusable=True)
    with Client("openai/gpt-4o", api_key="sk-0123456789") as llm:
        for timeout in (None, Timeouts(first_byte=5), Timeouts(first_byte="none")):
            with llm.stream("Hi", timeout=timeout):
                pass
    limits = [request.extensions["timeout"] for request in httpx_mock.get_requests()]
    assert [limit["write"] for limit in limits] == [VENDORS["openai"].first_byte, 5, None]


# --- leaving --------------------------------------------------------------------------------------------------------


async def test_a_stream_read_to_its_end_leaves_its_connection_for_the_next(new_client: NewClient) -> None:
    body = STREAM + chunks(*HELLO, b"data: [DONE]\n\n") + END
    with loopback(send(body), send(body), send(http(json.dumps(answer("next")).encode()))) as server:
        async with new_client(base_url=server.url) as llm:
            for _ in range(2):
                async with llm.stream("Hi") as stream:
                    async for event in stream:
                        if isinstance(event, ResponseCompleted):
                            break
            assert await llm.generate_text("Hi") == "next"
    assert server.connections == 1


async def test_the_first_event_is_there_before_the_last_is_sent(new_client: NewClient) -> None:
    with loopback(gated(STREAM + chunks(*HELLO[:2]), chunks(*HELLO[2:]) + END)) as server:
        async with new_client(base_url=server.url) as llm, llm.stream("Hi") as stream:
            pieces = aiter(stream.text)
            assert await anext(pieces) == "Hel"
            server.go.set()
            assert [piece async for piece in pieces] == ["lo ", "there"]


async def test_a_stream_that_is_forgotten_releases_its_connection(new_client: NewClient) -> None:
    endless = watched(STREAM + chunks(BEGIN, delta("one")), every=chunks(b": ping\n\n"))
    with loopback(endless, send(http(json.dumps(answer("next")).encode()))) as server:
        async with new_client(base_url=server.url, max_connections=1) as llm:
            async for event in llm.stream("Hi"):
                if isinstance(event, OutputTextDelta):
                    break
            gc.collect()
            assert await llm.generate_text("Hi") == "next"
            assert server.left.wait(5)


def test_a_sync_stream_is_stopped_from_another_thread() -> None:
    with loopback(watched(STREAM + chunks(BEGIN, delta("one")))) as server:
        with Client("openai/gpt-4o", api_key="k", base_url=server.url) as llm, llm.stream("Hi") as stream:
            pieces = stream.text
            assert next(pieces) == "one"
            timer = threading.Timer(0.1, stream.close)
            timer.start()
            assert list(pieces) == []
            timer.join()
        assert server.left.wait(5)
    assert stream.response.status == "incomplete"


# --- long streams ---------------------------------------------------------------------------------------------------

LONG = 100_000


def handle_stream(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any, Iterator[bytes]]:
    """A server in this process with very much to say."""

    def pieces() -> Iterator[bytes]:
        yield BEGIN
        for _ in range(LONG // 100):
            yield delta("word ") * 100
        yield completed("word " * LONG)

    return 200, TYPE, pieces()


@pytest.mark.sample(4)
async def test_a_stream_keeps_no_event(new_client: NewClient) -> None:
    """A hundred thousand of them, one of which may still be in the hands of the caller, and those of one read in ours."""
    most = count = 0
    here = Vendor(name="here", wire="openai_responses", base_url=f"inproc:{__name__}")
    async with new_client("m", vendor=here, api_key=None) as llm, llm.stream("Hi") as stream:
        async for event in stream:
            count += isinstance(event, OutputTextDelta)
            if count % 25_000 == 50:
                kept = sum(type(thing) is OutputTextDelta for thing in gc.get_objects())
                most = max(most, kept)
    assert count == LONG
    assert most <= 101
    assert len(stream.response.output_text) == LONG * len("word ")
