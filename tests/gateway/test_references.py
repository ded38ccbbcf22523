"""`item_reference`: items that are gone, of others, or not stored. Conversations of references are in the client table."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import pytest

from tests.gateway.upstreams import ALICE, BOB, Plain, events_of, talk, turn

Ask = Callable[..., Plain]
WAYS = ("whole", "streamed", "websocket")


@contextmanager
def asking(url: str, way: str, token: str = ALICE) -> Generator[Ask]:
    """A client that asks over HTTP or on one WebSocket: what it gets is the response, or the error with its status."""
    with ExitStack() as open_:
        http = open_.enter_context(httpx.Client(headers={"authorization": f"Bearer {token}"}, timeout=60))
        socket = open_.enter_context(talk(url, token)) if way == "websocket" else None

        def ask(model: str, said: Any, *, store: bool = True) -> Plain:
            if socket is not None:
                return last(turn(socket, said, model=model, store=store))
            document = {"model": model, "input": said, "store": store, "stream": way == "streamed"}
            answer = http.post(f"{url}/v1/responses", json=document)
            if answer.status_code != 200:
                return {"status": answer.status_code, "error": answer.json()["error"]}
            return dict(answer.json()) if way == "whole" else last(events_of(answer.text))

        yield ask


def last(events: list[Plain]) -> Plain:
    """The response in a stream, whose items are as the events that ended them have them; or its error."""
    if events[-1]["type"] == "error":
        return events[-1]
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert [item["id"] for item in events[-1]["response"]["output"]] == [item["id"] for item in done]
    return {**events[-1]["response"], "output": done}


def named(response: Plain) -> list[Plain]:
    return [{"type": "item_reference", "id": item["id"]} for item in response["output"]]


def text_of(response: Plain) -> str:
    return "".join(part["text"] for item in response["output"] if item["type"] == "message" for part in item["content"])


@pytest.mark.parametrize("way", WAYS)
def test_an_item_that_is_gone_is_not_found_in_the_words_of_the_vendor(guarded: str, way: str) -> None:
    with asking(guarded, way) as ask:
        refused = ask("openai_chat", [{"type": "item_reference", "id": "msg_gone"}, {"role": "user", "content": "hi"}])
        assert refused["status"] == 404
        assert refused["error"]["message"] == "Item with id 'msg_gone' not found."
        assert (refused["error"]["type"], refused["error"]["param"]) == ("invalid_request_error", "input")
        assert text_of(ask("openai_chat", "say Fine.")) == "Fine."


@pytest.mark.parametrize("way", WAYS)
def test_nobody_names_the_items_of_another_caller(guarded: str, way: str) -> None:
    with asking(guarded, way) as ask:
        mine = named(ask("openai_chat", "say Mine."))
    with asking(guarded, way, BOB) as ask:
        refused = ask("openai_chat", [*mine, {"role": "user", "content": "say what that was"}])
    assert (refused["status"], "not found" in refused["error"]["message"]) == (404, True)


def test_items_that_were_not_to_be_stored_are_known_on_their_connection_alone(guarded: str) -> None:
    with asking(guarded, "websocket") as ask:
        kept = named(ask("openai_chat", "say One.", store=False))
        user = {"role": "user", "content": "say Two."}
        assert text_of(ask("openai_chat", [*kept, user], store=False)) == "Two."
    for way in WAYS:
        with asking(guarded, way) as ask:
            refused = ask("openai_chat", [*kept, user], store=False)
            assert refused["status"] == 404
            assert "`store`" in refused["error"]["message"]


def test_references_in_a_request_that_is_counted_or_compacted_are_resolved(guarded: str) -> None:
    with asking(guarded, "whole") as ask, httpx.Client(headers={"authorization": f"Bearer {ALICE}"}) as http:
        before = named(ask("openai_chat", "say One."))
        for path in ("/input_tokens", "/compact"):
            good = http.post(f"{guarded}/v1/responses{path}", json={"model": "openai_chat", "input": before})
            assert good.status_code == 200, good.text
            gone = [{"type": "item_reference", "id": "msg_gone"}]
            assert (
                http.post(f"{guarded}/v1/responses{path}", json={"model": "openai_chat", "input": gone}).status_code
                == 404
            )
