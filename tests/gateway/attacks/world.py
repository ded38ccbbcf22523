"""What the attacks are made on: a vendor here, the servers in a process of their own, a trap where nobody may call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec.structs import replace

from llm_rest.responses import Request, Response
from llm_rest.server.app import serve_in_thread
from llm_rest.server.handler import Context, HandlerEvent
from llm_rest.simulator import Simulator
from tests.gateway.attacks.canned import canned
from tests.gateway.attacks.raw import LONG, Answer, Line, asked, one
from tests.gateway.upstreams import Busy
from tests.loopback import Loopback, loopback, send_and_close

KEY = "key-of-the-gateway-0123456789"
ALICE, BOB = "token-of-alice-0123456789", "token-of-bob-0123456789"
SAID = "nobody but the model reads this"
"""In every request that is made to be well understood, and in no line of a log."""

NEVER = (KEY.encode(), ALICE.encode(), BOB.encode(), b"Traceback", b'File "', b"site-packages")
"""What nobody may see of the server, whatever he sends."""


class Vendor(Simulator):
    """The simulated vendor of every wire, which remembers who came; its model `endless` has no end."""

    def __init__(self) -> None:
        self.contexts: list[Context] = []
        self.endless = Busy()

    async def answer(self, request: Request, context: Context) -> Response:
        self.contexts.append(remembered(context))
        return await super().answer(request, context)

    async def stream(self, request: Request, context: Context) -> AsyncGenerator[HandlerEvent]:
        self.contexts.append(remembered(context))
        of = self.endless if request.model == "endless" else super()
        async for event in of.stream(request, context):
            yield event


def remembered(context: Context) -> Context:
    """How a request came, with the beginning of its body."""
    return replace(context, body=context.body[:65_536])


@dataclass
class Place:
    """A server that is attacked, and all that it was heard to say during an attack."""

    name: str
    port: int
    world: World
    lines: list[Line] = field(default_factory=list)

    def line(self, *first: bytes, window: int | None = None) -> Line:
        line = Line(self.port, window=window)
        self.lines.append(line)
        return line.send(*first)

    def ask(self, raw: bytes, *, seconds: float = LONG) -> Answer | None:
        """The answer to a request on a connection of its own."""
        answers = self.line(raw).hear(one, seconds=seconds).answers
        return answers[-1] if answers else None

    def question(
        self, wire: str, text: str = SAID, *, model: str | None = None, token: str = "", **fields: Any
    ) -> bytes:
        """A request that is as it should be."""
        return asked(wire, model or wire, text, f"Authorization: Bearer {token}" if token else "", **fields)


@dataclass
class World:
    """All of them."""

    vendor: Vendor
    trap: Loopback
    """A server that nobody is to connect to."""
    process: subprocess.Popen[str]
    log: Path
    places: dict[str, Place] = field(default_factory=dict)
    read: int = 0

    def logged(self) -> bytes:
        """What is in the log since the last look."""
        written = self.log.read_bytes()
        new, self.read = written[self.read :], len(written)
        return new

    def peak(self, *, forget: bool = False) -> int:
        """The most memory the servers had, in MiB, since it was forgotten."""
        of = Path(f"/proc/{self.process.pid}")
        if forget:
            with suppress(OSError):
                (of / "clear_refs").write_text("5")
        for line in (of / "status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) // 1024
        return 0

    def cpu(self) -> float:
        """The seconds of CPU that the servers have had."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def files(self) -> int:
        """How many files the servers have open."""
        return len([*Path(f"/proc/{self.process.pid}/fd").iterdir()])

    def connections(self, place: Place) -> int:
        """How many connections of its clients a server has."""
        lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        port, open_ = f":{place.port:04X}", ("01", "08")
        return sum(line[1].endswith(port) and line[3] in open_ and line[9] != "0" for line in lines)


def eventually(true: Callable[[], bool], seconds: float = LONG) -> bool:
    until = time.monotonic() + seconds
    while not true():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


@contextmanager
def attacked() -> Generator[World]:
    """The servers, for as long as the block lasts."""
    vendor = Vendor()
    secrets = {"ATTACKED_KEY": KEY, "ATTACKED_ALICE": ALICE, "ATTACKED_BOB": BOB}
    with (
        tempfile.TemporaryDirectory() as folder,
        serve_in_thread(vendor) as url,
        canned() as other,
        loopback(send_and_close(b"")) as trap,
    ):
        log = Path(folder) / "log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.gateway.attacks.serve", url, other],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=out,
                text=True,
                env=os.environ | secrets,
                cwd=Path(__file__).parents[3],
            )
        try:
            assert process.stdout
            assert process.stdin
            urls: dict[str, str] = json.loads(process.stdout.readline() or log.read_text())
            world = World(vendor, trap, process, log)
            world.places = {name: Place(name, urlsplit(there).port or 0, world) for name, there in urls.items()}
            yield world
        finally:
            process.stdin.close() if process.stdin else None
            process.wait(20)
            process.stdout.close() if process.stdout else None
