"""`llm-rest conform`: the laws hold for the simulator and the gateway, and are told where a server breaks one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from llm_rest import wires
from llm_rest.cli import main
from llm_rest.errors import ErrorFacts
from llm_rest.responses import FunctionCall, Request, Response
from llm_rest.server import Config, Gateway, Upstream
from llm_rest.server.app import serve_in_thread
from llm_rest.server.handler import Context
from llm_rest.simulator import Simulator
from tests.loopback import Act, http, loopback, reset, send

BASE = {"openai_responses": "/v1", "openai_chat": "/v1"}
SKIPPED = {"openai_responses": {"stop"}}


def conform(url: str, wire: str, *more: str) -> list[str]:
    return ["conform", url + BASE.get(wire, ""), "--wire", wire, *more]


def gateway() -> Gateway:
    return Gateway(Config(default=Upstream(model="simulator/x", wire="openai_chat")))


@pytest.mark.parametrize("wire", wires.NAMES)
@pytest.mark.parametrize("kind", [Simulator, gateway])
def test_a_server_of_this_package_holds_every_law(
    wire: str, kind: Callable[[], Simulator | Gateway], capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    with serve_in_thread(kind()) as url:
        code = main(conform(url, wire, "--json"))
    found: list[dict[str, Any]] = json.loads(capsysbinary.readouterr().out)
    wrong = {one["law"]: one["detail"] for one in found if one["state"] != "holds"}
    assert (wrong.keys(), code) == (SKIPPED.get(wire, set()), 0), wrong


class Silent(Simulator):
    """A server whose answers are empty."""

    async def answer(self, request: Request, context: Context) -> Response:
        return Response(id="r", status="completed", output=[], model=request.model or "")


def test_a_law_that_fails_is_shown_with_its_exchange_and_without_the_key(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", "sk-secret-0123456789")
    with serve_in_thread(Silent()) as url:
        more = ("--key-env", "THE_KEY", "--law", "whole", "--law", "cancel")
        assert main(conform(url, "openai_chat", *more)) == 1
    said = " ".join(capsys.readouterr().out.split())
    shown = ["whole FAILED a whole answer is complete", "there is no text", "whole: POST http://127.0.0.1"]
    assert [words for words in [*shown, '"status": 200'] if words not in said] == []
    assert "sk-secret" not in said


ANSWER: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hello"}}],
}


def answers(**changed: Any) -> Act:
    return send(http(json.dumps({**ANSWER, **changed}).encode()))


@pytest.mark.parametrize(
    ("broken", "verdicts"),
    [([reset(), answers()], {"whole": "holds", "turns": "holds"}), ([reset()], {"whole": "holds", "turns": "fails"})],
)
def test_a_connection_that_breaks_after_the_first_law_has_a_second_try_and_then_a_verdict(
    broken: list[Act], verdicts: dict[str, str], capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    with loopback(answers(), *broken) as server:
        code = main(conform(server.url, "openai_chat", "--json", "--law", "whole", "--law", "turns"))
    found = {one["law"]: one["state"] for one in json.loads(capsysbinary.readouterr().out)}
    assert (found, code) == (verdicts, 1 if "fails" in verdicts.values() else 0)


def test_the_id_of_an_answer_is_the_one_that_the_server_sent(capsys: pytest.CaptureFixture[str]) -> None:
    with loopback(answers(id="")) as server:
        assert main(conform(server.url, "openai_chat", "--law", "whole")) == 1
    assert "the answer has no id" in " ".join(capsys.readouterr().out.split())


STATE = "__thought__" + "x" * 100


class LongIds(Simulator):
    """A proxy that puts a vendor's state into the ids of calls, as LiteLLM does for Gemini, and needs it back."""

    def signed(self, response: Response, document: dict[str, Any], context: Context) -> Response:
        made = super().signed(response, document, context)
        calls = [
            replace(item, call_id=item.call_id + STATE) if isinstance(item, FunctionCall) else item
            for item in made.output
        ]
        return replace(made, output=calls)

    def problems(self, document: dict[str, Any], context: Context) -> Iterator[ErrorFacts]:
        if any(
            not message["tool_call_id"].endswith(STATE) for message in document["messages"] if message["role"] == "tool"
        ):
            yield ErrorFacts(status=400, message="Corrupted thought signature.")


def test_a_proxy_with_long_ids_of_calls_gets_them_back(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    with serve_in_thread(LongIds()) as url:
        code = main(conform(url, "openai_chat", "--json", "--law", "tools"))
    assert (code, json.loads(capsysbinary.readouterr().out)[0]["detail"]) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "127.0.0.1:9"),
        (["--law", "speed"], "there is no law 'speed'"),
        (["--key-env", "NO_SUCH_KEY"], "NO_SUCH_KEY holds no key"),
    ],
)
def test_wrong_arguments_are_exit_code_2(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(conform("http://127.0.0.1:9", "openai_chat", *arguments)) == 2
    assert says in capsys.readouterr().err
