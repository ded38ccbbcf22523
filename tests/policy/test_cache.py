"""`AnswerCache`: the same request gets the kept answer without a request, whole or as a stream, in memory and in a file."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import get_ident
from typing import Any

import pytest

from llm_rest import AnswerCache, Client, LLMError, RateLimitError, SchemaMismatchError, StoreError, wires
from llm_rest.testing import Broken, FakeModel, Refusal, Streamed, ToolCall

pytestmark = pytest.mark.anyio

NewClient = Callable[..., Any]
TOOL = {"type": "function", "name": "f", "parameters": {"type": "object"}}


async def streamed(llm: Any, **options: Any) -> tuple[list[str], Any]:
    async with llm.stream("hi", **options) as stream:
        said = [piece async for piece in stream.text]
    return said, stream.response


@pytest.mark.parametrize("wire", wires.NAMES)
async def test_the_same_request_gets_the_same_answer(wire: str, new_client: NewClient, tmp_path: Path) -> None:
    with FakeModel(["one", "two", Streamed("three", size=2)]) as model, AnswerCache(tmp_path / "c.sqlite") as cache:
        options: dict[str, Any] = {"vendor": model.vendor(), "wire": wire, "cache": cache, "api_key": None}
        async with new_client("fake/model", **options) as llm:
            replies = [await llm.generate(text) for text in ("hi", "hi", "other", "hi")]
            first, again = [await streamed(llm) for _ in range(2)]
    assert [reply.output_text for reply in replies] == ["one", "one", "two", "one"]
    assert [reply.info.cached for reply in replies] == [False, True, False, True]
    assert (replies[1].info.attempts, replies[1].info.metadata["api_calls"]) == ((), "0")
    assert replies[1].usage == replies[0].usage
    assert (first[0], "".join(first[0])) == (again[0], "three")
    assert len(first[0]) == 3
    assert (first[1].info.cached, again[1].info.cached, again[1].info.attempts) == (False, True, ())
    assert again[1].output == first[1].output


@pytest.mark.parametrize(
    "options",
    [
        {"tools": [TOOL]},
        {"store": True},
        {"previous_response_id": "resp_1"},
        {"background": True},
        {"user_token": "token-of-a-user"},
        {"extra": {"openai_responses": {"tools": []}}},
        {"cache": False},
    ],
    ids=lambda options: next(iter(options)),
)
def test_what_is_not_looked_up(options: Any) -> None:
    with FakeModel(["one", "two"]) as model, AnswerCache() as kept:
        llm = model.client(cache=kept, on_loss="ignore")
        assert [llm.generate("hi", **options).output_text for _ in range(2)] == ["one", "two"]
        assert len(kept) == 0
    with FakeModel([ToolCall("f")]) as model, AnswerCache(tools=True) as kept:
        llm = model.client(cache=kept)
        assert [llm.generate("hi", tools=[TOOL]).function_calls[0].name for _ in range(2)] == ["f", "f"]


FAILURES = {
    "error": RateLimitError("slow"),
    "incomplete": ["Hel", Broken("limit")],
    "cut": ["Hel", Broken("connection")],
    "late": Streamed("Hel", error=RateLimitError("slow")),
    "left": Streamed("Hello", size=1),
}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("stream", [False, True])
async def test_failures_are_not_kept(failure: str, stream: bool, new_client: NewClient) -> None:
    if failure in ("cut", "late", "left") and not stream:
        pytest.skip("happens to streams alone")
    with FakeModel([FAILURES[failure], "whole"]) as model, AnswerCache() as kept:
        async with new_client("fake/model", vendor=model.vendor(), cache=kept, api_key=None) as llm:
            if failure == "left":
                async with llm.stream("hi") as left:
                    await anext(left)
            else:
                with suppress(LLMError):
                    await (streamed(llm) if stream else llm.generate("hi"))
            assert len(kept) == 0
            found = (await streamed(llm))[1] if stream else await llm.generate("hi")
    assert found.output_text == "whole"


def test_a_refusal_is_an_answer_and_a_value_that_does_not_fit_is_none() -> None:
    with FakeModel([Refusal("no"), "no number", "7"]) as model, AnswerCache() as kept:
        llm = model.client(cache=kept)
        assert [llm.generate("hi").refusal for _ in range(2)] == ["no", "no"]
        with pytest.raises(SchemaMismatchError):
            llm.generate_json("count", int, max_repairs=0)
        assert [llm.generate_json("count", int, max_repairs=0) for _ in range(2)] == [7, 7]


@pytest.mark.parametrize("way", ["asyncio", "trio"], indirect=True)
async def test_a_value_that_does_not_fit_is_deleted_outside_of_the_event_loop(new_client: NewClient) -> None:
    threads = {get_ident()}

    class Watched(AnswerCache):
        def delete(self, key: bytes) -> None:
            threads.add(get_ident())
            super().delete(key)

    with FakeModel(["no number"]) as model, Watched() as cache, pytest.raises(SchemaMismatchError):
        async with new_client("fake/model", vendor=model.vendor(), cache=cache, api_key=None) as llm:
            await llm.generate_json("count", int, max_repairs=0)
    assert len(threads) == 2


def test_requests_that_differ_have_other_keys() -> None:
    with FakeModel(["1", "2", "3", "4", "5"]) as model, AnswerCache() as kept:
        llm, other = model.client(cache=kept), Client("other/model", vendor=model.vendor("other"), cache=kept)
        different: list[dict[str, Any]] = [{"temperature": 0.5}, {"model": "fake/other"}]
        calls = [(llm, {}), *((llm, one) for one in [*different, {"extra_headers": {"x-variant": "b"}}]), (other, {})]
        for _ in range(2):
            assert [one.generate("hi", **options).output_text for one, options in calls] == ["1", "2", "3", "4", "5"]


def test_nothing_of_a_request_and_no_secret_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with FakeModel(["my key is sk-secret-0123456789", "fine"]) as model, AnswerCache(path) as kept:
        llm = model.client(cache=kept, defaults={"extra_headers": {"x-key": "sk-secret-0123456789"}})
        assert llm.generate_text("the prompt is private") == "my key is sk-secret-0123456789"
        assert (llm.generate_text("another prompt"), len(kept)) == ("fine", 1)
    written = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"fine" in written
    assert not any(word in written for word in (b"sk-secret", b"prompt is private", b"another prompt"))
    assert path.stat().st_mode & 0o077 == 0


def test_size_and_age_are_bounded(tmp_path: Path) -> None:
    now = 1000.0
    with AnswerCache(tmp_path / "c.sqlite", max_bytes=200_000, max_age=60, clock=lambda: now) as kept:
        for number in range(100):
            now += 0.1
            kept.put(bytes([number]), [b"x" * 10_000], {})
        assert 5 < len(kept) < 20
        assert kept.get(b"\x00") is None
        assert kept.get(bytes([99])) == [b"x" * 10_000]
        kept.put(b"large", [b"x" * 150_000], {})
        assert kept.get(b"large") is None
        now += 61.0
        assert kept.get(bytes([99])) is None
        kept.put(b"new", [b"x"], {})
        assert len(kept) == 1
        kept.clear()
        assert len(kept) == 0
    assert (tmp_path / "c.sqlite").stat().st_size < 300_000


PROCESS = """
import sys
from llm_rest import AnswerCache
cache = AnswerCache(sys.argv[1])
for number in range(50):
    cache.put(f"{sys.argv[2]}{number}".encode(), [b"x" * 100], {})
    assert cache.get(f"{sys.argv[2]}{number}".encode())
"""


def test_two_processes_use_one_file(tmp_path: Path) -> None:
    path = str(tmp_path / "c.sqlite")
    running = [subprocess.Popen([sys.executable, "-c", PROCESS, path, name]) for name in "ab"]
    assert [process.wait(60) for process in running] == [0, 0]
    with AnswerCache(path) as kept:
        assert len(kept) == 100


def test_a_damaged_file_is_a_typed_error(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(StoreError, match=r"c\.sqlite") as caught:
        AnswerCache(path)
    assert caught.value.reason == "damaged"
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE theirs (x)")
    db.close()
    with pytest.raises(StoreError, match="another program"):
        AnswerCache(other)
    with AnswerCache(tmp_path / "d.sqlite") as kept:
        kept.put(b"k", [b"x"], {})
        with sqlite3.connect(tmp_path / "d.sqlite") as db:
            db.execute("UPDATE answers SET pieces = x'c1'")
        db.close()
        with pytest.raises(StoreError, match="damaged answer"):
            kept.get(b"k")
