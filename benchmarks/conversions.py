"""Conversions against the hand-written floors, on every wire, both ways, as a client makes them and as a gateway does.

A client reads answers without what only a gateway needs (`keep=False`); a gateway reads requests and writes answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec

from llm_rest.wires import NAMES, load

from . import documents, floors
from .measure import Case

REQUEST_TARGETS = {"ollama_chat": 3.0, "gemini_generate_content": 3.0}
"""What a request may cost more than by hand, where it is not 2."""

_encode = msgspec.json.Encoder().encode


def cases() -> Iterator[Case]:
    """Every conversion case."""
    for name in NAMES:
        yield from _client(name)
    for name in NAMES:
        yield from _gateway(name)


def _client(name: str) -> Iterator[Case]:
    wire: Any = load(name)

    def read(data: bytes) -> object:
        return wire.decode_response(wire.RESPONSE.decode(data), keep=False)

    for what, calls in (("text", False), ("two calls", True)):
        data = documents.answer(name, calls=calls)
        yield Case(
            f"{name}: answer of {what}, bytes to Response",
            partial(floors.ANSWERS[name], data),
            partial(read, data),
            3.5,
        )
    known, unknown = documents.answer(name), documents.answer(name, unknown=True)
    yield Case(
        f"{name}: the same with an unknown field, against without", partial(read, known), partial(read, unknown), 1.5
    )
    request = documents.conversation()
    yield Case(
        f"{name}: request of 201 items to bytes",
        partial(floors.REQUESTS[name], request),
        lambda: _encode(wire.encode_request(request)[0]),
        REQUEST_TARGETS.get(name, 2.0),
    )


def _gateway(name: str) -> Iterator[Case]:
    """The floor of these is msgspec alone: the bytes to the wire's own structs, and the plain values to bytes."""
    wire: Any = load(name)
    sent = _encode(wire.encode_request(documents.conversation())[0])
    yield Case(
        f"{name}: request of 201 items, bytes to Request",
        lambda: wire.REQUEST.decode(sent),
        lambda: wire.decode_request(wire.REQUEST.decode(sent)),
    )
    answer = documents.answer(name)
    response, _ = wire.decode_response(wire.RESPONSE.decode(answer))
    plain = _plain(answer)
    yield Case(
        f"{name}: answer of text, Response to bytes",
        lambda: _encode(plain),
        lambda: _encode(wire.encode_response(response)[0]),
    )


def _plain(data: bytes) -> Any:
    return msgspec.json.decode(data)
