"""What sync and async connections share: URLs, TLS, proxies, the request as the HTTP client takes it, and no network at all.

Follows the public API of httpx 0.28 and httpcore 1.0 (read 2026-11-20). One private place is used, with a way out where it
is missing: `_pool` of a transport, so that it holds one connection and no pool.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from ..errors import ConfigError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable, Iterator

    from . import Hidden, HttpRequest
    from .deadlines import Deadline
    from .exchange import RawHeaders

KEEP_ALIVE = 60.0
"""How long an idle connection is kept; most servers close theirs after that."""

IN_PROCESS = "inproc:"
"""A base URL that names a module with `handle(method, path, headers, body) -> (status, headers, body)`, and perhaps
`handle_stream`, the same with an iterator of bytes as its body."""


@lru_cache(maxsize=256)
def target(url: str) -> httpx.URL:
    """The URL, parsed once."""
    return httpx.URL(url)


@lru_cache(maxsize=256)
def origin_of(url: str) -> str:
    """Scheme, host and port of a URL; of an in-process one its module."""
    if url.startswith(IN_PROCESS):
        return url.partition("/")[0]
    parsed = target(url)
    return f"{parsed.scheme}://{parsed.netloc.decode('ascii')}"


@lru_cache(maxsize=1)
def tls_context() -> ssl.SSLContext:
    """The one TLS configuration of the process, made on first use because it takes a tenth of a second."""
    return httpx.create_ssl_context()


@lru_cache(maxsize=1)
def no_tls_context() -> ssl.SSLContext:
    """Stands in where nothing is encrypted, so that no certificates are loaded."""
    return httpx.create_ssl_context(verify=False)


def httpcore_origin(origin: str) -> httpcore.Origin:
    """The origin as the layer below the HTTP client takes it."""
    url = target(origin)
    return httpcore.Origin(url.raw_scheme, url.raw_host, url.port or (443 if url.scheme == "https" else 80))


def context_for(origin: str) -> ssl.SSLContext:
    """The TLS configuration that connections to an origin are made with."""
    return tls_context() if origin.startswith("https:") else no_tls_context()


def proxy_for(origin: str) -> httpx.Proxy | None:
    """The proxy that the environment names for an origin."""
    scheme, _, netloc = origin.partition("://")
    proxies = getproxies()
    named = proxies.get(scheme) or proxies.get("all")
    if not named or proxy_bypass(netloc):
        return None
    try:
        return httpx.Proxy(named if "://" in named else f"http://{named}")
    except Exception:
        problem = ConfigError(
            f"the environment names a proxy for {scheme} that is not a URL",
            hint=f"look at {scheme.upper()}_PROXY and ALL_PROXY",
        )
    raise problem


class OwnRequest(httpx.Request):
    """A request for a transport, without the work that a client's own constructor does for every possible caller."""

    def __init__(self, request: HttpRequest, deadline: Deadline) -> None:
        self.method = request.method
        self.url = target(request.url)
        # Here, and in `for_client`, the secrets leave their wrappers.
        headers = [
            (b"Host", self.url.netloc),
            *((n.encode(), _plain(v).encode("latin-1")) for n, v in request.headers.items()),
        ]
        if request.body or request.method != "GET":
            headers.append((b"Content-Length", b"%d" % len(request.body)))
        self.headers = httpx.Headers(headers)
        self.stream = httpx.ByteStream(request.body)
        self.extensions = {"timeout": deadline.for_client()}


def for_client(request: HttpRequest, deadline: Deadline, http: httpx.Client | httpx.AsyncClient) -> httpx.Request:
    """The request as a client of the caller's makes it, with what the client adds."""
    return http.build_request(
        request.method,
        request.url,
        headers=[(name, _plain(value)) for name, value in request.headers.items()],
        content=request.body if request.body or request.method != "GET" else None,
        extensions={"timeout": deadline.for_client()},
    )


def _plain(value: str | Hidden) -> str:
    return value if isinstance(value, str) else value.reveal()


class InProcess:
    """A server in this process, called without a socket."""

    prompt = False

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self._body: Iterator[bytes] = iter(())

    def usable(self) -> bool:
        """Every exchange is a call of its own."""
        return True

    async def open(self, request: HttpRequest, deadline: Deadline) -> tuple[int, RawHeaders]:
        """Let the module answer."""
        module: Any = import_module(self.origin.removeprefix(IN_PROCESS))
        headers = {n: _plain(value) for n, value in request.headers.items()}
        asked = request.method, request.url[len(self.origin) :] or "/", headers, request.body
        body: bytes | Iterable[bytes]
        if request.stream and hasattr(module, "handle_stream"):
            status, given, body = module.handle_stream(*asked)
        else:
            status, given, body = module.handle(*asked)
        self._body = iter([body] if isinstance(body, bytes) else body)
        pairs = given.items() if hasattr(given, "items") else given
        return status, [(n.encode("latin-1"), value.encode("latin-1")) for n, value in pairs]

    async def read(self) -> bytes | None:
        """The next piece of the body."""
        return next(self._body, None)

    async def finish(self) -> bool:
        """It can answer again."""
        return True

    async def close(self) -> None:
        """Tell the module that nobody listens any more, where it made a generator."""
        close = getattr(self._body, "close", None)
        with suppress(Exception):
            if close is not None:
                close()
