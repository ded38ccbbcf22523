"""Stores: what was written survives kills of processes; files that cannot be used are refused. `test_chat.py` has stores that
fail in the middle of a chat.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from llm_rest import (
    Client,
    Conversation,
    FunctionCall,
    MemoryConversationStore,
    Message,
    SQLiteConversationStore,
    StoreError,
)
from tests.conversation.writer import turn
from tests.support import QUICK, SAMPLE, WHOLE

ROOT = Path(__file__).parents[2]
Store = SQLiteConversationStore


@pytest.fixture(params=["memory", "sqlite", "journal"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    path: Any = tmp_path / "talks.db"
    if request.param == "journal":  # a way to lock files that has no shared memory
        path = f"file:{path}?vfs=unix-dotfile"
    made = MemoryConversationStore() if request.param == "memory" else SQLiteConversationStore(path)
    with made:
        yield made


def talk_of(*texts: str, **fields: Any) -> Conversation:
    roles = ("user", "assistant")
    return Conversation(items=[Message(role=roles[i % 2], content=text) for i, text in enumerate(texts)], **fields)


def reason(call: Callable[[], object]) -> str:
    with pytest.raises(StoreError) as caught:
        call()
    assert caught.value.suggestions
    return caught.value.reason


def test_what_was_created_and_appended_is_there_and_nobody_else_appends(store: Store) -> None:
    talk = talk_of("Hi", "Hello")
    store.create(talk)
    assert store.get(talk.id) == talk
    late = store.get(talk.id)
    late.add("I was second")
    talk.add("And now?", FunctionCall(call_id="c", name="f", arguments="{}"))
    talk.set_system_prompt("Be brief.")
    talk.set_waiting("Which city?", "msg-7")
    store.append(talk, 2)
    assert reason(lambda: store.append(late, 2)) == "conflict"
    assert store.get(talk.id) == talk


def test_what_is_missing_or_there_already_is_refused(store: Store) -> None:
    talk = talk_of("Hi")
    assert reason(lambda: store.get(talk.id)) == "not_found"
    assert reason(lambda: store.append(talk, 0)) == "not_found"
    assert reason(lambda: store.complete(talk.id)) == "not_found"
    store.create(talk)
    assert reason(lambda: store.create(talk)) == "exists"


def test_a_completed_conversation_takes_no_more_items(store: Store) -> None:
    talk = talk_of("Hi", "Hello")
    store.create(talk)
    store.complete(talk.id, summary="A greeting.", reason="done")
    found = store.get(talk.id)
    assert (found.state.summary, found.state.reason) == ("A greeting.", "done")
    assert found.state.completed_at is not None
    talk.add("more")
    assert reason(lambda: store.append(talk, 2)) == "completed"
    assert reason(lambda: store.complete(talk.id)) == "completed"
    assert len(store.get(talk.id).items) == 2


def test_conversations_are_listed_and_searched_by_text_and_time(store: Store) -> None:
    talks = [talk_of(f"About {city}", "Fine") for city in ("Oslo", "TROMSØ", "100% Bodø_")]
    times: list[float] = []
    for talk in talks:
        store.create(talk)
        times.append(time.time())
        time.sleep(0.002)
    store.complete(talks[0].id, summary="Oslo it was.")

    def ids(found: Any) -> list[str]:
        return [entry.id for entry in found]

    newest = [talks[0].id, talks[2].id, talks[1].id]
    assert ids(store.list()) == newest
    assert ids(store.list(limit=1)) == newest[:1]
    assert ids(store.list(completed=True)) == [talks[0].id]
    assert ids(store.list(completed=False)) == newest[1:]
    assert ids(store.search("tromsø")) == [talks[1].id]
    assert ids(store.search("%")) == [talks[2].id]
    assert ids(store.search("nothing of it")) == []
    assert ids(store.search("about", since=times[0], until=times[1])) == [talks[1].id]
    entry = store.list(completed=True)[0]
    assert (entry.title, entry.items, entry.summary) == ("About Oslo", 2, "Oslo it was.")


def test_a_rollback_journal_is_used_where_there_is_no_shared_memory(store: Store) -> None:
    expected = (
        "delete" if "dotfile" in store.path else "memory" if isinstance(store, MemoryConversationStore) else "wal"
    )
    assert store.journal_mode == expected


def test_threads_share_a_store(store: Store) -> None:
    def write(name: str) -> None:
        talk = Conversation(id=name)
        store.create(talk)
        for number in range(10):
            talk.items += turn(name, number)
            store.append(talk, 2 * number)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, "abcd"))
    assert sorted(entry.items for entry in store.list()) == [20] * 4


# --- processes ------------------------------------------------------------------------------------------------------


def program(*arguments: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.conversation.writer", *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)


def test_two_processes_write_into_one_file(tmp_path: Path) -> None:
    path = tmp_path / "talks.db"
    running = [program(path, name, 30) for name in ("a", "b")]
    assert [len(process.communicate()[0].split()) for process in running] == [30, 30]
    with SQLiteConversationStore(path) as store:
        for name in ("a", "b"):
            assert store.get(name).items == [item for number in range(30) for item in turn(name, number)]


def test_a_writer_that_is_killed_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """With `LLM_REST_TESTS=whole` 100 times, else a few."""
    path = tmp_path / "talks.db"
    chance = random.Random(14)
    acknowledged = 0
    for _ in range(100 if WHOLE else 3 if QUICK or SAMPLE else 8):
        process = program(path, "a", 100_000)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(chance.random() * 0.03)
        os.kill(process.pid, signal.SIGKILL)
        said = process.communicate()[0].split(b"\n")[:-1]  # a line that was cut is none
        with SQLiteConversationStore(path) as store:
            items = store.get("a").items
        whole, rest = divmod(len(items), 2)
        assert rest == 0
        assert items == [item for number in range(whole) for item in turn("a", number)]
        if said:
            acknowledged = int(said[-1]) + 1
        assert whole >= acknowledged
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_program_that_is_killed_in_the_middle_of_a_turn_goes_on_after_the_last_whole_one(tmp_path: Path) -> None:
    path = tmp_path / "talks.db"
    process = program("chat", path)
    assert process.stdout is not None
    assert process.stdout.readline() == b"looking\n"  # a tool of the second turn runs
    process.kill()
    process.communicate()
    with SQLiteConversationStore(path) as store, Client("simulator/any") as llm:
        (entry,) = store.list()
        chat = llm.chat(conversation=entry.id, store=store)
        assert [item.text for item in chat.conversation.items if isinstance(item, Message)] == ["say one", "one"]
        assert chat.ask("say two").output_text == "two"
        assert len(store.get(entry.id).items) == 4


# --- files that cannot be used --------------------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, Conversation]:
    """A file with a conversation, which nobody has open."""
    path, talk = tmp_path / "talks.db", talk_of("Hi", "Hello")
    with SQLiteConversationStore(path) as store:
        store.create(talk)
    return path, talk


def change(path: Path, statement: str, *values: Any) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(statement, values)


def test_the_file_is_for_its_owner_alone(written: tuple[Path, Conversation]) -> None:
    assert stat.S_IMODE(written[0].stat().st_mode) == 0o600


def spoil(path: Path, kind: str) -> None:
    if kind == "newer":
        change(path, "PRAGMA user_version=2")
    elif kind == "of another program":
        path.unlink()
        change(path, "CREATE TABLE cookies (a)")
    else:
        path.write_text("Dear diary, this is no database. " * 40)


@pytest.mark.parametrize("kind", ["newer", "of another program", "no database"])
def test_a_file_that_cannot_be_used_is_refused_and_left_as_it_is(written: tuple[Path, Conversation], kind: str) -> None:
    path, _ = written
    spoil(path, kind)
    before = path.read_bytes()
    with pytest.raises(StoreError) as caught:
        SQLiteConversationStore(path)
    assert caught.value.reason == ("newer" if kind == "newer" else "damaged")
    assert str(path) in str(caught.value)
    assert ("schema 2" in str(caught.value)) is (kind == "newer")
    assert path.read_bytes() == before


def test_a_damaged_item_head_or_page_is_named(written: tuple[Path, Conversation]) -> None:
    path, talk = written
    change(path, "UPDATE items SET item=? WHERE position=1", b'{"type":"message","role":"assistant"}')
    with SQLiteConversationStore(path) as store:
        with pytest.raises(StoreError, match=r"\$\.items\[1\]") as caught:
            store.get(talk.id)
        assert caught.value.reason == "damaged"
        assert [entry.id for entry in store.list()] == [talk.id]
    for broken in (b'{"version":1,"state":4}', b"{", b"[]"):
        change(path, "UPDATE conversations SET head=?", broken)
        with SQLiteConversationStore(path) as store:
            assert reason(lambda: store.get(talk.id)) == "damaged"
    with SQLiteConversationStore(path) as store:
        assert reason(lambda: store.append(talk, 2)) == reason(lambda: store.complete(talk.id)) == "damaged"
    change(path, "UPDATE conversations SET head=?", Conversation(version=2).save())
    with SQLiteConversationStore(path) as store:
        assert reason(lambda: store.get(talk.id)) == "newer"
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\x5a" * (len(data) - 4096))
    with SQLiteConversationStore(path) as store:
        assert reason(lambda: store.get(talk.id)) == "damaged"


def test_a_file_that_may_only_be_read_is_read(written: tuple[Path, Conversation]) -> None:
    path, talk = written
    change(path, "PRAGMA journal_mode=DELETE")
    with SQLiteConversationStore(f"file:{path}?mode=ro") as store:
        assert store.get(talk.id) == talk
        talk.add("more")
        assert reason(lambda: store.append(talk, 2)) == "read_only"
        assert len(store.get(talk.id).items) == 2


def test_a_directory_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="missing"):
        SQLiteConversationStore(tmp_path / "missing" / "talks.db")


def test_what_is_no_character_is_refused_and_nothing_is_written(store: Store) -> None:
    talk = talk_of("Hi")
    store.create(talk)
    talk.items.append(Message(role="assistant", content="half a character: \ud800"))
    for call in (lambda: store.append(talk, 1), lambda: store.get("\ud800"), lambda: store.search("\ud800")):
        assert reason(call) == "failed"
    assert len(store.get(talk.id).items) == 1


def test_a_store_that_is_closed_refuses_and_one_in_memory_needs_no_close() -> None:
    store = MemoryConversationStore()
    connection = store._db  # pyright: ignore[reportPrivateUsage]
    del store
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")
    store = MemoryConversationStore()
    store.close()
    assert reason(store.list) == "failed"
