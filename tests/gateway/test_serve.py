"""`llm-rest serve` as a gateway: what it prints can be copied and works."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from llm_rest.cli import main
from llm_rest.cli.serve import clients
from llm_rest.responses import events as ev
from tests.support.streams import read

TOKEN = "token-of-alice-0123"


@contextmanager
def serving(*arguments: str, end: int = signal.SIGINT) -> Generator[tuple[str, str, list[str]]]:
    """A server in a process of its own: its URL, what it printed, and afterwards what it logged. It ends by that signal."""
    command = [sys.executable, "-m", "llm_rest", "serve", "--port", "0", *arguments]
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
        server.send_signal(end)
        assert server.wait(60) == {signal.SIGINT: 0}.get(signal.Signals(end), -end)
        log += server.stderr.read().splitlines()


TOKENLESS = ("--simulate",)
GUARDED = ("-m", "simulator/x", "--alias", "fast=simulator/y", "--token-env", "ALICE")


@pytest.mark.parametrize("arguments", [TOKENLESS, GUARDED], ids=["simulator", "gateway"])
def test_the_printed_lines_work_as_they_are(arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALICE", TOKEN)
    with serving(*arguments) as (url, printed, log):
        code, _, toml = printed.partition("# ~/.codex/config.toml")
        lines = [f"said.append({line})" if "Hi" in line else line for line in code.splitlines()]
        names: dict[str, Any] = {"said": []}
        exec("\n".join(lines), names)
        assert len(names["said"]) == 5
        assert all("Hi" in repr(answer) for answer in names["said"])
        for client in (names["gpt"], names["claude"], names["gemini"], names["llama"]._client):
            client.close()
        codex = tomllib.loads(toml)
        provider = codex["model_providers"][codex["model_provider"]]
        assert provider["base_url"] == f"{url}/v1"
        assert provider.get("env_key") == ("ALICE" if arguments is GUARDED else None)
        assert httpx.get(f"{url}/v1/models").status_code == (401 if arguments is GUARDED else 200)
    assert sum('"message": "request"' in line for line in log) == (6 if arguments is GUARDED else 0)
    assert all(line.startswith("{") for line in log)
    assert TOKEN not in printed + "".join(log)


FILE = """
default = "simulator/first"

[models]
fast = { model = "simulator/quick", wire = "openai_chat" }

[tokens]
alice = "ALICE"

[limits]
output_tokens = 30
"""


@pytest.mark.slow
def test_a_gateway_from_a_file_remembers_and_lets_streams_finish_when_it_is_stopped(tmp_path: Path) -> None:
    (tmp_path / "gateway.toml").write_text(FILE)
    arguments = "--config", str(tmp_path / "gateway.toml"), "--keep", str(tmp_path / "kept.sqlite")
    with httpx.Client(headers={"authorization": f"Bearer {TOKEN}"}, timeout=60) as http, ExitStack() as open_:
        with serving(*arguments, end=signal.SIGTERM) as (url, _, log):
            assert httpx.get(f"{url}/healthz").json() == {"status": "ok"}
            first = http.post(f"{url}/v1/responses", json={"model": "fast", "input": "say The code word is slate."})
            assert first.json()["model"] == "fast"
            asked = {"input": "pieces 1\ndelay 0.1\nsay slate", "stream": True}
            answer = open_.enter_context(http.stream("POST", f"{url}/v1/responses", json=asked))
        # The block waits for the process to end, which waits for this stream.
        text = "".join(e.delta for e in read("openai_responses", [answer.read()]) if isinstance(e, ev.OutputTextDelta))
        assert text == "slate"
        lines = [json.loads(line) for line in log]
        told = [(line["method"], line["path"], line.get("scope"), line["status"]) for line in lines]
        assert told == [("GET", "/healthz", None, 200), *[("POST", "/v1/responses", "alice", 200)] * 2]
        assert "slate" not in "".join(log)
        assert not (tmp_path / "kept.sqlite-wal").exists(), "the file was closed"
        with serving(*arguments) as (url, _, _):
            asked = {"input": "say Go on.", "previous_response_id": first.json()["id"], "max_output_tokens": 60}
            again = http.post(f"{url}/v1/responses", json=asked)
            assert again.json()["usage"]["input_tokens"] > first.json()["usage"]["input_tokens"]
            assert "the server allows 30" in again.headers["x-llm-rest-losses"]


def test_without_tokens_any_key_is_printed() -> None:
    printed = clients("http://127.0.0.1:8000", "fast", None)
    assert "import os" not in printed
    assert 'OpenAI(base_url="http://127.0.0.1:8000/v1", api_key="any")' in printed


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
