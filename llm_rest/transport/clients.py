"""Exchanges through an HTTP client of the caller, through tools that intercept `httpx`, and with an in-process server.

Written once for threads and tasks: `httpx` and `httpx2`, sync and async, differ only in how they are called. Before
changing this file, know that such a client has its own connections, without the guarantees of this package's
connections; docs/client.md lists the differences.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import lru_cache, partial
from importlib import import_module
from inspect import isawaitable
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ..errors import APIConnectionError, ConfigError, LLMError
from ..sync import drive
from . import HTTPRequest
from .address import IN_PROCESS
from .connection import Connection, HTTPConnection, plain
from .deadlines import map_error

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from .deadlines import Deadline
    from .sockets import RawHeaders, Waiter


class ClientConnection(Connection):
    """An exchange through the caller's `httpx.Client` or `httpx.AsyncClient`, or one of `httpx2`."""

    def __init__(self, origin: str, waiter: Waiter, http: Any) -> None:
        super().__init__(origin, waiter)
        self.ends_in_time = waiter.interrupts
        self._http = http
        self._response: Any = None
        self._pieces: Any = None
        self._deadline: Deadline

    async def open(self, request: HTTPRequest, deadline: Deadline) -> tuple[int, RawHeaders]:
        deadline.sent()  # as far as can be detected
        return await self._open(request, deadline)

    async def _open(self, request: HTTPRequest, deadline: Deadline) -> tuple[int, RawHeaders]:
        self._deadline = deadline
        with self._waiter.within(deadline.left()):
            built = self._http.build_request(
                request.method,
                request.url,
                headers=[(name, plain(value)) for name, value in request.headers.items()],
                content=request.body if request.body or request.method != "GET" else None,
                extensions={"timeout": deadline.for_client()},
            )
            self._response = response = await _result(self._http.send(built, stream=True, follow_redirects=False))
        self._pieces = aiter(response.stream) if self._waiter.interrupts else iter(response.stream)
        return response.status_code, response.headers.raw

    async def read(self) -> bytes | None:
        with self._waiter.within(self._deadline.left()):
            return await self._next()

    async def _next(self) -> bytes | None:
        if self._pieces is None:
            return None
        piece: bytes | None = await _result(
            anext(self._pieces, None) if self._waiter.interrupts else next(self._pieces, None)
        )
        return piece

    async def _end(self) -> None:
        with self._waiter.shielded(), suppress(Exception):
            response, self._response = self._response, None
            if response is not None:
                await _result(response.aclose() if self._waiter.interrupts else response.close())
            # Async clients read by nested generators, which all end only at the end or at an error. A closed response
            # raises an error at once.
            while self._waiter.interrupts and await self._next() is not None:
                pass
            self._pieces = None

    async def close(self) -> None:
        await self._end()
        self.drop()


# --- interception -------------------------------------------------------------------------------------------------------

_Method = tuple[str, str, str]
"""A method of `httpx` that tools replace: its library, class and name, ordered from the outermost to the innermost."""

_PATCHED_METHODS: tuple[_Method, ...] = (
    ("httpx", "Client", "_send_single_request"),  # vcrpy before 8
    ("httpx", "Client", "_transport_for_url"),  # respx, pook
    ("httpx", "HTTPTransport", "handle_request"),  # pytest-httpx, vcrpy, OpenTelemetry
    ("httpcore", "ConnectionPool", "handle_request"),  # respx by default
    ("httpcore", "HTTPConnection", "handle_request"),  # respx by default, Elastic APM
)
_ASYNC_PATCHED_METHODS = tuple(
    (lib, f"Async{kind}", name.replace("handle_", "handle_async_")) for lib, kind, name in _PATCHED_METHODS
)


def intercepting(waiter: Waiter) -> bool:
    """Whether a method with which `httpx` sends was replaced, as by tools that mock, record or trace.

    Raises `ConfigError` for a mock that our requests would not go through.
    """
    if "httpx" not in sys.modules:
        return False
    methods = _ASYNC_PATCHED_METHODS if waiter.interrupts else _PATCHED_METHODS
    kind = methods[0][1]
    if "unittest.mock" in sys.modules and _is_mock(getattr(getattr(sys.modules["httpx"], kind), "send", None)):
        raise ConfigError(
            f"httpx.{kind}.send is a mock, which the requests of this library do not pass",
            hint=f"use respx or pytest-httpx, or pass http=httpx.{kind}(transport=httpx.MockTransport(...))",
        )
    return any(map(_replaced, methods))


def _replaced(method: _Method) -> bool:
    """Whether the method was replaced by another one."""
    library, kind, name = method
    module: Any = sys.modules.get(library)
    function: Any = getattr(getattr(module, kind, None), name, None)
    if function is None:
        return False
    return type(function) is not FunctionType or not function.__code__.co_filename.startswith(_folder(module))


@lru_cache(maxsize=8)
def _folder(module: Any) -> str:
    """The source folder of a library."""
    return str(Path(module.URL.__init__.__code__.co_filename).parent)


def _is_mock(method: Any) -> bool:
    mocks: Any = sys.modules["unittest.mock"].NonCallableMock
    return isinstance(method, mocks) or isinstance(getattr(method, "mock", None), mocks)


class InterceptedConnection(ClientConnection):
    """An exchange over our own connection through an `httpx` client, so that its replaced methods are called."""

    def __init__(self, inner: HTTPConnection, waiter: Waiter) -> None:
        super().__init__(inner.origin, waiter, None)
        self.ends_in_time = True
        self._inner = inner

    async def open(self, request: HTTPRequest, deadline: Deadline) -> tuple[int, RawHeaders]:
        try:
            self._http = self._client(deadline)
        except Exception as problem:
            text = f"httpx is mocked or traced in a way that this library cannot follow: {type(problem).__name__}: {problem}"
            hint = "pass an HTTP client of your own as http=, or end what replaces methods of httpx or httpcore"
            error: LLMError = ConfigError(text, hint=hint)
        else:
            try:
                return await self._open(request, deadline)
            except Exception as problem:
                error = map_error(problem, deadline)
            if type(error) is APIConnectionError:
                # Neither a network error nor one of an HTTP client: the tool rejects the request, like a mock without an answer.
                error = ConfigError(f"the mock or recorder of httpx rejected the request: {error.message}")
        raise error.with_traceback(None)

    def _client(self, deadline: Deadline) -> Any:
        """An `httpx` client that uses every replaced method and sends over our connection."""
        single, _, outer, pool, connection = _ASYNC_PATCHED_METHODS if self._waiter.interrupts else _PATCHED_METHODS
        httpx: Any = sys.modules["httpx"]
        transport = getattr(httpx, outer[1])(verify=_no_tls(), trust_env=False)
        inner = _PoolOfOne(self._inner, deadline)
        if _replaced(pool) or _replaced(connection):
            transport._pool.create_connection = partial(_core_connection, connection[1], inner)
        else:
            transport._pool = inner
        client = getattr(httpx, single[1])(transport=transport, trust_env=False)
        client.headers.clear()  # headers that `httpx` adds by default
        return client

    async def finish(self) -> HTTPConnection | None:
        """The connection, if the answer was received over it and read to its end."""
        await self._end()
        return await self._inner.finish()

    def drop(self) -> None:
        self._inner.drop()


@lru_cache(maxsize=1)
def _no_tls() -> Any:
    """An empty TLS configuration, since the transport encrypts nothing itself and a full one is slow to create."""
    import ssl

    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _core_connection(kind: str, inner: _PoolOfOne, origin: Any) -> Any:
    """An `httpcore` connection that sends over ours."""
    import httpcore

    made = getattr(httpcore, kind)(origin)
    made._connection = inner
    return made


class _PoolOfOne:
    """One connection of ours in the role of the pool, or the connection, of an `httpx` transport."""

    def __init__(self, connection: HTTPConnection, deadline: Deadline) -> None:
        self._connection = connection
        self._deadline = deadline

    async def _open(self, request: Any, body: bytes) -> Any:
        """Send the request from the interceptor, which may have changed it."""
        headers = {name.decode("ascii"): value.decode("latin-1") for name, value in request.headers}
        url = f"{self._connection.origin}{request.url.target.decode('ascii')}"
        kept = {name: value for name, value in headers.items() if name.lower() not in ("host", "content-length")}
        changed = HTTPRequest(request.method.decode("ascii"), url, kept, body)
        status, answered = await self._connection.open(changed, self._deadline)
        return status, [*answered]

    def handle_request(self, request: Any) -> Any:
        """Send a request (sync)."""
        from httpcore import Response

        status, headers = drive(self._open(request, b"".join(request.stream)))
        return Response(status, headers=headers, content=self._body())

    def _body(self) -> Iterator[bytes]:
        while piece := drive(self._connection.read()):
            yield piece

    async def handle_async_request(self, request: Any) -> Any:
        """Send a request (async)."""
        from httpcore import Response

        status, headers = await self._open(request, b"".join([piece async for piece in request.stream]))
        return Response(status, headers=headers, content=self._body_async())

    async def _body_async(self) -> AsyncIterator[bytes]:
        while piece := await self._connection.read():
            yield piece

    def _no(self) -> bool:
        """False: the pool of `httpcore` uses the connection for this one request."""
        return False

    is_available = has_expired = is_idle = is_closed = _no


async def _result(given: Any) -> Any:
    return await given if isawaitable(given) else given


# --- in-process servers -----------------------------------------------------------------------------------------------


class InProcessConnection(Connection):
    """A connection to a module with `handle(method, path, headers, body) -> (status, headers, body)`, and optionally
    `handle_stream`, whose body is an iterator of bytes and of numbers: seconds to wait before the next piece.
    """

    ends_in_time = False
    _body: Iterator[bytes | float] = iter(())
    _deadline: Deadline

    async def open(self, request: HTTPRequest, deadline: Deadline) -> tuple[int, RawHeaders]:
        self._deadline = deadline
        try:
            module: Any = import_module(self.origin.removeprefix(IN_PROCESS))
        except ModuleNotFoundError as missing:
            problem = f"{self.origin}: the module {missing.name} is not installed"
            raise ConfigError(problem, hint="install it, or choose another vendor") from None
        headers = {name: plain(value) for name, value in request.headers.items()}
        streams = request.stream and hasattr(module, "handle_stream")
        handle = module.handle_stream if streams else module.handle
        body: bytes | Iterable[bytes | float]
        status, given, body = handle(request.method, request.url[len(self.origin) :] or "/", headers, request.body)
        self._body = iter([body] if isinstance(body, bytes) else body)
        pairs = given.items() if hasattr(given, "items") else given
        return status, [(name.encode("latin-1"), value.encode("latin-1")) for name, value in pairs]

    async def read(self) -> bytes | None:
        await self._waiter.sleep(0)
        while isinstance(piece := next(self._body, None), int | float):
            left = self._deadline.allowed()
            await self._waiter.sleep(piece if left is None else min(piece, left))
            self._deadline.allowed()
        return piece

    def drop(self) -> None:
        """Close the module's generator."""
        with suppress(Exception):
            getattr(self._body, "close", bool)()
