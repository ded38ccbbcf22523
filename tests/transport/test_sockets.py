"""What sockets do that HTTP does not mention: ends of all kinds, addresses that do not answer, descriptors that run out."""

from __future__ import annotations

import contextlib
import gc
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llm_rest import RetryPolicy
from llm_rest.errors import APIConnectionError, APITimeoutError, ConnectError, LLMError, ProtocolError
from llm_rest.transport import Timeouts
from tests.callers import NewClient
from tests.loopback import (
    END,
    STREAM,
    Loopback,
    accepting,
    chunks,
    http,
    loopback,
    reset,
    send,
    send_and_close,
    watched,
)
from tests.transport.support import TEN_SECONDS, NewTransport, exchange, nobody, ours, post, rest
from tests.transport.test_sharing import GOOD

pytestmark = pytest.mark.anyio


# --- before the answer -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["100 Continue", "102 Processing", "103 Early Hints"])
async def test_an_announcement_is_not_the_answer(new_transport: NewTransport, code: str) -> None:
    early = f"HTTP/1.1 {code}\r\nlink: x\r\n\r\n".encode()
    with loopback(send(early * 3 + http(b"hello"))) as server:
        answer = await exchange(new_transport, server.url)
    assert (answer.status, answer.body, "link" in answer.headers) == (200, b"hello", False)


@ours("a client of httpx looks at the clock between two reads only, and nobody can interrupt a thread", "sync")
async def test_announcements_without_end_are_ended_by_the_deadline(new_transport: NewTransport) -> None:
    """Case T27."""
    with loopback(watched(b"", every=b"HTTP/1.1 102 Processing\r\n\r\n" * 500)) as server:
        with pytest.raises(APITimeoutError):
            await exchange(new_transport, server.url, Timeouts(total=0.3))


async def test_a_change_of_protocol_is_not_followed(new_transport: NewTransport) -> None:
    with loopback(send(b"HTTP/1.1 101 Switching\r\nupgrade: websocket\r\n\r\n")) as server:
        with pytest.raises(LLMError):
            await exchange(new_transport, server.url)


async def test_an_early_refusal_is_heard_although_the_request_cannot_be_sent(new_transport: NewTransport) -> None:
    """Case T25: the server answers after a part of the body and closes."""

    def refuse(connection: socket.socket) -> None:
        connection.recv(65_536)
        connection.sendall(http(b"too large", "HTTP/1.1 413 No"))
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1_000_000):
            pass

    with accepting(refuse) as url:
        transport = new_transport()
        answer = await transport.send(post(url, b"x" * 12_000_000), TEN_SECONDS)
        await transport.close()
    assert (answer.status, answer.body) == (413, b"too large")


@ours("a client of httpx loses the answer with the connection")
async def test_an_early_refusal_is_heard_although_the_connection_breaks(new_transport: NewTransport) -> None:
    """Case T25: the same, with what is still being sent met by a reset."""

    def refuse(connection: socket.socket) -> None:
        connection.recv(65_536)
        connection.sendall(http(b"too large", "HTTP/1.1 413 No"))

    with accepting(refuse) as url:
        transport = new_transport()
        answer = await transport.send(post(url, b"x" * 12_000_000), TEN_SECONDS)
        await transport.close()
    assert answer.status == 413


# --- connections that wait -----------------------------------------------------------------------------------------------


def linger(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.parametrize("how", ["closed", "reset", "half-closed", "spoke"])
async def test_a_connection_that_ended_while_it_waited_is_replaced(new_transport: NewTransport, how: str) -> None:
    """Case T21: neither an end nor a word nobody asked for makes the next call fail or becomes its answer."""

    def act(connection: socket.socket, server: Loopback) -> bool:
        connection.sendall(http(b"hello"))
        server.go.wait(10)
        if how == "spoke":
            connection.sendall(http(b"forged", "HTTP/1.1 408 Request Timeout"))
        if how == "half-closed":
            connection.shutdown(socket.SHUT_WR)
        if how == "reset":
            linger(connection)
        if how in ("spoke", "half-closed"):
            server.left.set()
            server.stopped.wait(10)
        return False

    with loopback(act, send(http(b"again"))) as server:
        transport = new_transport()
        assert (await transport.send(post(server.url), TEN_SECONDS)).body == b"hello"
        server.go.set()
        if how in ("spoke", "half-closed"):
            assert server.left.wait(5)
        else:
            wait_until_gone(server)
        assert (await transport.send(post(server.url), TEN_SECONDS)).body == b"again"
        await transport.close()
    assert server.connections == 2


def wait_until_gone(server: Loopback) -> None:
    """Return when the server's side of the first connection is closed."""
    for _ in range(500):
        table = Path("/proc/net/tcp").read_text().splitlines()[1:]
        mine = [line.split() for line in table if f":{server.port:04X}" in line.split()[1]]
        if not any(columns[3] == "01" for columns in mine):
            return
        time.sleep(0.01)


async def test_a_request_that_meets_the_end_of_its_connection_is_made_again(new_client: NewClient) -> None:
    """Case T23: the server closes at the very moment when the next request comes."""

    def late(connection: socket.socket, server: Loopback) -> bool:
        return False

    with loopback(send(http(GOOD)), late, send(http(GOOD))) as server:
        async with new_client(base_url=f"{server.url}/v1", retry=RetryPolicy(base_delay=0.01)) as llm:
            for _ in range(2):
                assert (await llm.generate("Hi")).output_text == "Hello"
    assert len(server.heads) == 3


# --- ends in the middle ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "begun", [b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nha", STREAM + chunks(b"ha"), b"HTTP/1.1 200 OK\r\n\r\nha"]
)
async def test_a_reset_in_the_middle_is_an_error_to_try_again(new_transport: NewTransport, begun: bytes) -> None:
    def act(connection: socket.socket, server: Loopback) -> bool:
        connection.sendall(begun)
        server.go.wait(5)
        return reset(connection, server)

    with loopback(act) as server:
        transport = new_transport()
        incoming = await transport.open(post(server.url), TEN_SECONDS)
        assert await incoming.read() == b"ha"
        server.go.set()
        with pytest.raises(APIConnectionError) as caught:
            await rest(incoming)
        await transport.close()
    assert caught.value.retryable


async def test_a_server_that_ends_its_side_has_answered_all_the_same(new_transport: NewTransport) -> None:
    def act(connection: socket.socket, server: Loopback) -> bool:
        connection.sendall(http(b"hello"))
        connection.shutdown(socket.SHUT_WR)
        server.left.set()
        return True

    with loopback(act) as server:
        transport = new_transport()
        for _ in range(2):
            assert (await transport.send(post(server.url), TEN_SECONDS)).body == b"hello"
            assert server.left.wait(5)
        await transport.close()


@ours("clients of httpx handle each chunk by itself, which takes many times as long")
async def test_two_hundred_thousand_chunks_of_one_byte_are_read_in_time(new_transport: NewTransport) -> None:
    """Case R05."""
    whole = STREAM + chunks(*[b"x"] * 200_000) + END
    with loopback(send(whole)) as server:
        answer = await exchange(new_transport, server.url, Timeouts(total=20))
    assert answer.body == b"x" * 200_000


async def test_a_head_that_is_too_large_is_refused(new_transport: NewTransport) -> None:
    """Case P05."""
    head = b"HTTP/1.1 200 OK\r\n" + b"".join(b"x-%d: y\r\n" % i for i in range(100_000))
    with loopback(send_and_close(head + b"\r\n")) as server, pytest.raises(ProtocolError):
        await exchange(new_transport, server.url)


@ours("clients of httpx read trailers of any size")
async def test_trailers_without_end_are_refused(new_transport: NewTransport) -> None:
    """Case P15."""
    act = watched(STREAM + chunks(b"x") + b"0\r\n", every=b"a: b\r\n" * 5000)
    with loopback(act) as server, pytest.raises(ProtocolError):
        await exchange(new_transport, server.url)


# --- connecting -------------------------------------------------------------------------------------------------------------


def naming(monkeypatch: pytest.MonkeyPatch, *urls: str) -> str:
    """A URL whose host stands for the addresses of these."""
    found = []
    for url in urls:
        host, port = url.removeprefix("http://").removesuffix("/v1").split(":")
        found.append((socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, int(port))))
    real = socket.getaddrinfo

    def look_up(host: Any, *more: Any, **options: Any) -> Any:
        if host not in ("several.example", b"several.example"):
            return real(host, *more, **options)
        if options.get("flags"):
            raise socket.gaierror(socket.EAI_NONAME, "not a number")
        return found

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return "http://several.example"


@contextlib.contextmanager
def silent() -> Iterator[str]:
    """A URL where an attempt to connect gets no answer: the queue of those who wait is full."""
    with contextlib.ExitStack() as at_the_end:
        listening = at_the_end.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):
            waiting = at_the_end.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listening.getsockname())
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@ours("how clients of httpx choose among addresses is theirs")
async def test_an_address_that_refuses_or_is_silent_does_not_hide_one_that_answers(
    new_transport: NewTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    with loopback(send(http(b"hello"))) as server, silent() as dead:
        url = naming(monkeypatch, nobody(), dead, nobody(), server.url)
        assert (await exchange(new_transport, url, Timeouts(connect=5, total=10))).body == b"hello"


@ours("how clients of httpx choose among addresses is theirs")
async def test_where_no_address_answers_the_limit_of_connecting_ends_it(
    new_transport: NewTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    with silent() as dead:
        url = naming(monkeypatch, dead, dead)
        with pytest.raises(APITimeoutError) as caught:
            await exchange(new_transport, url, Timeouts(connect=0.4, total=10))
    assert caught.value.phase == "connect"
    with pytest.raises(ConnectError, match="refused"):
        await exchange(new_transport, naming(monkeypatch, nobody(), nobody()))


async def test_a_name_that_means_nothing_is_an_error_to_try_again(new_transport: NewTransport) -> None:
    with pytest.raises(ConnectError) as caught:
        await exchange(new_transport, "http://nowhere.invalid")
    assert caught.value.retryable


@ours("what a client of httpx does where no socket can be opened is its own")
async def test_descriptors_that_run_out_are_an_error_to_try_again(new_transport: NewTransport) -> None:
    """The limit of open files is reached while connecting; connections that are there go on."""
    resource = pytest.importorskip("resource")
    with loopback(send(http(b"one"))) as first, loopback(send(http(b"two"))) as second:
        transport = new_transport()
        assert (await transport.send(post(first.url), TEN_SECONDS)).body == b"one"
        gc.collect()
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        held = [socket.socket() for _ in range(20)]
        highest = max(each.fileno() for each in held)
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, limits[1]))
        filled: list[socket.socket] = []
        try:
            with contextlib.suppress(OSError):
                while True:
                    filled.append(socket.socket())
            with pytest.raises(ConnectError) as caught:
                await transport.send(post(second.url), TEN_SECONDS)
            assert (await transport.send(post(first.url), TEN_SECONDS)).body == b"one"
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            for each in [*held, *filled]:
                each.close()
        assert caught.value.retryable
        assert "too many open files; close" in caught.value.message
        assert (await transport.send(post(second.url), TEN_SECONDS)).body == b"two"
        await transport.close()
    assert first.connections == 1
