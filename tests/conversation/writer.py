"""Programs to be killed: one that appends turns to a conversation in a file, and prints the number of each turn once it is
written; and one that is in the middle of a turn of a chat (`chat`).
"""

from __future__ import annotations

import sys
import time

from llm_rest import Client, tool
from llm_rest.conversation.conversation import Conversation
from llm_rest.conversation.store import SQLiteConversationStore
from llm_rest.responses.items import Message


def turn(name: str, number: int) -> list[Message]:
    text = f"{name} {number} " + "x" * 2000
    return [Message(role="user", content=text), Message(role="assistant", content=text)]


def write(path: str, name: str, most: int) -> None:
    store = SQLiteConversationStore(path, timeout=60)
    known = {entry.id for entry in store.list(limit=1000)}
    talk = store.get(name) if name in known else Conversation(id=name)
    if name not in known:
        store.create(talk)
    for number in range(len(talk.items) // 2, most):
        position = len(talk.items)
        talk.items += turn(name, number)
        store.append(talk, position)
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


@tool
def look(word: str) -> str:
    """Look a word up, for a long time."""
    sys.stdout.write("looking\n")
    sys.stdout.flush()
    time.sleep(60)
    return word


def chat(path: str) -> None:
    with SQLiteConversationStore(path) as store, Client("simulator/any") as llm:
        talk = llm.chat(tools=[look], store=store)
        talk.ask("say one")
        talk.ask('call look {"word": "w"}\nsay never')


if __name__ == "__main__" and sys.argv[1] == "chat":
    chat(sys.argv[2])
elif __name__ == "__main__":
    write(sys.argv[1], sys.argv[2], int(sys.argv[3]))
