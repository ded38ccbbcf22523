"""Stored responses, so that a request can continue one by `previous_response_id`, or name its items by `item_reference`.

A turn is kept with its own input alone and the name of the turn before it; the conversation is put together when it is asked
for. A turn whose history has gone is gone too. Output items are also stored by themselves, since a client that names them names
those of every turn. Before changing this file, know that both ids are those that the client saw. Follows "Conversation state"
of the OpenAI reference (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from ..errors import DecodeError, ErrorFacts, printable
from ..responses.echo import echo
from ..responses.items import (
    AnyItem,
    CustomToolCall,
    CustomToolCallOutput,
    FunctionCall,
    FunctionCallOutput,
    ItemReference,
)
from ..responses.request import items_of
from ..responses.response import Response
from ..unknown import Decoder, Model, Opt, Unknown, given, or_unset
from ..wires.openai_responses.complete import complete_items
from .handler import Refused

if TYPE_CHECKING:
    from ..responses import Request
    from .handler import Hold
    from .store import Store

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
