"""The steps that every law takes: through a wire and back, as bytes, with nothing changed on the way and no null too many."""

from __future__ import annotations

import copy
import json
from typing import Any, NamedTuple

import msgspec
import pytest

from llm_rest import wires
from llm_rest.losses import Loss
from llm_rest.responses import Request, Response
from tests.support import WIRES
from tests.support.documents import Place, at, places

every_wire = pytest.mark.parametrize("name", WIRES)


NULLS = {
    "openai_responses": set[str](),
    "openai_chat": {"content", "refusal", "finish_reason", "logprobs", "param"},
    "anthropic_messages": {"stop_reason", "stop_sequence", "page_age", "category"},
    "ollama_chat": set[str](),
    "gemini_generate_content": set[str](),
}
"""Fields that are null in the vendor's own documents. Elsewhere a null would say something: what is absent is left out."""


def nulls(name: str, document: bytes) -> list[Place]:
    """The places of other nulls in a document of a wire, but for those in fields that nobody knows."""
    found = json.loads(document)
    return [
        place
        for place in places(found)
        if place and at(found, place) is None and place[-1] not in NULLS[name] and '"x_' not in json.dumps(place)
    ]


class Trip(NamedTuple):
    """A walk through a wire: the document as bytes, what came back, and the losses of both ways."""

    document: bytes
    back: Any
    lost: list[Loss]
    lost_back: list[Loss]


def untouched(function: Any, model: Any, /, **options: Any) -> Any:
    """What a converter gives; fails if it changed what it was given."""
    before, twin = msgspec.json.encode(model), copy.deepcopy(model)
    result = function(model, **options)
    assert msgspec.json.encode(model) == before, f"{function.__name__} changed its input"
    assert model == twin, f"{function.__name__} changed its input"
    return result


def request_trip(name: str, request: Request, dialect: Any) -> Trip:
    """A request to the wire's bytes and back."""
    wire = wires.load(name)
    body, lost = untouched(wire.encode_request, request, dialect=dialect)
    document = msgspec.json.encode(body)
    assert nulls(name, document) == []
    back, lost_back = untouched(
        wire.decode_request,
        wire.REQUEST.decode(document),
        dialect=dialect,
        model=request.model or None,  # which stands in the URL on some wires
    )
    return Trip(document, back, lost, lost_back)


def response_trip(name: str, response: Response, dialect: Any, request: Request | None = None) -> Trip:
    """A response to the wire's bytes and back."""
    wire = wires.load(name)
    body, lost = untouched(wire.encode_response, response, request=request, dialect=dialect)
    document = msgspec.json.encode(body)
    assert nulls(name, document) == []
    back, lost_back = untouched(wire.decode_response, wire.RESPONSE.decode(document), request=request, dialect=dialect)
    return Trip(document, back, lost, lost_back)
