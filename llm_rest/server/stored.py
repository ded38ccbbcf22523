"""Stored responses: `previous_response_id`, `item_reference`, and the endpoints `/responses/{id}` and `/responses/compact`.

A turn is stored with its own input alone and the name of the turn before it; the conversation is put together when it is
requested. A turn whose history is gone is gone too. Output items are also stored by themselves, since a client may name those
of every turn. Before changing this file, know that both ids are those that the client saw, and that only a handler that stores
responses, a `Keeper`, has any of this. Follows the OpenAI reference ("Conversation state", read 2026-11-20) and Open Responses
(2026-04-24).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable
from urllib.parse import parse_qs
from uuid import uuid4

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from ..errors import DecodeError, ErrorFacts, printable
from ..responses import Request
from ..responses.items import (
    AnyItem,
    CustomToolCall,
    CustomToolCallOutput,
    FunctionCall,
    FunctionCallOutput,
    ItemReference,
)
from ..responses.request import items_of
from ..responses.response import Response, echo
from ..unknown import Decoder, Model, Opt, Unknown, given, or_unset
from ..wires import openai_responses as wire
from ..wires.openai_responses import Deleted, ItemPage, complete_items, encode_compacted
from .handler import Refused

if TYPE_CHECKING:
    from ..responses.response import CompactedResponse
    from .handler import Context, Hold
    from .store import Store

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


M = TypeVar("M", bound=Model)

LONGEST = 1000
"""The most turns a conversation is put together from."""


class Turn(Model):
    """A stored response, the input that was new in its request, and the id of the response before it."""

    response: Response
    """The response that was stored."""
    input: list[AnyItem]
    """The input items that were new in its request."""
    previous: Opt[str] = UNSET
    """The id of the response before it; unset for the first of a conversation."""


class _Stored(Model):
    """An output item, and the response it belongs to."""

    response: str
    item: AnyItem


_TURN: Decoder[Turn] = Decoder(Turn)
_STORED: Decoder[_Stored] = Decoder(_Stored)


class Kept:
    """The turns in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def continued(
        self, request: Request, scope: str, session: Session | None = None, hold: Hold | None = None
    ) -> Request:
        """The request with the conversation that it continues before its input, and with the items that it references.

        Some turns are stored for this `session` only. Raises `Refused` where a response or an item is not stored, and where the
        input holds the output of an unknown call. The bytes that are read count against `hold`.
        """
        new, name = items_of(request), request.previous_response_id
        if not given(name) and not any(isinstance(item, ItemReference) for item in new):
            return request
        before = await self._before(name, scope, session, hold) if given(name) else []
        items: list[AnyItem] = []
        for item in (*before, *new):
            if isinstance(item, ItemReference):
                item = await self._named(item, request, scope, session, hold)
            items.append(item)
        if given(name):
            _check_calls(items, new)
        return replace(request, input=items, previous_response_id=None)

    async def _before(self, named: str, scope: str, session: Session | None, hold: Hold | None) -> list[AnyItem]:
        """The conversation up to that response, and with it."""
        turns: list[Turn] = []
        name: str | None = named
        while name:
            turn = (session and await session.turn(name, scope, hold)) or await self.turn(name, scope, hold)
            if turn is None or len(turns) == LONGEST:
                raise _not_found(named)
            turns.append(turn)
            name = turn.previous or None
        return [item for turn in reversed(turns) for item in (*turn.input, *turn.response.output)]

    async def _named(
        self, reference: ItemReference, request: Request, scope: str, session: Session | None, hold: Hold | None
    ) -> AnyItem:
        """The item that a reference names."""
        name = reference.id or ""
        found = (session and await session.item(name, scope, hold)) or await self.item(name, scope, hold)
        if found is None:
            raise item_not_found(name, request)
        return found

    async def keep(self, request: Request, response: Response, scope: str) -> None:
        """Store the response to `request`, which is as its caller wrote it."""
        told = replace(response, **echo(request))
        turn = Turn(response=told, input=items_of(request), previous=or_unset(request.previous_response_id))
        stored = {
            key: msgspec.json.encode(_Stored(response=response.id, item=item))
            for key, item in zip(_item_keys(response), response.output, strict=True)
        }
        await self._store.put_all(scope, {**stored, _key(response.id): msgspec.json.encode(turn)})

    async def forget(self, response_id: str, scope: str) -> bool:
        """Delete a turn and its items, so that nothing can continue from it; whether it was there."""
        turn = await self._read(_key(response_id), scope, _TURN)
        for key in _item_keys(turn.response) if turn else ():
            stored = await self._read(key, scope, _STORED)
            if stored is not None and stored.response == response_id:
                await self._store.delete(scope, key)
        return await self._store.delete(scope, _key(response_id))

    async def turn(self, name: str, scope: str, hold: Hold | None = None) -> Turn | None:
        """A stored turn by the id of its response; `None` where there is none. Its bytes count against `hold`."""
        return await self._read(_key(name), scope, _TURN, hold)

    async def item(self, name: str, scope: str, hold: Hold | None = None) -> AnyItem | None:
        """An output item of a stored turn by its id; `None` where there is none. Its bytes count against `hold`."""
        stored = await self._read(f"item:{name}", scope, _STORED, hold)
        return None if stored is None else stored.item

    async def _read(self, key: str, scope: str, decoder: Decoder[M], hold: Hold | None = None) -> M | None:
        found = await self._store.get(scope, key)
        if hold is not None:
            hold(len(found or b""))
        try:
            return None if found is None else decoder.decode(found)
        except DecodeError:
            return None  # a file from a version that wrote it otherwise


class Session(Kept):
    """The turns that are stored for one connection, in a store that connections share; `end` deletes them."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._own = uuid4().hex
        self._names: set[str] = set()

    async def keep(self, request: Request, response: Response, scope: str) -> None:
        """Store the response for this connection."""
        self._names.add(response.id)
        await super().keep(request, response, self._own)

    async def forget(self, response_id: str, scope: str) -> bool:
        """Delete a turn of this connection."""
        self._names.discard(response_id)
        return await super().forget(response_id, self._own)

    async def turn(self, name: str, scope: str, hold: Hold | None = None) -> Turn | None:
        """A stored turn of this connection; `None` where there is none."""
        return await super().turn(name, self._own, hold)

    async def item(self, name: str, scope: str, hold: Hold | None = None) -> AnyItem | None:
        """An output item of a stored turn of this connection; `None` where there is none."""
        return await super().item(name, self._own, hold)

    async def end(self) -> None:
        """Forget all of it."""
        for name in [*self._names]:
            await self.forget(name, self._own)


def _check_calls(items: list[AnyItem], new: list[AnyItem]) -> None:
    """Return if every new result is one of a call that was made."""
    calls = {item.call_id for item in items if isinstance(item, FunctionCall | CustomToolCall)}
    for item in new:
        if isinstance(item, FunctionCallOutput | CustomToolCallOutput) and item.call_id not in calls:
            message = f"No tool call found for function call output with call_id {printable(str(item.call_id), 100)}."
            raise Refused(ErrorFacts(status=400, message=message, type="invalid_request_error", param="input"))


def _key(response_id: str) -> str:
    return f"response:{response_id}"


def _item_keys(response: Response) -> list[str]:
    """The keys of its output items: their ids as a client sees them."""
    seen = complete_items(response.output, response.id, response.status)
    return [f"item:{item.get('id') if isinstance(item, Unknown) else item.id}" for item in seen]


def item_not_found(name: str, request: Request) -> Refused:
    """The refusal of a request that names an item which is not there."""
    message = f"Item with id '{printable(name, 100)}' not found."
    if request.store is False:
        message += (
            " Items are not persisted when `store` is set to false. Try again with `store` set to true, "
            "or remove this item from your input."
        )
    return Refused(ErrorFacts(status=404, message=message, type="invalid_request_error", param="input"))


def _not_found(response_id: str) -> Refused:
    return Refused(
        ErrorFacts(
            status=400,
            message=f"Previous response with id '{printable(response_id, 100)}' not found.",
            type="invalid_request_error",
            code="previous_response_not_found",
            param="previous_response_id",
        )
    )
