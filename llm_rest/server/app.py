"""The server as an ASGI application, and ways to run it. Needs the extra `server`: Starlette and uvicorn.

One route takes every path: which wire is meant, and everything that may be wrong, is decided by `exchange`. Starlette and
uvicorn are imported when something is served, so that the in-process simulator needs neither.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anyio import sleep
from anyio.lowlevel import checkpoint

from ..errors import ConfigError, ErrorFacts
from . import listings
from .exchange import Answer, Streamed, exchange, refused
from .handler import Pause
from .simulator import Simulator

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator

    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request as HttpRequest
    from starlette.responses import Response as HttpResponse

    from .handler import Handler

LARGEST = 64 * 1024 * 1024
"""The largest request body that is read."""

_log = logging.getLogger(__name__)


def create_app(handler: Handler | None = None) -> Starlette:
    """The ASGI application around `handler`; the simulator without one.

    Raises `ConfigError` where the extra `server` is not installed.
    """
    try:
        from starlette.applications import Starlette
        from starlette.responses import Response as HttpResponse
        from starlette.responses import StreamingResponse
        from starlette.routing import Route
    except ImportError as missing:
        raise _missing(missing) from None
    answering: Handler = handler or Simulator()

    async def endpoint(request: HttpRequest) -> HttpResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        body = await _body(request)
        answer: Answer | Streamed
        if body is None:
            facts = ErrorFacts(status=413, message="The request is too large.", type="request_too_large")
            answer = refused(listings.caller(headers), facts)
        else:
            try:
                answer = exchange(request.method, request.url.path, headers, body, answering)
            except Exception:
                _log.exception("a request failed")
                answer = refused(listings.caller(headers), ErrorFacts(status=500, message="The server failed."), body)
        if isinstance(answer, Streamed):
            return StreamingResponse(_pieces(answer.body), answer.status, answer.headers)
        return HttpResponse(answer.body, answer.status, answer.headers)

    methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
    return Starlette(routes=[Route("/{path:path}", endpoint, methods=methods)])


async def _pieces(body: Generator[bytes | Pause]) -> AsyncIterator[bytes]:
    """The pieces of a stream; `body` is closed at its end and where the client goes away."""
    try:
        for piece in body:
            if isinstance(piece, Pause):
                await sleep(piece.seconds)
            else:
                yield piece
                # Others get their turn, and the news that nobody listens any more gets through.
                await checkpoint()
    except Exception:
        _log.exception("a stream failed")
    finally:
        body.close()


async def _body(request: HttpRequest) -> bytes | None:
    """The whole body; `None` as soon as it is larger than `LARGEST`."""
    pieces: list[bytes] = []
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size > LARGEST:
            return None
        pieces.append(piece)
    return b"".join(pieces)


def serve(
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    handler: Handler | None = None,
    ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve until interrupted; `ready` is told the base URL once the port is ours.

    Raises `ConfigError` where the port is taken or the extra `server` is not installed.
    """
    server, bound, url = _server(handler, host, port)
    ready(url)
    try:
        server.run(sockets=[bound])
    finally:
        bound.close()


@contextmanager
def running(handler: Handler | None = None, host: str = "127.0.0.1") -> Generator[str]:
    """A server in a thread of its own, on a free port, for as long as the block lasts; gives its base URL."""
    server, bound, url = _server(handler, host, 0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        yield url
    finally:
        server.should_exit = True
        thread.join(timeout=10)
        bound.close()


def _server(handler: Handler | None, host: str, port: int) -> tuple[uvicorn.Server, socket.socket, str]:
    """A server that is ready to run, the socket it listens on, and its base URL."""
    app = create_app(handler)
    try:
        import uvicorn
    except ImportError as missing:
        raise _missing(missing) from None
    bound = _bind(host, port)
    config = uvicorn.Config(app, log_level="warning", lifespan="off", ws="none", timeout_graceful_shutdown=1)
    named = f"[{host}]" if ":" in host else host
    return uvicorn.Server(config), bound, f"http://{named}:{bound.getsockname()[1]}"


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        bound.listen(2048)  # from now on callers wait instead of being turned away
    except OSError as problem:
        bound.close()
        raise ConfigError(f"cannot listen on {host}:{port}: {problem.strerror}", hint="choose another --port") from None
    return bound


def _missing(missing: ImportError) -> ConfigError:
    return ConfigError(f"serving needs {missing.name}, which is not installed", hint='pip install "llm-rest[server]"')
