"""The server as an application, and ways to run it. Needs the extra `server`: Starlette and uvicorn.

Both are imported when a server is started, so that the in-process simulator needs neither. Before changing this file, know
that every path goes to one endpoint (`asgi.py`): `exchange` chooses the wire and makes the errors.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import asynccontextmanager, contextmanager
from math import ceil
from typing import TYPE_CHECKING

from anyio import create_task_group, move_on_after, sleep

from ..errors import ConfigError
from ..simulator import Simulator
from .access import GRACE, AccessControl
from .asgi import Endpoint

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator

    import uvicorn
    from starlette.applications import Starlette

    from .handler import Handler


TIDY_SECONDS = 10.0
"""The interval of closing idle connections to vendors, in seconds."""

RELEASE_SECONDS = 5.0
"""Seconds that cancelled requests get to release their resources."""


def create_app(handler: Handler | None = None, *, access: AccessControl | None = None) -> Starlette:
    """The ASGI application around `handler`; without one, around a `Simulator`.

    `access` is the access control; by default the handler's own, or none. Raises `ConfigError` where the extra `server`
    is not installed.
    """
    try:
        from starlette.applications import Starlette
    except ImportError as missing:
        raise _missing(missing) from None
    answering: Handler = handler or Simulator()
    control = access or _access_control(answering, None)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        async with create_task_group() as tasks:
            tidy: Callable[[], None] | None = getattr(answering, "tidy", None)
            if tidy is not None:
                tasks.start_soon(_tidying, tidy)
            yield
            tasks.cancel_scope.cancel()
        # Requests that were cancelled after the grace period may still use the handler.
        with move_on_after(RELEASE_SECONDS):
            while control.busy:  # noqa: ASYNC110 - the access control knows no event loop
                await sleep(0.01)
        # Connections of a handler are closed in the event loop that they belong to.
        if (close := getattr(answering, "aclose", None)) is not None:
            await close()

    app = Starlette(lifespan=lifespan)
    # A route of Starlette does not match every path: its pattern ends at a line break.
    app.router.default = Endpoint(answering, control)
    return app


async def _tidying(tidy: Callable[[], None]) -> None:
    while True:
        await sleep(TIDY_SECONDS)
        tidy()


def serve(
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    handler: Handler | None = None,
    access: AccessControl | None = None,
    grace: float = GRACE,
    ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Run a server until it is interrupted; `ready` is called with the base URL once the port is bound.

    Running streams then get `grace` seconds to finish. Raises `ConfigError` where the port is taken or the extra
    `server` is not installed.
    """
    server, bound, url = _server(handler, access, host, port, grace)
    ready(url)
    try:
        server.run(sockets=[bound])
    finally:
        bound.close()


@contextmanager
def serve_in_thread(
    handler: Handler | None = None,
    host: str = "127.0.0.1",
    *,
    access: AccessControl | None = None,
    grace: float = GRACE,
) -> Generator[str]:
    """Run a server in a thread, on a free port, while the `with` block lasts; yields its base URL.

    Raises `ConfigError` where the extra `server` is not installed.
    """
    server, bound, url = _server(handler, access, host, 0, grace)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        yield url
    finally:
        server.should_exit = True
        thread.join(timeout=10 + grace)
        bound.close()


def _server(
    handler: Handler | None, access: AccessControl | None, host: str, port: int, grace: float
) -> tuple[uvicorn.Server, socket.socket, str]:
    """A configured server, its listening socket, and its base URL."""
    access = access or _access_control(handler, host)
    app = create_app(handler, access=access)
    try:
        import uvicorn

        from .limits import PatientServer, protocols
    except ImportError as missing:
        raise _missing(missing) from None
    http, websocket = protocols(access)
    bound = _bind(host, port)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        # A closed connection would wait without a limit for its client to read the remaining data.
        stall = round(access.limits.stall * 1000)
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, stall)
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        http=http,
        ws=websocket,
        ws_max_size=access.limits.body,
        ws_per_message_deflate=False,  # no compression, as for request bodies
        # limits.py closes idle connections. uvicorn's 5 seconds are those of many clients too, which would run into the close.
        timeout_keep_alive=ceil(2 * access.limits.head_seconds),
        timeout_graceful_shutdown=round(grace),
    )
    named = f"[{host}]" if ":" in host else host
    return PatientServer(config), bound, f"http://{named}:{bound.getsockname()[1]}"


def _access_control(handler: Handler | None, host: str | None) -> AccessControl:
    own: Callable[[str | None], AccessControl] | None = getattr(handler, "access_control", None)
    return own(host) if own else AccessControl() if host is None else AccessControl.at(host)


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio disables Nagle's algorithm only where the protocol is given as TCP.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        bound.listen(2048)  # from now on connections are queued instead of rejected
    except OSError as problem:
        bound.close()
        raise ConfigError(f"cannot listen on {host}:{port}: {problem.strerror}", hint="choose another --port") from None
    return bound


def _missing(missing: ImportError) -> ConfigError:
    return ConfigError(f"serving needs {missing.name}, which is not installed", hint='pip install "llm-rest[server]"')
