"""`llm-rest serve` as a gateway: what it prints can be copied and works."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from llm_rest.cli import main
from llm_rest.cli.serve import clients

TOKEN = "token-of-alice-0123"


@contextmanager
def serving(*arguments: str) -> Generator[tuple[str, str, list[str]]]:
    """A server in a process of its own: its URL, what it printed, and afterwards what it logged."""
    command = [sys.executable, "-m", "llm_rest.cli", "serve", "--port", "0", *arguments]
    environment = {**os.environ, "ALICE": TOKEN}
    log: list[str] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as server:
        assert server.stdout
        assert server.stderr
        note = server.stderr.readline()
        printed = ""
        while 'wire_api = "responses"' not in printed:
            printed += (line := server.stdout.readline())
            assert line, server.stderr.read()
        printed += server.stdout.readline()
        yield re.findall(r"http://[^ ;]+", note)[0], printed, log
        server.send_signal(signal.SIGINT)
        assert server.wait(20) == 0
        log += server.stderr.read().splitlines()


def test_the_printed_lines_work_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALICE", TOKEN)
    with serving("-m", "simulator/x", "--alias", "fast=simulator/y", "--token-env", "ALICE") as (url, printed, log):
        code, _, toml = printed.partition("# ~/.codex/config.toml")
        lines = [f"said.append({line})" if "Hi" in line else line for line in code.splitlines()]
        names: dict[str, Any] = {"said": []}
        exec("\n".join(lines), names)
        assert len(names["said"]) == 5
        assert all("Hi" in repr(answer) for answer in names["said"])
        for client in (names["gpt"], names["claude"], names["gemini"], names["llama"]._client):
            client.close()
        codex = tomllib.loads(toml)
        assert codex["model_providers"][codex["model_provider"]]["base_url"] == f"{url}/v1"
        assert codex["model_providers"]["llm_rest"]["env_key"] == "ALICE"
        assert httpx.get(f"{url}/v1/models").status_code == 401
    assert sum('"message": "request"' in line for line in log) == 6
    assert all(line.startswith("{") for line in log)
    assert TOKEN not in printed + "".join(log)


def test_without_tokens_any_key_is_printed() -> None:
    assert "import os" not in clients("http://127.0.0.1:8000", "fast", None)
    assert 'OpenAI(base_url="http://127.0.0.1:8000/v1", api_key="any")' in clients(
        "http://127.0.0.1:8000", "fast", None
    )


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("-m", "simulator/x", "--host", "0.0.0.0"), "needs access tokens"),
        (("-m", "simulator/x", "--token-env", "UNSET_TOKEN"), "UNSET_TOKEN"),
        (("-m", "simulator/x", "--alias", "fast"), "name=vendor/model"),
        (("-m", "nobody/x"), "nobody"),
        (("-m", "groq/x"), "GROQ_API_KEY"),
        (("--config", "/nowhere.toml"), "No such file"),
        (("--config", os.devnull), "no models"),
    ],
)
def test_a_gateway_that_cannot_be_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], problem: str
) -> None:
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    assert main(["serve", "--port", "0", *arguments]) == 2
    assert problem in capsys.readouterr().err
