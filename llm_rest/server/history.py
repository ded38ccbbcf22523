"""The history of a gateway, stored between requests: conversations by id, opaque state by turn, summaries in items.

Opaque state of vendors is stored when an answer is sent, for clients whose format has no field for it, and restored
when a request contains its turn. Its key is the caller, the model and the turn (its text and calls): two models with
equal answers and call ids have different reasoning. Before changing this file, know the order: a conversation is put
together first, summaries in it are opened, and only then is the opaque state of each turn restored. A turn that was
edited, or whose question was, is sent without it; its calls then have other ids, since vendors reject their own calls
without the reasoning before them. Whether anything else before a turn has changed is checked by the vendor.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from ..conversation.limits import SUMMARY
from ..errors import DecodeError, StoreError
from ..responses.carriers import digest, seal, sender, unseal
from ..responses.estimate import text_of
from ..responses.items import (
    AnyItem,
    Compaction,
    CustomToolCall,
    CustomToolCallOutput,
    FunctionCall,
    FunctionCallOutput,
    Message,
    Reasoning,
)
from ..responses.request import items_of
from ..responses.response import CompactedResponse
from ..transport.framing import EntryCounter
from ..unknown import Decoder, Model, Unknown, given
from .store import MemoryStore, TooLargeError
from .stored import OwnIds, Room, StoredTurns, continued, with_vendor_ids

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from ..client.reply import Reply
    from ..responses import Request, Response
    from .handler import Context
    from .store import Store
    from .stored import Turn

_log = logging.getLogger(__name__)

KEEPS = "openai_responses"
"""The wire whose requests may continue a stored response, and request storing with `store`."""


class _Answered(Model, kw_only=True):
    """A stored output, and a digest of the user's message that it answers."""

    input_digest: str
    output: list[AnyItem]


_ANSWERED: Decoder[_Answered] = Decoder(_Answered)


class _Found(NamedTuple):
    """A stored answer that was looked up: its content, and its size in bytes."""

    input_digest: str
    output: list[AnyItem]
    content: str
    size: int


def _found(value: bytes | None, room: Room) -> _Found | None:
    """The stored answer; `None` for one that another version wrote in another format."""
    if not value:
        return None
    room.add(0, EntryCounter().feed(value))
    try:
        answer = _ANSWERED.decode(value)
    except DecodeError:
        return None
    return _Found(answer.input_digest, answer.output, _content_of(answer.output), len(value))


class _Piece(NamedTuple):
    """Consecutive items of the model, or of others, with digests of what is before them."""

    of_model: bool
    items: list[AnyItem]
    content: str
    before: str
    """A digest of the conversation before it."""
    input_digest: str
    """A digest of the last message of the user, up to its end."""
    after: str
    """A digest of the conversation up to its end."""


class StoredHistory:
    """A history in a store, separate for each scope. In a full store the least recently used entries are deleted."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store or MemoryStore()

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def secret(self) -> bytes | None:
        """The random key that is stored with the history; `None` where it ends with the process."""
        secret: Callable[[], bytes] | None = getattr(self._store, "secret", None)
        try:
            return secret() if secret is not None else None
        except StoreError:
            _log.exception("the key of the seals could not be stored")
            return None

    def keeps(self, request: Request, context: Context) -> bool:
        """Whether the response is stored for later requests: on `openai_responses`, unless the request has `store: false`."""
        return context.wire == KEEPS and request.store is not False

    async def before(self, request: Request, vendor: str, context: Context) -> Request:
        """The request to a vendor on that wire, with the conversation that it continues and the vendor's opaque state.

        Raises `Refused` where the conversation is not stored.
        """
        session = [context.session] if context.session else []
        room = Room(context)
        request = await continued(request, *session, self._turns(context), room=room)
        if context.wire == KEEPS and isinstance(request.input, list):
            request = replace(request, input=with_vendor_ids(request.input))
        return await self._restored(with_open_summaries(request), context.scope, context.wire, vendor, room)

    def ids(self, request: Request, context: Context) -> OwnIds | None:
        """The ids of the answer to `request`; `None` where it is not stored and has those of the vendor."""
        return OwnIds() if self.keeps(request, context) or context.session is not None else None

    async def after(
        self, request: Request, sent: Request, response: Response, context: Context, ids: OwnIds | None = None
    ) -> None:
        """Store the answer to `request`, as the caller wrote it and as it was `sent` to the vendor, under the given `ids`.

        Called before the end of the answer is sent to the caller. A failure of the store is logged and not raised: the answer
        then has `store: false`.
        """
        await self._stored(self._remember(sent, response, context.scope))
        if ids is None:
            return
        ids.name(response)
        turns, session = self._turns(context), context.session
        response.store = self.keeps(request, context) and await self._stored(
            turns.keep(request, response, ids.vendor_id)
        )
        if session is not None and not response.store:
            await self._stored(session.keep(request, response, ids.vendor_id))

    async def _stored(self, storing: Awaitable[None]) -> bool:
        """Whether storing succeeded; a failure is logged."""
        try:
            await storing
        except Exception:
            _log.exception("an answer could not be stored")
            return False
        return True

    async def turn(self, response_id: str, context: Context) -> Turn | None:
        """A stored response with its input; `None` where there is none of this id."""
        return await self._turns(context).turn(response_id, context.hold)

    async def forget(self, response_id: str, context: Context) -> bool:
        """Delete a stored response, so that it cannot be continued; whether there was one."""
        return await self._turns(context).forget(response_id)

    def _turns(self, context: Context) -> StoredTurns:
        return StoredTurns(self._store, context.scope)

    # Opaque state.

    async def _remember(self, sent: Request, response: Response, scope: str) -> None:
        """Store the output of the answer to a request to a vendor, if it has content that some clients do not return."""
        if not any(_states(response.output)):
            return
        *_, last = [_START, *_pieces(items_of(sent))]
        value = msgspec.json.encode(_Answered(input_digest=last.input_digest, output=response.output))
        place = ("state:" + digest(value.decode())).encode()
        names = _names(response.output, _content_of(response.output), sent.model or "", last.after)
        # Two conversations with the same call id: neither is found by it any more.
        known = await self._store.find(scope, [name for name in names if name.startswith("call:")])
        named = {name: b"" if known.get(name, place) != place else place for name in names}
        await self._store.put(scope, {place.decode(): value, **named})

    async def _restored(self, request: Request, scope: str, caller: str, vendor: str, room: Room) -> Request:
        """The request with the state of its turns restored, for a `vendor` on that wire and a `caller` on another or the same.

        For a caller on another wire, turns that were edited are sent without their state, and calls without state have
        generated ids. A caller on the vendor's own wire receives the vendor's errors instead.
        """
        pieces = _pieces(request.input) if isinstance(request.input, list) else []
        if not any(piece.of_model for piece in pieces):
            return request
        answers = await self._find_answers(pieces, request.model or "", scope, room)
        items: list[AnyItem] = []
        named: dict[str, str] = {}
        for piece, found in zip(pieces, answers, strict=True):
            kept = piece.items
            if found is not None and (found.input_digest != piece.input_digest or found.content != piece.content):
                if not _of(caller, found.output):
                    kept = [item for item in kept if not isinstance(item, Reasoning)]
            elif found is not None and _states(found.output) != _states(kept):
                room.add(found.size)
                named |= zip(_ids(kept), _ids(found.output), strict=True)
                items += found.output
                continue
            if caller != vendor and not _of(vendor, kept):
                named |= {name: f"call_{digest(name)}" for name in _ids(kept)}
            items += [_renamed(item, named) for item in kept]
        return replace(request, input=items)

    async def _find_answers(self, pieces: list[_Piece], model: str, scope: str, room: Room) -> list[_Found | None]:
        """For each piece, the stored answer of that model with its state, or with its text and calls."""
        names = [_names(p.items, p.content, model, p.before) if p.of_model else [] for p in pieces]
        places = await self._store.find(scope, (name for some in names for name in some))
        try:
            values = await self._store.find(scope, map(bytes.decode, filter(None, places.values())), room.left)
        except TooLargeError:
            raise room.too_large() from None
        room.hold(sum(map(len, values.values())))
        found: dict[bytes, _Found | None] = {}
        answers: list[_Found | None] = []
        for piece, some in zip(pieces, names, strict=True):
            answers.append(None)
            for name in some:
                place = places.get(name) or b""
                if place not in found:
                    found[place] = _found(values.get(place.decode()), room)
                answer = found[place]
                if answer is not None and (name.startswith("held:") or answer.content == piece.content):
                    answers[-1] = answer
                    break
        return answers


# --- opaque state ---------------------------------------------------------------------------------------------------

_Call = FunctionCall | CustomToolCall
_Output = FunctionCallOutput | CustomToolCallOutput


def _names(turn: Sequence[AnyItem], content: str, model: str, before: str) -> list[str]:
    """The keys of a turn in the store: by the state that a client returned, by its text, or by its call ids.

    The same text occurs in many conversations, so its key includes `before`, a digest of the conversation before it. Call
    ids come last: vendors and converters give the same ones in many conversations, and clients edit what was before them.
    """
    held = [f"held:{model}:{digest(state[0])}" for state in _states(turn) if state]
    return [
        *held,
        f"turn:{model}:{digest(before + content)}",
        *(f"call:{model}:{name}" for name in _ids(turn)),
    ]


def _content_of(piece: Sequence[AnyItem]) -> str:
    """The part of a piece that every client returns: its text, and its calls without ids, which some wires do not have."""
    contents = [item.content for item in piece if isinstance(item, Message)]
    parts = [part for content in contents for part in ([content] if isinstance(content, str) else content)]
    texts = [part if isinstance(part, str) else text_of([part]) for part in parts]
    outputs = [text_of(item.output) for item in piece if isinstance(item, _Output)]
    calls = [f"{item.name}\0{_plain(item)}" for item in piece if isinstance(item, _Call)]
    return "\0".join(["".join(texts).strip(), *outputs, *calls])


def _of(wire: str, items: Sequence[AnyItem]) -> bool:
    """Whether a vendor on that wire can read a thought in it. Content without an envelope is of the Responses wire."""
    states = [item.encrypted_content for item in items if isinstance(item, Reasoning)]
    return any(given(state) and (sender(state) or ("openai_responses", ""))[0] == wire for state in states)


def _ids(turn: Sequence[AnyItem]) -> list[str]:
    return [item.call_id for item in turn if isinstance(item, _Call)]


def _plain(call: FunctionCall | CustomToolCall) -> str:
    """The arguments in normalized JSON: clients parse and serialize them again. Very long ones are compared as they are."""
    if isinstance(call, CustomToolCall):
        return call.input
    if len(call.arguments) > _LONGEST_NORMALIZED:
        return call.arguments
    try:
        value: Any = msgspec.json.decode(call.arguments)
        return msgspec.json.encode(value, order="deterministic").decode()
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return call.arguments


_LONGEST_NORMALIZED = 1024 * 1024


def _states(turn: Sequence[AnyItem]) -> list[tuple[str, bool] | None]:
    """The content that a client may have no field for, in order: opaque state, and whether it has its text too, which many
    clients do not return; ids of hosted tools. `None` for each item that all clients return.
    """
    found: list[tuple[str, bool] | None] = []
    for item in turn:
        if isinstance(item, Message | FunctionCall | CustomToolCall):
            found.append(None)
        elif not isinstance(item, Unknown):
            state = item.encrypted_content if isinstance(item, Reasoning | Compaction) else item.id
            shown = isinstance(item, Reasoning) and bool(item.summary or item.content)
            found += [(state, shown)] if state else []
    return found


def _pieces(items: list[AnyItem]) -> list[_Piece]:
    """The input split into pieces of the model and of others."""
    split: list[tuple[bool, list[AnyItem]]] = []
    for item in items:
        kind = item.kind if isinstance(item, Unknown) else item.type
        of_model = (
            item.role == "assistant" if isinstance(item, Message) else kind in _OF_MODEL or kind.endswith("_call")
        )
        if not split or split[-1][0] != of_model:
            split.append((of_model, []))
        split[-1][1].append(item)
    pieces: list[_Piece] = []
    last = _START
    for of_model, piece in split:
        content = _content_of(piece)
        words = [item for item in piece if isinstance(item, Message) and item.role == "user"]
        input_digest = digest(_content_of(words)) if words else last.input_digest
        last = _Piece(of_model, piece, content, last.after, input_digest, digest(last.after + content))
        pieces.append(last)
    return pieces


_START = _Piece(of_model=False, items=[], content="", before="", input_digest="", after="")
_OF_MODEL = ("reasoning", "compaction", "mcp_list_tools", "mcp_approval_request")


def _renamed(item: AnyItem, named: dict[str, str]) -> AnyItem:
    if isinstance(item, _Call | _Output) and item.call_id in named:
        return replace(item, call_id=named[item.call_id])
    return item


_BY = ("server", "llm_rest")


class Summary(Model, tag="summary", kw_only=True):
    """The text of a summary, as it is encoded in a `compaction` item."""

    text: str


def compacted_by_summary(request: Request, reply: Reply) -> CompactedResponse:
    """A compacted conversation: the messages of the user, and the summary that is the `reply`.

    For vendors without a compaction endpoint. As in Open Responses, the summary is encoded in an opaque `compaction`
    item that clients send back. A client may forge one: its text is sent to the model as the client's own.
    """
    text = reply.output_text
    users = [item for item in items_of(request) if isinstance(item, Message) and item.role == "user"]
    sealed = Compaction(id=f"cmp_{digest(text)}", encrypted_content=seal(*_BY, Summary(text=text)))
    return CompactedResponse(
        id=f"resp_{digest(reply.id)}",
        created_at=reply.created_at,
        output=[*users, sealed],
        usage=reply.usage,
    )


def with_open_summaries(request: Request) -> Request:
    """The request with summaries made by this server as messages."""
    if not isinstance(request.input, list) or not any(isinstance(item, Compaction) for item in request.input):
        return request
    return replace(request, input=[_opened(item) for item in request.input])


def _opened(item: AnyItem) -> AnyItem:
    found = unseal(item.encrypted_content, *_BY, Summary) if isinstance(item, Compaction) else None
    return Message(role="user", content=SUMMARY + found.text) if found else item
