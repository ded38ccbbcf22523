"""Documents that grow: one shape at any size, in the JSON of every wire.

What grows is a list of `Move`s: a history, an answer or a stream. How a wire writes each of them is data, in
`documents/growth/<wire>.json`: `#` stands for what is said, `#i` for the number in it, `{"each": ...}` is written once for each
thing that is said, and `@` is the place of the moves in an answer or chunk. `n` is what grows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from llm_rest import wires
from tests.laws.rows import DOCUMENTS, ROWS

Plain = dict[str, Any]


class Move(NamedTuple):
    """One step of a conversation: its kind, and what it says: a number of texts, or the ids of calls."""

    kind: str
    says: int | Sequence[str] = 1

    @property
    def texts(self) -> Sequence[str]:
        return [f"text_{i}" for i in range(self.says)] if isinstance(self.says, int) else self.says


Moves = Callable[[int], list[Move]]


def calls(*ids: str) -> Move:
    return Move("calls", ids)


def outputs(*ids: str) -> Move:
    return Move("outputs", ids)


def ids(n: int) -> list[str]:
    return [f"call_{i}" for i in range(n)]


def pieces(kind: str, n: int) -> list[Move]:
    """A move for each of n things."""
    return [Move(kind, [id]) for id in ids(n)]


USER, SAID, SYSTEM, THOUGHT = Move("user"), Move("said"), Move("system"), Move("thought")
CITED, HOSTED, UNKNOWN = Move("cited"), Move("hosted"), Move("unknown")

HISTORIES: dict[str, Moves] = {
    "a long conversation": lambda n: [USER, SAID] * n,
    "calls with one id, each answered": lambda n: [USER, *[calls("call_0"), outputs("call_0")] * n],
    "calls with one id, all answered at the end": lambda n: [USER, *[calls("call_0")] * n, *[outputs("call_0")] * n],
    "calls with one id, texts between them": lambda n: [USER, *[calls("call_0"), SAID] * n, *[outputs("call_0")] * n],
    "parallel calls answered in order": lambda n: [USER, calls(*ids(n)), outputs(*ids(n))],
    "parallel calls answered in reverse": lambda n: [USER, calls(*ids(n)), outputs(*ids(n)[::-1])],
    "parallel calls with one id": lambda n: [USER, calls(*["call_0"] * n), outputs(*["call_0"] * n)],
    "calls answered turns later": lambda n: [USER, *map(calls, ids(n)), SAID, outputs(*ids(n)[::-1])],
    "calls answered after the next message": lambda n: [
        move for id in ids(n) for move in (USER, calls(id), USER, outputs(id))
    ],
    "calls without outputs": lambda n: [move for id in ids(n) for move in (USER, calls(id))],
    "outputs without calls": lambda n: [USER, *map(outputs, ids(n)), calls("c"), outputs("c")],
    "outputs with the id of one call": lambda n: [USER, calls("call_0"), *[outputs("call_0")] * n],
    "many texts in one message": lambda n: [Move("user", n)],
    "many images in one message": lambda n: [Move("images", n)],
    "many users in a row": lambda n: [USER] * n,
    "many answers in a row": lambda n: [USER, *[SAID] * n, USER],
    "many texts in one answer": lambda n: [USER, Move("said", n), USER],
    "many thoughts": lambda n: [USER, *[THOUGHT] * n, SAID, USER],
    "thoughts and calls by turns": lambda n: [
        USER,
        *(move for id in ids(n) for move in (THOUGHT, calls(id), outputs(id))),
    ],
    "many citations": lambda n: [USER, Move("cited", n), USER],
    "system messages in a row": lambda n: [*[SYSTEM] * n, USER, *[SYSTEM] * n],
    "system messages in between": lambda n: [USER, SAID, SYSTEM] * n,
    "system messages between calls": lambda n: [
        USER,
        *(move for id in ids(n) for move in (calls(id), SYSTEM, outputs(id))),
    ],
    "unknown items": lambda n: [USER, *[UNKNOWN] * n, SAID],
    "tools of a vendor": lambda n: [USER, *[HOSTED] * n, SAID, USER],
    "tools of a vendor between thoughts": lambda n: [USER, *[HOSTED, THOUGHT] * n, SAID, USER],
    "everything by turns": lambda n: [
        move
        for id in ids(n)
        for move in (SYSTEM, USER, THOUGHT, SAID, calls(id, f"{id}b"), outputs(f"{id}b", id), Move("images", 2))
    ],
    "many tools": lambda n: [USER, Move("tools", n)],
}
"""Histories, each by what grows in it."""


OWN_HISTORIES: dict[str, Moves] = {
    "calls without ids": lambda n: [Move("calls without ids", ids(n)), Move("outputs without ids", ids(n)[::-1])],
    "outputs of calls that nobody made": lambda n: [
        Move("calls without ids", ids(n)),
        Move("outputs without ids", ["g"] * n),
    ],
}
"""Histories as only clients of Gemini write them."""

ANSWERS: dict[str, Moves] = {
    "messages": lambda n: [SAID] * n,
    "texts in one message": lambda n: [Move("said", n)],
    "calls": lambda n: [calls(*ids(n))],
    "calls with one id": lambda n: [calls("call_0")] * n,
    "thoughts": lambda n: [*[THOUGHT] * n, SAID],
    "thoughts, texts and calls by turns": lambda n: [move for id in ids(n) for move in (THOUGHT, SAID, calls(id))],
    "one thought in parts": lambda n: [Move("thought", n), SAID],
    "one thought in a summary of parts": lambda n: [Move("summary", n), SAID],
    "citations": lambda n: [Move("cited", n)],
    "cited messages": lambda n: [CITED] * n,
    "log probabilities": lambda n: [Move("scored", ["a"] * n)],
    "refusals": lambda n: [Move("refused")] * n,
    "tools of a vendor": lambda n: [*[HOSTED] * n, SAID],
    "tools of a vendor between thoughts": lambda n: [HOSTED, THOUGHT] * n,
    "unknown items": lambda n: [*[UNKNOWN] * n, SAID],
}
"""Answers in Responses, each by what grows in it."""

OWN_ANSWERS: dict[str, dict[str, Moves]] = {
    "anthropic_messages": {
        "texts": lambda n: [SAID] * n,
        "cited texts": lambda n: [CITED] * n,
        "thoughts": lambda n: [THOUGHT] * n,
        "tools of the vendor": lambda n: [HOSTED] * n,
        "unknown blocks": lambda n: [UNKNOWN] * n,
        "tools of the vendor between texts": lambda n: [HOSTED, CITED] * n,
        "hidden thoughts": lambda n: [Move("hidden thought")] * n,
    },
    "gemini_generate_content": {
        "texts": lambda n: [SAID] * n,
        "thoughts": lambda n: [THOUGHT] * n,
        "tools of the vendor": lambda n: [HOSTED] * n,
        "unknown parts": lambda n: [UNKNOWN] * n,
        "signed calls": lambda n: [Move("signed calls", ids(n))],
        "texts with signatures behind them": lambda n: [Move("text with a signature behind it")] * n,
    },
    "openai_chat": {
        "thoughts in entries": lambda n: [Move("entries", n)],
        "thoughts in entries of ours": lambda n: [Move("entries of ours", sorted(ids(n) * 2))],
    },
}
"""Answers as only their vendors write them."""

OWN_STREAMS: dict[str, dict[str, Moves]] = {
    "openai_chat": {
        "pieces of one text": lambda n: [Move("text piece")] * n,
        "pieces of one thought": lambda n: [Move("thought piece")] * n,
        "thoughts and texts by turns": lambda n: [Move("thought piece"), Move("text piece")] * n,
        "pieces of one call": lambda n: [Move("call begins"), *[Move("call piece")] * n, Move("call ends")],
        "calls side by side": lambda n: [*pieces("call begins", n), *pieces("call ends", n)[::-1]],
    },
    "anthropic_messages": {
        "pieces of one text": lambda n: [Move("text begins"), *[Move("text piece")] * n, Move("block ends")],
        "citations": lambda n: [Move("text begins"), *[Move("citation")] * n, Move("text piece"), Move("block ends")],
        "pieces of one call": lambda n: [
            Move("call begins"),
            *[Move("call piece")] * n,
            Move("call ends"),
            Move("block ends"),
        ],
        "tools of the vendor": lambda n: [
            move for id in ids(n) for move in (Move("search", [id]), Move("block ends", [id]))
        ],
        "unknown blocks": lambda n: [
            move for id in ids(n) for move in (Move("unknown begins", [id]), Move("block ends", [id]))
        ],
        "unknown events": lambda n: [Move("unknown event")] * n,
        "blocks side by side": lambda n: [
            *pieces("text begins", n),
            *pieces("text piece", n)[::-1],
            *pieces("block ends", n),
        ],
        "new counts": lambda n: [Move("counts")] * n,
    },
    "gemini_generate_content": {
        "pieces of one text": lambda n: [Move("text piece")] * n,
        "pieces of one thought": lambda n: [Move("thought piece")] * n,
        "thoughts and texts by turns": lambda n: [Move("signed thought"), Move("text piece")] * n,
        "calls": lambda n: pieces("call piece", n),
        "tools of the vendor": lambda n: [Move("hosted piece")] * n,
        "cited texts": lambda n: pieces("cited piece", n),
    },
    "ollama_chat": {
        "pieces of one text": lambda n: [SAID] * n,
        "spaces": lambda n: [*[Move("space")] * n, SAID],
        "thoughts and texts by turns": lambda n: [THOUGHT, SAID] * n,
        "calls": lambda n: pieces("calls", n),
        "calls with one id": lambda n: [calls("call_0")] * n,
    },
}
"""Streams as only their vendors write them."""


# --- in the JSON of a wire ------------------------------------------------------------------------------------------

WRITTEN: dict[str, Any] = {
    name: json.loads((DOCUMENTS / "growth" / f"{name}.json").read_text()) for name in wires.NAMES
}


def filled(template: Any, says: Sequence[str]) -> Any:
    """A template with what is said in its places."""
    match template:
        case [{"each": inner}]:
            return [filled(inner, [text]) for text in says]
        case list():
            return [filled(inner, says) for inner in template]
        case dict():
            return {name: filled(inner, says) for name, inner in template.items()}
        case "#i":
            return int(says[0].rpartition("_")[2])
        case str():
            return template.replace("#", " ".join(says))
        case _:
            return template


def spelled(name: str, moves: list[Move]) -> list[Any]:
    """The entries, parts or events that a wire has for moves."""
    return [entry for move in moves for entry in filled(WRITTEN[name]["moves"][move.kind], move.texts)]


def within(outside: Any, inside: Any) -> Any:
    """A document with another in the place of `@`."""
    if isinstance(outside, list):
        return [within(inner, inside) for inner in outside]
    if isinstance(outside, dict):
        return {field: within(inner, inside) for field, inner in outside.items()}
    return inside if outside == "@" else outside


def history(name: str, moves: list[Move]) -> Plain:
    """A request with a history, which offers the tools that are among its moves."""
    tools = [filled(WRITTEN[name]["tools"], move.texts) for move in moves if move.kind == "tools"]
    said = spelled(name, [move for move in moves if move.kind != "tools"])
    return {**WRITTEN[name].get("request", {}), "tools": [*tools, []][0], ROWS[name].history: said}


CONTENT = {"anthropic_messages": "content", "gemini_generate_content": "parts"}
"""Where the messages of a history have what an answer has without a message."""


def answer(name: str, moves: list[Move]) -> Plain:
    """An answer that says all this."""
    said = spelled(name, moves)
    return whole(name, [part for message in said for part in message[CONTENT[name]]] if name in CONTENT else said)


def whole(name: str, said: Any) -> Plain:
    """An answer around what is said."""
    return within(WRITTEN[name]["answer"], said)


def stream(name: str, moves: list[Move]) -> list[Any]:
    """The events or chunks of an answer, one after another."""
    told = [within(WRITTEN[name]["chunk"], each) for each in spelled(name, moves)]
    return [*WRITTEN[name].get("begin", ()), *told, *WRITTEN[name].get("end", ())]
