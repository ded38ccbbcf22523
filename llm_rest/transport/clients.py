"""Exchanges without a connection of ours: through an HTTP client that the caller gave, or with a server in this process.

Written once for threads and tasks: `httpx` and `httpx2`, sync and async, differ only in how they are called. Before changing
this file, know that such a client has its own connections, so that what is promised of ours does not hold for its;
docs/client.md has the differences.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from functools import lru_cache, partial
from importlib import import_module
from inspect import isawaitable
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ..errors import APIConnectionError, ConfigError
from ..sync import drive
from . import HTTPRequest
from .address import IN_PROCESS, address_of
from .connection import Line, plain, raw_headers
from .deadlines import map_error

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from .deadlines import Deadline
    from .sockets import Connection, RawHeaders, Waiter


class _Through:
    """An exchange whose answer is an `httpx` response."""

    def __init__(self, origin: str, waiter: Waiter) -> None:
        self.origin = origin
        self.prompt = waiter.interrupts
        self._waiter = waiter
        self._response: Any = None
        self._pieces: Any = None
        self._deadline: Deadline

    def _begun(self, response: Any) -> tuple[int, RawHeaders]:
        self._response = response
        self._pieces = aiter(response.stream) if self._waiter.interrupts else iter(response.stream)
        return response.status_code, response.headers.raw

    async def read(self) -> bytes | None:
        """The next bytes of the body; `None` at its end."""
        with self._waiter.within(self._deadline.left()):
            return await self._next()

    async def _next(self) -> bytes | None:
        if self._pieces is None:
            return None
        if self._waiter.interrupts:
            return await anext(self._pieces, None)
        return next(self._pieces, None)

    async def _end(self) -> None:
        response, self._response = self._response, None
        if response is not None:
            await _result(response.aclose() if self._waiter.interrupts else response.close())
        # Async clients read by generators inside generators, which only an end or an error ends all of. What is closed gives
        # one or the other at once.
        with suppress(Exception):
            while self._waiter.interrupts and await self._next() is not None:
                pass
        self._pieces = None

    async def close(self) -> None:
        """End the exchange, whatever its state."""
        with self._waiter.shielded(), suppress(Exception):
            await self._end()

    def usable(self) -> bool:
        """Connections are kept by the client."""
        return False

    async def finish(self) -> Connection | None:
        """End the exchange. Whether its connection is used again is the client's business."""
        with suppress(Exception):
            await self._end()
        return None

    def drop(self) -> None:
        """What is the client's cannot be closed from anywhere."""


class OfClient(_Through):
    """An exchange through an `httpx.Client` or `httpx.AsyncClient`, or one of `httpx2`, that the caller gave."""

    def __init__(self, origin: str, waiter: Waiter, http: Any) -> None:
        super().__init__(origin, waiter)
        self._http = http

    async def open(self, request: HTTPRequest, deadline: Deadline) -> tuple[int, RawHeaders]:
        """Send the request and wait for the head of the answer: its status and headers."""
        self._deadline = deadline
        deadline.sent()  # as far as anybody can tell
        with self._waiter.within(deadline.left()):
            sent = self._http.send(self._built(request, deadline), stream=True, follow_redirects=False)
            return self._begun(await _result(sent))

    def _built(self, request: HTTPRequest, deadline: Deadline) -> Any:
        """The request as the client makes it, with what the client adds."""
        return self._http.build_request(
            request.method,
            request.url,
            headers=[(name, plain(value)) for name, value in request.headers.items()],
            content=request.body if request.body or request.method != "GET" else None,
            extensions={"timeout": deadline.for_client()},
        )


# --- tools that intercept -----------------------------------------------------------------------------------------------

_Seam = tuple[str, str, str]
"""Where tools replace what `httpx` sends with: the library, the class and its method, from the outermost to the innermost."""

_SEAMS: tuple[_Seam, ...] = (
    ("httpx", "Client", "_send_single_request"),  # vcrpy before 8
    ("httpx", "Client", "_transport_for_url"),  # respx, pook
    ("httpx", "HTTPTransport", "handle_request"),  # pytest-httpx, vcrpy, OpenTelemetry
    ("httpcore", "ConnectionPool", "handle_request"),  # respx by default
    ("httpcore", "HTTPConnection", "handle_request"),  # respx by default, Elastic APM
)
_ASYNC_SEAMS: tuple[_Seam, ...] = (
    ("httpx", "AsyncClient", "_send_single_request"),
    ("httpx", "AsyncClient", "_transport_for_url"),
    ("httpx", "AsyncHTTPTransport", "handle_async_request"),
    ("httpcore", "AsyncConnectionPool", "handle_async_request"),
    ("httpcore", "AsyncHTTPConnection", "handle_async_request"),
)


def intercepting(waiter: Waiter) -> bool:
    """Whether a method by which `httpx` sends was replaced, as tools that mock, record or trace do.

    Raises `ConfigError` for a mock that no request of ours would pass.
    """
    if "httpx" not in sys.modules:
        return False
    seams = _seams(waiter)
    kind = seams[0][1]
    if "unittest.mock" in sys.modules and _is_mock(getattr(getattr(sys.modules["httpx"], kind), "send", None)):
        raise ConfigError(
            f"httpx.{kind}.send is a mock, which the requests of this library do not pass",
            hint=f"use respx or pytest-httpx, or pass http=httpx.{kind}(transport=httpx.MockTransport(...))",
        )
    return any(map(_replaced, seams))


def _seams(waiter: Waiter) -> tuple[_Seam, ...]:
    return _ASYNC_SEAMS if waiter.interrupts else _SEAMS


def _replaced(seam: _Seam) -> bool:
    """Whether the method there is another than the library's own."""
    library, kind, name = seam
    module: Any = sys.modules.get(library)
    method: Any = getattr(getattr(module, kind, None), name, None)
    if method is None:
        return False
    return type(method) is not FunctionType or not method.__code__.co_filename.startswith(_folder(module))


@lru_cache(maxsize=8)
def _folder(module: Any) -> str:
    """Where the code of a library says that it comes from."""
    return str(Path(module.URL.__init__.__code__.co_filename).parent)


def _is_mock(method: Any) -> bool:
    mocks: Any = sys.modules["unittest.mock"].NonCallableMock
    return isinstance(method, mocks) or isinstance(getattr(method, "mock", None), mocks)


class Intercepted(_Through):
    """An exchange over a connection of ours that goes through what is replaced of `httpx`."""

    def __init__(self, line: Line, waiter: Waiter) -> None:
        super().__init__(line.origin, waiter)
        self.prompt = line.prompt
        self._line = line

    async def open(self, request: HTTPRequest, deadline: Deadline) -> tuple[int, RawHeaders]:
        """Let the transport of `httpx` send the request, and wait for the head of the answer."""
        import httpx

        self._deadline = deadline
        url = request.url
        extensions = {"timeout": deadline.for_client()}
        built = httpx.Request(
            request.method,
            url,
            headers=[*raw_headers(request, address_of(url).authority)],
            content=request.body,
            extensions=extensions,
        )
        send = self._sender(built.url, deadline)
        try:
            with self._waiter.within(deadline.left()):
                return self._begun(await _result(send(built)))
        except Exception as problem:
            error = map_error(problem, deadline)
        if type(error) is APIConnectionError:
            # No error of a network or of an HTTP client: the tool refuses the request, as mocks do that have no answer.
            error = ConfigError(f"the tool that replaces methods of httpx refused the request: {error.message}")
        raise error.with_traceback(None)

    def _sender(self, url: Any, deadline: Deadline) -> Any:
        """What `httpx` would send to this URL with, every replaced method in its place, over the connection of ours."""
        single, choose, outer, pool, connection = _seams(self._waiter)
        try:
            httpx: Any = sys.modules[outer[0]]
            transport = getattr(httpx, outer[1])(verify=_no_tls(), trust_env=False)
            inner = _OverLine(self._line, deadline)
            if _replaced(pool) or _replaced(connection):
                transport._pool.create_connection = partial(_core_connection, connection[1], inner)
            else:
                transport._pool = inner
            if _replaced(single) or _replaced(choose):
                client = getattr(httpx, single[1])(transport=transport, trust_env=False)
                if _replaced(single):
                    return client._send_single_request
                transport = client._transport_for_url(url)
            return getattr(transport, outer[2])
        except Exception as problem:
            text = f"{type(problem).__name__}: {problem}"
        raise ConfigError(
            f"httpx is mocked or traced in a way that this library cannot follow: {text}",
            hint="pass an HTTP client of your own as http=, or end what replaces methods of httpx or httpcore",
        )

    async def close(self) -> None:
        """End the exchange, and the connection with it."""
        await super().close()
        self.drop()

    async def finish(self) -> Line | None:
        """End the exchange. The connection can be used again where the answer came over it and was read to its end."""
        await super().finish()
        return await self._line.finish()

    def drop(self) -> None:
        """Close the connection, from anywhere."""
        self._line.drop()


@lru_cache(maxsize=1)
def _no_tls() -> Any:
    """What a transport is given that never encrypts anything itself: to make a usual one takes long."""
    import ssl

    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _core_connection(kind: str, inner: _OverLine, origin: Any) -> Any:
    """A connection of `httpcore` that is connected already: to ours."""
    import httpcore

    made = getattr(httpcore, kind)(origin)
    made._connection = inner
    return made


class _OverLine:
    """The innermost thing that a transport of `httpx` sends with, a pool or a connection as may be: the one connection."""

    def __init__(self, line: Line, deadline: Deadline) -> None:
        self._line = line
        self._deadline = deadline

    async def _answer(self, request: Any, body: bytes) -> tuple[int, RawHeaders]:
        """Send what the interceptor passed on, which may not be what it was given."""
        headers = {name.decode("ascii"): value.decode("latin-1") for name, value in request.headers}
        url = f"{self._line.origin}{request.url.target.decode('ascii')}"
        kept = {name: value for name, value in headers.items() if name.lower() not in ("host", "content-length")}
        return await self._line.open(HTTPRequest(request.method.decode("ascii"), url, kept, body), self._deadline)

    def handle_request(self, request: Any) -> Any:
        """Send a request in a thread."""
        from httpcore import Response

        status, headers = drive(self._answer(request, b"".join(request.stream)))
        return Response(status, headers=[*headers], content=self._body())

    def _body(self) -> Iterator[bytes]:
        while piece := drive(self._line.read()):
            yield piece

    async def handle_async_request(self, request: Any) -> Any:
        """The same in a loop."""
        from httpcore import Response

        body = b"".join([piece async for piece in request.stream])
        status, headers = await self._answer(request, body)
        return Response(status, headers=[*headers], content=self._body_async())

    async def _body_async(self) -> AsyncIterator[bytes]:
        while piece := await self._line.read():
            yield piece

    def _no(self) -> bool:
        """Not so: a pool is to leave it as it is, for this one request."""
        return False

    is_available = has_expired = is_idle = is_closed = _no


async def _result(given: Any) -> Any:
    return await given if isawaitable(given) else given


class InProcess:
    """A connection to a module with `handle(method, path, headers, body) -> (status, headers, body)`, and perhaps
    `handle_stream`, the same with an iterator as its body, of bytes and of numbers: seconds to wait before the next piece.
    """

    prompt = False

    def __init__(self, origin: str, waiter: Waiter) -> None:
        self.origin = origin
        self._waiter = waiter
        self._body: Iterator[bytes | float] = iter(())
        self._deadline: Deadline | None = None

    def usable(self) -> bool:
        """Every exchange is a call of its own."""
        return True

    async def open(self, request: HTTPRequest, deadline: Deadline) -> tuple[int, RawHeaders]:
        """Let the module answer."""
        self._deadline = deadline
        try:
            module: Any = import_module(self.origin.removeprefix(IN_PROCESS))
        except ModuleNotFoundError as missing:
            problem = f"{self.origin}: the module {missing.name} is not installed"
            raise ConfigError(problem, hint="install it, or choose another vendor") from None
        headers = {n: plain(value) for n, value in request.headers.items()}
        asked = request.method, request.url[len(self.origin) :] or "/", headers, request.body
        body: bytes | Iterable[bytes | float]
        if request.stream and hasattr(module, "handle_stream"):
            status, given, body = module.handle_stream(*asked)
        else:
            status, given, body = module.handle(*asked)
        self._body = iter([body] if isinstance(body, bytes) else body)
        pairs = given.items() if hasattr(given, "items") else given
        return status, [(n.encode("latin-1"), value.encode("latin-1")) for n, value in pairs]

    async def read(self) -> bytes | None:
        """The next piece of the body, other tasks having had their turn."""
        await self._waiter.others()
        piece = next(self._body, None)
        while isinstance(piece, int | float):
            await self._pause(piece)
            piece = next(self._body, None)
        return piece

    async def _pause(self, seconds: float) -> None:
        """Wait, no longer than the deadline allows; a task lets others run."""
        left = None if self._deadline is None else self._deadline.allowed()
        seconds = seconds if left is None else min(seconds, left)
        if self._waiter.interrupts:
            from anyio import sleep

            await sleep(seconds)
        else:
            _block(seconds)
        if self._deadline is not None:
            self._deadline.allowed()

    async def finish(self) -> InProcess:
        """It can answer again."""
        return self

    async def close(self) -> None:
        """Tell the module that nobody listens any more, where it made a generator."""
        close = getattr(self._body, "close", None)
        with suppress(Exception):
            if close is not None:
                close()

    def drop(self) -> None:
        """Nothing outside this process knows of it."""


def _block(seconds: float) -> None:
    time.sleep(seconds)
