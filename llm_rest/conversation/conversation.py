"""`Conversation`: the items of a conversation, its system prompt, context and state, as plain data.

Before changing this file, know that conversations are kept in files and databases: a field that is added has a default, and a
save that an earlier version would misread gets a new `VERSION`. Vendors' opaque state is in carriers only
(`responses/carriers.py`), which `without_carriers` leaves out.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, cast
from uuid import uuid4

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from ..client.generator import Entry, PromptContext
from ..errors import ConfigError, DecodeError, printable
from ..losses import Losses
from ..responses.carriers import PREFIX
from ..responses.domain import domain_items, flat_rows
from ..responses.items import ROLES, AnyItem, Compaction, Message, Reasoning
from ..responses.request import Request
from ..unknown import MOST_UNKNOWN, Decoder, Model, Unknown, check_depth, decoder_of

VERSION = 1
"""The version of saved conversations that this version of the library writes."""

MAX_SIZE = 256 * 1024 * 1024
"""The maximum size of a saved conversation that is loaded, in bytes."""


class PendingContext(Model, kw_only=True):
    """An open question of the agent, which the conversation waits for."""

    original_message_id: str | None = None
    """The program's id of the user's message that began the turn; `None` where it passed none."""
    tool_calls_completed: list[str] = field(default_factory=list[str])
    """The names of the tools whose calls had completed in the turn, in order."""
    last_agent_message: str = ""
    """The question, as it was sent to the user."""
    created_at: float = field(default_factory=time.time)
    """The time of the question, in seconds since 1970."""


class ConversationState(Model, kw_only=True):
    """The state of a conversation beside its items, to be saved and restored alone."""

    pending_context: PendingContext | None = None
    """The open question; `None` without one."""
    completed_at: float | None = None
    """The time of completion, in seconds since 1970; `None` while it is open."""
    reason: str | None = None
    """The reason for its completion."""
    summary: str | None = None
    """The summary of the completed conversation."""


class Compacted(Model, kw_only=True):
    """Items that are sent instead of the first `count` items of a conversation, which stay in it."""

    count: int
    """The number of items that are replaced."""
    items: list[AnyItem]
    """The replacement: a summary, or the opaque state of a vendor's own compaction."""


def _new_id() -> str:
    return f"conv_{uuid4().hex}"


class Conversation(Model, kw_only=True):
    """A conversation as plain data: items in the Responses format, system prompt, context and state.

    `save()` returns JSON, `Conversation.load(data)` reads and validates it.
    """

    _one_line: ClassVar[bool] = True

    version: int = VERSION
    """The version of the format in which the conversation is saved."""
    id: str = field(default_factory=_new_id)
    """The random id of the conversation."""
    created_at: float = field(default_factory=time.time)
    """The time of creation, in seconds since 1970."""
    instructions: str | None = None
    """The system prompt; `None` for none. See `set_system_prompt`."""
    context: list[AnyItem] = field(default_factory=list[AnyItem])
    """Fixed items that are sent before all others, and are no part of the history. See `set_context`."""
    items: list[AnyItem] = field(default_factory=list[AnyItem])
    """All messages, calls and outputs, oldest first."""
    compacted: Compacted | None = None
    """The replacement of the first items (compaction); `None` where all are sent."""
    state: ConversationState = field(default_factory=ConversationState)
    """Whether it waits for the user, and whether it is completed."""

    def __repr__(self) -> str:
        waits = ", waiting for the user" if self.is_waiting_for_response else ""
        ended = ", completed" if self.state.completed_at is not None else ""
        return f"<Conversation {printable(self.id, 80)}: {len(self.items)} items{waits}{ended}; see .items .save()>"

    # --- content

    def add(self, *entries: Any) -> None:
        """Add texts (of the user), items, or messages of any format that `generate` takes, at the end.

        Raises `ConfigError` naming an invalid entry; nothing is added then.
        """
        from ..client.inputs import surrogates_in, to_request  # the decoder of a call's input

        if entries:
            request = to_request([*map(_as_item, entries)], {})
            try:
                msgspec.json.encode(request.input)
            except UnicodeEncodeError:
                raise surrogates_in(request) from None
            self.items += cast("list[AnyItem]", request.input)

    def set_system_prompt(self, text: str | None) -> None:
        """Replace the system prompt; `None` for none."""
        self.instructions = text

    def set_context(self, entries: Iterable[Entry | AnyItem]) -> None:
        """Replace the fixed context: `(role, text)` entries, or items. Raises `ConfigError` for anything else."""
        self.context = PromptContext(entries).items

    def clear(self) -> None:
        """Begin a new conversation with another id: items and state are discarded, system prompt and context stay."""
        self.id, self.created_at = _new_id(), time.time()
        self.items, self.compacted, self.state = [], None, ConversationState()

    def fork(self) -> Conversation:
        """A copy with an id and items of its own; a completed conversation is open again there."""
        state = ConversationState(pending_context=self.state.pending_context)
        return replace(CONVERSATION.decode(self.save()), id=_new_id(), created_at=time.time(), state=state)

    # --- waiting for the user

    @property
    def is_waiting_for_response(self) -> bool:
        """Whether the agent has asked the user something; the user's next turn clears it."""
        return self.state.pending_context is not None

    @property
    def pending_context(self) -> PendingContext | None:
        """The open question; `None` without one."""
        return self.state.pending_context

    def set_waiting(
        self, question: str, message_id: str | None = None, *, tool_calls_completed: Sequence[str] = ()
    ) -> None:
        """Wait for the user's answer to `question`; `message_id` is that of the user's message that began the turn."""
        pending = PendingContext(
            original_message_id=message_id,
            tool_calls_completed=[*tool_calls_completed],
            last_agent_message=question,
        )
        self.state = replace(self.state, pending_context=pending)

    def clear_waiting(self) -> None:
        """Remove the open question."""
        self.state = replace(self.state, pending_context=None)

    # --- as JSON, and as messages of other formats

    def save(self) -> bytes:
        """The conversation as JSON, with carriers of vendors' state, which `load` reads."""
        return msgspec.json.encode(self)

    @classmethod
    def load(cls, data: bytes | str, *, trusted: bool = True) -> Conversation:
        """The conversation in the JSON of `save`. Raises `DecodeError` with the path for a damaged or newer one.

        With `trusted=False`, for data that others could change, such as what a browser sent, it is loaded without what no
        reader sees: envelopes of vendors' state, items that hold nothing else, and leftovers.
        """
        raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
        if len(raw) > MAX_SIZE:
            raise DecodeError(f"{len(raw)} bytes are more than the limit of {MAX_SIZE}", limited=True)
        check_depth(raw)
        try:
            version = decoder_of(_Head).decode(raw).version
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as problem:
            what = f"expected a saved conversation with its version: {problem}"
            raise DecodeError(what, hint="load the output of Conversation.save()") from None
        if not 1 <= version <= VERSION:
            what = f"a conversation of version {version}, and this library reads versions up to {VERSION}"
            raise DecodeError(what, path="$.version", hint="update llm_rest")
        found = CONVERSATION.decode(raw)
        for name, items in (("context", found.context), ("items", found.items)):
            for i, item in enumerate(items):
                if isinstance(item, Unknown) and not item.kind:
                    raise DecodeError("expected an item, an object with a type", path=f"$.{name}[{i}]")
        if found.compacted is not None and not 0 <= found.compacted.count <= len(found.items):
            raise DecodeError(f"expected a number up to {len(found.items)}", path="$.compacted.count")
        return found if trusted else found._as_shown()

    def _as_shown(self) -> Conversation:
        """A copy without envelopes, items that hold nothing else, and leftovers."""
        shown, compacted = _as_shown(self.items), self.compacted
        if compacted is not None:
            items = [item for item in _as_shown(compacted.items) if item is not None]
            count = sum(item is not None for item in shown[: compacted.count])
            # A compaction by a vendor is an envelope, and all items are sent without it.
            compacted = Compacted(count=count, items=items) if len(items) == len(compacted.items) else None
        context = [item for item in _as_shown(self.context) if item is not None]
        items = [item for item in shown if item is not None]
        return replace(self, context=context, items=items, compacted=compacted)

    @classmethod
    def from_messages(cls, messages: Iterable[Any], wire: str = "openai_chat") -> Conversation:
        """A conversation of the messages of a wire, or of flat rows (`wire="rows"`). Raises and warns as `from_messages`.

        A system message at the beginning becomes the system prompt.
        """
        from ..wires.foreign import from_messages

        items = from_messages(messages, wire)
        first = items[0] if items else None
        if isinstance(first, Message) and first.role in ("system", "developer"):
            return cls(instructions=first.text, items=items[1:])
        return cls(items=items)

    def to_messages(self, wire: str = "openai_chat", *, agent_roles: bool = False) -> list[dict[str, Any]]:
        """The conversation as messages of a wire, or as flat rows (`wire="rows"`). Raises and warns as `to_messages`.

        With `agent_roles` the roles are `human` and `agent` instead of `user` and `assistant`.
        """
        first = [Message(role="system", content=self.instructions)] if self.instructions else []
        items = [*first, *self.context, *self.items]
        if wire == "rows":
            messages = flat_rows(items)
        else:
            from ..wires.foreign import to_messages

            messages = to_messages(items, wire)
        names = _AGENT_ROLES if agent_roles else {}
        return [{**one, "role": names.get(one["role"], one["role"])} if "role" in one else one for one in messages]

    def without_carriers(self) -> Conversation:
        """A copy that holds domain data alone: texts, images, files, calls and outputs, readable reasoning.

        Opaque state, ids, and the records of hosted tools are omitted, so that every wire supports it.
        """
        kept, plain_items = self.compacted, domain_items(self.items)
        if kept is not None:
            # What a vendor compacted is its own state, and what it stands for is here.
            items = domain_items(kept.items)
            count = len(domain_items(self.items[: kept.count]))
            kept = Compacted(count=count, items=items) if len(items) == len(kept.items) else None
        return replace(self, context=domain_items(self.context), items=plain_items, compacted=kept)


class _Head(Struct):
    version: int


def _as_item(entry: Any) -> Any:
    return Message(role="user", content=entry) if isinstance(entry, str) else entry


def _as_shown(items: list[AnyItem]) -> list[AnyItem | None]:
    """The items without envelopes and leftovers; `None` in place of an item that holds nothing else."""
    from ..wires.openai_responses.content import without_leftovers

    found: list[AnyItem | None] = []
    for item in items:
        shown = item if isinstance(item, Unknown) else without_leftovers(item, "", Losses())
        if isinstance(shown, Reasoning | Compaction) and (shown.encrypted_content or "").startswith(PREFIX):
            seen = isinstance(shown, Reasoning) and (shown.summary or shown.content)
            found.append(replace(shown, encrypted_content=None) if seen else None)
        else:
            found.append(shown)
    return found


_AGENT_ROLES = {known: ours for ours, known in ROLES.items()}

CONVERSATION: Decoder[Conversation] = Decoder(Conversation, most_unknown=MOST_UNKNOWN)
"""Decodes a saved conversation; `Conversation.load` also validates what types cannot express."""


def turn_input(input: Any) -> list[Any]:
    """The input of a turn as entries of a list. Raises `ConfigError` where it is empty."""
    if isinstance(input, Request):
        raise ConfigError("a turn accepts a text or items, not a Request", hint="give its fields as keywords")
    several = isinstance(input, Sequence) and not isinstance(input, str | bytes)
    found: list[Any] = list(cast("Any", input)) if several else [input]
    if not found or any(isinstance(one, str) and not one.strip() for one in found) or found == [None]:
        raise ConfigError("input is empty", hint="give a text or items")
    return [Message(role="user", content=input)] if isinstance(input, str) else found
