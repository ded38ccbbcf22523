"""What the tests of the transport share: a key that must never be shown, one exchange, and what a process has open."""

from __future__ import annotations

import contextlib
import os
import socket
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from llm_rest.transport import HTTPAnswer, HTTPRequest, Timeouts

NewTransport = Callable[..., Any]
T = TypeVar("T", bound=Callable[..., Any])
KEY = "sk-very-secret-0123456789"
TEN_SECONDS = Timeouts(total=10)
SOON = Timeouts(first_byte=10, read=10, stall=10)


class Key:
    """A header value in its wrapper."""

    def reveal(self) -> str:
        return f"Bearer {KEY}"

    def __repr__(self) -> str:
        return "Key()"


def post(url: str, body: bytes = b"{}", *, stream: bool = False) -> HTTPRequest:
    """A request with a key."""
    return HTTPRequest("POST", url, {"Authorization": Key(), "Accept-Encoding": "gzip"}, body, stream)


def handle(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
    """This module is a server in this process as well, one that cannot stream."""
    return 200, {}, b"whole"


async def exchange(new_transport: NewTransport, url: str, timeouts: Timeouts = TEN_SECONDS, **kw: Any) -> HTTPAnswer:
    """One exchange over a transport that is closed after it."""
    transport = new_transport(**kw)
    try:
        return await transport.send(post(url), timeouts)
    finally:
        await transport.close()


def ours(reason: str, way: str = "all") -> Callable[[T], T]:
    """Marks a test of what connections of our own promise alone, for one way to call or all of them, and says why."""

    def mark(test: T) -> T:
        test.__dict__["ours"] = (way, reason)
        return test

    return mark


async def rest(incoming: Any) -> bytes:
    """What is left of a body."""
    pieces: list[bytes] = []
    while (piece := await incoming.read()) is not None:
        pieces.append(piece)
    return b"".join(pieces)


def nobody() -> str:
    """A URL where no server listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"http://127.0.0.1:{listening.getsockname()[1]}"


def open_sockets() -> list[str]:
    """What this process has open."""
    files = Path("/proc/self/fd")
    if not files.is_dir():
        pytest.skip("this system does not say what a process has open")
    found = []
    for each in files.iterdir():
        with contextlib.suppress(OSError):
            found.append(str(each.readlink()))
    return sorted(link for link in found if link.startswith("socket:"))


def forked(work: Callable[[], bytes]) -> bytes:
    """What `work` gives in a forked process."""
    if not hasattr(os, "fork"):
        pytest.skip("this system does not fork")
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the server of the test is a thread
        child = os.fork()
    if child == 0:
        try:
            os.write(writing, work())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        found = pipe.read()
    os.waitpid(child, 0)
    return found
