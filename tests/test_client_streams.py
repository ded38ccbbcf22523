"""Streams through a client: what is sent, what is returned, and when. Sync, asyncio and trio alike.

How a stream may end and fail: cases S of the hostile table.
"""

from __future__ import annotations

import gc
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_httpx import HTTPXMock, IteratorStream

from llm_rest.client.client import Client
from llm_rest.client.hooks import ClientCallEnd, ClientCallStart, RequestEnd, RequestStart
from llm_rest.client.reply import Reply
from llm_rest.errors import ErrorRules, InternalServerError, StreamInterruptedError
from llm_rest.responses import OutputTextDelta, Response, ResponseCompleted
from llm_rest.transport import Timeouts
from llm_rest.unknown import Unknown
from llm_rest.vendors.rows import VENDORS, Bearer, Vendor
from tests.callers import BEGIN, NewClient, answer, completed, delta, event, frames
from tests.loopback import END, STREAM, chunks, gated, loopback, send_and_stall
from tests.support.legal import faults

pytestmark = pytest.mark.anyio

HELLO = frames("Hel", "lo ", "there")
TYPE = {"content-type": "text/event-stream"}


def mocked(httpx_mock: HTTPXMock, *pieces: bytes, **options: Any) -> None:
    """Answer with a body in these pieces."""
    httpx_mock.add_response(stream=IteratorStream(pieces), headers=TYPE, **options)


async def read(stream: Any) -> list[Any]:
    """All events of a stream."""
    async with stream:
        return [event async for event in stream]


def texts(events: list[Any]) -> list[str]:
    return [event.delta for event in events if isinstance(event, OutputTextDelta)]


# --- one stream -----------------------------------------------------------------------------------------------------


async def test_events_are_in_legal_order_and_make_up_the_response(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
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


async def test_the_text_alone_is_read_and_an_event_returned_before_the_next_is_received(new_client: NewClient) -> None:
    pieces = frames("Hel", "", "lo ", "there")
    with loopback(gated(STREAM + chunks(*pieces[:3]), chunks(*pieces[3:]) + END)) as server:
        async with new_client(base_url=server.url) as llm, llm.stream("Hi") as stream:
            texts = aiter(stream.text)
            assert await anext(texts) == "Hel"
            server.go.set()
            assert [text async for text in texts] == ["lo ", "there"]
            assert stream.response.output_text == "Hello there"


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
        await read(llm.stream("Hi", max_output_tokens=20, stream_options={"include_obfuscation": False}))
        await read(llm.stream("Hi", extra_headers={"Accept-Encoding": "gzip"}))
    requests = httpx_mock.get_requests()
    body = json.loads(requests[0].content)
    assert (body["stream"], body["stream_options"]) == (True, {"include_obfuscation": False})
    assert (body["temperature"], body["max_output_tokens"], body["input"]) == (0.5, 20, "Hi")
    # A server that compresses may hold events back.
    assert [request.headers["accept-encoding"] for request in requests] == ["identity", "gzip"]


async def test_the_info_of_a_streamed_reply_is_complete_at_its_end(
    new_client: NewClient, httpx_mock: HTTPXMock
) -> None:
    mocked(httpx_mock, *HELLO)
    heard: list[Any] = []
    async with new_client(on_event=heard.append) as llm, llm.stream("Hi") as stream:
        assert [type(seen) for seen in heard] == [ClientCallStart, RequestStart]
        async for _ in stream:
            assert stream.response.info.attempts[-1].outcome == "under way"
    info = stream.response.info
    assert [attempt.outcome for attempt in info.attempts] == ["200"]
    assert int(info.metadata.pop("latency_ms")) >= 0
    assert (info.metadata["total_tokens"], info.metadata["response_status"]) == ("10", "completed")
    request, call = heard[-2:]
    assert (type(request), type(call)) == (RequestEnd, ClientCallEnd)
    assert 0 < request.first_event <= request.seconds
    assert request.first_event <= call.first_event <= call.seconds


async def test_the_response_has_the_output_so_far(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
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


# --- other events and answers ----------------------------------------------------------------------------------------


async def test_an_error_in_the_stream_is_retryable_by_the_rules_of_the_vendor(
    new_client: NewClient, httpx_mock: HTTPXMock
) -> None:
    rules = ErrorRules(final=("server_error",))
    mine = Vendor(name="mine", wire="openai_responses", base_url="https://mine.example/v1", auth=Bearer(), errors=rules)
    mocked(httpx_mock, BEGIN, event("error", code="server_error", message="broken"))
    async with new_client("m", vendor=mine) as llm:
        with pytest.raises(InternalServerError) as caught:
            await read(llm.stream("Hi"))
    assert caught.value.retryable is False


async def test_a_whole_answer_in_place_of_a_stream_becomes_events(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    body = b" \n" + json.dumps(answer("Hello"), indent=2).encode()
    mocked(httpx_mock, body[:1], body[1:20], body[20:])
    async with new_client() as llm, llm.stream("Hi") as stream:
        events = [event async for event in stream]
    assert faults(events) == []
    assert texts(events) == ["Hello"]
    assert stream.response.output_text == "Hello"
    assert json.loads(stream.response.info.raw) == answer("Hello")


async def test_an_unknown_event_is_returned(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    """BUGS 61."""
    mocked(httpx_mock, BEGIN, event("response.brand_new", x=1), completed())
    async with new_client() as llm:
        events = await read(llm.stream("Hi"))
    (unknown,) = [event for event in events if isinstance(event, Unknown)]
    assert (unknown.kind, unknown["x"]) == ("response.brand_new", 1)


def test_the_timeout_of_the_first_byte_is_that_of_the_vendor(httpx_mock: HTTPXMock) -> None:
    mocked(httpx_mock, *HELLO, is_reusable=True)
    with Client("openai/gpt-4o", api_key="sk-0123456789") as llm:
        for timeout in (None, Timeouts(first_byte=5), Timeouts(first_byte="none")):
            with llm.stream("Hi", timeout=timeout):
                pass
    limits = [request.extensions["timeout"] for request in httpx_mock.get_requests()]
    assert [limit["write"] for limit in limits] == [VENDORS["openai"].first_byte, 5, None]


def test_a_sync_stream_is_closed_from_another_thread() -> None:
    with loopback(send_and_stall(STREAM + chunks(BEGIN, delta("one")))) as server:
        with Client("openai/gpt-4o", api_key="k", base_url=server.url) as llm, llm.stream("Hi") as stream:
            pieces = stream.text
            assert next(pieces) == "one"
            timer = threading.Timer(0.1, stream.close)
            timer.start()
            assert list(pieces) == []
            timer.join()
        assert server.left.wait(5)
    assert stream.response.status == "incomplete"


LONG = 20_000


def handle_stream(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any, Iterator[bytes]]:
    def pieces() -> Iterator[bytes]:
        yield BEGIN
        for _ in range(LONG // 100):
            yield delta("word ") * 100
        yield completed("word " * LONG)

    return 200, TYPE, pieces()


async def test_a_stream_stores_no_events(new_client: NewClient) -> None:
    """At most those of one read are there at a time, and the one that the caller holds."""
    most = count = 0
    here = Vendor(name="here", wire="openai_responses", base_url=f"inproc:{__name__}")
    async with new_client("m", vendor=here, api_key=None) as llm, llm.stream("Hi") as stream:
        async for event in stream:
            count += isinstance(event, OutputTextDelta)
            if count % 5_000 == 50:
                kept = sum(type(thing) is OutputTextDelta for thing in gc.get_objects())
                most = max(most, kept)
    assert count == LONG
    assert most <= 101
    assert len(stream.response.output_text) == LONG * len("word ")
