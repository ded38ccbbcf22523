"""What the transport promises of one exchange, over real sockets, for sync callers, asyncio and trio."""

from __future__ import annotations

import gzip
import os
import socket
import threading
import warnings
import zlib
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest

from llm_rest.errors import (
    ClientClosedError,
    ConfigError,
    ConnectError,
    LLMError,
    MalformedResponse,
    ProtocolError,
    ResponseTooLarge,
    TimeoutError_,
    TLSError,
    TransportError,
)
from llm_rest.transport import HttpAnswer, HttpRequest, Timeouts, drive
from llm_rest.transport.addresses import is_public
from llm_rest.transport.asynchronous import AsyncTransport
from llm_rest.transport.blocking import SyncTransport
from llm_rest.transport.bodies import MAX_ERROR_BODY
from tests.loopback import drip, http, loopback, reset, send, send_and_close, send_and_stall

pytestmark = pytest.mark.anyio

NewTransport = Callable[..., Any]
KEY = "sk-very-secret-0123456789"


class Key:
    def reveal(self) -> str:
        return f"Bearer {KEY}"

    def __repr__(self) -> str:
        return "Key()"


def post(url: str, body: bytes = b"{}") -> HttpRequest:
    return HttpRequest("POST", url, {"Authorization": Key(), "Accept-Encoding": "gzip"}, body)


TEN_SECONDS = Timeouts(total=10)


async def exchange(new_transport: NewTransport, url: str, timeouts: Timeouts = TEN_SECONDS, **kw: Any) -> HttpAnswer:
    transport = new_transport(**kw)
    try:
        return await transport.send(post(url), timeouts)
    finally:
        await transport.close()


# --- good answers ---------------------------------------------------------------------------------------------------


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


# --- content codings ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("coding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("identity", bytes)])
async def test_a_coding_is_undone(new_transport: NewTransport, coding: str, pack: Callable[[bytes], bytes]) -> None:
    with loopback(send(http(pack(b"hello" * 99), "HTTP/1.1 200 OK", f"Content-Encoding: {coding}"))) as server:
        assert (await exchange(new_transport, server.url)).body == b"hello" * 99


@pytest.mark.parametrize(
    ("body", "coding", "error"),
    [
        (gzip.compress(b"hello" * 99)[:-9], "gzip", MalformedResponse),
        (gzip.compress(b"hello") + b"more", "gzip", MalformedResponse),
        (b"plain", "gzip", MalformedResponse),
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
        with pytest.raises(ResponseTooLarge, match="1000000 bytes"):
            await exchange(new_transport, server.url, max_body=1_000_000)


async def test_a_body_without_end_is_refused_at_the_limit(new_transport: NewTransport) -> None:
    def endless(connection: socket.socket, server: Any) -> bool:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while not server.stopped.is_set():
            connection.sendall(b"x" * 65536)
        return False

    with loopback(endless) as server, pytest.raises(ResponseTooLarge):
        await exchange(new_transport, server.url, max_body=1_000_000)


# --- errors of the server -------------------------------------------------------------------------------------------


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
        answer = await exchange(new_transport, server.url, Timeouts(total=0.5))
    assert answer.status == 503
    assert answer.body in (b"", b"{")


# --- what goes wrong on the way ------------------------------------------------------------------------------------


def nobody() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"http://127.0.0.1:{listening.getsockname()[1]}"


async def test_a_refused_connection_is_an_error_to_try_again(new_transport: NewTransport) -> None:
    with pytest.raises(ConnectError) as caught:
        await exchange(new_transport, nobody())
    assert (caught.value.code, caught.value.retryable) == ("network_error", True)


@pytest.mark.parametrize(
    ("act", "error"),
    [
        (send_and_close(b""), TransportError),
        (reset, TransportError),
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


@pytest.mark.parametrize(
    ("act", "timeouts", "phase"),
    [
        (send_and_stall(b""), Timeouts(total=0.3), "total"),
        (send_and_stall(b""), Timeouts(total=9, first_byte=0.2), "first_byte"),
        (
            send_and_stall(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx"),
            Timeouts(total=0.3, first_byte=0.1),
            "total",
        ),
        (drip(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 99), Timeouts(total=0.5), "total"),
        (drip(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 99), Timeouts(total=9, first_byte=0.3), "first_byte"),
        (drip(http(b"x" * 500)), Timeouts(total=0.5), "total"),
        (drip(b"HTTP/1.1 102 Processing\r\n\r\n" * 99), Timeouts(total=0.5), "total"),
    ],
    ids=["silent", "silent-first", "stalled", "slow-head", "slow-head-first", "slow-body", "slow-1xx"],
)
async def test_a_deadline_ends_the_exchange_whatever_trickles_in(
    new_transport: NewTransport, act: Any, timeouts: Timeouts, phase: str
) -> None:
    with loopback(act) as server, pytest.raises(TimeoutError_) as caught:
        await exchange(new_transport, server.url, timeouts)
    assert caught.value.phase == phase


@pytest.mark.parametrize(("sent", "again"), [(b"", True), (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx", False)])
async def test_another_call_is_worth_it_after_a_total_in_which_no_answer_began(
    new_transport: NewTransport, sent: bytes, again: bool
) -> None:
    with loopback(send_and_stall(sent)) as server, pytest.raises(TimeoutError_) as caught:
        await exchange(new_transport, server.url, Timeouts(total=0.2))
    assert caught.value.retryable is again


async def test_after_a_failure_the_next_exchange_is_fresh(new_transport: NewTransport) -> None:
    with loopback(send_and_stall(b""), send(http(b"good"))) as server:
        transport = new_transport(max_connections=1)
        with pytest.raises(TimeoutError_):
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


@pytest.mark.parametrize("name", ["connect", "first_byte", "silence", "idle", "total"])
@pytest.mark.parametrize("value", [-1, 0, float("nan"), float("inf"), True, "5"])
def test_a_timeout_is_a_positive_number(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=name):
        Timeouts(**{name: value})


# --- somebody else's client -----------------------------------------------------------------------------------------


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
    with loopback(slow) as server, pytest.raises(TimeoutError_):
        await exchange(new_transport, server.url, Timeouts(total=0.3), http=http_client)
    await http_client.aclose() if way != "sync" else http_client.close()


# --- secrets --------------------------------------------------------------------------------------------------------


async def test_no_frame_of_an_error_shows_the_key(new_transport: NewTransport) -> None:
    """BUGS 84."""
    with pytest.raises(ConnectError) as caught:
        await exchange(new_transport, nobody())
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    frame = caught.value.__traceback__
    assert frame is not None
    while frame is not None:
        assert KEY not in repr(frame.tb_frame.f_locals)
        assert "httpcore" not in frame.tb_frame.f_code.co_filename
        frame = frame.tb_next


# --- many at once, and cancelled ------------------------------------------------------------------------------------


def test_threads_share_one_sync_transport() -> None:
    """BUGS 72."""
    failures: list[BaseException] = []
    with loopback(send(http(b"1"))) as server:
        transport = SyncTransport(max_connections=4)

        def calls() -> None:
            try:
                for _ in range(10):
                    assert drive(transport.send(post(server.url), Timeouts())).body == b"1"
            except BaseException as problem:
                failures.append(problem)

        threads = [threading.Thread(target=calls) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        drive(transport.close())
    assert failures == []
    assert server.connections <= 4


def test_waiting_for_a_free_connection_has_a_deadline_sync() -> None:
    with loopback(send_and_stall(b"")) as server:
        transport = SyncTransport(max_connections=1)
        started = threading.Event()

        def busy() -> None:
            started.set()
            with pytest.raises(TimeoutError_):
                drive(transport.send(post(server.url), Timeouts(total=0.5)))

        thread = threading.Thread(target=busy)
        thread.start()
        started.wait()
        while server.connections == 0:
            pass
        with pytest.raises(TimeoutError_) as caught:
            drive(transport.send(post(server.url), Timeouts(total=0.1)))
        assert caught.value.phase == "pool"
        thread.join()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_waiting_for_a_free_connection_has_a_deadline_async(backend: str) -> None:
    async def main() -> None:
        transport = AsyncTransport(max_connections=1)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(transport.send, post(server.url), Timeouts(total=30))
            while server.connections == 0:  # noqa: ASYNC110 - the server is a thread
                await anyio.sleep(0.01)
            with pytest.raises(TimeoutError_) as caught:
                await transport.send(post(server.url), Timeouts(total=0.1))
            assert caught.value.phase == "pool"
            tasks.cancel_scope.cancel()
        await transport.close()

    with loopback(send_and_stall(b"")) as server:
        anyio.run(main, backend=backend)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_cancelled_exchanges_leave_the_transport_usable(backend: str) -> None:
    slow = send_and_stall(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx")

    async def main() -> None:
        transport = AsyncTransport(max_connections=3)
        for _ in range(20):
            async with anyio.create_task_group() as tasks:
                for _ in range(5):
                    tasks.start_soon(transport.send, post(stalling.url), Timeouts(total=30))
                await anyio.sleep(0.005)
                tasks.cancel_scope.cancel()
        for _ in range(5):
            assert (await transport.send(post(good.url), Timeouts(total=5))).body == b"good"
        await transport.close()

    with loopback(slow) as stalling, loopback(send(http(b"good"))) as good:
        anyio.run(main, backend=backend)


def test_one_transport_serves_two_event_loops_one_after_the_other() -> None:
    async def main() -> bytes:
        return (await transport.send(post(server.url), Timeouts())).body

    transport = AsyncTransport()
    with loopback(send(http(b"1"))) as server:
        for backend in ("asyncio", "trio", "asyncio"):
            assert anyio.run(main, backend=backend) == b"1"
        anyio.run(transport.close)


def test_a_sync_call_cannot_wait_for_an_event_loop() -> None:
    with pytest.raises(RuntimeError, match="event loop"):
        drive(anyio.lowlevel.checkpoint())


# --- a server in this process ---------------------------------------------------------------------------------------


def handle(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
    return 200, {"X-Seen": f"{method} {path} {headers['Authorization']}"}, body[::-1]


async def test_a_server_in_this_process_is_called_without_a_socket(
    new_transport: NewTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_socket(*arguments: Any) -> Any:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "connect", no_socket)
    transport = new_transport()
    answer = await transport.send(post(f"inproc:{__name__}/responses?a=b", b"abc"), Timeouts())
    assert answer.body == b"cba"
    assert answer.headers["x-seen"] == f"POST /responses?a=b Bearer {KEY}"


# --- public addresses only ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    """
    127.0.0.1 10.0.0.1 192.168.1.1 172.16.0.1 169.254.169.254 0.0.0.0 100.64.0.1 224.0.0.1 255.255.255.255
    ::1 :: fe80::1 fe80::1%eth0 fc00::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 2002:7f00:1:: 64:ff9b::7f00:1 ff02::1 nonsense
    """.split(),
)
def test_an_address_that_is_not_public_is_known(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1"])
def test_a_public_address_is_known(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_private_address_is_not_connected_to(new_transport: NewTransport, host: str) -> None:
    with loopback(send(http(b"1"))) as server, pytest.raises(ConfigError, match="not a public address"):
        await exchange(new_transport, f"http://{host}:{server.port}", public_only=True)
    assert server.connections == 0


def test_httpx_is_what_the_transport_sends_through(
    new_transport: NewTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tools that intercept `httpx` transports, such as pytest-httpx, intercept ours."""

    def intercepted(self: Any, request: httpx.Request) -> httpx.Response:
        assert request.read() == b"{}"
        assert request.headers["authorization"] == f"Bearer {KEY}"
        return httpx.Response(200, content=b"mocked")

    async def intercepted_async(self: Any, request: httpx.Request) -> httpx.Response:
        return intercepted(self, request)

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", intercepted)
    monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", intercepted_async)
    if new_transport is SyncTransport:
        assert drive(exchange(new_transport, "https://vendor.example")).body == b"mocked"
    else:
        for backend in ("asyncio", "trio"):
            assert anyio.run(exchange, new_transport, "https://vendor.example", backend=backend).body == b"mocked"


# --- after a fork ---------------------------------------------------------------------------------------------------


def test_a_forked_process_does_not_use_the_connections_of_its_parent() -> None:
    """BUGS 72."""
    if not hasattr(os, "fork"):
        pytest.skip("this system does not fork")
    with loopback(send(http(b"1"))) as server:
        transport = SyncTransport()
        drive(transport.send(post(server.url), Timeouts()))
        child = subprocess_of(lambda: drive(transport.send(post(server.url), Timeouts(total=5))).body)
        assert child == b"1"
        assert drive(transport.send(post(server.url), Timeouts())).body == b"1"
        drive(transport.close())
    assert server.connections == 2


def subprocess_of(work: Callable[[], bytes]) -> bytes:
    """What `work` gives in a forked process."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the server of the test is a thread
        child = os.fork()
    if child == 0:
        try:
            os.write(writing, work())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        found = pipe.read()
    os.waitpid(child, 0)
    return found
