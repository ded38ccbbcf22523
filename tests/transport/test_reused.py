"""A used connection that the server ends as the next request begins is replaced, where the server cannot have the request."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import time
from collections.abc import Iterator

import anyio
import pytest

from llm_rest import RequestStart
from llm_rest.errors import ConnectError, ProtocolError, RequestTooLargeError
from tests.callers import NewClient, answer
from tests.loopback import (
    END,
    Act,
    Loopback,
    chunks,
    early,
    gated,
    half_closed,
    head,
    http,
    loopback,
    reset,
    send,
    send_and_close,
)
from tests.transport.certificates import serving, trusting
from tests.transport.support import TEN_SECONDS, NewTransport, post

pytestmark = pytest.mark.anyio

OURS = "a client of the caller's keeps its own connections"
BODY = json.dumps(answer()).encode()
GOOD = http(BODY)
LARGE = b"x" * 12_000_000
"""More than the system takes of a request that the server does not read."""
CUT = early(reset())
"""The connection is broken off when the head of a request was read."""

TLS_OR_NOT = pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])


@contextlib.contextmanager
def serving_both(tls: bool, *acts: Act) -> Iterator[tuple[Loopback, dict[str, object]]]:
    """A server, with TLS or without, and the options of a transport that trusts it."""
    with loopback(*acts, tls=serving() if tls else None) as server:
        yield server, {"tls": trusting()} if tls else {}


@TLS_OR_NOT
@pytest.mark.parametrize("end", [send_and_close(), reset(), send_and_close(http(b"", "408 Too late"))])
async def test_an_end_that_came_before_the_request_costs_no_attempt(
    new_transport: NewTransport, tls: bool, end: Act
) -> None:
    with serving_both(tls, gated(GOOD, then=end), send(GOOD)) as (server, options):
        transport = new_transport(**options)
        assert (await transport.send(post(server.url), TEN_SECONDS)).status == 200
        server.go.set()
        assert server.wait_closed() == 0
        await anyio.sleep(0.05)  # until the end is here
        assert (await transport.send(post(server.url), TEN_SECONDS)).status == 200
        await transport.close()
    assert (server.connections, len(server.bodies)) == (2, 2)


@pytest.mark.parametrize("sent", [GOOD, head() + chunks(BODY) + END], ids=["length", "chunks"])
async def test_a_connection_with_bytes_behind_its_answer_is_replaced(new_transport: NewTransport, sent: bytes) -> None:
    """They are no answer to the next request."""
    with loopback(send(sent + GOOD[:40]), send(GOOD)) as server:
        transport = new_transport()
        for _ in range(2):
            assert (await transport.send(post(server.url), TEN_SECONDS)).body == BODY
        await transport.close()
    assert server.connections == 2


async def test_a_connection_that_was_idle_for_too_long_is_replaced(
    new_transport: NewTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llm_rest.transport.connection.KEEP_ALIVE", 0.01)
    with loopback(send(GOOD)) as server:
        transport = new_transport()
        for _ in range(2):
            assert (await transport.send(post(server.url), TEN_SECONDS)).status == 200
            await anyio.sleep(0.02)
        await transport.close()
    assert server.connections == 2


async def test_a_request_that_was_cut_while_it_was_written_is_written_again_outside_the_attempts(
    new_client: NewClient,
) -> None:
    events = list[object]()
    with loopback(send(GOOD), CUT, send(GOOD)) as server:
        async with new_client(base_url=server.url, on_event=events.append) as llm:
            await llm.generate("Hi")
            reply = await llm.generate(LARGE.decode())
    assert reply.output_text == "Hello"
    assert len(reply.info.attempts) == 1
    assert len([event for event in events if isinstance(event, RequestStart)]) == 2
    assert (server.connections, len(server.bodies)) == (2, 2)


@early
def ends_and_reads(connection: socket.socket, server: Loopback) -> bool:
    """End one side, also of TLS, and read what arrives."""
    if isinstance(connection, ssl.SSLSocket):
        connection.settimeout(0)
        with contextlib.suppress(OSError):
            connection.unwrap()
        connection = socket.socket(fileno=connection.detach())
        connection.settimeout(10)
    else:
        connection.shutdown(socket.SHUT_WR)
    with connection:
        while connection.recv(1_000_000):
            time.sleep(0.001)
    return False


@TLS_OR_NOT
async def test_an_end_that_is_seen_before_the_last_byte_ends_the_request(
    new_transport: NewTransport, tls: bool
) -> None:
    """A server that ends its side and still reads: what it reads is never the whole request."""
    with serving_both(tls, send(GOOD), ends_and_reads, send(GOOD)) as (server, options):
        transport = new_transport(**options)
        assert (await transport.send(post(server.url), TEN_SECONDS)).status == 200
        assert (await transport.send(post(server.url, LARGE), TEN_SECONDS)).status == 200
        await transport.close()
    assert (server.connections, len(server.bodies)) == (2, 2)


@pytest.mark.parametrize(
    ("acts", "connections", "large"),
    [
        pytest.param([send(GOOD), reset()], 1, False, id="wholly sent, then reset"),
        pytest.param([send(GOOD), send_and_close()], 1, False, id="wholly sent, then closed"),
        pytest.param([CUT], 1, True, id="cut on a new connection"),
        pytest.param([send(GOOD), CUT, CUT], 2, True, id="cut on a used connection and the one that replaced it"),
    ],
)
async def test_a_request_that_was_wholly_sent_is_not_delivered_twice(
    new_client: NewClient, acts: list[Act], connections: int, large: bool
) -> None:
    """Neither is one that was cut on a new connection: that is an attempt."""
    used = acts[0] is not CUT
    with loopback(*acts, send(GOOD)) as server:
        async with new_client(base_url=server.url) as llm:
            if used:
                await llm.generate("Hi")
            with pytest.raises((ConnectError, ProtocolError)) as caught:
                await llm.generate(LARGE.decode() if large else "Hi")
    assert len(caught.value.attempts) == 1
    assert (server.connections, len(server.bodies)) == (connections, used + (not large))


async def test_a_refusal_on_a_used_connection_is_read_and_the_request_not_sent_again(new_client: NewClient) -> None:
    with loopback(send(GOOD), early(half_closed(http(b"{}", "413 Too large"))), send(GOOD)) as server:
        async with new_client(base_url=server.url) as llm:
            await llm.generate("Hi")
            with pytest.raises(RequestTooLargeError):
                await llm.generate(LARGE.decode())
    assert server.connections == 1
