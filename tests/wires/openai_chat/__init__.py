"""What the tests of this wire share: short ways to write its documents, and losses as `path (kind)`."""

from __future__ import annotations

import json
from typing import Any

from llm_rest.losses import Loss
from llm_rest.responses import RESPONSE, Request, Response
from llm_rest.vendors.dialects import CHAT_HOSTS, ChatDialect
from llm_rest.wires import openai_chat as wire
from tests.support.facts import plain

Plain = dict[str, Any]

OPENAI = CHAT_HOSTS["openai"]

CALL: Plain = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}


def named(lost: list[Loss]) -> list[str]:
    return [f"{loss.path} ({loss.kind})" for loss in lost]


def sent(request: Request, dialect: ChatDialect = OPENAI) -> tuple[Plain, list[str]]:
    """The body for a request, and the losses."""
    body, lost = wire.encode_request(request, dialect=dialect)
    return plain(body), named(lost)


def said(*, finish_reason: str | None = "stop", **message: Any) -> Plain:
    """An answer of one message."""
    choice = {"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", **message}}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def answered(document: Plain) -> Response:
    """The response for an answer; the same answer comes back from it, also from its JSON."""
    response, _ = wire.decode_response(wire.RESPONSE.decode(json.dumps(document)))
    assert plain(wire.encode_response(RESPONSE.decode(json.dumps(plain(response))))[0]) == document
    return response
