"""A server in this process, called without a socket."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from llm_rest.transport import HTTPRequest, Timeouts
from llm_rest.transport.asynchronous import AsyncTransport
from tests.transport.support import KEY, SOON, NewTransport, post, rest

pytestmark = pytest.mark.anyio

OURS = "no HTTP client is involved"

closed: list[str] = []


def handle(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
    return 200, {"X-Seen": f"{method} {path} {headers.get('Authorization')}"}, body[::-1]


def handle_stream(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any, Iterator[bytes]]:
    def pieces() -> Iterator[bytes]:
        try:
            yield from (b"one", b"two", b"three")
        finally:
            closed.append(path)

    return 200, [("X-Seen", f"{method} {path}")], pieces()


async def test_a_server_in_this_process_is_called_without_a_socket(
    new_transport: NewTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket.socket, "connect", None)
    transport = new_transport()
    answer = await transport.send(post(f"inproc:{__name__}/responses?a=b", b"abc"), Timeouts())
    assert answer.body == b"cba"
    assert answer.headers["x-seen"] == f"POST /responses?a=b Bearer {KEY}"
    incoming = await transport.open(post("inproc:tests.transport.support/x", stream=True), SOON)
    assert await rest(incoming) == b"whole", "a server that cannot stream"


async def test_a_server_in_this_process_streams(new_transport: NewTransport) -> None:
    transport = new_transport()
    incoming = await transport.open(post(f"inproc:{__name__}/a", stream=True), SOON)
    assert incoming.headers["x-seen"] == "POST /a"
    assert [await incoming.read(), await incoming.read()] == [b"one", b"two"]
    assert await rest(incoming) == b"three"
    incoming = await transport.open(post(f"inproc:{__name__}/b", stream=True), SOON)
    assert await incoming.read() == b"one"
    closed.clear()
    await incoming.close()
    assert closed == ["/b"]
    assert (await transport.send(HTTPRequest("POST", f"inproc:{__name__}/", {}, b"abc"), SOON)).body == b"cba"


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_server_in_this_process_lets_other_tasks_run(backend: str) -> None:
    turns: list[str] = []

    async def other() -> None:
        while len(turns) < 3:
            turns.append("other")
            await anyio.lowlevel.checkpoint()

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(other)
            incoming = await AsyncTransport().open(post(f"inproc:{__name__}/", stream=True), SOON)
            assert await rest(incoming) == b"onetwothree"
            assert turns

    anyio.run(main, backend=backend)
