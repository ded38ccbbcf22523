"""What the transport promises of one exchange."""

from __future__ import annotations

import gzip
import socket
import zlib
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from llm_rest.errors import (
    APIConnectionError,
    APITimeoutError,
    ClientClosedError,
    ConfigError,
    ConnectError,
    LLMError,
    MalformedResponseError,
    ProtocolError,
    ResponseTooLargeError,
    TLSError,
)
from llm_rest.transport import Timeouts
from llm_rest.transport.exchange import MAX_ERROR_BODY
from tests.loopback import (
    drip,
    http,
    loopback,
    reset,
    send,
    send_and_close,
    send_and_stall,
)
from tests.transport.support import KEY, NewTransport, exchange, nobody, ours, post

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


async def test_a_connection_the_server_closed_meanwhile_is_replaced(new_transport: NewTransport) -> None:
    with loopback(send_and_close(http(b"1"))) as server:
        transport = new_transport()
        for _ in range(3):
            assert (await transport.send(post(server.url), Timeouts())).status == 200
            await anyio.sleep(0.05)
        await transport.close()
    assert server.connections == 3


@ours("a client of httpx hands bytes behind an answer to the next request")
async def test_bytes_behind_an_answer_are_not_the_next_answer(new_transport: NewTransport) -> None:
    forged = http(b"forged")
    with loopback(send(http(b"first") + forged), send(http(b"second"))) as server:
        transport = new_transport()
        assert (await transport.send(post(server.url), Timeouts())).body == b"first"
        assert (await transport.send(post(server.url), Timeouts())).body == b"second"
        await transport.close()
    assert server.connections == 2


async def test_an_answer_ended_by_the_close_of_http_1_0_is_whole(new_transport: NewTransport) -> None:
    with loopback(send_and_close(b"HTTP/1.0 200 OK\r\n\r\nbody")) as server:
        assert (await exchange(new_transport, server.url)).body == b"body"


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


async def test_a_redirect_is_an_answer_like_any_other(new_transport: NewTransport) -> None:
    """BUGS 86."""
    with loopback(send(http(b"", "HTTP/1.1 307 Go", "Location: https://elsewhere.example/"))) as server:
        answer = await exchange(new_transport, server.url)
    assert (answer.status, len(server.heads)) == (307, 1)


# --- content codings -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("coding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("identity", bytes)])
async def test_a_coding_is_undone(new_transport: NewTransport, coding: str, pack: Callable[[bytes], bytes]) -> None:
    with loopback(send(http(pack(b"hello" * 99), "HTTP/1.1 200 OK", f"Content-Encoding: {coding}"))) as server:
        assert (await exchange(new_transport, server.url)).body == b"hello" * 99


@pytest.mark.parametrize(
    ("body", "coding", "error"),
    [
        (gzip.compress(b"hello" * 99)[:-9], "gzip", MalformedResponseError),
        (gzip.compress(b"hello") + b"more", "gzip", MalformedResponseError),
        (b"plain", "gzip", MalformedResponseError),
        (b"x", ", ".join(["gzip"] * 100), ProtocolError),
        (b"x", "br", ProtocolError),
    ],
    ids=["cut", "followed", "untrue", "many", "unknown"],
)
async def test_a_coding_that_is_not_right_is_an_error(
    new_transport: NewTransport, body: bytes, coding: str, error: type[LLMError]
) -> None:
    with loopback(send(http(body, "HTTP/1.1 200 OK", f"Content-Encoding: {coding}"))) as server, pytest.raises(error):
        await exchange(new_transport, server.url)


async def test_a_body_above_the_limit_is_refused_before_it_is_inflated(new_transport: NewTransport) -> None:
    bomb = gzip.compress(b"\0" * 9_000_000)
    with loopback(send(http(bomb, "HTTP/1.1 200 OK", "Content-Encoding: gzip"))) as server:
        with pytest.raises(ResponseTooLargeError, match="1000000 bytes"):
            await exchange(new_transport, server.url, max_body=1_000_000)


async def test_a_body_without_end_is_refused_at_the_limit(new_transport: NewTransport) -> None:
    def endless(connection: socket.socket, server: Any) -> bool:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while not server.stopped.is_set():
            connection.sendall(b"x" * 65536)
        return False

    with loopback(endless) as server, pytest.raises(ResponseTooLargeError):
        await exchange(new_transport, server.url, max_body=1_000_000)


# --- errors of the server ------------------------------------------------------------------------------------------


async def test_the_body_of_an_error_is_read_to_a_limit(new_transport: NewTransport) -> None:
    bomb = gzip.compress(b"no" * 5_000_000)
    with loopback(send(http(bomb, "HTTP/1.1 500 No", "Content-Encoding: gzip"))) as server:
        answer = await exchange(new_transport, server.url)
    assert (answer.status, len(answer.body)) == (500, MAX_ERROR_BODY)


@pytest.mark.parametrize(
    "act",
    [
        send_and_stall(b"HTTP/1.1 503 No\r\ncontent-length: 100\r\n\r\n{"),
        send_and_close(b"HTTP/1.1 503 No\r\ncontent-length: 100\r\n\r\n{"),
        send(http(b"{", "HTTP/1.1 503 No", "Content-Encoding: br")),
    ],
    ids=["stalled", "cut", "coded"],
)
async def test_the_status_of_an_error_survives_its_body(new_transport: NewTransport, act: Any) -> None:
    with loopback(act) as server:
        answer = await exchange(new_transport, server.url, Timeouts(total=0.4))
    assert answer.status == 503
    assert answer.body in (b"", b"{")


# --- what goes wrong on the way ------------------------------------------------------------------------------------


async def test_a_refused_connection_is_an_error_to_try_again(new_transport: NewTransport) -> None:
    with pytest.raises(ConnectError) as caught:
        await exchange(new_transport, nobody())
    assert (caught.value.code, caught.value.retryable) == ("network_error", True)


@pytest.mark.parametrize(
    ("act", "error"),
    [
        (send_and_close(b""), APIConnectionError),
        (reset, APIConnectionError),
        (send_and_close(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf"), ProtocolError),
        (send_and_close(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n"), ProtocolError),
        (send_and_close(b"SSH-2.0-OpenSSH\r\n"), ProtocolError),
        (send_and_close(b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n"), ProtocolError),
        (send_and_close(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx"), ProtocolError),
        (send_and_close(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n"), ProtocolError),
    ],
    ids=["closed", "reset", "short", "no-last-chunk", "not-http", "negative", "two-lengths", "bad-chunk"],
)
async def test_an_answer_that_is_not_whole_is_an_error_to_try_again(
    new_transport: NewTransport, act: Any, error: type[LLMError]
) -> None:
    with loopback(act) as server, pytest.raises(error) as caught:
        await exchange(new_transport, server.url)
    assert caught.value.retryable


@ours("a client of httpx looks at the clock between two reads only, and nobody can interrupt a thread", "sync")
@pytest.mark.parametrize(
    ("act", "timeouts", "phase"),
    [
        (send_and_stall(b""), Timeouts(total=0.12), "total"),
        (send_and_stall(b""), Timeouts(total=9, first_byte=0.12), "first_byte"),
        (
            send_and_stall(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx"),
            Timeouts(total=0.4, first_byte=0.35),
            "total",
        ),
        (drip(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 99), Timeouts(total=0.12), "total"),
        (drip(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 99), Timeouts(total=9, first_byte=0.12), "first_byte"),
        (drip(http(b"x" * 500)), Timeouts(total=0.12), "total"),
        (drip(b"HTTP/1.1 102 Processing\r\n\r\n" * 99), Timeouts(total=0.12), "total"),
    ],
    ids=["silent", "silent-first", "stalled", "slow-head", "slow-head-first", "slow-body", "slow-1xx"],
)
async def test_a_deadline_ends_the_exchange_whatever_trickles_in(
    new_transport: NewTransport, act: Any, timeouts: Timeouts, phase: str
) -> None:
    with loopback(act) as server, pytest.raises(APITimeoutError) as caught:
        await exchange(new_transport, server.url, timeouts)
    assert caught.value.phase == phase


@pytest.mark.parametrize(("sent", "again"), [(b"", True), (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx", False)])
async def test_another_call_is_worth_it_after_a_total_in_which_no_answer_began(
    new_transport: NewTransport, sent: bytes, again: bool
) -> None:
    with loopback(send_and_stall(sent)) as server, pytest.raises(APITimeoutError) as caught:
        await exchange(new_transport, server.url, Timeouts(total=0.4))
    assert caught.value.retryable is again


async def test_after_a_failure_the_next_exchange_is_fresh(new_transport: NewTransport) -> None:
    with loopback(send_and_stall(b""), send(http(b"good"))) as server:
        transport = new_transport(max_connections=1)
        with pytest.raises(APITimeoutError):
            await transport.send(post(server.url), Timeouts(total=0.1))
        assert (await transport.send(post(server.url), Timeouts(total=9))).body == b"good"
        await transport.close()


async def test_a_host_that_speaks_no_tls_is_a_tls_error(new_transport: NewTransport) -> None:
    with loopback(reset, greeting=b"SSH-2.0-OpenSSH\r\n") as server, pytest.raises(TLSError):
        await exchange(new_transport, server.url.replace("http:", "https:"))


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
