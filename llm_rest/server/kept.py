"""Responses that a server keeps, so that a request can go on from one by `previous_response_id`.

A turn is kept with its own input alone and the name of the turn before it; the conversation is put together when it is asked
for. A turn whose history has gone is gone too. Follows "Conversation state" of the OpenAI reference (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from ..errors import DecodeError, ErrorFacts, printable
from ..responses.echo import echo
from ..responses.items import AnyItem, CustomToolCall, CustomToolCallOutput, FunctionCall, FunctionCallOutput
from ..responses.request import items_of
from ..responses.response import Response
from ..unknown import Decoder, Model, Opt, given
from .handler import Refused

if TYPE_CHECKING:
    from ..responses import Request
    from .handler import Hold
    from .store import Store

LONGEST = 1000
"""The most turns a conversation is put together from."""


class Turn(Model):
    """A kept response, the input that was new in it, and the turn before."""

    response: Response
    input: list[AnyItem]
    previous: Opt[str] = UNSET


_TURN: Decoder[Turn] = Decoder(Turn)


class Kept:
    """The turns kept in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def continued(
        self, request: Request, scope: str, session: Session | None = None, hold: Hold | None = None
    ) -> Request:
        """The request with the conversation it goes on from before its input, some of it kept for this `session` only.

        Raises `Refused` where that is not there, or where it has no such call as the input answers. What it is put together
        from is told to `hold`.
        """
        if not given(request.previous_response_id):
            return request
        turns: list[Turn] = []
        name: str | None = request.previous_response_id
        while name:
            turn = (session and await session.turn(name, scope, hold)) or await self.turn(name, scope, hold)
            if turn is None or len(turns) == LONGEST:
                raise _not_found(request.previous_response_id)
            turns.append(turn)
            name = turn.previous or None
        before = [item for turn in reversed(turns) for item in (*turn.input, *turn.response.output)]
        new = items_of(request)
        _check_calls(before, new)
        return replace(request, input=[*before, *new], previous_response_id=UNSET)

    async def keep(self, request: Request, response: Response, scope: str) -> None:
        """Keep the response to `request`, which is as its caller wrote it."""
        told = replace(response, **echo(request))
        turn = Turn(response=told, input=items_of(request), previous=request.previous_response_id)
        await self._store.put(scope, _key(response.id), msgspec.json.encode(turn))

    async def forget(self, response_id: str, scope: str) -> bool:
        """Delete a turn, and with it what goes on from it; whether it was there."""
        return await self._store.delete(scope, _key(response_id))

    async def turn(self, name: str, scope: str, hold: Hold | None = None) -> Turn | None:
        """A kept turn by the id of its response; its bytes are told to `hold` before it is read."""
        found = await self._store.get(scope, _key(name))
        if hold is not None:
            hold(len(found or b""))
        try:
            return None if found is None else _TURN.decode(found)
        except DecodeError:
            return None  # a file from a version that wrote it otherwise


class Session(Kept):
    """The turns that are kept for one connection, in a store that connections share; `end` forgets them."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._own = uuid4().hex
        self._names: set[str] = set()

    async def keep(self, request: Request, response: Response, scope: str) -> None:
        """Keep the response for this connection."""
        self._names.add(response.id)
        await super().keep(request, response, self._own)

    async def forget(self, response_id: str, scope: str) -> bool:
        """Delete a turn of this connection."""
        self._names.discard(response_id)
        return await super().forget(response_id, self._own)

    async def turn(self, name: str, scope: str, hold: Hold | None = None) -> Turn | None:
        """A turn of this connection."""
        return await super().turn(name, self._own, hold)

    async def end(self) -> None:
        """Forget all of it."""
        for name in [*self._names]:
            await self.forget(name, self._own)


def _check_calls(before: list[AnyItem], new: list[AnyItem]) -> None:
    """Return if every result in the input is one of a call that was made."""
    calls = {item.call_id for item in (*before, *new) if isinstance(item, FunctionCall | CustomToolCall)}
    for item in new:
        if isinstance(item, FunctionCallOutput | CustomToolCallOutput) and item.call_id not in calls:
            message = f"No tool call found for function call output with call_id {printable(str(item.call_id), 100)}."
            raise Refused(ErrorFacts(status=400, message=message, type="invalid_request_error", param="input"))


def _key(response_id: str) -> str:
    return f"response:{response_id}"


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
