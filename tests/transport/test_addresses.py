"""Which addresses are reached when a URL came from somebody else."""

from __future__ import annotations

import pytest

from llm_rest.errors import (
    ConfigError,
)
from llm_rest.transport.address import is_public
from tests.loopback import (
    http,
    loopback,
    send,
)
from tests.transport.support import NewTransport, exchange

pytestmark = pytest.mark.anyio

OURS = "what is fetched from anywhere never goes through a client of somebody else"


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
