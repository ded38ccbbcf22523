"""Responses that a server keeps, so that a request can go on from one by `previous_response_id`.

A turn is kept with its own input alone and the name of the turn before it; the conversation is put together when it is asked
for. A turn whose history has gone is gone too. Follows "Conversation state" of the OpenAI reference (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from ..errors import DecodeError, ErrorFacts
from ..responses.items import AnyItem, Message
from ..responses.response import Response
from ..unknown import Decoder, Model, Opt, given
from .handler import Refused

if TYPE_CHECKING:
    from ..responses import Request
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

    async def continued(self, request: Request, scope: str) -> Request:
        """The request with the conversation it goes on from before its input. Raises `Refused` where that is not there."""
        if not given(request.previous_response_id):
            return request
        turns: list[Turn] = []
        name: str | None = request.previous_response_id
        while name:
            turn = await self._turn(name, scope)
            if turn is None or len(turns) == LONGEST:
                raise _not_found(request.previous_response_id)
            turns.append(turn)
            name = turn.previous or None
        before = [item for turn in reversed(turns) for item in (*turn.input, *turn.response.output)]
        return replace(request, input=[*before, *items_of(request)], previous_response_id=UNSET)

    async def keep(self, request: Request, response: Response, scope: str) -> None:
        """Keep the response to `request`, which is as its caller wrote it."""
        turn = Turn(response=response, input=items_of(request), previous=request.previous_response_id)
        await self._store.put(scope, _key(response.id), msgspec.json.encode(turn))

    async def response(self, response_id: str, scope: str) -> Response | None:
        """A kept response."""
        turn = await self._turn(response_id, scope)
        return None if turn is None else turn.response

    async def input(self, response_id: str, scope: str) -> list[AnyItem] | None:
        """The input that was new in a kept turn."""
        turn = await self._turn(response_id, scope)
        return None if turn is None else turn.input

    async def forget(self, response_id: str, scope: str) -> bool:
        """Delete a turn, and with it what goes on from it; whether it was there."""
        return await self._store.delete(scope, _key(response_id))

    async def _turn(self, name: str, scope: str) -> Turn | None:
        found = await self._store.get(scope, _key(name))
        try:
            return None if found is None else _TURN.decode(found)
        except DecodeError:
            return None  # a file from a version that wrote it otherwise


def items_of(request: Request) -> list[AnyItem]:
    """The input as items; a text is what the user says."""
    if isinstance(request.input, str):
        return [Message(role="user", content=request.input)]
    return request.input or []


def _key(response_id: str) -> str:
    return f"response:{response_id}"


def _not_found(response_id: str) -> Refused:
    return Refused(
        ErrorFacts(
            status=400,
            message=f"Previous response with id '{response_id}' not found.",
            type="invalid_request_error",
            code="previous_response_not_found",
            param="previous_response_id",
        )
    )
