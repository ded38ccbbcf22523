"""The compliance cases of Open Responses, against the gateway with the simulated vendor of each wire behind it.

The cases are data beside the project (`../shared/open-responses/compliance-cases.json`, or `LLM_REST_OPEN_RESPONSES`); here they
are carried out over HTTP, Server-Sent Events and WebSockets. What the suite leaves unchecked is checked below them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from websockets.sync.client import ClientConnection

from llm_rest import wires
from tests.gateway.upstreams import Plain, events_of, talk, to_the_end
from tests.oracles.test_open_responses import DOCUMENT, faults, jsonschema, validator
from tests.support.legal import faults as illegal
from tests.support.streams import read

FILE = DOCUMENT.with_name("compliance-cases.json")
CASES: list[Plain] = json.loads(FILE.read_text())["cases"] if FILE.exists() else []


def events_schema() -> Any:
    """A validator of one event of a stream."""
    document = validator("ResponseResource").schema
    content = document["paths"]["/responses"]["post"]["responses"]["200"]["content"]["text/event-stream"]
    root = {name: value for name, value in document.items() if name != "$ref"}
    return jsonschema.Draft202012Validator({**root, **content["schema"]})


class Run:
    """One case being carried out: what its steps gave, which later steps and the checks refer to."""

    def __init__(self, url: str, model: str) -> None:
        self._url = url
        self._names = {"$MODEL": model, "$NOW": "1764967971000"}
        self._socket: ClientConnection | None = None
        self._open = ExitStack()
        self.turns: list[tuple[int, list[Plain], Plain]] = []
        """The status of each step, its events, and its last document."""

    def close(self) -> None:
        self._open.close()
        self._socket = None

    def step(self, step: Plain) -> None:
        if "fixture" in step:
            self._add(200, [], self._filled(step["fixture"]))
        elif "reconnect" in step:
            self.close()
        elif "send" in step:
            self._send(self._filled(step["send"]))
        else:
            self._post(step["post"], self._filled(step["body"]))

    def _post(self, path: str, body: Plain) -> None:
        answer = httpx.post(f"{self._url}/v1{path}", json=body, timeout=60)
        if not body.get("stream"):
            self._add(answer.status_code, [], answer.json())
            return
        events = events_of(answer.text)
        self._add(answer.status_code, events, events[-1])

    def _send(self, message: Plain) -> None:
        if self._socket is None:
            self._socket = self._open.enter_context(talk(self._url))
        self._socket.send(json.dumps(message))
        events = [*to_the_end(self._socket)]
        self._add(events[-1].get("status", 200), events, events[-1])

    def _add(self, status: int, events: list[Plain], last: Plain) -> None:
        self.turns.append((status, events, last.get("response", last)))
        self._names[f"$ID{len(self.turns)}"] = self.turns[-1][2].get("id", "")

    def _filled(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._filled(inner) for name, inner in value.items()}
        if isinstance(value, list):
            spliced = [self.turns[-1][2]["output"] if inner == "$COMPACT_OUTPUT..." else [inner] for inner in value]
            return [self._filled(inner) for some in spliced for inner in some]
        for name, meant in self._names.items() if isinstance(value, str) else ():
            value = value.replace(name, meant)
        return value

    def check(self, check: str) -> None:
        """Assert one of the suite's checks: of the turn it names, of each, or of the last."""
        turn, colon, rest = check.partition(":")
        if turn == "each_turn":
            for i in range(len(self.turns)):
                self._hold(rest, *self.turns[i])
        elif turn.startswith("turn") and colon:
            self._hold(rest, *self.turns[int(turn[4:]) - 1])
        else:
            self._hold(check, *self.turns[-1])

    def _hold(self, check: str, status: int, events: list[Plain], document: Plain) -> None:
        what, _, wanted = check.partition(":")
        output = document.get("output", [])
        kinds = [item["type"] for item in output]
        error = {"type": "error", "status": status, "error": document.get("error")}
        checks: dict[str, Callable[[], object]] = {
            "schema": lambda: faults(document, wanted) == [],
            "status": lambda: document["status"] == wanted,
            "object": lambda: document["object"] == wanted,
            "output_not_empty": lambda: output,
            "output_has_type": lambda: wanted in kinds,
            "assistant_message_phase": lambda: wanted in [item.get("phase") for item in output],
            "events_not_empty": lambda: events,
            "every_event_matches_a_schema": lambda: all(map(events_schema().is_valid, events)),
            "id_not_empty": lambda: document["id"],
            "error_code": lambda: document["error"]["code"] == wanted and not faults(error, "WebSocketErrorEvent"),
            "failed": lambda: document.get("status") == "failed" or document["error"]["code"],
            "http_ok": lambda: self.turns[0][0] == 200,
            "compact_output_is_array": lambda: isinstance(self.turns[0][2]["output"], list),
            "http_status": lambda: str(status) in wanted.split("|"),
        }
        assert what in checks, f"a check that this file does not know: {check}"
        assert checks[what](), (check, document)


@pytest.mark.skipif(not CASES, reason=f"the compliance cases are not here: {FILE}")
def test_all_cases_are_here() -> None:
    assert len(CASES) >= 17
    assert {case["transport"] for case in CASES} == {"http", "websocket", "mixed", "none"}


@pytest.mark.sample(4)
@pytest.mark.parametrize("model", wires.NAMES)
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_case_of_the_suite(storing: str, model: str, case: Plain) -> None:
    run = Run(storing, model)
    try:
        for step in case["steps"]:
            run.step(step)
        for check in case["checks"]:
            run.check(check)
    finally:
        run.close()


# --- what the suite does not check ----------------------------------------------------------------------------------

WEATHER = {"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {}}}


def streamed(url: str, model: str, text: str, **fields: Any) -> str:
    body = {"model": model, "input": text, "stream": True, **fields}
    return httpx.post(f"{url}/v1/responses", json=body, timeout=60).text


@pytest.mark.parametrize("model", wires.NAMES)
@pytest.mark.parametrize("text", ["say Hello", "reason Hm.\nsay Hello", "call get_weather {}", "refuse No.", "length"])
def test_a_stream_is_framed_ordered_and_numbered(storing: str, model: str, text: str) -> None:
    body = streamed(storing, model, text, tools=[WEATHER])
    frames = [frame.split("\n") for frame in body.rstrip("\n").split("\n\n")]
    assert frames[-1] == ["data: [DONE]"]
    named = [(frame[0].removeprefix("event: "), json.loads(frame[1].removeprefix("data: "))) for frame in frames[:-1]]
    assert [name for name, _ in named] == [event["type"] for _, event in named]
    assert [event["sequence_number"] for _, event in named] == list(range(len(named)))
    assert illegal(read("openai_responses", [body.encode()])) == []
    assert ("response.function_call_arguments.delta" in body) == text.startswith("call")


@pytest.mark.parametrize("model", wires.NAMES)
def test_a_response_has_every_key_whole_and_streamed(storing: str, model: str) -> None:
    whole = httpx.post(f"{storing}/v1/responses", json={"model": model, "input": "say Hi"}, timeout=60).json()
    last = events_of(streamed(storing, model, "say Hi"))[-1]["response"]
    required = validator("ResponseResource").schema["components"]["schemas"]["ResponseResource"]["required"]
    assert len(required) == 31
    assert [name for name in required if name not in whole] == []
    assert sorted(whole) == sorted(last)


@pytest.mark.parametrize("model", wires.NAMES)
def test_an_answer_that_is_cut_says_so_and_why(storing: str, model: str) -> None:
    text = "say Hello there\nlength"
    whole = httpx.post(f"{storing}/v1/responses", json={"model": model, "input": text}, timeout=60).json()
    assert (whole["status"], whole["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert whole["completed_at"] is None
    assert [item["status"] for item in whole["output"] if item["type"] == "message"] == ["incomplete"]
    assert '"type":"response.incomplete"' in streamed(storing, model, text)
    done = httpx.post(f"{storing}/v1/responses", json={"model": model, "input": "say Hi"}, timeout=60).json()
    assert (done["status"], done["incomplete_details"], done["error"]) == ("completed", None, None)
