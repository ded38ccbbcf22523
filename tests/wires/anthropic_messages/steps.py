"""The steps of these tests: what is sent for a request, what comes of an answer, and back."""

from __future__ import annotations

from typing import Any

import msgspec

from llm_rest.losses import Loss
from llm_rest.responses import AnyItem, Message, Request, Response
from llm_rest.vendors.dialects import MessagesDialect
from llm_rest.wires import anthropic_messages as wire
from tests.support.facts import plain

Plain = dict[str, Any]

OLD, NEW, NEWEST = "claude-sonnet-4-5", "claude-opus-4-8", "claude-opus-5-5"
"""Models that think with a budget, adaptively with system messages, and always."""

VENDOR = MessagesDialect()


def kinds(lost: list[Loss]) -> list[tuple[str, str]]:
    """Where something was lost, and how."""
    return [(loss.path, loss.kind) for loss in lost]


def sent(
    *items: AnyItem, model: str = NEW, dialect: MessagesDialect = VENDOR, **options: Any
) -> tuple[Plain, list[Loss]]:
    """The body for these items and options, as JSON, and its losses."""
    request = Request(model=model, input=list(items) or "Hi", **options)
    body, lost = wire.encode_request(request, dialect=dialect)
    return plain(body), lost


def user(text: str = "Hi") -> Message:
    return Message(role="user", content=text)


def read(**fields: Any) -> Request:
    """The request that a body of this wire is."""
    body = {"model": NEW, "max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}], **fields}
    request, lost = wire.decode_request(wire.REQUEST.decode(msgspec.json.encode(body)))
    assert lost == []
    back, lost = wire.encode_request(request)
    assert (plain(back), lost) == (body, [])
    return request


def answered(*blocks: Plain, request: Request | None = None, **fields: Any) -> Response:
    """The Response for an answer with these blocks; sees to it that it goes back to the same JSON."""
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": NEW,
        "content": [*blocks],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 2},
        **fields,
    }
    response, lost = wire.decode_response(wire.RESPONSE.decode(msgspec.json.encode(body)), request=request)
    assert lost == []
    if request is None:
        back, lost = wire.encode_response(response)
        assert (plain(back), lost) == (body, [])
    return response


def replayed(response: Response, *items: AnyItem, model: str = NEW) -> list[Any]:
    """The content of the model's message when an answer goes back to it."""
    body, lost = sent(user(), *response.output, *items, model=model)
    assert [loss for loss in lost if loss.kind != "refused"] == []
    return body["messages"][1]["content"]


def text(words: str, **more: Any) -> Plain:
    return {"type": "text", "text": words, **more}
