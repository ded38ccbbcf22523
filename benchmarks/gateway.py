"""What the gateway costs beyond handing bytes on: CPU time of its process, with one caller and with many at once.

The floor is a Starlette application that passes every piece on unread (`relay.py`). Both are processes of their own in front of
the same answer server, and asked in turn by the same callers.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import msgspec

from .calls import server
from .measure import Result
from .server import PACED, path

AT_ONCE = (1, 16, 100)
WHOLE, STREAMS = 300, 32
"""How many answers one batch has, at least: whole ones, and streams."""

CALLERS = (
    ("openai_chat", "openai_chat", 1.3),
    ("openai_responses", "openai_chat", 2.0),
    ("anthropic_messages", "openai_chat", 2.0),
)
"""The caller's wire, the vendor's, and the ratio to stay below."""

_TICK = os.sysconf("SC_CLK_TCK")


class Relay:
    """A process in front of the answer server, and the CPU time it has used."""

    def __init__(self, kind: str, url: str) -> None:
        command = [sys.executable, "-m", "benchmarks.relay", kind, url]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    def spent(self) -> float:
        """Seconds of CPU time so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK

    def stop(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.communicate()


@contextmanager
def relays() -> Iterator[tuple[Relay, Relay]]:
    """The floor and ours, in front of one answer server."""
    with server() as url:
        floor, ours = Relay("passing", url), Relay("gateway", url)
        try:
            yield floor, ours
        finally:
            floor.stop()
            ours.stop()


def asking(place: str, wire: str, model: str, *, stream: bool) -> bytes:
    """A request as its caller sends it."""
    said = [{"role": "user", "content": "Why is the sea salt?"}]
    fields: dict[str, object] = {
        "openai_responses": {"input": said, "store": False},
        "anthropic_messages": {"messages": said, "max_tokens": 1000},
    }.get(wire, {"messages": said})
    body = msgspec.json.encode({"model": model, "stream": stream, **fields})
    head = f"POST {place} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    return f"{head}\r\nconnection: close\r\n\r\n".encode() + body


async def load(port: int, request: bytes, times: int, at_once: int, least: int) -> None:
    """Send the request so many times, so many at once, and read every answer to its end."""
    waiting = iter(range(max(times, at_once)))

    async def caller() -> None:
        for _ in waiting:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            answer = await reader.read(-1)
            writer.close()
            assert answer.startswith(b"HTTP/1.1 200"), answer[:500]
            assert len(answer) > least

    await asyncio.gather(*(caller() for _ in range(at_once)))


def results(rounds: int) -> Iterator[Result]:
    """The ratio for whole answers and for streams, on the same wire and on others, by callers at once."""
    if not Path("/proc/self/stat").exists():
        print("the gateway is measured where /proc tells the CPU time of a process", file=sys.stderr)
        return
    with relays() as (floor, ours):
        for front, behind, target in CALLERS:
            for stream in (False, True):
                place = path(front) if path(front).startswith("/v1") else f"/v1{path(front)}"
                passed = f"/paced/{behind}{path(behind)}" if stream else "/whole"
                sides = (
                    (floor, asking(passed, behind, "some-model", stream=stream)),
                    (ours, asking(place, front, behind if stream else "whole", stream=stream)),
                )
                times, least, each = (STREAMS, 10 * PACED, PACED) if stream else (WHOLE, 100, 1)
                for at_once in AT_ONCE:
                    took: tuple[list[float], list[float]] = ([], [])
                    for turn in range(rounds + 1):
                        for i in (0, 1) if turn % 2 else (1, 0):
                            relay, request = sides[i]
                            before = relay.spent()
                            asyncio.run(load(relay.port, request, times, at_once, least))
                            if turn:  # the first one makes connections and imports
                                took[i].append((relay.spent() - before) / max(times, at_once) / each)
                    ratio = median(mine / least for least, mine in zip(*took, strict=True))
                    what = "one delta of a stream" if stream else "one answer"
                    name = f"Gateway, {front} to {behind}, {at_once} at once: {what}"
                    yield Result(name, median(took[0]), median(took[1]), ratio, target)
