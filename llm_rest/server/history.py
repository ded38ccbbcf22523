"""The history of a gateway, stored between requests: conversations by id, opaque state by turn, summaries in items.

Opaque state of vendors is stored for clients whose format has no place for it, when an answer is sent, and put back when its
turn returns. It is found by the caller, the model and the turn (its text and calls): two models that answer the same with calls
of the same ids reason differently. Before changing this file, know the order: a conversation is put together first, summaries
in it are opened, and only then does each turn get its opaque state back. A turn that was edited is another turn and stays as
the client sent it; its calls then go to another vendor under other names (`strangers`), since vendors refuse their own calls
without the reasoning before them.
"""

from __future__ import annotations

import logging
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from ..errors import DecodeError
from ..responses.carriers import digest, sender
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
from ..responses.parts import OutputText, RefusalPart
from ..responses.request import items_of
from ..unknown import Decoder, Model, Unknown, given
from . import compaction
from .store import MemoryStore
from .stored import Kept

if TYPE_CHECKING:
    from ..responses import Request, Response
    from .handler import Context
    from .store import Store
    from .stored import Turn

_log = logging.getLogger(__name__)

KEEPS = "openai_responses"
"""The wire on which a request may continue a stored response, and asks for storing with `store`."""


class StoredHistory:
    """A history in a store, separate for each scope. Where the store is full, what was used longest ago is deleted."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store or MemoryStore()
        self._kept = Kept(self._store)
        self._restored = Restored(self._store)

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def keeps(self, request: Request, context: Context) -> bool:
        """Whether the response is stored for later requests: on `openai_responses`, unless the request has `store: false`."""
        return context.wire == KEEPS and request.store is not False

    async def before(self, request: Request, context: Context) -> Request:
        """The request with the conversation that it continues. Raises `Refused` where that is not stored."""
        request = await self._kept.continued(request, context.scope, context.session, context.hold)
        return await self._restored.restored(compaction.opened(request), context.scope, context.wire)

    async def after(self, request: Request, sent: Request, response: Response, context: Context) -> None:
        """Store the answer. A failure of the store is logged and not raised."""
        try:
            await self._restored.remember(request, sent, response, context.scope)
            if self.keeps(request, context):
                await self._kept.keep(request, response, context.scope)
            elif context.session is not None:
                await context.session.keep(request, response, context.scope)
        except Exception:
            _log.exception("an answer could not be kept")

    async def turn(self, response_id: str, context: Context) -> Turn | None:
        """A stored response with its input; `None` where there is none of this id."""
        return await self._kept.turn(response_id, context.scope, context.hold)

    async def forget(self, response_id: str, context: Context) -> bool:
        """Delete a stored response, so that nothing can continue from it; whether there was one."""
        return await self._kept.forget(response_id, context.scope)


_NOTHING = object()

BOUND = "anthropic_messages"
"""The wire whose vendor takes a thought back only where everything before it is as it was, whether on this turn or another."""


class _Answered(Model):
    """An output, what stands for all that was sent before it, and for what it answers."""

    sent: str
    asked: str
    output: list[AnyItem]

    def holds(self, sent: str, asked: str) -> bool:
        """Whether its thoughts still stand where they were thought."""
        return self.asked == asked and (self.sent == sent or not _of(BOUND, self.output))


_ANSWERED: Decoder[_Answered] = Decoder(_Answered)

_Call = FunctionCall | CustomToolCall
_Output = FunctionCallOutput | CustomToolCallOutput


class Restored:
    """The turns whose opaque state is kept in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def remember(self, request: Request, sent: Request, response: Response, scope: str) -> None:
        """Keep the output, if there is more in it than every client returns.

        `request` is as its caller wrote it, `sent` as the vendor got it, which names the model.
        """
        if not any(_states(response.output)):
            return
        items, asked = items_of(sent), ""
        for _, piece in _turns(items):
            asked = _asked(piece, asked)
        answered = _Answered(sent=_Sent(sent, items).digest, asked=asked, output=response.output)
        value = msgspec.json.encode(answered)
        place = "state:" + digest(value.decode())
        before = ""
        for _, piece in _turns(items_of(request)):
            before = _chained(before, piece)
        names = _shown(response.output).names(sent.model or "", before)
        await self._store.put_all(scope, {place: value, **dict.fromkeys(names, place.encode())})

    async def restored(self, request: Request, scope: str, wire: str = "") -> Request:
        """The request with what belongs to its turns put back, and calls named as the vendor named them.

        The request names the model that it goes to, as `sent` did. Thoughts are left out where what they answer has changed, and
        some where anything before them has, unless the caller speaks the wire of their vendor, and has to know.
        """
        turns = _turns(request.input) if isinstance(request.input, list) else []
        if not any(said for said, _ in turns):
            return request
        items: list[AnyItem] = []
        named: dict[str, str] = {}
        sent = _Sent(request, items)
        before = asked = ""
        for said, turn in turns:
            model = request.model or ""
            found, edited = await self._found(turn, model, before, scope) if said else (None, False)
            before, asked = _chained(before, turn), _asked(turn, asked)
            changed = edited or (found is not None and not found.holds(sent.digest, asked))
            if changed and not _of(wire, found.output if found is not None else turn):
                turn = [item for item in turn if not isinstance(item, Reasoning)]
            elif found is not None and (_states(found.output) != _states(turn) or _lacks_text(turn, found.output)):
                named |= zip(_shown(turn).ids, _shown(found.output).ids, strict=True)
                turn = found.output
            items += [_renamed(item, named) for item in turn] if named else turn
        return replace(request, input=items)

    async def _found(self, turn: list[AnyItem], model: str, before: str, scope: str) -> tuple[_Answered | None, bool]:
        """What that model answered when this turn was, if it still says the same; and whether it has the state of one that
        does not.
        """
        shown = _shown(turn)
        edited = False
        for name in shown.names(model, before):
            place = await self._store.get(scope, name)
            value = place and await self._store.get(scope, place.decode())
            try:
                found = _ANSWERED.decode(value) if value else None
            except DecodeError:
                continue
            if found is not None and _shown(found.output).said == shown.said:
                return found, False
            edited = edited or (found is not None and name.startswith("held:"))
        return None, edited


class _Sent:
    """What stands for all that a vendor was sent, but for the ids of calls; it goes on with the list of items."""

    def __init__(self, request: Request, items: list[AnyItem]) -> None:
        self._hash = blake2b(msgspec.json.encode([request.instructions or None, request.tools or None]), digest_size=8)
        self._items = items
        self._read = 0

    @property
    def digest(self) -> str:
        """As far as the list has come."""
        for item in self._items[self._read :]:
            self._hash.update(msgspec.json.encode(_plainly(item)))
        self._read = len(self._items)
        return self._hash.hexdigest()


def _asked(piece: list[AnyItem], before: str) -> str:
    """What stands for the user's words that are answered now."""
    words = [item.content for item in piece if isinstance(item, Message) and item.role == "user"]
    return digest(msgspec.json.encode(words).decode()) if words else before


def _plainly(item: AnyItem) -> Any:
    """An item without what is called otherwise on the way."""
    if isinstance(item, Message):
        return item.role, item.content
    if isinstance(item, _Call):
        return item.name, _plain(item)
    if isinstance(item, _Output):
        return item.output
    return item.encrypted_content or None if isinstance(item, Reasoning) else item


def _of(wire: str, items: list[AnyItem]) -> bool:
    """Whether there is a thought that a vendor on that wire can read. What has no envelope is of the Responses wire."""
    states = [item.encrypted_content for item in items if isinstance(item, Reasoning)]
    return any(given(state) and (sender(state) or ("openai_responses", ""))[0] == wire for state in states)


class _Shown(NamedTuple):
    """What every client sees of a turn: its text, its calls without their ids, and those ids; and what some return, its state."""

    text: str
    calls: tuple[tuple[str, str], ...]
    ids: tuple[str, ...]
    states: tuple[str, ...]

    @property
    def said(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """What makes it the same turn; ids are made up anew where a wire has none."""
        return self.text, self.calls

    def names(self, model: str, before: str) -> list[str]:
        """The keys under which it is stored: by the state or the ids of calls that the client returned, else by its text.

        The same text comes up in many places, so `before`, the conversation before it, belongs to that.
        """
        said = digest("\0".join((before, self.text, *map("\0".join, self.calls))))
        held = (f"held:{model}:{digest(state)}" for state in self.states)
        return [*held, *(f"call:{model}:{name}" for name in self.ids), f"turn:{model}:{said}"]


def strangers(request: Request, wire: str) -> Request:
    """The request with calls under names of ours that come without any state for a vendor on that wire."""
    items = request.input if isinstance(request.input, list) else []
    named = {
        item.call_id: f"call_{digest(item.call_id)}"
        for said, turn in _turns(items)
        if said and not _of(wire, turn)
        for item in turn
        if isinstance(item, _Call)
    }
    return replace(request, input=[_renamed(item, named) for item in items]) if named else request


def _shown(turn: list[AnyItem]) -> _Shown:
    calls = [item for item in turn if isinstance(item, _Call)]
    return _Shown(
        "".join(_text(item) for item in turn if isinstance(item, Message)).strip(),
        tuple((call.name, _plain(call)) for call in calls),
        tuple(call.call_id for call in calls),
        tuple(state for state in _states(turn) if isinstance(state, str)),
    )


def _chained(before: str, piece: list[AnyItem]) -> str:
    """What stands for the conversation so far, whoever returns it."""
    said = [before]
    for item in piece:
        if isinstance(item, Message):
            said.append(text_of(item.content).strip())
        elif isinstance(item, _Call):
            said += (item.name, _plain(item))
        elif isinstance(item, _Output):
            said.append(text_of(item.output).strip())
    return digest("\0".join(said))


def _text(message: Message) -> str:
    if isinstance(message.content, str):
        return message.content
    said = (
        part.text if isinstance(part, OutputText) else part.refusal if isinstance(part, RefusalPart) else ""
        for part in message.content
    )
    return "".join(said)


def _plain(call: FunctionCall | CustomToolCall) -> str:
    """What is asked of the tool, however it is spelled: clients parse arguments and write them again."""
    if isinstance(call, CustomToolCall):
        return call.input
    try:
        value: Any = msgspec.json.decode(call.arguments)
        return msgspec.json.encode(value, order="deterministic").decode()
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return call.arguments


def _states(items: list[AnyItem]) -> list[object]:
    """What these items hold that a client without a place for it would lose; `None` for what it stands between."""
    found: list[object] = []
    for item in items:
        if isinstance(item, Reasoning | Compaction):
            found.append(item.encrypted_content or _NOTHING)
        elif isinstance(item, Message | FunctionCall | CustomToolCall):
            found.append(None)
        elif not isinstance(item, Unknown):
            found.append(item.id)
    return [state for state in found if state is not _NOTHING]


def _lacks_text(turn: list[AnyItem], kept: list[AnyItem]) -> bool:
    """Whether a thought came back without the text it was kept with: many clients return the opaque state alone."""
    texts = {item.encrypted_content for item in kept if isinstance(item, Reasoning) and (item.summary or item.content)}
    thoughts = [item for item in turn if isinstance(item, Reasoning) and not (item.summary or item.content)]
    return any(given(item.encrypted_content) and item.encrypted_content in texts for item in thoughts)


def _turns(items: list[AnyItem]) -> list[tuple[bool, list[AnyItem]]]:
    """The input cut where somebody else begins to speak; whether each piece is the model's."""
    pieces: list[tuple[bool, list[AnyItem]]] = []
    for item in items:
        said = isinstance(item, FunctionCall | CustomToolCall | Reasoning) or (
            isinstance(item, Message) and item.role == "assistant"
        )
        if not pieces or pieces[-1][0] != said:
            pieces.append((said, []))
        pieces[-1][1].append(item)
    return pieces


def _renamed(item: AnyItem, named: dict[str, str]) -> AnyItem:
    if isinstance(item, _Call | _Output) and item.call_id in named:
        return replace(item, call_id=named[item.call_id])
    return item
