"""`record` and `replay`: the same answers without network, no secrets in the file, and errors that name the difference."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest

from llm_rest import Client, RetryPolicy, Timeouts, errors, wires
from llm_rest.server.app import serve_in_thread
from llm_rest.testing import CassetteError, FakeModel, Fault, Streamed, record, replay
from tests.callers import NewClient

KEY = "sk-very-secret-key-0123456789"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "talk.jsonl"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serve_in_thread() as found:
        yield found


def play(llm: Client) -> list[str]:
    """A whole answer and a streamed one."""
    with llm.stream("say Streamed.") as events:
        streamed = "".join(events.text)
    return [llm.generate("say Whole.").output_text, streamed]


def mocked(answer: Any, **options: Any) -> Client:
    """A client whose requests this function answers."""
    http = httpx.Client(transport=httpx.MockTransport(answer))
    return Client(**{"model": "openai/gpt-5.2", "api_key": KEY, **options}, http=http, on_loss="ignore")


@pytest.mark.parametrize(("recorded", "asked"), [*product(wires.NAMES, wires.NAMES)])
def test_a_recording_is_replayed_without_the_server_on_any_wire(
    path: Path, url: str, recorded: str, asked: str
) -> None:
    with Client("simulator/x", wire=recorded, base_url=url) as llm, record(path):
        answers = play(llm)
    match: Any = "strict" if recorded == asked else "order"
    with Client("simulator/x", wire=asked, base_url=url) as llm, replay(path, match=match) as played:
        assert play(llm) == answers == ["Whole.", "Streamed."]
        assert played.unused == 0
        with pytest.raises(CassetteError, match="comes after the last of 2 exchanges"):
            llm.generate("more")


def test_recording_again_gives_the_same_file_but_for_its_times(tmp_path: Path) -> None:
    files = []
    for name in ("one", "two"):
        with Client("simulator/x") as llm, record(tmp_path / name):
            play(llm)
        files.append((tmp_path / name).read_text().splitlines())
    assert files[0][:-1] == files[1][:-1]
    assert json.loads(files[0][0]) == {"llm_rest_cassette": 1}


MCP = {"type": "mcp", "server_label": "a", "server_url": "https://m.example/mcp"}
SECRETS: dict[str, Any] = {
    "header": {"extra_headers": {"x-account": "account-0123456789"}},
    "body": {"extra": {"openai_responses": {"api_key": "body-key-0123456789"}}},
    "metadata": {"metadata": {"user_token": "meta-token-0123456789"}},
    "mcp": {"tools": [{**MCP, "authorization": "mcp-0123456789", "headers": {"x-k": "mcp-header-0123456789"}}]},
    "text": {"instructions": f"the key is {KEY}"},
}


@pytest.mark.parametrize("place", SECRETS)
def test_no_secret_is_written(path: Path, place: str) -> None:
    echoed = {"id": "r", "object": "response", "status": "completed", "output": [], "user": "user-0123456789"}
    headers = {"openai-organization": "org-0123456789", "set-cookie": "session-0123456789"}
    answer = httpx.Response(200, json={**echoed, "metadata": {"echo": KEY}}, headers=headers)
    with mocked(lambda _: answer) as llm, record(path):
        llm.generate("hi", **SECRETS[place])
    assert "0123456789" not in path.read_text()
    assert "[redacted]" in path.read_text()


def test_no_secret_is_written_of_a_stream_wherever_it_is_cut(path: Path) -> None:
    begun = {"id": "r", "object": "response", "status": "in_progress", "output": [], "user": "user-0123456789"}
    ended = {**begun, "status": "completed", "instructions": f"é {KEY}", "metadata": {"api_key": "meta-0123456789"}}
    kinds = {"response.created": begun, "response.completed": ended}
    events = [{"type": kind, "sequence_number": 0, "response": response} for kind, response in kinds.items()]
    lines = [f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n" for event in events]
    whole = f": {KEY}\n\n{''.join(lines)}".encode()
    for size in (1, 7, len(whole)):
        pieces = [whole[i : i + size] for i in range(0, len(whole), size)]
        with mocked(lambda _, sent=pieces: httpx.Response(200, stream=Pieces(sent))) as llm, record(path):
            with llm.stream("hi") as stream:
                assert [event.type for event in stream] == [*kinds]
        exchange, times = (json.loads(line) for line in path.read_text().splitlines()[1:])
        bodies = [one.encode() if isinstance(one, str) else b64decode(one["base64"]) for one in exchange["chunks"]]
        assert b"0123456789" not in b"".join(bodies)
        assert b"".join(bodies).count(b"[redacted]") == 5
        assert len(bodies) == len(pieces) == len(times["times"][0])
        with Client("openai/gpt-5.2", api_key=KEY) as llm, replay(path), llm.stream("hi") as stream:
            assert [event.type for event in stream] == [*kinds]


class Pieces(httpx.SyncByteStream):
    """The body of an answer, in these pieces."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._pieces)


def test_names_of_accounts_in_a_url_are_not_written(path: Path) -> None:
    url = "https://aiplatform.googleapis.com/v1beta1/projects/my-project/locations/global"
    answer = httpx.Response(200, json={"candidates": []})
    with mocked(lambda _: answer, model="vertex/gemini-2.5-flash", base_url=url) as llm, record(path):
        llm.try_generate("hi")
    assert "my-project" not in path.read_text()


# --- differences and faults


def test_a_request_that_differs_is_named_with_its_place(path: Path) -> None:
    with Client("simulator/x") as llm:
        with record(path):
            llm.generate("Hello", temperature=0.5)
        with replay(path), pytest.raises(CassetteError, match=r'line 2: .*body.input was "Hello", and is "Goodbye"'):
            llm.generate("Goodbye", temperature=0.5)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        ("", "line 1"),
        ('{"llm_rest_cassette": 99}\n{"times": []}\n', "line 1: version 99, not 1"),
        ('{"llm_rest_cassette": 1}\n{"nonsense": 1}\n{"times": []}\n', "line 2"),
        ('{"llm_rest_cassette": 1}\n', "line 2"),
        ('{"llm_rest_cassette": 1}\n{"times": []}\n', "there is no exchange 0 for a fault, the file has 0"),
    ],
)
def test_a_file_that_cannot_be_replayed_is_named_with_its_line(path: Path, content: str | None, message: str) -> None:
    if content is not None:
        path.write_text(content)
    with pytest.raises(CassetteError, match=message) as raised, replay(path, faults=[Fault(cut=1)]):
        pass
    assert str(path) in str(raised.value)
    assert isinstance(raised.value, errors.ConfigError)


def recorded(path: Path, count: int | None = None, **options: Any) -> tuple[FakeModel, int]:
    """A model whose streamed answer was recorded, read up to so many pieces, and the size of the answer."""
    with FakeModel([Streamed("A long enough text.")]) as model, model.client(**options) as llm, record(path):
        with llm.stream("hi") as events:
            for n, _ in enumerate(events.text, 1):
                if n == count:
                    break
    return model, len("".join(json.loads(path.read_text().splitlines()[1])["chunks"]))


def play_broken(path: Path, model: FakeModel, *faults: Fault, **options: Any) -> None:
    with model.client(retry=1, timeout=Timeouts(read=0.2), **options) as llm, replay(path, faults=[*faults]):
        with llm.stream("hi") as events:
            list(events)


FAULTS: list[tuple[str, Callable[[int], Fault], type[errors.LLMError]]] = [
    *((wire, lambda size: Fault(cut=size // 2, status=529), errors.InternalServerError) for wire in wires.NAMES),
    ("openai_responses", lambda size: Fault(cut=size // 2), errors.StreamInterruptedError),
    ("openai_responses", lambda _: Fault(status=529), errors.InternalServerError),
    ("openai_responses", lambda _: Fault(stall=30.0), errors.APITimeoutError),
]
"""A wire, the fault by the size of the answer (an error in mid-stream is an event of the wire), and the error."""


@pytest.mark.parametrize(("wire", "fault", "kind"), FAULTS)
def test_faults_spoil_an_answer(
    path: Path, wire: str, fault: Callable[[int], Fault], kind: type[errors.LLMError]
) -> None:
    model, size = recorded(path, wire=wire)
    with pytest.raises(kind) as caught:
        play_broken(path, model, fault(size), wire=wire)
    partial = caught.value.partial
    assert (partial is None) is (fault(size) == Fault(status=529)), "it is sent instead of the answer"
    assert partial is None or (partial.output_text and "A long enough text.".startswith(partial.output_text))


def test_a_stream_that_was_not_read_to_its_end_is_recorded_as_cut(path: Path) -> None:
    model, _ = recorded(path, count=1)
    with pytest.raises(errors.StreamInterruptedError):
        play_broken(path, model)


def test_a_connection_that_failed_fails_again(path: Path) -> None:
    with Client("openai/gpt-5.2", api_key=KEY, base_url="http://127.0.0.1:9", retry=1) as llm:
        with record(path), pytest.raises(errors.ConnectError):
            llm.generate("hi")
        with replay(path), pytest.raises(errors.ConnectError, match="failed when it was recorded"):
            llm.generate("hi")


@pytest.mark.anyio
async def test_a_broken_answer_is_retried_from_the_next_exchange(path: Path, new_client: NewClient) -> None:
    with FakeModel("Hello") as model, record(path):
        async with new_client("fake/model", vendor=model.vendor(), api_key=None) as llm:
            await llm.generate("hi")
            await llm.generate("hi")
    with replay(path, faults=[Fault(cut=10)]) as played:
        retry = RetryPolicy(attempts=2, base_delay=0.0)
        async with new_client("fake/model", vendor=model.vendor(), api_key=None, retry=retry) as llm:
            assert (await llm.generate("hi")).output_text == "Hello"
        assert played.unused == 0
