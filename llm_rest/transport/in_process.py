"""A server in this process, called without a socket: the simulator, and modules of a caller's own."""

from __future__ import annotations

import time
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .line import plain
from .urls import IN_PROCESS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from . import HTTPRequest
    from .connections import RawHeaders
    from .deadlines import Deadline
    from .sockets import Waiter


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
        module: Any = import_module(self.origin.removeprefix(IN_PROCESS))
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
