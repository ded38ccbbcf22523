"""A server that answers every request with one fixed Chat answer, as fast as it can; run as a process of its own."""

from __future__ import annotations

import asyncio

from .documents import CHAT_TEXT

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (
    len(CHAT_TEXT),
    CHAT_TEXT,
)


class Answers(asyncio.Protocol):
    """One connection: reads a request with a content-length, answers, waits for the next."""

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
            self.transport.write(ANSWER)


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Answers, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
