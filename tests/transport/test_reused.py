"""A used connection that the server ends as the next request begins is replaced, where the server cannot have the request."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator

import anyio
import pytest

from llm_rest import RequestStart
from llm_rest.errors import APIConnectionError, ConnectError, ProtocolError, RequestTooLargeError
from llm_rest.transport.connection import HTTPConnection
from tests.callers import NewClient, answer
from tests.loopback import accepting, http
from tests.transport.certificates import serving, trusting
from tests.transport.support import TEN_SECONDS, NewTransport, post

pytestmark = pytest.mark.anyio

OURS = "a client of the caller's keeps its own connections"
GOOD = http(json.dumps(answer()).encode())
LARGE = b"x" * 24_000_000
"""More than the system takes of a request that the server does not read."""

Step = Callable[[socket.socket], object]


class Peer:
    """A server that does these steps with its connections, a list for each; `whole` counts the requests it had whole."""

    def __init__(self, *, tls: ssl.SSLContext | None = None) -> None:
        self.connections: list[list[Step]] = []
        self.tls = tls
        self.seen = 0
        self.whole = 0
        self.go = threading.Event()
        self.stepped = threading.Event()

    def serve(self, connection: socket.socket) -> None:
        self.seen += 1
        steps = self.connections.pop(0)
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            connection.settimeout(10)
            if self.tls is not None:
                connection = stack.enter_context(self.tls.wrap_socket(connection, server_side=True))
            for step in steps:
                step(connection)
        self.stepped.set()

    def answered(self, connection: socket.socket) -> None:
        """Read a whole request and answer it."""
        self.read(connection)
        connection.sendall(GOOD)

    def waits(self, connection: socket.socket) -> None:
        """Wait until the test says so."""
        assert self.go.wait(10)

    def read(self, connection: socket.socket) -> None:
        """Read a whole request, or up to its end."""
        came = b""
        while b"\r\n\r\n" not in came:
            came += connection.recv(65536)
        head, _, body = came.partition(b"\r\n\r\n")
        left = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]) - len(body)
        while left > 0:
            piece = connection.recv(1_000_000)
            if not piece:
                return
            left -= len(piece)
        self.whole += 1


def begun(connection: socket.socket) -> None:
    """Read the beginning of a request and no more."""
    assert connection.recv(1000)


def reset(connection: socket.socket) -> None:
    """End the connection at once."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@contextlib.contextmanager
def running(peer: Peer, *connections: list[Step]) -> Iterator[str]:
    peer.connections = list(connections)
    with accepting(peer.serve) as url:
        yield f"{url if peer.tls is None else url.replace('http', 'https')}/v1"


@pytest.fixture(params=["plain", "tls"])
def trusted(request: pytest.FixtureRequest) -> tuple[Peer, dict[str, object]]:
    """A server, and the options of a transport that trusts it."""
    return (Peer(), {}) if request.param == "plain" else (Peer(tls=serving()), {"tls": trusting()})


Trusted = tuple[Peer, dict[str, object]]


@pytest.fixture
def unnoticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection ends between the look at whether it can be used and the request."""
    monkeypatch.setattr(HTTPConnection, "usable", lambda line: True)


@pytest.mark.usefixtures("unnoticed")
@pytest.mark.parametrize("ending", ["closed", "reset", "spoken"])
async def test_an_end_that_came_before_the_request_costs_no_attempt(
    new_transport: NewTransport, trusted: Trusted, ending: str
) -> None:
    peer, options = trusted
    last: dict[str, list[Step]] = {
        "closed": [],
        "reset": [reset],
        "spoken": [lambda connection: connection.sendall(http(b"", "HTTP/1.1 408 Too late"))],
    }
    with running(peer, [peer.answered, peer.waits, *last[ending]], [peer.answered]) as url:
        transport = new_transport(**options)
        assert (await transport.send(post(url), TEN_SECONDS)).status == 200
        peer.go.set()
        assert peer.stepped.wait(10)
        await anyio.sleep(0.05)  # until the end is here
        assert (await transport.send(post(url), TEN_SECONDS)).status == 200
        await transport.close()
    assert (peer.seen, peer.whole) == (2, 2)


async def test_a_request_that_was_cut_while_it_was_written_is_written_again_outside_the_attempts(
    new_client: NewClient,
) -> None:
    peer, events = Peer(), list[object]()
    with running(peer, [peer.answered, begun, reset], [peer.answered]) as url:
        async with new_client(base_url=url, on_event=events.append) as llm:
            await llm.generate("Hi")
            reply = await llm.generate(LARGE.decode())
    assert reply.output_text == "Hello"
    assert len(reply.info.attempts) == 1
    assert len([event for event in events if isinstance(event, RequestStart)]) == 2
    assert (peer.seen, peer.whole) == (2, 2)


async def test_an_end_that_is_seen_before_the_last_byte_ends_the_request(
    new_transport: NewTransport, trusted: Trusted
) -> None:
    """A server that ends its side and still reads: what it reads is never the whole request."""
    peer, options = trusted

    def ends_and_reads(connection: socket.socket) -> None:
        begun(connection)
        if peer.tls is None:
            connection.shutdown(socket.SHUT_WR)
        else:
            assert isinstance(connection, ssl.SSLSocket)
            connection.settimeout(0)
            with contextlib.suppress(OSError):
                connection.unwrap()
            connection = socket.socket(fileno=connection.detach())
            connection.settimeout(10)
        with connection:
            while connection.recv(1_000_000):
                time.sleep(0.001)

    with running(peer, [peer.answered, ends_and_reads], [peer.answered]) as url:
        transport = new_transport(**options)
        assert (await transport.send(post(url), TEN_SECONDS)).status == 200
        assert (await transport.send(post(url, LARGE), TEN_SECONDS)).status == 200
        await transport.close()
    assert (peer.seen, peer.whole) == (2, 2)


NOT_SENT_AGAIN: dict[str, Callable[[Peer], list[list[Step]]]] = {
    "wholly sent, then reset": lambda peer: [[peer.answered, peer.read, reset]],
    "wholly sent, then closed": lambda peer: [[peer.answered, peer.read]],
    "cut on a new connection": lambda peer: [[begun, reset]],
    "cut on a used connection and the one that replaced it": lambda peer: [
        [peer.answered, begun, reset],
        [begun, reset],
    ],
}


@pytest.mark.parametrize("how", NOT_SENT_AGAIN)
async def test_a_request_that_was_wholly_sent_is_not_delivered_twice(new_client: NewClient, how: str) -> None:
    """Neither is one that was cut on a new connection: that is an attempt."""
    peer = Peer()
    connections = NOT_SENT_AGAIN[how](peer)
    used = connections[0][0] == peer.answered
    with running(peer, *connections, [peer.answered]) as url:
        async with new_client(base_url=url) as llm:
            if used:
                await llm.generate("Hi")
            with pytest.raises(APIConnectionError) as caught:
                await llm.generate("Hi" if "wholly" in how else LARGE.decode())
    assert isinstance(caught.value, ConnectError | ProtocolError)
    assert len(caught.value.attempts) == 1
    assert (peer.seen, peer.whole) == (len(connections), used + ("wholly" in how))


async def test_a_refusal_on_a_used_connection_is_read_and_the_request_not_sent_again(new_client: NewClient) -> None:
    peer = Peer()

    def refuses(connection: socket.socket) -> None:
        begun(connection)
        connection.sendall(http(b"{}", "HTTP/1.1 413 Too large"))
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1_000_000):
            pass

    with running(peer, [peer.answered, refuses], [peer.answered]) as url:
        async with new_client(base_url=url) as llm:
            await llm.generate("Hi")
            with pytest.raises(RequestTooLargeError):
                await llm.generate(LARGE.decode())
    assert peer.seen == 1
