"""`record` and `replay`: the same answers without network, no secrets in the file, and what is said where something differs."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest

from llm_rest import (
    AsyncClient,
    Client,
    ConfigError,
    ConnectError,
    InternalServerError,
    LLMError,
    RetryPolicy,
    StreamInterruptedError,
    Timeouts,
    wires,
)
from llm_rest.server.app import serve_in_thread
from llm_rest.testing import CassetteError, FakeModel, Fault, Streamed, record, replay

KEY = "sk-very-secret-key-0123456789"


def play(llm: Client) -> list[str]:
    """A whole answer and a streamed one."""
    with llm.stream("say Streamed.") as events:
        streamed = "".join(events.text)
    return [llm.generate("say Whole.").output_text, streamed]


@pytest.mark.parametrize("wire", wires.NAMES)
def test_what_was_recorded_over_http_is_replayed_without_a_server(tmp_path: Path, wire: str) -> None:
    path = tmp_path / "talk.jsonl"
    with serve_in_thread() as url, Client("simulator/x", wire=wire, base_url=url) as llm:
        with record(path):
            answers = play(llm)
    with Client("simulator/x", wire=wire, base_url=url) as llm, replay(path) as played:
        assert play(llm) == answers == ["Whole.", "Streamed."]
        assert played.unused == 0
        with pytest.raises(CassetteError, match="comes after the last of 2 exchanges"):
            llm.generate("more")


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
@pytest.mark.anyio
async def test_async_clients_too(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    async with AsyncClient("simulator/x") as llm:
        with record(path):
            answer = (await llm.generate("say Hi.")).output_text
        with replay(path):
            assert (await llm.generate("say Hi.")).output_text == answer


@pytest.mark.parametrize(("recorded", "asked"), [*product(wires.NAMES, wires.NAMES)])
def test_a_recording_answers_on_any_wire(tmp_path: Path, recorded: str, asked: str) -> None:
    path = tmp_path / "talk.jsonl"
    with Client("simulator/x", wire=recorded) as llm, record(path):
        answers = play(llm)
    with Client("simulator/x", wire=asked) as llm, replay(path, match="order"):
        assert play(llm) == answers


def test_recording_again_gives_the_same_file_but_for_its_times(tmp_path: Path) -> None:
    files = []
    for name in ("one", "two"):
        with Client("simulator/x") as llm, record(tmp_path / name):
            play(llm)
        files.append((tmp_path / name).read_text().splitlines())
    assert files[0][:-1] == files[1][:-1]
    assert json.loads(files[0][0]) == {"llm_rest_cassette": 1}


SECRETS: dict[str, Any] = {
    "header": {"extra_headers": {"x-account": "account-0123456789"}},
    "body": {"extra": {"openai_responses": {"api_key": "body-key-0123456789"}}},
    "metadata": {"metadata": {"user_token": "meta-token-0123456789"}},
    "mcp": {
        "tools": [
            {
                "type": "mcp",
                "server_label": "a",
                "server_url": "https://m.example/mcp",
                "authorization": "mcp-secret-0123456789",
                "headers": {"x-k": "mcp-header-0123456789"},
            }
        ]
    },
    "text": {"instructions": f"the key is {KEY}"},
}


@pytest.mark.parametrize("place", SECRETS)
def test_no_secret_is_written(tmp_path: Path, place: str) -> None:
    path = tmp_path / "talk.jsonl"

    def answer(request: httpx.Request) -> httpx.Response:
        echoed = {"id": "r", "object": "response", "status": "completed", "output": [], "user": "user-0123456789"}
        headers = {"openai-organization": "org-0123456789", "set-cookie": "session-0123456789"}
        return httpx.Response(200, json={**echoed, "metadata": {"echo": KEY}}, headers=headers)

    http = httpx.Client(transport=httpx.MockTransport(answer))
    with Client("openai/gpt-5.2", api_key=KEY, http=http, on_loss="ignore") as llm, record(path):
        llm.generate("hi", **SECRETS[place])
    text = path.read_text()
    assert KEY not in text
    assert "0123456789" not in text
    assert "[redacted]" in text


def test_no_secret_is_written_of_a_stream_wherever_it_is_cut(tmp_path: Path) -> None:
    begun = {"id": "r", "object": "response", "status": "in_progress", "output": [], "user": "user-0123456789"}
    ended = {**begun, "status": "completed", "instructions": f"é {KEY}", "metadata": {"api_key": "meta-0123456789"}}
    kinds = {"response.created": begun, "response.completed": ended}
    events = [{"type": kind, "sequence_number": 0, "response": response} for kind, response in kinds.items()]
    lines = [f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n" for event in events]
    whole = f": {KEY}\n\n{''.join(lines)}".encode()
    for size in (1, 7, len(whole)):
        pieces = [whole[i : i + size] for i in range(0, len(whole), size)]
        http = httpx.Client(
            transport=httpx.MockTransport(lambda _, sent=pieces: httpx.Response(200, stream=Pieces(sent)))
        )
        with Client("openai/gpt-5.2", api_key=KEY, http=http) as llm, record(tmp_path / "talk"):
            with llm.stream("hi") as stream:
                assert [event.type for event in stream] == [*kinds]
        exchange, times = (json.loads(line) for line in (tmp_path / "talk").read_text().splitlines()[1:])
        bodies = [one if isinstance(one, str) else b64decode(one["base64"]) for one in exchange["chunks"]]
        written = b"".join(one.encode() if isinstance(one, str) else one for one in bodies)
        assert b"0123456789" not in written
        assert written.count(b"[redacted]") == 5
        assert len(bodies) == len(pieces) == len(times["times"][0])
        with Client("openai/gpt-5.2", api_key=KEY) as llm, replay(tmp_path / "talk"), llm.stream("hi") as stream:
            assert [event.type for event in stream] == [*kinds]


class Pieces(httpx.SyncByteStream):
    """The body of an answer, in these pieces."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._pieces)


def test_names_of_accounts_in_a_url_are_not_written(tmp_path: Path) -> None:
    http = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, json={"candidates": []})))
    url = "https://aiplatform.googleapis.com/v1beta1/projects/my-project/locations/global"
    with Client("vertex/gemini-2.5-flash", api_key="token-0123456789", base_url=url, http=http) as llm:
        with record(tmp_path / "talk"):
            llm.try_generate("hi")
    assert "my-project" not in (tmp_path / "talk").read_text()


@pytest.mark.parametrize("wire", wires.NAMES)
def test_an_error_in_mid_stream_is_an_event_of_the_wire(tmp_path: Path, wire: str) -> None:
    path = tmp_path / "talk.jsonl"
    with FakeModel([Streamed("A long enough text.")]) as model, model.client(wire=wire) as llm, record(path):
        with llm.stream("hi") as events:
            list(events)
    cut = len("".join(json.loads(path.read_text().splitlines()[1])["chunks"])) // 2
    with model.client(wire=wire, retry=1) as llm, replay(path, faults=[Fault(cut=cut, status=529)]):
        with pytest.raises(InternalServerError) as caught, llm.stream("hi") as events:
            list(events)
    assert caught.value.partial.output_text
    assert "A long enough text.".startswith(caught.value.partial.output_text)


def test_a_request_that_differs_is_named_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    with Client("simulator/x") as llm:
        with record(path):
            llm.generate("Hello", temperature=0.5)
        with replay(path), pytest.raises(CassetteError, match=r'line 2: .*body.input was "Hello", and is "Goodbye"'):
            llm.generate("Goodbye", temperature=0.5)
        with replay(path, match="order"):
            llm.generate("Goodbye")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        ("", "line 1"),
        ('{"llm_rest_cassette": 99}\n{"times": []}\n', "line 1: version 99, not 1"),
        ('{"llm_rest_cassette": 1}\n{"nonsense": 1}\n{"times": []}\n', "line 2"),
        ('{"llm_rest_cassette": 1}\n', "line 2"),
    ],
)
def test_a_file_that_is_no_recording_is_named_with_its_line(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "talk.jsonl"
    if content is not None:
        path.write_text(content)
    with pytest.raises(CassetteError, match=message) as raised, replay(path):
        pass
    assert str(path) in str(raised.value)
    assert isinstance(raised.value, ConfigError)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault(cut=30), LLMError),
        (Fault(status=529), LLMError),
        (Fault(stall=30.0), LLMError),
    ],
)
def test_faults_spoil_an_answer(tmp_path: Path, fault: Fault, kind: type[LLMError]) -> None:
    path = tmp_path / "talk.jsonl"
    with FakeModel([Streamed("A long enough text.")]) as model, model.client() as llm, record(path):
        with llm.stream("hi") as events:
            list(events)
    with model.client(retry=1, timeout=Timeouts(read=0.2)) as llm, replay(path, faults=[fault]), pytest.raises(kind):
        with llm.stream("hi") as events:
            list(events)


def test_a_connection_that_failed_fails_again(tmp_path: Path) -> None:
    with Client("openai/gpt-5.2", api_key=KEY, base_url="http://127.0.0.1:9", retry=1) as llm:
        with record(tmp_path / "talk"), pytest.raises(ConnectError):
            llm.generate("hi")
        with replay(tmp_path / "talk"), pytest.raises(ConnectError, match="failed when it was recorded"):
            llm.generate("hi")


def test_a_fault_of_no_exchange_is_refused(tmp_path: Path) -> None:
    with FakeModel("Hello") as model, model.client() as llm, record(tmp_path / "talk"):
        llm.generate("hi")
    with pytest.raises(CassetteError, match="talk: there is no exchange 1 for a fault, the file has 1, from 0"):
        with replay(tmp_path / "talk", faults=[Fault(exchange=1)]):
            pass


def test_a_broken_answer_is_retried_from_the_next_exchange(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    with FakeModel("Hello") as model, model.client() as llm, record(path):
        llm.generate("hi")
        llm.generate("hi")
    policy = RetryPolicy(attempts=2, base_delay=0.0)
    with model.client(retry=policy) as llm, replay(path, faults=[Fault(cut=10)]) as played:
        assert llm.generate("hi").output_text == "Hello"
        assert played.unused == 0


def test_a_stream_that_was_not_read_to_its_end_is_recorded_as_cut(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    with FakeModel("A long enough text.") as model, model.client() as llm, record(path):
        with llm.stream("hi") as events:
            next(iter(events.text))
    assert json.loads(path.read_text().splitlines()[1])["cut"] is True
    with model.client(retry=1) as llm, replay(path), pytest.raises(StreamInterruptedError):
        with llm.stream("hi") as events:
            list(events)
