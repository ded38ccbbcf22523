"""Through an HTTP client of the caller's, and through what intercepts `httpx`."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest

from llm_rest.errors import (
    APITimeoutError,
    ClientClosedError,
)
from llm_rest.sync import drive
from llm_rest.transport import Timeouts
from llm_rest.transport.asynchronous import AsyncTransport
from llm_rest.transport.blocking import SyncTransport
from tests.loopback import (
    END,
    STREAM,
    chunks,
    drip,
    gated,
    http,
    loopback,
    send,
    send_and_stall,
    watched,
)
from tests.transport.support import KEY, SOON, NewTransport, exchange, post, rest

pytestmark = pytest.mark.anyio

OURS = "the clients are made by the tests"


@pytest.mark.parametrize("library", ["httpx", "httpx2"])
async def test_a_client_of_the_callers_is_used_and_left_open(
    new_transport: NewTransport,
    way: str,
    library: str,
) -> None:
    module = pytest.importorskip(library)
    kind = module.Client if way == "sync" else module.AsyncClient
    http_client = kind(headers={"x-mine": "1"}, follow_redirects=True)
    with loopback(send(http(b"", "HTTP/1.1 302 Go", "Location: /elsewhere"))) as server:
        answer = await exchange(new_transport, server.url, http=http_client)
    assert answer.status == 302
    assert b"x-mine: 1" in server.heads[0]
    assert not http_client.is_closed
    await http_client.aclose() if way != "sync" else http_client.close()
    with pytest.raises(ClientClosedError):
        await exchange(new_transport, server.url, http=http_client)


@pytest.mark.parametrize("library", ["httpx", "httpx2"])
async def test_a_deadline_holds_for_a_client_of_the_callers(
    new_transport: NewTransport,
    way: str,
    library: str,
) -> None:
    module = pytest.importorskip(library)
    http_client = (module.Client if way == "sync" else module.AsyncClient)()
    slow = drip(b"x" * 500, first=b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n")
    with loopback(slow) as server, pytest.raises(APITimeoutError):
        await exchange(new_transport, server.url, Timeouts(total=0.3), http=http_client)
    await http_client.aclose() if way != "sync" else http_client.close()


@pytest.mark.parametrize("library", ["httpx", "httpx2"])
async def test_a_client_of_the_callers_streams(new_transport: NewTransport, way: str, library: str) -> None:
    module = pytest.importorskip(library)
    kind = module.Client if way == "sync" else module.AsyncClient
    http_client = kind(headers={"x-mine": "1"})
    gate = gated(STREAM + chunks(b"one"), chunks(b"two") + END)
    with loopback(gate, watched(STREAM + chunks(b"one")), send_and_stall(STREAM + chunks(b"one"))) as server:
        transport = new_transport(http=http_client)
        incoming = await transport.open(post(server.url), SOON)
        assert await incoming.read() == b"one"
        server.go.set()
        assert await rest(incoming) == b"two"
        incoming = await transport.open(post(server.url), SOON)
        assert await incoming.read() == b"one"
        await incoming.close()
        assert server.left.wait(5)
        # What an `httpx.Client` once began to read, it reads with the one limit of its beginning.
        incoming = await transport.open(post(server.url), Timeouts(first_byte=0.3, read=0.2))
        with pytest.raises(APITimeoutError) as caught:
            await rest(incoming)
        assert caught.value.phase == "read"
        await transport.close()
    assert b"x-mine: 1" in server.heads[0]
    await http_client.aclose() if way != "sync" else http_client.close()


def test_what_only_listens_to_httpx_passes_calls_on_to_connections_of_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as tracing: it may add a header, and bytes behind an answer or a slow server are still no match."""
    real, real_async = httpx.HTTPTransport.handle_request, httpx.AsyncHTTPTransport.handle_async_request

    def traced(self: Any, request: httpx.Request) -> httpx.Response:
        request.headers["x-trace"] = "1"
        return real(self, request)

    async def traced_async(self: Any, request: httpx.Request) -> httpx.Response:
        request.headers["x-trace"] = "1"
        return await real_async(self, request)

    async def main(transport: Any) -> None:
        assert (await transport.send(post(server.url, b"{}"), SOON)).body == b"first"
        incoming = await transport.open(post(server.url), SOON)
        assert await rest(incoming) == b"onetwo"
        with pytest.raises(APITimeoutError):
            await transport.send(post(server.url), Timeouts(total=0.5))
        await transport.close()

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", traced)
    monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", traced_async)
    for way in ("sync", "asyncio", "trio"):
        stream = send(STREAM + chunks(b"one", b"two") + END)
        with loopback(send(http(b"first") + http(b"forged")), stream, send_and_stall(b"")) as server:
            if way == "sync":
                drive(main(SyncTransport()))
            else:
                anyio.run(main, AsyncTransport(), backend=way)
        assert len(server.heads) == 3
        for head in server.heads:
            assert b"\r\nx-trace: 1" in head.lower()
            assert head.count(KEY.encode()) == 1
            assert head.lower().count(b"\r\nhost:") == 1
            assert head.lower().count(b"\r\ncontent-length:") == 1
