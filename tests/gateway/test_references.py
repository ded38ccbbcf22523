"""`item_reference`: a client names the items of earlier answers instead of repeating them, as the Vercel AI SDK does."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect

from llm_rest import wires
from llm_rest.server.access import AccessControl
from llm_rest.server.app import serve_in_thread
from llm_rest.server.gateway import Gateway
from llm_rest.simulator import Simulator
from tests.gateway.upstreams import everything

Plain = dict[str, Any]
Ask = Callable[..., Plain]
ALICE, BOB = "alice-has-a-long-token", "bob-has-a-longer-token"
TOOLS = [{"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}]
SCRIPT = "reason hm\ncall weather {}\nthen\nsay It is sunny."
WAYS = ("whole", "streamed", "websocket")


@pytest.fixture(scope="module")
def upstream() -> Generator[str]:
    with serve_in_thread(Simulator()) as url:
        yield url


@pytest.fixture(scope="module")
def address(upstream: str) -> Generator[str]:
    access = AccessControl(tokens={"alice": ALICE, "bob": BOB})
    with serve_in_thread(Gateway(everything(upstream)), access=access) as url:
        yield url + "/v1/responses"


@contextmanager
def asking(address: str, way: str, token: str = ALICE) -> Generator[Ask]:
    """A client that asks over HTTP or on one WebSocket: what it gets is the response, or the error with its status."""
    headers = {"authorization": f"Bearer {token}"}
    with ExitStack() as open_:
        http = open_.enter_context(httpx.Client(headers=headers, timeout=60))
        url = address.replace("http", "ws", 1)
        socket = (
            open_.enter_context(connect(url, proxy=None, additional_headers=headers)) if way == "websocket" else None
        )

        def ask(model: str, said: Any, **fields: Any) -> Plain:
            document = {"model": model, "input": said, "tools": TOOLS, **fields}
            if socket is not None:
                socket.send(json.dumps({"type": "response.create", **document}))
                return last(json.loads(socket.recv(timeout=60)) for _ in range(10_000))
            answer = http.post(address, json={**document, "stream": way == "streamed"})
            if answer.status_code != 200:
                return {"status": answer.status_code, "error": answer.json()["error"]}
            if way == "whole":
                return dict(answer.json())
            lines = answer.text.splitlines()
            return last(json.loads(line[6:]) for line in lines if line.startswith("data: {"))

        yield ask


def last(events: Any) -> Plain:
    """The response in a stream, whose items are as the events that ended them have them."""
    done: list[Plain] = []
    for event in events:
        if event["type"] == "response.output_item.done":
            done.append(event["item"])
        elif event["type"] == "response.completed":
            # Gemini signs a text after its end: the signature is the last to come, and stands before its text in the whole.
            assert {item["id"] for item in event["response"]["output"]} == {item["id"] for item in done}
            return {**event["response"], "output": done}
        elif event["type"] == "error":
            return {"status": event["status"], "error": event["error"]}
    raise AssertionError("the stream has no end")


def named(response: Plain) -> list[Plain]:
    return [{"type": "item_reference", "id": item["id"]} for item in response["output"]]


def text_of(response: Plain) -> str:
    return "".join(part["text"] for item in response["output"] if item["type"] == "message" for part in item["content"])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("wire", wires.NAMES)
def test_a_tool_conversation_goes_on_from_references_alone(address: str, wire: str, way: str) -> None:
    user = {"role": "user", "content": SCRIPT}
    with asking(address, way) as ask:
        first = ask(wire, [user])
        assert "output" in first, first
        (call,) = [item for item in first["output"] if item["type"] == "function_call"]
        result = {"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"}
        second = ask(wire, [user, *named(first), result])
        assert "output" in second, second
        assert text_of(second) == "It is sunny."
        again = {"role": "user", "content": "say Fine."}
        assert text_of(ask(wire, [user, *named(first), result, *named(second), again])) == "Fine."


@pytest.mark.parametrize("way", WAYS)
def test_an_item_that_is_gone_is_not_found_in_the_words_of_the_vendor(address: str, way: str) -> None:
    with asking(address, way) as ask:
        refused = ask("openai_chat", [{"type": "item_reference", "id": "msg_gone"}, {"role": "user", "content": "hi"}])
        assert refused["status"] == 404
        assert refused["error"]["message"] == "Item with id 'msg_gone' not found."
        assert (refused["error"]["type"], refused["error"]["param"]) == ("invalid_request_error", "input")
        assert text_of(ask("openai_chat", "say Fine.")) == "Fine."


@pytest.mark.parametrize("way", WAYS)
def test_nobody_names_the_items_of_another_caller(address: str, way: str) -> None:
    with asking(address, way) as ask:
        mine = named(ask("openai_chat", "say Mine."))
    with asking(address, way, BOB) as ask:
        refused = ask("openai_chat", [*mine, {"role": "user", "content": "say what that was"}])
    assert (refused["status"], "not found" in refused["error"]["message"]) == (404, True)


def test_items_that_were_not_to_be_stored_are_known_on_their_connection_alone(address: str) -> None:
    with asking(address, "websocket") as ask:
        kept = named(ask("openai_chat", "say One.", store=False))
        user = {"role": "user", "content": "say Two."}
        assert text_of(ask("openai_chat", [*kept, user], store=False)) == "Two."
    for way in WAYS:
        with asking(address, way) as ask:
            refused = ask("openai_chat", [*kept, user], store=False)
            assert refused["status"] == 404
            assert "`store`" in refused["error"]["message"]


def test_references_in_a_request_that_is_counted_or_compacted_are_resolved(address: str) -> None:
    with asking(address, "whole") as ask, httpx.Client(headers={"authorization": f"Bearer {ALICE}"}) as http:
        before = named(ask("openai_chat", "say One."))
        for path in ("/input_tokens", "/compact"):
            good = http.post(address + path, json={"model": "openai_chat", "input": before})
            assert good.status_code == 200, good.text
            gone = [{"type": "item_reference", "id": "msg_gone"}]
            assert http.post(address + path, json={"model": "openai_chat", "input": gone}).status_code == 404
