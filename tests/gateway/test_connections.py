"""Connections that nobody uses: of clients that ask nothing, and to vendors that are not asked any more."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import threading
import time

import httpx
import pytest

from llm_rest.server import app
from llm_rest.server.config import Config, Upstream
from llm_rest.transport import connection as line
from tests.gateway.attacks.canned import answer
from tests.gateway.upstreams import gateway, post
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
