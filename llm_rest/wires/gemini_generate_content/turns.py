"""Contents of this wire and items of Responses: who spoke when, and what belongs into one content.

Outputs of functions stand together in the user content right after the calls they answer, in the order of the calls; what the
model does in one go is one content, and every message of a user is one. Before changing this file, know that the vendor caches
by prefix: appending items may touch no content but a model's that is still open. Follows Google's guides to function calling
and thought signatures (read 2026-11-20).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

from ...responses.items import (
    AdditionalTools,
    CompactionTrigger,
    CustomToolCallOutput,
    FunctionCall,
    FunctionCallOutput,
    ItemReference,
    Message,
    Reasoning,
)
from ...responses.leftovers import SPELLING, own
from ...unknown import Unknown, given
from .._left import report_unknown
from . import types
from .calls import Asked, Call, Output, decode_output, encode_output
from .carried import CONTENT, own_fields, rest, restored, spelling
from .media import decode_parts, encode_parts
from .reader import Reader, VisibleItem
from .types import WIRE
from .writer import Writer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...losses import Losses
    from ...responses.items import AnyItem
    from .media import Context

APART, JOINED = "apart", "joined"
"""Where an item stands that begins a content although it could stand in the one before, and one that stands in that."""


# --- items to contents ----------------------------------------------------------------------------------------------


class Turns:
    """The contents of a request: `write` the items, then read `system` and `contents`."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.lost = context.lost
        self.system: list[types.Part] = []
        self.contents: list[types.Content] = []
        self._writer = Writer(context)
        self._items: Sequence[AnyItem] = ()
        self._open = False  # whether the last content is the model's and takes more
        self._waiting: list[tuple[int, Call]] = []  # calls without an output yet
        self._outputs: dict[str, deque[tuple[int, Output]]] = {}  # by call id, in their order
        self._taken: set[int] = set()

    def write(self, items: Sequence[AnyItem]) -> None:
        """Take the whole input."""
        self._items = items
        for i, item in enumerate(items):
            if isinstance(item, Output):
                self._outputs.setdefault(item.call_id or "", deque()).append((i, item))
        around: types.Json | None = None  # what the content that begins next says around its parts
        for i, item in enumerate(items):
            kept = {} if isinstance(item, Unknown) else own(item.leftovers, WIRE)
            stands = spelling(kept).get("stands") if kept else None
            begun = len(self.contents)
            if stands == APART:
                self._close()
            match item:
                case Message() if item.role != "assistant":
                    self._heard(item, i, joined=stands == JOINED)
                case FunctionCallOutput() | CustomToolCallOutput():
                    self._leave(i)
                    if i not in self._taken:
                        self.lost.refused(f"input[{i}]", "an output without a call before it")
                        self._hear([encode_output(item, None, f"input[{i}]", self.context)[0]])
                case ItemReference() | CompactionTrigger():
                    self.lost.refused(f"input[{i}]", "what only a server that keeps conversations knows")
                case AdditionalTools():
                    pass  # offered with the other tools
                case _:
                    self._said(item, i)
            around = kept.get(CONTENT, around)
            if around is not None and len(self.contents) > begun:
                told = restored(types.Content, around) or self.contents[-1]
                told.parts = self.contents[-1].parts
                self.contents[-1], around = told, None
            elif not isinstance(item, Reasoning | VisibleItem):  # which may wait for their part, and begin no content
                around = None
        self._leave(len(items))
        if self.contents and self.contents[-1].role == "model" and not self.context.model.prefill:
            self.lost.refused("input", "this model does not continue an answer; the conversation ends with the user")
        first = self.contents[0] if self.contents else types.Content()
        if first.role == "model" and any(given(part.function_call) for part in first.parts or ()):
            self.lost.refused("input", "a conversation cannot begin with a call")

    def _close(self) -> None:
        self._writer.close()
        self._writer.begin()
        self._open = False

    # --- the model

    def _said(self, item: AnyItem, i: int) -> None:
        writer = self._writer
        writer.write(item, f"input[{i}]")
        if isinstance(item, Call):
            self._waiting.append((i, item))
        if writer.parts and not self._open:
            self.contents.append(types.Content(role="model", parts=writer.parts))
            self._open = True

    def _leave(self, i: int) -> None:
        """What follows at `i` is not the model's: its content is complete, and its calls need their outputs now."""
        self._close()
        if self._waiting:
            self._answer(i)

    def _answer(self, i: int) -> None:
        outputs: list[types.Part] = []
        beside: list[types.Part] = []
        there = i  # up to here the outputs already stand behind their calls
        while there < len(self._items) and isinstance(self._items[there], Output):
            there += 1
        for k, call in self._waiting:
            later = self._outputs.get(call.call_id, deque())
            while later and later[0][0] < k:
                later.popleft()  # it stands before the call, and before every later one
            if not later:
                self.lost.refused(f"input[{k}]", "a call without an output")
                continue
            n, found = later.popleft()
            if n > there:
                self.lost.emulated(f"input[{n}]", "an output, moved up to its call")
            self._taken.add(n)
            part, more = encode_output(found, call, f"input[{n}]", self.context)
            outputs.append(part)
            beside += more
        self._waiting = []
        self._hear([*outputs, *beside])

    # --- everybody else

    def _heard(self, item: Message, i: int, *, joined: bool) -> None:
        path = f"input[{i}]"
        self._leave(i)
        report_unknown(item, path, self.lost)
        own_fields(item.leftovers, path, self.lost)
        parts = encode_parts(item.content, f"{path}.content", self.context)
        if item.role not in ("system", "developer"):
            if item.role != "user":
                self.lost.changed(f"{path}.role", f"{item.role!r} is sent as a user")
            self._hear(parts, joined=joined)
            return
        texts = [part for part in parts if part.inline_data is part.file_data is UNSET]
        if len(texts) < len(parts):
            self.lost.dropped(path, "instructions are text at Gemini")
        if not self.contents:
            self.system += texts
        else:
            self.lost.changed(path, "no instructions can stand here; they are sent as the user's, in <system> tags")
            tagged = ({"text": f"<system>\n{part.text}\n</system>"} if given(part.text) else {} for part in texts)
            self._hear([replace(part, **changes) for part, changes in zip(texts, tagged, strict=True)])

    def _hear(self, parts: list[types.Part], *, joined: bool = False) -> None:
        last = self.contents[-1] if joined and self.contents else types.Content()
        if parts and last.role == "user" and given(last.parts):
            last.parts.extend(parts)
        elif parts:
            self.contents.append(types.Content(role="user", parts=parts))


# --- contents to items ----------------------------------------------------------------------------------------------


def decode_contents(contents: Sequence[types.Content], issuer: str, lost: Losses) -> list[AnyItem]:
    """The items that `contents` are in Responses."""
    items: list[AnyItem] = []
    asked = Asked()
    before = ""
    for k, content in enumerate(contents):
        role = "model" if content.role == "model" else "user"
        parts = content.parts or []
        if role == "model":
            reader = Reader(issuer, f"call_{k}")
            for part in parts:
                reader.add(part)
            found = reader.close()
            # Parallel calls may stand in contents of their own; anything else the model says ends their turn.
            for item in found:
                if isinstance(item, FunctionCall):
                    asked.add(item)
        else:
            found = _heard(parts, asked, f"call_{k}")
        if found:
            told = rest(content, ("parts",))
            fields = {CONTENT: told} if told != {"role": role} else {}
            _note(found[0], fields, APART if role == before == "model" else "")
            items += found
            before = role
        else:
            lost.dropped(f"contents[{k}]", "a content without parts, which the vendor does not take")
    return items


def _note(item: AnyItem, fields: types.Json, stands: str) -> None:
    if isinstance(item, Unknown) or not (fields or stands):
        return
    kept = own(item.leftovers, WIRE)
    if stands:
        fields = {**fields, SPELLING: {**spelling(kept), "stands": stands}}
    item.leftovers = {WIRE: {**kept, **fields}}


def _heard(parts: Sequence[types.Part], asked: Asked, origin: str) -> list[AnyItem]:
    items: list[AnyItem] = []
    said: list[types.Part] = []

    def close() -> None:
        if said:
            items.append(Message(role="user", content=decode_parts(said)))
            _note(items[-1], {}, JOINED if len(items) > 1 else "")
            said.clear()

    for part in parts:
        if given(part.function_response):
            close()
            items.append(decode_output(part, part.function_response, asked, f"{origin}_{len(items)}"))
        else:
            said.append(part)
    close()
    return items
