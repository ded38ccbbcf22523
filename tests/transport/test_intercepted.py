"""Tools that mock, record or trace `httpx` see the requests of this library, and nothing reaches the network past a mock."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import httpcore
import httpx
import pytest
import respx
import vcr
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from llm_rest.errors import APITimeoutError, ClientClosedError, ConfigError, ConnectError, Failure
from llm_rest.sync import drive
from llm_rest.transport import Timeouts
from llm_rest.transport.connection import HTTPConnection
from tests.callers import NewClient, answer, frames
from tests.loopback import END, STREAM, chunks, drip, each_byte, http, loopback, reset, send, send_and_stall
from tests.transport.support import KEY, SOON, NewTransport, exchange, nobody, post, rest

pytestmark = pytest.mark.anyio

OURS = "a client of the caller's is seen by these tools as it is"

URL = "https://vendor.invalid/v1"
GOOD = answer("mocked")
EVENTS = b"".join(frames("mock", "ed"))
SSE = {"content-type": "text/event-stream"}


@pytest.fixture
def no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails a test that would connect to anything."""
    monkeypatch.setattr(HTTPConnection, "_connected", None)


async def whole_and_streamed(new_client: NewClient, **options: Any) -> tuple[str, str]:
    """The texts of a whole answer and of a streamed one."""
    async with new_client(base_url=URL, **options) as llm:
        whole = (await llm.generate("Hi")).output_text
        async with llm.stream("Hi") as stream:
            async for _ in stream:
                pass
        return whole, stream.response.output_text


# --- a client of the caller -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["httpx", "httpx2"])
async def test_a_client_of_the_callers_is_used_as_it_is_and_left_open(
    new_transport: NewTransport, way: str, library: str
) -> None:
    module = pytest.importorskip(library)
    mine = (module.Client if way == "sync" else module.AsyncClient)(headers={"x-mine": "1"}, follow_redirects=True)
    slow = drip(*each_byte(b"x" * 500), first=b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n")
    redirect = send(http(b"", "302 Go", "Location: /elsewhere"))
    with loopback(redirect, slow, send_and_stall(STREAM + chunks(b"one"))) as server:
        assert (await exchange(new_transport, server.url, http=mine)).status == 302
        assert b"x-mine: 1" in server.heads[0]
        with pytest.raises(APITimeoutError):
            await exchange(new_transport, server.url, Timeouts(total=0.3), http=mine)
        transport = new_transport(http=mine)
        # What an `httpx.Client` once began to read, it reads with the one limit of its beginning.
        incoming = await transport.open(post(server.url), Timeouts(first_byte=0.3, read=0.2))
        with pytest.raises(APITimeoutError) as caught:
            await rest(incoming)
        assert caught.value.phase == "read"
        await transport.close()
    assert not mine.is_closed
    await mine.aclose() if way != "sync" else mine.close()
    with pytest.raises(ClientClosedError):
        await exchange(new_transport, server.url, http=mine)


async def test_without_such_a_tool_requests_do_not_pass_httpx(
    new_transport: NewTransport, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(httpx.Client if way == "sync" else httpx.AsyncClient, "__init__", None)
    with loopback(send(http(b"real"))) as server:
        assert (await exchange(new_transport, server.url)).body == b"real"


# --- respx ------------------------------------------------------------------------------------------------------------

LAYERS = pytest.mark.parametrize("using", ["httpcore", "httpx"])


@LAYERS
@pytest.mark.usefixtures("no_connection")
async def test_respx_answers_whole_and_streamed_calls(new_client: NewClient, using: str) -> None:
    with respx.mock(using=using) as router:
        route = router.post(f"{URL}/responses")
        route.side_effect = [httpx.Response(200, json=GOOD), httpx.Response(200, content=EVENTS, headers=SSE)]
        assert await whole_and_streamed(new_client) == ("mocked", "mocked")
    assert route.call_count == 2
    sent = route.calls[0].request
    assert json.loads(sent.content)["input"] == "Hi"
    assert sent.headers["authorization"] == "Bearer sk-test-0123456789"


@LAYERS
@pytest.mark.usefixtures("no_connection")
async def test_respx_raises_for_a_call_and_refuses_one_without_a_route(new_client: NewClient, using: str) -> None:
    with respx.mock(using=using) as router:
        async with new_client(base_url=URL, retry=3) as llm:
            with pytest.raises(ConfigError, match="not mocked") as caught:
                await llm.generate("Hi")
            assert len(caught.value.attempts) == 1
            assert router.calls.call_count <= 1
            route = router.post(f"{URL}/responses").mock(side_effect=httpx.ConnectError("no way"))
            with pytest.raises(ConnectError, match="no way"):
                await llm.with_options(retry=1).generate("Hi")
    assert route.call_count == 1


@LAYERS
async def test_what_respx_lets_pass_uses_one_connection_of_our_own(new_transport: NewTransport, using: str) -> None:
    whole, streamed = send(http(b"real")), send(STREAM + chunks(b"re", b"al") + END)
    with loopback(whole, streamed, whole) as server:
        transport = new_transport()
        with respx.mock(using=using) as router:
            router.post(server.url).pass_through()
            assert (await transport.send(post(server.url), SOON)).body == b"real"
            assert await rest(await transport.open(post(server.url), SOON)) == b"real"
        with respx.mock(using=using) as router:
            router.post(server.url).respond(200, content=b"mocked")
            assert (await transport.send(post(server.url), SOON)).body == b"mocked"
        assert (await transport.send(post(server.url), SOON)).body == b"real", "once respx has ended"
        await transport.close()
    assert (len(server.heads), server.connections) == (3, 1)


# --- others that mock and record --------------------------------------------------------------------------------------


async def test_vcrpy_records_whole_and_streamed_calls_and_plays_them_again(
    new_client: NewClient, tmp_path: Path
) -> None:
    whole, streamed = http(json.dumps(GOOD).encode()), STREAM + chunks(EVENTS) + END
    cassette = str(tmp_path / "cassette.yaml")
    options: dict[str, Any] = {"match_on": ["method", "path", "body"], "filter_headers": ["authorization"]}
    with loopback(send(whole), send(streamed)) as server, vcr.use_cassette(cassette, **options) as recorded:
        async with new_client(base_url=f"{server.url}/v1") as llm:
            assert (await llm.generate("Hi")).output_text == "mocked"
            async with llm.stream("Hi") as stream:
                assert "".join([text async for text in stream.text]) == "mocked"
    assert (len(server.heads), len(recorded)) == (2, 2)
    with vcr.use_cassette(cassette, record_mode="none", **options) as played:
        assert await whole_and_streamed(new_client) == ("mocked", "mocked")
    assert played.play_count == 2


@pytest.mark.parametrize("autospec", [False, True])
@pytest.mark.usefixtures("no_connection")
async def test_a_mock_that_requests_would_not_pass_is_an_error_before_a_connection_is_made(
    new_client: NewClient, way: str, autospec: bool
) -> None:
    kind: Any = httpx.Client if way == "sync" else httpx.AsyncClient
    with mock.patch.object(kind, "send", autospec=autospec or None) as sends:
        async with new_client(base_url=URL, retry=3) as llm:
            with pytest.raises(ConfigError, match=f"{kind.__name__}.send is a mock") as caught:
                await llm.generate("Hi")
    assert len(caught.value.attempts) == 1
    assert not sends.called


@pytest.mark.usefixtures("no_connection")
async def test_a_replaced_class_that_cannot_be_followed_is_an_error_before_a_connection_is_made(
    new_client: NewClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fake:
        def handle_request(self, request: Any) -> None:
            raise AssertionError

        handle_async_request = handle_request

    monkeypatch.setattr(httpx, "HTTPTransport", Fake)
    monkeypatch.setattr(httpx, "AsyncHTTPTransport", Fake)
    async with new_client(base_url=URL) as llm:
        with pytest.raises(ConfigError, match="httpx is mocked or traced in a way"):
            await llm.generate("Hi")


# --- tracing ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    """What OpenTelemetry's instrumentation of httpx records."""
    found, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(found))
    instrumentor = HTTPXClientInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    try:
        yield found
    finally:
        instrumentor.uninstrument()


async def test_opentelemetry_records_each_request_and_connections_are_kept(
    new_client: NewClient, spans: InMemorySpanExporter
) -> None:
    whole, streamed = send(http(json.dumps(GOOD).encode())), send(STREAM + chunks(*frames("mock", "ed")) + END)
    with loopback(whole, streamed, whole, streamed, send(http(b"{}", "400 No")), whole) as server:
        async with new_client(base_url=f"{server.url}/v1") as llm:
            for _ in range(2):
                assert (await llm.generate("Hi")).output_text == "mocked"
                async with llm.stream("Hi") as stream:
                    async for _ in stream:
                        pass
            assert isinstance(await llm.try_generate("Hi"), Failure)
            await llm.generate("Hi")
    assert (len(server.heads), server.connections) == (6, 1)
    assert all(b"\r\ntraceparent:" in head.lower() for head in server.heads)
    assert [span.name for span in spans.get_finished_spans()] == ["POST"] * 6


def _traced(library: Any, kind: str, name: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replaces a method by one that notes the call, adds a header where it can, and calls the method itself."""
    real, seen = getattr(getattr(library, kind), name), list[str]()

    def noted(self: Any, request: Any) -> Any:
        seen.append(kind)
        if isinstance(request, httpx.Request):
            request.headers["x-trace"] = "1"
        return real(self, request)

    monkeypatch.setattr(getattr(library, kind), name, noted)
    return seen


@pytest.mark.parametrize(
    ("library", "method"),
    [
        (httpx, "HTTPTransport.handle_request"),
        (httpx, "Client._transport_for_url"),
        (httpx, "Client._send_single_request"),
        (httpcore, "ConnectionPool.handle_request"),
        (httpcore, "HTTPConnection.handle_request"),
    ],
    ids=lambda given: getattr(given, "__name__", given),
)
async def test_what_only_listens_passes_each_request_to_connections_of_our_own(
    new_transport: NewTransport, way: str, library: Any, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, _, name = method.partition(".")
    if way != "sync":
        kind, name = f"Async{kind}", name.replace("handle_request", "handle_async_request")
    seen = _traced(library, kind, name, monkeypatch)
    stream, forged = send(STREAM + chunks(b"t", b"wo") + END), send(http(b"three") + http(b"forged"))
    with loopback(send(http(b"one")), stream, forged, send_and_stall(b"")) as server:
        transport = new_transport()
        assert (await transport.send(post(server.url), SOON)).body == b"one"
        assert await rest(await transport.open(post(server.url), SOON)) == b"two"
        assert (await transport.send(post(server.url), SOON)).body == b"three"
        assert (len(server.heads), server.connections) == (3, 1)
        with pytest.raises(APITimeoutError):
            await transport.send(post(server.url), Timeouts(total=0.5))
        await transport.close()
    assert seen == [kind] * 4
    for head in map(bytes.lower, server.heads):
        assert (b"\r\nx-trace: 1" in head) == (library is httpx and "url" not in method)
        assert head.count(KEY.encode()) == head.count(b"\r\nhost:") == head.count(b"\r\ncontent-length:") == 1


async def test_a_connection_is_not_reused_where_the_answer_was_not_read_to_its_end(
    new_transport: NewTransport, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interceptor that answers by itself says nothing of the bytes that may still arrive."""
    kind: Any = httpx.HTTPTransport if way == "sync" else httpx.AsyncHTTPTransport
    name = "handle_request" if way == "sync" else "handle_async_request"
    real = getattr(kind, name)

    async def replaced(self: Any, request: httpx.Request) -> httpx.Response:
        answer = real(self, request)  # its body is not read
        if way != "sync":
            await answer
        return httpx.Response(200, content=b"instead")

    monkeypatch.setattr(kind, name, (lambda *given: drive(replaced(*given))) if way == "sync" else replaced)
    with loopback(send(http(b"secret of another"))) as server:
        transport = new_transport()
        for _ in range(2):
            assert (await transport.send(post(server.url), SOON)).body == b"instead"
        await transport.close()
    assert (len(server.heads), server.connections) == (2, 2)


async def test_an_error_of_the_network_stays_one_under_a_tool_that_listens(
    new_transport: NewTransport, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix, name = ("", "handle_request") if way == "sync" else ("Async", "handle_async_request")
    _traced(httpcore, f"{prefix}ConnectionPool", name, monkeypatch)
    transport = new_transport()
    with pytest.raises(ConnectError, match="cannot connect"):
        await transport.send(post(nobody()), SOON)
    with loopback(reset()) as server, pytest.raises(ConnectError, match="broke"):
        await transport.send(post(server.url), SOON)
    await transport.close()
