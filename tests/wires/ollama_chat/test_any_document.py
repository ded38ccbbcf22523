"""Documents of any shape come back as they came, and are read the same where nothing is kept."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_rest.wires import ollama_chat as wire
from llm_rest.wires.ollama_chat import types
from tests.support.documents import differences
from tests.support.facts import plain
from tests.support.made import Maker

law = settings(max_examples=300)
SEEDS = st.integers(0, 2**40)
ROLES = ("system", "user", "assistant", "assistant", "User")


@law
@given(SEEDS)
def test_any_request_comes_back_as_it_came(seed: int) -> None:
    """But for results that do not stand behind their calls (ollama.request.17), of which there are none here."""
    maker, random = Maker(seed), Random(seed)
    document = maker.document(types.Request, unknown=True, depth=4)
    messages = [maker.document(types.Message, unknown=True, depth=3) for _ in range(random.randrange(6))]
    document["messages"] = [{**message, "role": random.choice(ROLES)} for message in messages]
    body = wire.REQUEST.decode(json.dumps(document))
    request, _ = wire.decode_request(body)
    assert returned(body, wire.encode_request(request)[0]) == []
    kept = json.loads(msgspec.json.encode(request))
    bare, _ = wire.decode_request(body, keep=False)
    for name in ("instructions", "stream", "tools", "text", "reasoning", "top_k", "seed", "model"):
        assert plain(bare).get(name) == kept.get(name)
    wire.REQUEST.decode(msgspec.json.encode(wire.encode_request(bare)[0]))


@law
@given(SEEDS)
def test_any_answer_comes_back_as_it_came(seed: int) -> None:
    document = Maker(seed).document(types.Answer, unknown=True, depth=4)
    body = wire.RESPONSE.decode(json.dumps(document))
    assert returned(body, wire.encode_response(wire.decode_response(body)[0])[0]) == []
    wire.RESPONSE.decode(msgspec.json.encode(wire.encode_response(wire.decode_response(body, keep=False)[0])[0]))


def returned(came: Any, made: Any) -> list[str]:
    return list(differences(plain(came), plain(made)))
