"""What the transport promises of one exchange."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from llm_rest.errors import APITimeoutError, ClientClosedError, ConfigError
from llm_rest.transport import Timeouts
from tests.loopback import http, loopback, send, send_and_stall
from tests.transport.support import KEY, NewTransport, exchange, post

pytestmark = pytest.mark.anyio


async def test_an_answer_has_status_headers_and_body_and_its_connection_is_reused(new_transport: NewTransport) -> None:
    large = b"x" * 3_000_000
    with loopback(send(http(b"{}", "201 Created", "X-One: a", "x-one: b"))) as server:
        transport = new_transport()
        for _ in range(3):
            answer = await transport.send(post(server.url + "/v1/x?y=z", large), Timeouts())
            assert (answer.status, answer.body, answer.headers["x-one"]) == (201, b"{}", "a, b")
        await transport.close()
        with pytest.raises(ClientClosedError):
            await transport.send(post(server.url), Timeouts())
    assert server.heads[0].startswith(b"POST /v1/x?y=z HTTP/1.1\r\n")
    assert f"Authorization: Bearer {KEY}".encode() in server.heads[0]
    assert (server.bodies, server.connections) == ([large] * 3, 1)


@pytest.mark.parametrize(("sent", "again"), [(b"", True), (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx", False)])
async def test_a_total_timeout_is_retryable_where_no_answer_began(
    new_transport: NewTransport, sent: bytes, again: bool
) -> None:
    with loopback(send_and_stall(sent)) as server, pytest.raises(APITimeoutError) as caught:
        await exchange(new_transport, server.url, Timeouts(total=0.4))
    assert caught.value.retryable is again


@pytest.mark.parametrize("coding", ["identity", "gzip"])
async def test_the_body_of_an_error_is_read_up_to_its_limit(new_transport: NewTransport, coding: str) -> None:
    body = b"x" * 3_000_000
    sent = gzip.compress(body) if coding == "gzip" else body
    with loopback(send(http(sent, "400 No", f"content-encoding: {coding}"))) as server:
        answer = await exchange(new_transport, server.url)
    assert (answer.status, answer.body) == (400, body[: 64 * 1024])


@pytest.mark.parametrize("name", ["connect", "first_byte", "read", "stall", "total"])
@pytest.mark.parametrize("value", [-1, 0, float("nan"), float("inf"), True, "5"])
def test_a_timeout_is_a_positive_number(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=name):
        Timeouts(**{name: value})
