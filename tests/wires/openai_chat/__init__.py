"""How the tests of this wire look at both sides of a conversion: as plain JSON, and losses as `path (kind)`."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from llm_rest.losses import Loss
from llm_rest.responses import REQUEST, RESPONSE, Request, Response
from llm_rest.vendors.dialects import CHAT_HOSTS, ChatDialect
from llm_rest.wires import openai_chat as wire

Plain = dict[str, Any]

OPENAI = CHAT_HOSTS["openai"]

HI: Plain = {"role": "user", "content": "Hi"}
CALL: Plain = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}


def plain(value: Any) -> Any:
    """A struct as the JSON it encodes to."""
    return json.loads(msgspec.json.encode(value))


def told(lost: list[Loss]) -> list[str]:
    return [f"{loss.path} ({loss.kind})" for loss in lost]


def sent(request: Request, dialect: ChatDialect = OPENAI) -> tuple[Plain, list[str]]:
    """The body for a request, and the losses. A request that went through JSON gives the same body."""
    body, lost = wire.encode_request(request, dialect=dialect)
    again, _ = wire.encode_request(REQUEST.decode(msgspec.json.encode(request)), dialect=dialect)
    assert plain(again) == plain(body)
    return plain(body), told(lost)


def messages(*items: Any, dialect: ChatDialect = OPENAI, **options: Any) -> tuple[list[Plain], list[str]]:
    """The messages for these items, and the losses."""
    body, lost = sent(Request(input=list(items), **options), dialect)
    return body["messages"], lost


def asked(dialect: ChatDialect = OPENAI, /, **body: Any) -> tuple[Request, list[str]]:
    """The request for a body, and the losses; the same body comes back from it."""
    body = {"model": "m", "messages": [HI], **body}
    request, lost = wire.decode_request(wire.REQUEST.decode(json.dumps(body)), dialect=dialect)
    back, _ = wire.encode_request(REQUEST.decode(msgspec.json.encode(request)), dialect=dialect)
    assert plain(back) == body
    return request, told(lost)


def said(*, finish_reason: str | None = "stop", **message: Any) -> Plain:
    """An answer of one message."""
    choice = {"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", **message}}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def answered(document: Plain, dialect: ChatDialect = OPENAI, **options: Any) -> tuple[Response, list[str]]:
    """The response for an answer, and the losses; the same answer comes back from it, also after a walk through JSON."""
    response, lost = wire.decode_response(wire.RESPONSE.decode(json.dumps(document)), dialect=dialect, **options)
    if not options:
        back, _ = wire.encode_response(RESPONSE.decode(msgspec.json.encode(response)), dialect=dialect)
        assert plain(back) == document
    return response, told(lost)


def shown(response: Response, dialect: ChatDialect = OPENAI, **options: Any) -> tuple[Plain, list[str]]:
    """The answer for a response, and the losses."""
    body, lost = wire.encode_response(response, dialect=dialect, **options)
    return plain(body), told(lost)


def output(*items: Any, status: str = "completed", **fields: Any) -> Response:
    """A response that came from elsewhere."""
    return Response(id="resp_1", status=status, model="m", created_at=1, output=list(items), **fields)
