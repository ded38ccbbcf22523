"""No answer makes the process grow by more than its cap and 64 MiB, measured in a process of its own."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from llm_rest.transport.exchange import MAX_BODY
from llm_rest.transport.framing import LIMIT
from tests.hostile.documents import ALL, Documents, bomb
from tests.loopback import STREAM, Loopback, chunks, http, loopback
from tests.support import WHOLE
from tests.transport.test_sharing import GOOD

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system does not say what it takes")

MIB = 1024 * 1024
MORE = 64 * MIB
PIECE = b"x" * 262_144
ZIPPED = ("content-type: application/json", "content-encoding: gzip")


BOMB = bomb(256, b" ")
"""A quarter of a gigabyte in one megabyte."""

ANSWERS: dict[str, tuple[bytes, bytes]] = {
    "good": (http(GOOD), b""),
    "body": (b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n", PIECE),
    "bomb": (http(BOMB, "HTTP/1.1 200 OK", *ZIPPED), b""),
    "error": (b"HTTP/1.1 400 No\r\ncontent-type: application/json\r\n\r\n", PIECE),
    "error-bomb": (http(BOMB, "HTTP/1.1 500 No", *ZIPPED), b""),
    "line-stream": (STREAM, b"40000\r\n" + PIECE + b"\r\n"),
    "bomb-stream": (http(BOMB, "HTTP/1.1 200 OK", "content-type: text/event-stream", "content-encoding: gzip"), b""),
    "head": (b"HTTP/1.1 200 OK\r\n", b"x-more: y\r\n" * 1000),
}
"""The beginning of the answer to each model, and what follows for ever."""

EXPECTED = {
    "good": "ok",
    "body": "ResponseTooLargeError None",
    "bomb": "ResponseTooLargeError None",
    "error": "BadRequestError 400",
    "error-bomb": "InternalServerError 500",
    "line-stream": "ResponseTooLargeError 200",
    "bomb-stream": "ResponseTooLargeError 200",
    "head": "ProtocolError None",
}


def act(connection: socket.socket, server: Loopback) -> bool:
    begun, more = ANSWERS[json.loads(server.bodies[-1])["model"]]
    connection.sendall(begun)
    while more:
        connection.sendall(more)
    return True


@pytest.mark.sample(4)
@pytest.mark.parametrize("way", ["sync", "asyncio", "trio"])
def test_answers_without_end_are_refused_at_a_cap_in_little_memory(way: str) -> None:
    """Cases R01, R03, E51, S13, P05."""
    with loopback(act) as server:
        models = [f"openai/{name}" for name in ANSWERS]
        command = [sys.executable, "-m", "tests.transport.endless_answers", way, f"{server.url}/v1", *models]
        done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    grew = found.pop("grew")
    assert {name.removeprefix("openai/"): outcome for name, outcome in found.items()} == EXPECTED
    assert grew < max(LIMIT, MAX_BODY) + MORE, f"{grew / MIB:.0f} MiB"


@pytest.mark.sample(4)
@pytest.mark.parametrize("documents", ALL, ids=lambda documents: documents.wire)
def test_a_stream_that_is_left_after_a_long_text_holds_it_once(documents: Documents) -> None:
    most, size = 30_000_000 if WHOLE else 12_000_000, 250
    kind = b"application/x-ndjson" if documents.ndjson else b"text/event-stream"
    begun = STREAM.replace(b"text/event-stream", kind) + chunks(*documents.begin())
    piece = chunks(documents.delta("x" * size)) * (60_000 // size)

    def endless(connection: socket.socket, server: Loopback) -> bool:
        connection.sendall(begun)
        while True:
            connection.sendall(piece)

    with loopback(endless) as server:
        options = json.dumps({**documents.options, "api_key": "sk-0123456789"})
        url = server.url if documents.ndjson else f"{server.url}/v1"
        command = [
            sys.executable,
            "-m",
            "tests.transport.abandoned_stream",
            "sync",
            documents.model,
            options,
            url,
            str(most),
        ]
        done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kept"] == found["seen"] >= most
    assert found["grew"] < 1.5 * most + 16 * MIB, f"{found['grew'] / MIB:.0f} MiB"
