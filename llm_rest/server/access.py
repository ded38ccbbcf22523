"""Access control of the server: access tokens, allowed host names, and limits on size, time and concurrency.

Before changing this file, know what each check is against: tokens are compared in constant time (timing attacks); `Host` and
`Origin` are checked where no token is needed, because a page in a browser can reach a server on the same machine, by DNS
rebinding or by a form (CSRF).
"""

from __future__ import annotations

import hmac
import re
from contextlib import contextmanager
from hashlib import sha256
from math import inf
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from anyio import move_on_after
from msgspec import Struct

from ..errors import ConfigError, ErrorFacts
from ..transport.framing import EntryCounter, exceeds_entries
from ..vendors.rows import is_loopback
from .handler import Refused, invalid_request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Mapping

LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
"""The host names of this machine."""

EXPOSED = "request-id, x-request-id, x-llm-rest-losses, x-should-retry, retry-after"
"""The headers of an answer that a script of a web page may read."""

GRACE = 1.0
"""The default time that running streams get to finish when a server is stopped, in seconds."""


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits of a server, in bytes, seconds and concurrent requests. Raises `ConfigError` for a limit not above 0."""

    body: int = 32 * 1024 * 1024
    """The maximum size of one request body, in bytes. A larger one is answered with 413."""
    entries: int = 40_000
    """The maximum number of JSON objects, lists and their entries in one request body. More are answered with 400."""
    bodies: int = 256 * 1024 * 1024
    """The maximum size of all request bodies at a time, in bytes. Further requests are answered with 503."""
    body_seconds: float = 60
    """The maximum time for receiving a request body, in seconds. A slower one is answered with 408."""
    head_seconds: float = 15
    """The maximum time of a connection without a complete request, in seconds, even if parts of a head arrive."""
    concurrent: int = 1000
    """The maximum number of concurrent requests of one caller (scope). Further ones are answered with 429."""
    stall: float = 120
    """Seconds in which a client must read some of the data that waits for it; otherwise its connection is closed."""
    output_tokens: int | None = None
    """The maximum `max_output_tokens` that is sent to a model; `None` is no limit."""
    seconds: float | None = None
    """The timeout for a model's answer, in seconds; `None` is no limit."""
    upstream: int = 1000
    """The maximum number of concurrent requests to vendors."""
    grace: float = 30
    """Seconds that running streams get to finish when the server is stopped; may be 0."""

    def __post_init__(self) -> None:
        """Raises `ConfigError` for a limit that is not a number above 0."""
        for name in self.__struct_fields__:
            value: float | None = getattr(self, name)
            if value is not None and not (0 < value < inf or (name, value) == ("grace", 0)):
                raise ConfigError(f"the limit {name} is a number above 0, not {value!r}")


class AccessControl:
    """Access control: access tokens, allowed host names, and limits.

    `tokens` are access tokens by the name of their caller, which is the scope of its requests; without them no token is
    needed. `hosts` are the host names that requests may name; without them any is accepted. `origins` are those of web pages
    whose scripts may call the server.
    """

    def __init__(
        self,
        *,
        tokens: Mapping[str, str] | None = None,
        hosts: frozenset[str] = frozenset(),
        limits: Limits | None = None,
        origins: tuple[str, ...] = (),
    ) -> None:
        self.limits = limits or Limits()
        """The limits for every request."""
        self._tokens = {name: _digest(token) for name, token in (tokens or {}).items()}
        self._hosts = hosts
        self._origins = frozenset(origins)
        self._inside: dict[str, int] = {}
        self.held = 0
        """The bytes of all request bodies in progress."""

    @classmethod
    def at(
        cls,
        host: str,
        *,
        tokens: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        origins: tuple[str, ...] = (),
    ) -> Self:
        """The access control of a server that listens on `host`. On loopback without tokens it accepts local host names only."""
        local = is_loopback(host) and not tokens
        return cls(tokens=tokens, hosts=LOCAL | {host} if local else frozenset(), limits=limits, origins=origins)

    def scope(self, headers: Mapping[str, str], *, public: bool = False) -> str:
        """The scope (caller) of a request by its headers; empty where no token is needed, as for a `public` path.

        Raises `Refused`: 401 for a missing or wrong token, 403 for another host name or origin.
        """
        if self._hosts:
            _check_host(headers.get("host", ""), self._hosts, "host")
            origin = headers.get("origin")
            if origin is not None and origin not in self._origins:
                _check_host(origin.partition("://")[2], self._hosts, "origin")
        if public or not self._tokens:
            return ""
        given = _digest(key(headers) or "")
        # All tokens are compared, even after a match.
        matching = [name for name, known in self._tokens.items() if hmac.compare_digest(known, given)]
        if not matching:
            message = "A valid access token of this server is needed, as an API key."
            raise Refused(ErrorFacts(status=401, message=message, code="invalid_api_key"))
        return matching[0]

    def cors(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The headers that let a script of a web page read the answer; none for an origin that is not configured."""
        origin = headers.get("origin")
        if origin is None or origin not in self._origins:
            return {"vary": "origin"} if self._origins else {}
        allowed = {"access-control-allow-origin": origin, "vary": "origin"}
        if "access-control-request-method" not in headers:
            return {**allowed, "access-control-expose-headers": EXPOSED}
        requested = headers.get("access-control-request-headers", "")
        return {
            **allowed,
            "access-control-allow-methods": "GET, POST, DELETE",
            **({"access-control-allow-headers": requested} if re.fullmatch(r"[\w\-, ]{1,2000}", requested) else {}),
            "access-control-max-age": "3600",
        }

    @property
    def busy(self) -> bool:
        """Whether requests are in progress."""
        return any(self._inside.values())

    @contextmanager
    def admitted(self, scope: str) -> Generator[Reading]:
        """Count a request of this caller during the block. Raises `Refused` (429) beyond `Limits.concurrent`."""
        inside = self._inside.get(scope, 0)
        if inside >= self.limits.concurrent:
            raise _busy(429, "Too many requests at a time.")
        self._inside[scope] = inside + 1
        try:
            with self.room() as reading:
                yield reading
        finally:
            self._inside[scope] -= 1

    @contextmanager
    def room(self) -> Generator[Reading]:
        """Count bytes against `Limits.bodies` during the block; all are released at its end."""
        reading = Reading(self)
        try:
            yield reading
        finally:
            reading.release(reading.held)


class Reading:
    """The bytes of one request, or of the messages of one connection, that count against `Limits.bodies`."""

    def __init__(self, access: AccessControl) -> None:
        self._access = access
        self.held = 0
        """The bytes of this request that count against `Limits.bodies`."""

    def hold(self, size: int) -> None:
        """Count `size` more bytes. Raises `Refused` (503) where `Limits.bodies` would be exceeded."""
        if self._access.held + size > self._access.limits.bodies:
            raise _busy(503, "The server is busy with large requests.")
        self.held += size
        self._access.held += size

    def release(self, size: int) -> None:
        """Release `size` bytes."""
        self.held -= size
        self._access.held -= size

    async def body(
        self, pieces: AsyncIterator[bytes], headers: Mapping[str, str], state: Mapping[str, object] | None = None
    ) -> bytes:
        """Read the whole body. Raises `Refused` for one that is compressed (415), too large (413), too slow (408) or in pieces
        that are too small (400): those of the application, and the chunks below it, which set `TOO_MANY_CHUNKS` in the `state`.
        """
        coding = headers.get("content-encoding", "identity").strip().lower()
        if coding not in ("", "identity"):
            raise Refused(ErrorFacts(status=415, message="Send the body as it is, without a content encoding."))
        limits, length = self._access.limits, headers.get("content-length", "")
        self._check_size(int(length[:20]) if length.isdecimal() else 0)
        body, counter, count = bytearray(), EntryCounter(), 0
        with move_on_after(limits.body_seconds):
            async for piece in pieces:
                self._check_size(len(body) + len(piece))
                self.hold(len(piece))
                if counter.feed(piece) > limits.entries:
                    raise self._too_many_entries()
                body += piece
                count += 1
                if (state and TOO_MANY_CHUNKS in state) or count > most_pieces(len(body)):
                    raise invalid_request(TOO_SMALL_PIECES)
            return bytes(body)
        raise Refused(ErrorFacts(status=408, message="The request took too long to arrive."))

    def check_entries(self, body: bytes) -> None:
        """Raise `Refused` (400) for a body with more than `Limits.entries` JSON entries."""
        if exceeds_entries(body, self._access.limits.entries):
            raise self._too_many_entries()

    def _too_many_entries(self) -> Refused:
        most = self._access.limits.entries
        return invalid_request(
            f"The request has more than {most:,} JSON objects, lists and entries of them; send fewer items."
        )

    def _check_size(self, size: int) -> None:
        if size > self._access.limits.body:
            raise Refused(ErrorFacts(status=413, message="The request is too large.", type="request_too_large"))


TOO_MANY_CHUNKS = "llm_rest.too_many_chunks"
"""The key in the state of an ASGI request whose body has too many chunks."""

MEAN_PIECE = 512
FEW_PIECES = 10_000

TOO_SMALL_PIECES = (
    f"The request came in more than {FEW_PIECES:,} pieces (chunks) with fewer than {MEAN_PIECE} bytes on average; "
    "send larger ones."
)


def most_pieces(size: int) -> int:
    """The number of chunks or fragments in which so many bytes may come: each costs time, however small it is."""
    return FEW_PIECES + size // MEAN_PIECE


def _busy(status: int, message: str) -> Refused:
    return Refused(ErrorFacts(status=status, message=message, code="rate_limit_exceeded", retry_after=1))


def key(headers: Mapping[str, str]) -> str | None:
    """The API key of a request, from any of the headers that vendors use."""
    for name in ("x-api-key", "x-goog-api-key", "api-key"):
        if name in headers:
            return headers[name]
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogateescape")).digest()


def _check_host(named: str, hosts: frozenset[str], header: str) -> None:
    try:
        host = urlsplit(f"//{named}").hostname
    except ValueError:
        host = None
    if host not in hosts:
        raise Refused(ErrorFacts(status=403, message=f"This server does not answer to that {header}."))
