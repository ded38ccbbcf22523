"""Requests on their way to a host of the Responses wire."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from llm_rest.losses import Loss
from llm_rest.responses import (
    FunctionCallOutput,
    Request,
)
from llm_rest.vendors.dialects import ResponsesDialect
from llm_rest.wires import openai_responses as wire


def sent(request: Request, dialect: ResponsesDialect | None = None) -> tuple[dict[str, Any], list[str]]:
    """The body as plain values, and every loss as `path (kind)`."""
    body, lost = wire.encode_request(request, dialect=dialect or ResponsesDialect())
    return msgspec.json.decode(msgspec.json.encode(body)), [f"{loss.path} ({loss.kind})" for loss in lost]


# --- hosts ----------------------------------------------------------------------------------------------------------


def output(name: str) -> FunctionCallOutput:
    return FunctionCallOutput(call_id=name, output=name)


# --- the way back ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "what"),
    [
        ('{"type":null,"role":"user","content":"Hi"}', "it had no type"),
        ('{"type":"message","role":"user","content":null}', "its content was null"),
        ('{"type":"function_call_output","output":"4"}', "it had no call_id"),
        ('{"type":"function_call","id":"fc_1","name":"f","arguments":"{}"}', "it had no call_id, read as its other id"),
    ],
)
def test_what_had_to_be_put_right_is_told_once(item: str, what: str) -> None:
    """responses.request_back.19, BUGS 87"""
    written = wire.REQUEST.decode(f'{{"input":[{item}]}}')
    request, lost = wire.decode_request(written)
    sent, more = wire.encode_request(request)
    assert ([*lost, *more], wire.encode_request(written)) == ([Loss("input[0]", what, "changed")], (sent, lost))


def test_the_request_goes_where_the_dialect_says() -> None:
    assert wire.route(Request()).path == "/responses"
    assert wire.route(Request(), dialect=ResponsesDialect(path="/v1/responses"), stream=True).path == "/v1/responses"
