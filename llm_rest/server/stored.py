"""Stored responses: `previous_response_id`, `item_reference`, and the endpoints `/responses/{id}` and `/responses/compact`.

A turn is stored with only its own input and the id of the previous response; the conversation is assembled on request. A
turn whose history is deleted is not found. Output items are also stored separately, since a client may reference those of
every turn. Before changing this file, know that all ids are those sent to the client: the ids of vendors are not unique,
since converters derive those that are missing, so each stored answer has a random one (`OwnIds`). Follows the OpenAI
reference ("Conversation state", read 2026-11-20) and Open Responses (2026-04-24).
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import parse_qs
from uuid import uuid4

import msgspec
from msgspec import UNSET, Raw, Struct
from msgspec.structs import replace

from ..errors import DecodeError, ErrorFacts, printable
from ..responses import Request
from ..responses.events import AnyEvent, OfItem, OutputItemAdded, OutputItemDone
from ..responses.items import (
    AnyItem,
    CustomToolCall,
    CustomToolCallOutput,
    FunctionCall,
    FunctionCallOutput,
    ItemReference,
    McpApprovalResponse,
    McpCall,
)
from ..responses.request import items_of
from ..responses.response import Response, echo
from ..transport.framing import EntryCounter
from ..unknown import Decoder, Model, Opt, Unknown, given, or_unset
from ..wires import openai_responses as wire
from ..wires.leftovers import ID_PREFIXES
from ..wires.openai_responses import Deleted, ItemPage, complete_items, encode_compacted
from .handler import Refused, invalid_request
from .store import TooLargeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .handler import Context, Hold
    from .store import Following, Store

M = TypeVar("M", bound=Model)

MAX_PAGE = 100
"""The maximum number of items on a page."""

MAX_TURNS = 1000
"""The maximum number of turns in a conversation."""


class Turn(Model, kw_only=True):
    """A stored response, the input that was new in its request, and the id of the previous response."""

    response: Response
    """The response that was stored."""
    input: list[AnyItem]
    """The input items that were new in its request."""
    previous: Opt[str] = UNSET
    """The id of the previous response; unset for the first of a conversation."""
    vendor_id: Opt[str] = UNSET
    """The id that the vendor gave the response; unset where it gave none."""


class _StoredItem(Model, kw_only=True):
    """An output item, and the response it belongs to."""

    response: str
    item: AnyItem


class _Output(Struct):
    output: Raw


class _Items(Struct):
    """The items of a stored turn, still encoded, and the id of the turn before it."""

    input: Raw
    response: _Output
    previous: str | None = None

    def cost(self) -> tuple[int, int]:
        """The bytes and the entries of the items."""
        pieces = bytes(self.input), bytes(self.response.output)
        return sum(map(len, pieces)), sum(EntryCounter().feed(piece) for piece in pieces)

    def items(self) -> tuple[list[AnyItem], list[AnyItem]]:
        """The input and the output."""
        return _LIST.decode(bytes(self.input)), _LIST.decode(bytes(self.response.output))


class _ResponseOfItem(Struct):
    response: str


_RESPONSE_OF_ITEM = msgspec.json.Decoder(_ResponseOfItem)
_ITEMS_OF_TURN = msgspec.json.Decoder(_Items)
_LIST: Decoder[list[AnyItem]] = Decoder(list[AnyItem])
_TURN: Decoder[Turn] = Decoder(Turn)
_ITEM: Decoder[_StoredItem] = Decoder(_StoredItem)


# --- endpoints ------------------------------------------------------------------------------------------------------


async def answer(purpose: str, method: str, handler: Any, context: Context, query: str) -> Any:
    """The document of `/responses/{id}` (`kept`), its `/input_items` (`items`) or its `/cancel`, by a handler with `turn`."""
    name = context.model or ""
    if method == "DELETE":
        if not await handler.forget(name, context):
            raise _missing(name)
        return Deleted(id=name, object="response", deleted=True)
    turn: Turn | None = await handler.turn(name, context)
    if turn is None:
        raise _missing(name)
    if (seals := getattr(handler, "seals", None)) is not None:
        turn = cast("Turn", seals.turn(turn, context.scope))
    options = {key: values[-1] for key, values in parse_qs(query).items()}
    if purpose == "items":
        return _page(turn, options)
    if purpose == "cancel":
        raise invalid_request("Cannot cancel a synchronous response.")
    if options.get("stream") == "true":
        raise invalid_request("A stored response is complete and is not streamed; leave stream out.", "stream")
    document, lost = wire.encode_response(turn.response, request=Request(), dialect=context.dialect)
    context.losses.extend(lost)
    return document


def _page(turn: Turn, options: dict[str, str]) -> ItemPage:
    """A page of the input of a stored response."""
    stripped = [item if isinstance(item, Unknown) else replace(item, leftovers=None) for item in turn.input]
    found = complete_items(stripped, f"{turn.response.id}_input", "completed")
    if options.get("order", "desc") != "asc":
        found.reverse()
    after, limit = options.get("after"), options.get("limit", "20")
    if after is not None:
        ids = [item.id for item in found]
        if after not in ids:
            raise invalid_request(f"There is no item {printable(after, 100)}.", "after")
        found = found[ids.index(after) + 1 :]
    if not (limit.isdecimal() and limit.isascii() and len(limit) < 10 and 1 <= int(limit) <= MAX_PAGE):
        raise invalid_request(f"limit is a number from 1 to {MAX_PAGE}, not {printable(limit, 20)}", "limit")
    page = found[: int(limit)]
    ends = (page[0].id, page[-1].id) if page else (None, None)
    return ItemPage(data=page, first_id=ends[0], last_id=ends[1], has_more=len(page) < len(found))


async def compacted(handler: Any, request: Request, context: Context) -> Any:
    """The document of `/responses/compact`, by a handler with `compact`."""
    if not given(request.model) or not request.model:
        raise invalid_request("Missing required parameter: 'model'.", "model")
    if not given(request.input) and not given(request.previous_response_id):
        raise invalid_request("There is no conversation: give input or previous_response_id.", "input")
    found = await handler.compact(request, context)
    if (seals := getattr(handler, "seals", None)) is not None:
        found = seals.compacted(found, context.scope)
    document, lost = encode_compacted(found, dialect=context.dialect)
    context.losses.extend(lost)
    return document


def _missing(name: str) -> Refused:
    return invalid_request(f"Response with id '{printable(name, 100)}' not found.", status=404)


# --- ids ------------------------------------------------------------------------------------------------------------


class OwnIds:
    """The ids of one stored answer: a random one for the response, and for each item the vendor's id with a random end.

    The vendor's id of an item is found again by removing the end, also where the item is not stored any more.
    """

    def __init__(self) -> None:
        self._token = uuid4().hex
        self.id = f"resp_{self._token}"
        """The id of the response."""
        self.vendor_id: str | None = None
        """The id that the vendor gave it, as soon as it is known."""
        self._end = f"{_MARK}{self._token[:16]}"
        self._made: dict[int, str | None] = {}  # by output_index, of items to which the vendor gave none

    def name(self, response: Response) -> None:
        """Give these ids to the response, in place; its items become copies. Doing it again changes nothing."""
        if response.id != self.id:
            self.vendor_id, response.id = response.id, self.id
        response.output = [self._named(item, i) for i, item in enumerate(response.output)]

    def name_event(self, event: AnyEvent) -> None:
        """Give these ids to an event about an item, in place; the item becomes a copy."""
        if isinstance(event, Unknown):
            for place, name in ((event, "item_id"), (event.get("item"), "id")):
                if isinstance(place, dict) and isinstance(old := cast("dict[str, Any]", place).get(name), str):
                    place[name] = old + self._end
        elif isinstance(event, OfItem):
            event.item_id = event.item_id + self._end if event.item_id else self._made.get(event.output_index)
        elif isinstance(event, OutputItemAdded | OutputItemDone) and event.item is not None:
            event.item = self._named(event.item, event.output_index)

    def _named(self, item: AnyItem, i: int) -> AnyItem:
        if item.id:
            own = item.id.endswith(self._end) or item.id == self._made.get(i)
            return item if own else _with_id(item, item.id + self._end)
        if isinstance(item, Unknown) or item.type not in ID_PREFIXES:
            return item
        self._made[i] = f"{ID_PREFIXES[item.type]}_{self._token}_{i}"
        return _with_id(item, self._made[i])


def with_vendor_ids(items: list[AnyItem]) -> list[AnyItem]:
    """The items with the ids that their vendor gave them; the same list where no id is one of `OwnIds`."""
    found = [_with_vendor_id(item) for item in items]
    return found if any(new is not old for new, old in zip(found, items, strict=True)) else items


def _with_vendor_id(item: AnyItem) -> AnyItem:
    if item.id and (id := _of_vendor(item.id)) != item.id:
        item = _with_id(item, id)
    if isinstance(item, McpApprovalResponse | McpCall) and item.approval_request_id:
        id = _of_vendor(item.approval_request_id)
        item = item if id == item.approval_request_id else replace(item, approval_request_id=id)
    return item


def _of_vendor(id: str) -> str:
    return id[:-_END] if id[-_END:-16] == _MARK and _HEX.issuperset(id[-16:]) else id


def _with_id(item: AnyItem, id: str | None) -> AnyItem:
    return Unknown({**item, "id": id}) if isinstance(item, Unknown) else replace(item, id=id)


_MARK = "_gw"
_END = len(_MARK) + 16
_HEX = frozenset("0123456789abcdef")


# --- storage --------------------------------------------------------------------------------------------------------


class StoredTurns:
    """The turns of one scope in a store."""

    def __init__(self, store: Store, scope: str) -> None:
        self._store = store
        self._scope = scope

    async def keep(self, request: Request, response: Response, vendor_id: str | None = None) -> None:
        """Store the response to `request`, which is the caller's request."""
        shown = replace(response, **echo(request))
        turn = Turn(
            response=shown,
            input=items_of(request),
            previous=or_unset(request.previous_response_id),
            vendor_id=vendor_id or UNSET,
        )
        stored = {
            key: msgspec.json.encode(_StoredItem(response=response.id, item=item))
            for key, item in zip(_item_keys(response), response.output, strict=True)
        }
        await self._store.put(self._scope, {**stored, _key(response.id): msgspec.json.encode(turn)})

    async def forget(self, response_id: str) -> bool:
        """Delete a turn and its items, so that it cannot be continued; whether there was one."""
        turn = await self.turn(response_id)
        stored = await self._store.find(self._scope, _item_keys(turn.response) if turn else ())
        own = [key for key, value in stored.items() if _RESPONSE_OF_ITEM.decode(value).response == response_id]
        return await self._store.delete(self._scope, _key(response_id), *own)

    async def turn(self, response_id: str, hold: Hold | None = None) -> Turn | None:
        """A stored turn by the id of its response; `None` where there is none. Its bytes count against `hold`."""
        return await self._read(_key(response_id), _TURN, hold)

    async def follow(self, response_id: str, following: Following) -> int:
        """Pass the stored turn, and each before it, to `following`, which returns the id of the one before; their bytes."""

        def key_of_next(value: bytes) -> str | None:
            name = following(value)
            return _key(name) if name else None

        return sum(map(len, await self._store.chain(self._scope, _key(response_id), key_of_next)))

    async def items(self, ids: Sequence[str], most: int | None) -> dict[str, bytes]:
        """The stored output items by their ids, encoded. Raises `TooLargeError` above `most` bytes."""
        found = await self._store.find(self._scope, [f"item:{id}" for id in ids], most)
        return {key.removeprefix("item:"): value for key, value in found.items()}

    async def _read(self, key: str, decoder: Decoder[M], hold: Hold | None = None) -> M | None:
        found = await self._store.get(self._scope, key)
        if hold is not None:
            hold(len(found or b""))
        try:
            return None if found is None else decoder.decode(found)
        except DecodeError:
            return None  # a file written in another format by another version


class Session(StoredTurns):
    """The stored turns of one connection, in a store that connections share; `end` deletes them."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, uuid4().hex)
        self._ids: set[str] = set()

    async def keep(self, request: Request, response: Response, vendor_id: str | None = None) -> None:
        """Store the response for this connection."""
        self._ids.add(response.id)
        await super().keep(request, response, vendor_id)

    async def end(self) -> None:
        """Delete all turns of the connection."""
        while self._ids:
            await self.forget(self._ids.pop())


class Room:
    """The bytes and entries that a request may still have: what is put together counts like a request that is sent whole."""

    def __init__(self, context: Context | None = None) -> None:
        self._hold = context.hold if context else None
        self._limits = context.limits if context else None
        self.size = len(context.body) if context else 0
        """The bytes of the request so far."""
        self._entries = 0

    @property
    def left(self) -> int | None:
        """The number of bytes that may be added; `None` where there is no limit."""
        return None if self._limits is None else max(0, self._limits.body - self.size)

    def add(self, size: int, entries: int = 0) -> None:
        """Count a stored piece with so many entries. Raises `Refused` where it is too much."""
        self.size += size
        self._entries += entries
        if self._limits is not None and self.size > self._limits.body:
            raise self.too_large()
        if self._limits is not None and self._entries > self._limits.entries:
            raise invalid_request(
                "With the stored conversation and items that it names, the request has more than "
                f"{self._limits.entries:,} JSON objects, lists and entries of them (the limit `entries` of this server). "
                "Start a shorter conversation."
            )

    def too_large(self) -> Refused:
        """The error for a request that is larger than `Limits.body` with what is stored."""
        most = f"{self._limits.body:,}" if self._limits else ""
        message = (
            "With the stored conversation and items that it names, the request is larger than "
            f"{most} bytes (the limit `body` of this server). Name fewer items, or start a shorter conversation."
        )
        return Refused(ErrorFacts(status=413, message=message, type="request_too_large"))

    def hold(self, size: int) -> None:
        """Count bytes that were read against `Limits.bodies`. Raises `Refused`."""
        if self._hold is not None:
            self._hold(size)


async def continued(request: Request, *places: StoredTurns, room: Room | None = None) -> Request:
    """The request with the continued conversation before its input, and with the referenced items.

    They are looked up in the `places`, in order. Raises `Refused` where a response or an item is not stored, where it is too
    large for the `room`, and where the input has the output of an unknown call.
    """
    new, named = items_of(request), request.previous_response_id
    if not given(named) and not any(isinstance(item, ItemReference) for item in new):
        return request
    room = room or Room()
    items = [*(await _conversation(named, places, room) if given(named) else ()), *new]
    references = [item.id or "" for item in items if isinstance(item, ItemReference)]
    if references:
        found = await _referenced(references, request, places, room)
        items = [found[item.id or ""] if isinstance(item, ItemReference) else item for item in items]
    if given(named):
        _check_calls(items, new)
    return replace(request, input=items, previous_response_id=None)


async def _conversation(named: str, places: Sequence[StoredTurns], room: Room) -> list[AnyItem]:
    """The conversation up to and including that response."""
    turns: list[_Items] = []
    seen: set[str] = set()

    def following(value: bytes) -> str | None:
        turn = _ITEMS_OF_TURN.decode(value)
        if len(turns) >= MAX_TURNS:
            raise missing
        turns.append(turn)
        room.add(*turn.cost())
        if (name := turn.previous) in seen:
            raise invalid_request(
                f"Previous response with id '{printable(named, 100)}' continues itself.", "previous_response_id"
            )
        seen.add(name or "")
        return name

    message = f"Previous response with id '{printable(named, 100)}' not found."
    missing = invalid_request(message, "previous_response_id", code="previous_response_not_found")
    name: str | None = named
    seen.add(named)
    while name:
        for place in places:
            count = len(turns)
            size = await place.follow(name, following)
            if len(turns) > count:
                room.hold(size)
                break
        else:
            raise missing
        name = turns[-1].previous
    try:
        return [item for turn in reversed(turns) for items in turn.items() for item in items]
    except DecodeError:  # a file written in another format by another version
        raise missing from None


async def _referenced(
    names: list[str], request: Request, places: Sequence[StoredTurns], room: Room
) -> dict[str, AnyItem]:
    """The items that references name, by their ids. Each reference counts."""
    stored: dict[str, bytes] = {}
    uses = Counter(names)
    for place in places:
        try:
            stored |= await place.items([name for name in uses if name not in stored], room.left)
        except TooLargeError:
            raise room.too_large() from None
    room.hold(sum(map(len, stored.values())))
    found: dict[str, AnyItem] = {}
    for name, times in uses.items():
        if (value := stored.get(name)) is not None:
            room.add(len(value) * times, EntryCounter().feed(value) * times)
            with suppress(DecodeError):  # a file written in another format by another version
                found[name] = _ITEM.decode(value).item
        if name not in found:
            message = f"Item with id '{printable(name, 100)}' not found."
            if request.store is False:
                message += (
                    " Items are not persisted when `store` is set to false. Try again with `store` set to true, "
                    "or remove this item from your input."
                )
            raise invalid_request(message, "input", status=404)
    return found


def _check_calls(items: list[AnyItem], new: list[AnyItem]) -> None:
    """Return if every new output belongs to a call in the conversation. Raises `Refused` otherwise."""
    calls = {item.call_id for item in items if isinstance(item, FunctionCall | CustomToolCall)}
    for item in new:
        if isinstance(item, FunctionCallOutput | CustomToolCallOutput) and item.call_id not in calls:
            name = printable(str(item.call_id), 100)
            raise invalid_request(f"No tool call found for function call output with call_id {name}.", "input")


def _key(response_id: str) -> str:
    return f"response:{response_id}"


def _item_keys(response: Response) -> list[str]:
    """The keys of the output items: their ids as sent to a client."""
    return [f"item:{item.id}" for item in complete_items(response.output, response.id, response.status)]
