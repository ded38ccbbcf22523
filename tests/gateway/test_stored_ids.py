"""Every stored answer has an id of its own: equal answers of a vendor, with ids or without, are never one conversation."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from llm_rest import wires
from llm_rest.client.events import StreamWriter
from llm_rest.responses import AnyItem, Message, OutputText, Reasoning, ReasoningText, Request, Response
from llm_rest.responses.stream import disassemble
from llm_rest.server.access import AccessControl
from llm_rest.server.app import serve_in_thread
from llm_rest.server.config import Config, Keep, Upstream
from llm_rest.server.gateway import Gateway
from llm_rest.server.store import MemoryStore
from llm_rest.server.stored import OwnIds, StoredTurns
from llm_rest.sync import drive
from tests.gateway.upstreams import ALICE, BOB, TURNS, Plain, events_of, talk, turn
from tests.support import WHOLE

MANY = 1000 if WHOLE else 12
"""The number of equal answers to each caller and each of the ways."""

NAMES = ("id", "item_id", "responseId")


class Same:
    """A vendor on one wire that gives the same answer to everything, with the same ids or none, and keeps what it was sent."""

    def __init__(self, wire: str, *, ids: bool) -> None:
        self.bodies: list[Plain] = []
        self._wire = wire
        self._ids = ids

    def answer(self, *, streamed: bool) -> tuple[str, bytes]:
        module = wires.load(self._wire)
        output: list[Any] = [
            Reasoning(id="rs_1", summary=[], content=[ReasoningText(text="Hm.")]),
            Message(id="msg_1", role="assistant", status="completed", content=[OutputText(text="ok", annotations=[])]),
        ]
        response = Response(id="resp_1", created_at=1, status="completed", model="x", output=output)
        if not streamed:
            return "application/json", self._named(
                msgspec.json.encode(module.encode_response(response, request=Request())[0])
            )
        writer = StreamWriter(module, request=Request())
        body = b"".join(map(writer.feed, disassemble(response))) + writer.close()
        lines = [
            b"data: " + self._named(line[6:])
            if line.startswith(b"data: {")
            else self._named(line)
            if line.startswith(b"{")
            else line
            for line in body.split(b"\n")
        ]
        return ("text/event-stream" if module.FRAMING == "sse" else "application/x-ndjson"), b"\n".join(lines)

    def _named(self, document: bytes) -> bytes:
        return document if self._ids else json.dumps(_without_ids(json.loads(document))).encode()


def _without_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_ids(inner) for name, inner in value.items() if name not in NAMES}
    return [_without_ids(inner) for inner in value] if isinstance(value, list) else value


@contextmanager
def serving(vendor: Same) -> Generator[str]:
    class Answers(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 65_536

        def do_POST(self) -> None:
            document: Plain = json.loads(self.rfile.read(int(self.headers["content-length"])))
            vendor.bodies.append(document)
            kind, body = vendor.answer(streamed=bool(document.get("stream")) or "stream" in self.path)
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextmanager
def between(vendor: Same, wire: str, keep: Keep, *, name: str = "simulator") -> Generator[str]:
    """The URL of a gateway of Alice and Bob whose model `m` is that vendor's."""
    with serving(vendor) as url:
        config = Config(models={"m": Upstream(model=f"{name}/x", base_url=url, wire=wire)}, keep=keep)
        access = AccessControl(tokens={"alice": ALICE, "bob": BOB})
        with serve_in_thread(Gateway(config), access=access) as there:
            yield there


def final(answer: httpx.Response) -> Plain:
    """The response in an answer, whose id and items' ids are the same in every event of a stream."""
    assert answer.status_code == 200, answer.text
    if answer.headers["content-type"] == "application/json":
        return dict(answer.json())
    return last(events_of(answer.text))


def last(events: list[Plain]) -> Plain:
    found: Plain = events[-1]["response"]
    assert {event["response"]["id"] for event in events if "response" in event} == {found["id"]}
    # The id of a thought may come with its end.
    done = [event["item"]["id"] for event in events if event["type"] == "response.output_item.done"]
    assert done == [item["id"] for item in found["output"]]
    shown = [event["item"]["id"] if "item" in event else event.get("item_id", found["id"]) for event in events]
    own = found["id"].removeprefix("resp_")[:16]
    assert [id for id in shown if own not in id] == []
    return found


def texts(items: list[Any]) -> list[str]:
    """The texts of the user in a request to a vendor, or on a page of items."""
    users = [item for item in items if item.get("role", "user") == "user"]
    contents = [item.get("content", item.get("parts")) for item in users]
    return ["".join(part["text"] for part in c) if isinstance(c, list) else str(c) for c in contents if c is not None]


@pytest.mark.parametrize("ids", [True, False], ids=["ids", "no ids"])
@pytest.mark.parametrize("wire", wires.NAMES)
@pytest.mark.parametrize("file", [False, True], ids=["memory", "file"])
def test_equal_answers_are_conversations_of_their_own(wire: str, tmp_path: Path, *, file: bool, ids: bool) -> None:
    vendor = Same(wire, ids=ids)
    keep = Keep(path=str(tmp_path / "kept.sqlite")) if file else Keep()
    with between(vendor, wire, keep) as url, httpx.Client(base_url=url + "/v1", timeout=60) as http:
        headers = {name: {"authorization": f"Bearer {token}"} for name, token in (("alice", ALICE), ("bob", BOB))}
        made: list[tuple[str, str, Plain]] = []
        for name, head in headers.items():
            with talk(url, head["authorization"].removeprefix("Bearer ")) as socket:
                for n in range(MANY):
                    said = f"{name} {n}"
                    asked = {"model": "m", "input": said}
                    if n % 3 == 2:
                        found = last(turn(socket, said, model="m", store=True))
                    else:
                        found = final(http.post("/responses", json={**asked, "stream": n % 3 == 1}, headers=head))
                    assert found["store"] is True
                    made.append((name, said, found))
        assert len({found["id"] for _, _, found in made}) == len(made)
        items = [item["id"] for _, _, found in made for item in found["output"]]
        assert len({*items}) == len(items)
        assert all(not vendor_id.endswith(("resp_1", "msg_1", "rs_1")) for vendor_id in items)
        for name, said, found in made:
            of_mine, of_others = headers[name], headers["bob" if name == "alice" else "alice"]
            path = f"/responses/{found['id']}"
            assert texts(http.get(f"{path}/input_items", headers=of_mine).json()["data"]) == [said]
            assert {**http.get(path, headers=of_mine).json(), "output": found["output"]} == found
            assert http.get(path, headers=of_others).status_code == 404
            again = {"model": "m", "input": "and?", "previous_response_id": found["id"]}
            assert http.post("/responses", json=again, headers=of_others).status_code == 400
            continued = final(http.post("/responses", json=again, headers=of_mine))
            assert continued["id"] != found["id"]
            assert texts(vendor.bodies[-1][TURNS[wire]]) == [said, "and?"]
        named = [{"type": "item_reference", "id": item["id"]} for item in made[0][2]["output"]]
        asked = {"model": "m", "input": [{"role": "user", "content": "hi"}, *named, {"role": "user", "content": "on"}]}
        assert http.post("/responses", json=asked, headers=headers["bob"]).status_code == 404
        assert final(http.post("/responses", json=asked, headers=headers["alice"]))["output"]


def test_the_vendor_gets_the_ids_that_it_gave() -> None:
    vendor = Same("openai_responses", ids=True)
    with between(vendor, "openai_responses", Keep(), name="vllm") as url:
        with httpx.Client(base_url=url + "/v1", headers={"authorization": f"Bearer {ALICE}"}, timeout=60) as http:
            first = final(http.post("/responses", json={"model": "m", "input": "a"}))
            whole = [{"role": "user", "content": "a"}, *first["output"], {"role": "user", "content": "b"}]
            named = [{"type": "item_reference", "id": item["id"]} for item in first["output"]]
            for asked in (
                {"input": "b", "previous_response_id": first["id"]},
                {"input": whole},
                {"input": [whole[0], *named, whole[-1]]},
            ):
                final(http.post("/responses", json={"model": "m", **asked}))
                assert [item.get("id") for item in vendor.bodies[-1]["input"]] == [None, "rs_1", "msg_1", None]


def test_an_answer_that_is_not_stored_has_the_vendors_ids() -> None:
    vendor = Same("openai_responses", ids=True)
    with between(vendor, "openai_responses", Keep()) as url:
        with httpx.Client(base_url=url + "/v1", headers={"authorization": f"Bearer {ALICE}"}, timeout=60) as http:
            found = final(http.post("/responses", json={"model": "m", "input": "a", "store": False}))
    assert [found["id"], *(item["id"] for item in found["output"])] == ["resp_1", "rs_1", "msg_1"]


def test_the_vendors_id_is_stored_beside_the_gateways() -> None:
    ids, kept = OwnIds(), StoredTurns(MemoryStore(), "s")
    said: list[AnyItem] = [Message(id="msg_1", role="assistant", content="ok"), Message(role="assistant", content="ok")]
    response = Response(id="resp_1", status="completed", output=said)
    ids.name(response)
    first = [item.id for item in response.output]
    ids.name(response)
    assert [item.id for item in response.output] == first
    assert [item.id for item in said] == ["msg_1", None]
    drive(kept.keep(Request(input="hi"), response, ids.vendor_id))
    turn = drive(kept.turn(ids.id))
    assert turn is not None
    assert (turn.response.id, turn.vendor_id) == (ids.id, "resp_1")
    assert drive(kept.turn("resp_1")) is None
