"""Responses over a WebSocket, beyond the cases of Open Responses: answers that break off, the log, and how connections end."""

from __future__ import annotations

import json
import logging
from contextlib import ExitStack
from typing import Any

import pytest
from msgspec.structs import replace
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from llm_rest import wires
from llm_rest.responses.request import items_of
from llm_rest.responses.response import Response
from llm_rest.server.app import serve_in_thread
from llm_rest.server.handler import Context
from llm_rest.server.logs import JSONLines
from llm_rest.simulator import Simulator
from tests.gateway.attacks.world import eventually
from tests.gateway.upstreams import Busy, Echo, everything, gateway, talk, turn

Plain = dict[str, Any]


def text_of(events: list[Plain]) -> str:
    return "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")


def test_a_turn_whose_answer_breaks_off_ends_with_an_error() -> None:
    with serve_in_thread(Simulator()) as url, talk(url) as socket:
        *events, error = turn(socket, "say half of it\nbreak")
        assert text_of(events) == "half of it"
        assert (error["type"], error["status"], error["error"]["message"]) == ("error", 500, "The answer broke off.")
        assert text_of(turn(socket, "say on")) == "on"


class Moody(Simulator):
    """A vendor whose answers have a field that only its own format has."""

    def signed(self, response: Response, document: Any, context: Context) -> Response:
        found = super().signed(response, document, context)
        return replace(found, leftovers={"anthropic_messages": {"mood": "good"}})


def test_a_turn_is_a_line_in_the_log_which_tells_what_was_lost_both_ways(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "llm_rest.server.requests")
    with serve_in_thread(Moody()) as upstream, gateway(everything(upstream)) as client:
        with talk(str(client.base_url).rstrip("/")) as socket:
            turn(socket, "say hi", model="anthropic_messages", truncation="auto")
            turn(socket, "say x", model="nobody/knows")
            endless = "pieces 1\ndelay 0.01\nsay " + "word " * 5000
            socket.send(json.dumps({"type": "response.create", "model": "openai_chat", "input": endless}))
            socket.recv(timeout=60)
        assert eventually(lambda: len(ours(caplog)) == 3)
        whole, refused, left = ours(caplog)
        assert [loss.partition(":")[0] for loss in whole["lost"]] == ["truncation", "mood"]
        assert (whole["losses"], whole["status"], whole["streamed"]) == (2, 200, True)
        assert (refused["status"], "losses" in refused) == (404, False)
        assert left["error"] == "gone"


@pytest.mark.parametrize("behind", wires.NAMES)
def test_the_upstream_call_stops_when_the_client_of_a_websocket_goes_away(behind: str) -> None:
    busy = Busy(0.01)
    with serve_in_thread(busy) as upstream, gateway(everything(upstream)) as client:
        with talk(str(client.base_url).rstrip("/")) as socket:
            socket.send(json.dumps({"type": "response.create", "model": behind, "input": "hi"}))
            assert socket.recv(timeout=60)
            assert not busy.left.is_set()
        assert busy.left.wait(60)


PRIVATE = "internal_chat_message_metadata_passthrough"


@pytest.mark.parametrize("behind", wires.NAMES)
def test_codex_prepares_a_connection_and_continues_from_there(behind: str) -> None:
    """Its messages have `stream`; the first has the whole input and `generate: false`, the second no more input."""
    vendor = Echo()
    tools = [{"type": "function", "name": "shell", "parameters": {"type": "object", "properties": {}}}]
    said = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}], PRIVATE: {"turn": 1}}
    ]
    with serve_in_thread(vendor) as upstream, gateway(everything(upstream)) as client:
        with talk(str(client.base_url).rstrip("/")) as socket:
            codex: Plain = {
                "model": behind,
                "stream": True,
                "stream_options": {"include_obfuscation": False},
                "tools": tools,
            }
            prepared = turn(socket, said, **codex, generate=False)
            assert [event["type"] for event in prepared] == ["response.created", "response.completed"]
            response = prepared[-1]["response"]
            assert (response["model"], response["output"], response["usage"]["total_tokens"]) == (behind, [], 0)
            assert (response["store"], vendor.asked) == (False, [])
            answered = turn(socket, [], **codex, previous_response_id=response["id"], generate=True)[-1]
            assert answered["type"] == "response.completed"
            assert [text_of_item(item) for item in items_of(vendor.asked[0])] == ["Hi"]
            again = turn(socket, said, **codex, previous_response_id=answered["response"]["id"])[-1]
            assert again["response"]["previous_response_id"] == answered["response"]["id"]
            assert [text_of_item(item) for item in items_of(vendor.asked[1])] == ["Hi", "fine", "Hi"]
            empty = turn(socket, [], **codex, generate=False)[-1]
            assert (empty["type"], len(vendor.asked)) == ("response.completed", 2)
    assert PRIVATE not in json.dumps(vendor.body), "that is for OpenAI's own host"


def text_of_item(item: Any) -> str:
    return item.content if isinstance(item.content, str) else "".join(part.text for part in item.content)


def test_a_message_without_output_is_checked_like_any_other(storing: str) -> None:
    with talk(storing) as socket:
        unknown = turn(socket, "hi", model="nobody/knows", generate=False)
        gone = turn(socket, "hi", previous_response_id="resp_gone", generate=False)
    assert [event["error"]["code"] for event in (*unknown, *gone)] == ["model_not_found", "previous_response_not_found"]


def test_the_simulator_as_openai_takes_the_fields_of_codex() -> None:
    with serve_in_thread(Simulator()) as url, talk(url) as socket:
        said = [{"type": "message", "role": "user", "content": "say Hello.", PRIVATE: {}}]
        assert text_of(turn(socket, said, model="gpt-5.2", stream=True)) == "Hello."
        assert turn(socket, said, model="gpt-5.2", generate=False)[-1]["response"]["output"] == []


@pytest.mark.parametrize(
    "message", ["no JSON", "[]", '{"type": "response.cancel"}', '{"type": "response.create", "background": true}']
)
def test_a_message_that_is_refused_has_its_line_in_the_log(caplog: pytest.LogCaptureFixture, message: str) -> None:
    caplog.set_level(logging.INFO, "llm_rest.server.requests")
    with serve_in_thread(Simulator()) as url, talk(url) as socket:
        socket.send(message)
        assert json.loads(socket.recv(timeout=60))["status"] == 400
        assert eventually(lambda: len(caplog.records) == 1)
    line = json.loads(JSONLines().format(caplog.records[0]))
    assert (line["status"], line["wire"], line["request_id"][:4]) == (400, "openai_responses", "req_")


def ours(caplog: pytest.LogCaptureFixture) -> list[Plain]:
    """The lines of the gateway, which alone knows vendors."""
    lines = [json.loads(JSONLines().format(record)) for record in caplog.records]
    return [line for line in lines if "vendor" in line or line.get("model") == "nobody/knows"]


def to_its_close(socket: ClientConnection) -> tuple[list[Plain], int]:
    """What else comes on a connection, and the code with which it is closed."""
    events: list[Plain] = []
    try:
        while True:
            events.append(json.loads(socket.recv(timeout=60)))
    except ConnectionClosed as closed:
        return events, closed.rcvd.code if closed.rcvd else 0


def test_a_turn_that_runs_comes_to_its_end_when_the_server_stops() -> None:
    said = {"type": "response.create", "model": "m", "input": "pieces 1\ndelay 0.05\nsay 12345678"}
    with ExitStack() as connections:
        with serve_in_thread(Simulator(), grace=20) as url:
            busy, idle = (connections.enter_context(talk(url)) for _ in range(2))
            assert text_of(turn(idle, "say Hello.")) == "Hello."
            busy.send(json.dumps(said))
            events = [json.loads(busy.recv(timeout=60))]
        # The block waits for the server to end, which waits for this turn.
        (rest, code), (more, idle_code) = (to_its_close(connection) for connection in (busy, idle))
    assert text_of([*events, *rest]) == "12345678"
    assert (more, code, idle_code) == ([], 1012, 1012)
