"""`llm-rest conform`: the laws hold for the simulator and the gateway, and are told where a server breaks one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from llm_rest import wires
from llm_rest.cli import main
from llm_rest.responses import Request, Response
from llm_rest.server import Config, Gateway, Upstream
from llm_rest.server.app import serve_in_thread
from llm_rest.server.handler import Context
from llm_rest.simulator import Simulator
from tests.support import WHOLE

BASE = {"openai_responses": "/v1", "openai_chat": "/v1"}
SKIPPED = {"openai_responses": {"stop"}}


@pytest.fixture(scope="module")
def simulator() -> Iterator[str]:
    with serve_in_thread() as url:
        yield url


def conform(url: str, wire: str, *more: str) -> list[str]:
    return ["conform", url + BASE.get(wire, ""), "--wire", wire, *more]


@pytest.mark.parametrize("wire", wires.NAMES)
def test_the_simulator_holds_every_law(wire: str, simulator: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(conform(simulator, wire, "--json")) == 0
    found: list[dict[str, Any]] = json.loads(capsysbinary.readouterr().out)
    assert {one["law"] for one in found if one["state"] != "holds"} == SKIPPED.get(wire, set())


@pytest.mark.parametrize("wire", wires.NAMES if WHOLE else ("openai_chat", "anthropic_messages"))
def test_the_gateway_holds_every_law(
    wire: str, simulator: str, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway = Gateway(Config(default=Upstream(model="simulator/x", base_url=simulator, wire="openai_chat")))
    with serve_in_thread(gateway) as url:
        code = main(conform(url, wire, "--json"))
    found: list[dict[str, Any]] = json.loads(capsysbinary.readouterr().out)
    assert ([(one["law"], one["detail"]) for one in found if one["state"] == "fails"], code) == ([], 0)


class Silent(Simulator):
    """A server that says nothing."""

    async def answer(self, request: Request, context: Context) -> Response:
        return Response(id="r", status="completed", output=[], model=request.model or "")


def test_a_law_that_fails_is_shown_with_its_exchange_and_without_the_key(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", "sk-secret-0123456789")
    with serve_in_thread(Silent()) as url:
        more = ("--key-env", "THE_KEY", "--law", "whole", "--law", "cancel")
        assert main(conform(url, "openai_chat", *more)) == 1
    said = capsys.readouterr().out
    words = " ".join(said.split())
    assert "whole FAILED a whole answer is complete" in words
    assert "there is no text" in words
    assert "whole: POST http://127.0.0.1" in said
    assert '"status": 200' in said
    assert "sk-secret" not in said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["http://127.0.0.1:9/v1", "--wire", "openai_chat"], "127.0.0.1:9"),
        (["http://127.0.0.1:9/v1", "--wire", "openai_chat", "--law", "speed"], "there is no law 'speed'"),
        (["http://127.0.0.1:9/v1", "--wire", "openai_chat", "--key-env", "NO_SUCH_KEY"], "NO_SUCH_KEY holds no key"),
        (["localhost", "--wire", "openai_chat"], "localhost"),
    ],
)
def test_where_nothing_can_be_asked(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", *arguments]) == 2
    assert says in capsys.readouterr().err
