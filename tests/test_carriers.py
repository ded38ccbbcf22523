"""Envelopes take opaque state to the next turn: only the issuer opens them, and forged ones are nothing."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw, Struct

from llm_rest.responses import carriers
from llm_rest.responses.carriers import PREFIX, digest, seal, sender, unseal
from tests.support.documents import TEXTS, TRAPS, VALUES


class Thought(Struct, tag_field="type", tag="thought", forbid_unknown_fields=True):
    text: str
    signature: str
    about: str | None = None


class Block(Struct, tag_field="type", tag="block", forbid_unknown_fields=True):
    raw: Raw


class Anything(Struct, tag_field="type", tag="anything"):
    value: Any


Payload = Thought | Block | Anything

WIRES = st.sampled_from(["anthropic_messages", "openai_chat"])
ISSUERS = st.text(min_size=1, max_size=10) | st.sampled_from(["openai", "api.example.com", "my-host_2"])
PAYLOADS = (
    st.builds(Thought, TEXTS, TEXTS, st.none() | TEXTS)
    | VALUES.map(lambda value: Block(Raw(json.dumps(value).encode())))
    | st.builds(Anything, VALUES)
)


@given(WIRES, ISSUERS, PAYLOADS)
def test_what_was_sealed_is_what_comes_out(wire: str, issuer: str, payload: Any) -> None:
    """BUGS 11"""
    text = seal(wire, issuer, payload)
    opened: Any = unseal(text, wire, issuer, Payload)
    assert msgspec.json.encode(opened) == msgspec.json.encode(payload)
    assert type(opened) is type(payload)
    assert sender(text) == (wire, issuer)
    assert text == seal(wire, issuer, payload)
    assert re.fullmatch(rf"llm_rest\.1\.{wire}\..*\.[A-Za-z0-9_-]+", text), "a payload in plain letters"


@given(WIRES, ISSUERS, WIRES, ISSUERS, PAYLOADS)
def test_only_the_issuer_opens_an_envelope(wire: str, issuer: str, other: str, another: str, payload: Any) -> None:
    opened = unseal(seal(wire, issuer, payload), other, another, Payload)
    assert (opened is not None) == ((wire, issuer) == (other, another))


@given(st.text() | st.text().map(PREFIX.__add__) | st.text().map(f"{PREFIX}openai_chat.openai.".__add__))
def test_no_string_makes_opening_fail(text: str) -> None:
    sender(text)
    unseal(text, "openai_chat", "openai", Payload)


@pytest.mark.parametrize(
    "text",
    ["", "gAAAAA", PREFIX, f"{PREFIX}wire", f"{PREFIX}wire.body", f"{PREFIX}.x.y", "llm_rest.2.a.b.c", "a.b.c.d.e"],
)
def test_other_strings_have_no_sender(text: str) -> None:
    assert sender(text) is None


def forged(data: bytes) -> str:
    return f"{PREFIX}openai_chat.openai.{base64.urlsafe_b64encode(data).decode().rstrip('=')}"


@pytest.mark.parametrize(
    "data",
    [
        b'{"type":"thought","text":"t"}',
        b'{"type":"thought","text":5,"signature":""}',
        b'{"type":"thought","text":"t","signature":"s","tool":"rm"}',
        b'{"type":"else"}',
        b'{"type":"block","raw":"\xff"}',
        b'{"type":"anything","value":' + b"[" * 500 + b"]" * 500 + b"}",
        *TRAPS,
    ],
)
def test_a_forged_envelope_is_not_opened(data: bytes) -> None:
    assert unseal(forged(data), "openai_chat", "openai", Payload) is None


def test_a_damaged_or_too_large_envelope_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    text = seal("openai_chat", "openai", Thought("t" * 100, "s"))
    for damaged in (text[:-3], f"{text[:-9]}Ω{text[-8:]}"):
        assert unseal(damaged, "openai_chat", "openai", Payload) is None
    assert unseal(text, "openai_chat", "openai", Payload) is not None
    monkeypatch.setattr(carriers, "MAX_SIZE", len(text) - 1)
    assert unseal(text, "openai_chat", "openai", Payload) is None


@given(st.text(), st.text())
def test_a_digest_names_its_text(one: str, other: str) -> None:
    assert re.fullmatch("[0-9a-f]{16}", digest(one))
    assert (digest(one) == digest(other)) == (one == other)
    assert digest("4 degrees") == "4170d15003cd514d"
    assert len(digest("half a pair: \ud83d")) == 16
