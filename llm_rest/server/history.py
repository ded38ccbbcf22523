"""The history of a gateway, stored between requests: conversations by id, opaque state by turn, summaries in items.

Opaque state of vendors is stored when an answer is sent, for clients whose format has no field for it, and restored
when a request contains its turn. Its key is the caller, the model and the turn (its text and calls): two models with
equal answers and call ids have different reasoning. Before changing this file, know the order: a conversation is put
together first, summaries in it are opened, and only then is the opaque state of each turn restored. A turn that was
edited is another turn and stays as the client sent it; its calls then go to another vendor under other ids
(`with_neutral_ids`), since vendors reject their own calls without the reasoning before them.
"""

from __future__ import annotations

import logging
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from ..conversation.limits import SUMMARY
from ..errors import DecodeError
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
from ..responses.parts import OutputText, RefusalPart
from ..responses.request import items_of
from ..responses.response import CompactedResponse
from ..unknown import Decoder, Model, Unknown, given
from .store import MemoryStore
from .stored import StoredTurns, continued

if TYPE_CHECKING:
    from ..client.reply import Reply
    from ..responses import Request, Response
    from .handler import Context
    from .store import Store
    from .stored import Turn

_log = logging.getLogger(__name__)

KEEPS = "openai_responses"
"""The wire whose requests may continue a stored response, and request storing with `store`."""


class StoredHistory:
    """A history in a store, separate for each scope. In a full store the least recently used entries are deleted."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store or MemoryStore()
        self._restored = Restored(self._store)

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def keeps(self, request: Request, context: Context) -> bool:
        """Whether the response is stored for later requests: on `openai_responses`, unless the request has `store: false`."""
        return context.wire == KEEPS and request.store is not False

    async def before(self, request: Request, context: Context) -> Request:
        """The request with the conversation that it continues. Raises `Refused` where that is not stored."""
        session = [context.session] if context.session else []
        request = await continued(request, *session, self._turns(context), hold=context.hold)
        return await self._restored.restored(with_open_summaries(request), context.scope, context.wire)

    async def after(self, request: Request, sent: Request, response: Response, context: Context) -> None:
        """Store the answer to `request`, as the caller wrote it and as it was `sent` to the vendor.

        Called before the end of the answer is sent to the caller. A failure of the store is logged and not raised.
        """
        try:
            await self._restored.remember(request, sent, response, context.scope)
            if self.keeps(request, context):
                await self._turns(context).keep(request, response)
            elif context.session is not None:
                await context.session.keep(request, response)
        except Exception:
            _log.exception("an answer could not be stored")

    async def turn(self, response_id: str, context: Context) -> Turn | None:
        """A stored response with its input; `None` where there is none of this id."""
        return await self._turns(context).turn(response_id, context.hold)

    async def forget(self, response_id: str, context: Context) -> bool:
        """Delete a stored response, so that it cannot be continued; whether there was one."""
        return await self._turns(context).forget(response_id)

    def _turns(self, context: Context) -> StoredTurns:
        return StoredTurns(self._store, context.scope)


# --- opaque state ---------------------------------------------------------------------------------------------------

_NOTHING = object()

BOUND = "anthropic_messages"
"""The wire whose vendor accepts a thought only where everything before it is unchanged, in this turn and in the others."""


class _Answered(Model, kw_only=True):
    """A stored output, a digest of everything sent before it, and one of the user's message that it answers."""

    sent: str
    asked: str
    output: list[AnyItem]

    def holds(self, sent: str, asked: str) -> bool:
        """Whether the context of its thoughts is unchanged, as far as their vendor verifies it."""
        return self.asked == asked and (self.sent == sent or not _of(BOUND, self.output))


_ANSWERED: Decoder[_Answered] = Decoder(_Answered)

_Call = FunctionCall | CustomToolCall
_Output = FunctionCallOutput | CustomToolCallOutput


class Restored:
    """Opaque state of turns in a store: stored with each answer, restored in each request."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def remember(self, request: Request, sent: Request, response: Response, scope: str) -> None:
        """Store the output, if it has content that some clients do not return.

        `request` is the caller's request, `sent` the one sent to the vendor, with the model there.
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
        await self._store.put(scope, {place: value, **dict.fromkeys(names, place.encode())})

    async def restored(self, request: Request, scope: str, wire: str = "") -> Request:
        """The request with the state of its turns restored, and calls with the ids of the vendor.

        The request has the vendor's model name, as `sent` had. Thoughts are left out where the user's message before
        them has changed, and some where anything before them has, unless the caller uses the wire of their vendor.
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
        """The stored answer of that model which has the text and calls of this turn; else whether this turn has the state of
        another one: then it was edited.
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
    """A digest of everything sent to a vendor except the ids of calls; it grows with the list of items."""

    def __init__(self, request: Request, items: list[AnyItem]) -> None:
        self._hash = blake2b(msgspec.json.encode([request.instructions or None, request.tools or None]), digest_size=8)
        self._items = items
        self._read = 0

    @property
    def digest(self) -> str:
        """The digest of the items so far."""
        for item in self._items[self._read :]:
            self._hash.update(msgspec.json.encode(_plainly(item)))
        self._read = len(self._items)
        return self._hash.hexdigest()


def _asked(piece: list[AnyItem], before: str) -> str:
    """A digest of the user's messages in a piece; `before` where there are none."""
    words = [item.content for item in piece if isinstance(item, Message) and item.role == "user"]
    return digest(msgspec.json.encode(words).decode()) if words else before


def _plainly(item: AnyItem) -> Any:
    """An item as plain data, without the ids that differ between clients and vendors."""
    if isinstance(item, Message):
        return item.role, item.content
    if isinstance(item, _Call):
        return item.name, _plain(item)
    if isinstance(item, _Output):
        return item.output
    return item.encrypted_content or None if isinstance(item, Reasoning) else item


def _of(wire: str, items: list[AnyItem]) -> bool:
    """Whether a vendor on that wire can read a thought in it. Content without an envelope is of the Responses wire."""
    states = [item.encrypted_content for item in items if isinstance(item, Reasoning)]
    return any(given(state) and (sender(state) or ("openai_responses", ""))[0] == wire for state in states)


class _Shown(NamedTuple):
    """The parts of a turn that clients return: all of them text, calls without ids, and ids; some also opaque state."""

    text: str
    calls: tuple[tuple[str, str], ...]
    ids: tuple[str, ...]
    states: tuple[str, ...]

    @property
    def said(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """The identity of a turn; ids are generated anew on a wire without them."""
        return self.text, self.calls

    def names(self, model: str, before: str) -> list[str]:
        """The keys of the turn in the store: by the state or the call ids that the client returned, else by its text.

        The same text occurs in many conversations, so the key includes `before`, a digest of the conversation before it.
        """
        said = digest("\0".join((before, self.text, *map("\0".join, self.calls))))
        held = (f"held:{model}:{digest(state)}" for state in self.states)
        return [*held, *(f"call:{model}:{name}" for name in self.ids), f"turn:{model}:{said}"]


def with_neutral_ids(request: Request, wire: str) -> Request:
    """The request with generated ids for calls without any state for a vendor on that wire."""
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
    """A digest of the conversation so far that does not depend on the client."""
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
    """The arguments in normalized JSON: clients parse and serialize them again."""
    if isinstance(call, CustomToolCall):
        return call.input
    try:
        value: Any = msgspec.json.decode(call.arguments)
        return msgspec.json.encode(value, order="deterministic").decode()
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return call.arguments


def _states(items: list[AnyItem]) -> list[object]:
    """The opaque state in these items, which a client may have no field for; `None` for each item that all clients return."""
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
    """Whether a thought was returned without the text stored with it: many clients return the opaque state alone."""
    texts = {item.encrypted_content for item in kept if isinstance(item, Reasoning) and (item.summary or item.content)}
    thoughts = [item for item in turn if isinstance(item, Reasoning) and not (item.summary or item.content)]
    return any(given(item.encrypted_content) and item.encrypted_content in texts for item in thoughts)


def _turns(items: list[AnyItem]) -> list[tuple[bool, list[AnyItem]]]:
    """The input split into pieces of the model and of others; each with whether it is the model's."""
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
