"""Where requests go: a URL taken apart as a connection needs it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urlsplit

from ..errors import ConfigError

if TYPE_CHECKING:
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
