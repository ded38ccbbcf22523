"""Conversions against the hand-written floors: answers from bytes to structs, a long request from structs to bytes."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from llm_rest.wires import load

from . import documents, floors
from .measure import Case

_encoder = msgspec.json.Encoder()


def cases() -> Iterator[Case]:
    """Every conversion case."""
    anthropic, chat = load("anthropic_messages"), load("openai_chat")
    answers = [
        ("Anthropic answer, text", anthropic, floors.anthropic_answer, documents.ANTHROPIC_TEXT),
        ("Anthropic answer, two calls", anthropic, floors.anthropic_answer, documents.ANTHROPIC_TOOLS),
        ("Chat answer, text", chat, floors.chat_answer, documents.CHAT_TEXT),
        ("Chat answer, two calls", chat, floors.chat_answer, documents.CHAT_TOOLS),
    ]
    for name, wire, floor, data in answers:
        yield Case(
            f"{name}: bytes to Response",
            lambda floor=floor, data=data: floor(data),
            lambda wire=wire, data=data: wire.decode_response(wire.RESPONSE.decode(data)),
            target=2.0,
        )
    request = documents.conversation()
    yield Case(
        "Request of 200 items to Anthropic bytes",
        lambda: floors.anthropic_request(request),
        lambda: _encoder.encode(anthropic.encode_request(request)[0]),
        target=1.5,
    )
