"""What the tests of the transport share: a key that must never be seen, and one exchange."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llm_rest.transport import HttpAnswer, HttpRequest, Timeouts

NewTransport = Callable[..., Any]
KEY = "sk-very-secret-0123456789"
TEN_SECONDS = Timeouts(total=10)


class Key:
    """A header value in its wrapper."""

    def reveal(self) -> str:
        return f"Bearer {KEY}"

    def __repr__(self) -> str:
        return "Key()"


def post(url: str, body: bytes = b"{}", *, stream: bool = False) -> HttpRequest:
    """A request with a key."""
    return HttpRequest("POST", url, {"Authorization": Key(), "Accept-Encoding": "gzip"}, body, stream)


async def exchange(new_transport: NewTransport, url: str, timeouts: Timeouts = TEN_SECONDS, **kw: Any) -> HttpAnswer:
    """One exchange over a transport that is closed after it."""
    transport = new_transport(**kw)
    try:
        return await transport.send(post(url), timeouts)
    finally:
        await transport.close()


async def rest(incoming: Any) -> bytes:
    """What is left of a body."""
    pieces: list[bytes] = []
    while (piece := await incoming.read()) is not None:
        pieces.append(piece)
    return b"".join(pieces)
