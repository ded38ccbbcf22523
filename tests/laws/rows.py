"""One row of data per wire: all that the laws need to know about it, in `documents/<wire>.json`.

A row is written in the vendor's own JSON, so that it also shows what the wire looks like. Everything that is asked of a wire
stands in the laws; a new wire needs its row and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import Struct

from llm_rest import wires
from llm_rest.responses import AnyItem
from llm_rest.vendors.rows import DIALECTS, VENDORS
from tests.support.hosts import facts

Plain = dict[str, Any]

DOCUMENTS = Path(__file__).parent / "documents"


class Thinking(Struct, frozen=True):
    """An answer with opaque state: `opaque` are the strings that its vendor wants back as they are.

    Nothing of Ollama's is opaque; yet what a model thought is given back to models of its own issuer alone.
    """

    answer: Plain
    opaque: tuple[str, ...]
    dialect: Any = None


class Row(Struct, frozen=True):
    """A wire in the laws: models to ask, small documents of its own, and answers whose opaque state must return."""

    models: tuple[str, ...]
    history: str
    """The field of a request that grows from turn to turn."""
    requests: tuple[Plain, ...]
    answers: tuple[Plain, ...]
    events: tuple[Plain, ...]
    thinking: tuple[Thinking, ...]
    failed: tuple[Plain, ...] = ()
    """A stream that ends with an error."""


def row(wire: str) -> Row:
    """The row of a wire; an answer with opaque state is that of a vendor where it names one."""
    found = json.loads((DOCUMENTS / f"{wire}.json").read_text())
    for answer in found["thinking"]:
        vendor = answer.pop("vendor", None)
        answer["dialect"] = facts(vendor, wire) if vendor else DIALECTS[wire]()
    return msgspec.convert(found, Row)


ROWS = {wire: row(wire) for wire in wires.NAMES}

REPLAY: dict[str, Callable[[Plain], list[Any]]] = {
    "openai_responses": lambda answer: answer["output"],
    "openai_chat": lambda answer: [answer["choices"][0]["message"]],
    "anthropic_messages": lambda answer: [{"role": "assistant", "content": answer["content"]}],
    "ollama_chat": lambda answer: [answer["message"]],
    "gemini_generate_content": lambda answer: [answer["candidates"][0]["content"]],
}
"""What a client adds to the history for an answer it got."""


@cache
def dialects(wire: str) -> dict[str, Any]:
    """The facts of every vendor that speaks a wire, by the name of the first vendor that has them."""
    unique: dict[str, Any] = {"default": DIALECTS[wire]()}
    for vendor in VENDORS.values():
        if wire in vendor.wires and facts(vendor.name, wire) not in unique.values():
            unique[vendor.name] = facts(vendor.name, wire)
    return unique


def vendors(wire: str) -> st.SearchStrategy[str]:
    """The names under which `dialects` has facts; a failing example shows one of them."""
    return st.sampled_from(list(dialects(wire)))


@cache
def thoughts(wire: str, issuer: str | None = None) -> tuple[tuple[AnyItem, ...], ...]:
    """What the wire decodes from its own answers with opaque state; only those of one issuer, where it is named."""
    module = wires.load(wire)
    decoded: list[tuple[AnyItem, ...]] = []
    for case in ROWS[wire].thinking:
        if issuer in (None, case.dialect.issuer):
            answer = module.RESPONSE.decode(json.dumps(case.answer).encode())
            response, _ = module.decode_response(answer, dialect=case.dialect)
            decoded.append(tuple(response.output))
    return tuple(decoded)
