"""The address of a request: its URL, DNS lookup, the proxy of the environment, and addresses that may not be reached.

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
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from msgspec import Struct

from ..errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from . import HTTPRequest

IN_PROCESS = "inproc:"
"""A base URL that names a module of this process, which answers without a socket."""

_PRINTED = "/%:@!$&'()*+,;=?-._~[]"
"""What a path or a query may hold besides letters and digits; anything else is percent-encoded."""


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
    """The URL, taken apart once. Raises `ConfigError`, which does not repeat it, for one that leads nowhere."""
    try:
        parts = urlsplit(url)
        secure = {"https": True, "http": False}[parts.scheme]
        host = (parts.hostname or "").encode("idna").decode()
        port = parts.port
    except (ValueError, KeyError):
        host, parts, secure, port = "", urlsplit(""), False, None
    if not host or parts.username is not None:
        raise ConfigError("the URL is not one of http or https without a user name")
    authority = f"[{host}]" if ":" in host else host
    if port is not None and port != (443 if secure else 80):
        authority = f"{authority}:{port}"
    target = quote(parts.path or "/", safe=_PRINTED)
    if parts.query:
        target += "?" + quote(parts.query, safe=_PRINTED)
    return Address(f"{parts.scheme}://{authority}", secure, host, port or (443 if secure else 80), authority, target)


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL; of an in-process one its module."""
    return url.partition("/")[0] if url.startswith(IN_PROCESS) else address_of(url).origin


def peer_of(request: HTTPRequest) -> str:
    """Who answers a request, as errors name it: scheme, host, port and the vendor, such as `https://api.x.ai (xai)`."""
    origin = origin_of(request.url)
    return f"{origin} ({request.vendor})" if request.vendor else origin


AddressInfo = list[tuple[Any, ...]]
"""What `getaddrinfo` gives."""

MOST = 64
"""Look-ups that were given up and go on: where no name is answered for, their threads would pile up."""


class LookUp:
    """A question to the system, which all ask together who want its answer at the same time."""

    __slots__ = ("found", "over", "problem", "wakes")

    def __init__(self) -> None:
        self.over = False
        self.found: AddressInfo = []
        self.problem: Exception | None = None
        self.wakes: list[Callable[[], object]] = []

    def answer(self) -> AddressInfo:
        """What it came to. Raises what the system raised."""
        if self.problem is not None:
            raise self.problem
        return self.found


class Names:
    """The look-ups of this process that are under way."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew: in a forked process the threads are gone, and a lock may be held for ever."""
        self._lock = threading.Lock()
        self._joined: dict[tuple[str, int], LookUp] = {}
        self._left = 0

    @contextmanager
    def asking(self, host: str, port: int, wake: Callable[[], object]) -> Generator[LookUp]:
        """A look-up that calls `wake`, from its thread, when it is over. Whoever leaves earlier has given it up: the next
        who asks the same does so anew, because the system may have been answered meanwhile.
        """
        where = (host, port)
        with self._lock:
            look_up = self._joined.get(where)
            mine = look_up is None
            if look_up is None:
                if self._left >= MOST:
                    raise OSError(f"{MOST} look-ups of names are still without an answer")
                look_up = self._joined[where] = LookUp()
            look_up.wakes.append(wake)
        if mine:
            self._start(where, look_up)
        try:
            yield look_up
        finally:
            with self._lock:
                if not look_up.over:
                    look_up.wakes.remove(wake)
                    self._left += not look_up.wakes
                    self._part(where, look_up)

    def _start(self, where: tuple[str, int], look_up: LookUp) -> None:
        try:
            threading.Thread(target=self._ask, args=(where, look_up), name="llm_rest name", daemon=True).start()
        except RuntimeError:
            # There are no more threads, or the interpreter ends: then it takes as long as it takes.
            self._ask(where, look_up)

    def _ask(self, where: tuple[str, int], look_up: LookUp) -> None:
        try:
            look_up.found = [*socket.getaddrinfo(*where, type=socket.SOCK_STREAM)]
        except Exception as problem:
            look_up.problem = problem.with_traceback(None)
        finally:
            with self._lock:
                look_up.over = True
                self._left -= not look_up.wakes
                self._part(where, look_up)
            for wake in look_up.wakes:
                with suppress(RuntimeError):  # the loop of who waited has ended
                    wake()

    def _part(self, where: tuple[str, int], look_up: LookUp) -> None:
        """Let nobody join it any more."""
        if self._joined.get(where) is look_up:
            del self._joined[where]


NAMES = Names()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=NAMES.forget)


def as_number(host: str, port: int) -> AddressInfo | None:
    """The address that the host is already, which takes no look-up."""
    for family, more in ((socket.AF_INET, ()), (socket.AF_INET6, (0, 0))):
        with suppress(OSError):
            socket.inet_pton(family, host)
            return [(family, socket.SOCK_STREAM, 0, "", (host, port, *more))]
    return None


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
