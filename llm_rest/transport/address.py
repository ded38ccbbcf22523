"""The address of a request: its URL, the DNS lookup, the proxy of the environment, and the check for public addresses.

A lookup runs in a daemon thread of its own, because the system's call blocks and cannot be interrupted; a thread of an event
loop's pool would keep the program from ending. Proxies come from `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, as
curl documents them (everything.curl.dev/usingcurl/proxies/env, read 2026-11-20). Before changing this file, know that these
variables hold passwords: errors repeat only the scheme, host and port.
"""

from __future__ import annotations

import os
import socket
import threading
from base64 import b64encode
from collections.abc import Iterable
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import SplitResult, quote, unquote, urlsplit

from msgspec import Struct

from ..errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from . import HTTPRequest

IN_PROCESS = "inproc:"
"""The scheme of a base URL that names a module of this process, which is called without a socket."""

_PRINTED = "/%:@!$&'()*+,;=?-._~[]"
"""The characters of a path or a query besides letters and digits that are not percent-encoded."""


class Address(NamedTuple):
    """A URL as a connection needs it. `host` is as in a certificate, `authority` as in a `Host` header."""

    origin: str
    secure: bool
    host: str
    port: int
    authority: str
    target: str


@lru_cache(maxsize=256)
def address_of(url: str) -> Address:
    """The parsed URL. Raises `ConfigError`, which does not repeat the URL, for an invalid one."""
    with suppress(ValueError):
        parts, host, authority, port = _parsed(url)
        if parts.username is None:
            secure, target = parts.scheme == "https", quote(parts.path or "/", safe=_PRINTED)
            if parts.query:
                target += "?" + quote(parts.query, safe=_PRINTED)
            if port != _PORTS[parts.scheme]:
                authority = f"{authority}:{port}"
            return Address(f"{parts.scheme}://{authority}", secure, host, port, authority, target)
    raise ConfigError("the URL is not one of http or https without a user name")


_PORTS = {"http": 80, "https": 443}


def _parsed(url: str) -> tuple[SplitResult, str, str, int]:
    """The parts of a URL, its host as in a certificate and as in a URL, and its port. Raises `ValueError`."""
    parts = urlsplit(url)
    host = (parts.hostname or "").encode("idna").decode()
    if not host or parts.scheme not in _PORTS:
        raise ValueError("no URL of http or https")
    return parts, host, f"[{host}]" if ":" in host else host, parts.port or _PORTS[parts.scheme]


def origin_of(url: str) -> str:
    """The origin of a URL: scheme, host and port; of an in-process URL its module."""
    return url.partition("/")[0] if url.startswith(IN_PROCESS) else address_of(url).origin


def peer_of(request: HTTPRequest) -> str:
    """The server of a request for errors: scheme, host, port and vendor, such as `https://api.x.ai (xai)`."""
    origin = origin_of(request.url)
    return f"{origin} ({request.vendor})" if request.vendor else origin


AddressInfo = list[tuple[Any, ...]]
"""The result of `getaddrinfo`."""

MAX_ABANDONED = 64
"""The maximum number of abandoned lookups in flight: where DNS does not respond, their threads would accumulate."""


class Lookup:
    """A DNS lookup in a thread of its own, shared by all calls that need it at the same time."""

    def __init__(self) -> None:
        self.over = False
        self.found: AddressInfo = []
        self.problem: Exception | None = None
        self.wakes: list[Callable[[], object]] = []

    def answer(self) -> AddressInfo:
        """The addresses. Raises the system's error."""
        if self.problem is not None:
            raise self.problem
        return self.found


class Lookups:
    """The DNS lookups of this process that are in flight."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Reset after a fork, where the threads do not exist and a lock may be locked."""
        self._lock = threading.Lock()
        self._shared: dict[tuple[str, int], Lookup] = {}
        self._abandoned = 0

    @contextmanager
    def lookup(self, host: str, port: int, wake: Callable[[], object]) -> Generator[Lookup]:
        """A lookup that calls `wake`, from its thread, when it ends. Leaving early abandons it: the next lookup of the
        same name is a new one, because DNS may respond by then.
        """
        where = (host, port)
        with self._lock:
            lookup = self._shared.get(where)
            begins = lookup is None
            if lookup is None:
                if self._abandoned >= MAX_ABANDONED:
                    raise OSError(f"{MAX_ABANDONED} DNS lookups are still without an answer")
                lookup = self._shared[where] = Lookup()
            lookup.wakes.append(wake)
        if begins:
            work = partial(self._run, where, lookup)
            try:
                threading.Thread(target=work, name="llm_rest name", daemon=True).start()
            except RuntimeError:
                work()  # no more threads, or the interpreter is shutting down: this blocks
        try:
            yield lookup
        finally:
            with self._lock:
                if not lookup.over:
                    lookup.wakes.remove(wake)
                    self._abandoned += not lookup.wakes
                    self._unshare(where, lookup)

    def _run(self, where: tuple[str, int], lookup: Lookup) -> None:
        try:
            lookup.found = [*socket.getaddrinfo(*where, type=socket.SOCK_STREAM)]
        except Exception as problem:
            lookup.problem = problem.with_traceback(None)
        finally:
            with self._lock:
                lookup.over = True
                self._abandoned -= not lookup.wakes
                self._unshare(where, lookup)
            for wake in lookup.wakes:
                with suppress(RuntimeError):  # the event loop that waited has ended
                    wake()

    def _unshare(self, where: tuple[str, int], lookup: Lookup) -> None:
        if self._shared.get(where) is lookup:
            del self._shared[where]


DNS = Lookups()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=DNS.forget)


def as_number(host: str, port: int) -> AddressInfo | None:
    """The `getaddrinfo` result for an IP address, which needs no lookup; `None` for a name."""
    for family, more in ((socket.AF_INET, ()), (socket.AF_INET6, (0, 0))):
        with suppress(OSError):
            socket.inet_pton(family, host)
            return [(family, socket.SOCK_STREAM, 0, "", (host, port, *more))]
    return None


class Credentials:
    """The value of a `Proxy-Authorization` header, unwrapped only while the request is written."""

    __slots__ = ("__text",)

    def __init__(self, user: str, password: str) -> None:
        self.__text = "Basic " + b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode()

    def reveal(self) -> str:
        """The value in the clear."""
        return self.__text

    def __repr__(self) -> str:
        return "Credentials('[redacted]')"


class Proxy(Struct, frozen=True):
    """A proxy: its address, whether it uses TLS itself, its credentials, and the environment variable that named it.

    `shown` is its URL for errors: empty where a part of a password could be in an unusual place of the value.
    """

    host: str
    port: int
    secure: bool
    credentials: Credentials | None
    variable: str
    shown: str = ""

    def named_for(self, peer: str) -> str:
        """The description of this proxy and of the `peer` behind it, for errors."""
        named = f"{self.shown} ({self.variable})" if self.shown else f"of {self.variable}"
        return f"the proxy {named} for {peer}"


def proxy_for(address: Address) -> Proxy | None:
    """The proxy of the environment for an address. Raises `ConfigError` for an invalid variable."""
    variable = _variable("HTTPS_PROXY" if address.secure else "HTTP_PROXY") or _variable("ALL_PROXY")
    if variable is None or _excepted(address):
        return None
    with suppress(ValueError):
        return _proxy(os.environ[variable].strip(), variable)
    hint = "for any other kind pass an HTTP client of your own as http="
    raise ConfigError(f"{variable} is not the URL of an http or https proxy", hint=hint)


def _variable(name: str) -> str | None:
    """The value of a proxy variable: the lower-case one first, where an empty value means no proxy."""
    if name.lower() in os.environ:
        return name.lower() if os.environ[name.lower()].strip() else None
    if name == "HTTP_PROXY" and "REQUEST_METHOD" in os.environ:
        return None  # in a CGI program this variable is a header of the request (httpoxy)
    return name if os.environ.get(name, "").strip() else None


def _proxy(value: str, variable: str) -> Proxy:
    parts, host, authority, port = _parsed(value if "://" in value else f"http://{value}")
    if set(host) & set(" <>^|\\\"'`{}[]"):
        raise ValueError(variable)
    user = None if parts.username is None else Credentials(parts.username, parts.password or "")
    odd = parts.path.strip("/") or parts.query or parts.fragment
    shown = "" if odd else f"{parts.scheme}://{authority}:{port}"
    return Proxy(host, port, parts.scheme == "https", user, variable, shown)


# --- exceptions --------------------------------------------------------------------------------------------------------


def _excepted(address: Address) -> bool:
    """Whether `NO_PROXY` names the address: by host, domain, IP address, network, any of them with a port or as a URL, or `*`.

    Other entries are skipped, as other programs do, since the variable is for all of them.
    """
    variable = _variable("NO_PROXY")
    for entry in os.environ[variable].replace(",", " ").split() if variable else ():
        with suppress(ValueError):
            if entry == "*" or _covers(entry.lower(), address):
                return True
    return False


def _covers(entry: str, address: Address) -> bool:
    """Whether an entry matches the address. Raises `ValueError` for an invalid one."""
    scheme, separator, named = entry.partition("://")
    if separator:
        if scheme != ("https" if address.secure else "http"):
            return False
        entry = named.partition("/")[0]
    ip = _ip(address.host)
    if "/" in entry:
        network = ip_network(entry, strict=False)
        return ip is not None and ip in network
    if entry.count(":") > 1 and not entry.startswith("["):
        entry = f"[{entry}]"
    parts = urlsplit(f"//{entry}")
    name = parts.hostname or ""
    if parts.port not in (None, address.port):
        return False
    if ip or _ip(name):
        return ip == _ip(name)
    domain = name.removeprefix("*").removeprefix(".").removesuffix(".")
    host = address.host.removesuffix(".")
    return bool(domain) and (host == domain or host.endswith(f".{domain}"))


def _ip(text: str) -> IPv4Address | IPv6Address | None:
    with suppress(ValueError):
        return ip_address(text)
    return None


_NAT64 = IPv6Network("64:ff9b::/96")


def is_public(address: str) -> bool:
    """Whether an IP address is public: not private, loopback, link-local, multicast or reserved."""
    found = _ip(address.partition("%")[0])
    if isinstance(found, IPv6Address):
        # An IPv4 address inside an IPv6 address is checked separately.
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        if found in _NAT64:
            inner = IPv4Address(found.packed[-4:])
        found = inner or found
    return found is not None and found.is_global and not found.is_multicast


def require_public(host: str, found: Iterable[tuple[Any, ...]]) -> None:
    """Return if all addresses of a `getaddrinfo` result are public. Raises `ConfigError` otherwise."""
    addresses = [str(entry[4][0]) for entry in found]
    # All of them are checked: mixing both kinds may be an attempt to bypass a check of the first.
    if not addresses or not all(is_public(address) for address in addresses):
        raise ConfigError(f"{host} is not a public address", hint="only public addresses are fetched")
