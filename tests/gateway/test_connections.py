"""Connections that nobody uses: of clients that ask nothing, and to vendors that are not asked any more."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import anyio
import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from llm_rest import wires
from llm_rest.server import app
from llm_rest.server.access import AccessControl
from llm_rest.server.app import serve_in_thread
from llm_rest.server.config import Config, Upstream
from llm_rest.server.handler import Refused
from llm_rest.transport import connection as line
from tests.gateway.attacks.canned import answer
from tests.gateway.upstreams import VERSION, gateway, post, question, talk, to_the_end
from tests.loopback import http, loopback, send

FEW = """
import logging, resource, sys
from llm_rest.server import Config, Gateway, serve
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
logging.basicConfig(level=logging.INFO, stream=sys.stderr)
config = Config(models={"m": "simulator/m"})
serve(port=0, handler=Gateway(config), ready=lambda url: print(url, flush=True))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a process has no limit there")
def test_idle_connections_on_a_process_with_few_descriptors_neither_fill_the_log_nor_keep_others_out() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", FEW], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        lines: list[str] = []
        assert server.stdout
        assert server.stderr
        reading = threading.Thread(target=lambda: lines.extend(server.stderr or ()))
        idle: list[socket.socket] = []
        try:
            url = server.stdout.readline().strip()
            reading.start()
            port = int(re.findall(r":(\d+)", url)[0])
            for _ in range(120):
                idle.append(socket.create_connection(("127.0.0.1", port), timeout=60))
            for _ in range(3):
                answered = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "say Fine."}, timeout=60)
                assert "Fine." in answered.text
                time.sleep(0.5)
        finally:
            server.terminate()
            server.wait(60)
            reading.join(60)
            for one in idle:
                one.close()
    assert sum("cannot accept connections" in said for said in lines) == 1
    assert len(lines) < 10, lines[:10]


def test_idle_connections_to_a_vendor_are_closed_in_time_though_nothing_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(line, "KEEP_ALIVE", 0.3)
    monkeypatch.setattr(app, "TIDY_SECONDS", 0.1)
    with loopback(send(http(answer("openai_chat", calls=False, streamed=False)[1]))) as server:
        config = Config(models={"m": Upstream(model="simulator/x", base_url=server.url, wire="openai_chat")})
        with gateway(config) as client:
            assert post(client, "openai_chat", "m", "hi").status_code == 200
            assert server.wait_closed(30) == 0


def in_chunks(path: str, body: bytes, size: int) -> bytes:
    """A request whose body comes in chunks of that many bytes."""
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", "Transfer-Encoding: chunked"]
    head = "\r\n".join([*lines, *(f"{name}: {value}" for name, value in VERSION.items())]) + "\r\n\r\n"
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(c), c) for c in (body[i : i + size] for i in range(0, len(body), size)))
    return head.encode() + chunks + b"0\r\n\r\n"


@pytest.mark.parametrize("wire", wires.NAMES)
def test_a_body_in_very_small_chunks_is_refused_in_the_form_of_the_wire(wire: str) -> None:
    with serve_in_thread() as url:
        path, document = question(wire, "m", "x" * 20_000)
        body = json.dumps(document).encode()
        for size, expected in ((1, 400), (10, 200)):
            with socket.create_connection(("127.0.0.1", urlsplit(url).port or 0), timeout=60) as line:
                line.sendall(in_chunks(path, body, size))
                answer = line.makefile("rb")
                assert int(answer.readline().split()[1]) == expected
                if expected == 400:
                    rest = answer.read()
                    assert b"in more than 10,000 pieces" in rest
                    assert b'"error"' in rest
        assert httpx.get(f"{url}/healthz").status_code == 200


def test_a_body_that_arrives_byte_by_byte_is_refused() -> None:
    access = AccessControl()

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(20_000):
            yield b"x"

    async def read() -> bytes:
        with access.room() as reading:
            return await reading.body(pieces(), {})

    with pytest.raises(Refused, match="10,000 pieces"):
        anyio.run(read)


def refused_by(client: ClientConnection, message: str) -> None:
    client.send(iter(message))
    client.recv(timeout=60)


def test_a_websocket_message_in_very_small_fragments_closes_its_connection_with_a_reason() -> None:
    with serve_in_thread() as url, talk(url) as client:
        message = json.dumps({"type": "response.create", "model": "m", "input": "say " + "x" * 20_000, "store": False})
        client.send(message[i : i + 1000] for i in range(0, len(message), 1000))
        assert [event["type"] for event in to_the_end(client)][-1] == "response.completed"
        with pytest.raises(ConnectionClosed) as closed:
            refused_by(client, message)
        assert closed.value.rcvd
        assert (closed.value.rcvd.code, "10,000 fragments" in closed.value.rcvd.reason) == (1008, True)
        assert httpx.get(f"{url}/healthz").status_code == 200
