"""Stores of conversations: one protocol, in memory and in a SQLite file.

A turn is written in one transaction, and is durable when `append` returns (`synchronous=FULL`). Items are only ever appended.
Several threads and processes may use one file; of two that append to one conversation at once the second gets a `StoreError`.
Before changing this file, know that `user_version` names the schema: a change of the tables gets a new number and a migration.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Sequence
from typing import Any, Protocol, Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..errors import DecodeError, StoreError, StoreReason
from ..responses.estimate import text_of
from ..responses.items import AnyItem, FunctionCallOutput, Message
from ..sqlite import SQLiteFile
from ..unknown import decoder_of
from .conversation import Conversation, ConversationState

SCHEMA = 1
"""The version of the tables that this version of the library writes."""

_APPLICATION = 0x6C6C6D72  # "llmr", which distinguishes the file from those of other programs
_TABLES = """
CREATE TABLE conversations (
    id TEXT PRIMARY KEY, created_at REAL NOT NULL, updated_at REAL NOT NULL, completed_at REAL, head BLOB NOT NULL
);
CREATE INDEX conversations_updated ON conversations (updated_at);
CREATE TABLE items (
    conversation TEXT NOT NULL REFERENCES conversations (id), position INTEGER NOT NULL, item BLOB NOT NULL, said TEXT NOT NULL,
    PRIMARY KEY (conversation, position)
) WITHOUT ROWID;
"""


class StoredConversation(Struct, frozen=True, kw_only=True):
    """An entry of a store's list: a conversation without its items."""

    id: str
    """The id, for `get`."""
    created_at: float
    """The time of creation, in seconds since 1970."""
    updated_at: float
    """The time of the last write, in seconds since 1970."""
    completed_at: float | None
    """The time of completion, in seconds since 1970; `None` while it is open."""
    items: int
    """The number of its items."""
    title: str
    """The beginning of the first message of the user."""
    summary: str | None
    """The summary of a completed conversation."""


class ConversationStore(Protocol):
    """A store of conversations. Methods block, may be called from any thread, and raise `StoreError` with a reason."""

    def create(self, conversation: Conversation) -> None:
        """Write a new conversation with its items; `exists` if the id is already used."""
        ...

    def get(self, conversation_id: str) -> Conversation:
        """The conversation of this id; `not_found` where there is none, `damaged` with the path."""
        ...

    def append(self, conversation: Conversation, position: int) -> None:
        """Write the items from `position` on, and all other fields; durable when it returns.

        `conflict` where the store has not exactly `position` items, `completed` where the conversation is, `not_found`.
        """
        ...

    def complete(self, conversation_id: str, *, summary: str | None = None, reason: str | None = None) -> None:
        """Mark a conversation as completed: it accepts no further items. `not_found`, or `completed` where it is already."""
        ...

    def list(self, *, limit: int = 10, completed: bool | None = None) -> Sequence[StoredConversation]:
        """The most recently written conversations, newest first; only completed or only open ones if `completed` is given."""
        ...

    def search(
        self,
        text: str | None = None,
        *,
        since: float | None = None,
        until: float | None = None,
        limit: int = 10,
        completed: bool | None = None,
    ) -> Sequence[StoredConversation]:
        """The conversations that contain `text`, case-insensitive, written between two times, newest first."""
        ...


class SQLiteConversationStore(SQLiteFile, ConversationStore):
    """A `ConversationStore` in a SQLite file, which is created where it is missing. Works for several processes at once.

    It waits `timeout` seconds for another writer. Raises `StoreError` for a file that cannot be used.
    """

    def __init__(self, path: str | os.PathLike[str], *, timeout: float = 5.0) -> None:
        super().__init__(
            path, timeout=timeout, what="the store", application=_APPLICATION, schema=SCHEMA, tables=_TABLES
        )
        self._db.create_function("folded", 1, str.casefold, deterministic=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.path!r}; see .list() .get(id) .search(text)>"

    # --- the protocol

    def create(self, conversation: Conversation) -> None:
        with self._writing():
            try:
                self._db.execute(
                    "INSERT INTO conversations VALUES (?, ?, ?, ?, ?)",
                    (conversation.id, conversation.created_at, *_head(conversation)),
                )
            except sqlite3.IntegrityError:
                raise self._error(f"has a conversation {conversation.id!r} already", "exists") from None
            self._insert(conversation, 0)

    def get(self, conversation_id: str) -> Conversation:
        with self._store_errors():
            found = self._db.execute("SELECT head FROM conversations WHERE id=?", (conversation_id,)).fetchone()
            rows = self._db.execute(
                "SELECT item FROM items WHERE conversation=? ORDER BY position", (conversation_id,)
            ).fetchall()
        if found is None:
            raise self._error(f"has no conversation {conversation_id!r}", "not_found")
        try:
            head: Any = msgspec.json.decode(found[0])
            items = [msgspec.Raw(row[0]) for row in rows]
            return Conversation.load(msgspec.json.encode({**head, "items": items}))
        except (DecodeError, msgspec.MsgspecError, TypeError) as problem:
            raise self._damaged(conversation_id, problem) from None

    def append(self, conversation: Conversation, position: int) -> None:
        with self._writing():
            self._must_be_open(conversation.id)
            (count,) = self._db.execute(
                "SELECT coalesce(max(position), -1) + 1 FROM items WHERE conversation=?", (conversation.id,)
            ).fetchone()
            if count != position:
                what = f"has {count} items of conversation {conversation.id!r}, and this turn begins after {position}"
                raise self._error(what, "conflict")
            self._update(conversation.id, *_head(conversation))
            self._insert(conversation, position)

    def complete(self, conversation_id: str, *, summary: str | None = None, reason: str | None = None) -> None:
        with self._writing():
            head = self._must_be_open(conversation_id)
            state = ConversationState(completed_at=time.time(), summary=summary, reason=reason)
            written = msgspec.json.encode({**head, "state": state})
            self._update(conversation_id, state.completed_at, state.completed_at, written)

    def list(self, *, limit: int = 10, completed: bool | None = None) -> Sequence[StoredConversation]:
        return self.search(limit=limit, completed=completed)

    def search(
        self,
        text: str | None = None,
        *,
        since: float | None = None,
        until: float | None = None,
        limit: int = 10,
        completed: bool | None = None,
    ) -> Sequence[StoredConversation]:
        conditions = [
            (
                "EXISTS (SELECT 1 FROM items WHERE conversation=c.id AND instr(folded(said), ?))",
                text and text.casefold(),
            ),
            ("updated_at >= ?", since),
            ("updated_at <= ?", until),
            ("(completed_at IS NOT NULL) = ?", completed),
        ]
        conditions = [(condition, value) for condition, value in conditions if value is not None]
        where = " AND ".join(["1", *(condition for condition, _ in conditions)])
        with self._store_errors():
            rows = self._db.execute(
                "SELECT id, created_at, updated_at, completed_at, (SELECT count(*) FROM items WHERE conversation=c.id),"
                " (SELECT said FROM items WHERE conversation=c.id AND said != '' ORDER BY position LIMIT 1), head"
                f" FROM conversations c WHERE {where} ORDER BY updated_at DESC, id LIMIT ?",
                (*(value for _, value in conditions), limit),
            ).fetchall()
        return [self._entry(*row) for row in rows]

    # --- inside

    def _entry(
        self, name: str, created: float, updated: float, completed: float | None, items: int, text: str, head: bytes
    ) -> StoredConversation:
        try:
            summary = decoder_of(_Head).decode(head).state.summary
        except msgspec.MsgspecError as problem:
            raise self._damaged(name, problem) from None
        return StoredConversation(
            id=name,
            created_at=created,
            updated_at=updated,
            completed_at=completed,
            items=items,
            title=" ".join((text or "").split())[:80],
            summary=summary,
        )

    def _must_be_open(self, conversation_id: str) -> dict[str, Any]:
        """The stored fields other than items of an open conversation."""
        found = self._db.execute(
            "SELECT completed_at, head FROM conversations WHERE id=?", (conversation_id,)
        ).fetchone()
        if found is None:
            raise self._error(f"has no conversation {conversation_id!r}", "not_found")
        if found[0] is not None:
            raise self._error(f"has conversation {conversation_id!r} as completed", "completed")
        try:
            fields: dict[str, Any] = decoder_of(dict[str, Any]).decode(found[1])
        except msgspec.MsgspecError as problem:
            raise self._damaged(conversation_id, problem) from None
        return fields

    def _update(self, conversation_id: str, *columns: Any) -> None:
        self._db.execute(
            "UPDATE conversations SET updated_at=?, completed_at=?, head=? WHERE id=?", (*columns, conversation_id)
        )

    def _insert(self, conversation: Conversation, position: int) -> None:
        rows = (
            (conversation.id, i, msgspec.json.encode(item), _text_of_item(item))
            for i, item in enumerate(conversation.items[position:], position)
        )
        self._db.executemany("INSERT INTO items VALUES (?, ?, ?, ?)", rows)

    def _damaged(self, conversation_id: str, problem: Exception) -> StoreError:
        reason: StoreReason = "newer" if isinstance(problem, DecodeError) and problem.path == "$.version" else "damaged"
        return self._error(f"holds a conversation {conversation_id!r} that cannot be read: {problem}", reason)


class MemoryConversationStore(SQLiteConversationStore):
    """A `ConversationStore` in memory, which is lost when it is closed."""

    def __init__(self) -> None:
        super().__init__(":memory:")


class _Head(Struct):
    state: ConversationState


def _head(conversation: Conversation) -> tuple[float, float | None, bytes]:
    """The times of its last write and of its completion, and all of it but the items."""
    return time.time(), conversation.state.completed_at, msgspec.json.encode(replace(conversation, items=[]))


def _text_of_item(item: AnyItem) -> str:
    """The searchable text of an item."""
    content = item.content if isinstance(item, Message) else getattr(item, "output", "")
    return text_of(content) if isinstance(item, Message | FunctionCallOutput) else ""
