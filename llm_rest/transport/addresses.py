"""Which addresses may be reached when a URL came from somebody else."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any

from ..errors import ConfigError

_NAT64 = IPv6Network("64:ff9b::/96")


def is_public(address: str) -> bool:
    """Whether an IP address is reachable from everywhere: not private, loopback, link-local, multicast or reserved."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, IPv6Address):
        # A v4 address in a v6 coat is judged by what is inside.
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        if found in _NAT64:
            inner = IPv4Address(found.packed[-4:])
        if inner is not None:
            found = inner
    return found.is_global and not found.is_multicast


def checked_public(host: str, found: Iterable[tuple[Any, ...]]) -> None:
    """Return if a `getaddrinfo` answer holds public addresses only. Raises `ConfigError` otherwise."""
    addresses = [str(entry[4][0]) for entry in found]
    # All of them, because a name that answers with both is made to pass a check of one.
    if not addresses or not all(is_public(address) for address in addresses):
        raise ConfigError(f"{host} is not a public address", hint="only public addresses are fetched")
