"""What the transport promises of one exchange."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from llm_rest.errors import (
    APITimeoutError,
    ClientClosedError,
    ConfigError,
)
from llm_rest.transport import Timeouts
from tests.loopback import (
    http,
    loopback,
    send,
    send_and_stall,
)
from tests.transport.support import KEY, NewTransport, exchange, ours, post

pytestmark = pytest.mark.anyio


# --- good answers --------------------------------------------------------------------------------------------------


async def test_an_answer_comes_with_status_headers_and_body(new_transport: NewTransport) -> None:
    with loopback(send(http(b"{}", "HTTP/1.1 201 Created", "X-One: a", "x-one: b"))) as server:
        answer = await exchange(new_transport, server.url + "/v1/x?y=z")
    assert (answer.status, answer.body) == (201, b"{}")
    assert answer.headers["x-one"] == "a, b"
    assert server.heads[0].startswith(b"POST /v1/x?y=z HTTP/1.1\r\n")
    assert f"Authorization: Bearer {KEY}".encode() in server.heads[0]
    assert server.bodies == [b"{}"]


async def test_a_connection_is_used_again(new_transport: NewTransport) -> None:
    with loopback(send(http(b"1"))) as server:
        transport = new_transport()
        for _ in range(5):
            assert (await transport.send(post(server.url), Timeouts())).body == b"1"
        await transport.close()
    assert server.connections == 1


@ours("a client of httpx hands bytes behind an answer to the next request")
async def test_bytes_behind_an_answer_are_not_the_next_answer(new_transport: NewTransport) -> None:
    forged = http(b"forged")
    with loopback(send(http(b"first") + forged), send(http(b"second"))) as server:
        transport = new_transport()
        assert (await transport.send(post(server.url), Timeouts())).body == b"first"
        assert (await transport.send(post(server.url), Timeouts())).body == b"second"
        await transport.close()
    assert server.connections == 2


async def test_a_large_request_arrives_whole(new_transport: NewTransport) -> None:
    body = b"x" * 3_000_000
    with loopback(send(http(b"{}"))) as server:
        transport = new_transport()
        await transport.send(post(server.url, body), Timeouts())
        await transport.close()
    assert server.bodies == [body]


@ours("a client of httpx has a jar, which is its owner's business")
async def test_cookies_are_not_kept(new_transport: NewTransport) -> None:
    with loopback(send(http(b"1", "HTTP/1.1 200 OK", "Set-Cookie: a=b"))) as server:
        transport = new_transport()
        for _ in range(2):
            await transport.send(post(server.url), Timeouts())
        await transport.close()
    assert b"cookie" not in server.heads[1].lower()


# --- content codings -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("coding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("identity", bytes)])
async def test_a_coding_is_undone(new_transport: NewTransport, coding: str, pack: Callable[[bytes], bytes]) -> None:
    with loopback(send(http(pack(b"hello" * 99), "HTTP/1.1 200 OK", f"Content-Encoding: {coding}"))) as server:
        assert (await exchange(new_transport, server.url)).body == b"hello" * 99


# --- what goes wrong on the way ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sent", "again"), [(b"", True), (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx", False)])
async def test_another_call_is_worth_it_after_a_total_in_which_no_answer_began(
    new_transport: NewTransport, sent: bytes, again: bool
) -> None:
    with loopback(send_and_stall(sent)) as server, pytest.raises(APITimeoutError) as caught:
        await exchange(new_transport, server.url, Timeouts(total=0.4))
    assert caught.value.retryable is again


async def test_a_closed_transport_says_so(new_transport: NewTransport) -> None:
    transport = new_transport()
    await transport.close()
    with pytest.raises(ClientClosedError):
        await transport.send(post("http://127.0.0.1:1"), Timeouts())


@pytest.mark.parametrize("name", ["connect", "first_byte", "read", "stall", "total"])
@pytest.mark.parametrize("value", [-1, 0, float("nan"), float("inf"), True, "5"])
def test_a_timeout_is_a_positive_number(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=name):
        Timeouts(**{name: value})
