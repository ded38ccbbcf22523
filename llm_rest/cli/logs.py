"""`logs`: the conversations that `chat`, and `ask` with `--log`, have stored: a list, or one of them."""

from __future__ import annotations

import sys
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from ..conversation.store import SQLiteConversationStore
from ..errors import ConfigError
from ..responses.estimate import text_of
from ..responses.items import CustomToolCall, FunctionCall, FunctionCallOutput, Message
from . import note, write_document, write_json
from .settings import store_file
from .tables import show

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from ..conversation.conversation import Conversation
    from ..conversation.store import ConversationStore


def run(arguments: Namespace) -> int:
    """List the conversations written last, or show one."""
    path = store_file(arguments.store)
    if not path.exists():
        raise ConfigError(
            f"there is no file {path}", hint="`chat` makes it, and so does `ask --log`; --store names another"
        )
    with closing(SQLiteConversationStore(path)) as store:
        if arguments.id:
            _show(store.get(_id(store, arguments.id)), json=arguments.json)
            return 0
        found = store.search(arguments.search, limit=arguments.limit)
    if arguments.json:
        write_json(found)
        return 0
    if not found:
        note("nothing is stored" + (f" that holds {arguments.search!r}" if arguments.search else ""))
    rows = [(one.id[:13], _time(one.updated_at), str(one.items), one.summary or one.title) for one in found]
    show(("id", "written", "items", "begins with"), rows)
    return 0


def _id(store: ConversationStore, given: str) -> str:
    """The full id with the given prefix, so that the short ids of the list can be used."""
    ids = [one.id for one in store.list(limit=10_000) if one.id.startswith(given)]
    if len(ids) > 1:
        raise ConfigError(f"{given} is the beginning of {len(ids)} ids", hint=f"such as {ids[0]} and {ids[1]}")
    return ids[0] if ids else given


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def _show(conversation: Conversation, *, json: bool) -> None:
    if json:
        write_document(msgspec.json.format(conversation.save()) + b"\n")
        return
    sys.stdout.write(f"{conversation.id}, begun {_time(conversation.created_at)}\n")
    for line in transcript(conversation):
        sys.stdout.write(f"\n{line}\n")


def transcript(conversation: Conversation) -> Iterator[str]:
    """The messages, calls and outputs, one paragraph each."""
    for item in conversation.items:
        match item:
            case Message():
                yield f"{item.role}: {text_of(item.content)}"
            case FunctionCall():
                yield f"call: {item.name} {item.arguments}"
            case CustomToolCall():
                yield f"call: {item.name} {item.input}"
            case FunctionCallOutput():
                yield f"result: {text_of(item.output)}"
            case _:
                pass
