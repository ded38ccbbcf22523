"""The steps that every law takes: through a wire and back, as bytes, with nothing changed on the way."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import msgspec
import pytest

from llm_rest import wires
from llm_rest.losses import Loss
from llm_rest.responses import Request, Response
from tests.support import WIRES

every_wire = pytest.mark.parametrize("name", WIRES)


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
    back, lost_back = untouched(wire.decode_response, wire.RESPONSE.decode(document), request=request, dialect=dialect)
    return Trip(document, back, lost, lost_back)
