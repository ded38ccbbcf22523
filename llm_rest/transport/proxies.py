"""Which proxy the environment names for an origin, if any: `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`.

Follows what curl documents (everything.curl.dev/usingcurl/proxies/env, read 2026-11-20). Before changing this file, know
that these variables hold passwords: errors repeat a scheme, host and port, and only of a value that has nothing behind them.
"""

from __future__ import annotations

import os
from base64 import b64encode
from contextlib import suppress
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from ..errors import ConfigError

if TYPE_CHECKING:
    from .urls import Address


class Credentials:
    """The value of a `Proxy-Authorization` header, taken out only while the request is written."""

    __slots__ = ("__text",)

    def __init__(self, user: str, password: str) -> None:
        self.__text = "Basic " + b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode()

    def reveal(self) -> str:
        """The value itself."""
        return self.__text

    def __repr__(self) -> str:
        return "Credentials('[redacted]')"


class Proxy(Struct, frozen=True):
    """A proxy: where it listens, whether it speaks TLS itself, and what it wants to know; `variable` named it.

    `shown` is its URL for errors: empty where the value is so odd that a part of a password could be in it.
    """

    host: str
    port: int
    secure: bool
    credentials: Credentials | None
    variable: str
    shown: str = ""

    def named_for(self, peer: str) -> str:
        """The proxy on the way to `peer`, as errors name it."""
        return (
            f"the proxy {self.shown} ({self.variable}) for {peer}"
            if self.shown
            else f"the proxy of {self.variable} for {peer}"
        )


def proxy_for(address: Address) -> Proxy | None:
    """The proxy that the environment names for an address. Raises `ConfigError` for variables that make no sense."""
    variable = _variable("HTTPS_PROXY" if address.secure else "HTTP_PROXY") or _variable("ALL_PROXY")
    if variable is None or _excepted(address):
        return None
    found = _parsed(os.environ[variable].strip(), variable)
    if found is None:
        raise ConfigError(
            f"{variable} is not the URL of an http or https proxy",
            hint="for any other kind pass an HTTP client of your own as http=",
        )
    return found


def _variable(name: str) -> str | None:
    """The spelling of a variable that counts: in small letters first, where empty means no proxy."""
    if name.lower() in os.environ:
        return name.lower() if os.environ[name.lower()].strip() else None
    if name == "HTTP_PROXY" and "REQUEST_METHOD" in os.environ:
        return None  # in a CGI program this is a header of whoever asks (httpoxy)
    return name if os.environ.get(name, "").strip() else None


def _parsed(value: str, variable: str) -> Proxy | None:
    try:
        parts = urlsplit(value if "://" in value else f"http://{value}")
        host = (parts.hostname or "").encode("idna").decode()
        secure = {"http": False, "https": True}[parts.scheme]
        user = None if parts.username is None else Credentials(parts.username, parts.password or "")
        if not host or set(host) & set(" <>^|\\\"'`{}[]"):
            return None
        port = parts.port or (443 if secure else 80)
        odd = parts.path.strip("/") or parts.query or parts.fragment
        shown = "" if odd else f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}"
        return Proxy(host, port, secure, user, variable, shown)
    except (ValueError, KeyError):
        return None


# --- exceptions --------------------------------------------------------------------------------------------------------


def _excepted(address: Address) -> bool:
    """Whether `NO_PROXY` names the address: by host, domain, IP address, network, any of them with a port or as a URL, or `*`.

    Entries of another kind are skipped, as other programs do: the variable is seldom meant for this one alone.
    """
    variable = _variable("NO_PROXY")
    for entry in os.environ[variable].replace(",", " ").split() if variable else ():
        with suppress(ValueError):
            if entry == "*" or _covers(entry.lower(), address):
                return True
    return False


def _covers(entry: str, address: Address) -> bool:
    """Whether an entry names the address. Raises `ValueError` for one that names nothing."""
    host = address.host
    scheme, separator, named = entry.partition("://")
    if separator:
        if scheme != ("https" if address.secure else "http"):
            return False
        entry = named.partition("/")[0]
    if "/" in entry:
        network = ip_network(entry, strict=False)
        return _is_ip(host) and ip_address(host) in network
    if entry.startswith("[") or entry.count(":") > 1:
        name, _, port = entry[1:].partition("]") if entry[0] == "[" and "]" in entry else (entry, "", "")
        ip_address(name)
    else:
        name, colon, number = entry.partition(":")
        port = colon + number
    domain = name.removeprefix("*").removeprefix(".").removesuffix(".")
    if not domain or (port and not (port[0] == ":" and port[1:].isdecimal())):
        raise ValueError(entry)
    if port and int(port[1:]) != address.port:
        return False
    if _is_ip(name) or _is_ip(host):
        return _is_ip(name) and _is_ip(host) and ip_address(name) == ip_address(host)
    host = host.removesuffix(".")
    return host == domain or host.endswith(f".{domain}")


def _is_ip(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
