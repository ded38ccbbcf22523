"""What is in strings and what is stored counts like a body that is sent whole: one request costs a bounded amount of work."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from msgspec.structs import replace

from llm_rest import wires
from llm_rest.responses import FunctionCall, FunctionCallOutput, Message, Reasoning, Request, Response
from llm_rest.server.access import AccessControl, Limits
from llm_rest.server.app import serve_in_thread
from llm_rest.server.config import Config, Keep, Upstream
from llm_rest.server.gateway import Gateway
from llm_rest.server.handler import Context, Refused
from llm_rest.server.history import StoredHistory
from llm_rest.server.store import SQLiteStore
from llm_rest.simulator import Simulator
from llm_rest.sync import drive
from tests.gateway.upstreams import VERSION, Echo, Plain, gateway, message_of, question

LIMITS = Limits(body=100_000, entries=5_000)


@contextmanager
def limited(vendor: Any, keep: Keep | None = None) -> Generator[httpx.Client]:
    """An HTTP client of a gateway with those limits, whose models named after the wires are that vendor's."""
    with serve_in_thread(vendor) as url:
        models = {wire: Upstream(model="simulator/x", base_url=url, wire=wire) for wire in wires.NAMES}
        with gateway(Config(models=models, limits=LIMITS, keep=keep or Keep())) as client:
            yield client


def calling(wire: str, arguments: str) -> Plain:
    """A request with a call of those arguments and its result."""
    call, output = FunctionCall(call_id="c", name="f", arguments=arguments), FunctionCallOutput(call_id="c", output="1")
    request = Request(model=wire, input=[Message(role="user", content="hi"), call, output], max_output_tokens=900)
    return dict(msgspec.json.decode(msgspec.json.encode(wires.load(wire).encode_request(request)[0])))


@pytest.mark.parametrize("wire", wires.NAMES)
def test_json_in_the_arguments_of_calls_counts_against_the_limit_of_entries(wire: str) -> None:
    vendor = Echo()
    with limited(vendor) as http:
        path, headers = question(wire, "openai_chat", "")[0], VERSION
        few, many = ("{" + ",".join(f'"{i}":1' for i in range(n)) + "}" for n in (2_000, 5_100))
        document = {"model": "openai_chat"} if wire != "gemini_generate_content" else {}
        assert http.post(path, json={**calling(wire, few), **document}, headers=headers).status_code == 200
        answer = http.post(path, json={**calling(wire, many), **document}, headers=headers)
        assert answer.status_code == 400
        assert "5,000" in message_of(answer)
        assert len(vendor.asked) == 1


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("behind", ["openai_chat", "ollama_chat"])
def test_what_grows_in_the_format_of_a_vendor_is_not_sent(behind: str, *, stream: bool) -> None:
    vendor = Echo()
    with limited(vendor) as http:
        quotes = json.dumps({"a": '"' * 49_000})  # each is two bytes in an object, and four in a string
        path, document = question("anthropic_messages", behind, "hi", stream=stream)
        document["messages"] = calling("anthropic_messages", quotes)["messages"]
        answer = http.post(path, json=document)
        if behind == "ollama_chat":  # which has objects too
            assert answer.status_code == 200
        else:
            assert (answer.status_code, answer.json()["error"]["type"]) == (413, "request_too_large")
            assert "the limit `body` of this server" in message_of(answer)
            assert vendor.asked == []


def stored(http: httpx.Client, text: Any, **fields: Any) -> Plain:
    answer = http.post("/v1/responses", json={"model": "openai_chat", "input": text, **fields})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


class Long(Echo):
    """A vendor that answers with much text."""

    async def answer(self, request: Request, context: Context) -> Response:
        response = await super().answer(request, context)
        said = Message(id="msg_1", role="assistant", status="completed", content="x" * 30_000)
        return replace(response, output=[said])


@pytest.mark.parametrize("file", [False, True], ids=["memory", "file"])
def test_stored_items_count_against_the_limit_of_a_body(tmp_path: Path, *, file: bool) -> None:
    vendor = Long()
    with limited(vendor, Keep(path=str(tmp_path / "kept.sqlite")) if file else None) as http:
        first = stored(http, "hi")
        reference = {"type": "item_reference", "id": first["output"][0]["id"]}
        stored(http, [{"role": "user", "content": "a"}, reference, reference, {"role": "user", "content": "b"}])
        asked = len(vendor.asked)
        said = [{"role": "user", "content": "a"}, *[reference] * 4, {"role": "user", "content": "b"}]
        answer = http.post("/v1/responses", json={"model": "openai_chat", "input": said})
        assert (answer.status_code, answer.json()["error"]["type"]) == (413, "request_too_large")
        assert "100,000 bytes (the limit `body`" in message_of(answer)
        before = first["id"]
        for _ in range(2):
            before = stored(http, "on", previous_response_id=before)["id"]
        answer = http.post(
            "/v1/responses", json={"model": "openai_chat", "input": "x" * 20_000, "previous_response_id": before}
        )
        assert answer.status_code == 413
        assert len(vendor.asked) == asked + 2


def test_restored_state_counts_against_the_limit_of_a_body() -> None:
    history = StoredHistory()
    context = Context(
        wire="openai_chat", dialect=None, vendor=None, headers={}, body=b"x" * 50_000, scope="s", limits=LIMITS
    )
    thought = Reasoning(summary=[], encrypted_content="x" * 30_000)
    call, output = FunctionCall(call_id="c", name="f", arguments="{}"), FunctionCallOutput(call_id="c", output="1")
    user = Message(role="user", content="hi")
    asked = Request(model="m", input=[user])
    answer = Response(id="r", status="completed", output=[thought, call])
    drive(history.after(asked, asked, answer, context))
    once = Request(model="m", input=[user, call, output])
    restored = drive(history.before(once, "anthropic_messages", context))
    assert isinstance(restored.input, list)
    assert thought in restored.input
    with pytest.raises(Refused, match="limit `body`"):
        drive(history.before(replace(once, input=[user, call, output] * 5), "anthropic_messages", context))


@pytest.mark.parametrize("limit", ["9" * 5000, "²", "-1", "101", "1e1"])
def test_a_page_of_an_impossible_size_is_refused(limit: str) -> None:
    with limited(Echo()) as http:
        name = stored(http, "hi")["id"]
        answer = http.get(f"/v1/responses/{name}/input_items", params={"limit": limit})
        assert answer.status_code == 400, answer.text
        assert "limit is a number from 1 to 100" in message_of(answer)


def test_reading_a_stored_conversation_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite"
    with limited(Echo(), Keep(path=str(path))) as http:
        name = stored(http, "hi")["id"]
        other = sqlite3.connect(path)
        try:
            version = other.execute("PRAGMA data_version").fetchone()
            said = {"model": "openai_chat", "input": "b", "previous_response_id": name, "store": False}
            assert http.get(f"/v1/responses/{name}/input_items").status_code == 200
            assert http.post("/v1/responses", json=said).status_code == 200
            assert other.execute("PRAGMA data_version").fetchone() == version
        finally:
            other.close()


def test_on_a_full_disk_stored_answers_are_read_and_new_ones_are_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SQLiteStore(tmp_path / "kept.sqlite")
    with serving_with(store) as http:
        first = http.post("/v1/responses", json={"model": "m", "input": "say one"}).json()
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count={pages}")
        asked = {"model": "m", "input": "say " + "two " * 20_000, "previous_response_id": first["id"]}
        for stream in (False, True):
            answer = http.post("/v1/responses", json={**asked, "stream": stream})
            assert answer.status_code == 200
            document = answer.json() if not stream else last_of(answer.text)
            assert document["store"] is False
            assert http.get(f"/v1/responses/{document['id']}").status_code == 404
        assert http.get(f"/v1/responses/{first['id']}").json()["id"] == first["id"]
        deleted = http.delete(f"/v1/responses/{first['id']}")
        assert str(tmp_path) not in deleted.text


def test_a_store_that_fails_is_an_error_without_its_path(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "kept.sqlite")
    with serving_with(store) as http:
        store._db.execute("DROP TABLE kept")
        answers = [
            http.get("/v1/responses/resp_1"),
            http.delete("/v1/responses/resp_1"),
            http.post("/v1/responses", json={"model": "m", "input": "b", "previous_response_id": "resp_1"}),
        ]
        for answer in answers:
            assert answer.status_code == 500
            assert message_of(answer) == "The stored conversations of this server cannot be used now."
        assert http.post("/v1/responses", json={"model": "m", "input": "say a"}).json()["store"] is False


@contextmanager
def serving_with(store: SQLiteStore) -> Generator[httpx.Client]:
    """An HTTP client of a gateway to a simulated vendor, with that store."""
    with serve_in_thread(Simulator()) as url:
        config = Config(models={"m": Upstream(model="simulator/x", base_url=url, wire="openai_chat")})
        with serve_in_thread(Gateway(config, history=StoredHistory(store)), access=AccessControl()) as there:
            with httpx.Client(base_url=there, timeout=60) as http:
                yield http


def last_of(text: str) -> Plain:
    lines = [line for line in text.splitlines() if line.startswith("data: {")]
    return dict(json.loads(lines[-1][6:])["response"])
