"""What a server says of responses it kept, and of conversations it makes shorter: `/responses/{id}` and `/responses/compact`.

Follows the OpenAI reference (read 2026-11-20) and Open Responses (2026-04-24). Only a handler that keeps responses, a `Keeper`,
has any of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable
from urllib.parse import parse_qs

from msgspec.structs import replace

from ..errors import ErrorFacts, printable
from ..responses import Request
from ..unknown import Unknown, given
from ..wires import openai_responses as wire
from ..wires.openai_responses import Deleted, ItemPage, complete_items, encode_compacted
from .handler import Refused

if TYPE_CHECKING:
    from ..responses.items import AnyItem
    from ..responses.response import CompactedResponse
    from .handler import Context
    from .kept import Turn

MOST = 100
"""The most items on a page."""


@runtime_checkable
class Keeper(Protocol):
    """A handler that keeps responses. Its methods may raise `Refused`, or any `LLMError`."""

    async def turn(self, response_id: str, context: Context) -> Turn | None:
        """A kept response with the input it answers."""
        ...

    async def forget(self, response_id: str, context: Context) -> bool:
        """Delete a kept response; whether there was one."""
        ...

    async def compact(self, request: Request, context: Context) -> CompactedResponse:
        """Items that stand for the conversation in `request`."""
        ...


async def response(keeper: Keeper, name: str, context: Context, query: str) -> Any:
    """A kept response."""
    turn = await _turn(keeper, name, context)
    if parse_qs(query).get("stream") == ["true"]:
        raise _invalid("A response that is kept is complete and not told in pieces; leave stream out.", "stream")
    document, lost = wire.encode_response(turn.response, request=Request(), dialect=context.dialect)
    context.losses.extend(lost)
    return document


async def deleted(keeper: Keeper, name: str, context: Context) -> Any:
    """The word that a kept response is gone."""
    if not await keeper.forget(name, context):
        raise _missing(name)
    return Deleted(id=name, object="response", deleted=True)


async def cancelled(keeper: Keeper, name: str, context: Context) -> Any:
    """Nothing is being made in the background, so nothing can be cancelled."""
    await _turn(keeper, name, context)
    raise _invalid("Cannot cancel a synchronous response.", None)


async def items(keeper: Keeper, name: str, context: Context, query: str) -> Any:
    """A page of the input that a kept response answers."""
    turn = await _turn(keeper, name, context)
    asked = {key: values[-1] for key, values in parse_qs(query).items()}
    stripped = [item if isinstance(item, Unknown) else replace(item, leftovers=None) for item in turn.input]
    found = complete_items(stripped, f"{turn.response.id}_input", "completed")
    if asked.get("order", "desc") != "asc":
        found.reverse()
    after = asked.get("after")
    if after is not None:
        places = [i for i, item in enumerate(found) if _id(item) == after]
        if not places:
            raise _invalid(f"There is no item {printable(after, 100)}.", "after")
        found = found[places[0] + 1 :]
    limit = asked.get("limit", "20")
    if not limit.isdecimal() or not 1 <= int(limit) <= MOST:
        raise _invalid(f"limit is a number from 1 to {MOST}, not {printable(limit, 20)}", "limit")
    page = found[: int(limit)]
    ends = (_id(page[0]), _id(page[-1])) if page else (None, None)
    return ItemPage(data=page, first_id=ends[0], last_id=ends[1], has_more=len(page) < len(found))


async def compacted(keeper: Keeper, request: Request, context: Context) -> Any:
    """The shorter conversation."""
    if not given(request.model) or not request.model:
        raise _invalid("Missing required parameter: 'model'.", "model")
    if not given(request.input) and not given(request.previous_response_id):
        raise _invalid("There is no conversation: give input or previous_response_id.", "input")
    document, lost = encode_compacted(await keeper.compact(request, context), dialect=context.dialect)
    context.losses.extend(lost)
    return document


def _id(item: AnyItem) -> str | None:
    found = item.get("id") if isinstance(item, Unknown) else item.id
    return found if isinstance(found, str) else None


async def _turn(keeper: Keeper, name: str, context: Context) -> Turn:
    turn = await keeper.turn(name, context)
    if turn is None:
        raise _missing(name)
    return turn


def _missing(name: str) -> Refused:
    message = f"Response with id '{printable(name, 100)}' not found."
    return Refused(ErrorFacts(status=404, message=message, type="invalid_request_error"))


def _invalid(message: str, param: str | None) -> Refused:
    return Refused(ErrorFacts(status=400, message=message, type="invalid_request_error", param=param))
