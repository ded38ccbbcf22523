"""Compaction where the vendor has none: the model is asked for a summary, which stands for the conversation from then on.

The summary travels as Open Responses has it, sealed in a `compaction` item that clients return unread, and is opened here
before the next request goes out. Before changing this file, know that a client may forge one: what is in it is what the
client says, and reaches the model as such.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..conversation.limits import SUMMARY
from ..responses.carriers import digest, seal, unseal
from ..responses.items import AnyItem, Compaction, Message
from ..responses.request import items_of
from ..responses.response import CompactedResponse
from ..unknown import Model

if TYPE_CHECKING:
    from ..client.reply import Reply
    from ..responses import Request

_BY = ("server", "llm_rest")


class Summary(Model, tag="summary"):
    """What a conversation was about."""

    text: str


def compacted(request: Request, reply: Reply) -> CompactedResponse:
    """What stands for the conversation: what the user said in it, and the summary that is the `reply`."""
    text = reply.output_text
    users = [item for item in items_of(request) if isinstance(item, Message) and item.role == "user"]
    sealed = Compaction(id=f"cmp_{digest(text)}", encrypted_content=seal(*_BY, Summary(text=text)))
    return CompactedResponse(
        id=f"resp_{digest(reply.id)}",
        created_at=reply.created_at,
        output=[*users, sealed],
        usage=reply.usage,
    )


def opened(request: Request) -> Request:
    """The request with its summaries told, where it has any of ours."""
    if not isinstance(request.input, list) or not any(isinstance(item, Compaction) for item in request.input):
        return request
    return replace(request, input=[_opened(item) for item in request.input])


def _opened(item: AnyItem) -> AnyItem:
    found = unseal(item.encrypted_content, *_BY, Summary) if isinstance(item, Compaction) else None
    return Message(role="user", content=SUMMARY + found.text) if found else item
