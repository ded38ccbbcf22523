"""Exchanges through an HTTP client that is not ours: one given by the caller, or a tool that intercepts `httpx`.

Written once for threads and tasks: `httpx` and `httpx2`, sync and async, differ in how things are called and not in what
they are. Before changing this file, know that such a client keeps its own connections, so what is promised of ours is not
promised of its; docs/client.md says what.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from inspect import isawaitable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ..driving import drive
from . import HttpRequest
from .line import Line, plain, raw_headers
from .urls import address_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from .connections import RawHeaders
    from .deadlines import Deadline
    from .sockets import Waiter


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

    async def finish(self) -> bool:
        """End the exchange. Whether its connection is used again is the client's business."""
        with suppress(Exception):
            await self._end()
        return False

    def drop(self) -> None:
        """What is the client's cannot be closed from anywhere."""


class OfClient(_Through):
    """An exchange through an `httpx.Client` or `httpx.AsyncClient`, or one of `httpx2`, that the caller gave."""

    def __init__(self, origin: str, waiter: Waiter, http: Any) -> None:
        super().__init__(origin, waiter)
        self._http = http

    async def open(self, request: HttpRequest, deadline: Deadline) -> tuple[int, RawHeaders]:
        """Send the request and wait for the head of the answer: its status and headers."""
        self._deadline = deadline
        deadline.sent()  # as far as anybody can tell
        with self._waiter.within(deadline.left()):
            sent = self._http.send(self._built(request, deadline), stream=True, follow_redirects=False)
            return self._begun(await _result(sent))

    def _built(self, request: HttpRequest, deadline: Deadline) -> Any:
        """The request as the client makes it, with what the client adds."""
        return self._http.build_request(
            request.method,
            request.url,
            headers=[(name, plain(value)) for name, value in request.headers.items()],
            content=request.body if request.body or request.method != "GET" else None,
            extensions={"timeout": deadline.for_client()},
        )


# --- tools that intercept -----------------------------------------------------------------------------------------------


def intercepting(waiter: Waiter) -> bool:
    """Whether somebody replaced the method by which transports of `httpx` send, as tools that record or mock do."""
    module: Any = sys.modules.get("httpx")
    if module is None:
        return False
    kind, name = _method(module, waiter)
    method: Any = getattr(kind, name, None)
    source = getattr(getattr(kind.__init__, "__code__", None), "co_filename", None)
    return type(method) is not FunctionType or method.__code__.co_filename != source


def _method(module: Any, waiter: Waiter) -> tuple[Any, str]:
    if waiter.interrupts:
        return module.AsyncHTTPTransport, "handle_async_request"
    return module.HTTPTransport, "handle_request"


class Intercepted(_Through):
    """An exchange over a connection of ours that goes through a transport of `httpx`, because somebody listens there."""

    def __init__(self, line: Line, waiter: Waiter) -> None:
        super().__init__(line.origin, waiter)
        self._line = line

    async def open(self, request: HttpRequest, deadline: Deadline) -> tuple[int, RawHeaders]:
        """Let the transport send the request, and wait for the head of the answer."""
        import ssl

        import httpx

        self._deadline = deadline
        kind, name = _method(httpx, self._waiter)
        transport = kind(verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), trust_env=False)
        transport._pool = (_AsyncPool if self._waiter.interrupts else _Pool)(self._line, deadline)
        url = request.url
        extensions = {"timeout": deadline.for_client()}
        built = httpx.Request(
            request.method,
            url,
            headers=[*raw_headers(request, address_of(url).authority)],
            content=request.body,
            extensions=extensions,
        )
        with self._waiter.within(deadline.left()):
            return self._begun(await _result(getattr(transport, name)(built)))

    async def close(self) -> None:
        """End the exchange, and the connection with it."""
        await super().close()
        self.drop()

    async def finish(self) -> bool:
        """End the exchange; the next one has a connection of its own."""
        self.drop()
        return await super().finish()

    def drop(self) -> None:
        """Close the connection, from anywhere."""
        self._line.drop()


class _Pool:
    """What a transport has instead of a pool: the one connection."""

    def __init__(self, line: Line, deadline: Deadline) -> None:
        self._line = line
        self._deadline = deadline

    async def _answer(self, request: Any, body: bytes) -> tuple[int, RawHeaders]:
        """Send what the interceptor passed on, which may not be what it was given."""
        headers = {name.decode("ascii"): value.decode("latin-1") for name, value in request.headers}
        url = f"{self._line.origin}{request.url.target.decode('ascii')}"
        kept = {name: value for name, value in headers.items() if name.lower() not in ("host", "content-length")}
        return await self._line.open(HttpRequest(request.method.decode("ascii"), url, kept, body), self._deadline)

    def handle_request(self, request: Any) -> Any:
        """What a transport asks of its pool."""
        from httpcore import Response

        status, headers = drive(self._answer(request, b"".join(request.stream)))
        return Response(status, headers=[*headers], content=self._body())

    def _body(self) -> Iterator[bytes]:
        while piece := drive(self._line.read()):
            yield piece


class _AsyncPool(_Pool):
    """The same in a loop."""

    async def handle_async_request(self, request: Any) -> Any:
        """What a transport asks of its pool."""
        from httpcore import Response

        body = b"".join([piece async for piece in request.stream])
        status, headers = await self._answer(request, body)
        return Response(status, headers=[*headers], content=self._body_async())

    async def _body_async(self) -> AsyncIterator[bytes]:
        while piece := await self._line.read():
            yield piece


async def _result(given: Any) -> Any:
    return await given if isawaitable(given) else given
