"""What sockets do that HTTP does not mention: addresses that refuse, are silent or not public, descriptors that run out."""

from __future__ import annotations

import contextlib
import gc
import socket
from typing import Any

import pytest

from llm_rest.errors import ConfigError, ConnectError
from llm_rest.transport import Timeouts
from llm_rest.transport.address import is_public
from tests.loopback import full, http, loopback, send
from tests.transport.support import TEN_SECONDS, NewTransport, exchange, nobody, post

pytestmark = pytest.mark.anyio

OURS = "how clients of httpx choose among addresses, and open sockets, is theirs"

PRIVATE = """
127.0.0.1 10.0.0.1 192.168.1.1 172.16.0.1 169.254.169.254 0.0.0.0 100.64.0.1 224.0.0.1 255.255.255.255
::1 :: fe80::1 fe80::1%eth0 fc00::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 2002:7f00:1:: 64:ff9b::7f00:1 ff02::1 nonsense
"""
PUBLIC = "1.1.1.1 2606:4700::1111 ::ffff:1.1.1.1"


@pytest.mark.parametrize("address", f"{PRIVATE} {PUBLIC}".split())
def test_public_addresses_are_told_from_others(address: str) -> None:
    assert is_public(address) is (address in PUBLIC.split())


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_private_address_is_not_connected_to(new_transport: NewTransport, host: str) -> None:
    with loopback(send(http(b"1"))) as server, pytest.raises(ConfigError, match="not a public address"):
        await exchange(new_transport, f"http://{host}:{server.port}", public_only=True)
    assert server.connections == 0


async def test_an_address_that_refuses_or_is_silent_does_not_hide_one_that_answers(
    new_transport: NewTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = socket.getaddrinfo
    with loopback(send(http(b"hello"))) as server, full() as silent:
        ports = [int(url.rpartition(":")[2]) for url in (nobody(), silent, nobody(), server.url)]
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)) for port in ports]

        def look_up(host: Any, *more: Any, **options: Any) -> Any:
            if host not in ("several.example", b"several.example"):
                return real(host, *more, **options)
            if options.get("flags"):
                raise socket.gaierror(socket.EAI_NONAME, "not a number")
            return found

        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        limits = Timeouts(connect=5, total=10)
        assert (await exchange(new_transport, "http://several.example", limits)).body == b"hello"


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
        try:
            with contextlib.suppress(OSError):
                while True:
                    held.append(socket.socket())
            with pytest.raises(ConnectError, match="too many open files; close") as caught:
                await transport.send(post(second.url), TEN_SECONDS)
            assert caught.value.retryable
            assert (await transport.send(post(first.url), TEN_SECONDS)).body == b"one"
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            for each in held:
                each.close()
        assert (await transport.send(post(second.url), TEN_SECONDS)).body == b"two"
        await transport.close()
    assert first.connections == 1
