"""A server that answers every request with fixed bytes, as fast as it can; run as a process of its own.

A stream goes to whoever asks below the name of its wire, all at once, each frame in a chunk of its own, as vendors frame
theirs; below `/paced` the same comes frame by frame, between which others have their turn. Anything else is answered with a
Chat answer, or with one of Anthropic at its path.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar

from llm_rest.responses.request import Request
from llm_rest.vendors.rows import DIALECTS
from llm_rest.wires import NAMES, load

from .documents import WORDS, answer, stream


def whole(wire: str) -> bytes:
    """A whole HTTP answer of a wire."""
    text = answer(wire)
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(text), text)


ANSWER = whole("openai_chat")

PAUSE = 0.0002
"""Seconds between two frames of a paced stream."""

PACED = 200
"""How many deltas a paced stream has."""


def path(wire: str) -> str:
    """Where a wire asks for a stream below its base URL."""
    return load(wire).route(Request(model="some-model", input="Hi"), dialect=DIALECTS[wire](), stream=True).path


def streamed(wire: str, words: int = WORDS) -> list[bytes]:
    """A whole HTTP answer that streams on a wire, in its pieces."""
    chunks = [b"%x\r\n%s\r\n" % (len(frame), frame) for frame in stream(wire, words)]
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    return [head, *chunks, b"0\r\n\r\n"]


class Answers(asyncio.Protocol):
    """One connection: reads a request with a content-length, answers, waits for the next."""

    streams: ClassVar[dict[bytes, bytes]] = {}
    paced: ClassVar[dict[bytes, list[bytes]]] = {}

    def __init__(self) -> None:
        self.pending = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.pending += data
        head, end, rest = self.pending.partition(b"\r\n\r\n")
        if not end:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
        if len(rest) >= length:
            self.pending = rest[length:]
            assert isinstance(self.transport, asyncio.WriteTransport)
            asked = head.split(b" ", 2)[1].partition(b"?")[0]
            pieces = self.paced.get(asked)
            if pieces is None:
                self.transport.write(self.streams.get(asked, ANSWER))
            else:
                self._task = asyncio.ensure_future(self._pace(self.transport, pieces))

    async def _pace(self, transport: asyncio.WriteTransport, pieces: list[bytes]) -> None:
        for piece in pieces:
            transport.write(piece)
            await asyncio.sleep(PAUSE)


async def main() -> None:
    for name in NAMES:
        Answers.streams[f"/{name}{path(name)}".encode()] = b"".join(streamed(name))
        Answers.paced[f"/paced/{name}{path(name)}".encode()] = streamed(name, PACED)
    Answers.streams[b"/v1/messages"] = whole("anthropic_messages")
    server = await asyncio.get_running_loop().create_server(Answers, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
