"""A server in a process of its own that gets stuck at a random point of each answer, or does not.

Run as a program it prints its port and serves until its standard input ends. The seed is its argument.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.callers import answer, frames
from tests.loopback import END, STREAM, chunks, http


@contextlib.contextmanager
def stuck_server(seed: int) -> Iterator[str]:
    """The base URL of a running server."""
    command = [sys.executable, "-m", __name__, str(seed)]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
        finally:
            process.communicate()


GOOD = json.dumps(answer("Hello")).encode()


async def answered(writer: asyncio.StreamWriter, *, stream: bool, chance: random.Random) -> None:
    """Send an answer up to a random byte, or all of it; some are errors that are worth another attempt."""
    if chance.random() < 0.25:
        writer.write(http(b"{}", "HTTP/1.1 503 Busy", "retry-after-ms: 20"))
        return
    whole = STREAM + chunks(*frames("Hel", "lo")) + END if stream else http(GOOD)
    cut = chance.choice([0, 0, len(whole) // 9, chance.randrange(len(whole)), len(whole)])
    if stream:
        for at in range(0, cut, 400):
            writer.write(whole[at : min(cut, at + 400)])
            await asyncio.sleep(0.001)
    else:
        writer.write(whole[:cut])
    if cut < len(whole):
        await asyncio.sleep(60)


async def serve(seed: int) -> None:
    """Answer until nobody asks any more."""
    chance = random.Random(seed)

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        work: asyncio.Task[None] | None = None
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                body = await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r")[0]))
                stream = b'"stream":true' in body
                work = asyncio.create_task(answered(writer, stream=stream, chance=chance))
        if work is not None:
            work.cancel()
        writer.transport.abort()

    server = await asyncio.start_server(one, "127.0.0.1", 0, backlog=1000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
