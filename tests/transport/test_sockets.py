"""What sockets do that HTTP does not mention: ends of all kinds, addresses that do not answer, descriptors that run out."""

from __future__ import annotations

import contextlib
import gc
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from llm_rest import RetryPolicy
from llm_rest.errors import ConnectError
from llm_rest.transport import Timeouts
from tests.callers import NewClient
from tests.loopback import (
    Loopback,
    http,
    loopback,
    send,
)
from tests.transport.support import TEN_SECONDS, NewTransport, exchange, nobody, ours, post
from tests.transport.test_sharing import GOOD

pytestmark = pytest.mark.anyio


# --- connections that wait -----------------------------------------------------------------------------------------------


async def test_a_request_that_meets_the_end_of_its_connection_is_made_again(new_client: NewClient) -> None:
    """Case T23: the server closes at the very moment when the next request comes."""

    def late(connection: socket.socket, server: Loopback) -> bool:
        return False

    with loopback(send(http(GOOD)), late, send(http(GOOD))) as server:
        async with new_client(base_url=f"{server.url}/v1", retry=RetryPolicy(base_delay=0.01)) as llm:
            for _ in range(2):
                assert (await llm.generate("Hi")).output_text == "Hello"
    assert len(server.heads) == 3


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
