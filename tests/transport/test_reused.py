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
import trustme

from llm_rest import RequestStart
from llm_rest.errors import APIConnectionError, ConnectError, ProtocolError, RequestTooLargeError
from llm_rest.transport.connection import HTTPConnection
from tests.callers import NewClient, answer
from tests.loopback import http
from tests.transport.support import TEN_SECONDS, NewTransport, post

pytestmark = pytest.mark.anyio

OURS = "a client of the caller's keeps its own connections"
GOOD = http(json.dumps(answer()).encode())
LARGE = b"x" * 24_000_000
"""More than the system takes of a request that nobody reads."""

Step = Callable[[socket.socket], None]


class Peer:
    """A server that does these steps with its connections, a list for each; `whole` counts the requests it had whole."""

    def __init__(self, *connections: list[Step], tls: ssl.SSLContext | None = None) -> None:
        self.connections = list(connections)
        self.tls = tls
        self.seen = 0
        self.whole = 0
        self.go = threading.Event()
        self.stepped = threading.Event()
        self.url = ""

    def serve(self, listening: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                self.seen += 1
                steps = self.connections.pop(0)
                with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
                    stack.enter_context(connection)
                    connection.settimeout(10)
                    if self.tls is not None:
                        connection = stack.enter_context(self.tls.wrap_socket(connection, server_side=True))
                    for step in steps:
                        step(connection)
                self.stepped.set()

    def answered(self, data: bytes = GOOD) -> Step:
        """Read a whole request and send this."""

        def step(connection: socket.socket) -> None:
            self.read(connection)
            connection.sendall(data)

        return step

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
def running(peer: Peer) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=peer.serve, args=(listening,), daemon=True)
        thread.start()
        scheme = "http" if peer.tls is None else "https"
        yield f"{scheme}://localhost:{listening.getsockname()[1]}/v1"
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(10)
    assert not thread.is_alive()


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(params=["plain", "tls"])
def trusted(request: pytest.FixtureRequest, authority: trustme.CA) -> tuple[ssl.SSLContext | None, dict[str, object]]:
    """How the server encrypts, and the options of a transport that trusts it."""
    if request.param == "plain":
        return None, {}
    theirs, ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("localhost").configure_cert(theirs)
    authority.configure_trust(ours)
    return theirs, {"tls": ours}


Trusted = tuple[ssl.SSLContext | None, dict[str, object]]


@pytest.fixture
def unnoticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection ends between the look at whether it can be used and the request."""
    monkeypatch.setattr(HTTPConnection, "usable", lambda line: True)


@pytest.mark.usefixtures("unnoticed")
@pytest.mark.parametrize("ending", ["closed", "reset", "spoken"])
async def test_an_end_that_came_before_the_request_costs_no_attempt(
    new_transport: NewTransport, trusted: Trusted, ending: str
) -> None:
    tls, options = trusted
    peer = Peer(tls=tls)
    last: dict[str, list[Step]] = {
        "closed": [],
        "reset": [reset],
        "spoken": [lambda connection: connection.sendall(http(b"", "HTTP/1.1 408 Too late"))],
    }
    peer.connections = [[peer.answered(), peer.waits, *last[ending]], [peer.answered()]]
    with running(peer) as url:
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
    peer = Peer()
    peer.connections = [[peer.answered(), begun, reset], [peer.answered()]]
    events: list[object] = []
    with running(peer) as url:
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
    tls, options = trusted
    peer = Peer(tls=tls)

    def ends_and_reads(connection: socket.socket) -> None:
        begun(connection)
        if tls is None:
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

    peer.connections = [[peer.answered(), ends_and_reads], [peer.answered()]]
    with running(peer) as url:
        transport = new_transport(**options)
        assert (await transport.send(post(url), TEN_SECONDS)).status == 200
        assert (await transport.send(post(url, LARGE), TEN_SECONDS)).status == 200
        await transport.close()
    assert (peer.seen, peer.whole) == (2, 2)


@pytest.mark.parametrize("end", [reset, lambda connection: None], ids=["reset", "closed"])
async def test_a_request_that_was_wholly_sent_is_not_delivered_twice(new_client: NewClient, end: Step) -> None:
    peer = Peer()
    peer.connections = [[peer.answered(), peer.read, end], [peer.answered()]]
    with running(peer) as url:
        async with new_client(base_url=url) as llm:
            await llm.generate("Hi")
            with pytest.raises(APIConnectionError) as caught:
                await llm.generate("Hi")
    assert isinstance(caught.value, ConnectError | ProtocolError)
    assert len(caught.value.attempts) == 1
    assert (peer.seen, peer.whole) == (1, 2)


async def test_a_new_connection_that_ends_while_the_request_is_written_is_an_attempt(new_client: NewClient) -> None:
    peer = Peer()
    peer.connections = [[begun, reset], [peer.answered()]]
    with running(peer) as url:
        async with new_client(base_url=url) as llm:
            with pytest.raises((ConnectError, ProtocolError)) as caught:
                await llm.generate(LARGE.decode())
    assert len(caught.value.attempts) == 1
    assert peer.seen == 1


async def test_a_used_connection_is_replaced_once(new_client: NewClient) -> None:
    peer = Peer()
    peer.connections = [[peer.answered(), begun, reset], [begun, reset], [peer.answered()]]
    with running(peer) as url:
        async with new_client(base_url=url) as llm:
            await llm.generate("Hi")
            with pytest.raises((ConnectError, ProtocolError)):
                await llm.generate(LARGE.decode())
    assert (peer.seen, peer.whole) == (2, 1)


async def test_a_refusal_on_a_used_connection_is_heard_and_not_sent_again(new_client: NewClient) -> None:
    peer = Peer()

    def refuses(connection: socket.socket) -> None:
        begun(connection)
        connection.sendall(http(b"{}", "HTTP/1.1 413 Too large"))
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1_000_000):
            pass

    peer.connections = [[peer.answered(), refuses], [peer.answered()]]
    with running(peer) as url:
        async with new_client(base_url=url) as llm:
            await llm.generate("Hi")
            with pytest.raises(RequestTooLargeError) as caught:
                await llm.generate(LARGE.decode())
    assert caught.value.status == 413
    assert peer.seen == 1
